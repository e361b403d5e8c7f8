"""A dictionary between the terms of two sides, induced from pairs that belong together."""

from __future__ import annotations

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


class InducedDictionary(BaseEstimator):
    r"""How likely a term of the one side translates to which of the other.

    Model 1 of Brown et al.: each term f of a y item is the translation of one
    of the terms e of its x item, whichever, or of none. Expectation
    maximisation of
    :math:`\sum_{(x, y)} \sum_{f \in y} \log \left( \sum_{e \in x}
    t(f \mid e) + p_0(f) \right)`.

    Parameters
    ----------
    n_candidates : int, default=30
        Translations that a term may have: those that occur most often in the
        same pairs, by Dice's coefficient.
    max_iter : int, default=5
        Steps of expectation maximisation; 0 leaves Dice's coefficients, scaled
        to sum to 1.
    min_probability : float, default=0.001
        Less likely translations are dropped in the end.

    Attributes
    ----------
    translation_ : CSR array of shape (d_x, d_y)
        t(f | e). Rows sum to 1, or less where translations were dropped; that
        of a term that was never met is empty.
    loss_curve_ : list of float
        Before each step, mean negative logarithm of the probability of a term
        of the y side.

    Raises
    ------
    ValueError
        From `fit`, if a parameter is out of range, counts are negative, no pair
        belongs together, or the shapes do not fit.

    Notes
    -----
    Where the original normalises by the length of the x item, this one does
    not, which changes the balance with "none" alone: :math:`p_0(f)` is the
    share of f in the y side. All steps are products of sparse matrices, so
    that only terms that were met together cost anything.

    References
    ----------
    Brown, Della Pietra, Della Pietra & Mercer (1993), The mathematics of
    statistical machine translation. Computational Linguistics 19(2).

    Examples
    --------
    >>> from simviz.features import TextCounts
    >>> english, spanish = ["red car", "red sea", "car"], ["coche rojo", "mar rojo", "coche"]
    >>> x, y = TextCounts().fit(english), TextCounts().fit(spanish)
    >>> dictionary = InducedDictionary().fit(x.transform(english), y.transform(spanish))
    >>> best = dictionary.translation_.toarray().argmax(axis=1)
    >>> {e: y.vocabulary_[f] for e, f in zip(x.vocabulary_, best)}
    {'car': 'coche', 'red': 'rojo', 'sea': 'mar'}
    """

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "n_candidates": [interval(Integral, 1, None)],
        "max_iter": [interval(Integral, 0, None)],
        "min_probability": [interval(Real, 0, 1)],
    }

    translation_: sp.csr_array
    loss_curve_: list[float]

    def __init__(
        self, n_candidates: int = 30, *, max_iter: int = 5, min_probability: float = 0.001
    ) -> None:
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.min_probability = min_probability

    def fit(self, X: Matrix, y: Matrix, relevance: object = None) -> Self:
        """Induce the dictionary.

        Parameters
        ----------
        X : sparse matrix of shape (n_x, d_x)
            Counts of terms, one row an x item.
        y : sparse matrix of shape (n_y, d_y)
            Counts of terms, one row a y item.
        relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
            What belongs together; row i and row i when omitted.

        Returns
        -------
        InducedDictionary
            Itself.
        """
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
        """Translate term by term.

        Parameters
        ----------
        X : sparse matrix of shape (n, d_x)
            Counts, or other weights, of terms of the x side.

        Returns
        -------
        csr_array of shape (n, d_y)
            Expected counts of terms of the y side.

        Raises
        ------
        ValueError
            If the width is not that of the training items.
        """
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
