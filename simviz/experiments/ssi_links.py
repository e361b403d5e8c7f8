"""Table 1 of Bai et al. (2009): ranking documents by links between others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data import PairSet
from simviz.experiments._bench import BlendedRanking, Scored, Task, TermWeights, describe, tried
from simviz.experiments._experiment import RunResult, Size
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import TextCounts, Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline, same_vocabulary
from simviz.relevance import Relevance

#: Queries by which query expansion is chosen at most; it is slow, and gains little.
_MOST_QUERIES = 300
#: Share of links that are asked for where links are divided, as in the paper.
_QUERY_SHARE = 0.3


def by_link(parts: Parts, seed: int) -> Parts:
    """Divide links in place of documents: some are asked for, the others learned and no answers.

    Validation stays what it is. As many documents ask as do where they are divided.
    """
    train, rng = parts.train, np.random.default_rng(seed)
    links = train.relevance.positives.tocoo()
    # Both directions of a link are one.
    ends = np.sort(np.stack([links.row, links.col]), axis=0)
    both = np.unique(ends[0] * np.int64(len(train.x)) + ends[1], return_inverse=True)[1]
    n = both.max() + 1
    held = np.isin(both, rng.permutation(n)[: max(1, round(_QUERY_SHARE * n))])

    def some(chosen: NDArray[np.bool_]) -> PairSet:
        places = links.row[chosen], links.col[chosen]
        found = Relevance.from_pairs(*places, shape=links.shape, unjudged="negative")
        return replace(train, relevance=found)

    known: dict[str, list[str]] = {}
    for i, j in zip(*(train.x.ids[at[~held]] for at in (links.row, links.col)), strict=True):
        known.setdefault(i, []).append(j)
    queries = rng.permutation(np.unique(links.row[held]))[: len(parts.test.x)]
    learned, test = some(~held), some(held).take(np.sort(queries))
    return replace(parts, train=learned, test=test, known=known)


def are_counts(content: Any) -> bool:
    """Whether vectors are counts of terms: whole numbers, none below 0."""
    data = content.data if sp.issparse(content) else np.asarray(content)
    return bool((data >= 0).all() and (data == np.floor(data)).all())


class SsiLinks(BlendedRanking):
    """Rank loss, MAP and P@10 of what is learned from links, beside word matching."""

    def prepared(self, pairs: PairSet, **how: Any) -> Parts:
        """Make data of pairs that somebody brought."""
        return super().prepared(pairs, pool="all" if pairs.x is pairs.y else "mates", **how)

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        counts = all(
            side.kind == "vector" and are_counts(side.content) for side in (pairs.x, pairs.y)
        )
        one = counts and pairs.x.content.shape[1] == pairs.y.content.shape[1]
        return one or same_vocabulary(pairs)

    def _adapted(self, parts: Parts) -> Parts:
        """Documents that link others, of one collection or of two sides, weighed."""
        train, validation, test = parts.train, parts.validation, parts.test
        if parts.one_collection:
            everything = test.y
            place = {name: j for j, name in enumerate(everything.ids)}
            queries = [place[name] for part in (validation, test) for name in part.x.ids]
            known = np.setdiff1d(np.arange(len(everything)), queries)
            documents = everything.take(known)
            links, shape = train.relevance.matrix.tocoo(), (len(everything), len(everything))
            rows = np.array([place[name] for name in train.x.ids])[links.row]
            whole = Relevance.from_pairs(
                rows, links.col, links.data, shape=shape, unjudged="negative"
            )
            train = replace(train, x=documents, y=documents, relevance=whole.take(known, known))
            validation = validation.take(None, known)
        sizes = map(len, (validation.x, test.x, test.y))
        about = self.texts["about"].format(train.relevance.positives.nnz, *sizes)
        made = replace(parts, train=train, validation=validation, about=about)
        if train.x.kind == "text":
            made = made.in_one_vocabulary(TextCounts(min_df=2, stop_words="english"))
        return made.encoded(TermWeights.of(made.train, "log2"))

    def _run(
        self, data: Parts, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        """Run it with documents divided and, where they are one collection, with links divided."""
        if not data.one_collection:
            return super()._run(data, methods, size, seed, progress)
        one = super()._run(data, methods, size, seed, progress.part(0, 0.5))
        divided, title = by_link(data, seed), "Links divided: {}".format
        two = super()._run(divided, methods, size, seed, progress.part(0.5, 1))
        n_links, n_queries = divided.train.relevance.positives.nnz, len(divided.test.x)
        note = self.texts["divided"].format(n_links, n_queries)
        return RunResult(
            one.about,
            tables=[*one.tables, *(replace(t, title=title(t.title)) for t in two.tables)],
            claims=[*one.claims, *(replace(c, statement=title(c.statement)) for c in two.claims)],
            notes=[*one.notes, title(note)],
        )

    def _begun(self, data: Parts) -> tuple[Parts, PairPipeline]:
        return data, _pipeline("tfidf_cosine").fit(data.train)

    def _pipeline(self, method: str, task: Task, **params: Any) -> PairPipeline:
        if method == "ssi":
            params["shared"] = True
        return _pipeline(method, random_state=task.seed, **params)

    def _tested(self, method: str, task: Task, progress: Progress) -> dict[str, Scored]:
        if method != "query_expansion":
            return super()._tested(method, task, progress)
        # It is fed by the documents that are ranked.
        parts, validation = task.parts, task.parts.validation
        step = -(-len(validation.x) // _MOST_QUERIES)
        few = replace(parts, validation=validation.take(range(0, len(validation.x), step)))

        def make(**params: Any) -> tuple[PairPipeline, tuple[PairSet]]:
            return _pipeline(method, **params), (few.validation,)

        def value(one: tuple[Any, PairPipeline]) -> float:
            return few.ranked(one[1], [self.metric], "validation").value(self.metric)

        every = tried(method, task.grids[method], make, progress.part(0, 0.7))
        params, _ = max(every, key=value)
        progress("Testing query expansion", 0.7)
        fed = _pipeline(method, **params).fit(parts.test)
        return {self.name(method): Scored(parts.ranked(fed, self.metrics), describe(params))}


def _pipeline(method: str, **params: Any) -> PairPipeline:
    return PairPipeline(get_method(method)(**params), Vectors(), Vectors())
