"""S2Net's gradient shared out among workers is the gradient of one machine."""

from __future__ import annotations

from threading import current_thread

import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client
from local_cluster import cluster_here

from simviz.jobs import JobError
from simviz.methods._linalg import Products
from simviz.methods._s2net_losses import BlockFactory, Loss
from simviz.methods._s2net_training import Network, Objective
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance
from simviz.scale.lbfgs import SHARES, STORED, fit_s2net_lbfgs


def data(n=400, d=80, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = (
        sp.random_array((n, d), density=0.1, rng=rng, format="csr", dtype=np.float64)
        for _ in range(2)
    )
    return X, sp.csr_array(Y + X @ sp.random_array((d, d), density=0.05, rng=rng))


def model(**changed):
    usual = {"loss": "logistic", "solver": "lbfgs", "init": "random", "max_iter": 6}
    return S2Net(5, **usual | changed)


def close(ours, theirs, tolerance=1e-5):
    assert ours.n_iter_ == theirs.n_iter_
    for name in ("x_projection_", "y_projection_", "x_offset_", "y_offset_", "loss_curve_"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=tolerance, atol=tolerance
        )


@pytest.fixture(scope="module")
def client():
    with cluster_here(2, processes=False, protocol="tcp://") as made, Client(made) as connected:
        yield connected


@pytest.mark.parametrize("loss", ["logistic", "softmax", "triplet"])
@pytest.mark.parametrize("direction", ["both", "x2y", "y2x"])
@pytest.mark.parametrize("matched", [True, False])
@pytest.mark.parametrize("balanced", [True, False])
def test_shares_of_rows_sum_to_the_whole(loss, direction, matched, balanced):
    rng = np.random.default_rng(1)
    n, m, d, k = 50, 40, 30, 4
    X, Y = (sp.random_array((r, d), density=0.2, rng=rng, format="csr") for r in (n, m))
    judged = sp.eye_array(n, m) if matched else sp.csr_array((rng.random((n, m)) < 0.05) * 1.0)
    relevance = Relevance(sp.csr_array(judged), "negative")
    model = S2Net(loss=loss, direction=direction, balanced=balanced)
    total = Loss(relevance, model, None)
    theta = rng.normal(size=(2 * d + 2, k))

    def objective(rows, part):
        making = BlockFactory("float32", "cpu", np.dtype(float), k)
        return Objective(Network(X[rows], Y, False, None), part, making, lambda: None)

    value, gradient = objective(slice(0, n), total)(theta)
    shares = [slice(0, 20), slice(20, 21), slice(21, 50)]  # some without a relevant pair
    running = [objective(rows, total.of_rows(rows)).steps(theta) for rows in shares]
    found = [next(steps) for steps in running]
    ended = []
    while not ended:
        whole, found = sum(found), []
        for steps in running:
            try:
                found.append(steps.send(whole))
            except StopIteration as end:
                ended.append(end.value)
    assert sum(own for own, _ in ended) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(sum(own for _, own in ended), gradient, atol=1e-13)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"loss": "softmax", "regularization": 0.1},
        {"activation": "tanh", "direction": "y2x", "validation_fraction": 0.0},
    ],
)
def test_workers_learn_the_model_of_one_machine(client, changed):
    X, Y = data()
    alone = model(**changed).fit(X, Y)
    close(fit_s2net_lbfgs(model(**changed), X, Y, n_shares=3), alone)
    ours = fit_s2net_lbfgs(model(**changed), X, Y, client=client)
    close(ours, alone)
    assert type(ours) is S2Net and ours.similarity(X[:3], Y[:4]).shape == (3, 4)
    assert not SHARES and not STORED  # workers of the fixture are threads


def test_items_that_the_start_gives_no_direction_are_left_out_alike():
    # Five directions of the start are all of the first 400 items.
    X, Y = (sp.csr_array(sp.block_diag([Z, sp.eye_array(200) / 100])) for Z in data())
    changed = {"init": "cl_lsi", "loss": "softmax", "validation_fraction": 0.0}
    alone = model(**changed).fit(X, Y)
    assert alone.n_iter_ == 6
    close(fit_s2net_lbfgs(model(**changed), X, Y, n_shares=3), alone)


def test_workers_hold_a_block_of_their_rows_at_once_and_learn_the_same(client, monkeypatch):
    here, held, init = current_thread(), [], Products.__init__

    def noted(self, X):
        if current_thread() is not here:
            held.append(X.size)
        init(self, X)

    X, Y = data()
    monkeypatch.setattr("simviz.scale.lbfgs._ENTRIES", 300)
    monkeypatch.setattr(Products, "__init__", noted)
    ours = fit_s2net_lbfgs(model(max_iter=2), X, Y, client=client, n_shares=3)
    longest = max(np.diff(Z.indptr).max() for Z in (X, Y, X.tocsc(), Y.tocsc()))
    assert X.nnz > 3_000 and 0 < max(held) <= 300 + longest
    close(ours, fit_s2net_lbfgs(model(max_iter=2), X, Y, n_shares=3), tolerance=0)


@pytest.mark.parametrize("shared", [True, False])
def test_dense_rows_are_divided_likewise(client, shared, monkeypatch):
    X, Y = (Z.toarray() for Z in data())
    alone = model(shared=shared, max_iter=2).fit(X, Y)
    monkeypatch.setattr("simviz.scale.lbfgs._ENTRIES", 1_000)
    close(fit_s2net_lbfgs(model(shared=shared, max_iter=2), X, Y, client=client), alone)


def test_single_precision_is_kept_and_items_may_be_fewer_than_shares():
    X, Y = (Z.astype(np.float32)[:30] for Z in data())
    how = {"max_iter": 2, "validation_fraction": 0}
    ours, alone = fit_s2net_lbfgs(model(**how), X, Y, n_shares=100), model(**how).fit(X, Y)
    assert ours.x_projection_.dtype == np.float32
    np.testing.assert_allclose(ours.loss_curve_, alone.loss_curve_, rtol=1e-4)


def test_a_callback_stops_it_and_a_scheduler_that_is_lost_ends_it_cleanly():
    X, Y = data()
    with cluster_here(2, processes=False, protocol="tcp://") as made, Client(made) as connected:

        def fitted(callback):
            asked = model(max_iter=50).set_callbacks(callback)
            return fit_s2net_lbfgs(asked, X, Y, client=connected)

        def lost(step, total, metrics):
            if step == 2:
                # As if its machine had lost power.
                connected.loop.add_callback(connected.scheduler_comm.comm.abort)
                made.close()
            return False

        assert fitted(lambda step, _, metrics: step >= 2 and "loss" in metrics).n_iter_ == 2
        with pytest.raises(JobError, match="cannot be reached"):
            fitted(lost)


@pytest.mark.parametrize(
    ("changed", "judged", "words"),
    [
        ({"solver": "adam"}, None, "many small steps"),
        ({"loss": "mse"}, None, "computed on one machine"),
        ({"hard_negatives": 3}, None, "computed on one machine"),
        ({}, [[1.0, -1.0], [-1.0, 1.0]], "computed on one machine"),
    ],
)
def test_what_is_not_divided_says_so(changed, judged, words):
    X, Y = np.eye(2), np.eye(2)
    with pytest.raises(ValueError, match=words):
        fit_s2net_lbfgs(model(**changed), X, Y, judged)
