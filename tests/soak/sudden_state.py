"""What a server that was killed must still have, and a look at whether it has."""

from __future__ import annotations

import math
from collections import defaultdict
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
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(lambda: {""}))
    notes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(lambda: {""}))
    runs: dict[str, set[bool]] = field(default_factory=lambda: defaultdict(lambda: {True}))
    shares: dict[str, set[bool]] = field(default_factory=dict)
    #: Names of the upload that waits to be kept; empty: that before the last kill.
    waiting: set[str] = field(default_factory=set)
    publishing: int = 0


@contextmanager
def change(states: set[Any], state: Any) -> Iterator[None]:
    """A change is asked for, and at the end of the block the app has answered."""
    states.add(state)
    yield
    states.clear()
    states.add(state)


def settle(what: str, states: set[Any], state: Any) -> None:
    """What is found after the kill holds from now on."""
    if state not in states:
        raise LostError(f"{what}: expected one of {states}, found {state!r}")
    states.clear()
    states.add(state)


def look(root: Path, told: Promises) -> list[JobStatus]:
    """Compare a store with what was promised; all jobs, of which some are interrupted."""
    store = Store(root)
    data = {i.name: i for i in store.datasets.find(MINE) if not i.is_demo}
    for name in data.keys() | told.data.keys():
        settle(f"whether the data set {name} is there", told.data[name], name in data)
    for name, info in data.items():
        if pairs_of(store.datasets.get(info.id, MINE)) != set(rows_of(name)):
            raise LostError(f"the data set {name} is not what was uploaded")
    runs = {info.id: info for info in store.runs.find(MINE)}
    gone = {i.id for info in data.values() for i in store.runs.deleted(MINE, info.id)}
    for run_id, states in told.runs.items():
        if run_id not in runs and run_id not in gone:
            raise LostError(f"the run {run_id} can neither be opened nor be brought back")
        settle(f"whether the run {run_id} is there", states, run_id in runs)
    for run_id, info in runs.items():
        run = store.runs.get(run_id, MINE)
        whole = run.part("test").evaluation.value("MRR") >= 0 and bool(run.pipeline().model_)
        if not whole or not all(len(load_map(run, name)[0].x) for name in run.maps()):
            raise LostError(f"the run {run_id} is not whole")
        settle("name", told.names[run_id], info.name)
        settle("note", told.notes[run_id], info.note)
    statuses = _look_at_jobs(store, told, runs.keys() | gone)
    _look_at_shares(store, told)
    if told.waiting:
        waits = store.uploads.get(MINE)
        name, content = waits[1][0] if waits else ("", b"")
        name = name.removesuffix(".csv")
        is_other = bool(waits) and name in told.waiting and content != csv_of(name)
        if not told.waiting & {name, ""} or is_other:
            raise LostError(f"the upload {told.waiting} does not wait, but {name!r}")
        told.waiting = {name} - {""}
    known = {"datasets": {info.id for info in data.values()}, "runs": {*runs}, "trash": gone}
    for kind, ids in (known | {"drafts": set()}).items():
        there = {path.name for path in (root / kind).iterdir()}
        if there != ids:
            raise LostError(f"{kind}: {there ^ ids} in the index or on the disk, not in both")
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
    told.jobs = {job_id: s.state == "succeeded" for job_id, s in statuses.items()}
    told.created = {job_id: s.created for job_id, s in statuses.items()}
    return left


def _look_at_shares(store: Store, told: Promises) -> None:
    there = {share.token for share in store.shares.find(MINE)}
    for token, states in told.shares.items():
        if (token in there) != _resolves(store, token):
            raise LostError(f"the share {token} is listed, or opens, but not both")
        settle(f"whether the share {token} is there", states, token in there)
    more = there - told.shares.keys()
    if len(more) > told.publishing:
        raise LostError(f"{len(more)} shares that nobody asked for")
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
