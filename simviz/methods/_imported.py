"""Scores of a system that is not here, as a method like any other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, MethodTags, PairModel, RowScorer
from simviz.base.stored import Declared, Size, StoredArray
from simviz.relevance import Relevance


class ImportedScores(PairModel):
    """A table of scores between known items; all others score 0."""

    # It learns nothing and is no method to choose: it holds what another system answered, so
    # that it is measured, compared and drawn as ours are.

    tags: ClassVar[MethodTags] = MethodTags(
        title="Imported scores",
        reference="another system",
        year=0,
        family="lexical",
        input="vectors",
        uses="unsupervised",
    )

    _stored: ClassVar[Declared] = {
        "n_features_in_": Size("x_features", optional=True),
        "n_features_y_": Size("y_features", optional=True),
        "scores": StoredArray(("x_features", "y_features"), layout="csr"),
    }

    def __init__(self, scores: sp.csr_array) -> None:
        self.scores = scores

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        pass  # the scores are given; widths were recorded by the base

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _row_scorer(self, X: Matrix, Y: Matrix) -> RowScorer:
        A = sp.csr_array(sp.csr_array(X) @ self.scores)
        BT = sp.csr_array(Y).T.tocsr()
        return lambda rows: (A[rows] @ BT).toarray()

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        A = sp.csr_array(sp.csr_array(X) @ self.scores)
        return np.asarray(A.multiply(sp.csr_array(Y)).sum(axis=1)).ravel()
