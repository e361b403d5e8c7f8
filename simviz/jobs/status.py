"""What is known about a job, and the directory that keeps it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from simviz.evaluation.repeated_splits import RepeatedSplits
from simviz.evaluation.tuning import Selection, Trial
from simviz.exceptions import SimvizError
from simviz.jobs.spec import JobResult, JobSpec
from simviz.persistence import load_records, save_state
from simviz.store.directory import damaged, is_alive, own_process, read_json, write_json

State = Literal["queued", "running", "succeeded", "failed", "cancelled", "interrupted"]
#: States that end by themselves.
ACTIVE: tuple[State, ...] = ("queued", "running")
#: Events kept at most; beyond, every second one goes.
MAX_EVENTS = 400
#: The part of a status that is written down.
_TEXTS, _TIMES = ("stage", "message", "owner"), ("created", "started", "finished", "ends")
_WRITTEN = ("state", "fraction", "run_id", *_TEXTS, *_TIMES)
_RESULT = "result.simviz"
Event = Mapping[str, Any]
#: Queues of this process that still work.
_LIVING: set[str] = set()


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What is known about a job, whose id is a digest of the request with the attempt.

    An interrupted job is one whose process has ended. The `spec` has no workspace, and is None
    if it cannot be read; `stage` is such as "training", see `simviz.jobs.cost.Cost`, and
    `fraction` how much is done, in [0, 1]. The `message` is a sentence for whoever waits; the
    error of a failed job. Times are seconds since 1970; the one at which it probably `ends`
    moves forward at most. `owner` is the queue that runs it; at `queue_position` 1 it is next.
    The `history` has progress so far, "seconds" since the start, "stage", "fraction" and
    metrics such as "loss"; it is empty in lists of jobs, and where another process runs it.
    """

    id: str
    state: State
    spec: JobSpec | None = None
    stage: str = ""
    fraction: float = 0.0
    message: str = ""
    created: float | None = None
    started: float | None = None
    finished: float | None = None
    ends: float | None = None
    run_id: str | None = None
    owner: str = ""
    queue_position: int | None = None
    history: tuple[Event, ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ACTIVE

    @property
    def digest(self) -> str:
        """Id of the request, which all attempts at it share."""
        return self.id.rpartition("-")[0]

    @property
    def attempt(self) -> int:
        """Number of the attempt, from 1."""
        return int(self.id.rpartition("-")[2])

    @property
    def eta_seconds(self) -> float | None:
        """Seconds it may still take; None where that is not known, or it takes longer."""
        # It may fall, not rise: of all that was expected, `ends` is the soonest.
        left = None if self.ends is None or self.state != "running" else self.ends - time.time()
        return left if left and left > 0 else None


class JobFolder:
    """Reads and writes the files of one job, in a directory named by its id."""

    # Only the process that runs a job writes its status. Reading never fails: a damaged file is
    # an unknown status, or no history.

    def __init__(self, path: Path) -> None:
        self.path = path

    def write_spec(self, spec: JobSpec) -> None:
        """Keep the request; who asked for a demo is nobody's business."""
        workspace = "" if spec.is_demo else spec.workspace
        write_json(self.path / "spec.json", {"spec": spec.to_json(), "workspace": workspace})

    def read_spec(self) -> JobSpec | None:
        """The request, without the workspace, or None if it cannot be read."""
        try:
            return JobSpec.from_json(read_json(self.path / "spec.json")["spec"])
        except (SimvizError, KeyError, TypeError):
            return None

    def write_status(self, status: JobStatus) -> None:
        """Replace the status; a reader sees the old one or the new one."""
        write_json(self.path / "status.json", {name: getattr(status, name) for name in _WRITTEN})

    def read_status(self) -> JobStatus | None:
        """The status, or None if it cannot be read."""
        try:
            tree = read_json(self.path / "status.json")
        except SimvizError:
            return None
        if not isinstance(tree, dict) or tree.get("state") not in get_args(State):
            return None
        run_id = tree.get("run_id")
        known: dict[str, Any] = {name: str(tree.get(name, "")) for name in _TEXTS}
        known |= {name: _number(tree.get(name)) for name in _TIMES}
        known["fraction"] = min(1.0, max(0.0, _number(tree.get("fraction")) or 0.0))
        known["run_id"] = run_id if isinstance(run_id, str) else None
        return JobStatus(self.path.name, tree["state"], self.read_spec(), **known)

    def write_result(self, result: JobResult) -> None:
        """Keep what it found that is no run."""
        save_state({"result": result}, self.path / _RESULT, sync=True)

    def read_result(self) -> JobResult | None:
        """What it found that is no run, or None if there is nothing to read."""
        from simviz.experiments import Claim, Figure, Findings, Series, Table

        known = JobResult, Selection, Trial, RepeatedSplits, Findings, Table, Figure, Series, Claim
        try:
            with damaged("The result of this job"):
                result: JobResult = load_records(self.path / _RESULT, known)["result"]
                return result
        except SimvizError:
            return None

    def write_history(self, events: Sequence[Event]) -> None:
        """Keep how it went."""
        write_json(self.path / "history.json", list(events))

    def read_history(self) -> tuple[Event, ...]:
        """How it went; nothing while it runs, or where that cannot be read."""
        try:
            events = read_json(self.path / "history.json")
        except SimvizError:
            return ()
        known = events if isinstance(events, list) else []
        return tuple(event for event in known if isinstance(event, dict))

    def request_cancel(self) -> None:
        """Leave word for the process that runs the job."""
        (self.path / "cancel").touch()

    @property
    def is_cancel_requested(self) -> bool:
        """Whether somebody left word."""
        return (self.path / "cancel").exists()


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None


def new_owner() -> str:
    """A name for a queue of this process, which lives until `retire_owner`."""
    owner = f"{own_process()}/{secrets.token_hex(4)}"
    _LIVING.add(owner)
    return owner


def retire_owner(owner: str) -> None:
    """Note that a queue no longer works; what it left is interrupted."""
    _LIVING.discard(owner)


def is_living(owner: str) -> bool:
    """Whether the queue that runs a job still works, in this process or another."""
    process = owner.partition("/")[0]
    return owner in _LIVING if process == own_process() else is_alive(process)
