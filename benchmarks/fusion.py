"""What CSLS and a blend chosen by validation gain, beside reciprocal rank fusion.

``python benchmarks/fusion.py FOLDER [SET ...]`` prints a row for each set and seed; FOLDER holds
data sets in folders of their own, see `_corpora`. Half of the sets are for choosing defaults.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lexical import DEMOS, parts

import simviz
from simviz.data import PairSet
from simviz.evaluation import compare_evaluations, evaluate
from simviz.pipeline import default_pipeline

CHOOSING = ("emoji", "en_es_docs", "abt_buy")
REPORTED = ("job_titles", "pydocs", "libreoffice_help", "en_es_sentences", "amazon_google")
SEEDS = (0, 1, 2)
MAX_PAIRS = 1_000  # pairs of a set, which each seed draws and splits anew
CHARACTERS = {"analyzer": "char_wb", "ngram_range": (3, 5)}


def drawn(folder: Path, name: str, seed: int) -> tuple[PairSet, simviz.data.Split]:
    """Pairs of a set, and their parts: half for training, a quarter each to choose and to test."""
    if name in DEMOS:
        pairs = simviz.load_demo(name)
        by = "x" if name == "pydocs" else "pair"  # whose documents answer several queries
        return pairs, simviz.split(pairs, by=by, fractions=(0.5, 0.25, 0.25), seed=seed)
    pairs = parts(folder, name)[0]
    at = np.random.default_rng(seed).permutation(len(pairs.x))[:MAX_PAIRS]
    pairs = pairs.take(at, at)
    return pairs, simviz.split(pairs, by="pair", fractions=(0.5, 0.25, 0.25), seed=seed)


def gain(one: Any) -> str:
    """A difference with its paired interval."""
    return f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def main(folder: Path, names: Sequence[str]) -> None:
    """Print the rows, and the means over sets."""
    heads = ("set", "seed", "OPCA", "CSLS", "CSLS, training items", "k")
    heads += ("best single run", "best blend", "gain", "RRF", "blend − RRF", "runs and shares")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    for seed in SEEDS:
        for name in names:
            pairs, split = drawn(folder, name, seed)
            train = split.train
            methods: dict[str, Any] = {"TF-IDF": "tfidf_cosine", "BM25": "bm25", "OPCA": "opca"}
            methods["CCA"] = "cca"
            methods["OPCA, characters"] = default_pipeline("opca", train, features=CHARACTERS)
            result = simviz.compare(pairs, methods, split=split)
            side, metric = result.direction, result.metric
            opca, tested = result.pipelines["OPCA"], result.evaluations()
            scaled = [
                simviz.csls(
                    opca, train, split.validation, queries=queries, metric=metric, direction=side
                )
                for queries in ("given", "training")
            ]
            measured = [
                evaluate(one, split.test, directions=tested["OPCA"].directions) for one in scaled
            ]
            against = [
                compare_evaluations(one, tested["OPCA"], metric, (side,)) for one in measured
            ]
            blended = simviz.blend(result)
            to_single, to_ranks = blended.against.values()
            best, single, ranks = (one.value(metric) for one in blended.evaluations.values())
            cells = (
                *(name, seed, f"{tested['OPCA'].value(metric):.3f}", *map(gain, against)),
                ", ".join(str(one.k) for one in scaled),
                *(f"{single:.3f} {blended.single}", f"{best:.3f}", gain(to_single)),
                *(f"{ranks:.3f}", gain(to_ranks)),
                " + ".join(f"{share:.2g} {run}" for run, share in blended.shares.items()),
            )
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            differences = [one.difference for one in (*against, to_single, to_ranks)]
            found.setdefault(name, []).append(tuple(differences))  # type: ignore[arg-type]
    for title, sets in (("choosing", CHOOSING), ("reported", REPORTED)):
        rows = [np.mean(found[name], axis=0) for name in sets if name in found]
        if rows:
            words = ", ".join(f"{value:+.4f}" for value in np.mean(rows, axis=0))
            print(f"\nMean over {len(rows)} sets ({title}): {words}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), sys.argv[2:] or (*CHOOSING, *REPORTED))
