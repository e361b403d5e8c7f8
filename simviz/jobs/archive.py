"""Jobs on the disk: read, and settled where their process is gone."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from simviz.exceptions import StoreError
from simviz.jobs.folder import JobFolder
from simviz.jobs.selection import Found
from simviz.jobs.spec import EXPERIMENT, JobSpec
from simviz.jobs.status import ACTIVE, JobStatus, Record, eta_seconds
from simviz.store.process import is_alive, own_process
from simviz.store.store import Store

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
    """Reads the jobs of a store, whoever runs or ran them.

    Parameters
    ----------
    store : Store
        Where they are.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def folder(self, job_id: str, workspace: str | None = None) -> JobFolder:
        """The files of a job.

        Raises
        ------
        StoreError
            If there is no such job for this workspace.
        """
        return JobFolder(self.store.attempt_folder(job_id, workspace))

    def status(self, job_id: str, *, history: bool = True) -> JobStatus:
        """What the files of a job say.

        Raises
        ------
        StoreError
            If there is no such job.
        """
        folder = self.folder(job_id)
        record = self.settled(job_id, folder)
        events = tuple(folder.read_events()) if history else ()
        return make_status(job_id, record, folder.read_spec(), events)

    def result(self, job_id: str, workspace: str | None = None) -> Found:
        """What a search found.

        Raises
        ------
        StoreError
            If there is no such job for this workspace, or it found nothing.
        """
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
