"""Supervised semantic indexing: gradients, sampling, early stopping."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.methods._ssi_kernel import descend
from simviz.methods.ssi import SSI
from simviz.methods.tfidf_cosine import TfidfCosine
from simviz.relevance import Relevance


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(8, 0.1), 80)
    words = rng.dirichlet(np.full(40, 0.2), 8)
    X, Y = (
        sp.csr_array(rng.poisson(15 * topics @ w).astype(float)) for w in (words, words[:, ::-1])
    )
    return X, Y


def one_step(U, V, identity, rate=1e-3, margin=5.0):
    """One triple (query 0, relevant 0, other 1) on dense rows."""
    x, y = sp.csr_array([[0.5, 1.0, 0.0]]), sp.csr_array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    positives = sp.csr_array([[1.0, 0.0]])
    loss = descend(
        x.indptr, x.indices, x.data, y.indptr, y.indices, y.data,
        np.array([0]), np.array([0]), positives.indptr, positives.indices, False,
        U, V, 1, 1, margin, rate, identity,
    )  # fmt: skip
    q, plus, minus = x.toarray()[0], *y.toarray()

    def hinge(U, V):
        W = U @ V.T + (np.eye(3) if identity else 0)
        return margin - q @ W @ plus + q @ W @ minus

    return loss, hinge


@pytest.mark.parametrize("identity", [False, True])
def test_a_step_follows_the_gradient(identity):
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
    before = U.copy(), V.copy()
    loss, hinge = one_step(U, V, identity)
    assert loss == pytest.approx(hinge(*before))
    for moved, (old, other), first in ((U, before, True), (V, before[::-1], False)):
        gradient = np.zeros_like(old)
        for index in np.ndindex(*old.shape):
            up, down = old.copy(), old.copy()
            up[index] += 1e-6
            down[index] -= 1e-6
            pair = ((up, other), (down, other)) if first else ((other, up), (other, down))
            gradient[index] = (hinge(*pair[0]) - hinge(*pair[1])) / 2e-6
        np.testing.assert_allclose(moved - old, -1e-3 * gradient, atol=1e-9)


def test_satisfied_triples_change_nothing():
    U, V = np.full((3, 2), 0.3), np.full((3, 2), 0.3)
    loss, _ = one_step(U, V, identity=False, margin=0.1)
    assert loss == 0
    assert (U == 0.3).all()


def test_without_learning_it_is_the_cosine(texts):
    X, _ = texts
    model = SSI(4, shared=True, learning_rate=0, init_scale=1e-9, max_iter=1).fit(X, X)
    np.testing.assert_allclose(
        model.similarity(X, X), TfidfCosine().fit(X).similarity(X, X), atol=1e-9
    )


def test_other_items_of_a_triple_are_never_relevant():
    """With one item not relevant it must be the other of every triple."""
    X, Y = np.eye(2), np.eye(3)
    R = sp.csr_array(np.array([[1.0, 1, 0], [0, 1, 1]]))
    model = SSI(6, max_iter=3).fit(X, Y, Relevance(R))
    S = model.similarity(X, Y)
    assert S[0, 2] < S[0, :2].min()
    assert S[1, 0] < S[1, 1:].min()


def test_judged_negatives_are_the_only_others():
    X, Y = np.eye(2), np.eye(3)
    R = Relevance(sp.csr_array(np.array([[1.0, -1, 0], [0, 1, -1]])))
    start = SSI(6, max_iter=1, learning_rate=0).fit(X, Y, R).similarity(X, Y)
    S = SSI(6, max_iter=3).fit(X, Y, R).similarity(X, Y)
    assert S[0, 0] - S[0, 1] > start[0, 0] - start[0, 1]
    assert S[1, 1] - S[1, 2] > start[1, 1] - start[1, 2]


def test_it_learns_what_it_was_not_shown(texts):
    X, Y = texts
    model = SSI(16, max_iter=10).fit(X[:60], Y[:60])
    untrained = SSI(16, max_iter=1, learning_rate=0).fit(X[:60], Y[:60])
    assert model.score(X[60:], Y[60:]) > 2 * untrained.score(X[60:], Y[60:])
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_best_pass_on_validation_is_kept(texts):
    X, Y = texts
    model = SSI(16, max_iter=40, patience=3).fit(X[:50], Y[:50], X_val=X[50:], y_val=Y[50:])
    scores = model.validation_scores_
    assert model.best_iter_ == int(np.argmax(scores)) + 1
    assert model.n_iter_ == len(scores) <= model.best_iter_ + 3
    assert model.score(X[50:], Y[50:]) == pytest.approx(max(scores))


def test_stopping_tells_how_far_it_came(texts):
    X, Y = texts
    model = SSI(8, max_iter=50).set_callbacks(lambda step, total, metrics: step >= 3)
    assert model.fit(X, Y).n_iter_ == 3


def test_judgments_of_one_sign_are_refused(texts):
    X, Y = texts
    only_negative = Relevance.from_pairs([0], [0], [-1], shape=(80, 80))
    with pytest.raises(ValueError, match="Bring both"):
        SSI().fit(X, Y, only_negative)


def test_all_relevant_leaves_nothing_to_learn():
    everything = Relevance(sp.csr_array(np.ones((3, 3))))
    model = SSI(2, max_iter=1).fit(np.eye(3), np.eye(3), everything)
    assert np.isfinite(model.similarity(np.eye(3), np.eye(3))).all()
