"""A dictionary between the terms of two sides, induced from pairs that belong together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from simviz.params import interval, validate_params
from simviz.relevance import Relevance

Matrix = Any  # CSR array of shape (n, d)


@dataclass(eq=False, repr=False)
class InducedDictionary(BaseEstimator):
    r"""How likely a term of the one side translates to which of the other."""

    # Where the original normalises by the length of the x item, this one does not, which changes
    # the balance with "none" alone: p_0(f) is the share of f in the y side. All steps are
    # products of sparse matrices, so that only terms that were met together cost anything.
    # Brown, Della Pietra, Della Pietra & Mercer (1993), The mathematics of statistical machine
    # translation. Computational Linguistics 19(2).

    # Model 1 of Brown et al.: each term f of a y item is the translation of one of the terms e
    # of its x item, whichever, or of none. Expectation maximisation of :math:`\sum_{(x, y)}
    # \sum_{f \in y} \log \left( \sum_{e \in x} t(f \mid e) + p_0(f) \right)`.

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "n_candidates": [interval(Integral, 1, None)],
        "max_iter": [interval(Integral, 0, None)],
        "min_probability": [interval(Real, 0, 1)],
    }

    n_candidates: int = 30
    _: KW_ONLY
    max_iter: int = 5
    min_probability: float = 0.001

    def fit(self, X: Matrix, y: Matrix, relevance: object = None) -> Self:
        """Induce the dictionary."""
        validate_params(self)
        X, Y = (_counts(side) for side in (X, y))
        pairs = Relevance.coerce(relevance, X.shape[0], Y.shape[0]).positives.tocoo()
        if not pairs.nnz:
            raise ValueError(
                "A dictionary is induced from pairs that belong together; none does here. "
                "Give relevance with a value above 0."
            )
        X, Y = X[pairs.row], Y[pairs.col]
        T = _row_shares(_candidates(X, Y, self.n_candidates))
        total = Y.sum()
        none = np.asarray(Y.sum(axis=0)).ravel() / max(total, 1.0)
        self.loss_curve_ = []
        for _ in range(self.max_iter):
            T, loss = _step(X, Y, T, none)
            self.loss_curve_.append(loss / max(total, 1.0))
        T.data[T.data < self.min_probability] = 0
        T.eliminate_zeros()
        self.translation_ = T
        return self

    def transform(self, X: Matrix) -> sp.csr_array:
        """Translate term by term."""
        check_is_fitted(self)
        X = _counts(X)
        if X.shape[1] != self.translation_.shape[0]:
            raise ValueError(
                f"The dictionary knows {self.translation_.shape[0]} terms, got {X.shape[1]} "
                "columns. Count with the transformer it was fitted with."
            )
        return sp.csr_array(X @ self.translation_)


def _counts(matrix: Matrix) -> sp.csr_array:
    checked = check_array(matrix, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0)
    counts = sp.csr_array(checked)
    if (counts.data < 0).any():
        raise ValueError("Counts of terms are never negative. Use simviz.features.TextCounts.")
    return counts


def _candidates(X: sp.csr_array, Y: sp.csr_array, n: int) -> sp.csr_array:
    """Dice's coefficient of each term's best translations; the same place means the same pair."""
    x, y = (_ones(side) for side in (X, Y))
    together = sp.csr_array(x.T @ y)
    often = [np.asarray(side.sum(axis=0)).ravel() for side in (x, y)]
    rows = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
    dice = 2 * together.data / (often[0][rows] + often[1][together.indices])
    order = np.lexsort((together.indices, -dice, rows))
    place = np.arange(len(order)) - together.indptr[rows[order]]
    kept = order[place < n]
    return sp.csr_array((dice[kept], (rows[kept], together.indices[kept])), shape=together.shape)


def _step(
    X: sp.csr_array, Y: sp.csr_array, T: sp.csr_array, none: NDArray[np.float64]
) -> tuple[sp.csr_array, float]:
    """One step of expectation maximisation, and the loss before it."""
    # What explains term f of pair i: the sum over the terms of its x item, and none of them.
    explained = sp.csr_array((X @ T).multiply(_ones(Y))) + _ones(Y) @ sp.diags_array(none)
    explained = sp.csr_array(explained)
    explained.sort_indices()
    shares = sp.csr_array(Y, copy=True)
    shares.sort_indices()
    loss = -float(shares.data @ np.log(explained.data))
    shares.data = shares.data / explained.data
    return _row_shares(sp.csr_array(T.multiply(X.T @ shares))), loss


def _ones(matrix: sp.csr_array) -> sp.csr_array:
    ones = np.ones(len(matrix.data))
    return sp.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _row_shares(T: sp.csr_array) -> sp.csr_array:
    """Rows scaled to sum to 1; empty ones stay empty."""
    sums = np.asarray(T.sum(axis=1)).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return sp.csr_array(sp.diags_array(scale) @ T)
