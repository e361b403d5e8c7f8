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

    :math:`s(q,d)=\sum_t w_{tq}\,\mathrm{idf}_t\,w_{td}` with :math:`w_{td}=\frac{tf_{td}(k_1+1)}
    {tf_{td}+k_1(1-b+b\,|d|/\mathrm{avgdl})}` over raw term counts: a
    saturating count and a correction for long items.

    Parameters
    ----------
    k1 : float, default=3.0
        How late repeated terms stop counting; 0 only asks whether they occur. Where both
        sides are documents each is damped, so that the 1.2 of plain queries damps twice.
    b : float, default=0.75
        How much long documents are discounted, from 0 to 1.
    idf : {"lucene", "robertson"}, default="lucene"
        ln(1 + (N − df + ½)/(df + ½)), or the original without the 1 +, which
        is cut at 0 for terms in more than half of the documents.
    symmetric : bool, default=True
        Whether both sides are documents: x items are weighted as y items are, by
        their own mean length, and N and df count the items of both. Otherwise x items
        are queries as in the paper, :math:`w_{tq}=tf_{tq}`, and N and df are of y items.

    Attributes
    ----------
    idf_ : ndarray of shape (m,)
        Weight of each term up to the last one that an item of the training data has.
    unseen_idf_ : float
        Weight of the others, and of any that no such item has: as if one had it.
    average_length_ : float
        Mean number of terms in a y item of the training data.
    x_average_length_ : float
        The same of x items; 0 where they are queries.

    See Also
    --------
    simviz.methods.tfidf_cosine.TfidfCosine : Symmetric, on weighted vectors.

    Notes
    -----
    One sparse weighting of the documents and one sparse product, instead of an index: all pairs
    are wanted here. Statistics come from the items seen in training; unseen ones are weighted with
    them, and a term that none of them has weighs as if one had it.

    Departure: a plain query has no length correction, so that y items that ask
    would find the longest x items. With `symmetric` an x item of mean length
    without repeated terms scores as a query does; for others the order of y items
    hardly changes, and that of x items is the one of a ranker that searches these.

    References
    ----------
    Robertson & Zaragoza (2009), The probabilistic relevance framework: BM25
    and beyond. Foundations and Trends in IR 3(4), section 3.

    Examples
    --------
    >>> docs = np.array([[2.0, 0, 1], [0, 1, 1], [0, 0, 3]])
    >>> query = np.array([[1.0, 0, 0]])
    >>> BM25(1.2, symmetric=False).fit(docs).similarity(query, docs).round(3)
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
    presets: ClassVar = {"paper": {"k1": 1.2, "symmetric": False}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k1": [interval(Real, 0, None)],
        "b": [interval(Real, 0, 1)],
        "idf": [options("lucene", "robertson")],
        "symmetric": ["boolean"],
    }
    _stored: ClassVar[Declared] = {
        "idf_": StoredArray(("terms",), low=0, high=1e15, empty=True),
        "average_length_": Number(positive=True),
        "unseen_idf_": Number(0),
        "x_average_length_": Number(0),
    }

    k1: float = 3.0
    _: KW_ONLY
    b: float = 0.75
    idf: str = "lucene"
    symmetric: bool = True

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        both = [_counts(Y)] if X is Y or not self.symmetric else [_counts(Y), _counts(X)]
        n = sum(Z.shape[0] for Z in both)
        terms = np.concatenate([Z.indices for Z in both])
        df = np.maximum(np.append(np.bincount(terms), 0), 1).astype(np.float64)
        odds = (n - df + 0.5) / (df + 0.5)
        idf = np.log1p(odds) if self.idf == "lucene" else np.maximum(np.log(odds), 0.0)
        self.idf_, self.unseen_idf_ = idf[:-1], float(idf[-1])
        y_length, x_length = (float(Z.sum() / Z.shape[0]) or 1.0 for Z in (both[0], both[-1]))
        self.average_length_ = y_length
        self.x_average_length_ = x_length if self.symmetric else 0.0

    def _documents(self, Y: Matrix) -> sp.csr_array:
        """Weights of y items with the idf, such that scores are queries(X) @ Bᵀ."""
        Y = self._saturated(_counts(Y), self.average_length_)
        idf = np.append(self.idf_, self.unseen_idf_)
        data = idf[np.minimum(Y.indices, len(self.idf_))] * Y.data
        return sp.csr_array((data, Y.indices, Y.indptr), shape=Y.shape)

    def _queries(self, X: Matrix) -> sp.csr_array:
        average = self.x_average_length_
        return self._saturated(_counts(X), average) if average else _counts(X)

    def _saturated(self, Z: sp.csr_array, average: float) -> sp.csr_array:
        length = np.asarray(Z.sum(axis=1), dtype=np.float64).ravel() / average
        damping = np.repeat(self.k1 * (1 - self.b + self.b * length), np.diff(Z.indptr))
        tf = Z.data.astype(np.float64)
        return sp.csr_array((tf * (self.k1 + 1) / (tf + damping), Z.indices, Z.indptr), Z.shape)

    def _candidates(self, Y: Matrix) -> sp.csr_array:
        return self._documents(Y).astype(Y.dtype).T.tocsr()

    def _row_scorer(self, X: Matrix, candidates: sp.csr_array) -> RowScorer:
        Q = self._queries(X).astype(X.dtype)
        return lambda rows: (Q[rows] @ candidates).toarray()

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        P, Q = self._queries(X).astype(X.dtype), self._documents(Y).astype(X.dtype)
        return np.asarray(P.multiply(Q).sum(axis=1)).ravel()


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
