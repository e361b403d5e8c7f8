"""Tables 2 and 3 and figure 3 of Yih et al. (2011): which text suits a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._types import Reals
from simviz.data.pairs import Items, PairSet
from simviz.evaluation import (
    AUC,
    NDCG,
    Comparison,
    Evaluation,
    compare_all,
    paired_randomization,
    paired_t,
    partitioned_auc_t,
)
from simviz.experiments._bench import Bench, Point, best, best_by_size
from simviz.experiments._claims import Judge, tests_of
from simviz.experiments._experiment import Experiment, RunResult, Size, graded, two_texts
from simviz.experiments._findings import Cell, Figure, Series, Table
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

Scores = NDArray[np.float32]

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

        def encoded(features: TextCounts) -> Parts:
            features.fit([*texts_of(parts.train.x), *parts.train.y.content])
            return parts.encoded(
                lambda queries: features.transform(texts_of(queries)),
                lambda documents: features.transform(documents.content),
            )

        weighed = {tf: encoded(Tfidf(tf=tf, stop_words="english")) for tf in _WEIGHTINGS}
        self.plain = best(
            self.points(_PLAIN, {}, vectors, Progress(), f"tf {tf}")[0]
            for tf, vectors in weighed.items()
        )
        self.counts = encoded(TextCounts(stop_words="english"))

    def tried(self, method: str, grid: Mapping[str, Any], progress: Progress) -> list[Point]:
        """A method with every setting of its grid."""
        if method == _PLAIN:
            return [self.plain]
        counts = get_method(method).tags.input == "counts"
        fixed = {**_STARTED.get(method, {})}
        if method in _STARTED:
            fixed["init"] = self.start
        parts = self.counts if counts else self.plain.parts
        found = self.points(method, grid, parts, progress, **fixed)
        if method == "pca":
            self.start = max(found, key=lambda point: point.k).model
        return found


def _quality(result: Evaluation) -> float:
    """Mean of NDCG at the depths."""
    return float(np.mean([result.value(NDCG(k)) for k in DEPTHS]))


def texts_of(queries: Items) -> list[str]:
    """Queries, with what was found about them outside where that is known."""
    snippets = queries.metadata.get(SNIPPETS)
    if snippets is None:
        return list(queries.content)
    return [f"{q}\n{s}" for q, s in zip(queries.content, snippets, strict=True)]


def judged_pairs(
    scores: Scores, judged: Relevance, least: int = 1
) -> tuple[Reals, NDArray[np.bool_], NDArray[np.int64]]:
    """Score of each pair that counts, whether its grade is high enough, its query."""
    matrix = judged.matrix
    if judged.unjudged == "negative":
        grade = matrix.toarray()
        query = np.repeat(np.arange(grade.shape[0]), grade.shape[1])
        return scores.ravel().astype(np.float64), (grade >= least).ravel(), query
    query = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return scores[query, matrix.indices].astype(np.float64), matrix.data >= least, query


def gains(result: Evaluation, judged: Relevance, k: int) -> Reals:
    """Discounted cumulative gain of each query, not divided by the best possible."""
    matrix = judged.matrix
    ideal = np.full(judged.shape[0], np.nan)
    for i in range(judged.shape[0]):
        grades = matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]]
        grades = np.sort(np.maximum(grades, 0))[::-1][:k]
        ideal[i] = ((2**grades - 1) / np.log2(np.arange(len(grades)) + 2)).sum()
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
        first, relevant, query = judged_pairs(one.scores, judged)
        second, _, _ = judged_pairs(other.scores, judged)
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
        shown = [m for m in self.methods if m in methods or m == _PLAIN]
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

        snippets = SNIPPETS in data.train.x.metadata
        pool = "all" if data.test.relevance.unjudged == "negative" else "judged"
        return RunResult(
            f"{data.describe()}; ranked: {pool} documents",
            tables=[
                _table(tested),
                _tests(tested, tested["TFIDF"]),
                *([_dimensions(by_size | {"TFIDF": tested["TFIDF"]})] if by_size else []),
                bench.times(self.name, [m for m in self.methods if m in bench.spent]),
            ],
            figures=[_figure(tested)],
            claims=self.judged(
                {
                    metric: {name: (point, metric) for name, point in claimed.items()}
                    for metric in _METRICS
                },
                Judge(quantity=quantity, test=_compared, paper=papers_test, means=None),
            ),
            notes=[
                *data.notes,
                *(["Snippets were read with the queries."] if snippets else []),
                *self.remarks,
            ],
        )


def _row(name: str, point: Point, **more: Cell) -> dict[str, Cell]:
    metrics = {"AUC": "AUC", f"AUC, FPR ≤ {LOW_FPR}": f"pAUC@{LOW_FPR}"}
    metrics |= {metric: metric for metric in _METRICS[1:]}
    results = {shown: point.tested.value(metric) for shown, metric in metrics.items()}
    chosen: dict[str, Cell] = {"validation": point.validation, "chosen": point.settings}
    return {"method": name, **results, **more, **chosen}


def _table(tested: Mapping[str, Point]) -> Table:
    letters = dict.fromkeys(tested, "")
    if len(tested) > 1:
        letters = compare_all({name: values(p, "NDCG@5") for name, p in tested.items()}).letters()
    rows = (_row(name, p, **{"NDCG@5 level with": letters[name]}) for name, p in tested.items())
    return Table.of(
        "Table 2: AUC and NDCG",
        rows,
        "Methods that share a letter cannot be told apart in NDCG@5 (paired randomisation, Holm, "
        "5 %). The paper's data, judged pairs of queries and advertisements, are not public.",
    )


def _tests(tested: Mapping[str, Point], base: Point) -> Table:
    """The paper's tests against TFIDF, and today's beside them."""
    others = {name: point for name, point in tested.items() if point is not base}
    ours = [
        tests_of({n: (values(p, metric), values(base, metric)) for n, p in others.items()})
        for metric in ("AUC", "NDCG@5")
    ]
    columns = (
        "AUC, t over disjoint subsets", *(f"DCG@{k}, paired t" for k in DEPTHS),
        "AUC by query, randomisation, Holm", "NDCG@5, randomisation, Holm",
    )  # fmt: skip

    def row(name: str, one: Point) -> dict[str, Cell]:
        theirs = (papers_test((one, metric), (base, metric)) for metric in _METRICS)
        found = map(_describe, (*theirs, *(test[name] for test in ours)))
        return {"method": name, **dict(zip(columns, found, strict=True))}

    return Table.of(
        "Against TFIDF: difference (p)",
        (row(*one) for one in others.items()),
        "The first four are the paper's tests, with subsets that do not overlap; the last two "
        "suit the question better.",
    )


def _dimensions(by_size: Mapping[str, Point]) -> Table:
    return Table.of("Table 3: by dimensions", (_row(*one) for one in by_size.items()))


def _figure(tested: Mapping[str, Point]) -> Figure:
    series = []
    for name, point in tested.items():
        curve = point.tested.roc
        assert curve is not None  # AUC was asked for
        at = np.unique(np.r_[np.geomspace(1e-4, LOW_FPR, _DRAWN // 2), np.linspace(0, 1, _DRAWN)])
        drawn = np.interp(at, curve.fpr, curve.tpr)
        series.append(Series(name, tuple(at.tolist()), tuple(drawn.tolist()), point.method))
    return Figure(
        "Figure 3: ROC",
        "roc",
        tuple(series),
        "false-positive rate",
        "true-positive rate",
        f"All pairs of the test that count. The paper draws false positives up to {LOW_FPR:.0%}.",
    )


def _describe(comparison: Comparison) -> str:
    p = "< .001" if comparison.p_value < 0.001 else f"{comparison.p_value:.3f}".lstrip("0")
    return f"{comparison.difference:+.3f} ({p})".replace("-", "−")
