"""What a job is said to take, before it starts and while it runs, beside what it takes."""

from __future__ import annotations

import argparse
import logging
import tempfile
import threading
import time
import warnings
from queue import SimpleQueue
from types import SimpleNamespace

from simviz.datasets import DEMOS
from simviz.exceptions import JobError
from simviz.features import why_impossible
from simviz.jobs import JobSpec, SplitSpec, worker
from simviz.methods import all_methods
from simviz.store import Store
from simviz.workbench.train.cards import why_not

HEAD = ("demo", "method", "card", "first shown", "took", "card : took", "shown : took")


def main(demos: list[str], methods: list[str], stages: bool) -> None:
    """Train each method on each demo, one after the other, and print a row for each."""
    print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    ratios: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as home:
        store = Store(home)
        for demo in demos:
            pairs, by = store.datasets.get(f"demo:{demo}"), DEMOS[demo].split_by
            split = SplitSpec(by=by, group_key="split" if by == "column" else None)
            for method in methods or list(all_methods()):
                cls = all_methods()[method]
                if why_not(cls, pairs) or (
                    cls.tags.input == "pretrained" and why_impossible("text", "pretrained")
                ):
                    continue
                spec = JobSpec(f"demo:{demo}", pairs.digest, method, {}, split)
                spec.estimate(pairs)  # loads what is loaded once
                expected = spec.estimate(pairs)
                events: SimpleQueue = SimpleQueue()
                began = time.process_time()
                try:
                    worker.run_job(spec, store, "", events, threading.Event(), 1)
                except JobError as error:
                    print(f"| {demo} | {method} | {error} |")
                    continue
                took = time.process_time() - began
                told = [events.get()[2] for _ in range(events.qsize())][1:]
                first = next(e["seconds"] + e["left"] for e in told if "left" in e)
                ratios.append((expected.seconds / took, first / took))
                row = [demo, method, *(f"{s:.1f} s" for s in (expected.seconds, first, took))]
                print(f"| {' | '.join([*row, *(f'{r:.2f}' for r in ratios[-1])])} |", flush=True)
                if stages:
                    at = {event["stage"]: event["seconds"] for event in reversed(told)}
                    ends = [*sorted(at.values()), took]
                    steps = [event["step"] for event in told if "loss" in event]
                    for i, name in enumerate(reversed(at)):
                        spent = ends[i + 1] - ends[i]
                        print(f"  {name} {expected.stages[name]:.2f} {spent:.2f}", end="")
                    print(f"  passes {steps[-1:]}", flush=True)
    for name, column in zip(("card", "first shown"), zip(*ratios, strict=True), strict=True):
        good = sum(0.5 <= ratio <= 2 for ratio in column)
        print(f"Within a factor of 2, {name}: {good} of {len(column)}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demos", nargs="*", default=["emoji", "icons"])
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument(
        "--stages", action="store_true", help="show each stage, as expected and as it was"
    )
    given = parser.parse_args()
    logging.disable()
    # Of the processor, lest other work on the machine count.
    clock = time.process_time
    worker.time = SimpleNamespace(monotonic=clock, thread_time=clock, time=time.time)
    warnings.simplefilter("ignore")
    main(given.demos, given.methods, given.stages)
