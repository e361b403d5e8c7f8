"""What lies between two lists of answers: lines, the ideal order, what travelled most."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

#: Right answers that the ideal order names.
_IDEAL = 8
#: Heights and width in pixels. Every line is as high as any other, so that what is drawn
#: between two lists meets them.
_ROW, _HEAD, _BETWEEN = 46, 34, 84
_GOLD = "#c9941a"
STYLE = f"""
<style>
.sv-two {{ display: grid; grid-template-columns: minmax(0, 1fr) {_BETWEEN}px minmax(0, 1fr); }}
.sv-lines img {{ display: block; max-width: none; }}
@media (max-width: 1000px) {{
  .sv-two {{ grid-template-columns: minmax(0, 1fr); gap: 1.2rem; }}
  .sv-lines {{ display: none; }}
}}
.sv-answers {{ border-collapse: collapse; width: 100%; font-size: .95rem;
  font-variant-numeric: tabular-nums; }}
.sv-answers caption {{ text-align: left; font-weight: 600; height: {_HEAD}px; padding: 0;
  line-height: {_HEAD}px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }}
.sv-answers td {{ padding: 0 .5rem; vertical-align: middle; height: {_ROW}px;
  box-sizing: border-box; line-height: 1.25;
  border-bottom: 1px solid color-mix(in srgb, currentColor 8%, transparent); }}
.sv-answers .sv-place, .sv-answers .sv-score, .sv-answers .sv-move, .sv-answers .sv-tick {{
  width: 1%; white-space: nowrap; text-align: right;
  color: color-mix(in srgb, currentColor 65%, transparent); }}
.sv-answers .sv-place {{ padding-left: .3rem; }}
.sv-answers .sv-move {{ font-size: .85em; }}
.sv-answers .sv-tick {{ padding: 0; }}
.sv-answers .sv-item {{ overflow-wrap: anywhere; }}
.sv-answers .sv-item span {{ display: -webkit-box; -webkit-line-clamp: 2;
  -webkit-box-orient: vertical; overflow: hidden; }}
.sv-answers .sv-gold td {{ font-weight: 650;
  background: color-mix(in srgb, {_GOLD} 15%, transparent); }}
.sv-answers .sv-gold .sv-tick {{ color: inherit; }}
.sv-answers .sv-gap td {{ font-size: .9em;
  color: color-mix(in srgb, currentColor 65%, transparent); }}
.sv-answers img {{ width: 28px; height: 28px; object-fit: contain; vertical-align: middle;
  margin-right: .5rem; float: left; }}
.sv-asked {{ display: flex; align-items: center; gap: .7rem; font-size: 1.25rem;
  margin: .2rem 0 .4rem; overflow-wrap: anywhere; }}
.sv-asked img {{ width: 40px; height: 40px; object-fit: contain; }}
.sv-ideal {{ display: flex; flex-wrap: wrap; align-items: center; gap: .35rem .8rem;
  font-size: .95rem; margin: .5rem 0; overflow-wrap: anywhere; }}
.sv-ideal b {{ font-weight: 600; }}
.sv-ideal ol {{ display: flex; flex-wrap: wrap; gap: .35rem .5rem; list-style: none;
  margin: 0; padding: 0; }}
.sv-ideal li {{ display: flex; align-items: center; gap: .4rem; margin: 0; padding: .1rem .6rem;
  border-radius: .4rem; background: color-mix(in srgb, currentColor 7%, transparent); }}
.sv-ideal li i, .sv-ideal em, .sv-ideal > span {{ font-style: normal; opacity: .7; }}
.sv-ideal img {{ width: 22px; height: 22px; object-fit: contain; }}
</style>
"""


def lines(left: list[int | None], right: list[int | None], gold: set[int]) -> str:
    """Lines from where each answer stands in one list to where it stands in the other.

    Parameters
    ----------
    left, right : list of int or None
        The answer of each line of either list; None between two.
    gold : set of int
        Answers that are right.

    Returns
    -------
    str
        An image, as Streamlit takes drawings out of HTML. Answers of one list
        alone leave a stub.
    """
    places = [{c: i for i, c in enumerate(side) if c is not None} for side in (left, right)]
    height = _HEAD + _ROW * max(len(left), len(right))

    def y(place: int) -> float:
        return _HEAD + (place + 0.5) * _ROW

    drawn = []
    # What is right lies on top.
    for candidate in sorted(places[0].keys() | places[1].keys(), key=lambda c: (c in gold, c)):
        if candidate in gold:
            look = f'stroke="{_GOLD}" stroke-width="2.6"'
        else:
            look = 'stroke="#8b8f96" stroke-width="1.3" stroke-opacity="0.55"'
        a, b = (side.get(candidate) for side in places)
        if a is not None and b is not None:
            middle = _BETWEEN / 2
            path = f"M0 {y(a)}C{middle} {y(a)} {middle} {y(b)} {_BETWEEN} {y(b)}"
        elif a is not None:
            path = f"M0 {y(a)}q10 0 16 9"
        elif b is not None:
            path = f"M{_BETWEEN} {y(b)}q-10 0 -16 9"
        drawn.append(f'<path d="{path}" fill="none" {look}/>')
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_BETWEEN}" height="{height}" '
        f'viewBox="0 0 {_BETWEEN} {height}">{"".join(drawn)}</svg>'
    )
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    alt = "Lines from the place of each answer in the left list to its place in the right one"
    return f'<img src="{source}" alt="{alt}" width="{_BETWEEN}" height="{height}">'


def ideal(right: Sequence[tuple[str, float]]) -> str:
    """The right answers as a perfect list would begin.

    Parameters
    ----------
    right : sequence of (str, float)
        Each as HTML with its grade, the best first.

    Returns
    -------
    str
        HTML; empty where nothing is right.
    """
    if not right:
        return ""
    graded = len({grade for _, grade in right}) > 1
    chips = "".join(
        f"<li>{item}{f' <i>grade {grade:.3g}</i>' if graded else ''}</li>"
        for item, grade in right[:_IDEAL]
    )
    more = f"<em>and {len(right) - _IDEAL:,} more</em>" if len(right) > _IDEAL else ""
    name = "Ideal order" if graded else "Ideal: these first, in any order"
    name = "Ideal: this one first" if len(right) == 1 else name
    return f'<div class="sv-ideal"><b>{name}</b><ol>{chips}</ol>{more}</div>'


def travelled(item: str, told: str) -> str:
    """The answer that stands furthest away in the other list, both parts as HTML."""
    return (
        f'<div class="sv-ideal"><b>Travelled most</b><ol><li>{item}</li></ol>'
        f"<span>{told}</span></div>"
    )
