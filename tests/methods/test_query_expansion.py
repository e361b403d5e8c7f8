"""Pseudo relevance feedback against its formula."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from simviz.base import unit_rows
from simviz.data import PairSet
from simviz.features import TextCounts, Tfidf
from simviz.methods import CCA, get_method
from simviz.methods.query_expansion import (
    QueryExpansion,
    heaviest_terms,
    places_of,
    same_rows,
    share_of_feedback,
)
from simviz.pipeline import default_pipeline, load_pipeline


def texts(seed, n, d=30):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.poisson(0.25, (n, d)) * rng.uniform(0.5, 2, d))


WORDS = [f"{a}{b} {b}{c} {c}{a}" for a in "abcd" for b in "efg" for c in "hi"]
PAIRS = PairSet.from_texts(WORDS, WORDS[::-1])


def by_definition(Q, D, beta, E, *, itself=True):
    """Cosines of the expanded queries, one by one; no ties, no copies but the query itself."""
    Q, D = (unit_rows(Z.toarray()) for Z in (Q, D))
    found = []
    for i, q in enumerate(Q):
        s = D @ q
        if not itself:
            s[i] = 0
        top = [j for j in np.argsort(-s, kind="stable")[:E] if s[j] > 0]
        fed = D[top].mean(axis=0) if top else 0 * q
        found.append(D @ unit_rows((q + beta * fed)[None])[0])
    return np.array(found)


@pytest.mark.parametrize("E", [1, 3, 10, 500])
def test_it_is_rocchio_without_negative_feedback(E):
    Q, D = texts(0, 20), texts(1, 60)
    model = QueryExpansion(0.4, n_feedback=E, n_terms=None).fit(D)
    assert_allclose(model.similarity(Q, D), by_definition(Q, D, 0.4, E), atol=1e-12)


@pytest.mark.parametrize("base", ["tfidf_cosine", "bm25", "lsa"])
def test_without_weight_it_is_the_base(base):
    Q, D = texts(0, 20), texts(1, 60)
    plain = get_method(base)(**({"n_components": 5} if base == "lsa" else {}))
    expanded = QueryExpansion(0, base=plain).fit(Q, D, np.eye(20, 60))
    assert_array_equal(expanded.similarity(Q, D), plain.fit(Q, D, np.eye(20, 60)).similarity(Q, D))


def test_a_document_never_feeds_on_itself():
    D = texts(2, 40)
    model = QueryExpansion(1.0, n_feedback=1, n_terms=None).fit(D)
    expected = by_definition(D, D, 1.0, 1, itself=False)
    assert_allclose(model.similarity(D, D), expected, atol=1e-12)


def test_copies_of_the_query_are_known_by_their_features_alone():
    D = texts(3, 12).tolil()
    D[5] = D[2]
    D[7] = 0
    D = sp.csr_array(D)
    assert same_rows(D, places_of(D), 12).toarray().tolist() == [
        [(i == j or {i, j} == {2, 5}) and i != 7 for j in range(12)] for i in range(12)
    ]


def test_documents_level_at_the_last_place_share_it():
    scores = np.array([[0.9, 0.5, 0.5, 0.5, 0.1], [0.0, 0.0, 0.3, 0.0, -1.0], [0.0] * 5])
    none = sp.csr_array((3, 5), dtype=bool)
    shares = share_of_feedback(scores, none, 2).toarray()
    assert_allclose(shares[0], [1 / 2, 1 / 6, 1 / 6, 1 / 6, 0])
    assert_allclose(shares[1], [0, 0, 1, 0, 0])
    assert_allclose(shares[2], 0)
    own = sp.csr_array(([True], ([0], [0])), shape=(3, 5))
    assert_allclose(share_of_feedback(scores, own, 2).toarray()[0], [0, 1 / 3, 1 / 3, 1 / 3, 0])


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_shares_add_up_and_do_not_depend_on_the_order(seed, E):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-1, 4, (4, 9)) / 4
    shares = share_of_feedback(scores, sp.csr_array((4, 9), dtype=bool), E).toarray()
    assert_allclose(shares.sum(axis=1), (scores > 0).any(axis=1))
    order = rng.permutation(9)
    again = share_of_feedback(scores[:, order], sp.csr_array((4, 9), dtype=bool), E).toarray()
    assert_allclose(again, shares[:, order])
    assert ((shares > 0) <= (scores > 0)).all()


def test_only_the_heaviest_terms_are_added():
    rows = sp.csr_array([[0.1, -0.9, 0.5, 0.5], [0, 0, 0, 0], [0, 0.2, 0, 0]])
    kept = heaviest_terms(rows, 2).toarray()
    assert kept.tolist() == [[0, -0.9, 0.5, 0], [0, 0, 0, 0], [0, 0.2, 0, 0]]
    assert heaviest_terms(rows, None) is rows


@pytest.mark.parametrize(("base", "message"), [(CCA(2), "one space"), ("cca_", "base")])
def test_a_space_a_side_is_refused(base, message):
    with pytest.raises(ValueError, match=message):
        QueryExpansion(base=base).fit(texts(0, 20), texts(1, 20))


@pytest.mark.parametrize(("base", "features"), [("tfidf_cosine", Tfidf), ("bm25", TextCounts)])
def test_features_are_those_of_the_base(base, features):
    pipeline = default_pipeline("query_expansion", PAIRS, base=base)
    assert type(pipeline.x_features) is features


def test_any_shared_base_can_be_stored(tmp_path):
    base = CCA(3, shared=True)
    pipeline = default_pipeline("query_expansion", PAIRS, base=base).fit(PAIRS)
    pipeline.save(tmp_path / "qe.simviz")
    again = load_pipeline(tmp_path / "qe.simviz")
    assert_array_equal(again.similarity(PAIRS.x, PAIRS.y), pipeline.similarity(PAIRS.x, PAIRS.y))
