"""Steps on batches of triples by matrix products, for sides that are not sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix
from simviz.methods._triples import Triples, filled, rows_of

_DENSE = 0.3  # share of entries from which products of whole rows are faster
_WIDE = 128  # features below which single steps cost less than preparing a product


def is_dense(Z: Matrix) -> bool:
    """Whether a side is better handled as a dense one, however it is stored.

    Parameters
    ----------
    Z : ndarray or CSR array of shape (n, d)
        One side.

    Returns
    -------
    bool
        True where rows are wide and more than three tenths of them are filled.
    """
    return Z.shape[1] > _WIDE and filled(Z) > _DENSE * Z.shape[1]


class BatchSteps:
    """Gradient steps on U and V, in place, a batch at a time.

    A batch takes the steps that its triples ask for at its start. It holds at
    most a sixteenth of the pairs, so that few steps are taken twice.

    Parameters
    ----------
    X, Y : ndarray or CSR array
        Sides; no more than a batch of rows is ever made dense.
    U : ndarray of shape (d_x, N)
        Learned.
    V : ndarray of shape (d_y, N) or None
        Learned; None is the identity, which stays.
    n_pairs : int
        Triples are drawn from so many pairs.
    margin, rate : float
        Of the loss, and of a step.
    identity : bool
        Whether the inner product of the rows is added to a score.
    """

    def __init__(
        self,
        X: Matrix,
        Y: Matrix,
        U: NDArray[Any],
        V: NDArray[Any] | None,
        n_pairs: int,
        margin: float,
        rate: float,
        *,
        identity: bool,
    ) -> None:
        self.x, self.y = _Side(X, identity), _Side(Y, identity or V is None)
        self.U, self.V = U, V
        self.size = int(np.clip(n_pairs // 16, 8, 256))
        self.margin, self.rate, self.identity = margin, U.dtype.type(rate), identity

    def __call__(self, triples: Triples) -> float:
        """Step on triples.

        Parameters
        ----------
        triples : ndarray of int of shape (n, 3)
            Queries, relevant items, other items.

        Returns
        -------
        float
            Summed loss, each batch's before its step.
        """
        total = 0.0
        for start in range(0, len(triples), self.size):
            columns = np.ascontiguousarray(triples[start : start + self.size].T)
            total += self._batch(*columns)
        return total

    def _batch(self, q: NDArray[Any], plus: NDArray[Any], minus: NDArray[Any]) -> float:
        query, delta = self.x.rows(q), self.y.difference(plus, minus)
        T = self.x.project(q, query, self.U)
        if self.V is None:
            S = delta
        elif delta is None:
            S = self.y.project(plus, None, self.V) - self.y.project(minus, None, self.V)
        else:
            S = delta @ self.V
        gap = _row_products(T, S)
        if self.identity:
            gap += _row_products(query, delta)
        bad = gap < self.margin
        if not bad.any():
            return 0.0
        # Both steps use T and S from before either.
        T, S = T[bad] * self.rate, S[bad] * self.rate
        self.x.update(q[bad], None if query is None else query[bad], S, self.U)
        if self.V is not None:
            if delta is None:
                self.y.update(plus[bad], None, T, self.V)
                self.y.update(minus[bad], None, -T, self.V)
            else:
                self.y.update(plus[bad], delta[bad], T, self.V)
        return float((self.margin - gap[bad]).sum())


def _row_products(A: Any, B: Any) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ic,ic->i", A, B, dtype=np.float64))


class _Side:
    """Rows of one side: dense batches, or None and kernels that read sparse rows."""

    def __init__(self, Z: Matrix, dense: bool) -> None:
        self.Z, self.dense = Z, dense or is_dense(Z)
        self.parts = None if self.dense else rows_of(sp.csr_array(Z))

    def rows(self, index: NDArray[Any]) -> Any:
        if not self.dense:
            return None
        picked = self.Z[index]
        return np.asarray(picked.toarray() if sp.issparse(picked) else picked)

    def difference(self, plus: NDArray[Any], minus: NDArray[Any]) -> Any:
        return self.rows(plus) - self.rows(minus) if self.dense else None

    def project(
        self, index: NDArray[Any], rows: NDArray[Any] | None, A: NDArray[Any]
    ) -> NDArray[Any]:
        if rows is not None:
            return np.asarray(rows @ A)
        from simviz.methods._triple_kernels import project_rows

        out = np.empty((len(index), A.shape[1]), A.dtype)
        project_rows(self.parts, index, A, out)
        return out

    def update(
        self, index: NDArray[Any], rows: NDArray[Any] | None, G: NDArray[Any], A: NDArray[Any]
    ) -> None:
        if rows is not None:
            A += rows.T @ G
            return
        from simviz.methods._triple_kernels import update_rows

        update_rows(self.parts, index, A.dtype.type(1), G, A)
