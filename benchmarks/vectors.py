"""Adapters on sentence vectors beside the plain cosine of the vectors they adapt.

``python benchmarks/vectors.py FOLDER [SET ...]`` prints one row a set; FOLDER holds data sets in
folders of their own, see `_corpora`. Texts are encoded once, by `simviz.features.PretrainedText`,
and kept in ``vectors-*.npz`` of the folder that ``--cache`` names. Each set is split three times.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _corpora import aligned, graded, pool, table
from lexical import ALIGNED, DEMOS, GRADED, POOLED, SCORED, _items, _judged, _titles

import simviz
from simviz.data import Items, PairSet
from simviz.evaluation import compare_evaluations
from simviz.features import PretrainedText
from simviz.relevance import Relevance

#: Choices of defaults were made on these sets; `REPORTED` were measured once they stood.
CHOSEN_ON = ("job_titles", "abt_buy", "esco_titles")
REPORTED = ("onet_titles", "amazon_google", "sts_b_en", "emoji", "en_es_sentences")
#: Of these, which have long texts or many, at most `FEW` items a side are drawn.
LONG = ("pydocs", "pydocs_links", "libreoffice_help", *GRADED, *POOLED)
SEEDS = (0, 1, 2)
QUERIES, CANDIDATES, FEW = 2_000, 2_500, 1_000
METHODS = ("cosine", "ridge_identity", "procrustes", "cca", "opca")


def texts(folder: Path, name: str) -> PairSet:
    """Return the pairs of a set, at most `QUERIES` of them asking."""
    if name in LONG:
        return _few(folder, name)
    if name in DEMOS:
        return simviz.load_demo(name)
    if name in SCORED:
        return _judged(table(folder / name / "pairs.tsv.gz"), "train")
    if name in ALIGNED:
        sides = zip(*aligned(folder / name).values(), strict=True)
        return PairSet.from_texts(*(list(chain.from_iterable(side))[:QUERIES] for side in sides))
    train, test = _titles(folder / name)
    rows = sp.vstack([part.relevance.matrix for part in (train, test)]).tocsr()
    both = _items([*train.x.content, *test.x.content])
    pairs = PairSet(both, train.y, Relevance(rows, unjudged="negative"))
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(pairs.x))[:QUERIES])
    needed = np.unique(pairs.relevance.take(rows).matrix.indices)
    others = rng.permutation(np.setdiff1d(np.arange(len(pairs.y)), needed))
    return pairs.take(rows, np.sort([*needed, *others[: max(0, CANDIDATES - len(needed))]]))


def _few(folder: Path, name: str) -> PairSet:
    """Return at most `FEW` candidates, drawn at random, and as many queries that have one."""
    if name in DEMOS:
        pairs = simviz.load_demo(name)
    elif name in ALIGNED:
        sides = zip(*aligned(folder / name).values(), strict=True)
        pairs = PairSet.from_texts(*(list(chain.from_iterable(side)) for side in sides))
    elif name in GRADED:
        parts = graded(folder / name, None, None).values()
        queries, candidates, relevance = max(parts, key=lambda part: len(part[0]))
        pairs = PairSet(_items(queries), _items(candidates), relevance)
    else:
        queries, candidates, relevance = pool(folder / name)
        pairs = PairSet(_items(queries), _items(candidates), relevance)
    rng = np.random.default_rng(0)
    columns = np.sort(rng.permutation(len(pairs.y))[:FEW])
    asked = np.flatnonzero(np.diff(pairs.relevance.take(None, columns).positives.indptr))
    return pairs.take(np.sort(rng.permutation(asked)[:FEW]), columns)


def vectors(folder: Path, name: str, cache: Path) -> PairSet:
    """Return the same pairs with sentence vectors as items."""
    pairs, kept = texts(folder, name), cache / f"vectors-{name}.npz"
    if kept.exists():
        with np.load(kept, allow_pickle=False) as found:
            X, Y = found["x"], found["y"]
    else:
        encoder = PretrainedText().fit(["a text"])
        X, Y = (encoder.transform(list(side.content)) for side in (pairs.x, pairs.y))
        np.savez(kept, x=X, y=Y)
    x, y = (
        Items(side.ids, Z, "vector", side.metadata) for side, Z in ((pairs.x, X), (pairs.y, Y))
    )
    return replace(pairs, x=x, y=x if pairs.y is pairs.x else y)


def measure(pairs: PairSet) -> Iterator[tuple[list[float], Any]]:
    """Yield of each split the value of every method, and what the best adds to the cosine."""
    for seed in SEEDS:
        result = simviz.compare(pairs, list(METHODS), seed=seed)
        found = result.evaluations()
        values = [found[name].value(result.metric) for name in METHODS]
        best = result.names[0]
        gain = None
        if best != "cosine":
            gain = compare_evaluations(
                found[best], found["cosine"], result.metric, [result.direction]
            )
        yield values, (best, gain)


def main() -> None:
    """Print a row for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", default=[*CHOSEN_ON, *REPORTED, *LONG])
    parser.add_argument("--cache", type=Path, default=Path())
    options = parser.parse_args()
    head = ["set", *METHODS, "best on validation", "its gain, by split"]
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|", flush=True)
    for name in options.sets:
        found = list(measure(vectors(options.folder, name, options.cache)))
        means = np.mean([values for values, _ in found], axis=0)
        bests = ", ".join(dict.fromkeys(best for _, (best, _) in found))
        gains = ", ".join(
            "0" if gain is None else f"{gain.difference:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
            for _, (_, gain) in found
        )
        print(
            f"| {name} | {' | '.join(f'{m:.3f}' for m in means)} | {bests} | {gains} |", flush=True
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
