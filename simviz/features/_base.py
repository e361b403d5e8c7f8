"""What transformers share: their grammar, lengths of rows, and which of them are empty."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from simviz.base import Matrix, nonzero_rows
from simviz.features._analysis import check_texts, count_terms
from simviz.params import validate_params


class Transformer(TransformerMixin, BaseEstimator):
    """Turns the content of items into rows of a matrix.

    Subclasses write ``_fit``, ``_transform`` and ``_names``, and ``_check`` where
    they read something else than texts.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from the content of the training items; `y` is ignored."""
        self._check_parameters()
        self._fit(self._check(X))
        return self

    def transform(self, X: Any) -> Any:
        """Turn content into rows, an array or CSR (n, n_columns), empty without known features."""
        check_is_fitted(self)
        return self._transform(self._check(X))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names (n_columns,) of the columns: terms where they stand for terms, else numbered."""
        check_is_fitted(self)
        return np.array(self._names(), dtype=object)

    def unknown_share(self, X: Any) -> float | None:
        """Share of all terms of texts that training did not show; None of features without terms.

        Examples
        --------
        >>> from simviz.features import Tfidf
        >>> Tfidf().fit(["a red car"]).unknown_share(["a car", "a blue bus"])
        0.4
        """
        analyze = getattr(self, "_analyzer", None)
        if analyze is None or not hasattr(self, "vocabulary_"):
            return None
        counts, _ = count_terms(self._check(X), analyze(), self._columns(), 1)
        total = float(counts.sum(dtype=np.float64))
        unknown = float(counts[:, -1:].sum(dtype=np.float64))
        return unknown / total if total else 0.0

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_known_columns"}

    def _columns(self: Any) -> dict[str, int]:
        """The column of each name of the vocabulary; made once."""
        vocabulary, columns = getattr(self, "_known_columns", (None, {}))
        if vocabulary is not self.vocabulary_:
            columns = {name: i for i, name in enumerate(self.vocabulary_)}
            self._known_columns = self.vocabulary_, columns
        return columns

    def _check_parameters(self) -> None:
        validate_params(self)

    def _check(self, X: Any) -> Any:
        return check_texts(X, type(self).__name__)

    def _fit(self, X: Any) -> None:
        raise NotImplementedError

    def _transform(self, X: Any) -> Any:
        raise NotImplementedError

    def _names(self) -> list[str]:
        raise NotImplementedError


def empty_share(matrix: Matrix) -> float:
    """Share of rows that hold nothing but zeros.

    Such an item has no known word, keyword or edge; every similarity to it is 0.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n, d)
        Features, one row an item.

    Returns
    -------
    float
        Between 0 and 1; 0 for a matrix without rows.

    Examples
    --------
    >>> empty_share(np.array([[1.0, 0.0], [0.0, 0.0]]))
    0.5
    """
    filled = nonzero_rows(matrix if sp.issparse(matrix) else np.asarray(matrix))
    return float(1 - filled.mean()) if len(filled) else 0.0


def normalize_rows(matrix: Matrix) -> Matrix:
    """Scale every row to length 1 in a new matrix; empty rows stay empty."""
    if sp.issparse(matrix):
        counts = np.diff(matrix.indptr)
        rows = np.repeat(np.arange(matrix.shape[0]), counts)
        squares = np.square(matrix.data, dtype=np.float64)
        sums = np.bincount(rows, squares, minlength=matrix.shape[0])
        lengths = _divisors(sums.astype(np.float64))
        scaled = matrix.copy()
        scaled.data = (matrix.data / np.repeat(lengths, counts)).astype(matrix.dtype)
        return scaled
    lengths = _divisors(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    return (matrix / lengths[:, None]).astype(matrix.dtype)


def _divisors(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths from sums of squares; an empty row is divided by 1."""
    return np.where(squares > 0, np.sqrt(squares), 1.0)
