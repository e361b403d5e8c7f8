"""Learning curves on request: made once, kept with the run, stopped when told."""

from __future__ import annotations

import pytest
from test_job_desk import Later

from simviz.jobs.learning import LearningDesk, why_no_curve


@pytest.fixture
def run(queue, ask, store):
    return store.get_run(queue.wait(queue.submit(ask("cca", n_components=2)), 60).run_id)


def test_a_curve_is_made_once_and_ends_at_the_run(run, sentences):
    later = Later()
    desk = LearningDesk(later)
    assert run.learning() == []
    assert desk.ask(run, sentences).state == "waiting"
    assert desk.ask(run, sentences).state == "waiting"
    assert len(later.calls) == 1
    later.go()
    assert desk.progress(run.id) is None
    assert desk.ask(run, sentences).state == "done"
    records = run.learning()
    last = {r["direction"]: r for r in records if r["metric"] == "MRR" and r["fraction"] == 1}
    for told in run.records():
        if told["metric"] == "MRR" and told["direction"] in last:
            assert last[told["direction"]]["value"] == pytest.approx(told["value"], abs=1e-9)
    sizes = [r["n_pairs"] for r in records if r["metric"] == "MRR" and r["direction"] == "x2y"]
    assert sizes == sorted(sizes)
    assert why_no_curve(run) == ""


def test_a_curve_that_was_stopped_may_be_asked_for_again(run, sentences):
    later = Later()
    desk = LearningDesk(later)
    desk.ask(run, sentences)
    desk.stop(run.id)
    assert desk.progress(run.id).state == "stopped"
    later.go()
    assert run.learning() == []
    assert desk.ask(run, sentences).state == "waiting"
    later.go()
    assert run.learning()


def test_a_failure_says_why(run, sentences, monkeypatch):
    later = Later()
    desk = LearningDesk(later)
    monkeypatch.setattr(
        "simviz.jobs.learning.learning_records",
        lambda *args: (_ for _ in ()).throw(ValueError("too few pairs")),
    )
    desk.ask(run, sentences)
    later.go()
    assert desk.progress(run.id).message == "too few pairs"
    assert not desk.progress(run.id).is_active
