"""Tables 2 and 3 and figure 3 of Yih et al. (2011): which text suits a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._types import Ints, Reals
from simviz.data.pairs import PairSet
from simviz.evaluation import AUC, NDCG, Comparison, Evaluation
from simviz.evaluation.significance import paired_randomization, paired_t, partitioned_auc_t
from simviz.experiments._bench import Bench, Point, best, best_by_size, letters
from simviz.experiments._claims import Judge, tests_of
from simviz.experiments._experiment import Experiment, Grid, RunResult, Size, graded, two_texts
from simviz.experiments._findings import Cell, Figure, Series, Table
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

#: Depths of NDCG, as in the paper.
DEPTHS = (1, 3, 5)
#: Metadata column of queries with what an outside search said about them.
SNIPPETS = "snippets"
_PLAIN = "tfidf_cosine"
#: Methods that start from PCA in as many dimensions as any has.
_STARTED: Mapping[str, Mapping[str, Any]] = {
    "hdlr": {},
    "s2net": {"direction": "x2y", "max_iter": 30, "patience": 5},
}
#: Methods of table 3, which has them by dimensions.
_BY_SIZE = ("s2net", "pca", "hdlr", "cplsa")
_WEIGHTINGS = ("raw", "log1p", "log2")
#: Points of a drawn curve.
_DRAWN = 200
#: Part of the ROC that the paper draws.
LOW_FPR = 0.25
_METRICS = ("AUC", *(f"NDCG@{k}" for k in DEPTHS))


class Graded(Bench):
    """Queries and documents as vectors, and methods fitted to them."""

    # Texts of all documents, but none of the judgments of validation and test queries, are known
    # to all methods, in one vocabulary.

    def __init__(self, parts: Parts, seed: int) -> None:
        super().__init__([NDCG(k) for k in DEPTHS], _quality, ("x2y",), seed, late=[AUC()])
        self.start: Any = None
        texts = parts.each(with_snippets)

        def weighed(tf: str) -> Point:
            vectors = texts.in_one_vocabulary(Tfidf(tf=tf, stop_words="english"))
            return self.points(_PLAIN, {}, vectors, Progress(), f"tf {tf}")[0]

        self.plain = best(map(weighed, _WEIGHTINGS))
        self.counts = texts.in_one_vocabulary(TextCounts(stop_words="english"))

    def tried(self, method: str, grid: Grid, progress: Progress) -> list[Point]:
        """A method with every setting of its grid."""
        if method == _PLAIN:
            return [self.plain]
        fixed = {**_STARTED[method], "init": self.start} if method in _STARTED else {}
        counts = get_method(method).tags.input == "counts"
        parts = self.counts if counts else self.plain.parts
        found = self.points(method, grid, parts, progress, **fixed)
        if method == "pca":
            self.start = max(found, key=lambda point: point.k).model
        return found


def _quality(result: Evaluation) -> float:
    """Mean of NDCG at the depths."""
    return float(np.mean([result.value(NDCG(k)) for k in DEPTHS]))


def with_snippets(pairs: PairSet) -> PairSet:
    """Queries with what was found about them outside, where that is known."""
    if SNIPPETS not in pairs.x.metadata:
        return pairs
    both = zip(pairs.x.content, pairs.x.metadata[SNIPPETS], strict=True)
    content = [f"{query}\n{snippet}" for query, snippet in both]
    return replace(pairs, x=replace(pairs.x, content=content))


def _pairs(judged: Relevance) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Query and document of each pair that counts, and whether it is relevant."""
    every = np.indices(judged.shape).reshape(2, -1)
    listed = judged.matrix.tocoo()
    query, document = every if judged.unjudged == "negative" else (listed.row, listed.col)
    return query, document, judged.matrix.toarray()[query, document] >= 1


def gains(result: Evaluation, judged: Relevance, k: int) -> Reals:
    """Discounted cumulative gain of each query, not divided by the best possible."""
    by_query = np.split(judged.matrix.data, judged.matrix.indptr[1:-1])
    tops = [np.sort(np.maximum(grades, 0))[::-1][:k] for grades in by_query]
    ideal = [((2**top - 1) / np.log2(np.arange(len(top)) + 2)).sum() for top in tops]
    return np.asarray(result.per_query(NDCG(k)) * ideal, dtype=np.float64)


def values(point: Point, metric: str) -> Reals:
    """A metric of each test query."""
    return point.tested.per_query("AUC (by query)" if metric == "AUC" else metric)


def _compared(a: tuple[Point, str], b: tuple[Point, str]) -> Comparison:
    return paired_randomization(values(*a), values(*b))


def papers_test(a: tuple[Point, str], b: tuple[Point, str]) -> Comparison:
    """The paper's test of AUC, over subsets that are disjoint here, or of DCG at a depth."""
    (one, metric), (other, _) = a, b
    judged = one.parts.test.relevance
    if metric == "AUC":
        query, document, relevant = _pairs(judged)
        first, second = (p.scores[query, document].astype(np.float64) for p in (one, other))
        n = min(50, len(np.unique(query)))
        return partitioned_auc_t(
            first, second, relevant, query=query, n_subsets=n, random_state=one.bench.seed
        )
    k = int(metric.removeprefix("NDCG@"))
    return paired_t(gains(one.tested, judged, k), gains(other.tested, judged, k))


class QueryDocument(Experiment[Parts]):
    """AUC, NDCG and ROC of learned similarities beside TFIDF's."""

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return two_texts(pairs) and graded(pairs)

    def _run(
        self, data: Parts, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        progress("Reading texts")
        bench, grids = Graded(data, seed), self.grids[size]
        fitted = {*methods, _PLAIN} | ({"pca"} if {*_STARTED} & {*methods} else set())
        every = progress.part(0.02, 0.95).each(
            lambda method, part: bench.tried(method, grids.get(method, {}), part),
            {method: cost for method, cost in self.costs.items() if method in fitted},
        )
        progress("Testing", 0.95)
        shown = [m for m in self.methods if m in (*methods, _PLAIN)]
        tested = {self.name(m): best(every[m]) for m in shown}
        by_size = {
            f"{self.name(m)}, {k}": point
            for m in _BY_SIZE
            if m in shown
            for k, point in best_by_size(every[m]).items()
        }
        claimed = tested | {name: one for name, one in by_size.items() if one.method == "s2net"}
        few = min((one.k for one in claimed.values() if one.method == "s2net"), default=0)
        if few:
            claimed["S2Net, fewest"] = claimed[f"S2Net, {few}"]

        def quantity(one: str, other: str, metric: str) -> str:
            names = f"{one.replace('fewest', f'{few}')} − {other}"
            both = " − ".join(f"{claimed[row].tested.value(metric):.3f}" for row in (one, other))
            if metric == "AUC":
                return f"AUC by query, {names} (pooled: {both})"
            return f"{metric}, {names}, {both}"

        level = letters({name: values(point, "NDCG@5") for name, point in tested.items()})
        main = (
            _row(name, one, **{"NDCG@5 level with": level[name]}) for name, one in tested.items()
        )
        sizes = by_size | {"TFIDF": tested["TFIDF"]} if by_size else {}
        pool = "all" if data.test.relevance.unjudged == "negative" else "judged"
        snippets = ["Snippets were read with the queries."] * (SNIPPETS in data.train.x.metadata)
        return RunResult(
            f"{data.describe()}; ranked: {pool} documents",
            tables=[
                self.table("main", main),
                self._tests(tested, tested["TFIDF"]),
                *([self.table("sizes", (_row(*one) for one in sizes.items()))] if sizes else []),
                bench.times({m: self.name(m) for m in self.methods}),
            ],
            figures=[self._figure(tested)],
            claims=self.judged(
                {
                    metric: {name: (point, metric) for name, point in claimed.items()}
                    for metric in _METRICS
                },
                Judge(quantity=quantity, test=_compared, paper=papers_test, means=None),
            ),
            notes=[*data.notes, *snippets, *self.remarks],
        )

    def _tests(self, tested: Mapping[str, Point], base: Point) -> Table:
        """The paper's tests against TFIDF, and today's beside them."""
        others = {name: point for name, point in tested.items() if point is not base}
        columns: dict[str, Mapping[str, Comparison]] = {
            "AUC, t over disjoint subsets" if m == "AUC" else f"{m[1:]}, paired t": {
                name: papers_test((point, m), (base, m)) for name, point in others.items()
            }
            for m in _METRICS
        }
        for of, m in (("AUC by query", "AUC"), ("NDCG@5", "NDCG@5")):
            pairs = {name: (values(point, m), values(base, m)) for name, point in others.items()}
            columns[f"{of}, randomisation, Holm"] = tests_of(pairs)
        rows = (
            {"method": name} | {column: _describe(test[name]) for column, test in columns.items()}
            for name in others
        )
        return self.table("tests", rows)

    def _figure(self, tested: Mapping[str, Point]) -> Figure:
        at = np.unique(np.r_[np.geomspace(1e-4, LOW_FPR, _DRAWN // 2), np.linspace(0, 1, _DRAWN)])
        series = []
        for name, point in tested.items():
            curve = point.tested.roc
            assert curve is not None  # AUC was asked for
            y = np.interp(at, curve.fpr, curve.tpr)
            series.append(Series(name, tuple(at.tolist()), tuple(y.tolist()), point.method))
        return self.figure("roc", series, low=LOW_FPR)


def _row(name: str, point: Point, **more: Cell) -> dict[str, Cell]:
    metrics = {"AUC": "AUC", f"AUC, FPR ≤ {LOW_FPR}": f"pAUC@{LOW_FPR}"}
    metrics |= {metric: metric for metric in _METRICS[1:]}
    results = {shown: point.tested.value(metric) for shown, metric in metrics.items()}
    chosen: dict[str, Cell] = {"validation": point.validation, "chosen": point.settings}
    return {"method": name, **results, **more, **chosen}


def _describe(comparison: Comparison) -> str:
    p = "< .001" if comparison.p_value < 0.001 else f"{comparison.p_value:.3f}".lstrip("0")
    return f"{comparison.difference:+.3f} ({p})".replace("-", "−")
