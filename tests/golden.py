"""A net under refactorings: what every method finds on every demo, before and after.

    python tests/golden.py write BEFORE.json
    python tests/golden.py compare BEFORE.json AFTER.json
    python tests/golden.py same --demo emoji --items 100

The first fits every method on a part of every demo that it can read, with few components and
few iterations, on one thread, and writes metrics of the validation and the test part and a sample
of the similarities. The second prints what differs beyond the tolerance of the method, and fails
if anything does. Both files have to come from one machine: another BLAS rounds differently. The
third does the first with one and with two threads and two seeds of Python's hashes, and fails if
anything differs by more than 1e-7.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch")
ITEMS = 250  # of the side that a demo is split by
SAMPLED = 200  # similarities of test items
#: Parameters of a method that has them; float32 and the processor, as bf16 and a GPU add noise.
SMALL: dict[str, Any] = {
    "n_components": 16, "max_iter": 5, "n_constraints": 2_000, "max_landmarks": 200,
    "hidden_units": 16, "embedding_size": 16, "precision": "float32", "device": "cpu",
    "random_state": 0,
}  # fmt: skip
#: What two runs may differ by: similarities in shares of the largest, metrics as they are. Two
#: runs of the same code agree to the last bit, so this is for sums in another order, measured with
#: OPENBLAS_CORETYPE=Sandybridge instead of Haswell (of torch, ATEN_CPU_CAPABILITY=default): 5e-7
#: of the largest similarity at most for all methods but those below.
#: Metrics of the icons move by up to 0.02 then, as keywords of the same icons nearly tie.
TOLERANCE = 1e-6
TOLERANCES = {
    "cca": 1e-5,  # 1.6e-6 measured
    "cl_lsi": 1e-5,  # 2.6e-6
    "s2net": 1e-4,  # 1.8e-5
}
Cells = Mapping[str, Mapping[str, Any]]


#: What threads and seeds of hashes may change.
SAME = 1e-7


def write(
    path: Path, only: Collection[str], demos: Collection[str], items: int, threads: int
) -> None:
    """Fit all cells that were asked for and write what they found."""
    # Before numpy is imported, and whatever the caller has set.
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    os.environ.update(dict.fromkeys(names, str(threads)))
    import torch

    from simviz import all_methods, default_pipeline, load_demo, split
    from simviz.datasets import DEMOS

    torch.set_num_threads(threads)
    cells = {}
    for demo, info in DEMOS.items():
        if demos and demo not in demos:
            continue
        parts = split(part_of(load_demo(demo), info.split_by, items), info.split_by)
        print(f"{demo}: {parts}", flush=True)
        for method, cls in all_methods().items():
            # The encoder may have to be downloaded.
            if cls.tags.input == "pretrained" or (only and method not in only):
                continue
            known = inspect.signature(cls).parameters
            settings = {name: value for name, value in SMALL.items() if name in known}
            try:
                pipeline = default_pipeline(method, parts.train, **settings)
            except ValueError:  # it cannot read such items
                continue
            cell = cells[f"{method} on {demo}"] = found(pipeline, parts)
            print(f"  {method} {cell.get('error', '')}", flush=True)
    versions = {name: version(name) for name in LIBRARIES}
    path.write_text(json.dumps({"versions": versions, "cells": cells}, indent=1) + "\n")
    print(f"{len(cells)} cells in {time.process_time():.0f} s of the processor")


def part_of(pairs: Any, by: str, items: int = ITEMS) -> Any:
    """Some items of the side that is split, and the items that are judged with them."""
    import numpy as np

    if by == "y":
        return part_of(pairs.swap(), "x", items).swap()
    n = len(pairs.x)
    chosen = np.sort(np.random.default_rng(0).choice(n, min(n, items), replace=False))
    judged = np.unique(pairs.take(chosen).relevance.matrix.indices)
    return pairs.take(chosen, judged)


def found(pipeline: Any, parts: Any) -> dict[str, Any]:
    """What a fitted pipeline says of the parts that it was not trained on; or why it cannot."""
    import numpy as np

    from simviz import evaluate

    metrics = {}
    try:
        pipeline.fit(parts.train, parts.validation)
        for part in ("validation", "test"):
            for record in evaluate(pipeline, getattr(parts, part)).to_records():
                name = f"{part} {record['metric']} {record['direction']}"
                metrics[name] = float(record["value"])
        S = pipeline.similarity(parts.test.x, parts.test.y)
    except Exception as error:  # a cell of its own: the others are to be seen all the same
        return {"error": f"{type(error).__name__}: {error}"}
    positions = np.random.default_rng(0).integers(S.size, size=SAMPLED)
    return {"metrics": metrics, "similarities": [float(s) for s in S.ravel()[positions]]}


def differences(before: Cells, after: Cells, tolerance: float | None = None) -> Iterator[str]:
    """Say in a line each where a cell differs beyond its tolerance (or this), or is missing.

    A metric that only `after` has is none.
    """
    for cell in sorted(before.keys() | after.keys()):
        old, new = (cells.get(cell, {"error": "no cell"}) for cells in (before, after))
        if "error" in old or "error" in new:
            if old.get("error") != new.get("error"):
                yield f"{cell}: {old.get('error', 'no error')} -> {new.get('error', 'no error')}"
            continue
        allowed = TOLERANCES.get(cell.split()[0], TOLERANCE) if tolerance is None else tolerance
        for name, value in old["metrics"].items():
            if off(value, now := new["metrics"].get(name, math.inf)) > allowed:
                yield f"{cell}: {name} {value:.6f} -> {now:.6f}"
        both = list(zip_longest(old["similarities"], new["similarities"], fillvalue=math.inf))
        scale = max((abs(a) for a, _ in both if math.isfinite(a)), default=0.0) or 1.0
        share = max(off(a, b) for a, b in both) / scale
        if share > allowed:
            yield f"{cell}: similarities off by {share:.1e} of the largest, {allowed:.0e} allowed"


def off(a: float, b: float) -> float:
    """How far apart two numbers are: not at all if both are NaN, infinitely if one is."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return math.inf if math.isnan(a) or math.isnan(b) else abs(a - b)


def compare(before: Path, after: Path) -> int:
    """Print what differs; the number of lines."""
    old, new = (json.loads(path.read_text()) for path in (before, after))
    if old["versions"] != new["versions"]:
        print(f"Other libraries: {old['versions']} -> {new['versions']}")
    lines = list(differences(old["cells"], new["cells"]))
    print(*lines, f"{len(new['cells'])} cells, {len(lines)} differences", sep="\n")
    return len(lines)


def same(demos: Sequence[str], items: int) -> int:
    """Print what threads or seeds of hashes change; the number of lines."""
    first: Cells = {}
    n = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.json"
        for threads, seed in product("12", "01"):
            command = [sys.executable, __file__, "write", str(path), "--threads", threads]
            command += ["--items", str(items), "--demo", *demos]
            environment = os.environ | {"PYTHONHASHSEED": seed}
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            cells = json.loads(path.read_text())["cells"]
            first = first or cells
            lines = list(differences(first, cells, SAME))
            n += len(lines)
            told = (
                f"{threads} threads, hashes {seed}: {len(cells)} cells, {len(lines)} differences"
            )
            print(told, *lines, sep="\n  ")
    return n


def main() -> None:
    """Read the command line; write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    of_compare, of_write, of_same = map(commands.add_parser, ("compare", "write", "same"))
    of_compare.add_argument("before", type=Path)
    for of_one in (of_compare, of_write):
        of_one.add_argument("after", type=Path)
    of_write.add_argument("--only", nargs="+", default=[], metavar="METHOD")
    of_write.add_argument("--threads", type=int, default=1)
    for of_one in (of_write, of_same):
        of_one.add_argument("--demo", nargs="*", default=[], metavar="DEMO")
        of_one.add_argument("--items", type=int, default=ITEMS)
    asked = parser.parse_args()
    n_differences = 0
    if asked.command == "write":
        write(asked.after, asked.only, asked.demo, asked.items, asked.threads)
    elif asked.command == "same":
        n_differences = same(asked.demo, asked.items)
    else:
        n_differences = compare(asked.before, asked.after)
    sys.exit(n_differences > 0)


if __name__ == "__main__":
    main()
