"""Relevance: which items of the two sides belong together, and how surely."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Unjudged = Literal["negative", "ignore"]
Kind = Literal["grade", "score"]
#: Fewer judged pairs of one kind, relevant or not, make what compares both kinds rough.
FEW_JUDGED = 30
Index = NDArray[np.integer] | Sequence[int]
_GUESS: Any = None  # asks for the guess that is made once, over the whole matrix


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """Sparse judgments between the items of two sides.

    Parameters
    ----------
    matrix : sparse array of shape (n_x, n_y)
        Stored entries are judgments. With ``kind="grade"`` a stored value above 0 is a grade of
        relevance, a stored value below 0 says "judged not relevant", and a stored 0 is refused
        because it could mean either. With ``kind="score"`` any finite value is a similarity.
    unjudged : {"negative", "ignore"}, optional
        What a pair without a stored entry means: not relevant (retrieval, annotation, "all other
        pairs are negative") or unknown. When omitted it is guessed once from the whole matrix:
        "ignore" if anything was judged not relevant or the values are scores, else "negative".
        Slices inherit it, so slicing never changes what a judgment means.
    kind : {"grade", "score"}, default="grade"
        Grades of relevance, or real-valued similarities.
    threshold : float, optional
        For scores: values at or above it count as relevant in binary metrics.
        The default is the midpoint between the lowest and the highest score.

    Raises
    ------
    ValueError
        If the matrix is not two-dimensional, holds a value that is not
        finite, or stores a 0 among grades.

    Examples
    --------
    >>> r = Relevance.from_pairs([0, 0, 1], [0, 1, 1], [2, -1, 1], shape=(2, 2))
    >>> r.unjudged, r.positives.nnz, r.negatives.nnz
    ('ignore', 2, 1)
    >>> r.take([1], [0, 1]).unjudged  # inherited: no negative is left, the meaning stays
    'ignore'
    """

    matrix: sp.csr_array
    unjudged: Unjudged = _GUESS
    kind: Kind = "grade"
    threshold: float | None = None

    def __post_init__(self) -> None:
        matrix = sp.csr_array(self.matrix, dtype=np.float64)
        if matrix.ndim != 2:
            raise ValueError(
                f"A relevance matrix has 2 dimensions, got {matrix.ndim}. "
                "Give one row per x item and one column per y item."
            )
        if self.kind not in ("grade", "score"):
            raise ValueError(f"kind must be 'grade' or 'score', got {self.kind!r}.")
        # scipy adds duplicates up in place: never in the caller's arrays.
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if not np.isfinite(matrix.data).all():
            row, column = _locate(matrix, ~np.isfinite(matrix.data))
            raise ValueError(
                f"Relevance must be finite, got {matrix[row, column]} for x item {row}, "
                f"y item {column}. Leave the pair out if it was not judged."
            )
        if self.kind == "grade" and (matrix.data == 0).any():
            row, column = _locate(matrix, matrix.data == 0)
            raise ValueError(
                f"A stored 0 is ambiguous, got one for x item {row}, y item {column}. "
                "Use -1 for 'judged not relevant', leave the pair out for 'not judged', "
                "or pass kind='score' for real-valued similarities."
            )
        if self.unjudged is _GUESS:
            ignore = self.kind == "score" or bool((matrix.data < 0).any())
            object.__setattr__(self, "unjudged", "ignore" if ignore else "negative")
        elif self.unjudged not in ("negative", "ignore"):
            raise ValueError(f"unjudged must be 'negative' or 'ignore', got {self.unjudged!r}.")
        if self.kind == "score" and self.threshold is None and matrix.nnz:
            middle = (float(matrix.data.min()) + float(matrix.data.max())) / 2
            object.__setattr__(self, "threshold", middle)
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def identity(cls, n: int) -> Relevance:
        """Row i of the one side belongs to row i of the other, all else is negative.

        Parameters
        ----------
        n : int
            Items of either side.

        Returns
        -------
        Relevance
            Of shape (n, n).
        """
        return cls(sp.eye_array(n, format="csr"), unjudged="negative")

    @classmethod
    def from_pairs(
        cls,
        x_index: ArrayLike,
        y_index: ArrayLike,
        values: ArrayLike | None = None,
        *,
        shape: tuple[int, int],
        unjudged: Unjudged | None = None,
        kind: Kind = "grade",
        threshold: float | None = None,
    ) -> Relevance:
        """Build from lists of pairs.

        Parameters
        ----------
        x_index, y_index : array-like of int, shape (n,)
            Row and column of each judged pair. A pair that is listed twice
            keeps its highest value.
        values : array-like of float, shape (n,), optional
            Grades or scores; all 1 when omitted.
        shape : tuple of int
            Number of x items and of y items.
        unjudged : {"negative", "ignore"}, optional
            As in the class: guessed when omitted.
        kind : {"grade", "score"}, default="grade"
            What the values are.
        threshold : float, optional
            From which score on a pair is relevant.

        Returns
        -------
        Relevance
            The judgments, one entry a distinct pair.

        Raises
        ------
        ValueError
            If the lists differ in length or an index lies outside `shape`.
        """
        rows = np.asarray(x_index, dtype=np.int64).ravel()
        columns = np.asarray(y_index, dtype=np.int64).ravel()
        given = np.ones(len(rows)) if values is None else values
        data = np.asarray(given, dtype=np.float64).ravel()
        if not len(rows) == len(columns) == len(data):
            raise ValueError(
                f"Pairs need equally long lists, got {len(rows)} x indices, "
                f"{len(columns)} y indices and {len(data)} values."
            )
        for side, index, bound in (("x", rows, shape[0]), ("y", columns, shape[1])):
            if len(index) and (index.min() < 0 or index.max() >= bound):
                raise ValueError(
                    f"The {side} indices must lie in 0..{bound - 1}, "
                    f"got {index.min()}..{index.max()}."
                )
        follows = (rows[1:] > rows[:-1]) | ((rows[1:] == rows[:-1]) & (columns[1:] > columns[:-1]))
        if not follows.all():
            order = np.lexsort((-data, columns, rows))
            rows, columns, data = rows[order], columns[order], data[order]
            first = np.r_[True, (np.diff(rows) != 0) | (np.diff(columns) != 0)]
            rows, columns, data = rows[first], columns[first], data[first]
        ends = np.bincount(rows + 1, minlength=shape[0] + 1)
        np.cumsum(ends, out=ends)
        matrix = sp.csr_array((data, columns, ends), shape=shape)
        return cls(matrix, unjudged=cast(Unjudged, unjudged), kind=kind, threshold=threshold)

    @classmethod
    def coerce(cls, relevance: object, n_x: int, n_y: int) -> Relevance:
        """Turn what an estimator was given into a `Relevance` of the right shape.

        Parameters
        ----------
        relevance : Relevance, sparse or dense matrix, or None
            None pairs row i with row i.
        n_x, n_y : int
            Rows of the two sides.

        Returns
        -------
        Relevance
            Judgments of shape (n_x, n_y).

        Raises
        ------
        ValueError
            If the shape does not fit, or None is given for sides of unequal length.
        """
        if relevance is None:
            if n_x != n_y:
                raise ValueError(
                    f"Found input variables with inconsistent numbers of samples: X has {n_x} "
                    f"rows and y has {n_y}. Rows are paired one to one when relevance is None; "
                    "pass relevance, a sparse matrix (n_x, n_y), for sides of unequal length."
                )
            return cls.identity(n_x)
        if not isinstance(relevance, cls):
            if not sp.issparse(relevance):
                relevance = np.asarray(relevance)
            relevance = cls(sp.csr_array(relevance))
        if relevance.shape != (n_x, n_y):
            raise ValueError(
                f"Relevance has shape {relevance.shape}, but X has {n_x} rows and y has {n_y}. "
                "Give one row per row of X and one column per row of y."
            )
        return relevance

    @property
    def shape(self) -> tuple[int, int]:
        """Number of x items and of y items."""
        return self.matrix.shape

    @property
    def T(self) -> Relevance:  # noqa: N802 -- as numpy names a transpose
        """The same judgments seen from the y side."""
        return replace(self, matrix=sp.csr_array(self.matrix.T))

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Which stored entries are relevant: above 0, or scores that reach the threshold."""
        if self.kind == "grade":
            return self.matrix.data > 0
        return self.matrix.data >= (0.0 if self.threshold is None else self.threshold)

    @property
    def positives(self) -> sp.csr_array:
        """Grades of the relevant pairs; for scores, 1 where the threshold is reached."""
        positives = _entries(self.matrix, self.positive)
        if self.kind == "score":
            positives.data[:] = 1.0
        return positives

    @property
    def negatives(self) -> sp.csr_array:
        """Sizes of the grades of pairs judged not relevant; for scores, 1 below the threshold."""
        negatives = _entries(self.matrix, ~self.positive)
        negatives.data = np.ones_like(negatives.data) if self.kind == "score" else -negatives.data
        return negatives

    @property
    def only_rejected(self) -> NDArray[np.bool_]:
        """Which x items have no pair but such that were judged not relevant.

        Where unjudged pairs are negative it is not known where they belong: of
        their other pairs one is relevant, and none says anything. Nowhere else
        is an unjudged pair taken for negative; there, none is marked.
        """
        if self.unjudged == "ignore":
            return np.zeros(self.shape[0], dtype=np.bool_)
        return (np.diff(self.matrix.indptr) > 0) & (np.diff(self.positives.indptr) == 0)

    @property
    def training_metric(self) -> str:
        """The metric of held-out items by which training stops: that of their task."""
        # The average precision is the reciprocal rank where one candidate is relevant.
        if self.unjudged == "ignore":
            return "AUC"
        return "NDCG" if np.ptp(self.positives.data) else "MAP"

    @property
    def is_identity(self) -> bool:
        """Whether exactly row i belongs to column i, with grade 1 and all else negative."""
        m = self.matrix
        n = m.shape[0]
        if (self.kind, self.unjudged, m.shape, m.nnz) != ("grade", "negative", (n, n), n):
            return False
        in_order = np.array_equal(m.indptr, np.arange(n + 1))
        return in_order and np.array_equal(m.indices, np.arange(n)) and bool((m.data == 1).all())

    @property
    def digest(self) -> str:
        """Content hash (hex): equal for equal judgments, on any machine."""
        h = hashlib.blake2b(digest_size=16)
        h.update(f"{self.shape}|{self.unjudged}|{self.kind}|{self.threshold!r}".encode())
        m = self.matrix
        for array, dtype in ((m.indptr, "<i8"), (m.indices, "<i8"), (m.data, "<f8")):
            h.update(np.ascontiguousarray(array, dtype=dtype).tobytes())
        return h.hexdigest()

    def take(self, x_index: Index | None = None, y_index: Index | None = None) -> Relevance:
        """Judgments between some items; the meaning of every pair stays what it was.

        Parameters
        ----------
        x_index, y_index : array-like of int, optional
            Items to keep, in the order wanted; all when omitted.

        Returns
        -------
        Relevance
            Of shape (len(x_index), len(y_index)).
        """
        matrix = self.matrix
        if x_index is not None:
            matrix = matrix[np.asarray(x_index, dtype=np.int64)]
        if y_index is not None:
            matrix = matrix[:, np.asarray(y_index, dtype=np.int64)]
        return replace(self, matrix=sp.csr_array(matrix))

    def __repr__(self) -> str:
        pos, neg = self.positives.nnz, self.negatives.nnz
        return (
            f"Relevance({self.shape[0]:,} × {self.shape[1]:,}, {pos:,} relevant, "
            f"{neg:,} judged not relevant, unjudged={self.unjudged!r}, kind={self.kind!r})"
        )


def _entries(matrix: sp.csr_array, keep: NDArray[np.bool_]) -> sp.csr_array:
    """Keep some stored entries of a CSR matrix, as a new matrix."""
    indptr = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    return sp.csr_array((matrix.data[keep], matrix.indices[keep], indptr), shape=matrix.shape)


def _locate(matrix: sp.csr_array, mask: NDArray[np.bool_]) -> tuple[int, int]:
    """Row and column of the first stored entry under `mask`."""
    at = int(np.argmax(mask))
    return int(np.searchsorted(matrix.indptr, at, side="right") - 1), int(matrix.indices[at])
