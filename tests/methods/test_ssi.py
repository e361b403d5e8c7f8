"""Supervised semantic indexing: gradients of every form, starts, early stopping."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.base import unit_rows
from simviz.methods import _triple_kernels as kernels, get_method
from simviz.methods._triples import BatchSteps, is_dense, rows_of, squares
from simviz.methods.ssi import SSI
from simviz.methods.tfidf_cosine import TfidfCosine
from simviz.relevance import Relevance

FORMS = ("low_rank", "symmetric", "diagonal", "full")
RATE = 1e-3
CHANCE = (1 / np.arange(1, 21)).mean()  # MRR of guessing among 20
x_row = np.array([0.5, 1.0, 0.0, -0.3])
y_rows = np.array([[1.0, 0.0, 2.0, 0.4], [0.0, 1.0, 1.0, 0.0], [0.7, 0.0, 0.0, -1.0]])


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(8, 0.1), 80)
    words = rng.dirichlet(np.full(40, 0.2), 8)
    X, Y = (
        sp.csr_array(rng.poisson(15 * topics @ w).astype(float)) for w in (words, words[:, ::-1])
    )
    return X, Y


def linked(noise=0):
    """Items of twelve topics; links to those of the other vocabulary, or words of no topic."""
    rng = np.random.default_rng(1)
    topic, tongue = rng.integers(0, 12, 160), rng.integers(0, 2, 160) * (noise == 0)
    words = 8 * rng.dirichlet(np.full(30, 0.1), 12)[topic]
    other = (tongue == 1)[:, None]
    counts = rng.poisson(np.hstack([words * ~other, words * other, np.full((160, noise), 1.0)]))
    linked = (topic[:, None] == topic) & ((tongue[:, None] != tongue) | (noise > 0))
    np.fill_diagonal(linked, False)
    return sp.csr_array(counts.astype(float)), sp.csr_array(linked.astype(float))


@pytest.fixture
def documents():
    return linked()


def weights_of(form, params, identity):
    """W from what is learned."""
    if form == "full":
        return params[0]
    if form == "diagonal":
        return np.diag(params[0])
    return params[0] @ params[-1].T + (np.eye(len(params[0])) if identity else 0)


def start(form):
    rng = np.random.default_rng(1)
    shapes = {"low_rank": [(4, 2)] * 2, "symmetric": [(4, 2)], "diagonal": [(4,)]}
    return [rng.standard_normal(shape) for shape in shapes.get(form, [(4, 4)])]


def step(form, params, triples, margin, identity, batched=False, group=1, rate=RATE):
    """One call of a kernel, or of a batch, on what is learned; the loss."""
    x, y = sp.csr_array(x_row[None]), sp.csr_array(y_rows)
    if batched:
        V = None if form == "full" else params[-1]
        steps = BatchSteps(
            x, y, params[0], V, 10_000, margin, rate, identity=identity and form != "full"
        )
        return steps(triples)
    lengths = squares(x), squares(y)
    x, y = rows_of(x), rows_of(y)
    if form == "diagonal":
        return kernels.diagonal_steps(x, y, triples, params[0], margin, RATE)
    if form == "full":
        none = np.empty((0, 0))
        return kernels.full_steps(x, y, triples, params[0], margin, RATE, False, none, 0)
    U, V = params[0], params[-1]
    return kernels.low_rank_steps(x, y, triples, group, U, V, margin, rate, identity, *lengths)


@pytest.mark.parametrize(
    ("form", "identity", "batched"),
    [
        (form, identity, batched)
        for form, identity in [*((form, True) for form in FORMS), ("low_rank", False)]
        for batched in (False, True)
        if not (batched and form == "diagonal")  # a diagonal has no products to batch
    ],
)
def test_a_step_follows_the_gradient(form, identity, batched):
    margin = 9.0
    triples = np.array([[0, 0, 1], [0, 0, 2]], np.int32)

    def loss(params):
        W = weights_of(form, params, identity)
        return sum(margin - x_row @ W @ (y_rows[a] - y_rows[b]) for _, a, b in triples)

    before = start(form)
    params = [p.copy() for p in before]
    # Both triples are one step, but for the forms that are linear: there order is nothing.
    found = step(form, params, triples, margin, identity, batched, group=2)
    if batched or form in ("low_rank", "symmetric"):
        assert found == pytest.approx(loss(before))
    for k, (moved, old) in enumerate(zip(params, before, strict=True)):
        for index in np.ndindex(*old.shape):
            values = []
            for sign in (1e-6, -1e-6):
                other = [p.copy() for p in before]
                other[k][index] += sign
                values.append(loss(other))
            slope = (values[0] - values[1]) / 2e-6
            assert moved[index] - old[index] == pytest.approx(-RATE * slope, abs=1e-8)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("form", ["low_rank", "symmetric"])
def test_a_step_of_any_rate_changes_a_score_by_one_at_most(form, batched):
    """To first order, and in the direction of the gradient."""
    short, long = ([p.copy() for p in start(form)] for _ in range(2))
    triples = np.array([[0, 0, 1]], np.int32)
    for params, rate in ((short, RATE), (long, 1e3)):
        step(form, params, triples, 9.0, True, batched, rate=rate)
    slopes = [(p - old) / RATE for p, old in zip(short, start(form), strict=True)]
    moved = [p - old for p, old in zip(long, start(form), strict=True)]
    change = sum(float((slope * by).sum()) for slope, by in zip(slopes, moved, strict=True))
    assert 0.2 < change <= 1 + 1e-9
    np.testing.assert_allclose(moved[0] / moved[0][0, 0], slopes[0] / slopes[0][0, 0])


def test_no_rate_diverges(documents):
    X, R = documents
    model = SSI(8, shared=True, learning_rate=100, max_iter=20, validation_fraction=0)
    scores = model.fit(X, X, R).similarity(X, X)
    assert np.isfinite(scores).all() and np.abs(scores).max() < 1e4


@pytest.mark.parametrize("form", FORMS)
def test_satisfied_triples_change_nothing(form):
    params = start(form)
    before = [p.copy() for p in params]
    triples = np.array([[0, 0, 1], [0, 2, 1]], np.int32)
    assert step(form, params, triples, -100.0, True) == 0
    for moved, old in zip(params, before, strict=True):
        np.testing.assert_array_equal(moved, old)


def test_factors_that_are_the_identity_scale_the_score(documents):
    X, _ = documents
    model = SSI(60, shared=True, init="identity", learning_rate=0, max_iter=1).fit(X)
    model.x_factors_ = model.y_factors_ = 3 * np.eye(60)
    cosine = TfidfCosine().fit(X).similarity(X)
    np.testing.assert_allclose(model.similarity(X), 10 * cosine, atol=1e-9)
    model.set_params(shared=False)
    np.testing.assert_allclose(model.similarity(X, X), 9 * cosine, atol=1e-9)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_array.toarray])
@pytest.mark.parametrize("form", ["low_rank", "diagonal", "full"])
@pytest.mark.parametrize("init", ["identity", "lsa"])
def test_without_learning_it_is_the_cosine(documents, kind, form, init):
    X, R = kind(documents[0]), documents[1]
    model = SSI(4, shared=True, form=form, init=init, learning_rate=0, max_iter=1).fit(X, X, R)
    cosine = TfidfCosine().fit(X)
    np.testing.assert_allclose(model.similarity(X, X), cosine.similarity(X, X), atol=1e-9)
    np.testing.assert_allclose(model.pair_score(X, X[::-1]), cosine.pair_score(X, X[::-1]))


def test_the_preset_of_the_paper_starts_both_factors_from_noise(documents):
    X, R = documents
    model = SSI(50, shared=True, **SSI.presets["paper"], learning_rate=0, max_iter=1).fit(X, X, R)
    assert (model.margin, model.n_negatives) == (1, 1)
    for factors in (model.x_factors_, model.y_factors_):
        assert factors.mean() == pytest.approx(0, abs=0.01)
        assert factors.std() == pytest.approx(1 / np.sqrt(50), rel=0.05)
    assert abs(np.corrcoef(model.x_factors_.ravel(), model.y_factors_.ravel())[0, 1]) < 0.1


def test_the_symmetric_form_starts_from_latent_semantics(documents):
    X, R = documents
    model = SSI(4, shared=True, form="symmetric", learning_rate=0, init_scale=0.5, max_iter=1)
    model.fit(X, X, R)
    A = model.x_factors_
    assert A is model.y_factors_
    np.testing.assert_allclose(A.T @ A, np.eye(4) / 4, atol=1e-9)
    latent = get_method("lsa")(4).fit(unit_rows(X))
    np.testing.assert_allclose(A @ A.T, latent.x_projection_ @ latent.x_projection_.T / 4)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_learns_links(form):
    """Synonyms; a diagonal learns only which words are noise."""
    X, R = linked(noise=40 if form == "diagonal" else 0)
    known, new = np.arange(130), np.arange(130, 160)
    model = SSI(12, shared=True, form=form, max_iter=8)
    model.fit(X[known], X[known], R[known][:, known])
    relevance = Relevance(sp.csr_array(R[new][:, known]), unjudged="negative")
    plain = TfidfCosine().fit(X[known])
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    learned, lexical = (m.score(X[new], X[known], relevance) for m in (model, plain))
    assert learned > lexical + 0.03


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("symmetric", "shared=True with one vectoriser"),
        ("diagonal", "shared=True with one vectoriser"),
        ("full", r"40,000 of X × 50,000 of y .* use form='low_rank'"),
    ],
)
def test_forms_that_two_vocabularies_cannot_have_are_refused(form, message):
    with pytest.raises(ValueError, match=message):
        SSI(form=form).fit(sp.csr_array((3, 40_000)), sp.csr_array((3, 50_000)))


@pytest.mark.parametrize("dense", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("form", ["low_rank", "full"])
def test_dense_sides_learn_what_sparse_ones_do(texts, dense, form):
    X, Y = texts
    rng = np.random.default_rng(3)
    X, Y = (
        Z @ np.linalg.qr(rng.standard_normal((150, 40)))[0].T if d else Z
        for Z, d in zip((X, Y), dense, strict=True)
    )
    assert [is_dense(X), is_dense(Y)] == list(dense)
    model = SSI(16, form=form, max_iter=3).fit(X[:60], Y[:60])
    assert model.score(X[:60], Y[:60]) > 0.9
    assert model.score(X[60:], Y[60:]) > 2 * CHANCE


def test_the_start_is_kept_where_nothing_ranks_better(texts):
    X, _ = texts  # equal items stand first from the start
    model = SSI(8, shared=True, max_iter=30, patience=3, validation_fraction=0.3).fit(X, X)
    assert (model.best_iter_, model.n_iter_, len(model.validation_scores_)) == (0, 4, 4)
    cosine = TfidfCosine().fit(X).similarity(X, X)
    np.testing.assert_allclose(model.similarity(X, X), cosine, atol=1e-6)


def test_what_was_held_out_is_learned_from_in_the_end(texts):
    how = {"n_components": 16, "init": "random", "patience": 3}
    model = SSI(**how, validation_fraction=0.3, max_iter=20).fit(*texts)
    assert 0 < model.best_iter_ <= model.n_iter_ <= 20
    again = SSI(**how, validation_fraction=0, max_iter=model.best_iter_).fit(*texts)
    assert again.best_iter_ == again.n_iter_ == model.best_iter_
    assert again.validation_scores_ == []
    assert model.score(*texts) == pytest.approx(again.score(*texts), abs=0.05)


def test_stopping_is_heard_while_validation_is_scored(texts, monkeypatch):
    monkeypatch.setattr("simviz.methods._training.PAUSE", 0.0)
    X, Y = texts
    model = SSI(8, init="random", max_iter=50).set_callbacks(lambda step, *_: step == 2)
    model.fit(X, Y, X_val=X, y_val=Y)
    assert (len(model.validation_scores_), model.best_iter_, model.n_iter_) == (1, 1, 2)
    S = model.similarity(X, Y)
    both_ways = np.mean([1 / (Z >= np.diag(Z)[:, None]).sum(axis=1) for Z in (S, S.T)])
    assert both_ways == pytest.approx(model.validation_scores_[0])


def test_all_relevant_leaves_nothing_to_learn():
    everything = Relevance(sp.csr_array(np.ones((3, 3))))
    model = SSI(2, max_iter=1).fit(np.eye(3), np.eye(3), everything)
    assert np.isfinite(model.similarity(np.eye(3), np.eye(3))).all()
