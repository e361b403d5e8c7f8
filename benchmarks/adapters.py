"""What learning on one's own pairs adds to a pretrained sentence encoder.

``python benchmarks/adapters.py --data FOLDER`` with a folder of aligned texts
(see `_corpora.aligned`) or of scored pairs (``pairs.tsv.gz``: split, score,
x_text, y_text). Linear methods are trained on the vectors of the encoder;
k and the regularisation are chosen on the dev part.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _corpora import aligned
from ground import show
from numpy.typing import NDArray
from scipy.stats import spearmanr

from simviz.evaluation import evaluate
from simviz.features import PretrainedText, Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

DIMENSIONS = (8, 16, 32, 64, 128, 256, 384)
REGULARIZATIONS = (0.01, 0.1, 1.0, 10.0, 100.0)
RELEVANT, IRRELEVANT = 4.0, 2.0  # of scores from 0 to 5
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Part:
    """Vectors of both sides, and what belongs together: scores of rows, or a relevance."""

    X: Any
    Y: Any
    relevance: Relevance
    scores: NDArray[np.float64] | None = None

    def quality(self, model: Any) -> float:
        """Spearman's correlation with the scores, else MRR of both directions."""
        if self.scores is None:
            return float(evaluate(model, self.X, self.Y, metrics=["MRR"]).value("MRR", "mean"))
        return float(spearmanr(model.pair_score(self.X, self.Y), self.scores).statistic)


def scored(folder: Path) -> dict[str, tuple[list[str], list[str], NDArray[np.float64]]]:
    """Texts of both sides and scores, a row a pair."""
    with gzip.open(folder / "pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    found = {}
    for name in ("train", "dev", "test"):
        mine = [row for row in rows if row[0] == name]
        scores = np.array([float(row[1]) for row in mine])
        found[name] = ([row[2] for row in mine], [row[3] for row in mine], scores)
    return found


def _judged(scores: NDArray[np.float64]) -> Relevance:
    """Rows that mean the same, and rows that do not; those between are not judged."""
    labels = np.where(scores >= RELEVANT, 1.0, np.where(scores <= IRRELEVANT, -1.0, 0.0))
    matrix = sp.diags_array(labels).tocsr()
    matrix.eliminate_zeros()
    return Relevance(matrix, unjudged="ignore")


def _models(train: Part, dev: Part) -> Iterator[tuple[str, str, Any]]:
    """Method, settings and a fitted model of as many dimensions as there are."""
    width = train.X.shape[1]
    for shared in (True, False):
        words = "one matrix" if shared else "two"
        for method in ("cca", "opca"):
            for value in REGULARIZATIONS:
                model = get_method(method)(width, shared=shared, regularization=value)
                fitted = model.fit(train.X, train.Y, train.relevance)
                yield method, f"{words}, regularization {value:g}", fitted
        for k in DIMENSIONS:
            model = get_method("s2net")(k, shared=shared, init="pca" if shared else "opca")
            watched = {"X_val": dev.X, "y_val": dev.Y, "relevance_val": dev.relevance}
            fitted = model.fit(train.X, train.Y, train.relevance, **watched)
            yield "s2net", f"{words}, init {model.init}", fitted
    model = get_method("heterogeneous_svd")(width)
    yield "heterogeneous_svd", "two", model.fit(train.X, train.Y, train.relevance)


def compare(parts: dict[str, Part], words: dict[str, Part], metric: str) -> None:
    """One table: the raw encoder, words, and every adapter at every dimension."""
    train, dev, test = parts["train"], parts["dev"], parts["test"]
    rows = []
    for name, which in (("tfidf_cosine", words), ("cosine", parts)):
        model = get_method(name)().fit(which["train"].X, which["train"].Y)
        width = which["train"].X.shape[1]
        rows.append((name, "", width, which["dev"].quality(model), which["test"].quality(model)))
    raw = rows[-1][-1]
    best: dict[tuple[str, int], tuple[str, str, int, float, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer directions than asked are fine
        for method, settings, model in _models(train, dev):
            known = model.n_components_
            nested = model.tags.nested
            for k in [k for k in DIMENSIONS if k <= known] if nested else [known]:
                small = model.truncate(k) if nested else model
                row = (method, settings, k, dev.quality(small), test.quality(small))
                if row[3] > best.get((method, k), (0, 0, 0, -2.0))[3]:
                    best[method, k] = row
    rows += [best[key] for key in sorted(best)]
    show(
        ("method", "setting chosen on dev", "k", f"dev {metric}", f"test {metric}", "test − raw"),
        [(*row, row[-1] - raw) for row in rows],
    )


def main() -> None:
    """Read a folder, encode its texts, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--train", type=int, default=None, help="training pairs; default all")
    parser.add_argument("--pool", type=int, default=None, help="pairs of dev and test")
    parser.add_argument("--cache", type=Path, default=None, help="npz file to keep vectors in")
    options = parser.parse_args()
    limit = {"train": options.train, "dev": options.pool, "test": options.pool}
    if (options.data / "pairs.tsv.gz").exists():
        texts: dict[str, tuple[Any, ...]] = {n: s[:3] for n, s in scored(options.data).items()}
        metric = "Spearman"
    else:
        texts = {n: (*sides, None) for n, sides in aligned(options.data).items()}
        metric = "MRR"
    texts = {n: tuple(None if s is None else s[: limit[n]] for s in texts[n]) for n in limit}
    encoded = _encoded(texts, options.cache)
    both = Tfidf(tf="log1p").fit([*texts["train"][0], *texts["train"][1]])
    parts, words = {}, {}
    for name, (x, y, scores) in texts.items():
        told = Relevance.identity(len(x)) if scores is None else _judged(scores)
        parts[name] = Part(encoded[f"x_{name}"], encoded[f"y_{name}"], told, scores)
        words[name] = Part(both.transform(x), both.transform(y), told, scores)
    n_train, n_test = len(texts["train"][0]), len(texts["test"][0])
    print(f"{options.data.name}: {n_train:,} training pairs, {n_test:,} test pairs.\n")
    compare(parts, words, metric)


def _encoded(texts: dict[str, tuple[Any, ...]], cache: Path | None) -> dict[str, Vectors]:
    if cache is not None and cache.exists():
        with np.load(cache, allow_pickle=False) as arrays:
            return dict(arrays)
    encoder = PretrainedText().fit(["a text"])
    found = {}
    for name, (x, y, _) in texts.items():
        found |= {f"x_{name}": encoder.transform(x), f"y_{name}": encoder.transform(y)}
    if cache is not None:
        np.savez(cache, **found)
    return found


if __name__ == "__main__":
    main()
