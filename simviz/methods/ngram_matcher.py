"""Matching by character trigrams."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, MethodTags, PairModel, RowScorer
from simviz.relevance import Relevance


class NgramMatcher(PairModel):
    r"""Trigrams that two texts share, less those that only one of them has.

    With :math:`T_q` and :math:`T_c` for the sets of trigrams of a query of :math:`m` characters
    and of a candidate, :math:`s(q, c) = m - (|T_q \ominus T_c| - |T_q \cap T_c|) = m - |T_q| -
    |T_c| + 3\,|T_q \cap T_c|`.

    Attributes
    ----------
    n_features_in_ : int
        Width of both sides.

    See Also
    --------
    simviz.methods.siamese_blstm.SiameseBLSTM : Learns what the paper compares with this.
    simviz.methods.tfidf_cosine.TfidfCosine : Weighs terms and corrects for length.

    Notes
    -----
    It is the baseline of the paper, which calls the part in brackets a match although it grows
    with what differs. What is unlike in the query costs the same for every candidate: extra words
    in it do no harm, and of two candidates that it contains the longer one wins. The length m is
    taken from the counts, as the number of trigrams with repetitions and 2.

    A text shorter than three characters is one term as a whole, so that it
    finds its like first, then the shortest candidates. An item without any
    character scores 0, whatever it is compared with.

    References
    ----------
    Neculoiu, Versteegh & Rotaru (2016), Learning text similarity with Siamese
    recurrent networks. RepL4NLP, section 5.

    Examples
    --------
    >>> from simviz.features import Trigrams
    >>> jobs = ["clerk", "bank clerk", "banker"]
    >>> trigrams = Trigrams().fit(jobs)
    >>> model = NgramMatcher().fit(trigrams.transform(jobs))
    >>> model.similarity(trigrams.transform(["senior bank clerk"]), trigrams.transform(jobs))
    array([[ 8., 18.,  4.]], dtype=float32)
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="N-gram matcher",
        reference="Neculoiu et al. 2016",
        family="lexical",
        input="trigrams",
        space="one",
        uses="unsupervised",
    )

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        pass  # the trigrams carry all there is; widths were recorded by the base

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _candidates(self, Y: Matrix) -> tuple[sp.csr_array, NDArray[np.floating]]:
        B, b = _present(Y)
        return 3 * B.T.tocsr(), b

    def _row_scorer(self, X: Matrix, candidates: Any) -> RowScorer:
        (A, a), (BT, b) = _present(X), candidates
        offset = _length(X) - a

        def score(rows: slice) -> NDArray[np.floating]:
            scores = (A[rows] @ BT).toarray()
            scores += offset[rows, None]
            scores -= b
            scores[a[rows] == 0] = 0
            scores[:, b == 0] = 0
            return scores

        return score

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        (A, a), (B, b) = _present(X), _present(Y)
        common = np.asarray(A.multiply(B).sum(axis=1), dtype=A.dtype).ravel()
        return np.where((a > 0) & (b > 0), _length(X) - a - b + 3 * common, 0).astype(A.dtype)


def _present(X: Matrix) -> tuple[sp.csr_array, NDArray[np.floating]]:
    """Ones where a trigram occurs, and how many of them each row has."""
    ones = sp.csr_array(sp.csr_array(X) > 0, dtype=X.dtype)
    ones.eliminate_zeros()
    return ones, np.diff(ones.indptr).astype(X.dtype)


def _length(X: Matrix) -> NDArray[np.floating]:
    counts = sp.csr_array(X)
    counts = counts.multiply(counts > 0)
    return np.asarray(counts.sum(axis=1), dtype=X.dtype).ravel() + 2
