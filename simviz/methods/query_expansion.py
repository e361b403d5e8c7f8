"""Pseudo relevance feedback."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from simviz.base import Matrix, MethodTags, PairModel, RowScorer, unit_rows
from simviz.base.pair_model import row_blocks
from simviz.base.stored import Declared, Model, StoredArray
from simviz.params import interval, options
from simviz.relevance import Relevance

Places = dict[tuple[bytes, bytes], list[int]]


def places_of(D: sp.csr_array) -> Places:
    """Where documents of the same content stand, by their content."""
    at: Places = {}
    for row, key in enumerate(_keys(D)):
        at.setdefault(key, []).append(row)
    return at


def same_rows(Q: sp.csr_array, places: Places, n: int) -> sp.csr_array:
    """Which of n documents equal which queries, feature by feature."""
    matches = [places.get(key, []) if key[0] else [] for key in _keys(Q)]
    indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in matches], dtype=np.int64)])
    indices = np.array([row for rows in matches for row in rows], dtype=np.int64)
    return sp.csr_array(
        (np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(matches), n)
    )


def _keys(rows: sp.csr_array) -> list[tuple[bytes, bytes]]:
    ptr = rows.indptr.tolist()
    indices = rows.indices.astype(np.int64, copy=False)
    return [(indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in pairwise(ptr)]


def share_of_feedback(scores: NDArray[Any], own: sp.csr_array, n_feedback: int) -> sp.csr_array:
    """How much each document feeds each query."""
    weights = np.where(np.asarray(scores) > 0, scores, 0)
    rows = np.repeat(np.arange(len(weights)), np.diff(own.indptr))
    weights[rows, own.indices] = 0
    n = weights.shape[1]
    last = n - min(n_feedback, n)
    # The score at the last place; 0 where fewer documents can feed.
    limit = np.partition(weights, last, axis=1)[:, last]
    row, column = np.nonzero((weights > 0) & (weights >= limit[:, None]))
    is_tied = weights[row, column] == limit[row]
    n_tied = np.bincount(row[is_tied], minlength=len(weights))
    n_above = np.bincount(row[~is_tied], minlength=len(weights))
    places = np.minimum(n_feedback, n_above + n_tied)
    share = np.ones(len(row))
    share[is_tied] = ((places - n_above) / np.maximum(n_tied, 1))[row[is_tied]]
    return sp.csr_array((share / places[row], (row, column)), shape=weights.shape)


def heaviest_terms(rows: sp.csr_array, n_terms: int | None) -> sp.csr_array:
    """The terms of largest absolute weight in each row."""
    if n_terms is None or not rows.nnz:
        return rows
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -np.abs(rows.data), row))
    place = np.arange(rows.nnz) - rows.indptr[row]
    top = np.sort(order[place < n_terms])
    return sp.csr_array((rows.data[top], (row[top], rows.indices[top])), shape=rows.shape)


@dataclass(eq=False, repr=False)
class QueryExpansion(PairModel):
    r"""Query expansion: ask again with the terms of the first answers added.

    :math:`q' = q + \beta\,\lVert q\rVert \sum_{d \in \mathrm{top}_E(q)} w_{qd}\, d / \lVert
    d\rVert` with :math:`\sum_d w_{qd} = 1`: Rocchio's formula without negative feedback, where the
    E best documents by a base similarity stand for the relevant ones. The expanded query is scored
    by the same similarity.

    Parameters
    ----------
    beta : float, default=0.1
        Weight of the feedback against the query itself; 0 is the base similarity, unchanged.
    n_feedback : int, default=10
        How many documents feed a query (E). Only those with a similarity above 0 do.
    n_terms : int or None, default=50
        How many terms of the feedback are added, those of the highest weight; None adds all.
    base : str or PairModel, default="tfidf_cosine"
        The similarity: "tfidf_cosine", "bm25", "lsa", "opca", "cca" or "ssi", or any model whose
        two sides share one space, of which a clone is fitted.

    Attributes
    ----------
    base_ : PairModel
        The fitted similarity.
    collection_ : CSR array of shape (n_y, d)
        The documents that feed: the y items of the training data.

    See Also
    --------
    simviz.methods.tfidf_cosine.TfidfCosine : The default base.
    simviz.methods.lsa.LSA : Learns which terms go together instead.

    Notes
    -----
    Departures: a query keeps its length, which matters to a base that is no cosine; documents
    level at the E-th place share what is left of the places; and a document that equals the query
    item by item (a page among pages that ask for their links) never feeds it. Feedback comes from
    the training collection rather than from whatever is ranked, so that a similarity depends on
    the two items alone.

    References
    ----------
    Rocchio (1971), Relevance feedback in information retrieval. In: The
    SMART retrieval system, chapter 14.

    Examples
    --------
    The second document shares no term with the query, but one with the first:

    >>> docs = np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> query = np.array([[1.0, 0, 0]])
    >>> QueryExpansion(beta=0.5).fit(docs).similarity(query, docs).round(3)
    array([[0.863, 0.179, 0.   ]])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Query expansion",
        reference="Rocchio 1971",
        family="lexical",
        space="one",
        uses="unsupervised",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "beta": [interval(Real, 0, None)],
        "n_feedback": [interval(Integral, 1, None)],
        "n_terms": [interval(Integral, 1, None), None],
        "base": [options("tfidf_cosine", "bm25", "lsa", "opca", "cca", "ssi"), PairModel],
    }
    _stored: ClassVar[Declared] = {
        "base_": Model(),
        "collection_": StoredArray(("documents", "x_features"), layout="csr", rows=True),
    }

    beta: float = 0.1
    _: KW_ONLY
    n_feedback: int = 10
    n_terms: int | None = 50
    base: Any = "tfidf_cosine"

    @property
    def feature_tags(self) -> MethodTags:
        """What the base needs, whose features these are."""
        return self._new_base().tags

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        base = self._new_base()
        base.set_callbacks(*getattr(self, "_callbacks", ()))
        self.base_ = base.fit(X, Y, relevance)
        self.base_.set_callbacks()
        self.collection_ = _plain_rows(Y).copy()

    def _new_base(self) -> PairModel:
        """The similarity, not fitted, with one space for both sides."""
        if not isinstance(self.base, str):
            base: PairModel = clone(self.base)
        else:
            from simviz.methods import get_method

            base = get_method(self.base)()
        space = base.tags.space
        if space == "either" and isinstance(self.base, str):
            base.set_params(shared=True)
        if space == "two" or (space == "either" and not base.get_params(False)["shared"]):
            raise ValueError(
                f"QueryExpansion adds terms of documents to queries, but base={self.base!r} keeps "
                "a space a side. Take a base with one space, such as 'tfidf_cosine', or set "
                "shared=True."
            )
        return base

    def _feeding(self, dtype: Any) -> tuple[sp.csr_array, Places, Any]:
        """The collection as it feeds: rows of length 1, where each stands, and as candidates."""
        documents = self.collection_.astype(dtype)
        return unit_rows(documents), places_of(documents), self.base_._candidates(documents)

    def _expanded(self, X: Matrix, feeding: tuple[sp.csr_array, Places, Any]) -> Matrix:
        if self.beta == 0:
            return X
        Q = _plain_rows(X)
        D, places, candidates = feeding
        own, lengths = same_rows(Q, places, D.shape[0]), _lengths(Q)
        scorer = self.base_._row_scorer(X, candidates)
        parts = []
        for rows in row_blocks(Q.shape[0], D.shape[0]):
            shares = share_of_feedback(scorer(rows), own[rows], self.n_feedback)
            added = heaviest_terms(sp.csr_array(shares.astype(Q.dtype) @ D), self.n_terms)
            weight = sp.diags_array(self.beta * lengths[rows], dtype=Q.dtype)
            parts.append(Q[rows] + weight @ added)
        return sp.csr_array(sp.vstack(parts, format="csr", dtype=Q.dtype))

    def _candidates(self, Y: Matrix) -> Any:
        return self._feeding(Y.dtype), self.base_._candidates(Y)

    def _row_scorer(self, X: Matrix, candidates: Any) -> RowScorer:
        feeding, own = candidates
        return self.base_._row_scorer(self._expanded(X, feeding), own)

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        return self.base_._pair_score(self._expanded(X, self._feeding(X.dtype)), Y)


def _plain_rows(X: Matrix) -> sp.csr_array:
    """CSR rows without stored zeros, in the order of the columns."""
    rows = sp.csr_array(X)
    if not rows.has_canonical_format or (rows.data == 0).any():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def _lengths(Q: sp.csr_array) -> NDArray[np.float64]:
    return np.sqrt(np.asarray(Q.multiply(Q).sum(axis=1), dtype=np.float64).ravel())
