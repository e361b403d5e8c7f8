"""What a server that was killed must still have, and a look at whether it has."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.jobs import JobQueue, JobStatus
from simviz.store import Store, load_map
from simviz.store.directory import LOCAL_WORKSPACE as MINE

#: Pairs of every data set: enough to train on, little enough to be quick.
N_PAIRS = 60
#: So many jobs of a workspace are kept, the newest.
LISTED = 200


def rows_of(name: str) -> list[tuple[str, str]]:
    """The pairs of a data set, as those before and those after the kill can make them."""
    return [
        (f"word{i} {name} left{i % 7}", f"{i % 5}right word{i} {name}") for i in range(N_PAIRS)
    ]


def csv_of(name: str) -> bytes:
    """The same as a file."""
    return "".join(f"{x},{y}\n" for x, y in [("left", "right"), *rows_of(name)]).encode()


class LostError(Exception):
    """Something that was acknowledged is gone, or something is there in part."""


@dataclass
class Promises:
    """What was acknowledged, and what was under way.

    Each thing has the states that it may be found in: one when the app had answered, two while
    it was asked to change it.
    """

    data: dict[str, set[bool]] = field(default_factory=lambda: defaultdict(lambda: {False}))
    jobs: dict[str, bool] = field(default_factory=dict)
    #: Seconds since 1970 when the jobs began that the last look found.
    created: dict[str, float] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(lambda: {""}))
    notes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(lambda: {""}))
    runs: dict[str, set[bool]] = field(default_factory=lambda: defaultdict(lambda: {True}))
    shares: dict[str, set[bool]] = field(default_factory=dict)
    #: Names of the upload that waits to be kept; empty: that before the last kill.
    waiting: set[str] = field(default_factory=set)
    latest: str = ""
    publishing: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)
    found: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @contextmanager
    def change(self, action: str, states: set[Any], state: Any) -> Iterator[None]:
        """A change is asked for, and at the end of the block the app has answered."""
        states.add(state)
        self.open[action] += 1
        yield
        states.clear()
        states.add(state)
        self.kept[action] += 1
        self.open[action] -= 1

    def settle(self, action: str, states: set[Any], state: Any) -> None:
        """What is found after the kill holds from now on."""
        if state not in states:
            raise LostError(f"{action}: expected one of {states}, found {state!r}")
        if len(states) > 1:
            self.found[action]["done" if state else "not done"] += 1
        states.clear()
        states.add(state)


def look(root: Path, told: Promises) -> list[JobStatus]:
    """Compare a store with what was promised.

    Returns
    -------
    list of JobStatus
        Of all jobs; those that had not ended are interrupted.
    """
    store = Store(root)
    data = {i.name: i for i in store.datasets.find(MINE) if not i.is_demo}
    for name in data.keys() | told.data.keys():
        if (name in data) not in told.data[name]:
            raise LostError(f"the data set {name} is there: {name in data}")
        told.settle("upload", told.data[name], name in data)
    for name, info in data.items():
        if pairs_of(store.datasets.get(info.id, MINE)) != set(rows_of(name)):
            raise LostError(f"the data set {name} is not what was uploaded")
    runs = {info.id: info for info in store.runs.find(MINE)}
    gone = {i.id for info in data.values() for i in store.runs.deleted(MINE, info.id)}
    for run_id, states in told.runs.items():
        if run_id not in runs and run_id not in gone:
            raise LostError(f"the run {run_id} can neither be opened nor be brought back")
        told.settle("delete a run, undo", states, run_id in runs)
    for run_id, info in runs.items():
        run = store.runs.get(run_id, MINE)
        whole = run.part("test").evaluation.value("MRR") >= 0 and bool(run.pipeline().model_)
        if not whole or not all(len(load_map(run, name)[0].x) for name in run.maps()):
            raise LostError(f"the run {run_id} is not whole")
        told.settle("name", told.names[run_id], info.name)
        told.settle("note", told.notes[run_id], info.note)
    statuses = _look_at_jobs(store, told, runs.keys() | gone)
    _look_at_shares(store, told)
    if told.waiting:
        waits = store.uploads.get(MINE)
        name, content = waits[1][0] if waits else ("", b"")
        name = name.removesuffix(".csv")
        is_other = bool(waits) and name in told.waiting and content != csv_of(name)
        if not told.waiting & {name, ""} or is_other:
            raise LostError(f"the upload {told.waiting} does not wait, but {name!r}")
        if len(told.waiting) > 1:
            is_new = name == told.latest
            told.found["upload, unkept"]["done" if is_new else "not done"] += 1
        told.waiting = {name} - {""}
    known = {"datasets": {info.id for info in data.values()}, "runs": {*runs}, "trash": gone}
    for kind, ids in (known | {"drafts": set()}).items():
        there = {path.name for path in (root / kind).iterdir()}
        if there != ids:
            raise LostError(f"{kind}: {there ^ ids} in the index or on the disk, not in both")
    told.open.clear()
    return statuses


def _look_at_jobs(store: Store, told: Promises, runs: set[str]) -> list[JobStatus]:
    # Of all workspaces, for the list of one of them ends somewhere.
    with JobQueue(store) as queue:
        statuses = {job_id: queue.status(job_id) for job_id in store.jobs.find()}
    living = {info.id for info in store.datasets.find(MINE)}
    left = list(statuses.values())
    for job_id, was_done in told.jobs.items():
        status = statuses.get(job_id)
        if status is None:
            is_old = told.created.get(job_id, math.inf) <= min(s.created for s in left)
            if len(left) < LISTED or not is_old:
                raise LostError(f"the job {job_id} is forgotten")
            continue
        if status.spec is None or status.spec.dataset_id not in living:
            continue
        if was_done and (status.state != "succeeded" or status.run_id not in runs):
            raise LostError(f"the job {job_id} had succeeded and is {status.state} now")
    for status in statuses.values():
        if status.state not in ("succeeded", "interrupted", "cancelled"):
            raise LostError(f"the job {status.id} reads {status.state}")
        if status.state == "interrupted" and not status.message:
            raise LostError(f"the job {status.id} does not say why it ended")
        if told.jobs.get(status.id) is False and status.id not in told.settled:
            told.found["train"]["done" if status.state == "succeeded" else "interrupted"] += 1
    told.settled.update(statuses)
    told.jobs = {job_id: s.state == "succeeded" for job_id, s in statuses.items()}
    told.created = {job_id: s.created for job_id, s in statuses.items()}
    return left


def _look_at_shares(store: Store, told: Promises) -> None:
    there = {share.token for share in store.shares.find(MINE)}
    for token, states in told.shares.items():
        if (token in there) != _resolves(store, token):
            raise LostError(f"the share {token} is listed, or opens, but not both")
        told.settle("withdraw", states, token in there)
    more = there - told.shares.keys()
    if len(more) > told.publishing:
        raise LostError(f"{len(more)} shares that nobody asked for")
    if told.publishing:
        told.found["publish"]["done" if more else "not done"] += 1
    told.publishing = 0
    told.shares.update({token: {True} for token in more})


def _resolves(store: Store, token: str) -> bool:
    try:
        return bool(store.shares.resolve(token).run_ids)
    except StoreError:
        return False


def pairs_of(pairs: PairSet) -> set[tuple[str, str]]:
    """What belongs together, as texts."""
    x, y = np.nonzero(pairs.relevance.positives)
    return set(zip(pairs.x.content[x].tolist(), pairs.y.content[y].tolist(), strict=True))
