"""Drawings on request: made once, kept with the run, the same every time."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from made_up import has_note
from scipy.spatial.distance import pdist
from waiting import LONG, finished

from simviz import projection
from simviz.exceptions import StoreError
from simviz.jobs import run_drawings
from simviz.jobs.background import MAX_WAITING, BackgroundTasks
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now, draw_run, map_name, redraw_run
from simviz.projection.pipeline_map import DRAWING
from simviz.projection.quality import N_SEEDS
from simviz.store import load_map


@pytest.fixture
def run(queue, ask, sentences):
    run = finished(queue, ask("cca", n_components=5))
    draw_now(run, sentences, QUICK_LAYOUT)
    return run


def test_drawing_is_made_once_and_kept(run, sentences, background, later):
    assert draw_run(background, run, sentences, "mds-2") is None, "it was drawn in training"
    for _ in range(2):
        assert draw_run(background, run, sentences, "pca-2").state == "waiting"
    assert len(later.calls) == 1
    later.go()
    assert background.progress((run.id, "pca-2")) is None
    assert draw_run(background, run, sentences, "pca-2") is None
    drawing, x_drawn, _ = load_map(run, map_name("pca-2"))
    assert (drawing.method, drawing.x.shape, len(x_drawn)) == ("pca", (60, 2), 60)


def test_methods_without_vectors_are_drawn_by_unfolding(queue, ask, sentences):
    run = finished(queue, ask("bm25"))
    draw_now(run, sentences, QUICK_LAYOUT)
    assert run.part("test").curve == []
    assert has_note(load_map(run, DRAWING)[0], "within a side")


def test_workspaces_are_served_in_turn(sentences, monkeypatch):
    go, order = threading.Event(), []
    background = BackgroundTasks()
    monkeypatch.setattr(background, "_do", lambda key, _: (go.wait(LONG), order.append(key[0])))
    for run_id, whose in [("a1", "ann"), ("a2", "ann"), ("a3", "ann"), ("b1", "bob")]:
        run = SimpleNamespace(id=run_id, maps=list)
        assert draw_run(background, run, sentences, "pca-2", whose).state == "waiting"
    go.set()
    background._executor.shutdown()
    assert sorted(order) == ["a1", "a2", "a3", "b1"] and order.index("b1") <= 1


def test_progress_is_told_while_it_draws(run, sentences, monkeypatch, background, later):
    told = []

    def draw(*args, callback, **options):
        for step in (1, 5, 10):
            assert not callback(step, 10, {})
            told.append(background.progress((run.id, "umap-2")))
        return projection.draw(*args, **options)

    monkeypatch.setattr("simviz.jobs.run_drawings.draw", draw)
    draw_run(background, run, sentences, "umap-2")
    later.go()
    assert {status.state for status in told} == {"working"}
    assert [status.fraction for status in told] == pytest.approx([0.09, 0.45, 0.9])
    assert map_name("umap-2") in run.maps()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StoreError("A run keeps at most 40 drawings."), "at most 40"),
        (ValueError("too few pairs"), "too few pairs"),
        (ZeroDivisionError(), "could not be"),
    ],
)
def test_failure_is_remembered_until_it_is_forgotten(
    run, sentences, monkeypatch, background, later, error, message, caplog
):
    def refuse(self, *args):
        raise error

    monkeypatch.setattr(type(run), "put_map", refuse)
    draw_run(background, run, sentences, "pca-2")
    later.go()
    failed = draw_run(background, run, sentences, "pca-2")
    assert failed.state == "failed" and message in failed.message and not later.calls
    assert ("ZeroDivisionError" in caplog.text) == isinstance(error, ZeroDivisionError)
    background.forget((run.id, "pca-2"))
    assert draw_run(background, run, sentences, "pca-2").state == "waiting"


def test_too_many_are_refused(run, sentences, background):
    for i in range(MAX_WAITING):
        background.submit(("other", i), print)
    refused = draw_run(background, run, sentences, "umap-2")
    assert (refused.state, "wait" in refused.message) == ("failed", True)


@pytest.mark.parametrize("drawing", ["", "mds", "tsne-2", "mds-3", "../mds-2", "mds-2-rms"])
def test_unknown_drawing_is_refused(run, sentences, drawing, background):
    with pytest.raises(ValueError, match="umap"):
        draw_run(background, run, sentences, drawing)


def test_two_sided_drawing_lies_on_the_first(run, sentences, background, later):
    assert draw_run(background, run, sentences, "two-sided-2-50").state == "waiting"
    later.go()
    drawing, x_drawn, _ = load_map(run, map_name("two-sided-2-50"))
    assert (drawing.method, drawing.share, len(x_drawn)) == ("two-sided", 0.5, 60)
    points, onto = (np.concatenate([d.x, d.y]) for d in (drawing, load_map(run, DRAWING)[0]))
    # It could not be turned or mirrored to lie on it any better.
    turn = (points - points.mean(axis=0)).T @ (onto - onto.mean(axis=0))
    np.testing.assert_allclose(turn, turn.T, atol=1e-6 * np.abs(turn).max())
    assert np.linalg.eigvalsh(turn).min() > -1e-6 * np.abs(turn).max()


def test_unknown_items_stay_in_the_lower_left():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(40, 2))
    points = np.concatenate([known, np.repeat([known.min(axis=0) - 1], 3, axis=0)])
    turned = points @ np.array([[0.0, 2.0], [-2.0, 0.0]])
    drawing = projection.joint_map(points[:20], points[20:], method="pca", quality=False)
    made, first = (replace(drawing, x=at[:20], y=at[20:]) for at in (points, turned))
    aligned = run_drawings.aligned_drawing(made, first)
    rest, unknown = np.concatenate([aligned.x, aligned.y[:20]]), aligned.y[20:]
    assert (unknown == unknown[0]).all() and (unknown < rest.min(axis=0)).all()
    # In the units that it was made in.
    assert pdist(rest).sum() == pytest.approx(pdist(known).sum())


def test_drawings_from_other_seeds_say_what_moves(run, sentences, background, later):
    draw_run(background, run, sentences, "umap-2")
    later.go()
    before = load_map(run, map_name("umap-2"))[0]
    assert before.quality.moved is None
    for _ in range(2):
        assert redraw_run(background, run, sentences, "umap-2").state == "waiting"
    assert len(later.calls) == 1
    later.go()
    assert redraw_run(background, run, sentences, "umap-2") is None
    after = load_map(run, map_name("umap-2"))[0]
    np.testing.assert_array_equal(after.x, before.x)
    moved = after.quality.moved
    assert moved.shape == (120,) and 0 <= moved.min() <= moved.max() <= N_SEEDS
    assert moved.any(), "UMAP of so few items is no stable picture"
