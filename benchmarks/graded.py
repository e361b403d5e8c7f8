"""Print who beats TFIDF on graded query-document pairs, with the tests of the papers.

``python benchmarks/graded.py --data FOLDER [--only METHOD ...] [--cache FOLDER] [--small]``.
A folder holds ``x.jsonl.gz`` and ``y.jsonl.gz`` (id, text), ``relevance.tsv.gz``
(x_id, y_id, grade) and ``split.tsv.gz`` (x_id, split). Queries are divided, documents are
not: their texts, but none of the judgments of dev and test queries, are known to all
methods. Settings are chosen on dev queries by the mean of NDCG@1, @3 and @5. With
--cache, scores are kept in a folder and found there again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import scipy.sparse as sp
from _corpora import _table, _texts
from ground import show
from numpy.typing import NDArray

from simviz.evaluation import (
    AUC,
    NDCG,
    Evaluation,
    compare_all,
    evaluate,
    paired_randomization,
    paired_t,
    partitioned_auc_t,
    queries_needed,
)
from simviz.evaluation.verdict import ALPHA
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

Scores = NDArray[np.float32]
Both = tuple[Scores, Scores]  # of dev and of test queries
Params = dict[str, Any]

DEPTHS = (1, 3, 5)
CORRECT = 2  # grades that count in the stricter AUC
SEED = 0
BLENDS = np.linspace(0, 1, 21)
_TOPICS = {"n_components": (50, 100), "measure": ("js", "cosine")}
LARGEST = 1000
_SPECTRAL = {"n_components": (50, 100, 200, 300, 500, LARGEST)}
#: Values that are tried; the last of nested methods' dimensions are fitted, the others cut.
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "bm25": {"k1": (0.9, 1.2, 2.0), "b": (0.4, 0.75, 1.0)},
    "lsa": _SPECTRAL,
    "pca": _SPECTRAL,
    "opca": {"regularization": (0.1, 1.0, 10.0), "n_components": (100, 200, 500)},
    "cca": {"regularization": (0.3, 1.0, 10.0), "n_components": (100, 200, 500)},
    "cl_lsi": _SPECTRAL,
    "plsa": _TOPICS,
    "jplsa": _TOPICS,
    "cplsa": _TOPICS,
    "hdlr": {"n_components": (100, 300)},
    "s2net": {"n_components": (300, 600)},
}
_FIXED: dict[str, Params] = {
    "s2net": {"loss": "logistic", "direction": "x2y", "max_iter": 30, "patience": 5},
}
_NAMES = {"tfidf_cosine": "TFIDF", "bm25": "BM25", "lsa": "LSA", "pca": "PCA"}


class Given:
    """Scores that are known already."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores

    def iter_similarity(
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[Scores]:
        """All of them at once."""
        yield self.scores


@dataclass(frozen=True)
class Task:
    """Queries in three parts, and the documents of all.

    Parameters
    ----------
    name : str
        Of the folder.
    x : dict of str to list of str
        Queries of "train", "dev" and "test".
    y : list of str
        Documents.
    judged : dict of str to Relevance
        Grades of each part.
    """

    name: str
    x: dict[str, list[str]]
    y: list[str]
    judged: dict[str, Relevance]

    @classmethod
    def read(cls, folder: Path, *, small: bool) -> Task:
        """Read a folder; a small one has a tenth of the training queries."""
        x, y = (_texts(folder / f"{side}.jsonl.gz") for side in "xy")
        row, column = ({name: i for i, name in enumerate(side)} for side in (x, y))
        table = _table(folder / "relevance.tsv.gz")
        places = ([row[a] for a, _, _ in table], [column[b] for _, b, _ in table])
        grades = np.array([float(grade) for *_, grade in table])
        relevance = Relevance(sp.csr_array((grades, places), shape=(len(x), len(y))))
        rows: dict[str, list[int]] = {"train": [], "dev": [], "test": []}
        for name, part in _table(folder / "split.tsv.gz"):
            rows[part].append(row[name])
        if small:
            rows["train"] = rows["train"][::10]
        texts = list(x.values())
        return cls(
            folder.name,
            {part: [texts[i] for i in chosen] for part, chosen in rows.items()},
            list(y.values()),
            {part: relevance.take(np.array(chosen)) for part, chosen in rows.items()},
        )

    def vectors(self, features: TextCounts) -> tuple[dict[str, sp.csr_array], sp.csr_array]:
        """Queries of each part and documents, in one vocabulary."""
        features.fit(self.x["train"] + self.y)
        x = {part: features.transform(texts) for part, texts in self.x.items()}
        return x, features.transform(self.y)


@dataclass(frozen=True)
class Measured:
    """A method with the settings chosen on dev, on test queries."""

    name: str
    settings: str
    dev: float
    scores: Both
    result: Evaluation


class Bench:
    """Fits, scores and chooses.

    Parameters
    ----------
    task : Task
        The data.
    cache : Path or None
        Where scores are kept.
    """

    def __init__(self, task: Task, cache: Path | None) -> None:
        self.task, self.cache = task, cache
        self.fitted: dict[str, Any] = {}
        tried = {
            tf: task.vectors(Tfidf(tf=tf, stop_words="english")) for tf in ("raw", "log1p", "log2")
        }
        counts = task.vectors(TextCounts(stop_words="english"))
        cosine = {tf: self._dot(*vectors) for tf, vectors in tried.items()}
        best = max(cosine, key=lambda tf: self.quality(cosine[tf][0], "dev"))
        self.vectors = {"tfidf": tried[best], "counts": counts}
        self.tfidf = self.measured("TFIDF", f"tf={best}", cosine[best])

    def quality(self, scores: Scores, part: str) -> float:
        """Mean of NDCG at the depths."""
        result = ranked(scores, self.task.judged[part], with_auc=False)
        return float(np.mean([result.value(NDCG(k)) for k in DEPTHS]))

    def measured(self, name: str, settings: str, scores: Both) -> Measured:
        """Rank the test queries."""
        result = ranked(scores[1], self.task.judged["test"])
        return Measured(name, settings, self.quality(scores[0], "dev"), scores, result)

    def chosen(self, method: str) -> Measured:
        """The best on dev of a method's settings."""
        grid = GRIDS[method]
        tried: list[tuple[float, Params, Both]] = []
        for values in product(*grid.values()):
            params = dict(zip(grid, values, strict=True))
            scores = self.scores(method, params)
            tried.append((self.quality(scores[0], "dev"), params, scores))
            print(f"{method} {params}: dev {tried[-1][0]:.4f}", file=sys.stderr, flush=True)
        _, params, scores = max(tried, key=lambda one: one[0])
        told = ", ".join(
            f"{'k' if name == 'n_components' else name}={value}" for name, value in params.items()
        )
        title = _NAMES.get(method) or get_method(method).tags.title
        return self.measured(title, told, scores)

    def blended(self, one: Measured) -> Measured:
        """Mixed with TFIDF; the weight is chosen on dev."""
        dev = one.scores[0], self.tfidf.scores[0]
        alpha = max(BLENDS, key=lambda a: self.quality(_mix(a, *dev), "dev"))
        test = _mix(alpha, one.scores[1], self.tfidf.scores[1])
        name = f"{one.name} + TFIDF"
        return self.measured(name, f"α={alpha:.2f}", (_mix(alpha, *dev), test))

    def scores(self, method: str, params: Params) -> Both:
        """Similarities of dev and test queries with all documents."""
        told = "-".join(f"{name}={value}" for name, value in params.items())
        kept = self.cache and self.cache / f"{self.task.name}-{method}-{told}.npz"
        if kept and kept.exists():
            with np.load(kept) as found:
                return found["dev"], found["test"]
        model = self.model(method, params)
        x, y = self.vectors_for(model)
        dev, test = (np.asarray(model.similarity(x[p], y), np.float32) for p in ("dev", "test"))
        if kept:
            np.savez(kept, dev=dev, test=test)
        return dev, test

    def vectors_for(self, model: Any) -> tuple[dict[str, sp.csr_array], sp.csr_array]:
        """What a method takes: counts of terms, or weights."""
        return self.vectors["counts" if model.tags.input == "counts" else "tfidf"]

    def model(self, method: str, params: Params) -> Any:
        """A fitted model; cut from a larger one where that is the same."""
        cls = get_method(method)
        late = ("n_components",) if cls.tags.nested else ("measure",)
        early = {name: value for name, value in params.items() if name not in late}
        if cls.tags.nested:
            early["n_components"] = GRIDS[method]["n_components"][-1]
        key = f"{method} {early}"
        if key not in self.fitted:
            usual = {"shared": True, "random_state": SEED, **_FIXED.get(method, {})}
            if method in ("s2net", "hdlr"):
                usual["init"] = self.model("pca", {"n_components": LARGEST})
            known = cls._get_param_names()
            told = {name: value for name, value in usual.items() if name in known}
            self.fitted[key] = self._fit(cls(**told, **early))
        model = self.fitted[key]
        if cls.tags.nested:
            return model.truncate(min(params["n_components"], model.n_components_))
        return model.set_params(**{n: v for n, v in params.items() if n in late})

    def _fit(self, model: Any) -> Any:
        x, y = self.vectors_for(model)
        data = [x["train"], y, self.task.judged["train"]]
        if hasattr(model, "patience"):
            data += [x["dev"], y, self.task.judged["dev"]]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
            return model.fit(*data)

    @staticmethod
    def _dot(x: Mapping[str, sp.csr_array], y: sp.csr_array) -> Both:
        dev, test = ((x[part] @ y.T).toarray() for part in ("dev", "test"))
        return dev, test


def _mix(alpha: float, learned: Scores, tfidf: Scores) -> Scores:
    return np.asarray(alpha * learned + (1 - alpha) * tfidf, dtype=np.float32)


def ranked(scores: Scores, judged: Relevance, *, with_auc: bool = True) -> Evaluation:
    """Rank documents for queries, in the pool that the judgments allow."""
    empty = np.zeros((scores.shape[0], 1)), np.zeros((scores.shape[1], 1))
    metrics = [NDCG(k) for k in DEPTHS] + ([AUC()] if with_auc else [])
    return evaluate(Given(scores), *empty, judged, metrics, directions=["x2y"])


def pairs(scores: Scores, judged: Relevance, least: int) -> tuple[Any, Any, Any]:
    """Score of each pair that counts, whether its grade is high enough, its query."""
    if judged.unjudged == "negative":
        grade = judged.matrix.toarray()
        query = np.repeat(np.arange(grade.shape[0]), grade.shape[1])
        return scores.ravel(), grade.ravel() >= least, query
    matrix = judged.matrix
    query = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return scores[query, matrix.indices], matrix.data >= least, query


def dcg(result: Evaluation, judged: Relevance, k: int) -> NDArray[np.float64]:
    """Discounted cumulative gain, not divided by the best possible."""
    ideal = np.full(judged.shape[0], np.nan)
    for i, (start, stop) in enumerate(
        np.stack([judged.matrix.indptr[:-1], judged.matrix.indptr[1:]]).T
    ):
        grades = np.sort(np.maximum(judged.matrix.data[start:stop], 0))[::-1][:k]
        ideal[i] = ((2**grades - 1) / np.log2(np.arange(len(grades)) + 2)).sum()
    return result.per_query(NDCG(k)) * ideal


def report(task: Task, rows: list[Measured]) -> None:
    """Print values, tests against the first row, and who cannot be told apart."""
    judged, base = task.judged["test"], rows[0]
    values = {row.name: row.result.per_query(NDCG(5)) for row in rows}
    letters = compare_all(values).letters()
    against = compare_all(values, baseline=base.name)
    pool = "all documents" if judged.unjudged == "negative" else "judged documents"
    print(
        f"{task.name}: {len(task.x['train']):,} training, {len(task.x['dev'])} dev and "
        f"{judged.shape[0]} test queries, {len(task.y):,} documents; pool: {pool}.\n"
    )
    strict = {row.name: partition(row, row, judged, CORRECT)[1] for row in rows}
    show(
        ("method", "chosen on dev", "dev", "AUC", f"AUC, grade ≥ {CORRECT}",
         *(f"NDCG@{k}" for k in DEPTHS), "NDCG@5 level with"),
        [
            (row.name, row.settings, row.dev, row.result.value("AUC"), strict[row.name],
             *(row.result.value(NDCG(k)) for k in DEPTHS), letters[row.name])
            for row in rows
        ],
    )  # fmt: skip
    tests = []
    for row in rows[1:]:
        auc, _ = partition(row, base, judged, 1)
        dcgs = [paired_t(*(dcg(one.result, judged, k) for one in (row, base))) for k in DEPTHS]
        by_query = paired_randomization(
            *(one.result.per_query("AUC (by query)") for one in (row, base))
        )
        ndcg = against.between(row.name, base.name)
        tests.append(
            (row.name, told(auc), *map(told, dcgs), told(by_query), told(ndcg),
             " / ".join(map(str, ndcg.outcomes or ())))
        )  # fmt: skip
    show(
        ("against TFIDF", "AUC, t over 50 subsets", *(f"DCG@{k}, t" for k in DEPTHS),
         "AUC by query, randomisation", "NDCG@5, randomisation, Holm", "wins / ties / losses"),
        tests,
    )  # fmt: skip
    for row in rows[1:]:
        print(f"- {against.between(row.name, base.name).in_words(row.name, base.name, 'NDCG@5')}.")
        plan = queries_needed(values[row.name], values[base.name], alpha=ALPHA / len(rows[1:]))
        if not plan.separated:
            print(f"  Here {plan.in_words(row.name, base.name)}.")


def partition(a: Measured, b: Measured, judged: Relevance, least: int) -> tuple[Any, float]:
    """The t-test over disjoint subsets of queries, and the AUC of all pairs of the first."""
    from simviz.evaluation import Roc

    first, relevant, query = pairs(a.scores[1], judged, least)
    second = first if a is b else pairs(b.scores[1], judged, least)[0]
    found = partitioned_auc_t(first, second, relevant, query=query, random_state=SEED)
    return found, Roc.from_scores(first, relevant).auc


def told(found: Any) -> str:
    """Difference and p-value."""
    p = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".lstrip("0")
    return f"{found.difference:+.3f} ({p})".replace("-", "−")


def table(task: Task, methods: Iterable[str], cache: Path | None) -> None:
    """Measure the methods, and the blends of two of them."""
    bench = Bench(task, cache)
    rows = [bench.tfidf]
    for method in methods:
        rows.append(bench.chosen(method))
        if method in ("pca", "s2net"):
            rows.append(bench.blended(rows[-1]))
    report(task, rows)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of a data set")
    parser.add_argument("--only", nargs="+", choices=[*GRIDS], default=[*GRIDS], help="methods")
    parser.add_argument("--cache", type=Path, help="folder for scores, to go on with later")
    parser.add_argument("--small", action="store_true", help="shrunk sizes: does it run?")
    asked = parser.parse_args()
    if asked.small:
        for grid in GRIDS.values():
            if "n_components" in grid:
                grid["n_components"] = (20,)
    if asked.cache:
        asked.cache.mkdir(parents=True, exist_ok=True)
    table(Task.read(asked.data, small=asked.small), asked.only, asked.cache)


if __name__ == "__main__":
    main()
