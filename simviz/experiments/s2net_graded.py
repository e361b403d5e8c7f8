"""Tables 2 and 3 and figure 3 of Yih et al. (2011): which text suits a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
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
from simviz.experiments._experiment import Experiment, RunResult, Size, graded, two_texts
from simviz.experiments._findings import Cell, Claim, Figure, Series, Table, claims_ahead, tests_of
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.experiments._published import PUBLISHED
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
#: Where the paper's own numbers stand.
_TABLE_2 = "s2net", "table 2"
#: A lead in AUC that would not matter.
_MARGIN = 0.01
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
        super().__init__([NDCG(k) for k in DEPTHS], _quality, ("x2y",), seed)
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


@dataclass(frozen=True, eq=False)
class Tested:
    """What a model did on test queries."""

    title: str
    point: Point

    @cached_property
    def result(self) -> Evaluation:
        """Ranks of the documents of the pool that the judgments allow."""
        return self.point.parts.ranked(self.point.model, [*map(NDCG, DEPTHS), AUC()])

    @cached_property
    def scores(self) -> Scores:
        """Of all documents for all queries."""
        x, y, _ = self.point.parts.sides(self.point.model, "test")
        return np.asarray(self.point.model.similarity(x, y), np.float32)

    @property
    def judged(self) -> Relevance:
        """Judgments of the test queries."""
        return self.point.parts.test.relevance

    def values(self, metric: str) -> Reals:
        """A metric of each query."""
        return self.result.per_query("AUC (by query)" if metric == "AUC" else metric)

    def row(self, first: Mapping[str, Cell], **before: Cell) -> dict[str, Cell]:
        """What the tables show."""
        metrics = {"AUC": "AUC", f"AUC, FPR ≤ {LOW_FPR}": f"pAUC@{LOW_FPR}"}
        metrics |= {metric: metric for metric in _METRICS[1:]}
        values = {name: self.result.value(metric) for name, metric in metrics.items()}
        chosen: dict[str, Cell] = {
            "validation": self.point.validation,
            "chosen": self.point.settings,
        }
        return {**first, **values, **before, **chosen}

    def against(self, other: Tested, metric: str) -> str:
        """What is compared, with the values of both."""
        both = f"{self.result.value(metric):.3f} − {other.result.value(metric):.3f}"
        names = f"{self.title} − {other.title}"
        if metric == "AUC":
            return f"AUC by query, {names} (pooled: {both})"
        return f"{metric}, {names}, {both}"


def papers_test(a: Tested, b: Tested, metric: str, seed: int = 0) -> Comparison:
    """The paper's test of AUC, over subsets that are disjoint here, or of DCG at a depth."""
    if metric == "AUC":
        first, relevant, query = judged_pairs(a.scores, a.judged)
        second, _, _ = judged_pairs(b.scores, b.judged)
        n = min(50, len(np.unique(query)))
        return partitioned_auc_t(
            first, second, relevant, query=query, n_subsets=n, random_state=seed
        )
    k = int(metric.removeprefix("NDCG@"))
    return paired_t(*(gains(one.result, one.judged, k) for one in (a, b)))


class QueryDocument(Experiment[Parts]):
    """AUC, NDCG and ROC of learned similarities beside TFIDF's."""

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return two_texts(pairs) and graded(pairs)

    def _run(
        self, data: Parts, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        """Choose each method's settings on validation queries, and test what was chosen."""
        progress("Reading texts")
        bench, grids = Graded(data, seed), self.grids[size]
        fitted = {*methods, _PLAIN} | ({"pca"} if {*_STARTED} & {*methods} else set())
        every = progress.part(0.02, 0.95).each(
            lambda method, part: bench.tried(method, grids.get(method, {}), part),
            {method: cost for method, cost in self.costs.items() if method in fitted},
        )
        progress("Testing", 0.95)
        shown = [m for m in self.methods if m in methods or m == _PLAIN]
        tested = {m: Tested(self.name(m), best(every[m])) for m in shown}
        by_size = {
            (m, k): Tested(f"{self.name(m)}, {k}", point)
            for m in _BY_SIZE
            if m in shown
            for k, point in best_by_size(every[m]).items()
        }
        snippets = SNIPPETS in data.train.x.metadata
        pool = "all" if data.test.relevance.unjudged == "negative" else "judged"
        return RunResult(
            f"{data.describe()}; ranked: {pool} documents",
            tables=[
                _table(tested),
                _tests(tested, seed),
                *_dimensions([*by_size.values(), tested[_PLAIN]] if by_size else []),
            ],
            figures=[_figure(tested)],
            claims=_claims(tested, by_size, seed),
            notes=[
                *data.notes,
                *(["Snippets were read with the queries."] if snippets else []),
                *self.remarks,
            ],
        )


def _table(tested: Mapping[str, Tested]) -> Table:
    letters = dict.fromkeys(tested, "")
    if len(tested) > 1:
        letters = compare_all({m: t.values("NDCG@5") for m, t in tested.items()}).letters()
    level = "NDCG@5 level with"
    return Table.of(
        "Table 2: AUC and NDCG",
        (t.row({"method": t.title}, **{level: letters[m]}) for m, t in tested.items()),
        "Methods that share a letter cannot be told apart in NDCG@5 (paired randomisation, Holm, "
        "5 %). The paper's data, judged pairs of queries and advertisements, are not public.",
    )


def _tests(tested: Mapping[str, Tested], seed: int) -> Table:
    """The paper's tests against TFIDF, and today's beside them."""
    base = tested[_PLAIN]
    others = {m: t for m, t in tested.items() if m != _PLAIN}
    ours = [
        tests_of({m: (t.values(metric), base.values(metric)) for m, t in others.items()})
        for metric in ("AUC", "NDCG@5")
    ]
    columns = (
        "AUC, t over disjoint subsets", *(f"DCG@{k}, paired t" for k in DEPTHS),
        "AUC by query, randomisation, Holm", "NDCG@5, randomisation, Holm",
    )  # fmt: skip

    def row(method: str, one: Tested) -> dict[str, Cell]:
        theirs = (papers_test(one, base, metric, seed) for metric in _METRICS)
        found = map(_describe, (*theirs, *(test[method] for test in ours)))
        return {"method": one.title, **dict(zip(columns, found, strict=True))}

    return Table.of(
        "Against TFIDF: difference (p)",
        (row(*one) for one in others.items()),
        "The first four are the paper's tests, with subsets that do not overlap; the last two "
        "suit the question better.",
    )


def _dimensions(rankers: Iterable[Tested]) -> list[Table]:
    rows = [one.row({"method": one.title}) for one in rankers]
    return [Table.of("Table 3: by dimensions", rows)] if rows else []


def _figure(tested: Mapping[str, Tested]) -> Figure:
    series = []
    for method, t in tested.items():
        curve = t.result.roc
        assert curve is not None  # AUC was asked for
        at = np.unique(np.r_[np.geomspace(1e-4, LOW_FPR, _DRAWN // 2), np.linspace(0, 1, _DRAWN)])
        drawn = np.interp(at, curve.fpr, curve.tpr)
        label = t.title
        series.append(Series(label, tuple(at.tolist()), tuple(drawn.tolist()), method))
    return Figure(
        "Figure 3: ROC",
        "roc",
        tuple(series),
        "false-positive rate",
        "true-positive rate",
        f"All pairs of the test that count. The paper draws false positives up to {LOW_FPR:.0%}.",
    )


def _claims(
    tested: Mapping[str, Tested], by_size: Mapping[tuple[str, int], Tested], seed: int
) -> list[Claim]:
    base, few = tested[_PLAIN], min((k for method, k in by_size if method == "s2net"), default=0)
    reason = "S2Net was not run." if not few else "S2Net was not run with so many dimensions."
    tested = {**tested, **{f"s2net, {k}": one for (m, k), one in by_size.items() if m == "s2net"}}
    known = {(name, metric): (one, metric) for name, one in tested.items() for metric in _METRICS}

    def ahead(*wanted: tuple[str, str, str, str]) -> list[Claim]:
        """That a network is ahead of TFIDF in a metric: in words, and as the paper says it."""
        said = {(name, metric): published for name, metric, _, published in wanted}
        return claims_ahead(
            [((name, metric), (_PLAIN, metric), words) for name, metric, words, _ in wanted],
            known,
            lambda a, b: known[a][0].against(base, a[1]),
            lambda a, b: paired_randomization(*(one.values(metric) for one, metric in (a, b))),
            paper=lambda a, b: papers_test(a[0], b[0], a[1], seed),
            means=None,
            published=lambda a, b: said[a],
            reason=reason,
        )

    high = PUBLISHED.stated("s2net", "abstract", "accuracy", "s2net", "high with few dimensions")
    passes = PUBLISHED.stated("s2net", "table 3", "AUC", "s2net, 300", "ahead of", _PLAIN)
    return [
        *ahead(
            *(
                (
                    "s2net", metric, f"S2Net is ahead of TFIDF in {metric}.",
                    PUBLISHED.ahead(*_TABLE_2, metric, "s2net", _PLAIN),
                )
                for metric in _METRICS
            )
        ),
        *ahead(
            (
                f"s2net, {few}", "NDCG@5",
                "S2Net is ahead of TFIDF with its fewest dimensions, too.", high,
            ),
            ("s2net, 300", "AUC", "S2Net passes TFIDF in AUC with 300 dimensions.", passes),
        ),
        _alone(tested),
    ]  # fmt: skip


def _alone(tested: Mapping[str, Tested]) -> Claim:
    """Others are not ahead in AUC by more than the margin, with a verdict on each."""
    base = tested[_PLAIN]
    parts = [
        Claim.level(
            one.title,
            paired_randomization(base.values("AUC"), one.values("AUC")),
            _MARGIN,
            base.against(one, "AUC"),
            or_better=True,
        )
        for method, one in tested.items()
        if method != _PLAIN and not method.startswith("s2net")
    ]
    said = PUBLISHED.stated(*_TABLE_2, "AUC", _PLAIN, "not behind", "any but s2net")
    statement = "No other learned similarity is ahead of TFIDF in AUC."
    return Claim.at_every(statement, parts, published=said)


def _describe(found: Comparison) -> str:
    """Difference and p-value."""
    p = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".lstrip("0")
    return f"{found.difference:+.3f} ({p})".replace("-", "−")
