"""Cosine of weighted terms."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, MethodTags, PairModel, RowScorer, unit_rows
from simviz.relevance import Relevance


class TfidfCosine(PairModel):
    r"""Cosine of the given vectors: the vector space model, nothing learned.

    :math:`\cos(x, y) = x^\top y / (\|x\| \|y\|)` on tf·idf vectors over one vocabulary. Two items
    without a common term score 0, and so does an item without any known term.

    Attributes
    ----------
    n_features_in_ : int
        Width of both sides.

    See Also
    --------
    simviz.methods.bm25.BM25 : Saturates term frequency and counts length.

    Notes
    -----
    The term weights are the features' (`simviz.features.text.Tfidf`), learned
    from training items. This is the baseline that every paper compares with.

    References
    ----------
    Salton, Wong & Yang (1975), A vector space model for automatic indexing.
    CACM 18(11).

    Examples
    --------
    >>> X = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> TfidfCosine().fit(X).similarity(X, np.array([[1.0, 0.0]])).round(2).ravel()
    array([0.6, 0. ])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="TF-IDF cosine",
        reference="Salton et al. 1975",
        family="lexical",
        space="one",
        uses="unsupervised",
    )

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        pass  # the vectors carry all there is; widths were recorded by the base

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    @property
    def scales_items(self) -> bool:
        """Items are scaled to length 1."""
        return True

    def term_weights(
        self, x_index: NDArray[np.integer], y_index: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """A term counts with itself alone: a block of the identity.

        Parameters
        ----------
        x_index, y_index : ndarray of int
            Features of the two sides.

        Returns
        -------
        ndarray of float64, shape (len(x_index), len(y_index))
            1 where both are the same.
        """
        return np.equal.outer(x_index, y_index).astype(np.float64)

    def _candidates(self, Y: Matrix) -> sp.csr_array:
        return unit_rows(sp.csr_array(Y)).T.tocsr()

    def _row_scorer(self, X: Matrix, candidates: sp.csr_array) -> RowScorer:
        P = unit_rows(sp.csr_array(X))
        return lambda rows: (P[rows] @ candidates).toarray()

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        product = unit_rows(sp.csr_array(X)).multiply(unit_rows(sp.csr_array(Y)))
        return np.asarray(product.sum(axis=1)).ravel()
