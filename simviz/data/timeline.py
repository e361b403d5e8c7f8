"""Splitting by time: what came first is learned from, what came last is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.data.wording import counted, did_you_mean, shown
from simviz.exceptions import DatasetError

Times = NDArray[np.float64]
Parts = NDArray[np.int8]
#: Words of column names that speak of time.
_NAMES = ("date", "time", "year", "day", "month", "timestamp", "created", "published", "updated")


def time_columns(pairs: PairSet) -> list[str]:
    """Metadata columns that say when items came to be.

    Parameters
    ----------
    pairs : PairSet
        Of either side.

    Returns
    -------
    list of str
        Those with three times or more: dates, or numbers in a column that is
        named after time.

    Examples
    --------
    >>> from simviz.relevance import Relevance
    >>> texts = ["a", "b", "c"]
    >>> days = {"day": np.array(["2024-01-02", "2024-01-03", "2025-02-01"])}
    >>> x = Items(texts, texts, "text", days)
    >>> time_columns(PairSet(x, x, Relevance.identity(3)))
    ['day']
    """
    found = []
    for items in (pairs.x, pairs.y):
        for name, column in items.metadata.items():
            named = any(word in name.lower() for word in _NAMES)
            if name in found or (column.dtype.kind in "iuf" and not named):
                continue
            times = _read(column.tolist())
            if times is not None and len(np.unique(times[np.isfinite(times)])) >= 3:
                found.append(name)
    return found


def by_time(
    pairs: PairSet, key: str, shares: NDArray[np.float64], notes: list[str]
) -> tuple[Parts | None, Parts | None]:
    """Partition the sides that have a column of times at the same two moments.

    Parameters
    ----------
    pairs : PairSet
        What is split.
    key : str
        A metadata column of dates or numbers.
    shares : ndarray of 3 float
        Of train, validation and test.
    notes : list of str
        What to know is added to it.

    Returns
    -------
    x, y : ndarray of int8 or None
        The part of each item; None for a side without the column. Items of
        one time are in one part; those without a time are in training.

    Raises
    ------
    DatasetError
        If there is no such column, or it does not hold three different times.
    """
    sides = {s: i for s, i in (("x", pairs.x), ("y", pairs.y)) if key in i.metadata}
    if not sides:
        known = [*pairs.x.metadata, *(k for k in pairs.y.metadata if k not in pairs.x.metadata)]
        hint = did_you_mean(key, known) if known else "The items have no metadata at all."
        raise DatasetError(f"No side has a metadata column {shown(key)}. {hint}")
    times = {side: _times(items, key) for side, items in sides.items()}
    everything = np.concatenate(list(times.values()))
    dated = np.sort(everything[np.isfinite(everything)])
    moments = np.unique(dated)
    if len(moments) < len(shares):
        raise DatasetError(
            f"Column {shown(key)} holds {counted(len(moments), 'different time')}; train, "
            "validation and test need one each. Split by something else."
        )
    validation, test = _cuts(dated, moments, shares)
    undated = int((~np.isfinite(everything)).sum())
    if undated:
        notes.append(f"{counted(undated, 'item')} without a time in training.")
    parts = {}
    for side, when in times.items():
        found = np.zeros(len(when), dtype=np.int8)
        with np.errstate(invalid="ignore"):
            found[when >= validation] = 1
            found[when >= test] = 2
        parts[side] = found
    return parts.get("x"), parts.get("y")


def _cuts(dated: Times, moments: Times, shares: NDArray[np.float64]) -> tuple[float, float]:
    """When validation and test begin, as near the shares as equal times allow."""
    before = np.searchsorted(dated, moments) / len(dated)
    last = len(moments) - 1
    test = int(np.argmin(np.abs(before - (shares[0] + shares[1]))))
    test = min(max(test, 2), last)
    validation = int(np.argmin(np.abs(before - shares[0])))
    validation = min(max(validation, 1), test - 1)
    return float(moments[validation]), float(moments[test])


def _times(items: Items, key: str) -> Times:
    times = _read(items.metadata[key].tolist())
    if times is None:
        wrong = next(c for c in items.metadata[key].tolist() if _time(c) is None)
        raise DatasetError(
            f"Column {shown(key)} holds {shown(wrong)}, which is neither a number nor a date "
            "such as 2026-11-21. Choose a column of times."
        )
    return times


def _read(cells: Sequence[object]) -> Times | None:
    """Times as numbers, NaN where there is none; None where a cell is no time."""
    times = np.empty(len(cells))
    for i, cell in enumerate(cells):
        time = _time(cell)
        if time is None:
            return None
        times[i] = time
    return times


def _time(cell: object) -> float | None:
    """A number or a date in ISO form; NaN for nothing, None for anything else."""
    if cell is None or cell != cell or str(cell).strip() == "":
        return float("nan")
    text = str(cell).strip()
    try:
        return float(text)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
