"""A job is a directory: request, status, events, and what went wrong."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simviz.exceptions import SimvizError
from simviz.jobs.spec import JobSpec
from simviz.jobs.status import Record
from simviz.store.directory import is_alive, own_process, read_json, write_bytes, write_json

#: Events kept at most; beyond, every second one goes.
MAX_EVENTS = 400
_MAX_EVENT_BYTES = 4_000_000
Event = Mapping[str, Any]
#: Queues of this process that still work.
_LIVING: set[str] = set()


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
