"""Metadata columns that tell items apart in groups or on a scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.items import Items

#: What stands for a missing value in a column of groups.
MISSING = "–"


def telling_columns(x: Items, y: Items) -> tuple[str, ...]:
    """Columns by which the items of a map may be coloured.

    Parameters
    ----------
    x, y : Items
        The items of the two sides.

    Returns
    -------
    tuple of str
        Names of the metadata columns of either side that hold different
        numbers, or groups with two members on average; sorted.

    Examples
    --------
    >>> kinds = {"kind": np.array(["a", "a", "b", "b"]), "name": np.array(list("abcd"))}
    >>> words = Items(list("0123"), list("abcd"), "text", kinds)
    >>> telling_columns(words, Items(["0"], ["w"], "text"))
    ('kind',)
    """
    names = sorted({*x.metadata, *y.metadata})
    return tuple(name for name in names if _tells(joined_column(x, y, name)))


def joined_column(x: Items, y: Items, name: str) -> NDArray[Any]:
    """The values of a column for the x items and then the y items.

    Parameters
    ----------
    x, y : Items
        The items of the two sides.
    name : str
        A metadata column of either.

    Returns
    -------
    ndarray of shape (n_x + n_y,)
        Numbers, NaN where there is none, if every value is a number; else
        strings, "–" where there is none.

    Raises
    ------
    KeyError
        If neither side has such a column.

    Examples
    --------
    >>> words = Items(["0"], ["red"], "text", {"length": np.array([3])})
    >>> joined_column(words, Items(["0"], ["rojo"], "text"), "length").tolist()
    [3.0, nan]
    """
    columns = [side.metadata.get(name) for side in (x, y)]
    present = [column for column in columns if column is not None]
    if not present:
        raise KeyError(name)
    if all(column.dtype.kind in "iuf" for column in present):
        return np.concatenate(
            [
                np.full(len(side), np.nan) if column is None else column.astype(np.float64)
                for side, column in zip((x, y), columns, strict=True)
            ]
        )
    return np.array(
        [
            MISSING if value is None or value != value else str(value)
            for side, column in zip((x, y), columns, strict=True)
            for value in ([None] * len(side) if column is None else column)
        ],
        dtype=object,
    )


def _tells(values: NDArray[Any]) -> bool:
    """Whether colours would say anything: neither one value nor all different."""
    if values.dtype.kind == "f":
        return len(np.unique(values[np.isfinite(values)])) > 1
    known = values[values != MISSING]
    return 1 < len(np.unique(known.astype(str))) <= len(known) / 2
