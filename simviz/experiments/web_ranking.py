"""Web ranking of the talk on S2Net: trained on clicks, measured by judgments."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import TopicSimilarity
from simviz.data import Items, PairSet, split
from simviz.datasets import load_demo
from simviz.datasets.pydocs import SAME
from simviz.evaluation.metrics import NDCG
from simviz.evaluation.significance import paired_t
from simviz.experiments._blending import BlendedRanking, HeldOut, Task
from simviz.experiments._experiment import SLIDES, Grids, Size, graded, two_texts
from simviz.experiments._parts import Parts
from simviz.features import TextCounts, Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline
from simviz.relevance import Relevance

_LINK_DEMO = "pydocs_links"
_SIZES = {"n_components": BlendedRanking.sizes}
_TOPICS = {"n_components": (50, 100, 200, 400)}
_LEARNED = {
    "n_components": (100, 400), "loss": ("logistic", "softmax"),
    "learning_rate": (0.3, 0.1, 0.03, 0.01),
}  # fmt: skip
_GRID: Grids = {
    "lsa": _SIZES, "cl_lsi": _SIZES, "opca": {**_SIZES, "regularization": (0.1, 1.0, 10.0)},
    "plsa": _TOPICS, "cplsa": _TOPICS, "s2net": _LEARNED,
}  # fmt: skip


def clicks(
    name: str, train: PairSet, validation: PairSet, test: PairSet, notes: tuple[str, ...]
) -> Task:
    """Make a task of clicked pairs, and of judged queries of another set of the same kinds."""
    about = (
        f"{train.relevance.matrix.nnz:,} clicks of {len(train.x):,} queries to learn from, "
        f"{len(validation.x):,} and {len(test.x):,} judged queries in validation and test, "
        f"{len(test.y):,} documents"
    )
    return Task(name, train, HeldOut(validation), HeldOut(test), about, notes)


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


def _clicked(pairs: PairSet) -> PairSet:
    """Relevant pairs alone, each as good as the other, with the items they are of."""
    positives = pairs.relevance.positives.copy()
    positives.data[:] = 1
    x = np.flatnonzero(np.diff(positives.indptr))
    y = np.unique(positives.indices)
    flat = replace(pairs, relevance=Relevance(positives, unjudged="negative"))
    return flat.take(x, y)


class WebRanking(BlendedRanking):
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
    full_minutes: ClassVar[Mapping[str, float]] = {"pydocs": 2.5, "nfcorpus": 24}
    grids: ClassVar[Mapping[Size, Grids]] = {
        "demo": {
            **_GRID,
            "plsa": {"n_components": (50,)},
            "cplsa": {"n_components": (50,)},
            "s2net": {**_LEARNED, "learning_rate": (0.3, 0.03)},
        },
        "full": _GRID,
    }
    pool = "all"
    split_by = "x"
    revision = 2
    names: ClassVar[dict[str, str]] = {"lsa": "LSA"}
    costs: ClassVar[dict[str, float]] = {
        "lsa": 1.0, "plsa": 1.5, "cl_lsi": 1.0, "opca": 2.0, "cplsa": 4.0, "s2net": 8.0,
    }  # fmt: skip
    lexical = "VSM"
    blend = "{} + VSM"
    metrics = (NDCG(1), NDCG(3), NDCG(10))
    metric = NDCG(10)
    published_as = "NDCG"
    table = (
        "Ranking by judgments",
        "model",
        "All documents are ranked for each query. The talk's own numbers are of other data "
        "and are not shown.",
    )
    claims = (
        ("S2Net", "VSM", "S2Net alone ranks better than the vector space model."),
        ("S2Net + VSM", "VSM", "Combined with S2Net the vector space model ranks better."),
        ("S2Net + VSM", "S2Net", "S2Net ranks better when combined with the vector space model."),
    )
    paper_test = paired_t
    remarks = (
        "All models, and the weights of terms, are learned from clicked pairs alone, in "
        "one vocabulary without English stop words.",
        "Dimensions, topics, ridges, similarity of topics, loss and rate of S2Net, and α: chosen "
        f"by the {metric} of the validation queries' judgments. Scores of a blend are divided by "
        "their spread in training.",
        "The talk trains on titles clicked in a search engine, which are not public.",
    )

    def prepared(self, pairs: PairSet, *, seed: int = 0, **how: Any) -> Task:
        """Make data of pairs that somebody brought."""
        if pairs.name == self.demo:
            return of_links(pairs, load_demo(_LINK_DEMO), seed)
        return super().prepared(pairs, seed=seed, **how)

    def _adapted(self, parts: Parts) -> Task:
        return of_judgments(parts)

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return two_texts(pairs) and graded(pairs)

    def _begun(self, data: Task) -> tuple[Task, PairPipeline]:
        """The words of all texts are counted once, for they are asked for many times."""
        clicked = data.train
        words = TextCounts(min_df=2, stop_words="english")
        both = words.fit_transform([*clicked.x.content, *clicked.y.content])
        df = np.bincount(both.indices, minlength=both.shape[1])

        def vectors(pairs: PairSet) -> PairSet:
            x, y = (
                Items(side.ids, words.transform(side.content), "vector")
                for side in (pairs.x, pairs.y)
            )
            return replace(pairs, x=x, y=y)

        counts = replace(
            data,
            train=vectors(clicked),
            validation=HeldOut(vectors(data.validation.pairs)),
            test=HeldOut(vectors(data.test.pairs)),
        )
        weights = TermWeights(np.log(both.shape[0] / df))
        lexical = PairPipeline(get_method("tfidf_cosine")(), weights, weights)
        return counts, lexical.fit(counts.train)

    def _pipelines(
        self, method: str, task: Task, lexical: PairPipeline, size: Size, seed: int
    ) -> dict[str, PairPipeline]:
        cls = get_method(method)
        features = Vectors() if cls.tags.input == "counts" else lexical.x_features
        usual: dict[str, Any] = {"shared": True} if cls.tags.space == "either" else {}
        usual["random_state"] = seed
        if method == "s2net":
            usual |= {"init": "pca", "max_iter": 30, "patience": 5}
        return {
            setting: PairPipeline(cls(**usual, **params), features, features)
            for setting, params in self._settings(method, size).items()
        }

    def _variants(self, pipeline: PairPipeline) -> dict[str, PairPipeline]:
        """Topics are compared in two ways."""
        if not isinstance(pipeline.model, TopicSimilarity):
            return super()._variants(pipeline)
        found = {}
        for measure in ("js", "cosine"):
            found[measure] = copy.copy(pipeline)
            found[measure].model_ = copy.copy(pipeline.model_).set_params(measure=measure)
        return found
