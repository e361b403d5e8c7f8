"""Whether a threshold chosen on validation holds on the test, and how fast pairs are scored.

    python benchmarks/thresholds.py FOLDER [RATE]
    python benchmarks/thresholds.py speed

FOLDER holds the sets of SETS, each in a folder of its own: x.jsonl.gz and y.jsonl.gz (id, text,
in some group), relevance.tsv.gz (x_id, y_id, grade) and split.tsv.gz (x_id, split).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gzip
import json
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from _corpora import graded

import simviz
from simviz.data import Items, PairSet
from simviz.evaluation import Estimate, choose_threshold, operating_point
from simviz.pipeline import default_pipeline

#: Sets, with the queries taken of the validation and the test part, the first in the file.
SETS = (
    ("abt_buy", None),
    ("amazon_google", None),
    ("libreoffice_help", 1_000),
    ("libreoffice_help", None),
)
METHODS = ("tfidf_cosine", "s2net")
N_TRAIN = 3_000
WORDS = ("false_alarm_rate", "recall", "precision")
N_SCORED = 20_000


def share(found: Estimate) -> str:
    """A share and its interval, in percent."""
    return f"{100 * found.value:.2f} ({100 * found.low:.2f} to {100 * found.high:.2f})"


def agree(one: Estimate, other: Estimate) -> bool:
    """Whether the interval of the difference of two shares holds 0 (Zou and Donner, 2008)."""
    lower, higher = sorted((one, other))
    apart = higher.value - lower.value
    return apart <= math.hypot(lower.high - lower.value, higher.value - higher.low)


def group_of(file: Path) -> dict[str, str]:
    """The group of each text of a side, where the set has groups."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return {row["text"]: row["group"] for row in map(json.loads, lines) if "group" in row}


def hold(folder: Path, rate: float) -> None:
    """Print what the validation part promises beside what the test part gives."""
    print("| set | queries | method | | validation, 95 % interval | test, 95 % interval ", end="")
    print("| test inside | parts agree |\n|---|---|---|---|---|---|---|---|")
    for name, n_held in SETS:
        parts, groups = {}, {}
        known = [group_of(folder / name / f"{side}.jsonl.gz") for side in "xy"]
        for part, (x, y, relevance) in graded(folder / name, N_TRAIN, n_held).items():
            sides = (Items(range(len(texts)), texts, "text") for texts in (x, y))
            parts[part] = PairSet(*sides, relevance)
            groups[part] = {
                side: [of[text] for text in texts]
                for side, texts, of in zip("xy", (x, y), known, strict=True)
                if of
            }
        dev, test = ((p.x, p.y, p.relevance) for p in (parts["dev"], parts["test"]))
        for method in METHODS:
            scorer = default_pipeline(method, parts["train"]).fit(parts["train"])
            threshold = choose_threshold(scorer, *dev, false_alarm_rate=rate)
            found = operating_point(scorer, *test, threshold=threshold, groups=groups["test"])
            expected = operating_point(
                scorer,
                *dev,
                threshold=threshold,
                prevalence=found.prevalence,
                groups=groups["dev"],
            )
            size = f"{len(parts['dev'].x):,} and {len(parts['test'].x):,}"
            for words in WORDS:
                before, after = getattr(expected, words), getattr(found, words)
                verdicts = (before.low <= after.value <= before.high, agree(before, after))
                cells = (name, size, method, words.replace("_", " "), share(before), share(after))
                held = ("yes" if verdict else "no" for verdict in verdicts)
                print(f"| {' | '.join((*cells, *held))} |")


def speed() -> None:
    """Print how long scoring 20,000 pairs of distinct texts takes."""
    parts = simviz.split(simviz.load_demo("pydocs"))
    train, rng = parts.train, np.random.default_rng(0)
    # No two texts are equal, so that nothing is encoded once for many pairs.
    x, y = (
        [f"{texts[i % len(texts)]} {i}" for i in rng.permutation(N_SCORED)]
        for texts in (parts.test.x.content, parts.test.y.content)
    )
    print("| method | seconds | processor seconds |")
    print("|---|---|---|")
    for method in METHODS:
        pipeline = default_pipeline(method, train).fit(train)
        pipeline.score_pairs(x[:100], y[:100])
        wall, busy = time.perf_counter(), time.process_time()
        pipeline.score_pairs(x, y)
        print(
            f"| {method} | {time.perf_counter() - wall:.2f} | {time.process_time() - busy:.2f} |"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["speed"]:
        speed()
    elif len(sys.argv) in (2, 3):
        hold(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) == 3 else 0.01)
    else:
        sys.exit(__doc__)
