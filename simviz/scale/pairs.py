"""Judged pairs between many items, as numbers of rows."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.data.cells import counted, shown
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance, Unjudged
from simviz.scale.parquet import GRADES, IDS, id_texts, open_files, read_batches
from simviz.scale.shards import SparseShards

logger = logging.getLogger(__name__)

_MAX_ROWS = 2**31 - 1
_BATCH_ROWS = 2**20  # each looks up its ids in a table made for it
_MAX_NAMED = 5


class PairRows:
    """Judged pairs as numbers of rows, sorted by x row: 8 bytes a pair, or 12 with grades.

    Parameters
    ----------
    x, y : array-like of int, shape (n,)
        Row of either side of each pair, from 0. A pair that is listed twice
        keeps its highest grade.
    grade : array-like of float, shape (n,), optional
        Above 0: grade of relevance; below 0: judged not relevant. All 1 when omitted.
    unjudged : {"negative", "ignore"}, optional
        What other pairs mean, as for `simviz.relevance.Relevance`; guessed once
        from all grades when omitted.

    Attributes
    ----------
    x, y : ndarray of int32, shape (n,)
        Rows, ascending by x, then by y.
    grade : ndarray of float32, shape (n,), or None
        In the same order.

    Raises
    ------
    ValueError
        If there are no pairs, lengths differ, a row is negative or too large
        for 32 bits, or a grade is 0 or not finite.

    Examples
    --------
    >>> pairs = PairRows([4, 0, 4], [1, 0, 0], [1, 2, -1])
    >>> pairs.x.tolist(), pairs.y.tolist(), pairs.unjudged
    ([0, 4, 4], [0, 0, 1], 'ignore')
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        grade: ArrayLike | None = None,
        unjudged: Unjudged | None = None,
    ) -> None:
        rows = [np.asarray(x), np.asarray(y)]
        values = None if grade is None else np.asarray(grade, dtype=np.float32)
        lengths = [len(a) for a in (*rows, values) if a is not None]
        if len(set(lengths)) != 1 or not lengths[0]:
            raise ValueError(
                f"Pairs are as many x rows as y rows (and grades), got {lengths}. Give at least "
                "one pair."
            )
        for name, part in zip("xy", rows, strict=True):
            if part.dtype.kind not in "iu" or part.min() < 0 or part.max() > _MAX_ROWS:
                raise ValueError(
                    f"Rows are whole numbers from 0 to {_MAX_ROWS:,}, {name} holds {part.dtype} "
                    f"from {part.min()} to {part.max()}. Number the items of either side from 0."
                )
        if values is not None and not (np.isfinite(values) & (values != 0)).all():
            raise ValueError(
                "A grade is above 0 (relevant) or below 0 (judged not relevant), got "
                f"{values[~np.isfinite(values) | (values == 0)][0]}. Leave pairs out that were "
                "not judged."
            )
        self.x, self.y = (part.astype(np.int32, copy=False) for part in rows)
        self.grade = values
        self._sort()
        ignore = self.grade is not None and bool((self.grade < 0).any())
        self.unjudged: Unjudged = unjudged or ("ignore" if ignore else "negative")

    @classmethod
    def identity(cls, n: int) -> PairRows:
        """Row i belongs to row i.

        Parameters
        ----------
        n : int
            Rows of either side.

        Returns
        -------
        PairRows
            As many pairs.
        """
        rows = np.arange(n, dtype=np.int32)
        return cls(rows, rows)

    def __len__(self) -> int:
        return len(self.x)

    def queries(self) -> NDArray[np.int32]:
        """The x rows that have pairs, ascending."""
        return self.x[np.r_[True, self.x[1:] != self.x[:-1]]]

    def among(self, queries: NDArray[np.integer]) -> NDArray[np.intp]:
        """Where the pairs of some x rows stand.

        Parameters
        ----------
        queries : ndarray of int
            Ascending x rows.

        Returns
        -------
        ndarray of int
            Places in `x` and `y`.
        """
        query_rows = queries.astype(self.x.dtype, copy=False)  # or all of x would be converted
        first = np.searchsorted(self.x, query_rows, "left")
        n = np.searchsorted(self.x, query_rows, "right") - first
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        return np.repeat(first, n) + within

    def between(
        self, queries: NDArray[np.integer], candidates: NDArray[np.integer] | None = None
    ) -> tuple[NDArray[np.integer], Relevance]:
        """Judgments between some x rows and the y rows that they were judged with.

        Parameters
        ----------
        queries : ndarray of int, shape (n,)
            Ascending x rows.
        candidates : ndarray of int, optional
            Ascending y rows, those that they were judged with among them.

        Returns
        -------
        candidates : ndarray of int, shape (m,)
            Ascending y rows.
        relevance : Relevance
            Of shape (n, m).
        """
        places = self.among(queries)
        y = self.y[places]
        if candidates is None:
            candidates = np.unique(y)
        values: Any = np.ones(len(places)) if self.grade is None else self.grade[places]
        row = np.searchsorted(queries, self.x[places])
        column = np.searchsorted(candidates, y)
        matrix = sp.csr_array((values, (row, column)), shape=(len(queries), len(candidates)))
        return candidates, Relevance(matrix, self.unjudged)

    def _sort(self) -> None:
        """Bring pairs into order, and keep the highest grade of those that repeat."""
        step, other = np.diff(self.x), np.diff(self.y)
        if ((step > 0) | ((step == 0) & (other > 0))).all():
            return
        keys = (self.y, self.x) if self.grade is None else (-self.grade, self.y, self.x)
        order = np.lexsort(keys)
        x, y = self.x[order], self.y[order]
        is_first = np.r_[True, (np.diff(x) != 0) | (np.diff(y) != 0)]
        self.x, self.y = x[is_first], y[is_first]
        if self.grade is not None:
            self.grade = self.grade[order][is_first]


def read_pairs(
    where: str | Path,
    X: SparseShards,
    Y: SparseShards,
    *,
    x_id: str = "x_id",
    y_id: str = "y_id",
    label: str | None = None,
    skip_unknown: bool = False,
    unjudged: Unjudged | None = None,
) -> PairRows:
    """Read pairs of ids from Parquet files and find their rows.

    Parameters
    ----------
    where : str or Path
        Directory, pattern or file, as for `TextFolder`.
    X, Y : SparseShards
        Items of both sides, with ids.
    x_id, y_id : str, default="x_id" and "y_id"
        Columns of ids.
    label : str, optional
        Column of labels or grades: above 0 relevant, 0 or below judged not relevant.
        Without it every pair is relevant.
    skip_unknown : bool, default=False
        Whether pairs with an id that no item has are left out, with a line in
        the log that says how many; an error otherwise.
    unjudged : {"negative", "ignore"}, optional
        What other pairs mean, as for `PairRows`.

    Returns
    -------
    PairRows
        All pairs.

    Raises
    ------
    DatasetError
        If there are no files or columns, a file is damaged, a side has no ids,
        two items have the same one, an id is unknown, or a label is missing.

    Notes
    -----
    Memory: the ids of both sides, some 30 bytes an item, and 12 bytes a pair.
    """
    sides = [_known(shards, name) for shards, name in ((X, "x"), (Y, "y"))]
    required = {x_id: IDS, y_id: IDS} | ({} if label is None else {label: GRADES})
    files, _ = open_files(where, required)
    rows: tuple[list[Any], list[Any]] = ([], [])
    grades: list[NDArray[np.float32]] = []
    missed: list[list[str]] = [[], []]
    dropped = 0
    for path in files:
        for batch in read_batches(path, list(required), _BATCH_ROWS):
            numbers = [
                _rows(id_texts(path, batch, column), known, named)
                for column, known, named in zip((x_id, y_id), sides, missed, strict=True)
            ]
            is_known = (numbers[0] >= 0) & (numbers[1] >= 0)
            dropped += int((~is_known).sum())
            for part, places in zip(rows, numbers, strict=True):
                part.append(places[is_known].astype(np.int32))
            if label is not None:
                grades.append(_grades(path, batch[label], label)[is_known])
    if dropped:
        text = _unknown_ids(dropped, missed)
        if not skip_unknown:
            raise DatasetError(f"{text} Add the items, or pass skip_unknown=True.")
        logger.warning("%s They are left out.", text)
    x, y = (np.concatenate(part) for part in rows)
    if not len(x):
        raise DatasetError(f"No pair of {where} has the ids of two items. Are these their ids?")
    return PairRows(x, y, np.concatenate(grades) if grades else None, unjudged)


def _known(shards: SparseShards, side: str) -> Any:
    """All ids of a side, in the order of rows, as an Arrow array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for i in range(len(shards)):
        ids = shards.ids(i)
        if ids is None:
            raise DatasetError(
                f"The items of the {side} side in {shards.folder} have no ids. Write them from "
                "a TextFolder with a column of ids."
            )
        parts.append(pa.array(ids, pa.large_string()))
    known = pa.concat_arrays(parts)
    if pc.count_distinct(known).as_py() < len(known):
        counts = pc.value_counts(known)
        often = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        first = ", ".join(shown(value) for value in often[:_MAX_NAMED].to_pylist())
        raise DatasetError(
            f"{counted(len(often), 'id')} of the {side} side in {shards.folder} "
            f"{'belongs' if len(often) == 1 else 'belong'} to more than one item: {first}"
            f"{', …' if len(often) > _MAX_NAMED else ''}. Give every item an id of its own."
        )
    return known


def _rows(ids: list[str], known: Any, missed: list[str]) -> NDArray[np.int64]:
    """The row of each id, −1 where there is none; `missed` gets the first few of those."""
    import pyarrow as pa
    import pyarrow.compute as pc

    positions = pc.index_in(pa.array(ids, pa.large_string()), value_set=known).fill_null(-1)
    rows = positions.to_numpy(zero_copy_only=False).astype(np.int64)
    for i in np.flatnonzero(rows < 0):
        if len(missed) < _MAX_NAMED and ids[i] not in missed:
            missed.append(ids[i])
    return rows


def _grades(path: Path, values: Any, column: str) -> NDArray[np.float32]:
    """Grades of a batch; a label 0 says that a pair is not relevant."""
    import pyarrow as pa

    grades = values.cast(pa.float32()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    if not np.isfinite(grades).all():
        raise DatasetError(
            f"{counted(int((~np.isfinite(grades)).sum()), 'row')} of {path} without a number in "
            f"column {shown(column)}. Leave pairs out that were not judged."
        )
    return np.where(grades == 0, np.float32(-1), grades)


def _unknown_ids(dropped: int, missed: list[list[str]]) -> str:
    """How many pairs have unknown ids, and the first of those."""
    named = [
        f"on the {side} side {', '.join(shown(i) for i in ids)}"
        for side, ids in zip("xy", missed, strict=True)
        if ids
    ]
    return f"{counted(dropped, 'pair')} with an id that no item has, first {'; '.join(named)}."
