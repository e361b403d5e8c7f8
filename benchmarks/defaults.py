"""Whether defaults lose to where they start, or on graded sets to TF-IDF.

    python benchmarks/defaults.py FOLDER choose SEEDS    # dev parts of the sets of CHOSEN_ON
    python benchmarks/defaults.py FOLDER report SEEDS    # test parts of the sets of REPORTED
    python benchmarks/defaults.py FOLDER graded dev      # or test: S2Net beside TF-IDF

FOLDER holds data sets in folders of their own: x.jsonl.gz and y.jsonl.gz (id, text),
relevance.tsv.gz (x_id, y_id, grade) and split.tsv.gz (x_id, split).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _corpora import aligned, annotated, demo_icons, table

import simviz
from simviz.data import PairSet, read_collection
from simviz.evaluation import NDCG, evaluate, paired_randomization
from simviz.pipeline import default_pipeline

CHOSEN_ON = ("libreoffice_help", "en_es_sentences", "abt_buy")
REPORTED = ("en_es_docs", "amazon_google", "emoji", "icons", "corel5k")
PAIRS, DIMENSIONS = (500, 1_400, 5_000), (50, 100, 200)
POOL = 1_000
GRADED = ("mediqa_qa", "nfcorpus", "cranfield")


def parts_of(
    folder: Path, name: str, part: str, n: int, seed: int
) -> tuple[PairSet, PairSet] | None:
    """Return n training pairs and the pairs to measure on; None where there are too few."""
    rng = np.random.default_rng(seed)
    if name in ("icons", "corel5k"):
        pairs = demo_icons() if name == "icons" else annotated(folder / name)
        parts = simviz.split(pairs, by="y", seed=seed)
        linked = np.flatnonzero(np.diff(parts.train.relevance.T.matrix.indptr))
        if n > len(linked):
            return None
        return parts.train.take(None, rng.permutation(linked)[:n]), parts.test
    if name == "emoji":
        parts = simviz.split(simviz.load_demo("emoji"), by="pair", seed=0)
        train = parts.train
        if n > len(train.x):
            return None
        keep = rng.permutation(len(train.x))[:n]
        return train.take(keep, keep), parts.test
    texts = aligned(folder / name)
    x, y = texts["train"]
    if n > len(x):
        return None
    keep = rng.permutation(len(x))[:n]
    held = texts[part]
    return (
        PairSet.from_texts([x[i] for i in keep], [y[i] for i in keep]),
        PairSet.from_texts(held[0][:POOL], held[1][:POOL]),
    )


def score(pipeline: Any, held: PairSet, by_map: bool) -> float:
    """Return the MAP of x, or the mean of both directions' MRR."""
    found = evaluate(
        pipeline,
        held.x,
        held.y,
        held.relevance,
        metrics=["MAP" if by_map else "MRR"],
        directions=("x2y", "y2x"),
    )
    return found.value("MAP", "x2y") if by_map else found.value("MRR", "mean")


def main(folder: Path, what: str, seeds: int) -> None:
    """Print a row for each set, number of pairs and number of dimensions."""
    print(
        "| set | pairs | k | OPCA | S2Net | gain (se) | seconds, OPCA | S2Net |\n"
        + "|---" * 8
        + "|"
    )
    for name in CHOSEN_ON if what == "choose" else REPORTED:
        for n in PAIRS:
            for k in DIMENSIONS:
                rows = []
                for seed in range(seeds):
                    found = parts_of(folder, name, "dev" if what == "choose" else "test", n, seed)
                    if found is None:
                        break
                    row = []
                    for method in ("opca", "s2net"):
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            pipeline = default_pipeline(method, found[0], n_components=k)
                            start = time.process_time()
                            pipeline.fit(found[0])
                            row += [time.process_time() - start]
                            row += [score(pipeline, found[1], name in ("icons", "corel5k"))]
                    rows.append(row)
                if not rows:
                    continue
                table = np.array(rows)
                gain = table[:, 3] - table[:, 1]
                error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0
                t0, opca, t1, s2net = table.mean(axis=0)
                print(
                    f"| {name} | {n:,} | {k} | {opca:.3f} | {s2net:.3f} | {gain.mean():+.3f} "
                    f"({error:.3f}) | {t0:.1f} | {t1:.1f} |",
                    flush=True,
                )


def graded(folder: Path, part: str) -> None:
    """Print NDCG@10 of S2Net and TF-IDF: answers judged for a query, or all documents."""
    print("| set | queries | TF-IDF | S2Net | difference (p) | seconds |\n" + "|---" * 6 + "|")
    for name in GRADED:
        pairs = read_collection(folder / name).pairs
        values: dict[str, list[Any]] = {"tfidf_cosine": [], "s2net": []}
        asked, seconds = [], 0.0
        for train, held in divisions(folder / name, pairs, part):
            learned = replace(pairs.take(train), divided="x")
            judged = pairs.take(held)
            asked.append(held)
            for method, found in values.items():
                pipeline = default_pipeline(method, learned)
                start = time.process_time()
                pipeline.fit(learned)
                seconds += (time.process_time() - start) * (method == "s2net")
                measured = evaluate(
                    pipeline, judged.x, judged.y, judged.relevance,
                    metrics=[NDCG(10, gain="linear")], directions=("x2y",),
                )  # fmt: skip
                found.append(measured.per_query(NDCG(10, gain="linear")))
        queries = np.concatenate(asked)
        # A query of several folds counts once, by its mean.
        times = np.bincount(queries)
        tfidf, s2net = (
            (np.bincount(queries, np.concatenate(v)) / np.maximum(times, 1))[times > 0]
            for v in values.values()
        )
        known = ~np.isnan(tfidf)
        test = paired_randomization(s2net[known], tfidf[known])
        print(
            f"| {name} | {known.sum()} | {tfidf[known].mean():.3f} | {s2net[known].mean():.3f} | "
            f"{test.difference:+.3f} ({test.p_value:.3f}) | {seconds:.1f} |",
            flush=True,
        )


def divisions(folder: Path, pairs: PairSet, part: str) -> list[tuple[Any, Any]]:
    """Return the queries to learn from and to measure on; without a split, those of each fold."""
    ids = np.array(pairs.x.ids)
    if (folder / "split.tsv.gz").exists():
        of = dict(map(tuple, table(folder / "split.tsv.gz")))
        parts = np.array([of.get(i, "") for i in ids])
        return [(np.flatnonzero(parts == "train"), np.flatnonzero(parts == part))]
    found = []
    folds = table(folder / "folds.tsv.gz")
    for fold in sorted({number for number, _ in folds}):
        tested = np.isin(ids, [i for number, i in folds if number == fold])
        train, held = np.flatnonzero(~tested), np.flatnonzero(tested)
        if part == "dev":  # some of the training queries
            held, train = train[::5], np.delete(train, np.s_[::5])
        found.append((train, held))
    return found


if __name__ == "__main__":
    if sys.argv[2] == "graded":
        graded(Path(sys.argv[1]), sys.argv[3])
    else:
        main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
