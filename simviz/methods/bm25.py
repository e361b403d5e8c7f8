"""Okapi BM25."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, MethodTags, PairModel, RowScorer
from simviz.base.stored import Declared, Number, StoredArray
from simviz.params import interval, options
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class BM25(PairModel):
    r"""Okapi BM25: the lexical ranker that others have to beat.

    :math:`s(q,d)=\sum_t q_t\,\mathrm{idf}_t\,\frac{tf_{td}(k_1+1)}
    {tf_{td}+k_1(1-b+b\,|d|/\mathrm{avgdl})}` over raw term counts, with a
    saturating count and a correction for long documents.

    Parameters
    ----------
    k1 : float, default=1.2
        How soon repeated terms stop counting; 0 only asks whether they occur.
    b : float, default=0.75
        How much long documents are discounted, from 0 to 1.
    idf : {"lucene", "robertson"}, default="lucene"
        ln(1 + (N − df + ½)/(df + ½)), or the original without the 1 +, which
        is cut at 0 for terms in more than half of the documents.

    Attributes
    ----------
    idf_ : ndarray of shape (m,)
        Weight of each term up to the last one that a y item of the training data has.
    unseen_idf_ : float
        Weight of the others, and of any that no such item has: as if one had it.
    average_length_ : float
        Mean number of terms in a y item of the training data.

    See Also
    --------
    simviz.methods.tfidf_cosine.TfidfCosine : Symmetric, on weighted vectors.

    Notes
    -----
    One sparse weighting of the documents and one sparse product, instead of
    an index: all pairs are wanted here. Statistics come from the documents
    seen in training; unseen documents are weighted with them, and a term that
    none of them has weighs as if one had it.

    References
    ----------
    Robertson & Zaragoza (2009), The probabilistic relevance framework: BM25
    and beyond. Foundations and Trends in IR 3(4), section 3.

    Examples
    --------
    >>> import numpy as np
    >>> docs = np.array([[2.0, 0, 1], [0, 1, 1], [0, 0, 3]])
    >>> query = np.array([[1.0, 0, 0]])
    >>> BM25().fit(docs).similarity(query, docs).round(3)
    array([[1.303, 0.   , 0.   ]])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="BM25",
        reference="Robertson & Zaragoza 2009",
        year=1994,
        family="lexical",
        input="counts",
        space="one",
        uses="unsupervised",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k1": [interval(Real, 0, None)],
        "b": [interval(Real, 0, 1)],
        "idf": [options("lucene", "robertson")],
    }
    _stored: ClassVar[Declared] = {
        "idf_": StoredArray(("terms",), low=0, high=1e15, empty=True),
        "unseen_idf_": Number(0, optional=True),  # what older versions did not keep
        "average_length_": Number(positive=True),
    }

    k1: float = 1.2
    _: KW_ONLY
    b: float = 0.75
    idf: str = "lucene"

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        Y = _counts(Y)
        n = Y.shape[0]
        df = np.maximum(np.append(np.bincount(Y.indices), 0), 1).astype(np.float64)
        odds = (n - df + 0.5) / (df + 0.5)
        idf = np.log1p(odds) if self.idf == "lucene" else np.maximum(np.log(odds), 0.0)
        self.idf_, self.unseen_idf_ = idf[:-1], float(idf[-1])
        self.average_length_ = float(Y.sum() / n) or 1.0

    def _weights(self, Y: Matrix) -> sp.csr_array:
        """Document weights B, such that scores are counts(X) @ Bᵀ."""
        Y = _counts(Y)
        length = np.asarray(Y.sum(axis=1), dtype=np.float64).ravel() / self.average_length_
        damping = self.k1 * (1 - self.b + self.b * length)
        tf = Y.data.astype(np.float64)
        damping = np.repeat(damping, np.diff(Y.indptr))
        idf = np.append(self.idf_, getattr(self, "unseen_idf_", 0.0))[
            np.minimum(Y.indices, len(self.idf_))
        ]
        data = idf * tf * (self.k1 + 1) / (tf + damping)
        return sp.csr_array((data.astype(Y.dtype), Y.indices, Y.indptr), shape=Y.shape)

    def _candidates(self, Y: Matrix) -> sp.csr_array:
        return self._weights(Y).T.tocsr()

    def _row_scorer(self, X: Matrix, candidates: sp.csr_array) -> RowScorer:
        Q = _counts(X)
        return lambda rows: (Q[rows] @ candidates).toarray()

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        return np.asarray(_counts(X).multiply(self._weights(Y)).sum(axis=1)).ravel()


def _counts(X: Matrix) -> sp.csr_array:
    """Term counts as CSR without stored zeros, which would count as documents."""
    X = sp.csr_array(X)
    if X.nnz and X.data.min() < 0:
        raise ValueError(
            f"Negative values in data passed to BM25: it needs term counts, got {X.data.min()}. "
            "Use count features rather than centred or projected vectors."
        )
    if (X.data == 0).any():
        X = X.copy()
        X.eliminate_zeros()
    return X
