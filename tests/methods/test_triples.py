"""Triples drawn from judgments or given, and the passive-aggressive model."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from simviz.base import unit_rows
from simviz.methods._triples import TripleSource
from simviz.methods.pamir import PAMIR
from simviz.methods.ssi import SSI
from simviz.relevance import Relevance


def drawn(relevance, n=3_000, **settings_):
    source = TripleSource(relevance, links=settings_.pop("links", False), **settings_)
    return source.draw(n, 7)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**16), share=st.floats(0.05, 0.95), links=st.booleans())
def test_others_are_all_that_is_not_relevant_and_nothing_else(seed, share, links):
    R = np.random.default_rng(seed).random((7, 7)) < share
    apart = ~(np.eye(7, dtype=bool) & links)
    triples = drawn(Relevance(sp.csr_array(R * 1.0)), links=links) if R.any() else []
    better, worse = R & apart, ~R & apart
    possible = set(zip(*np.nonzero(better[:, :, None] & worse[:, None]), strict=True))
    seen = set(map(tuple, np.asarray(triples).tolist()))
    assert seen <= possible
    if 0 < len(possible) < 150:
        assert len(seen) > 0.9 * len(possible)


def test_pairs_and_others_are_drawn_evenly():
    R = Relevance(sp.csr_array(np.array([[1.0, 0, 1, 0, 0], [0, 0, 0, 5, 0]])))
    triples = drawn(R, 30_000)
    pairs, counts = np.unique(triples[:, :2], axis=0, return_counts=True)
    assert pairs.tolist() == [[0, 0], [0, 2], [1, 3]]
    np.testing.assert_allclose(counts, 10_000, rtol=0.05)
    for q, expected in ((0, [1, 3, 4]), (1, [0, 1, 2, 4])):
        others, counts = np.unique(triples[triples[:, 0] == q, 2], return_counts=True)
        assert others.tolist() == expected
        np.testing.assert_allclose(counts / counts.sum(), 1 / len(expected), rtol=0.05)


def test_links_never_compare_an_item_with_itself():
    R = Relevance.from_pairs([0, 0, 1], [0, 1, 0], [1, 1, 1], shape=(3, 3))
    assert np.unique(drawn(R, links=True), axis=0).tolist() == [[0, 1, 2], [1, 0, 2]]
    judged = Relevance.from_pairs([0, 0, 0, 1], [1, 0, 2, 0], [1, -1, -1, 1], shape=(3, 3))
    assert np.unique(drawn(judged, links=True), axis=0).tolist() == [[0, 1, 2]]


def test_judged_negatives_are_the_only_others():
    R = Relevance.from_pairs([0, 0, 1, 1, 2], [0, 1, 1, 2, 0], [1, -1, 2, -1, 1], shape=(3, 3))
    assert np.unique(drawn(R), axis=0).tolist() == [[0, 0, 1], [1, 1, 2]]  # row 2: nothing worse


@pytest.mark.parametrize("method", [SSI, PAMIR])
def test_one_collection_is_recognised(method):
    X = np.eye(3)
    R = Relevance(sp.csr_array(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])))
    model = method()
    for Y, expected in ((X.copy(), {(0, 1, 2), (1, 0, 2)}), (X[::-1].copy(), None)):
        triples = model._source(X, Y, R, group=1).draw(500, 1)
        found = set(map(tuple, triples.tolist()))
        assert found == expected if expected else (2, 2, 0) in found
    own = model._source(X, X, Relevance.identity(3), group=1).draw(500, 1)
    assert (own[:, 0] == own[:, 1]).all()  # nothing but pairs of a row with itself was said


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("averaged", [False, True])
def test_the_identity_gives_the_cosine_before_anything_is_learned(kind, averaged):
    X, Y = (unit_rows(np.random.default_rng(i).standard_normal((30, 6))) for i in (0, 1))
    still = PAMIR(1e-12, shared=True, max_iter=1, averaged=averaged).fit(kind(X), kind(Y))
    np.testing.assert_allclose(still.similarity(kind(X), kind(Y)), X @ Y.T, atol=1e-6)


def test_the_identity_is_of_features_that_both_sides_keep():
    rng = np.random.default_rng(0)
    X, Y = np.zeros((2, 40, 600))
    for Z, weight in ((X, np.arange(600)), (Y, np.arange(600)[::-1])):
        for row in Z:
            row[rng.choice(600, 40, replace=False, p=weight / weight.sum())] = 1
    model = PAMIR(1e-12, shared=True, max_iter=1, max_memory=1)
    with pytest.warns(UserWarning, match="are kept"):
        model.fit(X, Y)
    both = np.intersect1d(model.x_kept_, model.y_kept_)
    assert 0 < len(both) < len(model.x_kept_)
    every = np.arange(600)
    W = model.term_weights(every, every)
    np.testing.assert_allclose(W, np.diag(np.isin(every, both).astype(float)), atol=1e-6)


def test_a_start_from_the_identity_stays_unless_a_pass_is_better():
    rng = np.random.default_rng(0)
    X = unit_rows(rng.standard_normal((120, 40)))
    Y = unit_rows(X + 0.05 * rng.standard_normal((120, 40)))
    model = PAMIR(shared=True).fit(X, Y)
    assert model.best_iter_ == 0
    np.testing.assert_allclose(model.similarity(X, Y), X @ Y.T, atol=1e-6)
    for from_0 in (PAMIR(), PAMIR(init="zero", shared=True)):
        assert from_0.fit(X, Y).best_iter_ > 0


def test_a_start_of_other_vocabularies_is_refused():
    for wrong, instead in (
        (SSI(init="identity"), "Set shared=True"),
        (SSI(init="identity", shared=True, form="symmetric"), "Set shared=True"),
        (SSI(init="random", shared=True), "Set init='identity'"),
    ):
        with pytest.raises(ValueError, match=instead):
            wrong.fit(np.eye(3), np.eye(3))


@pytest.mark.parametrize("method", [SSI, PAMIR])
def test_given_triples_are_all_that_is_learned_from(method):
    X, Y, triples = np.eye(2), np.eye(3), [[0, 0, 1], [1, 2, 0]]
    model = method(max_iter=3).fit(X, Y, triples=triples)
    S = model.similarity(X, Y)
    assert S[0, 0] > S[0, 1] + 0.05 and S[1, 2] > S[1, 0] + 0.05
    contrary = Relevance(sp.csr_array(np.array([[0.0, 1, 0], [1, 0, 0]])))
    same = method(max_iter=3).fit(X, Y, contrary, triples=triples)
    np.testing.assert_array_equal(same.similarity(X, Y), S)
    assert not hasattr(model, "_triples")


def test_triples_that_name_nothing_are_refused():
    for triples, message in (
        ([[0, 1]], "three whole numbers"),
        ([[0.0, 1.0, 2.0]], "three whole numbers"),
        ([[0, 1, 3]], "of y up to 2"),
        ([[0, -1, 2]], "of y up to 2"),
    ):
        with pytest.raises(ValueError, match=message):
            SSI().fit(np.eye(2), np.eye(3), triples=triples)


@pytest.mark.parametrize("method", [SSI, PAMIR])
def test_judgments_of_one_sign_are_refused_and_items_without_features_teach_nothing(method):
    only = Relevance.from_pairs([0], [0], [-1], shape=(3, 3))
    with pytest.raises(ValueError, match=f"{method.__name__} compares .* Bring both"):
        method().fit(np.eye(3), np.eye(3), only)
    nothing = sp.csr_array((4, 3))
    assert not method(max_iter=1).fit(nothing, nothing).similarity(nothing, nothing).any()


def passes(X, Y, triples, C):
    """PAMIR as one reads it in the paper; W after each triple, and what it lost before."""
    W = np.zeros((X.shape[1], Y.shape[1]))
    for q, plus, minus in triples:
        delta = Y[plus] - Y[minus]
        loss = max(0.0, 1 - X[q] @ W @ delta)
        square = (X[q] @ X[q]) * (delta @ delta)
        if loss and square:
            W = W + min(C, loss / square) * np.outer(X[q], delta)
        yield W, loss


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("averaged", [False, True])
def test_it_is_the_loop_of_the_paper(storage, averaged, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((5, 6)) * (rng.random((5, 6)) < 0.5)
    Y = rng.random((8, 4)) * (rng.random((8, 4)) < 0.7)
    triples = np.stack([rng.integers(0, n, 300) for n in (5, 8, 8)], axis=1).astype(np.int32)
    monkeypatch.setattr("simviz.methods._triples.FEWEST", 300)
    monkeypatch.setattr(TripleSource, "draw", lambda self, n, seed: triples[:n])
    model = PAMIR(0.3, averaged=averaged, max_iter=1, normalize=False)
    model.fit(storage(X), storage(Y), sp.csr_array((rng.random((5, 8)) < 0.3) * 1.0))
    steps, losses = zip(*passes(X, Y, triples, 0.3), strict=True)
    assert model.loss_curve_ == [pytest.approx(np.mean(losses))]
    expected = np.mean(steps, axis=0) if averaged else steps[-1]
    np.testing.assert_allclose(model.weights_, expected, atol=1e-12)
    np.testing.assert_allclose(model.similarity(storage(X), storage(Y)), X @ expected @ Y.T)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_features_that_most_items_have_are_kept_where_memory_is_short(kind, monkeypatch):
    monkeypatch.setattr("simviz.methods._triples.FEWEST", 200)  # triples of a pass
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 1_000)), rng.random((30, 70))
    X[:, ::2] *= rng.random((30, 500)) < 0.5
    with pytest.warns(UserWarning, match=r"PAMIR .* 1,000 of X × 70 of y .*=1 MB. The 468 × 70"):
        model = PAMIR(max_iter=1, max_memory=1).fit(kind(X), kind(Y))
    assert (model.x_kept_ % 2 == 1).all()  # each is in all items
    assert model.weights_.nbytes * 4 <= 2**20
    W = model.term_weights(np.arange(1_000), np.arange(70))
    assert W.any() and not W[::2].any()
    lengths = [np.linalg.norm(side, axis=1, keepdims=True) for side in (X, Y)]
    expected = (X / lengths[0]) @ W @ (Y / lengths[1]).T
    np.testing.assert_allclose(model.similarity(kind(X), kind(Y)), expected, atol=1e-10)
    np.testing.assert_allclose(model.pair_score(kind(X), kind(Y)), expected.diagonal(), atol=1e-10)


def test_weights_that_run_away_are_told():
    X = 1e6 * np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)
    with pytest.raises(ValueError, match=r"diverged in pass \d+: .*normalize=True"):
        SSI(2, shared=True, form="diagonal", normalize=False, max_iter=5).fit(X, X[::-1])
