"""Icons and the words people look for them by.

Shapes and words come from the installed package ``fontawesomefree`` (Font
Awesome Free). The pictures are drawn from its font when the demo is loaded.

Attribution: Font Awesome Free © Fonticons, Inc. (https://fontawesome.com).
Icons CC BY 4.0, fonts SIL OFL 1.1, code MIT.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import as_cells
from simviz.data.pairs import Items, PairSet
from simviz.datasets import DemoInfo
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

SIZE = 64
MIN_USES = 5

_FOLDER = "static/fontawesomefree"
_FONT_SIZE = 48  # the widest icon is 1.25 em: 60 of the 64 pixels
_SLIPS = {"uer": "user"}  # misspelt on every picture of a person in release 6.6


def load_icons() -> PairSet:
    """Pair keywords with icons."""
    icons = json.loads(_read("metadata/icons.json"))
    # Those that the solid font holds, in the file's order.
    icons = {name: icon for name, icon in icons.items() if "solid" in icon["free"]}
    terms = {name: _keywords(name, icon) for name, icon in icons.items()}
    uses = Counter(word for words in terms.values() for word in words)
    frequent = sorted(word for word, n in uses.items() if n >= MIN_USES)
    column = {word: i for i, word in enumerate(frequent)}
    words = {name: [column[w] for w in of_icon if w in column] for name, of_icon in terms.items()}
    names = [name for name, of_icon in words.items() if of_icon]
    labels = as_cells([icons[name]["label"] for name in names])
    pictures = _draw([chr(int(icons[name]["unicode"], 16)) for name in names])
    x = Items(frequent, frequent, "keyword")
    y = Items(names, pictures, "image", {"label": labels, "name": as_cells(names)})
    pairs = [(x, i) for i, name in enumerate(names) for x in words[name]]
    x_index, y_index = zip(*pairs, strict=True)
    relevance = Relevance.from_pairs(x_index, y_index, shape=(len(x), len(y)), unjudged="negative")
    return PairSet(x, y, relevance, "icons", "keywords", "icons")


def _keywords(name: str, icon: dict[str, Any]) -> set[str]:
    """Search terms and the words of the name; the names alone reach every icon."""
    terms = {" ".join(term.lower().split()) for term in icon["search"]["terms"]}
    terms.update(name.split("-"))
    return {_SLIPS.get(word, word) for word in terms} - {""}


def _read(path: str) -> bytes:
    try:
        return (files("fontawesomefree") / _FOLDER / path).read_bytes()
    except FileNotFoundError as error:
        raise DatasetError(
            f"The installed fontawesomefree has no {path}. "
            'Install the release this demo reads: pip install "fontawesomefree>=6.6,<7".'
        ) from error


def _draw(characters: Sequence[str]) -> NDArray[np.uint8]:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype(
        io.BytesIO(_read("webfonts/fa-solid-900.ttf")),
        _FONT_SIZE,
        # The other engine is optional in Pillow builds: never let it decide the pixels.
        layout_engine=ImageFont.Layout.BASIC,
    )
    pixels = np.full((len(characters), SIZE, SIZE), 255, dtype=np.uint8)
    for picture, character in zip(pixels, characters, strict=True):
        canvas = Image.new("L", (2 * SIZE, 2 * SIZE), 255)
        ImageDraw.Draw(canvas).text((SIZE // 2, SIZE // 2), character, fill=0, font=font)
        drawn = np.asarray(canvas)
        # Centred by its ink: the font's own box counts the white beside a narrow shape.
        rows = np.flatnonzero((drawn < 255).any(axis=1))
        columns = np.flatnonzero((drawn < 255).any(axis=0))
        ink = drawn[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        height, width = ink.shape
        top, left = (SIZE - height) // 2, (SIZE - width) // 2
        picture[top : top + height, left : left + width] = ink
    return pixels


DEMO = DemoInfo(
    id="icons",
    title="Words and pictures",
    description="Icons and the words people look for them by, both on one map.",
    source="Font Awesome Free by Fonticons, Inc. (https://fontawesome.com)",
    licence="CC BY 4.0 (icons), SIL OFL 1.1 (font)",
    x_name="keywords",
    y_name="icons",
    split_by="y",
    methods={"opca": {}, "s2net": {"learning_rate": 0.1}},
    metric="P@5",
    direction="y2x",
    size="1,340 pictures, 618 words",
    loader=load_icons,
    position=10,
    extra="demos",
)
