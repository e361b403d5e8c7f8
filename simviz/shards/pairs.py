"""Which rows of two sides belong together, as numbers of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.relevance import Relevance, Unjudged

_MOST_ROWS = 2**31 - 1


class PairRows:
    """Judged pairs as numbers of rows, sorted by x row: 8 bytes a pair, or 12 with grades.

    Parameters
    ----------
    x, y : array-like of int, shape (n,)
        Row of either side of each pair, from 0. A pair that is listed twice
        keeps its highest grade.
    grade : array-like of float, shape (n,), optional
        Above 0: grade of relevance; below 0: judged not relevant. All 1 when
        omitted.
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
        given = [len(a) for a in (*rows, values) if a is not None]
        if len(set(given)) != 1 or not given[0]:
            raise ValueError(
                f"Pairs are as many x rows as y rows (and grades), got {given}. Give at least "
                "one pair."
            )
        for name, part in zip("xy", rows, strict=True):
            if part.dtype.kind not in "iu" or part.min() < 0 or part.max() > _MOST_ROWS:
                raise ValueError(
                    f"Rows are whole numbers from 0 to {_MOST_ROWS:,}, {name} holds {part.dtype} "
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
        wanted = queries.astype(self.x.dtype, copy=False)  # or all of x would be converted
        first = np.searchsorted(self.x, wanted, "left")
        n = np.searchsorted(self.x, wanted, "right") - first
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
        kept = np.r_[True, (np.diff(x) != 0) | (np.diff(y) != 0)]
        self.x, self.y = x[kept], y[kept]
        if self.grade is not None:
            self.grade = self.grade[order][kept]
