"""What is known about a job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from simviz.exceptions import SimvizError
from simviz.jobs.spec import JobSpec

State = Literal["queued", "running", "succeeded", "failed", "cancelled", "interrupted"]
STATES: tuple[State, ...] = get_args(State)
#: States that end by themselves.
ACTIVE: tuple[State, ...] = ("queued", "running")
#: An estimate from less than this share of a job would be a guess.
_KNOWN_FRACTION = 0.02


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What is known about a job.

    Parameters
    ----------
    id : str
        Its id: the digest of the request and the number of the attempt.
    state : {"queued", "running", "succeeded", "failed", "cancelled", "interrupted"}
        Interrupted: the process it ran in has ended.
    spec : JobSpec or None
        What was asked for, without the workspace; None if it cannot be read.
    stage : str
        What it is doing: a key of `simviz.jobs.training.STAGES`.
    fraction : float
        How much is done, in [0, 1].
    message : str
        A sentence for whoever waits; the error of a failed job.
    created, started, finished : float or None
        Seconds since 1970.
    run_id : str or None
        The run of a job that succeeded.
    eta_seconds : float or None
        Seconds it may still take.
    queue_position : int or None
        1 for the job that is next.
    history : tuple of mapping
        Progress so far: "seconds" since the start, "stage", "fraction" and
        metrics such as "loss". Empty in lists of jobs.
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
    run_id: str | None = None
    eta_seconds: float | None = None
    queue_position: int | None = None
    history: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ACTIVE

    @property
    def attempt(self) -> int:
        """Number of the attempt, from 1."""
        return int(self.id.rpartition("-")[2])


@dataclass(slots=True)
class Record:
    """The part of a status that is written down."""

    state: State = "queued"
    stage: str = ""
    fraction: float = 0.0
    message: str = ""
    created: float | None = None
    started: float | None = None
    finished: float | None = None
    run_id: str | None = None
    owner: str = ""

    def to_json(self) -> dict[str, Any]:
        """As JSON's types."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, tree: Any) -> Record | None:
        """Read what `to_json` answered, or None if it is something else."""
        if not isinstance(tree, dict) or tree.get("state") not in STATES:
            return None
        times = {n: _number(tree.get(n)) for n in ("created", "started", "finished")}
        run_id = tree.get("run_id")
        return cls(
            state=cast(State, tree["state"]),
            stage=str(tree.get("stage", "")),
            fraction=min(1.0, max(0.0, _number(tree.get("fraction")) or 0.0)),
            message=str(tree.get("message", "")),
            run_id=run_id if isinstance(run_id, str) else None,
            owner=str(tree.get("owner", "")),
            **times,
        )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None


def make_status(
    job_id: str,
    record: Record,
    spec: JobSpec | None,
    history: tuple[Mapping[str, Any], ...] = (),
    queue_position: int | None = None,
) -> JobStatus:
    """Return what is known about a job, fit to be shown to whoever follows it."""
    eta, started, done = None, record.started, record.fraction
    if record.state == "running" and started is not None and done >= _KNOWN_FRACTION:
        eta = max(0.0, time.time() - started) * (1 - done) / done
    values = record.to_json()
    values.pop("owner")
    return JobStatus(
        id=job_id,
        spec=None if spec is None else spec.asked_by(""),
        eta_seconds=eta,
        queue_position=queue_position,
        history=history,
        **values,
    )


def is_mendable(error: BaseException) -> bool:
    """Whether an error says itself what a user can do about it."""
    return isinstance(error, SimvizError | ValueError | MemoryError)


def explain(error: BaseException) -> str:
    """A sentence for whoever waits."""
    if isinstance(error, MemoryError):
        return "There was not enough memory. Take a sample of the data or fewer components."
    if is_mendable(error):
        return str(error)
    return (
        f"Something went wrong inside simviz ({type(error).__name__}). This is a bug; "
        "the details are kept with the job."
    )
