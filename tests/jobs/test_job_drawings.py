"""Drawings on request: made once, kept with the run, the same every time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Executor, Future
from types import SimpleNamespace

import numpy as np
import pytest

from simviz import projection
from simviz.exceptions import StoreError
from simviz.jobs.background import MAX_WAITING, Background, draw_run, kept_name
from simviz.store import load_map


class Later(Executor):
    """Keeps what it is given until somebody says go."""

    def __init__(self):
        self.calls = []

    def submit(self, fn, /, *args, **kwargs):
        self.calls.append(lambda: fn(*args, **kwargs))
        return Future()

    def go(self):
        while self.calls:
            self.calls.pop(0)()


@pytest.fixture
def run(queue, ask, store):
    return store.runs.get(queue.wait(queue.submit(ask("cca", n_components=5)), 60).run_id)


def test_drawing_is_made_once_and_kept(run, sentences):
    later = Later()
    background = Background(later)
    assert draw_run(background, run, sentences, "pca-2").state == "waiting"
    assert draw_run(background, run, sentences, "pca-2").state == "waiting"
    assert len(later.calls) == 1
    later.go()
    assert background.progress((run.id, "pca-2")) is None
    assert draw_run(background, run, sentences, "pca-2") is None
    drawing, x_drawn, _ = load_map(run, kept_name("pca-2"))
    assert (drawing.method, drawing.x.shape, len(x_drawn)) == ("pca", (60, 2), 60)


def test_drawing_of_training_needs_no_work(run, sentences):
    later = Later()
    assert draw_run(Background(later), run, sentences, "mds-2") is None
    assert not later.calls


def test_workspaces_are_served_in_turn(sentences, monkeypatch):
    go, order = threading.Event(), []
    background = Background()

    def drawn(self, key, work):
        go.wait(60)
        order.append(key[0])

    monkeypatch.setattr(Background, "_do", drawn)
    asked = [("a1", "ann"), ("a2", "ann"), ("a3", "ann"), ("b1", "bob")]
    for run_id, whose in asked:
        run = SimpleNamespace(id=run_id, maps=list)
        assert draw_run(background, run, sentences, "pca-2", whose).state == "waiting"
    go.set()
    background._executor.shutdown()
    assert sorted(order) == ["a1", "a2", "a3", "b1"] and order.index("b1") <= 1


def test_same_request_gives_the_same_picture(run, sentences):
    pictures = []
    for _ in range(2):
        later = Later()
        background = Background(later)
        draw_run(background, run, sentences, "umap-2")
        later.go()
        pictures.append(load_map(run, kept_name("umap-2"))[0].x)
        (run.folder / "map-umap-2-center.npz").unlink()
    np.testing.assert_array_equal(*pictures)


def test_progress_is_told_while_it_draws(run, sentences, monkeypatch):
    later = Later()
    background = Background(later)
    told = []

    def draw(*args, callback, **options):
        for step in (1, 5, 10):
            assert not callback(step, 10, {})
            told.append(background.progress((run.id, "umap-2")))
        return projection.draw(*args, callback=callback, **options)

    monkeypatch.setattr("simviz.jobs.background.draw", draw)
    draw_run(background, run, sentences, "umap-2")
    later.go()
    assert [(s.state, round(s.fraction, 2)) for s in told] == [
        ("working", 0.09),
        ("working", 0.45),
        ("working", 0.9),
    ]
    assert kept_name("umap-2") in run.maps()


def test_failure_is_remembered_until_it_is_forgotten(run, sentences, monkeypatch):
    def refuse(self, *args):
        raise StoreError("A run keeps at most 40 drawings.")

    monkeypatch.setattr(type(run), "put_map", refuse)
    later = Later()
    background = Background(later)
    draw_run(background, run, sentences, "pca-2")
    later.go()
    failed = draw_run(background, run, sentences, "pca-2")
    assert (failed.state, failed.message) == ("failed", "A run keeps at most 40 drawings.")
    assert not later.calls
    background.forget((run.id, "pca-2"))
    assert draw_run(background, run, sentences, "pca-2").state == "waiting"


def test_bug_does_not_leave_anybody_waiting(run, sentences, monkeypatch, caplog):
    monkeypatch.setattr("simviz.jobs.background.draw", lambda *args, **kwargs: 1 / 0)
    later = Later()
    background = Background(later)
    draw_run(background, run, sentences, "pca-2")
    later.go()
    assert draw_run(background, run, sentences, "pca-2").state == "failed"
    assert "ZeroDivisionError" in caplog.text


def test_too_many_are_refused(run, sentences):
    background = Background(Later())
    for i in range(MAX_WAITING):
        background.submit(("other", i), print)
    refused = draw_run(background, run, sentences, "umap-2")
    assert (refused.state, "wait" in refused.message) == ("failed", True)


@pytest.mark.parametrize("drawing", ["", "mds", "tsne-2", "mds-3", "../mds-2", "mds-2-rms"])
def test_unknown_drawing_is_refused(run, sentences, drawing):
    with pytest.raises(ValueError, match="umap"):
        draw_run(Background(Later()), run, sentences, drawing)


def test_own_thread_draws_in_the_background(run, sentences):
    background = Background()
    draw_run(background, run, sentences, "pca-2")
    deadline = time.monotonic() + 30
    while background.progress((run.id, "pca-2")) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert kept_name("pca-2") in run.maps()
