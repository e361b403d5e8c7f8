"""Learning curves on request: made once, kept with the run, stopped when told."""

from __future__ import annotations

import pytest
from waiting import finished

from simviz.jobs.run_curves import train_on_shares, why_no_curve


@pytest.fixture
def run(queue, ask):
    return finished(queue, ask("cca", n_components=2))


@pytest.fixture
def keep(run, sentences):
    return lambda tell: train_on_shares(run, sentences, "validation", tell)


def test_a_curve_is_made_once_and_ends_at_the_run(run, keep, background, later):
    assert [background.submit(run.id, keep).state for _ in range(2)] == ["waiting"] * 2
    assert len(later.calls) == 1
    later.go()
    assert background.progress(run.id) is None
    assert not run.read_objects("test/learning")
    records = run.read_objects("validation/learning")["records"]
    last = {r["direction"]: r for r in records if r["metric"] == "MRR" and r["fraction"] == 1}
    for told in run.part("validation").records["run"]:
        if told["metric"] == "MRR" and told["direction"] in last:
            assert last[told["direction"]]["value"] == pytest.approx(told["value"], abs=1e-9)
    sizes = [r["n_pairs"] for r in records if r["metric"] == "MRR" and r["direction"] == "x2y"]
    assert sizes == sorted(sizes)
    assert why_no_curve(run) == ""


def test_what_was_stopped_may_be_asked_for_again(run, keep, background, later):
    background.submit(run.id, keep)
    background.stop(run.id)
    assert background.progress(run.id).state == "stopped"
    later.go()
    assert not run.read_objects("validation/learning")
    assert background.submit(run.id, keep).state == "waiting"
    later.go()
    assert run.read_objects("validation/learning")


def test_a_failure_says_why(background, later):
    def fail(tell):
        raise ValueError("too few pairs")

    background.submit("a", fail)
    later.go()
    assert background.progress("a").message == "too few pairs"
    assert not background.progress("a").is_active
