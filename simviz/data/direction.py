"""Which side of a data set asks, guessed from the data."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import numpy as np

from simviz.data.items import Items
from simviz.data.pairs import PairSet

Direction = Literal["x2y", "y2x"]

_ASKS = re.compile(
    r"(quer(y|ies)|(question|keyword|tag|search|input|mention|request|prompt)(e?s)?|raw|typed)"
)
#: A text asks for one that is so many times as long.
_LONGER = 3.0
#: Texts whose length is taken, evenly spread over their side.
_LOOKED_AT = 2_000


class WhoAsks(NamedTuple):
    """Which side asks, and why."""

    direction: Direction
    reason: str


def who_asks(pairs: PairSet) -> WhoAsks:
    """Guess which side asks, and say why.

    Parameters
    ----------
    pairs : PairSet
        The data.

    Returns
    -------
    WhoAsks
        Of judged pairs the one side whose answers can be ranked wrongly; else
        the one that is called queries, keywords, inputs or the like; keywords
        before pictures and texts; the shorter of two texts, where the other
        is at least three times as long; else x.

    Examples
    --------
    >>> short, long = ["ox", "elk"], ["a heavy animal", "a large deer with antlers"]
    >>> who_asks(PairSet.from_texts(long, short, x_name="pages", y_name="names"))
    WhoAsks(direction='y2x', reason='names ask: they are the shorter side')
    """
    sides = {"x2y": pairs.x, "y2x": pairs.y}
    names = {"x2y": pairs.x_name, "y2x": pairs.y_name}

    def found(direction: str, why: str) -> WhoAsks:
        return WhoAsks("y2x" if direction == "y2x" else "x2y", f"{names[direction]} ask: {why}")

    if pairs.relevance.unjudged == "ignore":
        matrix = pairs.relevance.matrix
        able = [d for d, m in (("x2y", matrix), ("y2x", matrix.T.tocsr())) if _can_fail(m)]
        if len(able) == 1:
            return found(able[0], "the other side has no judged answers to tell apart")
    called = [d for d, name in names.items() if _is_called_so(name)]
    if len(called) == 1:
        return found(called[0], "their name says so")
    words = [d for d, side in sides.items() if side.kind == "keyword"]
    if len(words) == 1:
        return found(words[0], "they are keywords")
    lengths = {d: _length(side) for d, side in sides.items()}
    short, long = sorted(sides, key=lengths.__getitem__)
    if 0 < _LONGER * lengths[short] <= lengths[long]:
        return found(short, "they are the shorter side")
    return found("x2y", "they are the left side")


def default_direction(pairs: PairSet) -> Direction:
    """Which side asks where nobody has said so, see `who_asks`.

    Parameters
    ----------
    pairs : PairSet
        The data.

    Returns
    -------
    {"x2y", "y2x"}
        The side that asks first.

    Examples
    --------
    >>> default_direction(PairSet.from_texts(["ox"], ["buey"], y_name="queries"))
    'y2x'
    """
    return who_asks(pairs).direction


def _can_fail(matrix: object) -> bool:
    """Whether any row has judged answers that differ."""
    indptr, data = matrix.indptr, matrix.data  # type: ignore[attr-defined]
    starts = indptr[:-1][np.diff(indptr) > 0]
    if not len(starts):
        return False
    return bool((np.minimum.reduceat(data, starts) < np.maximum.reduceat(data, starts)).any())


def _is_called_so(name: str) -> bool:
    return any(_ASKS.fullmatch(word) for word in re.split(r"[\W_\d]+", name.casefold()))


def _length(side: Items) -> float:
    """Median number of characters of texts; 0 of anything else."""
    if side.kind not in ("text", "keyword"):
        return 0.0
    step = max(1, len(side) // _LOOKED_AT)
    return float(np.median([len(text) for text in side.content[::step]]))
