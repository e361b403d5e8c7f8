"""A tiny picture of what a method has to be given."""

from __future__ import annotations

from html import escape

from simviz.base import MethodTags
from simviz.charts.style import FONT, Theme, ThemeName, get_theme

WIDTH, HEIGHT = 260, 150
_ROWS = (34.0, 58.0, 82.0, 106.0)
_X, _Y = 62.0, 198.0
# Which item of the right side belongs to each of the left, and which does not.
_PAIRS, _OTHERS = ((0, 1), (1, 0), (2, 2), (3, 3)), ((0, 3), (3, 1))
_STRIPS = {
    "counts": ("2", "0", "1", "3"),
    "characters": ("w", "o", "r", "d"),
    "trigrams": ("wor", "ord"),
}
_BARS = (7.0, 3.0, 11.0, 5.0, 8.0)


def needs_picture(tags: MethodTags, theme: ThemeName | Theme = "light") -> str:
    """Draw what a method has to be given: two sides, their features, their pairs."""
    # Items of the x side are circles, those of the y side diamonds, as on a map. One frame
    # around both says that they share one feature space, two frames that each side has its own;
    # a broken frame around two that either will do. Lines join what belongs together, broken and
    # crossed ones what does not. Below stand the features: weights, counts, characters.
    look = get_theme(theme)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="{escape(FONT, quote=True)}" '
        f'font-size="11" role="img"><title>{escape(picture_text(tags))}</title>',
        *_frames(tags, look),
        *_lines(tags, look),
        *(f'<circle cx="{_X}" cy="{y}" r="5" fill="{look.accent}"/>' for y in _ROWS),
        *(
            f'<path d="M{_Y} {y - 6.5}l6.5 6.5l-6.5 6.5l-6.5 -6.5z" fill="{look.second}"/>'
            for y in _ROWS
        ),
        *_strip(tags, _X, look.accent),
        *_strip(tags, _Y, look.second),
        "</svg>",
    ]
    return "".join(parts)


def picture_text(tags: MethodTags) -> str:
    """What the picture shows, in a sentence."""
    spaces = {
        "one": "share one frame",
        "two": "have a frame each",
        "either": "have a frame each, or share one",
    }
    lines = {
        "unsupervised": "nothing joins them",
        "paired": "lines join what belongs together",
        "discriminative": "lines join what belongs together, crossed lines what does not",
    }
    features = " ".join(_STRIPS.get(tags.input, ["bars for weights"]))
    return (
        f"Items of two sides {spaces[tags.space]}; {lines[tags.uses]}; below them their "
        f"features: {features}."
    )


def _frames(tags: MethodTags, look: Theme) -> list[str]:
    style = f'fill="none" stroke="{look.muted}" rx="9" stroke-width="1"'
    whole = f'<rect x="22" y="12" width="216" height="128" {style}'
    sides = [
        f'<rect x="{centre - 34}" y="18" width="68" height="116" {style}/>' for centre in (_X, _Y)
    ]
    if tags.space == "one":
        return [f"{whole}/>"]
    return [f'{whole} stroke-dasharray="3 4"/>', *sides] if tags.space == "either" else sides


def _lines(tags: MethodTags, look: Theme) -> list[str]:
    if tags.uses == "unsupervised":
        return []
    left, right = _X + 9, _Y - 10

    def line(i: int, j: int, style: str) -> str:
        return f'<line x1="{left}" y1="{_ROWS[i]}" x2="{right}" y2="{_ROWS[j]}" {style}/>'

    parts = [line(i, j, f'stroke="{look.ink}" stroke-width="1.4"') for i, j in _PAIRS]
    if tags.uses == "discriminative":
        broken = f'stroke="{look.muted}" stroke-width="1.1" stroke-dasharray="2 4"'
        for i, j in _OTHERS:
            # A cross at a third of the way, clear of where lines meet.
            x, y = left + (right - left) * 0.27, _ROWS[i] + (_ROWS[j] - _ROWS[i]) * 0.27
            cross = f'd="M{x - 4} {y - 4}l8 8m0 -8l-8 8" stroke="{look.second}"'
            parts += [line(i, j, broken), f'<path {cross} stroke-width="1.6"/>']
    return parts


def _strip(tags: MethodTags, centre: float, colour: str) -> list[str]:
    """Features of one side, in a line below it."""
    if tags.input in _STRIPS:
        style = f'text-anchor="middle" fill="{colour}"'
        return [f'<text x="{centre}" y="129" {style}>{" ".join(_STRIPS[tags.input])}</text>']
    left, style = centre - 3.5 * len(_BARS), f'fill="{colour}" opacity="0.75"'
    return [
        f'<rect x="{left + 7 * i + 1}" y="{130 - bar}" width="5" height="{bar}" {style}/>'
        for i, bar in enumerate(_BARS)
    ]
