"""Web ranking of the talk on S2Net: trained on clicks, measured by judgments."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data import Items, PairSet, split
from simviz.datasets import load_demo
from simviz.datasets.pydocs import SAME
from simviz.evaluation.metrics import NDCG
from simviz.evaluation.significance import paired_t
from simviz.experiments._blending import Asked, Scored, Task, alone_and_blended, score_table
from simviz.experiments._experiment import SLIDES, Experiment, Found, Size, cut, fitted
from simviz.experiments._findings import Claim, claims_ahead
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import TextCounts, Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline
from simviz.relevance import Relevance

Reals = NDArray[np.float64]
#: What is chosen by, and what is tested.
METRIC = NDCG(10)
_METRICS = (NDCG(1), NDCG(3), METRIC)
_LINK_DEMO = "pydocs_links"
_SPECTRAL = (50, 100, 200, 400)
_TOPICS: Mapping[Size, tuple[int, ...]] = {"demo": (50,), "full": (50, 100)}
_LEARNED = (100, 400)
_RIDGES = (0.1, 1.0, 10.0)
#: How long each takes, about.
_COSTS = {"lsa": 1.0, "plsa": 1.5, "cl_lsi": 1.0, "opca": 2.0, "cplsa": 4.0, "s2net": 8.0}
_NAMES = {"lsa": "LSA"}


def clicks(
    name: str, train: PairSet, validation: PairSet, test: PairSet, notes: tuple[str, ...]
) -> Task:
    """Make a task of clicked pairs, and of judged queries of another set of the same kinds."""
    about = (
        f"{train.relevance.matrix.nnz:,} clicks of {len(train.x):,} queries to learn from, "
        f"{len(validation.x):,} and {len(test.x):,} judged queries in validation and test, "
        f"{len(test.y):,} documents"
    )
    return Task(name, train, Asked(validation), Asked(test), about, notes)


def of_links(judged: PairSet, links: PairSet, seed: int = 0) -> Task:
    """Learn from links between documents, be measured by summaries that ask for documents."""
    parts = split(judged, by="x", seed=seed, candidates="judged")
    validation, test = (judged.take(parts.x_index[name]) for name in ("validation", "test"))
    summary = _introduced(judged)
    held = {*_introduced(validation), *_introduced(test)}
    matrix = links.relevance.positives.tocoo()
    there = list(zip(links.x.ids[matrix.row], links.y.ids[matrix.col], strict=True))
    clicked_pairs = {
        (summary[a], b)
        for link in there
        for a, b in (link, link[::-1])
        if not held & {a, b} and a in summary
    }
    asks, clicked = (sorted({click[i] for click in clicked_pairs}) for i in (0, 1))
    x_at, y_at = ({name: i for i, name in enumerate(side)} for side in (asks, clicked))
    place = {name: j for j, name in enumerate(judged.y.ids)}
    pairs = PairSet(
        Items([str(i) for i in range(len(asks))], asks, "text"),
        judged.y.take([place[name] for name in clicked]),
        Relevance.from_pairs(
            *zip(*((x_at[a], y_at[b]) for a, b in sorted(clicked_pairs)), strict=True),
            shape=(len(asks), len(clicked)),
            unjudged="negative",
        ),
    )
    stands_for = (
        "Links under See also stand for clicks: the summary of a page asks, and the pages that "
        "it links, or that link it, were clicked. Pages of the judged queries are left out."
    )
    return clicks(judged.name, pairs, validation, test, (stands_for,))


def _introduced(judged: PairSet) -> dict[str, str]:
    """Document to the summary that introduces it, for those of the highest grade."""
    matrix = judged.relevance.matrix.tocoo()
    best = matrix.data == SAME
    asks, documents = judged.x.content[matrix.row[best]], judged.y.ids[matrix.col[best]]
    return dict(zip(documents, asks, strict=True))


def of_judgments(parts: Parts) -> Task:
    """Learn from the relevant pairs of training queries as if they had been clicked."""
    stands_for = (
        "Relevant pairs of the training queries stand for clicks; their grades are dropped."
    )
    notes = (*parts.notes, stands_for)
    return clicks(parts.name, _clicked(parts.train), parts.validation, parts.test, notes)


class TermWeights(Vectors):
    """ln(1 + count) times idf, in rows of length 1."""

    def __init__(self, idf: NDArray[np.float64]) -> None:
        super().__init__(normalize=True)
        self.idf = idf

    def transform(self, X: sp.csr_array) -> sp.csr_array:
        """Weigh counts."""
        weighed = sp.csr_array(X, dtype=np.float64, copy=True)
        weighed.data = np.log1p(weighed.data) * self.idf[weighed.indices]
        weighed.eliminate_zeros()
        return sp.csr_array(super().transform(weighed), dtype=np.float32)


def counted(data: Task) -> tuple[Task, NDArray[np.float64]]:
    """Count the words of all texts once, for they are asked for many times."""
    clicked = data.train
    words = TextCounts(min_df=2, stop_words="english")
    both = words.fit_transform([*clicked.x.content, *clicked.y.content])
    df = np.bincount(both.indices, minlength=both.shape[1])

    def vectors(pairs: PairSet) -> PairSet:
        x, y = (
            Items(side.ids, words.transform(side.content), "vector") for side in (pairs.x, pairs.y)
        )
        return replace(pairs, x=x, y=y)

    counts = replace(
        data,
        train=vectors(clicked),
        validation=Asked(vectors(data.validation.pairs)),
        test=Asked(vectors(data.test.pairs)),
    )
    return counts, np.log(both.shape[0] / df)


def _clicked(pairs: PairSet) -> PairSet:
    """Relevant pairs alone, each as good as the other, with the items they are of."""
    positives = pairs.relevance.positives.copy()
    positives.data[:] = 1
    x = np.flatnonzero(np.diff(positives.indptr))
    y = np.unique(positives.indices)
    flat = replace(pairs, relevance=Relevance(positives, unjudged="negative"))
    return flat.take(x, y)


class WebRanking(Experiment[Task]):
    """NDCG of models trained on clicks, each alone and combined with the vector space model."""

    title = "Trained on clicks, measured by judgments"
    paper = SLIDES
    shown_as = "Web search ranking"
    sentence = "Does what is learned from clicks rank documents for other queries well?"
    needs = "queries and documents with graded judgments"
    demo = "pydocs"
    sets = ("nfcorpus",)
    methods = ("tfidf_cosine", "lsa", "plsa", "cl_lsi", "opca", "cplsa", "s2net")
    minutes = 2.0
    pool = "all"
    split_by = "x"

    def prepared(
        self,
        pairs: PairSet,
        *,
        seed: int = 0,
        n_train: int | None = None,
        n_pool: int | None = None,
    ) -> Task:
        """Make data of pairs that somebody brought."""
        if pairs.name == self.demo:
            return of_links(pairs, load_demo(_LINK_DEMO), seed)
        return super().prepared(pairs, seed=seed, n_train=n_train, n_pool=n_pool)

    def _adapted(self, parts: Parts) -> Task:
        return of_judgments(parts)

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        texts = pairs.x.kind == pairs.y.kind == "text" and pairs.x is not pairs.y
        graded = pairs.relevance.kind == "grade" and len(set(pairs.relevance.matrix.data)) > 1
        return texts and graded

    def _run(
        self, data: Task, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> Found:
        """Train on clicks, choose by judgments of validation queries, test on others."""
        progress("Counting words")
        data, idf = counted(data)
        vsm = _pipeline("tfidf_cosine", idf, {}).fit(data.train)
        scored = {"VSM": Scored(data.test.evaluate(vsm, _METRICS))}

        def tested(method: str, part: Progress) -> dict[str, Scored]:
            return alone_and_blended(
                (_name(method), f"{_name(method)} + VSM"),
                lambda listening: _candidates(method, data, idf, size, seed, listening),
                vsm, data, _METRICS, METRIC, part,
            )  # fmt: skip

        costs = {method: _COSTS[method] for method in methods if method in _COSTS}
        for found in progress.each(tested, costs).values():
            scored |= found
        table = score_table(
            "Ranking by judgments", "model", scored, _METRICS,
            "All documents are ranked for each query. The talk's own numbers are of other data "
            "and are not shown.",
        )  # fmt: skip
        notes = [
            *data.notes,
            "All models, and the weights of terms, are learned from clicked pairs alone, in "
            "one vocabulary without English stop words.",
            f"Dimensions, topics, ridges, similarity of topics and α: chosen by the {METRIC} "
            "of the validation queries' judgments. Scores of a blend are divided by their "
            "spread in training.",
            "The talk trains on titles clicked in a search engine, which are not public.",
        ]
        return Found(data.about, tables=[table], claims=_claims(scored), notes=notes)


def _name(method: str) -> str:
    return _NAMES.get(method) or str(get_method(method).tags.title)


def _pipeline(method: str, idf: Reals, params: Mapping[str, Any]) -> PairPipeline:
    """Not fitted, for items that are counts in one vocabulary."""
    cls = get_method(method)
    features = [Vectors() if cls.tags.input == "counts" else TermWeights(idf) for _ in ("x", "y")]
    shared = {"shared": True} if cls.tags.space == "either" else {}
    return PairPipeline(cls(**shared, **params), *features)


def _candidates(
    method: str, data: Task, idf: Reals, size: Size, seed: int, progress: Progress
) -> dict[str, PairPipeline]:
    """Fitted pipelines by their settings, in words."""
    title, grid = _name(method), _grid(method, size, data)
    found: dict[str, PairPipeline] = {}
    for setting, part in progress.over(list(grid)):
        words = f"Training {title}, {setting}" if setting else f"Training {title}"
        part(words)
        pipeline = _pipeline(method, idf, {**grid[setting], "random_state": seed})
        pipeline.set_callbacks(part.listen(words))
        fitted(pipeline, data.train, data.validation.pairs)
        part(words, 1.0)
        before = f"{setting}, " if setting else ""
        if method in ("plsa", "cplsa"):
            found |= {f"{before}{m}": _compared(pipeline, m) for m in ("js", "cosine")}
        elif get_method(method).tags.nested:
            found |= {f"{before}k = {k}": m for k, m in cut(pipeline, _SPECTRAL).items()}
        else:
            found[setting] = pipeline
    return found


def _grid(method: str, size: Size, data: Task) -> dict[str, dict[str, Any]]:
    """What is fitted: setting, in words, to parameters."""
    most = min(max(_SPECTRAL), *data.train.shape)
    if method == "opca":
        return {f"ridge {r:g}": {"n_components": most, "regularization": r} for r in _RIDGES}
    if method in ("plsa", "cplsa"):
        return {f"{k} topics": {"n_components": k} for k in _TOPICS[size]}
    if method == "s2net":
        settings = {"loss": "logistic", "init": "pca", "max_iter": 30, "patience": 5}
        sizes = sorted({min(k, *data.train.shape) for k in _LEARNED})
        return {f"k = {k}": {"n_components": k, **settings} for k in sizes}
    return {"": {"n_components": most}}


def _compared(fitted: PairPipeline, measure: str) -> PairPipeline:
    """The same topics, compared in another way."""
    other = copy.copy(fitted)
    other.model_ = copy.copy(fitted.model_).set_params(measure=measure)
    return other


def _claims(scored: Mapping[str, Scored]) -> list[Claim]:
    """What the talk concludes, each with its test."""
    if "S2Net" not in scored:
        return []
    values = {name: one.result.per_query(METRIC, "x2y") for name, one in scored.items()}
    wanted = [
        ("S2Net", "VSM", "S2Net alone ranks better than the vector space model."),
        ("S2Net + VSM", "VSM", "Combined with S2Net the vector space model ranks better."),
        ("S2Net + VSM", "S2Net", "S2Net ranks better when combined with the vector space model."),
    ]
    others = [name for name in scored if f"{name} + VSM" in scored and name != "S2Net"]
    if others:
        best = max(others, key=lambda name: scored[name].validation)
        mixed = max(others, key=lambda name: scored[f"{name} + VSM"].validation)
        in_validation = "in validation the best other model."
        wanted += [
            ("S2Net", best, f"S2Net ranks better than {best}, {in_validation}"),
            (
                "S2Net + VSM",
                f"{mixed} + VSM",
                f"Combined with VSM, S2Net ranks better than {mixed}, {in_validation}",
            ),
        ]
    return claims_ahead(wanted, values, str(METRIC), paper=paired_t)
