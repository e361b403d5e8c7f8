"""Web ranking of the talk on S2Net: trained on clicks, measured by judgments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simviz.data import Items, PairSet, split
from simviz.datasets import load_demo
from simviz.datasets.pydocs import SAME
from simviz.evaluation.significance import paired_t
from simviz.experiments._blending import BlendedRanking, Task, TermWeights
from simviz.experiments._experiment import graded, two_texts
from simviz.experiments._parts import Parts
from simviz.features import TextCounts, Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline
from simviz.relevance import Relevance

_LINK_DEMO = "pydocs_links"


def clicks(parts: Parts, stands_for: str) -> Parts:
    """Say how many clicked pairs there are to learn from, and what stands for clicks."""
    train, validation, test = parts.train, parts.validation, parts.test
    about = (
        f"{train.relevance.matrix.nnz:,} clicks of {len(train.x):,} queries to learn from, "
        f"{len(validation.x):,} and {len(test.x):,} judged queries in validation and test, "
        f"{len(test.y):,} documents"
    )
    return replace(parts, about=about, notes=(*parts.notes, stands_for))


def of_links(judged: PairSet, links: PairSet, seed: int = 0) -> Parts:
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
    queries, clicked = (sorted({click[i] for click in clicked_pairs}) for i in (0, 1))
    x_at, y_at = ({name: i for i, name in enumerate(side)} for side in (queries, clicked))
    place = {name: j for j, name in enumerate(judged.y.ids)}
    pairs = PairSet(
        Items([str(i) for i in range(len(queries))], queries, "text"),
        judged.y.take([place[name] for name in clicked]),
        Relevance.from_pairs(
            *zip(*((x_at[a], y_at[b]) for a, b in sorted(clicked_pairs)), strict=True),
            shape=(len(queries), len(clicked)),
            unjudged="negative",
        ),
    )
    stands_for = (
        "Links under See also stand for clicks: the summary of a page asks, and the pages that "
        "it links, or that link it, were clicked. Pages of the judged queries are left out."
    )
    return clicks(Parts(judged.name, pairs, validation, test), stands_for)


def _introduced(judged: PairSet) -> dict[str, str]:
    """Document to the summary that introduces it, for those of the highest grade."""
    matrix = judged.relevance.matrix.tocoo()
    best = matrix.data == SAME
    queries, documents = judged.x.content[matrix.row[best]], judged.y.ids[matrix.col[best]]
    return dict(zip(documents, queries, strict=True))


def of_judgments(parts: Parts) -> Parts:
    """Learn from the relevant pairs of training queries as if they had been clicked."""
    stands_for = (
        "Relevant pairs of the training queries stand for clicks; their grades are dropped."
    )
    return clicks(replace(parts, train=_clicked(parts.train)), stands_for)


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

    paper_test = paired_t

    def prepared(self, pairs: PairSet, *, seed: int = 0, **how: Any) -> Parts:
        """Make data of pairs that somebody brought."""
        if pairs.name == self.demo:
            return of_links(pairs, load_demo(_LINK_DEMO), seed)
        return super().prepared(pairs, seed=seed, **how)

    def _adapted(self, parts: Parts) -> Parts:
        return of_judgments(parts)

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return two_texts(pairs) and graded(pairs)

    def _begun(self, data: Parts) -> tuple[Parts, PairPipeline]:
        """The words of all texts are counted once, for they are asked for many times."""
        clicked = data.train
        words = TextCounts(min_df=2, stop_words="english")
        both = words.fit_transform([*clicked.x.content, *clicked.y.content])
        df = np.bincount(both.indices, minlength=both.shape[1])

        counts = data.encoded(lambda items: words.transform(items.content))
        weights = TermWeights(np.log(both.shape[0] / df))
        lexical = PairPipeline(get_method("tfidf_cosine")(), weights, weights)
        return counts, lexical.fit(counts.train)

    def _pipeline(self, method: str, task: Task, **params: Any) -> PairPipeline:
        cls = get_method(method)
        features = Vectors() if cls.tags.input == "counts" else task.lexical.x_features
        if cls.tags.space == "either":
            params["shared"] = True
        if method == "s2net":
            params |= {"init": "pca", "max_iter": 30, "patience": 5}
        return PairPipeline(cls(random_state=task.seed, **params), features, features)
