"""What CCA and OPCA share: two sides, centred and whitened, and what links their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simviz.base import Matrix
from simviz.methods._operators import (
    Array,
    Operator,
    group_means,
    matrix_operator,
    rows_operator,
)
from simviz.methods._spectral import stacked
from simviz.methods._whitening import Directions, SpectralWhitening, Whitening, factor_whitening

_LEAST_RIDGE = 1e-6  # of the mean variance: what double precision still sees


class PairedSides:
    """Both sides' rows, weighted by the pairs they are in and centred side by side.

    Parameters
    ----------
    model : estimator
        Has `shared`, `rank`, `random_state` and reports progress.
    X, Y : array or CSR of shape (n_x, d_x) and (n_y, d_y)
        Items.
    weights : CSR array of shape (n_x, n_y)
        Weights of the pairs, summing to 1.
    many : bool, default=False
        Whether many regularisations will be asked for.

    Attributes
    ----------
    linked : CSR array of shape (n_x, n_y)
        diag(w_x)^-½ R diag(w_y)^-½, which turns weighted rows of one side into
        those of the other.
    x_mean, y_mean : ndarray of shape (d_x,) and (d_y,)
        Weighted means.
    variances : list of float
        Mean variance of the principal directions of each block: of both sides
        together if they share a vocabulary, else of either.
    noise_variance : float
        Mean variance of the items around the centred mean of their pair.
    """

    def __init__(
        self, model: Any, X: Matrix, Y: Matrix, weights: sp.csr_array, *, many: bool = False
    ) -> None:
        self.model = model
        self.dtype = X.dtype
        self.n_x, self.n_y = X.shape[0], Y.shape[0]
        w_x, w_y = (np.asarray(weights.sum(axis=a), dtype=np.float64).ravel() for a in (1, 0))
        self.linked = sp.csr_array(
            sp.diags_array(_inverse_root(w_x)) @ weights @ sp.diags_array(_inverse_root(w_y))
        )
        self._linked_back = sp.csr_array(self.linked.T)
        everything = slice(None)
        self.x_mean, self.y_mean = (
            group_means(Z, w, [everything])[0] for Z, w in ((X, w_x), (Y, w_y))
        )
        if model.shared:
            Z = stacked(X, Y)
            groups = [slice(0, self.n_x), slice(self.n_x, None)]
            blocks = [(Z, np.concatenate([w_x, w_y]), groups)]
        else:
            blocks = [(X, w_x, [everything]), (Y, w_y, [everything])]
        self.operators = [rows_operator(*block) for block in blocks]
        self._totals, self._ranks = zip(*(_variance(*block) for block in blocks), strict=True)
        self.variances = [t / r for t, r in zip(self._totals, self._ranks, strict=True)]
        self.noise_variance = self._noise_variance(X, Y, weights)
        self._many = many
        self._directions: dict[int, Directions] = {}
        self._between: Array | None = None  # of the principal directions of both sides

    def whitenings(self, ridges: list[float]) -> list[Whitening]:
        """One whitening a block.

        Parameters
        ----------
        ridges : list of float
            κ of each block.

        Returns
        -------
        list of Whitening
            By factors or principal directions, whichever is the shorter way.
        """
        return [self._whitening(block, ridge) for block, ridge in enumerate(ridges)]

    def _whitening(self, block: int, ridge: float) -> Whitening:
        op, variance = self.operators[block], self.variances[block]
        factor = factor_whitening(op, self.model.rank)
        # Nearly without a ridge a factor is rounding, or there is none at all.
        if factor is not None and ridge >= _LEAST_RIDGE * variance:
            for dtype in dict.fromkeys([_precision(op, ridge, variance), np.float64]):
                try:
                    return factor(op, ridge, dtype, self.model._notify)
                except np.linalg.LinAlgError:
                    # A few directions, or means, with nearly all that the numbers hold.
                    continue
        return self._principal(block).whitened(ridge)

    def _principal(self, block: int) -> Directions:
        if block not in self._directions:
            self._directions[block] = Directions(
                self.operators[block],
                self.model.rank,
                self.model.random_state,
                self.model._notify,
                keep=self._many,
            )
        return self._directions[block]

    def correlations(self, x: Whitening, y: Whitening) -> Operator:
        """(Ẑ_x W_x)ᵀ R Ẑ_y W_y, whose singular values are the canonical correlations.

        Parameters
        ----------
        x, y : Whitening
            Of the two sides.

        Returns
        -------
        Operator
            Of shape (r_x, r_y).
        """
        if isinstance(x, SpectralWhitening) and isinstance(y, SpectralWhitening):
            if self._between is None:
                self._between = (x.U.T @ (self.linked @ y.U)).astype(self.dtype)
            return matrix_operator(self._between * x.damping[:, None] * y.damping)
        return Operator(
            (x.rank, y.rank),
            lambda B: x.backward(self.linked.astype(B.dtype) @ y.forward(B)),
            lambda B: y.backward(self._linked_back.astype(B.dtype) @ x.forward(B)),
            dtype=self.dtype,
        )

    def across(self, F: Array) -> Array:
        """Each row's partners: [[0, R], [Rᵀ, 0]] times stacked rows of both sides.

        Parameters
        ----------
        F : ndarray of shape (n_x + n_y, b)
            Rows of the x side above those of the y side.

        Returns
        -------
        ndarray of shape (n_x + n_y, b)
            In the same order.
        """
        linked, back = self.linked.astype(F.dtype), self._linked_back.astype(F.dtype)
        return np.vstack([linked @ F[self.n_x :], back @ F[: self.n_x]])

    def _noise_variance(self, X: Matrix, Y: Matrix, weights: sp.csr_array) -> float:
        # tr E (x - y)(x - y)' / 4, centred: what both sides vary, less what they share.
        total = sum(self._totals) / 4
        noise = total
        if self.model.shared:
            mates = weights @ Y
            inner = (X.multiply(mates) if sp.issparse(X) else X * mates).sum(dtype=np.float64)
            noise -= (float(inner) - float(self.x_mean @ self.y_mean)) / 2
        # Pairs of equal items have no noise, but a ridge they need all the same.
        return max(noise, 1e-6 * total) / sum(self._ranks)

    def constant(self) -> bool:
        """Whether a block has nothing that varies beyond rounding."""
        return min(self.variances) <= 0.0


def _inverse_root(w: Array) -> Array:
    return np.divide(1.0, np.sqrt(w), out=np.zeros_like(w), where=w > 0)


def _precision(op: Any, ridge: float, variance: float) -> Any:
    # With a ridge far below the mean variance single precision would not see it.
    return op.dtype if ridge >= 0.01 * variance else np.float64


def _variance(Z: Matrix, weights: Array, groups: list[slice]) -> tuple[float, int]:
    """Total variance, 0 if it is rounding, and as many directions as rows and columns allow."""
    if sp.issparse(Z):
        exact = Z.astype(np.float64)
        squares = np.asarray(exact.multiply(exact).sum(axis=1)).ravel()
        columns = len(np.unique(Z.indices[Z.data != 0]))
    else:
        squares = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        columns = int((Z != 0).any(axis=0).sum())
    filled = int(((squares > 0) & (weights > 0)).sum())
    second = float(weights @ squares)
    total = second - sum(
        float(weights[rows].sum() * (mean @ mean))
        for rows, mean in zip(groups, group_means(Z, weights, groups), strict=True)
    )
    directions = max(1, min(filled - len(groups), columns))
    return (total if total > 1e-13 * second else 0.0), directions
