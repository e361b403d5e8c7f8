"""An app that is killed at random moments, and a look at what is left of it.

Run ``python tests/jobs/killed_at_work.py DIRECTORY KILLS [SEED]``. A child process uploads,
trains, publishes, withdraws, names, deletes and corrects, three threads at once, and writes down
every action before it begins and after it has returned. It is killed without a warning; then the
next process opens the store and compares. What had returned must be there and whole, what had
begun is there or not, but never in part, and every job reads succeeded or interrupted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import simviz.evaluation.scoring
import simviz.jobs.queue
import simviz.projection.joint  # noqa: F401
from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.jobs import JobQueue, JobSpec, load_evaluation, load_map
from simviz.store import Limits, Store

LIMITS = Limits(datasets=10**6, runs=10**6, shares=10**6, corrections=10**6)
TEXTS = [f"{a} {b} {a}{b}" for a in "abcdefgh" for b in "qrstuvwx"]
Told = list[dict[str, Any]]


def words(tag: str) -> PairSet:
    """A data set as the process before and the process after can make it."""
    return PairSet.from_texts([f"{text} {tag}" for text in TEXTS], [t[::-1] for t in TEXTS])


class Work:
    """What the app does until it is killed."""

    def __init__(self, root: Path, mine: str, log: Path, tag: str) -> None:
        self.store, self.mine, self.tag = Store(root, limits=LIMITS), mine, tag
        self.jobs = JobQueue(self.store, limit=100)
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.pairs = words("kept")
        self.dataset = self.store.put_dataset(self.pairs, mine)

    @classmethod
    def killable(cls, root: Path, mine: str, log: Path, tag: str, only: int | None = None) -> None:
        """Open the store and work, all in one."""
        cls(root, mine, log, tag).run(only)

    def tell(self, what: str, **about: Any) -> None:
        """Write down what happened; written is written, whatever becomes of the process."""
        os.write(self.log, (json.dumps({"what": what, **about}) + "\n").encode())

    def run(self, only: int | None = None) -> None:
        """Work for ever, or so many rounds."""
        if only is None:
            for action in (self.upload, self.save):
                threading.Thread(target=self.repeat, args=(action, count()), daemon=True).start()
        self.repeat(self.train, count() if only is None else range(only))

    def repeat(self, action: Callable[[int], None], rounds: Iterable[int]) -> None:
        """Do it with a number each time."""
        for i in rounds:
            action(i)

    def upload(self, i: int) -> None:
        """Keep a data set; delete every other one again."""
        pairs = words(f"{self.tag}-{i}")
        made = self.store.put_dataset(pairs, self.mine)
        self.tell("uploaded", id=made, digest=pairs.digest)
        if i % 2:
            self.tell("deleting", id=made)
            self.store.delete_dataset(made, self.mine)
            self.tell("deleted", id=made)
        time.sleep(0.01)  # the disk is for the others too

    def save(self, i: int) -> None:
        """Correct an answer and look at the test part."""
        self.store.put_feedback(self.dataset, self.mine, [(f"{self.tag}-{i}", "y", 1.0)])
        self.tell("corrected", input=f"{self.tag}-{i}")
        times = self.store.count_look(self.dataset, self.mine, "part")
        self.tell("looked", times=times)
        time.sleep(0.01)

    def train(self, i: int) -> None:
        """Train two at once, then publish, withdraw, name, delete and bring back."""
        k1 = 1 + int(self.tag) / 100 + i / 10_000
        asked = []
        for method, params in (("bm25", {"k1": k1}), ("cca", {"n_components": 2 + i % 9})):
            if method == "cca":
                params |= {"regularization": k1, "shared": False}
            spec = JobSpec(self.dataset, self.pairs.digest, method, params, workspace=self.mine)
            asked.append(self.jobs.submit(spec))
            self.tell("asked", job=asked[-1])
        for job in asked:
            status = self.jobs.wait(job, 120)
            self.tell("trained", job=job, run=status.run_id, state=status.state)
            assert status.run_id, status
            self.publish(status.run_id, i)

    def publish(self, run: str, i: int) -> None:
        """Everything that may be done with a run."""
        self.tell("deleting run", run=run)
        self.store.delete_run(run, self.mine)
        self.store.restore_run(run, self.mine)
        self.tell("restored", run=run)
        token = self.store.publish(self.mine, "map", [run], view={"drawing": "mds-2"})
        self.tell("published", token=token, run=run)
        if i % 2:
            self.tell("withdrawing", token=token)
            self.store.withdraw(token, self.mine)
            self.tell("withdrawn", token=token)
        self.store.rename_run(run, self.mine, name=f"named {i}")
        self.tell("named", run=run, name=f"named {i}")


def look(root: Path, mine: str, told: Told) -> Counter[str]:
    """Compare the store with what was told; count the states of the jobs."""
    store = Store(root, limits=LIMITS)
    happened: dict[str, dict[str, dict[str, Any]]] = {}
    for line in told:
        key = next((str(line[k]) for k in ("id", "token", "run", "job", "input") if k in line), "")
        happened.setdefault(line["what"], {})[line["job"] if "job" in line else key] = line

    def did(what: str) -> dict[str, dict[str, Any]]:
        return happened.get(what, {})

    kept = {info.id: info for info in store.list_datasets(mine) if not info.is_demo}
    for info in kept.values():
        assert store.get_dataset(info.id, mine).digest == info.digest
    for made, line in did("uploaded").items():
        assert made not in did("deleted") or made not in kept
        assert made in did("deleting") or kept[made].digest == line["digest"]

    runs = {info.id: info for info in store.list_runs(mine)}
    for run_id in runs:
        run = store.get_run(run_id, mine)
        assert load_evaluation(run).value("MRR") > 0
        assert len(load_map(run, "mds-2-center")[0].x) == len(TEXTS)
        assert run.pipeline().model_
    with JobQueue(store) as jobs:
        found = {status.id: status for status in jobs.jobs(mine)}
    states: Counter[str] = Counter(status.state for status in found.values())
    assert set(states) <= {"succeeded", "interrupted"}, states
    assert all(s.message for s in found.values() if s.state == "interrupted")
    assert did("asked").keys() <= found.keys()
    deleted = {info.id for info in store.deleted_runs(mine, next(iter(runs.values())).dataset_id)}
    for job, line in did("trained").items():
        assert line["state"] == found[job].state == "succeeded"
        assert line["run"] in runs or line["run"] in deleted.intersection(did("deleting run"))
    for run_id in did("restored"):
        assert run_id in runs
    for run_id, line in did("named").items():
        assert runs[run_id].name == line["name"]
    for token, line in did("published").items():
        if token in did("withdrawn"):
            try:
                store.resolve(token)
            except StoreError:
                continue
            raise AssertionError("a share came back")
        if token not in did("withdrawing"):
            assert store.resolve(token).run_ids == (line["run"],)

    dataset = next(iter(runs.values())).dataset_id
    corrected = {input for input, _, _ in store.list_feedback(dataset, mine)}
    assert did("corrected").keys() <= corrected
    times, _ = store.looks(dataset, mine, "part")
    assert times >= max((line["times"] for line in told if line["what"] == "looked"), default=0)

    assert {path.name for path in (store.root / "datasets").iterdir()} == kept.keys()
    assert {path.name for path in (store.root / "runs").iterdir()} == runs.keys()
    assert {path.name for path in (store.root / "trash").iterdir()} <= deleted
    assert not list((store.root / "drafts").iterdir())
    return states


def forked(work: Callable[[], object], seconds: float | None = None) -> bool:
    """Do it in a child, killed after so many seconds; whether it ended well by itself."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        finally:
            if code:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] == 0


def main(root: Path, kills: int, seed: int) -> None:
    """Kill so often, look each time at the last process and at the end at all."""
    rng = random.Random(seed)
    store_root, log = root / "store", root / "told"
    mine = Store(store_root).create_workspace()

    def read(log: Path) -> Told:
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    # Only imports happen here: threads of numerical libraries do not live through a fork.
    began = time.monotonic()
    assert forked(partial(Work.killable, store_root, mine, log, "0", 2))
    whole = time.monotonic() - began
    last = log.with_name("last")
    for kill in range(1, kills + 1):
        last.unlink(missing_ok=True)
        moment = rng.uniform(0.1, 1.5) * whole
        forked(partial(Work.killable, store_root, mine, last, str(kill)), moment)
        told = read(last)
        assert forked(partial(look, store_root, mine, told)), (kill, moment, told[-9:])
        with log.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in told)
    told = read(log)
    states = look(store_root, mine, told)
    assert states["interrupted"] >= kills / 2 and len(states) == 2, states
    with JobQueue(Store(store_root, limits=LIMITS), limit=1_000) as jobs:
        left = [s.id for s in jobs.jobs(mine) if s.state == "interrupted"]
        again = [jobs.repeat(job, mine) for job in left]
        assert all(jobs.wait(job, 120).state == "succeeded" for job in again)
    actions = Counter(line["what"] for line in told)
    told_of = {"kills": kills, "seconds": whole, "jobs": states, "actions": actions}
    sys.stdout.write(json.dumps(told_of) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
