"""MLC: constraint, maximum, exact projections, and a peer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from made_up import loud

from simviz.methods import get_method, mlc
from simviz.methods._metric import draw_constraints
from simviz.methods.mlc import MLC
from simviz.relevance import Relevance

GOLDEN = json.loads((Path(__file__).parent / "golden" / "metric_learn.json").read_text())
FORMS = ["full", "diagonal"]


@pytest.mark.parametrize("form", FORMS)
def test_a_peer_finds_no_more(form):
    """Its metric is scaled to the constraint, which it meets only by chance."""
    x, y = np.array(GOLDEN["points"])[np.array(GOLDEN["pairs"]).T]
    similar, dissimilar = ((x - y)[np.array(GOLDEN["sign"]) == sign] for sign in (1, -1))
    *_, (_, F) = MLC(form=form, regularization=0, tol=1e-6)._ascent(similar, dissimilar)
    theirs = np.array(GOLDEN[f"mmc_{form}"])
    theirs = theirs / np.einsum("ij,jk,ik->", similar, theirs, similar)
    squares = np.einsum("ij,jk,ik->i", dissimilar, theirs, dissimilar)
    assert np.linalg.norm(dissimilar @ F, axis=1).sum() >= np.sqrt(np.maximum(squares, 0)).sum()
    np.testing.assert_allclose(np.sum((similar @ F) ** 2), 1, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("regularization", [0.0, 0.1])
def test_constraint_is_met_and_the_metric_semidefinite(form, regularization):
    X, Y, relevance = loud()
    X = X + np.random.default_rng(3).normal(0, 0.1, X.shape)
    settings = {"regularization": regularization, "validation_fraction": 0}
    model = MLC(8, form=form, **settings).fit(X, Y, relevance)
    pairs = draw_constraints((X, Y, relevance), 20_000, np.random.RandomState(0), "MLC")
    assert model.n_constraints_ == len(pairs)
    apart = model.transform(X)[pairs.x] - model.transform_y(Y)[pairs.y]
    spent = np.sum(apart[pairs.sign > 0] ** 2)
    assert spent <= 1 + 1e-6
    if not regularization:
        assert spent == pytest.approx(1, abs=1e-6)
    distances = np.linalg.norm(apart[pairs.sign < 0], axis=1)
    assert distances.sum() == pytest.approx(model.objective_)
    assert np.linalg.eigvalsh(model.metric_).min() > -1e-12
    if form == "diagonal":
        np.testing.assert_allclose(model.metric_, np.diag(np.diag(model.metric_)))


@pytest.mark.parametrize("form", [mlc.FullMatrix, mlc.DiagonalMatrix])
def test_no_other_metric_exceeds_the_bound(form):
    rng = np.random.default_rng(0)
    problem = form(rng.normal(size=(80, 5)) * [1, 2, 3, 1, 1])
    *_, last = (step for step, _ in zip(mlc.ascend(problem), range(100), strict=False))
    C, value, gap = last
    assert 0 <= gap < 1e-4
    for _ in range(300):
        other = rng.normal(size=C.shape)
        other = problem.nearest(C + 0.3 * (other if C.ndim == 1 else other @ other.T))
        assert np.sqrt(problem.squares(other)).mean() <= value * (1 + gap + 1e-12)


@pytest.mark.parametrize("form", [mlc.FullMatrix, mlc.DiagonalMatrix])
def test_ascent_never_goes_down_and_gradient_is_the_derivative(form):
    rng = np.random.default_rng(1)
    problem = form(rng.normal(size=(60, 4)) * [1, 5, 1, 3])
    steps = [step for step, _ in zip(mlc.ascend(problem), range(40), strict=False)]
    assert (np.diff([value for _, value, _ in steps]) >= 0).all()
    C = problem.nearest(problem.start + 0.1)
    towards = rng.normal(size=C.shape)
    towards = towards if C.ndim == 1 else towards + towards.T
    up, down = (np.sqrt(problem.squares(C + h * towards)).mean() for h in (1e-6, -1e-6))
    slope = np.sum(problem.gradient(problem.squares(C)) * towards)
    assert (up - down) / 2e-6 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_noise_is_unlearned(form):
    train, test = loud(), loud(seed=2)
    start = get_method("pca")(13).fit(*train)
    model = MLC(13, form=form, measure="dot", validation_fraction=0).fit(*train)
    assert model.score(*test) > start.score(*test) + 0.2
    *before, last = model.loss_curve_
    assert last <= model.tol < min(before) and model.n_iter_ == len(model.loss_curve_) < 200


def test_unbounded_directions_ask_for_a_ridge():
    X, Y = np.random.default_rng(0).normal(size=(2, 30, 12))
    relevance = Relevance.from_pairs([0, 1], [1, 0], shape=(30, 30))
    with pytest.raises(ValueError, match="the 2 similar pairs do not differ in every one of 12"):
        MLC(12, regularization=0).fit(X, Y, relevance)
    assert np.isfinite(MLC(12).fit(X, Y, relevance).similarity(X, Y)).all()


def test_scores_are_inner_products_of_the_metric_and_means_are_transformed_along():
    X, Y, relevance = loud()
    start = get_method("pca")(6, center_at_transform=True).fit(X, Y)
    model = MLC(6, init=start, measure="dot").fit(X, Y, relevance)
    expected = start.transform(X) @ model.metric_ @ start.transform_y(Y).T
    np.testing.assert_allclose(model.similarity(X, Y), expected, atol=1e-10)


def test_a_wish_to_stop_keeps_the_last_step():
    def stopped(at, **params):
        return MLC(6, **params).set_callbacks(lambda step, *_: step == at).fit(*loud())

    first, second = (stopped(at, tol=0, validation_fraction=0) for at in (1, 2))
    assert (first.n_iter_, second.n_iter_) == (1, 2) and first.objective_ < second.objective_
    start = get_method("pca")(6).fit(*loud()[:2])
    np.testing.assert_array_equal(stopped(0).x_projection_, start.x_projection_)


def test_the_start_is_kept_where_learning_does_not_help():
    X, Y, relevance = loud()
    rng = np.random.default_rng(4)
    random = Relevance(sp.csr_array((rng.random(relevance.shape) < 0.1).astype(float)))
    start = get_method("pca")(13).fit(X, Y)
    # Watched pairs are those of the start, judged by it; what is learned from is chance.
    mates = start.similarity(X, Y).argmax(axis=1)
    seen = Relevance.from_pairs(range(len(mates)), mates, shape=relevance.shape)
    model = MLC(13).fit(X, Y, random, X, Y, seen)
    assert model.best_iter_ == 0 and max(model.validation_scores_) < 1
    assert model.n_iter_ == model.patience < 200
    np.testing.assert_allclose(model.similarity(X, Y), start.similarity(X, Y), atol=1e-12)
    helped = MLC(13).fit(*loud())
    assert helped.best_iter_ > 0
    assert helped.score(*loud(seed=2)) > start.score(*loud(seed=2)) + 0.2


def test_one_step_is_taken_where_nothing_can_be_held_out():
    X, Y, relevance = loud()
    few = X[:60], Y, relevance.take(np.arange(60))
    model = MLC(6).fit(*few)
    assert model.n_iter_ == model.best_iter_ == 1 and not model.validation_scores_
    assert MLC(6, validation_fraction=0).fit(*few).n_iter_ > 1
    assert MLC(6).fit(*few, X, Y, relevance).validation_scores_


def test_no_scale_and_no_pairs_at_one_place_are_an_obstacle():
    np.testing.assert_array_equal(mlc.nearest_of_simplex(np.array([1e30])), [1])
    np.testing.assert_array_equal(mlc.nearest_of_simplex(np.array([1e30, -1e30])), [1, 0])
    X = 1e30 * np.array([[1.0], [2.0], [4.0]])
    for k, A, B in ((1, X, X[::-1]), (3, np.eye(5), np.eye(5))):
        assert np.isfinite(MLC(k).fit(A, B).similarity(A)).all()
