"""Ranks within columns in the same pass that ranks the rows.

A column's ranks compare all of its scores with those of its judged pairs, which
stand somewhere in the very blocks that pass by. Products of vectors are known
beforehand up to rounding: what lies outside that margin is counted at once, the
few scores inside it are kept and compared when all are known to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation._blocks import bounds
from simviz.evaluation._judged import Queries

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]

#: Scores within a margin that are kept, of one block and of all. Beyond, a second pass is cheaper.
_ROOM, _MOST = 2**20, 2**23
#: Columns that one thread goes through; its share of the counts stays in cache.
STRIP = 256


def vectors_of(scorer: object, x: object, y: object) -> tuple[Vectors, Vectors] | None:
    """Two sides as vectors whose products are the scores, if the scorer has them.

    Parameters
    ----------
    scorer : object
        What may offer ``factors(x, y)``, see `simviz.base.EmbeddingModel.factors`.
    x, y : matrices or Items
        The two sides.

    Returns
    -------
    tuple of two ndarrays, or None
        Of one floating type.
    """
    offer = getattr(scorer, "factors", None)
    found = None if offer is None else offer(x, y)
    if found is None:
        return None
    P, Q = found
    return (P, Q) if P.dtype == Q.dtype and P.dtype in (np.float32, np.float64) else None


class LateColumns:
    """Ranks of judged rows within their columns, as blocks of products pass by.

    Parameters
    ----------
    P, Q : ndarray of shape (n_x, k) and (n_y, k)
        Vectors whose products are the scores.
    queries : Queries
        The judged pairs, column by column.

    Notes
    -----
    A product of k terms, summed in any order, is off by at most
    k u / (1 - k u) · ‖p‖ ‖q‖, where u is the unit roundoff [1]_.

    References
    ----------
    .. [1] N. J. Higham. "Accuracy and Stability of Numerical Algorithms", 2nd
       edition, section 3.1. SIAM, 2002.
    """

    def __init__(self, P: Vectors, Q: Vectors, queries: Queries) -> None:
        indptr, column = queries.indptr, queries.query
        about, margin = _products(P, Q, queries.candidate, column)
        self._indptr, self._column = indptr, column
        self._order = np.lexsort((about, column))
        self._ordered = about[self._order]
        n_y = len(indptr) - 1
        # One margin a column, so that its judged scores keep their order.
        self._margin = np.zeros(n_y)
        np.maximum.at(self._margin, column, margin)
        self._floor = np.full(n_y, np.inf)
        listed = np.diff(indptr) > 0
        self._floor[listed] = self._ordered[indptr[:-1][listed]] - self._margin[listed]
        self._above, self._equal = np.zeros((2, len(column)), dtype=np.int64)
        n_strips = max(1, -(-n_y // STRIP))
        self._place = np.empty((n_strips, max(1, _ROOM // n_strips)), dtype=np.int64)
        self._value = np.empty(self._place.shape, dtype=P.dtype)
        self._n_kept = np.zeros(n_strips, dtype=np.int64)
        self._kept: list[tuple[Ints, Vectors]] = []
        self._total = 0
        #: Whether `ranks` will know; a margin without bound tells nothing.
        self.is_exact = bool(np.isfinite(self._margin).all() and np.isfinite(about).all())

    def add(self, block: Vectors) -> None:
        """Count the scores of one block of rows."""
        from simviz.evaluation._kernels import count_columns_within

        if not self.is_exact:
            return
        count_columns_within(
            block,
            self._floor,
            self._margin,
            self._indptr,
            self._ordered,
            self._above,
            self._equal,
            self._place,
            self._value,
            self._n_kept,
        )
        room = self._place.shape[1]
        self._total += int(self._n_kept.sum())
        self.is_exact = self._total <= _MOST and int(self._n_kept.max()) <= room
        if self.is_exact:
            inside = np.arange(room) < self._n_kept[:, None]
            self._kept.append((self._place[inside], self._value[inside]))

    def ranks(self, scores: Reals) -> tuple[Ints, Ints]:
        """Above and tied of each judged pair, once their scores are known.

        Parameters
        ----------
        scores : ndarray of float64, shape (n_judged,)
            As they stood in the blocks, column by column.

        Returns
        -------
        above, tied : ndarray of int64
            In the order of the scores.
        """
        n, exact = len(self._order), scores[self._order]
        below = np.concatenate([[0], np.cumsum(self._above)])
        higher = below[self._indptr[1:]][self._column] - below[:-1]
        equal = self._equal.copy()
        for place, value in self._kept:
            higher += np.bincount(place[value > exact[place]], minlength=n)
            equal += np.bincount(place[value == exact[place]], minlength=n)
        above, tied = np.empty((2, n), dtype=np.int64)
        above[self._order], tied[self._order] = higher, equal
        return above, tied


def _products(P: Vectors, Q: Vectors, row: Ints, column: Ints) -> tuple[Reals, Reals]:
    """Scores of some pairs in float64, and how far those in the blocks may be off."""
    # A length that overflows makes a margin without bound, which is told apart later.
    with np.errstate(over="ignore", invalid="ignore"):
        about = np.empty(len(row))
        for a, b in bounds(len(row), P.shape[1]):
            about[a:b] = np.einsum("ik,ik->i", P[row[a:b]], Q[column[a:b]], dtype=np.float64)
        lengths = [np.sqrt(np.einsum("ik,ik->i", Z, Z, dtype=np.float64)) for Z in (P, Q)]
        unit = np.finfo(P.dtype).eps / 2
        # Eight more terms pay for the rounding of what is computed here.
        margin = unit * (P.shape[1] + 8) * 1.01 * lengths[0][row] * lengths[1][column]
        # Products too small for the type are rounded in steps of its smallest number.
        margin[margin > 0] += P.shape[1] * np.finfo(P.dtype).smallest_subnormal
    return about, margin
