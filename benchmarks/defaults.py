"""Whether defaults lose to where they start.

    python benchmarks/defaults.py FOLDER choose    # dev parts of the sets of CHOSEN_ON
    python benchmarks/defaults.py FOLDER report    # test parts of the sets of REPORTED

Both compare S2Net with OPCA, or what `--method` says with what `--base` says: a method
and its parameters, such as ``--base ssi n_components=100``.

FOLDER holds data sets in folders of their own: x.jsonl.gz and y.jsonl.gz (id, text),
relevance.tsv.gz (x_id, y_id, grade) and split.tsv.gz (x_id, split).
"""

from __future__ import annotations

import argparse
import ast
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _corpora import aligned, annotated, demo_icons

import simviz
from simviz.data import PairSet
from simviz.evaluation import evaluate, paired_t
from simviz.pipeline import default_pipeline

CHOSEN_ON = ("libreoffice_help", "abt_buy", "emoji")
REPORTED = ("en_es_sentences", "en_es_docs", "amazon_google", "icons", "corel5k")
PAIRS, DIMENSIONS = (500, 2_000, 8_000), (100,)
POOL = 1_000


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
        return train.take(keep, keep), parts.validation if part == "dev" else parts.test
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


def measured(
    settings: tuple[str, dict[str, Any]], parts: tuple[PairSet, PairSet], by_map: bool
) -> tuple[list[Any], float]:
    """Return the values of the queries in each direction, and the processor seconds of a fit."""
    train, held = parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = default_pipeline(settings[0], train, **settings[1])
        start = time.process_time()
        pipeline.fit(train)
        seconds = time.process_time() - start
    metric, ways = ("MAP", ("x2y",)) if by_map else ("MRR", ("x2y", "y2x"))
    found = evaluate(
        pipeline, held.x, held.y, held.relevance, metrics=[metric], directions=ways
    )  # fmt: skip
    values = [found.per_query(metric, way) for way in ways]
    return [v[~np.isnan(v)] for v in values], seconds


def main(options: argparse.Namespace) -> None:
    """Print a row for each set, number of pairs and number of dimensions."""
    both = [named(words) for words in (options.base, options.method)]
    names = [" ".join(words) for words in (options.base, options.method)]
    head = ["set", "pairs", "k", *names, "gain [95 %]", "below 0", "seconds", "factor"]
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|", flush=True)
    part = "dev" if options.what == "choose" else "test"
    for name in options.sets or (CHOSEN_ON if part == "dev" else REPORTED):
        by_map = name in ("icons", "corel5k")
        for n in options.pairs:
            drawn = [parts_of(options.folder, name, part, n, i) for i in range(options.seeds)]
            for k in options.dimensions if None not in drawn else ():
                found = [
                    [measured((m, {"n_components": k, **own}), parts, by_map) for parts in drawn]
                    for m, own in both
                ]
                print(row([name, f"{n:,}", str(k)], found), flush=True)


def row(cells: list[str], found: list[list[tuple[list[Any], float]]]) -> str:
    """Put the means, the paired interval of their difference, and seconds into a row."""
    # One value a pair where both directions ask: the mean of these and of all draws of training
    # pairs, as values of one pair hang together; where draws ask other queries, one of each.
    # Beside it, of how many draws and directions the own interval lies wholly below 0.
    asked = [[np.mean(values, axis=0) for values, _ in runs] for runs in found]
    is_same = len({len(values) for values in asked[0]}) == 1
    means = [np.mean(one, axis=0) if is_same else np.concatenate(one) for one in asked]
    whole = paired_t(means[1], means[0])
    own = [
        paired_t(b, a)
        for (values, _), (others, _) in zip(*found, strict=True)
        for a, b in zip(values, others, strict=True)
    ]
    before, after = (np.mean([seconds for _, seconds in runs]) for runs in found)
    return "| " + " | ".join(
        [
            *cells,
            *(f"{mean.mean():.3f}" for mean in means),
            f"{whole.difference:+.3f} [{whole.low:+.3f}, {whole.high:+.3f}]",
            f"{sum(test.high < 0 for test in own)} of {len(own)}",
            f"{before:.1f}, {after:.1f}",
            f"{after / before:.1f} |",
        ]
    )


def named(words: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a method and its parameters, as ``ssi n_components=100`` says them."""
    method, *given = words
    return method, {
        key: ast.literal_eval(value) for key, value in (one.split("=") for one in given)
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", choices=["choose", "report"])
    parser.add_argument("--base", nargs="+", default=["opca"])
    parser.add_argument("--method", nargs="+", default=["s2net"])
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--pairs", nargs="+", type=int, default=PAIRS)
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    parser.add_argument("--seeds", type=int, default=3)
    main(parser.parse_args())
