"""Why two items score as they do, where the score is no sum: what hiding a part changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simviz.data.items import Items

Reals = NDArray[np.float64]
_WORD = re.compile(r"\S+")
#: Parts that are hidden one after another: more would take too long to ask about.
MOST_PARTS = 48
_PATCHES = 7  # a side of the grid that an image is cut into


class Similar(Protocol):
    """Whatever scores items, such as a fitted pipeline."""

    def similarity(self, x: Items, y: Items, /) -> NDArray[Any]:
        """Similarities of all pairs of items.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        ndarray of shape (n_x, n_y)
            Larger means closer.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Occlusion:
    """What hiding each part of an item takes from a score.

    Parameters
    ----------
    score : float
        Of the whole items.
    parts : tuple of tuple of int
        For a text, where each part starts and stops; for an image, the top,
        left, bottom and right of each patch.
    effects : ndarray of float64, shape (n_parts,)
        The score less that of the item without the part: above 0 where the
        part speaks for the pair. They need not add up to the score.
    """

    score: float
    parts: tuple[tuple[int, ...], ...]
    effects: Reals


def occlude(pipeline: Similar, x: Items, y: Items, side: str = "x") -> Occlusion | None:
    """Hide the parts of one item one after another, and see what becomes of the score.

    Words are taken out of texts, a few at a time where there are many;
    patches of images get the colour of the upper left corner.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        Fitted.
    x, y : Items
        One item of each side.
    side : {"x", "y"}, default="x"
        Whose parts are hidden.

    Returns
    -------
    Occlusion or None
        None where the item has no parts: a vector, or a text of one word.

    Raises
    ------
    ValueError
        If there is not one item a side, or no such side.

    References
    ----------
    Zeiler, M. D. and Fergus, R. (2014). Visualizing and understanding
    convolutional networks. ECCV, 818-833.

    Examples
    --------
    >>> from simviz.data import PairSet
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["a red car", "the sun is up"], ["red cars", "up to the sun"])
    >>> fitted = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> found = occlude(fitted, pairs.x.take([1]), pairs.y.take([1]))
    >>> ["the sun is up"[slice(*part)] for part, e in zip(found.parts, found.effects) if e < 0]
    ['is']
    """
    if side not in ("x", "y"):
        raise ValueError(f"side is 'x' or 'y', got {side!r}.")
    if len(x) != 1 or len(y) != 1:
        raise ValueError(f"Explain one pair of items; got {len(x)} and {len(y)}.")
    item = x if side == "x" else y
    parts, variants = _variants(item)
    if not parts:
        return None
    ids = [str(i) for i in range(len(variants))]
    hidden = Items(ids, variants, item.kind)
    table = pipeline.similarity(hidden, y) if side == "x" else pipeline.similarity(x, hidden).T
    scores = np.asarray(table[:, 0], dtype=np.float64)
    return Occlusion(float(scores[0]), tuple(parts), scores[0] - scores[1:])


def _variants(item: Items) -> tuple[list[tuple[int, ...]], Any]:
    """The parts of an item; its content, then that without each part."""
    if item.kind == "image":
        return _patches(item.content[0])
    if item.kind in ("text", "keyword"):
        return _words(str(item.content[0]))
    return [], None


def _words(text: str) -> tuple[list[tuple[int, ...]], list[str]]:
    spans = [m.span() for m in _WORD.finditer(text)]
    if len(spans) < 2:
        return [], []
    groups = np.array_split(np.arange(len(spans)), min(len(spans), MOST_PARTS))
    parts: list[tuple[int, ...]] = [(spans[g[0]][0], spans[g[-1]][1]) for g in groups]
    return parts, [text, *(f"{text[:start]} {text[stop:]}" for start, stop in parts)]


def _patches(pixels: NDArray[np.uint8]) -> tuple[list[tuple[int, ...]], NDArray[np.uint8]]:
    sides = pixels.shape[:2]
    rows, columns = (np.linspace(0, n, min(_PATCHES, n) + 1).astype(int) for n in sides)
    parts: list[tuple[int, ...]] = [
        (int(top), int(left), int(bottom), int(right))
        for top, bottom in pairwise(rows)
        for left, right in pairwise(columns)
    ]
    variants = np.repeat(pixels[None], len(parts) + 1, axis=0)
    for variant, (top, left, bottom, right) in zip(variants[1:], parts, strict=True):
        variant[top:bottom, left:right] = pixels[0, 0]
    return parts, variants
