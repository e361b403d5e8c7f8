"""A job is a directory: request, status, events, and what went wrong."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from simviz.exceptions import SimvizError, StoreError
from simviz.jobs.selection import Found
from simviz.jobs.spec import EXPERIMENT, JobSpec
from simviz.jobs.status import ACTIVE, JobStatus, Record, eta_seconds
from simviz.store.files import is_alive, own_process, read_json, write_bytes, write_json
from simviz.store.store import Store

#: Events kept at most; beyond, every second one goes.
MAX_EVENTS = 400
_MAX_EVENT_BYTES = 4_000_000
Event = Mapping[str, Any]


class JobFolder:
    """Reads and writes the files of one job."""

    # Only the process that runs a job writes its status. Reading never fails: a damaged file is
    # an unknown status, a damaged line is left out.

    def __init__(self, path: Path) -> None:
        self.path = path

    def write_spec(self, spec: JobSpec) -> None:
        """Keep the request; who asked for a demo is nobody's business."""
        workspace = "" if spec.is_demo else spec.workspace
        write_json(self.path / "spec.json", {"spec": spec.to_json(), "workspace": workspace})

    def read_spec(self) -> JobSpec | None:
        """The request, or None if it cannot be read."""
        try:
            tree = read_json(self.path / "spec.json")
            return JobSpec.from_json(tree["spec"], str(tree["workspace"]))
        except (SimvizError, KeyError, TypeError):
            return None

    def write_record(self, record: Record) -> None:
        """Replace the status; a reader sees the old one or the new one."""
        write_json(self.path / "status.json", record.to_json())

    def read_record(self) -> Record | None:
        """The status, or None if it cannot be read."""
        try:
            return Record.from_json(read_json(self.path / "status.json"))
        except SimvizError:
            return None

    def write_result(self, tree: Mapping[str, Any]) -> None:
        """Keep what a job found that is no run."""
        write_json(self.path / "result.json", dict(tree))

    def read_result(self) -> dict[str, Any] | None:
        """What it found, or None if there is nothing to read."""
        try:
            return dict(read_json(self.path / "result.json"))
        except (SimvizError, TypeError, ValueError):
            return None

    def append_events(self, events: Sequence[Event]) -> None:
        """Add lines to ``events.jsonl``."""
        with (self.path / "events.jsonl").open("ab") as file:
            file.write(b"".join(map(_line, events)))

    def write_events(self, events: Sequence[Event]) -> None:
        """Replace ``events.jsonl``."""
        write_bytes(self.path / "events.jsonl", b"".join(map(_line, events)))

    def read_events(self) -> list[Event]:
        """The events whose lines can be read."""
        try:
            with (self.path / "events.jsonl").open("rb") as file:
                lines = file.read(_MAX_EVENT_BYTES).splitlines()
        except OSError:
            return []
        events: list[Event] = []
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                events.append(event)
        return events[-MAX_EVENTS:]

    def write_traceback(self, text: str) -> None:
        """Keep what a bug left behind, for whoever looks after the app."""
        write_bytes(self.path / "traceback.txt", text.encode("utf-8", "replace"))

    def ask_to_cancel(self) -> None:
        """Leave word for the process that runs the job."""
        (self.path / "cancel").touch()

    @property
    def is_asked_to_cancel(self) -> bool:
        """Whether somebody left word."""
        return (self.path / "cancel").exists()


def _line(event: Event) -> bytes:
    return json.dumps(dict(event), separators=(",", ":")).encode() + b"\n"


INTERRUPTED = "The app was restarted before this was finished. Repeat it to start anew."
_log = logging.getLogger(__name__)
#: Queues of this process that still work.
_LIVING: set[str] = set()


def new_owner() -> str:
    """A name for a queue of this process, which lives until `retire_owner`."""
    owner = f"{own_process()}/{secrets.token_hex(4)}"
    _LIVING.add(owner)
    return owner


def retire_owner(owner: str) -> None:
    """Note that a queue no longer works; what it left is interrupted."""
    _LIVING.discard(owner)


class JobArchive:
    """Reads the jobs of a store, whoever runs or ran them."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def folder(self, job_id: str, workspace: str | None = None) -> JobFolder:
        """The files of a job."""
        return JobFolder(self.store.attempt_folder(job_id, workspace))

    def status(self, job_id: str, *, history: bool = True) -> JobStatus:
        """What the files of a job say."""
        folder = self.folder(job_id)
        record = self.settled(job_id, folder)
        events = tuple(folder.read_events()) if history else ()
        return make_status(job_id, record, folder.read_spec(), events)

    def result(self, job_id: str, workspace: str | None = None) -> Found:
        """What a search found."""
        tree = self.folder(job_id, workspace).read_result()
        if tree is None:
            raise StoreError("This job has no result of a search. Repeat it.")
        return Found(tree)

    def is_kept(self, job_id: str, spec: JobSpec) -> bool:
        """Whether what a job that succeeded has made is still there."""
        if spec.search is None and spec.method != EXPERIMENT:
            return self.store.has_run(spec.digest)
        return self.folder(job_id).read_result() is not None

    def settle_all(self) -> None:
        """Settle whatever a process that is gone has left."""
        for job_id in self.store.attempts():
            try:
                self.settled(job_id, self.folder(job_id))
            except StoreError:
                _log.warning("Job %s could not be read.", job_id, exc_info=True)

    def settled(self, job_id: str, folder: JobFolder) -> Record:
        """The status on disk; a job whose process is gone is interrupted for good."""
        record = folder.read_record()
        if record is not None and (record.state not in ACTIVE or _is_living(record.owner)):
            return record
        record = record or Record()
        digest = job_id.rpartition("-")[0]
        if self.store.has_run(digest):
            # It was killed between storing its run and saying so.
            record.state, record.run_id, record.fraction = "succeeded", digest, 1.0
        elif folder.read_result() is not None:
            record.state, record.fraction = "succeeded", 1.0
        else:
            record.state, record.message = "interrupted", INTERRUPTED
        record.finished = record.finished or record.started or record.created
        with suppress(OSError):  # it may have been deleted meanwhile
            folder.write_record(record)
        return record


def make_status(
    job_id: str,
    record: Record,
    spec: JobSpec | None,
    history: tuple[Mapping[str, Any], ...] = (),
    queue_position: int | None = None,
) -> JobStatus:
    """What is known about a job, fit to be shown to whoever follows it."""
    told = record.to_json()
    told.pop("owner")
    return JobStatus(
        id=job_id,
        spec=None if spec is None else spec.asked_by(""),
        eta_seconds=eta_seconds(record, time.time()),
        queue_position=queue_position,
        history=history,
        **told,
    )


def _is_living(owner: str) -> bool:
    process = owner.partition("/")[0]
    return owner in _LIVING if process == own_process() else is_alive(process)
