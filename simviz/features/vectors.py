"""Vectors that come ready made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from simviz.base import Matrix
from simviz.features._base import normalize_rows
from simviz.params import validate_params


@dataclass(eq=False, repr=False)
class Vectors(TransformerMixin, BaseEstimator):
    """Ready vectors, passed on as they are.

    Sparse stays sparse (CSR), float32 and float64 stay what they are, other
    numbers become float64.

    Parameters
    ----------
    normalize : bool, default=False
        Whether rows are scaled to length 1. Empty rows stay empty.

    Attributes
    ----------
    n_features_in_ : int
        Width of the training vectors; others are refused.

    Raises
    ------
    ValueError
        If vectors are not a finite numeric matrix, or of another width than
        in training.

    Examples
    --------
    >>> Vectors(normalize=True).fit_transform(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    _parameter_constraints = {"normalize": ["boolean"]}  # noqa: RUF012 -- scikit-learn's name

    normalize: bool = False

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Remember how wide the vectors are.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The training vectors.
        y : object, optional
            Ignored.

        Returns
        -------
        Vectors
            Itself.
        """
        validate_params(self)
        self.n_features_in_ = int(self._check(X).shape[1])
        return self

    def transform(self, X: Matrix) -> Matrix:
        """Pass vectors on, scaled to length 1 if asked for.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Vectors as wide as in training.

        Returns
        -------
        array or csr_array of shape (n, d)
            The vectors.
        """
        check_is_fitted(self)
        matrix = self._check(X)
        if matrix.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Vectors was fitted on {self.n_features_in_} columns, got {matrix.shape[1]}. "
                "Bring vectors made in the same way as those of the training items."
            )
        return normalize_rows(matrix) if self.normalize else matrix

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names for the columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names to pass on; "v0", "v1", ... when omitted.

        Returns
        -------
        ndarray of str, shape (d,)
            One name a column.
        """
        check_is_fitted(self)
        if input_features is not None:
            return np.asarray(input_features, dtype=object)
        return np.array([f"v{i}" for i in range(self.n_features_in_)], dtype=object)

    def _check(self, X: Matrix) -> Matrix:
        matrix = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=0
        )
        return sp.csr_array(matrix) if sp.issparse(matrix) else matrix
