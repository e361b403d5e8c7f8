"""Vectors that come ready made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from simviz.base import Matrix
from simviz.base.stored import Declared, Size
from simviz.features._base import Transformer, normalize_rows


@dataclass(eq=False, repr=False)
class Vectors(Transformer):
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
        If vectors are not a finite numeric matrix, or of another width than in training.

    Examples
    --------
    >>> Vectors(normalize=True).fit_transform(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    _stored: ClassVar[Declared] = {"n_features_in_": Size("columns")}

    _parameter_constraints = {"normalize": ["boolean"]}  # noqa: RUF012 -- scikit-learn's name

    normalize: bool = False

    def _fit(self, X: Matrix) -> None:
        self.n_features_in_ = int(X.shape[1])

    def _transform(self, X: Matrix) -> Matrix:
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Vectors was fitted on {self.n_features_in_} columns, got {X.shape[1]}. "
                "Bring vectors made in the same way as those of the training items."
            )
        return normalize_rows(X) if self.normalize else X

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names that are given, else "v0", "v1" and so on."""
        names = super().get_feature_names_out()
        return names if input_features is None else np.asarray(input_features, dtype=object)

    def _names(self) -> list[str]:
        return [f"v{i}" for i in range(self.n_features_in_)]

    def _check(self, X: Matrix) -> Matrix:
        if not sp.issparse(X) and isinstance(text := next(iter(X), None), str):
            raise ValueError(
                f"This side is vectors, and {text[:40]!r} is a text, which cannot be compared "
                "with them. Give vectors as in training, or train on the texts."
            )
        matrix = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=0
        )
        return sp.csr_array(matrix) if sp.issparse(matrix) else matrix
