"""The lexical rankers against their formulas and bm25s."""

from __future__ import annotations

import bm25s
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from simviz.methods.bm25 import BM25
from simviz.methods.tfidf_cosine import TfidfCosine


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    docs = sp.csr_array(rng.poisson(0.4, (40, 30)).astype(float))
    queries = sp.csr_array((rng.random((8, 30)) < 0.1).astype(float))
    return queries, docs


@pytest.mark.parametrize("variant", ["lucene", "robertson"])
def test_bm25_equals_bm25s_but_for_its_constant(counts, variant):
    queries, docs = counts
    words = np.array([f"w{t}" for t in range(30)])
    peer = bm25s.BM25(method=variant, k1=1.2, b=0.75)
    corpus = [np.repeat(words, row.astype(int)).tolist() for row in docs.toarray()]
    peer.index(corpus, show_progress=False)
    ours = BM25(idf=variant, **BM25.presets["paper"]).fit(docs).similarity(queries, docs)
    frequent = np.bincount(docs.indices, minlength=30) > 20  # where Robertson's idf is negative
    for row, asked in zip(ours, queries.toarray() > 0, strict=True):
        if asked.any() and not (variant == "robertson" and frequent[asked].any()):
            assert_allclose(row, peer.get_scores(words[asked].tolist()) * 2.2, atol=1e-5)


def test_bm25_at_its_ends_is_tf_idf_or_asks_only_whether_terms_occur(counts):
    queries, docs = counts
    D = docs.toarray()
    for params, tf in (({"k1": 1e9, "b": 0, "symmetric": False}, D), ({"k1": 0}, D > 0)):
        model = BM25(**params).fit(docs)
        expected = queries @ (tf * model.idf_).T
        assert_allclose(model.similarity(queries, docs), expected, rtol=1e-6)


def test_bm25_refuses_negative_counts(counts):
    with pytest.raises(ValueError, match="term counts"):
        BM25().fit(-counts[1])


def test_cosine_is_the_cosine(counts):
    queries, docs = counts
    S = TfidfCosine().fit(docs).similarity(queries, docs)
    Q, D = queries.toarray(), docs.toarray()
    norms = np.outer(np.linalg.norm(Q, axis=1), np.linalg.norm(D, axis=1))
    assert_allclose(S, np.divide(Q @ D.T, norms, out=norms * 0, where=norms > 0))


def test_both_sides_of_bm25_are_documents(counts):
    queries, docs = counts
    other = sp.csr_array(docs[::-1])
    both, turned = BM25().fit(queries[[0] * 40], docs), BM25().fit(docs, queries[[0] * 40])
    assert_allclose(both.similarity(queries, other), turned.similarity(other, queries).T)
    assert_allclose(both.pair_score(docs, other), both.similarity(docs, other).diagonal())
    # An item of mean length without repeated terms scores as a query does.
    plain = BM25(symmetric=False).fit(docs)
    known = BM25().fit(queries[[0] * 40], docs)
    known.idf_, known.unseen_idf_ = plain.idf_, plain.unseen_idf_
    known.x_average_length_ = float(queries[[3]].sum())
    assert_allclose(known.similarity(queries[[3]], docs), plain.similarity(queries[[3]], docs))
    # N and df count both sides.
    assert BM25().fit(docs, other).unseen_idf_ == pytest.approx(np.log1p((80 - 0.5) / 1.5))


def test_a_term_that_no_document_of_training_has_weighs_as_if_one_had():
    model = BM25(symmetric=False).fit(np.array([[1.0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    query, document = np.eye(4), np.array([[0.0, 1, 0, 1]])
    scores = model.similarity(query, document).ravel()
    assert scores[1] == pytest.approx(scores[3])
    assert scores[3] > 0
