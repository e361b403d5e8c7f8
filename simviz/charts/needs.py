"""A tiny picture of what a method has to be given."""

from __future__ import annotations

from simviz.base import MethodTags
from simviz.charts.style import FONT, Theme, ThemeName, get_theme
from simviz.charts.tables import template

# Where both sides and their items stand, and which item of the right side belongs to each of the
# left, and which does not.
_PLACES = {"x": 62.0, "y": 198.0, "rows": (34.0, 58.0, 82.0, 106.0)}
_LINES = {"pairs": ((0, 1), (1, 0), (2, 2), (3, 3)), "others": ((0, 3), (3, 1))}
_LETTERS = {"counts": "2 0 1 3", "characters": "w o r d", "trigrams": "wor ord"}


def needs_picture(tags: MethodTags, theme: ThemeName | Theme = "light") -> str:
    """Draw what a method has to be given: two sides, their features, their pairs."""
    # Items of the x side are circles, those of the y side diamonds, as on a map. One frame
    # around both says that they share one feature space, two frames that each side has its own;
    # a broken frame around two that either will do. Lines join what belongs together, broken and
    # crossed ones what does not. Below stand the features: weights, counts, characters.
    known = {"tags": tags, "look": get_theme(theme), "font": FONT, "text": picture_text(tags)}
    known["letters"] = _LETTERS.get(tags.input)
    return template("simviz.charts", "needs.svg").render(**known, **_PLACES, **_LINES)


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
    features = _LETTERS.get(tags.input, "bars for weights")
    return (
        f"Items of two sides {spaces[tags.space]}; {lines[tags.uses]}; below them their "
        f"features: {features}."
    )
