"""Jobs that need more memory than there is: refused, or stopped at their next step."""

import threading
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from scorers import TAGS
from waiting import LONG, until

from simviz import methods
from simviz.base import LinearPairModel, MethodTags
from simviz.jobs import memory
from simviz.jobs.background import BackgroundTasks

#: Bytes that a job may take here, and that the greedy ones do: enough to be seen.
ALLOWED, STEP = 3 * 10**8, 10**8


class Greedy(LinearPairModel):
    """Takes memory at each step that no estimate knows of."""

    tags: ClassVar[MethodTags] = replace(TAGS, title="Greedy")

    def __init__(self, max_iter=8):
        self.max_iter = max_iter

    def _fit(self, X, Y, relevance):
        taken = []
        for step in range(self.max_iter):
            taken.append(np.ones(STEP // 8))
            self._notify(step, self.max_iter)
            PACE.wait(0.11)  # reports that come faster are dropped
        self.x_projection_ = self.y_projection_ = np.eye(X.shape[1], 2, dtype=X.dtype)


PACE = threading.Event()


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    """Some memory more than the process has."""
    monkeypatch.setitem(methods.registered, "greedy", Greedy)
    memory.set_limit(memory.taken_bytes() + memory.MAX_RESERVED + ALLOWED)
    yield
    memory.set_limit(float("inf"))


def test_what_would_need_too_much_is_refused_before_it_starts(queue, ask):
    status = queue.wait(queue.submit(ask("ssi", n_components=400_000)), LONG)
    assert status.state == "failed" and "training" not in {e["stage"] for e in status.history}
    assert "GB of memory" in status.message and "Take a sample" in status.message


def test_a_job_that_takes_too_much_is_stopped_and_others_go_on(queue, ask, endless):
    other = queue.submit(endless())
    until(lambda: queue.status(other).stage == "training")
    status = queue.wait(queue.submit(ask("greedy", max_iter=100)), LONG)
    assert status.state == "failed" and "Traceback" not in status.message
    assert "more memory than there is" in status.message
    assert queue.status(other).state == "running"
    queue.cancel(other)
    again = queue.wait(queue.submit(ask("greedy", max_iter=1)), LONG)  # its memory is back
    assert again.state == "succeeded", again.message


def test_what_began_last_is_stopped_first_and_the_others_if_that_did_not_help(monkeypatch):
    memory.set_limit(1)
    with memory.limit_memory("first") as first:
        with pytest.raises(memory.JobError), memory.limit_memory("second") as second:
            first()
            second()
        memory.set_limit(float("inf"))
        first()
        memory.set_limit(1)
        with memory.limit_memory("takes no step"):
            first()
            monkeypatch.setattr(memory, "PATIENCE", 0.0)
            with pytest.raises(memory.JobError):
                first()


def test_a_drawing_that_takes_too_much_says_so():
    memory.set_limit(1)
    background = BackgroundTasks()
    background.submit("drawing", lambda report: report(0.5))
    until(lambda: background.is_idle)
    assert "more memory than there is" in background.progress("drawing").message


LIMIT, TAKEN = "1000000", "700000"
GROUPS = {
    # Those of a container below one of the host that is smaller, and without a limit of its own.
    "0::/job/inner\n": {
        "job": {"memory.max": LIMIT, "memory.current": TAKEN},
        "job/inner": {"memory.max": "max", "memory.current": "600000"},
    },
    # A container that sees its group as the root.
    "5:cpu:/\n4:memory:/docker/1f\n0::/\n": {
        "memory": {"memory.limit_in_bytes": LIMIT, "memory.usage_in_bytes": TAKEN}
    },
}


@pytest.mark.parametrize("groups", GROUPS)
def test_the_limit_of_a_container_counts(groups, tmp_path, monkeypatch):
    memory.set_limit(float("inf"))
    assert memory.free_bytes() > 10**8
    (tmp_path / "cgroup").write_text(groups)
    # What is not active is given up when it is needed.
    stat = {"memory.stat": "inactive_file 100000\ntotal_inactive_file 100000\n"}
    for folder, files in GROUPS[groups].items():
        (tmp_path / folder).mkdir(parents=True)
        for name, text in (files | stat).items():
            (tmp_path / folder / name).write_text(text)
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUP_FILES", tmp_path)
    assert memory.free_bytes() == 350_000  # a twentieth of all is left to pages
    monkeypatch.setattr(memory, "MACHINE", tmp_path / "none")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "none")
    assert memory.free_bytes() == float("inf")  # other systems do not tell
