"""Learning curves on request: made once, kept with the run, stopped when told."""

from __future__ import annotations

import pytest
from waiting import finished

from simviz.jobs.run_curves import train_on_shares, why_no_curve


def test_a_curve_is_made_once_and_ends_at_the_run(run, keep, background, later):
    assert [background.submit(run.id, keep).state for _ in range(2)] == ["waiting"] * 2
    assert len(later.calls) == 1
    later.go()
    assert background.progress(run.id) is None and why_no_curve(run) == ""
    assert not run.read_objects("test/learning")
    records = run.read_objects("validation/learning")["records"]
    for direction in ("x2y", "y2x"):
        of = {"metric": "MRR", "direction": direction}
        points = [r for r in records if of.items() <= r.items()]
        sizes = [r["n_pairs"] for r in points]
        assert sizes == sorted(sizes) and points[-1]["fraction"] == 1
        told = run.part("validation").value("MRR", direction)
        assert points[-1]["value"] == pytest.approx(told, abs=1e-9)


def test_what_was_stopped_may_be_asked_for_again(run, keep, background, later):
    background.submit(run.id, keep)
    background.stop(run.id)
    assert background.progress(run.id).state == "stopped"
    later.go()
    assert not run.read_objects("validation/learning")
    assert background.submit(run.id, keep).state == "waiting"
    later.go()
    assert run.read_objects("validation/learning")


@pytest.fixture
def run(queue, ask):
    return finished(queue, ask("cca", n_components=2))


@pytest.fixture
def keep(run, sentences):
    return lambda tell: train_on_shares(run, sentences, "validation", tell)
