"""Tables 2 and 3 and figure 3 of Yih et al. (2011): which text suits a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Reals
from simviz.data.pairs import Items, PairSet
from simviz.evaluation import (
    AUC,
    NDCG,
    Comparison,
    Evaluation,
    compare_all,
    evaluate,
    paired_randomization,
    paired_t,
    partitioned_auc_t,
)
from simviz.experiments._experiment import (
    Experiment,
    GivenScores,
    Grids,
    RunResult,
    Size,
    describe,
    graded,
    tried,
    two_texts,
)
from simviz.experiments._findings import (
    Ahead,
    Cell,
    Claim,
    Figure,
    Series,
    Table,
    claims_of,
    counted,
    tests_of,
)
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.experiments._published import PUBLISHED
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

Scores = NDArray[np.float32]
Values = Mapping[str, tuple[Any, ...]]

#: Depths of NDCG, as in the paper.
DEPTHS = (1, 3, 5)
#: Metadata column of queries with what an outside search said about them.
SNIPPETS = "snippets"
#: Dimensions of the PCA from which S2Net and HDLR start.
_LARGEST = 1000
_FIXED: Mapping[str, Mapping[str, Any]] = {
    "s2net": {"direction": "x2y", "max_iter": 30, "patience": 5},
}
_NAMES = {"tfidf_cosine": "TFIDF", "bm25": "BM25", "lsa": "LSA", "pca": "PCA"}
_WEIGHTINGS = ("raw", "log1p", "log2")
_WEIGHTS = {
    "tfidf_cosine": 0.1, "pca": 1.0, "opca": 1.5, "cca": 1.5, "plsa": 1.0, "jplsa": 2.0,
    "cplsa": 5.0, "hdlr": 1.5, "s2net": 5.0,
}  # fmt: skip
#: Where the paper's own numbers stand.
_TABLE_2 = "s2net", "table 2"
#: A lead in AUC that would not matter.
_MARGIN = 0.01
#: Points of a drawn curve.
_DRAWN = 200
#: Part of the ROC that the paper draws.
LOW_FPR = 0.25
_METRICS = ("AUC", *(f"NDCG@{k}" for k in DEPTHS))


@dataclass(frozen=True, slots=True)
class Ranker:
    """A method with its settings, and what it scores."""

    title: str
    settings: str
    k: int
    validation: float
    scores: Mapping[str, Scores]


class Graded:
    """Queries and documents as matrices, and methods fitted to them."""

    # Texts of all documents, but none of the judgments of validation and test queries, are known
    # to all methods, in one vocabulary.

    def __init__(self, parts: Parts, grids: Grids, seed: int) -> None:
        self.parts, self.grids, self.seed = parts, grids, seed
        self._pca: Any = None
        sides = {"train": parts.train, "validation": parts.validation, "test": parts.test}
        self.judged: dict[str, Relevance] = {n: part.relevance for n, part in sides.items()}
        texts = {name: _texts(part.x) for name, part in sides.items()}
        self.has_snippets = SNIPPETS in parts.train.x.metadata

        def vectors(features: TextCounts) -> dict[str, sp.csr_array]:
            features.fit([*texts["train"], *parts.train.y.content])
            made = {name: features.transform(asked) for name, asked in texts.items()}
            return {**made, "y": features.transform(parts.train.y.content)}

        weighed = {tf: vectors(Tfidf(tf=tf, stop_words="english")) for tf in _WEIGHTINGS}
        cosine = {tf: _dot(made) for tf, made in weighed.items()}
        best = max(cosine, key=lambda tf: self.quality(cosine[tf]["validation"], "validation"))
        counts = vectors(TextCounts(stop_words="english"))
        self.vectors = {"tfidf": weighed[best], "counts": counts}
        self.tfidf = self.ranker("tfidf_cosine", f"tf {best}", 0, cosine[best])

    def quality(self, scores: Scores, part: str) -> float:
        """Mean of NDCG at the depths."""
        result = ranked(scores, self.judged[part], with_auc=False)
        return float(np.mean([result.value(NDCG(k)) for k in DEPTHS]))

    def ranker(self, method: str, settings: str, k: int, scores: Mapping[str, Scores]) -> Ranker:
        """Under its name, with its validation quality."""
        quality = self.quality(scores["validation"], "validation")
        return Ranker(_title(method), settings, k, quality, scores)

    def tried(self, method: str, progress: Progress) -> list[Ranker]:
        """A method with every setting of its grid."""
        if method == "tfidf_cosine":
            return [self.tfidf]
        make = partial(self._made, method, progress)
        found = []
        for params, model in tried(method, self.grids[method], make, progress, paths=True):
            data = self.vectors_for(model)
            scores = {
                name: np.asarray(model.similarity(data[name], data["y"]), np.float32)
                for name in ("validation", "test")
            }
            k = params["n_components"]
            found.append(self.ranker(method, describe(params), k, scores))
        return found

    def vectors_for(self, model: Any) -> dict[str, sp.csr_array]:
        """What a method takes: counts of terms, or weights."""
        return self.vectors["counts" if model.tags.input == "counts" else "tfidf"]

    def _made(self, method: str, progress: Progress, **params: Any) -> tuple[Any, tuple[Any, ...]]:
        """A model, and what it is fitted to; nothing for PCA, which S2Net and HDLR start from."""
        if method == "pca":
            return self._space(progress), ()
        if method in ("s2net", "hdlr"):
            params["init"] = self._space(progress)
        cls = get_method(method)
        usual = {"shared": True, "random_state": self.seed, **_FIXED.get(method, {})}
        known = cls._get_param_names()
        model = cls(**params, **{name: v for name, v in usual.items() if name in known})
        vectors = self.vectors_for(model)
        data: tuple[Any, ...] = vectors["train"], vectors["y"], self.judged["train"]
        if hasattr(model, "patience"):
            data += (vectors["validation"], vectors["y"], self.judged["validation"])
        return model, data

    def _space(self, progress: Progress) -> Any:
        """PCA in as many dimensions as any method asks for, fitted once."""
        if self._pca is None:
            model: Any = get_method("pca")(n_components=_LARGEST, random_state=self.seed)
            vectors = self.vectors["tfidf"]
            model.set_callbacks(progress.listen("Training PCA"))
            sides = vectors["train"], vectors["y"], self.judged["train"]
            self._pca = progress.fitted(model, *sides)
        return self._pca


def _title(method: str) -> str:
    return _NAMES.get(method) or str(get_method(method).tags.title)


def _texts(queries: Items) -> list[str]:
    """Queries, with what was found about them outside where that is known."""
    snippets = queries.metadata.get(SNIPPETS)
    if snippets is None:
        return list(queries.content)
    return [f"{q}\n{s}" for q, s in zip(queries.content, snippets, strict=True)]


def _dot(vectors: Mapping[str, sp.csr_array]) -> dict[str, Scores]:
    return {name: (vectors[name] @ vectors["y"].T).toarray() for name in ("validation", "test")}


def ranked(scores: Scores, judged: Relevance, *, with_auc: bool = True) -> Evaluation:
    """Rank documents for queries, in the pool that the judgments allow."""
    empty = np.zeros((scores.shape[0], 1)), np.zeros((scores.shape[1], 1))
    metrics = [NDCG(k) for k in DEPTHS] + ([AUC()] if with_auc else [])
    return evaluate(GivenScores(scores), *empty, judged, metrics, directions=["x2y"])


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


def over_subsets(a: Scores, b: Scores, judged: Relevance, seed: int = 0) -> Comparison:
    """The paper's test of AUC: paired t over 50 subsets, which are disjoint here."""
    first, relevant, query = judged_pairs(a, judged)
    second, _, _ = judged_pairs(b, judged)
    n = min(50, len(np.unique(query)))
    return partitioned_auc_t(first, second, relevant, query=query, n_subsets=n, random_state=seed)


def gains(result: Evaluation, judged: Relevance, k: int) -> Reals:
    """Discounted cumulative gain of each query, not divided by the best possible."""
    matrix = judged.matrix
    ideal = np.full(judged.shape[0], np.nan)
    for i in range(judged.shape[0]):
        grades = matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]]
        grades = np.sort(np.maximum(grades, 0))[::-1][:k]
        ideal[i] = ((2**grades - 1) / np.log2(np.arange(len(grades)) + 2)).sum()
    return np.asarray(result.per_query(NDCG(k)) * ideal, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Tested:
    """What a ranker did on test queries."""

    ranker: Ranker
    result: Evaluation

    def values(self, metric: str = "NDCG@5") -> Reals:
        """A metric of each query."""
        return self.result.per_query("AUC (by query)" if metric == "AUC" else metric)

    def row(self, first: Mapping[str, Cell], **before: Cell) -> dict[str, Cell]:
        """What the tables show."""
        metrics = {"AUC": "AUC", f"AUC, FPR ≤ {LOW_FPR}": f"pAUC@{LOW_FPR}"}
        metrics |= {metric: metric for metric in _METRICS[1:]}
        values = {name: self.result.value(metric) for name, metric in metrics.items()}
        chosen: dict[str, Cell] = {
            "validation": self.ranker.validation,
            "chosen": self.ranker.settings,
        }
        return {**first, **values, **before, **chosen}

    def beside(self, other: Tested, metric: str) -> str:
        """The values of both."""
        return f"{self.result.value(metric):.3f} − {other.result.value(metric):.3f}"


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
        bench = Graded(data, self.grids[size], seed)
        shown = [m for m in self.methods if m in methods or m == "tfidf_cosine"]
        every = progress.part(0.02, 0.95).each(bench.tried, {m: _WEIGHTS[m] for m in shown})
        progress("Testing", 0.95)
        judged = bench.judged["test"]
        tested = {
            method: _tested(max(found, key=lambda r: r.validation), judged)
            for method, found in every.items()
        }
        ascending = sorted(every.get("s2net", ()), key=lambda r: r.validation)
        best = {r.k: r for r in ascending}  # of each number of dimensions
        by_size = {k: _tested(best[k], judged) for k in sorted(best)}
        snippets = ["Snippets were read with the queries."] if bench.has_snippets else []
        pool = "all documents" if judged.unjudged == "negative" else "judged documents"
        return RunResult(
            f"{data.describe()}; ranked: {pool}",
            tables=[_table(tested), _tests(tested, judged, seed), *_dimensions(by_size, tested)],
            figures=[_figure(tested)],
            claims=_claims(tested, by_size, judged, seed),
            notes=[
                *data.notes,
                *snippets,
                *self.remarks,
            ],
        )


def _tested(ranker: Ranker, judged: Relevance) -> Tested:
    return Tested(ranker, ranked(ranker.scores["test"], judged))


def _table(tested: Mapping[str, Tested]) -> Table:
    letters = dict.fromkeys(tested, "")
    if len(tested) > 1:
        letters = compare_all({m: t.values() for m, t in tested.items()}).letters()
    level = "NDCG@5 level with"
    return Table.of(
        "Table 2: AUC and NDCG",
        (t.row({"method": t.ranker.title}, **{level: letters[m]}) for m, t in tested.items()),
        "Methods that share a letter cannot be told apart in NDCG@5 (paired randomisation, Holm, "
        "5 %). The paper's data, judged pairs of queries and advertisements, are not public.",
    )


def _tests(tested: Mapping[str, Tested], judged: Relevance, seed: int) -> Table:
    """The paper's tests against TFIDF, and today's beside them."""
    base = tested["tfidf_cosine"]
    others = {m: t for m, t in tested.items() if m != "tfidf_cosine"}
    auc, ndcg = (
        tests_of({m: (t.values(metric), base.values(metric)) for m, t in others.items()})
        for metric in ("AUC", "NDCG@5")
    )
    columns = (
        "AUC, t over disjoint subsets", *(f"DCG@{k}, paired t" for k in DEPTHS),
        "AUC by query, randomisation, Holm", "NDCG@5, randomisation, Holm",
    )  # fmt: skip

    def row(method: str, one: Tested) -> dict[str, Cell]:
        found = (*papers_tests(one, base, judged, seed), auc[method], ndcg[method])
        return {
            "method": one.ranker.title,
            **dict(zip(columns, map(_describe, found), strict=True)),
        }

    return Table.of(
        "Against TFIDF: difference (p)",
        (row(*one) for one in others.items()),
        "The first four are the paper's tests, with subsets that do not overlap; the last two "
        "suit the question better.",
    )


def papers_tests(a: Tested, b: Tested, judged: Relevance, seed: int) -> list[Comparison]:
    """The paper's tests of AUC and of DCG at the depths."""
    subsets = over_subsets(a.ranker.scores["test"], b.ranker.scores["test"], judged, seed)
    dcg = (paired_t(*(gains(t.result, judged, k) for t in (a, b))) for k in DEPTHS)
    return [subsets, *dcg]


def _dimensions(by_size: Mapping[int, Tested], tested: Mapping[str, Tested]) -> list[Table]:
    if not by_size:
        return []
    rankers = {f"S2Net, {k}": t for k, t in by_size.items()} | {"TFIDF": tested["tfidf_cosine"]}
    rows = (one.row({"method": title}) for title, one in rankers.items())
    return [Table.of("Table 3: S2Net by dimensions", rows)]


def _figure(tested: Mapping[str, Tested]) -> Figure:
    series = []
    for method, t in tested.items():
        curve = t.result.roc
        assert curve is not None  # AUC was asked for
        at = np.unique(np.r_[np.geomspace(1e-4, LOW_FPR, _DRAWN // 2), np.linspace(0, 1, _DRAWN)])
        drawn = np.interp(at, curve.fpr, curve.tpr)
        label = t.ranker.title
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
    tested: Mapping[str, Tested],
    by_size: Mapping[int, Tested],
    judged: Relevance,
    seed: int,
) -> list[Claim]:
    base, network = tested["tfidf_cosine"], tested.get("s2net")
    theirs = [] if network is None else papers_tests(network, base, judged, seed)
    papers = dict(zip(_METRICS, theirs, strict=False))

    def ahead(one: Tested | None, statement: str, metric: str, words: str, said: str) -> Ahead:
        if one is None:
            return Ahead(statement, None, said, reason="S2Net was not run.")
        both = one.values(metric), base.values(metric)
        return Ahead(statement, both, said, words.format(one.beside(base, metric)))

    claims = []
    for metric in _METRICS:
        said = PUBLISHED.ahead(*_TABLE_2, metric, "s2net", "tfidf_cosine")
        words = "AUC by query (pooled: {})" if metric == "AUC" else f"{metric}, {{}}"
        one = ahead(network, f"S2Net is ahead of TFIDF in {metric}.", metric, words, said)
        claims.append(replace(one, paper=papers.get(metric)))
    least = min(by_size, default=0)
    few = ahead(
        by_size.get(least),
        "S2Net is ahead of TFIDF with its fewest dimensions, too.",
        "NDCG@5",
        f"NDCG@5 with {least} dimensions, {{}}",
        PUBLISHED.stated("s2net", "abstract", "accuracy", "s2net", "high with few dimensions"),
    )
    return [*claims_of(claims), *claims_of([few]), _alone(tested)]


def _alone(tested: Mapping[str, Tested]) -> Claim:
    """Others are not ahead in AUC by more than the margin, with a verdict on each."""
    base, parts = tested["tfidf_cosine"], []
    for method, one in tested.items():
        if method not in ("tfidf_cosine", "s2net"):
            found = paired_randomization(base.values("AUC"), one.values("AUC"))
            title = one.ranker.title
            parts.append(
                Claim(
                    title,
                    found.difference,
                    -_MARGIN,
                    f"AUC by query, TFIDF − {title} (pooled: {base.beside(one, 'AUC')})",
                    test=f"95% interval above −{_MARGIN:g}, {counted(found)}",
                    low=found.low,
                    high=found.high,
                )
            )
    said = PUBLISHED.stated(*_TABLE_2, "AUC", "tfidf_cosine", "not behind", "any but s2net")
    statement = "No other learned similarity is ahead of TFIDF in AUC."
    return Claim.at_every(statement, parts, published=said)


def _describe(found: Comparison) -> str:
    """Difference and p-value."""
    p = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".lstrip("0")
    return f"{found.difference:+.3f} ({p})".replace("-", "−")
