"""What a running job is said to take: known from its pace, and never more than before."""

import threading
from types import SimpleNamespace

import pytest
from hypothesis import given, settings, strategies as st

from simviz.jobs import Cost, JobSpec, JobStatus, worker
from simviz.jobs.cost import STAGES
from simviz.jobs.queue import Job

EVENTS = st.tuples(
    st.sampled_from(["next", "again", *STAGES, "searching"]),
    st.floats(0, 1),
    st.floats(0, 50) | st.sampled_from([0.0, 0.001, 3_600.0]),  # seconds since the last one
    st.floats(0, 1),  # share of them that the processor worked for this job
)


class Simulated:
    """A job whose clocks are set by hand, told of by the reporter of real jobs."""

    def __init__(self, patch, stages=None, passes=0.0):
        self.now = self.worked = 0.0
        clocks = {"monotonic": lambda: self.now, "thread_time": lambda: self.worked}
        patch.setattr("simviz.jobs.worker.time", SimpleNamespace(**clocks))
        for module in ("queue", "status"):
            clock = SimpleNamespace(time=lambda: 1e9 + self.now, monotonic=lambda: self.now)
            patch.setattr(f"simviz.jobs.{module}.time", clock)
        spec = JobSpec("d", "0" * 32, "bm25", workspace="w")
        self.job = Job(JobStatus("x-1", "running", started=1e9), spec, None)
        planned = dict.fromkeys(STAGES, 0.0) | (stages or {})
        expected = Cost(sum(planned.values()), 0, None, planned, passes)
        channel = SimpleNamespace(put=lambda message: self.job.add_event(message[2]))
        self.report = worker.reporter("x-1", channel, threading.Event(), expected, (0.0, 0.0))

    def after(self, seconds, stage, done, share=1.0):
        """Report after some seconds; return the seconds that are said to be left."""
        self.now, self.worked = self.now + seconds, self.worked + share * seconds
        self.report(stage, done, {})
        return self.left

    @property
    def left(self):
        return self.job.status.eta_seconds


@given(
    st.lists(EVENTS, max_size=60),
    st.dictionaries(st.sampled_from(STAGES), st.floats(0, 1e4)),
    st.sampled_from([0.0, 0.3, 1.0]),
)
@settings(max_examples=200)
def test_the_time_left_never_rises(events, stages, passes):
    with pytest.MonkeyPatch.context() as patch:
        job = Simulated(patch, stages, passes)
        shown, fraction, stage = float("inf"), 0.0, STAGES[0]
        for name, done, seconds, share in events:
            if name == "next":
                at = STAGES.index(stage) + 1 if stage in STAGES else len(STAGES)
                stage = STAGES[at] if at < len(STAGES) else stage
            elif name != "again":
                stage = name
            for wait in (0.0, seconds / 2):  # somebody looks between the events, too
                job.now += wait
                if job.left is not None:
                    assert 0 < job.left <= shown
                    shown = job.left
            left = job.after(seconds / 2, stage, done, share)
            if left is not None:
                assert 0 < left <= shown
                shown = left
            assert fraction <= job.job.status.fraction <= 1
            fraction = job.job.status.fraction


def test_what_was_expected_soonest_is_kept_though_events_are_dropped(monkeypatch):
    job = Simulated(monkeypatch)
    lefts = [job.after(1.0, "searching", i / 5_000 if i < 50 else 0.01 + i / 1e6)
             for i in range(1_000)]  # fmt: skip
    known = [left for left in lefts if left is not None]
    assert len(job.job.history) < 1_000 and known == sorted(known, reverse=True)


def test_passes_are_timed_before_anything_is_said(monkeypatch):
    job = Simulated(monkeypatch, {"features": 1.0, "training": 90.0, "scoring": 4.0}, 0.5)
    assert job.after(0.0, "features", 0.0) is None
    assert job.after(1.0, "training", 0.0) is None
    assert job.after(5.0, "training", 0.0) is None  # it prepares
    assert job.after(0.5, "training", 0.01) is None  # and loads what the first pass needs
    passes, estimate = 0.5 * 100.0, 90.0
    left = 0.98 * (0.49 * estimate + 0.51 * passes) + 4
    assert job.after(1.0, "training", 0.02) == pytest.approx(left)
    assert job.after(1.0, "training", 0.52) < left / 2
    assert job.after(1.0, "scoring", 0.0) <= 4


def test_what_makes_no_passes_is_told_from_the_start_and_corrected(monkeypatch):
    job = Simulated(monkeypatch, {"training": 20.0, "scoring": 5.0})
    assert job.after(0.1, "features", 0.0) == pytest.approx(25)
    assert job.after(0.1, "training", 0.0) == pytest.approx(24.9)
    assert job.after(19.0, "scoring", 0.0) == pytest.approx(5)
    job.after(2.0, "scoring", 0.5)
    assert job.after(0.5, "scoring", 0.9) < 1
    job.now += 10
    assert job.left is None  # it takes longer than was said


def test_other_work_on_the_machine_counts(monkeypatch):
    for share, seconds in ((1.0, 20.0), (0.5, 40.0), (0.0, 80.0)):
        job = Simulated(monkeypatch, {"training": 20.0})
        assert job.after(1.0, "features", 0.0, share) == pytest.approx(seconds)


def test_of_an_unknown_cost_the_stages_share_the_bar_and_no_time_is_told(monkeypatch):
    job = Simulated(monkeypatch)
    assert job.after(1.0, "training", 1.0) is None and job.after(9.0, "scoring", 0.5) is None
    assert job.job.status.fraction == pytest.approx(0.875)
