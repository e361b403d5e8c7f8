"""Which kernels heterogeneous SVD takes, what PAMIR keeps, and what a network is said to cost."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _corpora import aligned, annotated

import simviz
from simviz.data import PairSet
from simviz.jobs import estimate

MOST = {"train": 1_400, "dev": 500, "test": 500}
RBF = {"x_kernel": "rbf", "y_kernel": "rbf"}
WORKS = (
    ("linear form", "heterogeneous_svd", {}),
    ("RBF on both sides", "kernel_heterogeneous_svd", RBF),
    ("kernels chosen", "kernel_heterogeneous_svd", {}),
    ("PAMIR", "pamir", {}),
    ("PAMIR, 64 MB", "pamir", {"max_memory": 64}),
)


def parts(folder: Path) -> dict[str, PairSet]:
    """Training, validation and test pairs."""
    if folder.name == "corel5k":
        pairs = annotated(folder)
        given = pairs.y.metadata["split"]
        train, held = np.split(
            np.random.default_rng(0).permutation(np.flatnonzero(given == "train")), [4_000]
        )
        rows = np.arange(len(pairs.x))
        found = {"train": train, "dev": held, "test": np.flatnonzero(given == "test")}
        return {name: pairs.take(rows, np.sort(at)) for name, at in found.items()}
    made = {}
    for name, (x, y) in aligned(folder).items():
        rng = np.random.default_rng(0)
        at = np.sort(rng.permutation(len(x))[: MOST[name]])
        made[name] = PairSet.from_texts([x[i] for i in at], [y[i] for i in at])
    return made


def quality(folders: list[Path], part: str) -> None:
    """MAP of both directions, and seconds of the processor for the fit."""
    print("| set | method | MAP x to y | y to x | seconds | kept |\n|---|---|---|---|---|---|")
    for folder in folders:
        pairs = parts(folder)
        for label, method, params in WORKS:
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                pipeline = simviz.default_pipeline(method, pairs["train"], **params)
                pipeline.fit(pairs["train"])
            seconds = time.process_time() - began
            held = pairs[part]
            result = simviz.evaluate(pipeline, held.x, held.y, held.relevance)
            values = [f"{result.value('MAP', way):.3f}" for way in ("x2y", "y2x")]
            model = pipeline.model_
            kept = [getattr(model, f"{side}_kernel_", "") for side in "xy"]
            if method == "pamir":
                kept = [str(n) for n in model.weights_.shape]
            row = [folder.name, label, *values, f"{seconds:.1f}", " × ".join(filter(None, kept))]
            print("| " + " | ".join(row) + " |", flush=True)


def cost(length: int, n: int, passes: int, rounds: int) -> None:
    """What training the network is said to cost beside what its passes take."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(500)]
    texts = [" ".join(rng.choice(words, length // 7)) for _ in range(2 * n)]
    pairs = PairSet.from_texts(texts[:n], texts[n:])
    pipeline = simviz.default_pipeline(
        "siamese_blstm", pairs, shared=False, max_iter=passes, patience=passes
    )
    said, took = [], []
    for _ in range(rounds):
        said.append(estimate("siamese_blstm", pairs, {"shared": False}).seconds)
        began = time.perf_counter()
        pipeline.fit(pairs)
        took.append((time.perf_counter() - began) / passes)
    # Of a job, seven tenths are trained on, and half of the 100 passes are made.
    expected = [0.7 * 50 * seconds for seconds in took]
    print(f"{n} pairs of {length} characters, said: " + ", ".join(f"{s:.0f} s" for s in said))
    print("35 times a pass of all pairs: " + ", ".join(f"{s:.0f} s" for s in expected))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["quality", "cost"])
    parser.add_argument(
        "--data", type=Path, nargs="*", default=[], help="folders, see _corpora.py"
    )
    parser.add_argument("--part", default="test", choices=["dev", "test"])
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=1_400)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.what == "quality":
        quality(given.data, given.part)
    else:
        cost(given.length, given.pairs, given.passes, given.rounds)
