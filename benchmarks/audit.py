"""Partners that are swapped on purpose, and how well `simviz.audit` finds them.

``python benchmarks/audit.py FOLDER choose|report [SET ...]`` prints a row a set and share of
swapped pairs; FOLDER holds data sets in folders of their own, see `_corpora`. Sets that choose
are every other one of the alphabet, as in ``lexical.py``; the others report. ``FOLDER seconds N``
times so many pairs of en_es_sentences. Beside the audit stand the margins of its single methods,
TF-IDF among them, and cleanlab's normalised margin (``pip install
cleanlab`` comes first), given the scores of OPCA for a pair and for the best others of its row.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _corpora import aligned
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

import simviz
from simviz.data import PairSet
from simviz.evaluation import auditing

SETS = {
    "choose": ("abt_buy", "emoji", "en_es_sentences"),
    "report": ("amazon_google", "en_es_docs", "libreoffice_help"),
}
MAX_PAIRS, SHARES, MARGIN = 1_400, (0.05, 0.1, 0.0), "normalized_margin"
Array = NDArray[np.float64]


def texts(folder: Path, name: str, limit: int) -> tuple[list[str], list[str]]:
    if name == "emoji":
        pairs = simviz.load_demo(name)
        return list(pairs.x.content), list(pairs.y.content)
    parts = aligned(folder / name).values()
    sides = [[text for part in parts for text in part[side]] for side in (0, 1)]
    kept = np.sort(np.random.default_rng(0).permutation(len(sides[0]))[:limit])
    x, y = ([side[i] for i in kept] for side in sides)
    return x, y


def swapped(y: Sequence[str], share: float, seed: int) -> tuple[list[str], NDArray[np.bool_]]:
    """Partners of a share of the pairs, each given to the next one of them at random."""
    # By a stream of its own: the audit's would choose the very pairs that its first run swaps.
    new, rng = np.arange(len(y)), np.random.default_rng([seed, 1])
    chosen = rng.permutation(len(y))[: round(share * len(y))]
    new[chosen] = np.roll(chosen, 1)
    return [y[i] for i in new], new != np.arange(len(y))


def mrr(run: auditing._Run) -> float:
    """MRR@10 of the pairs as given, by the first method, among all items."""
    seen = run.seen[0]
    above = (seen.x_near[1][seen.cells[:, 0]] > seen.own[:, None]).sum(axis=1)
    ranks = np.where(above < seen.x_near[1].shape[1], 1 / (above + 1), 0.0)
    return float(ranks[~run.swapped].mean())


def quality(seen: auditing._Seen) -> Array:
    """What cleanlab thinks of each pair, as of a label: the given y, or one of the best others."""
    from cleanlab.rank import get_label_quality_scores

    scores = np.column_stack([seen.own, seen.x_near[1][seen.cells[:, 0]]]) / np.std(seen.own)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    labels = np.zeros(len(odds), dtype=int)
    return np.asarray(
        get_label_quality_scores(labels, odds / odds.sum(axis=1, keepdims=True), method=MARGIN)
    )


def row(name: str, x: list[str], y: list[str], share: float, seed: int = 1) -> str:
    given, wrong = swapped(y, share, seed)
    start = time.process_time()
    runs = auditing._runs(PairSet.from_texts(x, given), "pair", None, seed, None)
    probability, estimate, _ = auditing._judge(runs)
    seconds = time.process_time() - start
    kept = np.stack([~run.swapped for run in runs])

    def found(values: list[Array]) -> float:
        return average_precision_score(wrong, -(np.stack(values) * kept).sum(0) / kept.sum(0))

    cells = [name, f"{len(x):,}", f"{share:.0%}", f"{np.mean([mrr(run) for run in runs]):.2f}"]
    listed = probability > auditing.LISTED
    if share:
        for number in range(len(runs[0].seen)):
            cells.append(f"{found([run.seen[number].margin for run in runs]):.3f}")
        cells.append(f"{found([quality(run.seen[0]) for run in runs]):.3f}")
        skill = 1 - np.mean((probability - wrong) ** 2) / np.var(wrong)
        cells += [f"{average_precision_score(wrong, probability):.3f}", f"{skill:.2f}"]
    else:
        cells += ["–"] * (len(runs[0].seen) + 3)
    cells += [f"{estimate:.3f}", f"{listed.mean():.1%}", f"{seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    folder, what, *names = sys.argv[1:]
    folder_of_sets = Path(folder)
    if what == "seconds":
        x, y = texts(folder_of_sets, "en_es_sentences", int(names[0]))
        start = time.perf_counter()
        simviz.audit(PairSet.from_texts(x, y))
        print(f"{len(x):,} pairs: {time.perf_counter() - start:.0f} s")
        return
    print(
        "| set | pairs | swapped | OPCA's MRR | OPCA | CCA | TF-IDF | cleanlab | audit "
        "| Brier skill | share estimated | listed | s |"
    )
    for name in names or SETS[what]:
        x, y = texts(folder_of_sets, name, MAX_PAIRS)
        for share in SHARES:
            print(row(name, x, y, share), flush=True)


if __name__ == "__main__":
    main()
