"""S2Net as a method: starts, early stopping, cancelling, options."""

from __future__ import annotations

import json
from zipfile import ZipFile

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from simviz.data import PairSet, split
from simviz.methods import get_method
from simviz.methods._training import (
    Watch,
    hold_out,
    hold_out_parts,
    least_change,
    validation_sample,
)
from simviz.methods.s2net import S2Net
from simviz.persistence import load_state, save_state
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance


def bilingual(n, seed=0, n_topics=40, n_words=150, length=40):
    """Documents of a few topics in two vocabularies."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(n_words, 0.05), (2, n_topics))
    topics = np.random.default_rng(seed).dirichlet(np.full(n_topics, 0.1), n)
    draw = np.random.default_rng(seed + 1)
    counts = (draw.poisson(length * topics @ w) for w in words)
    return tuple(sp.csr_array(np.log1p(c).astype(np.float32)) for c in counts)


@pytest.fixture(scope="module")
def texts():
    return bilingual(600), bilingual(300, seed=7)


QUICK = {"n_components": 10, "init": "cl_lsi", "max_iter": 15}


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize("loss", ["logistic", "softmax", "triplet"])
@pytest.mark.parametrize("precision", ["auto", "bfloat16"])
def test_it_learns_what_its_start_did_not_know(texts, solver, loss, precision):
    train, test = texts
    start = get_method("cl_lsi")(10).fit(*train)
    rate = {"lbfgs": None, "adam": 0.1}[solver]
    how = {"loss": loss, "batch_size": 64, "learning_rate": rate, "precision": precision}
    model = S2Net(**QUICK, solver=solver, **how)
    model.fit(*train, X_val=test[0][:100], y_val=test[1][:100])
    rest = test[0][100:], test[1][100:]
    assert model.score(*rest) > start.score(*rest) + 0.03
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_the_preset_of_the_paper_reaches_what_adam_does_not(texts):
    X, Y = (Z[:40] for Z in texts[0])
    how = {"n_components": 6, "init": "random", "validation_fraction": 0.0, "max_iter": 60}
    paper = {**how, **S2Net.presets["paper"]}
    model, by_adam = (S2Net(**{**paper, **more}).fit(X, Y) for more in ({}, {"solver": "adam"}))

    def loss(model):
        S = model.similarity(X, Y)
        own, others = np.diag(S)[:, None], ~np.eye(len(S), dtype=bool)
        return np.mean([np.log1p(np.exp(-10 * (own - one)))[others] for one in (S, S.T)])

    assert model.loss_curve_[-1] == pytest.approx(loss(model), rel=1e-4)
    assert model.n_iter_ > 30 and loss(model) <= loss(by_adam)


def test_models_kept_before_there_was_a_choice_of_offsets_are_read(texts, tmp_path):
    model = S2Net(**QUICK).fit(*texts[0])
    save_state({"model": model}, tmp_path / "new.zip")
    with ZipFile(tmp_path / "new.zip") as new, ZipFile(tmp_path / "old.zip", "w") as old:
        tree = json.loads(new.read("objects.json"))
        del tree["objects"]["model"]["params"]["fit_intercept"]
        old.writestr("objects.json", json.dumps(tree))
        old.writestr("arrays.safetensors", new.read("arrays.safetensors"))
    again = load_state(tmp_path / "old.zip")["model"]
    assert_array_equal(again.transform(texts[1][0]), model.transform(texts[1][0]))
    assert again.fit_intercept and np.any(again.x_offset_)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize("activation", [None, "tanh"])
def test_without_offsets_nothing_is_added_to_a_projection(texts, solver, activation):
    (X, Y), (X_new, _) = texts
    how = {"solver": solver, "activation": activation, "learning_rate": 0.05, "init": "opca"}
    model = S2Net(**{**QUICK, **how}, fit_intercept=False).fit(X, Y)
    assert model.x_offset_ is model.y_offset_ is None
    Z = X_new @ model.x_projection_
    assert_allclose(model.transform(X_new), np.tanh(Z) if activation else Z, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("init", ["cca", "cl_lsi", "opca", "heterogeneous_svd", "lsa"])
@pytest.mark.parametrize("shared", [False, True])
def test_it_starts_from_exactly_the_other_method(texts, init, shared):
    """By its name, or fitted, of which it takes as many components as it has."""
    train, test = texts
    linear = get_method(init)(8)
    if init != "lsa":
        linear.set_params(shared=shared)
    linear.fit(*train)
    for k, start in ((8, init), (6, linear)):
        model = S2Net(k, init=start, shared=shared, validation_fraction=0)
        model.set_callbacks(lambda *_: True).fit(*train)
        assert (model.n_iter_, model.n_components_) == (0, k)
        expected = linear.truncate(k).similarity(*test)
        assert_allclose(model.similarity(*test), expected, atol=2e-5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_it_starts_from_the_cosine_where_asked(kind):
    X, Y = (kind(np.random.default_rng(i).standard_normal((30, 6))) for i in (0, 1))
    model = S2Net(6, init="identity", shared=True, validation_fraction=0)
    model.set_callbacks(lambda *_: True).fit(X, Y)
    cosine = get_method("tfidf_cosine")().fit(X, Y).similarity(X, Y)
    assert_allclose(model.similarity(X, Y), cosine, atol=1e-6)
    for wrong in ({"shared": False}, {"n_components": 5}):
        with pytest.raises(ValueError, match="shared=True and n_components=6"):
            clone(model).set_params(**wrong).fit(X, Y)


def test_starts_that_do_not_fit_are_refused_or_cap_the_components(texts):
    (X, Y), _ = texts
    for init, message in (
        (get_method("cca")(4).fit(X[:, :-1], Y), "Fit it on the same features"),
        ("bm25", "'init' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            S2Net(4, init=init).fit(X, Y)
    with pytest.raises(ValueError, match="LSA needs equal widths"):
        S2Net(4, init="lsa").fit(X, Y[:, :-1])
    with pytest.warns(UserWarning, match=r"n_components=50 is more than the data can give .* 7"):
        assert S2Net(50, init="cca", max_iter=1).fit(*bilingual(8)).n_components_ == 7


def both_ways(model, X, Y):
    """Return the mean reciprocal rank of the partner, of rows and of columns."""
    S = model.similarity(X, Y)
    own = np.diag(S)
    ways = [1 / (1 + (M > own[:, None]).sum(axis=1)) for M in (S, S.T)]
    return np.mean(ways)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_best_iteration_on_validation_is_kept(texts, solver):
    train, test = texts
    model = S2Net(**{**QUICK, "max_iter": 40}, solver=solver, patience=2, batch_size=64)
    model.fit(*train, X_val=test[0], y_val=test[1])
    scores = model.validation_scores_
    assert len(scores) == model.n_iter_ == len(model.loss_curve_)
    assert model.best_iter_ == int(np.argmax(scores)) + 1
    assert model.n_iter_ <= model.best_iter_ + 2
    assert both_ways(model, *test) == pytest.approx(max(scores), abs=1e-6)
    best = model.best_iter_
    model.set_callbacks(lambda step, *_: step > best).fit(*train, X_val=test[0], y_val=test[1])
    assert (model.best_iter_, model.n_iter_) == (best, best + 1), "stopped after the best"
    assert both_ways(model, *test) == pytest.approx(max(scores), abs=1e-6)


def test_the_least_change_within_a_standard_error_of_the_best_is_kept():
    def descent(rate, best, where):
        watch = Watch(np.zeros(2), lambda *_, **__: False, lambda _: [], (5, 5), rate)
        watch.first_values, watch.best_values = [first], [np.array(best)]
        watch.best, watch.best_iter, watch.best_score = np.full(2, where), 3, np.mean(best)
        return watch

    first = np.zeros(4)
    small, large = descent(0.1, [0.5, 0.6, 0.5, 0.6], 1.0), descent(0.3, [0.9, 0.2, 0.9, 0.3], 2.0)
    assert least_change([large, small]) is small  # within a standard error of the best
    sure = descent(0.3, [0.7, 0.8, 0.7, 0.8], 2.0)
    assert least_change([small, sure]) is sure
    vain = descent(0.1, [1.0, -1.0, 1.0, -0.9], 1.0)
    assert least_change([vain]).best_iter == 0  # within a standard error of the start
    assert not vain.best.any()


@pytest.mark.parametrize(
    ("divided", "shape", "new", "watched"),
    [
        (None, (120, 160), [0, 1], [(30, 200), (120, 40)]),  # where partners are many
        ("x", (120, 200), [0], [(30, 200)]),
        ("y", (150, 160), [1], [(150, 40)]),
    ],
)
def test_new_items_of_the_divided_side_or_of_both_are_watched(divided, shape, new, watched):
    rng = np.random.default_rng(0)
    R = Relevance(sp.csr_array((rng.random((150, 200)) < 0.1).astype(float)))
    model = S2Net(validation_fraction=0.2)
    model._divided = divided
    data = sp.eye_array(150, format="csr"), sp.eye_array(200, format="csr"), R
    held = hold_out_parts(model, data, None, np.random.RandomState(0))
    assert held.data[2].shape == shape and held.own
    assert [part[2].shape for part in held.parts] == watched
    # Nothing that is learned from is new: held-out rows are no rows of the others.
    for side, part in zip(new, held.parts, strict=True):
        assert part[side].shape[0] == (30, 40)[side]
        assert not set(part[side].indices) & set(held.data[side].indices)


@pytest.mark.parametrize("method", ["s2net", "ssi", "pamir", "hdlr", "mlc"])
def test_a_pipeline_holds_out_items_of_the_side_that_was_split(method, monkeypatch):
    from simviz.methods import _training

    sides, hold_out = [], _training.hold_out

    def recorded(relevance, fraction, rng, side="x"):
        sides.append(side)
        return hold_out(relevance, fraction, rng, side)

    monkeypatch.setattr(_training, "hold_out", recorded)
    rng = np.random.default_rng(0)
    words = [f"word{i} of{i % 7}" for i in range(300)]
    R = Relevance(sp.csr_array((rng.random((300, 300)) < 0.02).astype(float)))
    parts = split(PairSet.from_texts(words, words, R), by="y")
    pipeline = default_pipeline(method, parts.train, max_iter=1)
    pipeline.fit(parts.train)
    assert sides[0] == "y"
    assert not hasattr(pipeline.model_, "_divided")


def test_what_was_held_out_is_learned_from_in_the_end(texts):
    (X, Y), test = texts
    model = S2Net(**QUICK, learning_rate=0.1).fit(X, Y)
    assert 0 < model.best_iter_ <= model.n_iter_ == len(model.validation_scores_)
    start = get_method("cl_lsi")(10).fit(X, Y)
    passes = S2Net(**{**QUICK, "max_iter": model.best_iter_, "init": start}, learning_rate=0.1)
    passes.set_params(validation_fraction=0).fit(X, Y)
    assert passes.validation_scores_ == [] and passes.best_iter_ == passes.n_iter_
    # Batches are drawn at random, so that only how good they are agrees.
    assert both_ways(model, *test) == pytest.approx(both_ways(passes, *test), abs=0.02)
    assert both_ways(model, *test) > both_ways(start, *test)


@pytest.mark.parametrize("divided", [None, "x", "y"])
def test_items_that_share_partners_are_held_out_together(divided):
    """Else what is new would be near what was learned from; larger groups are taken apart."""
    at = np.arange(200)
    group = at // 5
    blocks = Relevance(sp.csr_array((group[:, None] == group).astype(float)))
    model = S2Net(validation_fraction=0.2)
    if divided:
        model._divided = divided
    eye = sp.eye_array(200, format="csr")
    held = hold_out_parts(model, (eye, eye, blocks), None, np.random.RandomState(0))
    ((new_x, new_y, watched),) = held.parts
    assert watched.shape == (40, 40) and held.data[2].shape == (160, 160)
    for new, learned in ((new_x, held.data[0]), (new_y, held.data[1])):
        assert not set(group[new.indices]) & set(group[learned.indices])
    wide = at // 50
    large = Relevance(sp.csr_array((wide[:, None] == wide).astype(float)))
    apart = hold_out_parts(model, (eye, eye, large), None, np.random.RandomState(0))
    assert len(apart.parts) == (1 if divided else 2)
    assert set(wide[apart.parts[0][0].indices]) & set(wide[apart.data[0].indices])


def test_pairs_are_held_out_whole_and_candidates_of_many_stay():
    rng, numpy_rng = np.random.RandomState(0), np.random.default_rng(0)
    rows, columns, x_held, y_held = hold_out(Relevance.identity(100), 0.2, rng)
    assert sorted([*rows, *x_held]) == list(range(100)) and len(x_held) == 20
    assert_array_equal([*rows, *x_held], [*columns, *y_held])
    R = Relevance.from_pairs(np.arange(200), numpy_rng.integers(0, 9, 200), shape=(200, 12))
    rows, columns, x_held, y_held = hold_out(R, 0.1, rng)
    assert (len(rows), len(x_held)) == (180, 20)
    assert columns.tolist() == y_held.tolist() == list(range(12))
    own = np.arange(300)
    one_sign = Relevance.from_pairs(own, own, shape=(300, 300), unjudged="ignore")
    for too_little in (Relevance.identity(60), one_sign):
        assert hold_out(too_little, 0.1, rng) is None


def test_judgments_without_anything_to_compare_are_refused(texts):
    train, test = texts
    own = np.arange(300)
    alike = Relevance.from_pairs(own, own, shape=(300, 300), unjudged="ignore")
    for judged in (Relevance(sp.csr_array((300, 300))), alike):
        with pytest.raises(ValueError, match="relevant"):
            S2Net(**QUICK).fit(*train, X_val=test[0], y_val=test[1], relevance_val=judged)
    with pytest.raises(ValueError, match="S2Net compares"):
        S2Net(2, init="random").fit(*test, alike)


# Many partners do not fill the memory.
@pytest.mark.parametrize(
    ("n", "partners", "size"), [(5_000, 1, 4_096), (500, 100, 40), (900, 5, 512)]
)
def test_a_validation_sample_keeps_what_is_relevant(n, partners, size):
    n_y, queries, shape = max(n * partners, 9_000), max(size, 512), (size, 4_096)
    own = np.arange(n * partners)
    judged = Relevance.from_pairs(own // partners, own, shape=(n, n_y))
    sides = sp.eye_array(n, format="csr"), np.arange(n_y)[:, None]
    x, y, relevance = validation_sample((*sides, judged), np.random.RandomState(0), queries)
    assert relevance.shape == (x.shape[0], y.shape[0]) == shape
    found = relevance.positives.tocoo()
    assert found.nnz == shape[0] * partners
    assert_array_equal(x.indices[found.row], y[found.col, 0] // partners)


def test_callbacks_hear_loss_and_validation(texts):
    train, test = texts
    heard = []
    model = S2Net(**{**QUICK, "max_iter": 3}, learning_rate=0.1)
    model.set_callbacks(lambda step, total, metrics: heard.append((step, total, dict(metrics))))
    model.fit(*train, X_val=test[0], y_val=test[1])
    start = get_method("cl_lsi")(10).fit(*train)
    first = {"validation": pytest.approx(both_ways(start, *test), abs=1e-6)}
    last = {"loss": model.loss_curve_[-1], "validation": model.validation_scores_[-1]}
    assert heard[0] == (0, 3, first)  # before the first: what the start is worth
    assert heard[-1] == (3, 3, last)


def test_it_can_be_stopped_inside_an_iteration(texts, monkeypatch):
    """At a large size an iteration takes minutes: every block asks."""
    monkeypatch.setattr("simviz.methods._training.PAUSE", 0.0)
    calls = []
    model = S2Net(**QUICK, solver="adam", batch_size=10, validation_fraction=0)
    model.set_callbacks(lambda *step: calls.append(step) or len(calls) >= 5).fit(*texts[0])
    assert (model.n_iter_, len(calls)) == (0, 5)
    assert np.isfinite(model.similarity(*texts[0])).all()


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_activations_are_part_of_the_vectors(texts, activation):
    train, test = texts
    model = S2Net(**{**QUICK, "max_iter": 2}, activation=activation).fit(*train)
    X = test[0].toarray()
    X[3] = 0
    G = X @ model.x_projection_ - model.x_offset_
    expected = np.tanh(G) if activation == "tanh" else 1 / (1 + np.exp(-G))
    expected[3] = 0
    assert_allclose(model.transform(sp.csr_array(X)), expected, atol=1e-6)


def test_a_gpu_that_is_not_there_is_missed(texts, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="device='cuda' needs a GPU"):
        S2Net(**QUICK, device="cuda").fit(*texts[0])


def test_models_of_ascending_dimensions_build_on_one_another(texts):
    train, test = texts
    start = get_method("cl_lsi")(12).fit(*train)
    model = S2Net(**{**QUICK, "init": start}, patience=3)
    curve = list(model.fit_dimensions((3, 6, 12), *train, X_val=test[0], y_val=test[1]))
    assert [m.n_components_ for m in curve] == [3, 6, 12] == [m.n_components for m in curve]
    scores = [m.score(*test) for m in curve]
    assert scores == sorted(scores)
    assert all(m.score(*test) > start.truncate(m.n_components).score(*test) for m in curve)
    with pytest.raises(ValueError, match="ascending"):
        next(model.fit_dimensions((6, 3), *train))


def test_what_iterations_hold_is_let_go_when_a_callback_raises():
    held = [True]

    def iterations():
        try:
            yield 1.0, np.zeros(1)
        finally:
            held.clear()

    steps = iterations()  # a name of it stays here
    with pytest.raises(TypeError):
        Watch(np.zeros(1), lambda: None, None, (5, 5)).follow(steps, report=False)
    assert not held
