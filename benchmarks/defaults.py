"""Whether defaults lose to where they start, or on graded sets to TF-IDF.

    python benchmarks/defaults.py FOLDER choose    # dev parts of the sets of CHOSEN_ON
    python benchmarks/defaults.py FOLDER report    # test parts of the sets of REPORTED
    python benchmarks/defaults.py FOLDER graded dev    # or test: S2Net beside TF-IDF
    python benchmarks/defaults.py FOLDER cost SET    # seconds, with fixed settings and defaults

The first two compare S2Net with OPCA, or what `--method` says with what `--base` says: a method
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
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _corpora import aligned, annotated, demo_icons, table

import simviz
from simviz.data import PairSet, read_collection
from simviz.evaluation import NDCG, evaluate, paired_randomization, paired_t
from simviz.pipeline import default_pipeline

CHOSEN_ON = ("libreoffice_help", "abt_buy", "emoji")
REPORTED = ("en_es_sentences", "en_es_docs", "amazon_google", "icons", "corel5k")
PAIRS, DIMENSIONS = (500, 2_000, 8_000), (100,)
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


def costs(folder: Path, name: str) -> None:
    """Print what is chosen by held-out pairs costs, beside the same with a fixed setting."""
    texts, offers = (
        parts_of(folder, name, "dev", 2_000, 0),
        parts_of(folder, "abt_buy", "dev", 500, 0),
    )
    assert texts is not None and offers is not None
    (train, held), (words, _) = texts, offers
    lsa = default_pipeline("lsa", train, n_components=300).fit(train)
    vectors = simviz.from_frame(x=lsa.transform(train.x), y=lsa.transform_y(train.y)).pairs
    fixed = {"learning_rate": 0.1, "validation_fraction": 0.0, "max_iter": 8}
    closed: dict[str, Any] = {"features": {"n_unseen": 0, "tf": "raw"}}
    k = {"n_components": 100}
    opca = default_pipeline("opca", train, n_components=100).fit(train)
    result = simviz.compare(train, ["tfidf_cosine", "bm25", "opca", "cca"])

    def fitted(method: str, pairs: PairSet, **params: Any) -> Callable[[], Any]:
        pipeline = default_pipeline(method, pairs, **params)
        return lambda: pipeline.fit(pairs)

    def ranked(pipeline: Callable[[], Any], on: PairSet = held) -> Callable[[], object]:
        return lambda: evaluate(pipeline(), on.x, on.y, on.relevance, metrics=["MRR"])

    rows = {
        "S2Net: 8 passes; as many as held-out pairs say": (
            fitted("s2net", train, **k, **fixed), fitted("s2net", train, **k)
        ),
        "OPCA on vectors: ridge 1; chosen of 5": (
            fitted("opca", vectors, **k, regularization=1.0), fitted("opca", vectors, **k)
        ),
        "SSI: 50 passes; as many as held-out pairs say": (
            fitted("ssi", train, **k, validation_fraction=0.0), fitted("ssi", train, **k)
        ),
        "SSI: 100 factors; 200": (fitted("ssi", train, **k), fitted("ssi", train)),
        "TF-IDF, fitted and measured: closed vocabulary, raw counts; open": (
            ranked(fitted("tfidf_cosine", train, **closed)),
            ranked(fitted("tfidf_cosine", train)),
        ),
        "BM25, fitted and measured: closed, as in the paper; open, two documents": (
            ranked(fitted("bm25", train, preset="paper", **closed)),
            ranked(fitted("bm25", train)),
        ),
        "heterogeneous SVD of shared words: two maps; one": (
            fitted("heterogeneous_svd", words, **k, shared=False),
            fitted("heterogeneous_svd", words, **k),
        ),
        "PAMIR of shared words: two vocabularies; one, from the identity": (
            fitted("pamir", words, shared=False), fitted("pamir", words)
        ),
        "CCA on vectors, fitted and measured; their cosine besides": (
            ranked(fitted("cca", vectors, **k), vectors),
            ranked(fitted("cosine", vectors), vectors),
        ),
        "OPCA measured; k of CSLS chosen, and measured": (
            ranked(lambda: opca), ranked(lambda: simviz.csls(opca, train, held))
        ),
        "four runs fitted and measured; blended besides": (
            lambda: simviz.compare(train, ["tfidf_cosine", "bm25", "opca", "cca"]).evaluations(),
            lambda: simviz.blend(result),
        ),
    }  # fmt: skip
    print("| what | seconds before | after | factor |\n|---|---|---|---|")
    for what, both in rows.items():
        taken: list[list[float]] = [[], []]
        for _ in range(2):  # the first time libraries are loaded
            for action, seconds in zip(both, taken, strict=True):
                start = time.process_time()
                action()
                seconds.append(time.process_time() - start)
        before, after = map(min, taken)
        after += before * ("besides" in what)
        print(f"| {what} | {before:.2f} | {after:.2f} | {after / before:.1f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", choices=["choose", "report", "graded", "cost"])
    parser.add_argument("part", nargs="?", help="of graded sets; the set of cost")
    parser.add_argument("--base", nargs="+", default=["opca"])
    parser.add_argument("--method", nargs="+", default=["s2net"])
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--pairs", nargs="+", type=int, default=PAIRS)
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    if given.what == "graded":
        graded(given.folder, given.part or "dev")
    elif given.what == "cost":
        costs(given.folder, given.part or "libreoffice_help")
    else:
        main(given)
