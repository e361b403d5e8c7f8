"""Drawings on request: made once, kept with the run, the same every time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Executor, Future
from types import SimpleNamespace

import numpy as np
import pytest

from simviz.exceptions import StoreError
from simviz.jobs import drawings, load_map
from simviz.jobs.drawings import MAX_WAITING, DrawingDesk, kept_name


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
    return store.get_run(queue.wait(queue.submit(ask("cca", n_components=5)), 60).run_id)


def test_drawing_is_made_once_and_kept(run, sentences):
    later = Later()
    desk = DrawingDesk(later)
    assert desk.ask(run, sentences, "pca-2").state == "waiting"
    assert desk.ask(run, sentences, "pca-2").state == "waiting"
    assert len(later.calls) == 1
    later.go()
    assert desk.progress(run.id, "pca-2") is None
    assert desk.ask(run, sentences, "pca-2").state == "done"
    drawing, x_drawn, _ = load_map(run, kept_name("pca-2"))
    assert (drawing.method, drawing.x.shape, len(x_drawn)) == ("pca", (60, 2), 60)


def test_drawing_of_training_needs_no_work(run, sentences):
    later = Later()
    assert DrawingDesk(later).ask(run, sentences, "mds-2").state == "done"
    assert not later.calls


def test_workspaces_are_served_in_turn(sentences, monkeypatch):
    go, order = threading.Event(), []
    desk = DrawingDesk()

    def drawn(self, run, pairs, drawing, options):
        go.wait(60)
        order.append(run.id)

    monkeypatch.setattr(DrawingDesk, "_draw", drawn)
    asked = [("a1", "ann"), ("a2", "ann"), ("a3", "ann"), ("b1", "bob")]
    for run_id, whose in asked:
        run = SimpleNamespace(id=run_id, maps=list)
        assert desk.ask(run, sentences, "pca-2", whose).state == "waiting"
    go.set()
    desk._executor.shutdown()
    assert sorted(order) == ["a1", "a2", "a3", "b1"] and order.index("b1") <= 1


def test_same_request_gives_the_same_picture(run, sentences):
    pictures = []
    for _ in range(2):
        later = Later()
        desk = DrawingDesk(later)
        desk.ask(run, sentences, "umap-2")
        later.go()
        pictures.append(load_map(run, kept_name("umap-2"))[0].x)
        (run.folder / "map-umap-2-center.npz").unlink()
    np.testing.assert_array_equal(*pictures)


def test_progress_is_told_while_it_draws(run, sentences, monkeypatch):
    later = Later()
    desk = DrawingDesk(later)
    told = []

    def draw(*args, callback, **options):
        for step in (1, 5, 10):
            assert not callback(step, 10, {})
            told.append(desk.progress(run.id, "umap-2"))
        return original(*args, callback=callback, **options)

    original = drawings.draw
    monkeypatch.setattr(drawings, "draw", draw)
    desk.ask(run, sentences, "umap-2")
    later.go()
    assert [(s.state, round(s.fraction, 2)) for s in told] == [
        ("drawing", 0.09),
        ("drawing", 0.45),
        ("drawing", 0.9),
    ]
    assert kept_name("umap-2") in run.maps()


def test_failure_is_remembered_until_it_is_forgotten(run, sentences, monkeypatch):
    def refuse(self, *args):
        raise StoreError("A run keeps at most 40 drawings.")

    monkeypatch.setattr(type(run), "put_map", refuse)
    later = Later()
    desk = DrawingDesk(later)
    desk.ask(run, sentences, "pca-2")
    later.go()
    failed = desk.ask(run, sentences, "pca-2")
    assert (failed.state, failed.message) == ("failed", "A run keeps at most 40 drawings.")
    assert not later.calls
    desk.forget(run.id, "pca-2")
    assert desk.ask(run, sentences, "pca-2").state == "waiting"


def test_bug_does_not_leave_anybody_waiting(run, sentences, monkeypatch, caplog):
    monkeypatch.setattr("simviz.jobs.drawings.draw", lambda *args, **kwargs: 1 / 0)
    later = Later()
    desk = DrawingDesk(later)
    desk.ask(run, sentences, "pca-2")
    later.go()
    assert desk.ask(run, sentences, "pca-2").state == "failed"
    assert "ZeroDivisionError" in caplog.text


def test_too_many_are_refused(run, sentences):
    desk = DrawingDesk(Later())
    desk._sketches = {("other", str(i)): desk.ask(run, sentences, "pca-2") for i in range(20)}
    assert len(desk._sketches) == MAX_WAITING
    refused = desk.ask(run, sentences, "umap-2")
    assert (refused.state, "wait" in refused.message) == ("failed", True)


@pytest.mark.parametrize("drawing", ["", "mds", "tsne-2", "mds-3", "../mds-2", "mds-2-rms"])
def test_unknown_drawing_is_refused(run, sentences, drawing):
    with pytest.raises(ValueError, match="umap"):
        DrawingDesk(Later()).ask(run, sentences, drawing)


def test_own_thread_draws_in_the_background(run, sentences):
    desk = DrawingDesk()
    desk.ask(run, sentences, "pca-2")
    deadline = time.monotonic() + 30
    while desk.progress(run.id, "pca-2") is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert kept_name("pca-2") in run.maps()
