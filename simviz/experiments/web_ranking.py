"""Web ranking of the talk on S2Net: trained on clicks, measured by judgments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simviz.data import Items, PairSet, split
from simviz.datasets import load_demo
from simviz.datasets.pydocs import SAME
from simviz.evaluation.significance import paired_t
from simviz.experiments._bench import BlendedRanking, Task, TermWeights
from simviz.experiments._experiment import graded, two_texts
from simviz.experiments._parts import Parts, flattened
from simviz.features import TextCounts, Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline
from simviz.relevance import Relevance

_LINK_DEMO = "pydocs_links"


def of_links(judged: PairSet, links: PairSet, seed: int = 0) -> Parts:
    """Learn from links between documents, be measured by summaries that ask for documents."""
    parts = split(judged, by="x", seed=seed, candidates="judged")
    validation, test = (judged.take(parts.x_index[name]) for name in ("validation", "test"))
    summary = _introduced(judged)
    held = {*_introduced(validation), *_introduced(test)}
    matrix = links.relevance.positives.tocoo()
    there = zip(links.x.ids[matrix.row], links.y.ids[matrix.col], strict=True)
    clicks = {
        (summary[a], b)
        for link in there
        for a, b in (link, link[::-1])
        if not held & {a, b} and a in summary
    }
    (queries, rows), (clicked, columns) = (
        np.unique(side, return_inverse=True) for side in np.array(sorted(clicks), dtype=object).T
    )
    place = {name: j for j, name in enumerate(judged.y.ids)}
    pairs = PairSet(
        Items([str(i) for i in range(len(queries))], list(queries), "text"),
        judged.y.take([place[name] for name in clicked]),
        Relevance.from_pairs(
            rows, columns, shape=(len(queries), len(clicked)), unjudged="negative"
        ),
    )
    return Parts(judged.name, pairs, validation, test)


def _introduced(judged: PairSet) -> dict[str, str]:
    """Document to the summary that introduces it, for those of the highest grade."""
    matrix = judged.relevance.matrix.tocoo()
    best = matrix.data == SAME
    queries, documents = judged.x.content[matrix.row[best]], judged.y.ids[matrix.col[best]]
    return dict(zip(documents, queries, strict=True))


def of_judgments(parts: Parts) -> Parts:
    """Learn from the relevant pairs of training queries as if they had been clicked."""
    flat = flattened(parts.train)
    train = flat.take(None, np.unique(flat.relevance.positives.indices))
    return replace(parts, train=train)


class WebRanking(BlendedRanking):
    """NDCG of models trained on clicks, each alone and combined with the vector space model."""

    paper_test = paired_t

    def prepared(self, pairs: PairSet, *, seed: int = 0, **how: Any) -> Parts:
        """Make data of pairs that somebody brought."""
        if pairs.name == self.demo:
            return self._counted(of_links(pairs, load_demo(_LINK_DEMO), seed), "links")
        return super().prepared(pairs, seed=seed, **how)

    def _adapted(self, parts: Parts) -> Parts:
        return self._counted(of_judgments(parts), "judgments")

    def _counted(self, parts: Parts, stand_for: str) -> Parts:
        """Say how many clicked pairs there are to learn from, and what stands for clicks."""
        train, validation, test = parts.train, parts.validation, parts.test
        sizes = map(len, (train.x, validation.x, test.x, test.y))
        about = self.texts["about"].format(train.relevance.matrix.nnz, *sizes)
        return replace(parts, about=about, notes=(*parts.notes, self.texts[stand_for]))

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return two_texts(pairs) and graded(pairs)

    def _begun(self, data: Parts) -> tuple[Parts, PairPipeline]:
        """The words of all texts are counted once, for they are asked for many times."""
        counts = data.in_one_vocabulary(TextCounts(min_df=2, stop_words="english"))
        weights = TermWeights.of(counts.train)
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
