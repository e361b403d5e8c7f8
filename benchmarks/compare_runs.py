"""``simviz compare`` on runs of 1,000 queries, beside ir_measures' means of the same files.

``python benchmarks/compare_runs.py`` prints a table in Markdown.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

QUERIES, RUNS, JUDGED = 1_000, 10, 20
PEER = """
import json, sys, ir_measures
qrels = list(ir_measures.read_trec_qrels(sys.argv[1]))
measure = ir_measures.nDCG @ 10
print(json.dumps([
    ir_measures.calc_aggregate([measure], qrels, ir_measures.read_trec_run(run))[measure]
    for run in sys.argv[2:]
]))
"""


def write(folder: Path, depth: int) -> list[str]:
    """Write judgments and runs that get better by and by; return the paths of the runs."""
    rng = np.random.default_rng(0)
    documents = np.array([rng.choice(2 * depth, JUDGED, False) for _ in range(QUERIES)])
    grades = rng.integers(0, 4, documents.shape)
    with (folder / "qrels.txt").open("w") as file:
        for q, (row, graded) in enumerate(zip(documents, grades, strict=True)):
            file.writelines(f"q{q} 0 d{d} {g}\n" for d, g in zip(row, graded, strict=True))
    for run in range(RUNS):
        with (folder / f"run{run}.trec").open("w") as file:
            for q in range(QUERIES):
                known = np.zeros(2 * depth)
                known[documents[q]] = grades[q]
                answers = rng.permutation(2 * depth)[:depth]
                scores = rng.random(depth) + 0.15 * (1 + run / 30) * known[answers]
                order = np.argsort(-scores)
                file.writelines(
                    f"q{q} Q0 d{answers[i]} {rank} {scores[i]:.9f} run{run}\n"
                    for rank, i in enumerate(order, 1)
                )
    return [str(folder / f"run{run}.trec") for run in range(RUNS)]


def measured(*words: str) -> tuple[str, float]:
    """What a process prints, and the processor time that it took with all that it imports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, seconds


def main() -> None:
    print("| answers a query | simviz compare | ir_measures, means alone | largest difference |")
    print("|---|---|---|---|")
    for depth in (100, 1_000):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            runs, qrels = write(folder, depth), str(folder / "qrels.txt")
            ours, theirs = [], []
            for _ in range(3):
                said, seconds = measured(
                    "-m", "simviz", "compare", *runs, "--qrels", qrels, "--json"
                )
                ours.append(seconds)
                peer, seconds = measured("-c", PEER, qrels, *runs)
                theirs.append(seconds)
            values = {one["run"]: one["value"] for one in json.loads(said)["runs"]}
            wanted = json.loads(peer)
            apart = max(abs(values[f"run{i}"] - v) for i, v in enumerate(wanted))
            print(
                f"| {depth:,} | {np.median(ours):.1f} s | {np.median(theirs):.1f} s | "
                f"{apart:.0e} |"
            )


if __name__ == "__main__":
    main()
