"""How long a change on Compare takes with 20 runs: processor time of the page's script, warm.

    python benchmarks/compare_page.py

trains 20 runs of the emoji demo, then changes metric, query side, part and runs, each
in four rounds: cold is the slowest change of the first, warm the median of the others.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPONENTS = {
    **dict.fromkeys(("cca", "opca", "cl_lsi", "lsa"), (5, 10, 20, 40)), "bm25": (None,),
    "tfidf_cosine": (None,), "ngram_matcher": (None,), "cplsa": (10,),
}  # fmt: skip


def train() -> str:
    """Train in a new store; return the ids of the runs as a link has them."""
    from simviz.jobs import JobQueue, JobSpec, SplitSpec
    from simviz.store import Store

    store = Store()
    store.workspaces.open("local")
    digest = store.datasets.get("demo:emoji").digest
    half = SplitSpec(fractions=(0.38, 0.1, 0.52))  # for 1,000 test queries
    with JobQueue(store) as jobs:
        for method, numbers in COMPONENTS.items():
            for n in numbers:
                params = {} if n is None else {"n_components": n}
                spec = JobSpec("demo:emoji", digest, method, params, half, workspace="local")
                jobs.wait(jobs.submit(spec))
    return ",".join(run.id for run in store.runs.find("local", "demo:emoji"))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.environ |= {"SIMVIZ_HOME": tempfile.mkdtemp(), "SIMVIZ_PUBLIC": "0"}
    from streamlit.testing.v1 import AppTest

    ids = train()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.run().switch_page("pages/compare.py")
    app.query_params |= {"data": "demo:emoji", "runs": ids, "part": "test", "tab": "roc"}
    app.run()

    def group(label: str, value: object) -> None:
        groups = app.get("button_group")
        next(one for one in groups if one.proto.label.startswith(label)).set_value(value)

    every = ids.split(",")
    changes = {
        "metric": [
            lambda m=m: app.selectbox(key="compare-metric").set_value(m)
            for m in ("top-1", "MAP", "MRR")
        ],
        "metric not stored": [
            lambda m=m: app.selectbox(key="compare-metric").set_value(m)
            for m in ("rank loss", "pAUC@0.25", "NDCG@10 (linear gain)")
        ],
        "query side": [lambda d=d: group("Query side", d) for d in ("y2x", "mean", "x2y")],
        "part": [lambda p=p: group("Measured on", p) for p in ("validation", "test")],
        "runs": [lambda r=r: group("Runs", r) for r in (every[:19], every[:18], every)],
    }
    print(f"{len(every)} runs\n| change | cold | warm |\n|---|---:|---:|")
    for name, steps in changes.items():
        took = []
        for step in itertools.chain.from_iterable([steps] * 4):
            began = time.process_time()
            step()
            app.run()
            took.append(1e3 * (time.process_time() - began))
        cold, warm = took[: len(steps)], took[len(steps) :]
        print(f"| {name} | {max(cold):.0f} ms | {statistics.median(warm):.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
