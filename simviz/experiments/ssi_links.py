"""Table 1 of Bai et al. (2009): ranking documents by links between others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from simviz.base import unit_rows
from simviz.data import Items, PairSet
from simviz.evaluation.metrics import MAP, Precision, RankLoss
from simviz.evaluation.significance import paired_randomization
from simviz.experiments._blending import Asked, Scored, Task, alone_and_blended, score_table
from simviz.experiments._experiment import SSI, Experiment, Found, Size
from simviz.experiments._findings import Claim, claims_ahead
from simviz.experiments._parts import Parts, Pool, read_parts
from simviz.experiments._progress import Progress
from simviz.features import Tfidf, Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline, same_vocabulary
from simviz.relevance import Relevance

_METRICS = (RankLoss(), MAP(), Precision(10))
_SIZES = (50, 100, 200, 400)
_BETAS, _FEEDBACK = (0.0, 0.1, 0.25, 0.5, 1.0), (10, 50)
#: Queries by which query expansion is chosen at most; it is slow, and gains little.
_MOST_QUERIES = 300
#: Differences of average precision below it do not matter.
_MARGIN = 0.005
_TITLES = {
    "tfidf_cosine": "TFIDF",
    "query_expansion": "query expansion",
    "lsa": "LSI",
    "ssi": "SSI",
}
#: How long each takes, about.
_COSTS = {"tfidf_cosine": 1.0, "query_expansion": 3.0, "lsa": 3.0, "ssi": 8.0}


def linked(train: PairSet, validation: PairSet, test: PairSet, parts: Parts, alone: bool) -> Task:
    """Make a task of parts; `alone`: their documents are of one collection."""
    about = (
        f"{train.relevance.positives.nnz:,} links to learn from, {len(validation.x):,} and "
        f"{len(test.x):,} documents that ask in validation and test, {len(test.y):,} to rank in "
        "the test"
    )
    return Task(
        parts.name, train, Asked(validation, alone), Asked(test, alone), about, parts.notes
    )


def between_sides(parts: Parts) -> Task:
    """Documents of one side that link documents of the other."""
    return linked(*_weighted((parts.train, parts.validation, parts.test)), parts, False)


def within_collection(parts: Parts) -> Task:
    """Documents of one collection that link each other."""
    everything = parts.test.y
    place = {name: j for j, name in enumerate(everything.ids)}
    held = [np.array([place[i] for i in part.x.ids]) for part in (parts.validation, parts.test)]
    known = np.setdiff1d(np.arange(len(everything)), np.concatenate(held))
    documents = everything.take(known)
    asks = np.array([place[i] for i in parts.train.x.ids])
    links = parts.train.relevance.matrix.tocoo()
    whole = Relevance.from_pairs(
        asks[links.row], links.col, links.data, shape=(len(everything), len(everything)),
        unjudged="negative",
    )  # fmt: skip
    train = replace(parts.train, x=documents, y=documents, relevance=whole.take(known, known))
    validation = parts.validation.take(None, known)
    train, validation, test = _weighted((train, validation, parts.test))
    return linked(replace(train, y=train.x), validation, test, parts, True)


def _weighted(parts: Sequence[PairSet]) -> tuple[PairSet, PairSet, PairSet]:
    """Texts and counts as tf·idf, with the document frequencies of the first part."""
    train = parts[0]
    if train.x.kind == "text":
        texts: Any = np.concatenate([train.x.content, train.y.content])
        words = Tfidf(tf="log2", min_df=2, stop_words="english").fit(texts)
        return _as_vectors(parts, words.transform)
    same = train.x is train.y
    both = sp.csr_array(train.x.content if same else sp.vstack([train.x.content, train.y.content]))
    df = np.bincount(both.indices[both.data != 0], minlength=both.shape[1])
    idf = np.where(df > 0, np.log(both.shape[0] / np.maximum(df, 1)), 0.0)

    def weighed(content: Any) -> sp.csr_array:
        counts = sp.csr_array(content, dtype=np.float64)
        counts.eliminate_zeros()
        counts.data = (1 + np.log2(counts.data)) * idf[counts.indices]
        return sp.csr_array(unit_rows(counts), dtype=np.float32)

    return _as_vectors(parts, weighed)


def _as_vectors(parts: Sequence[PairSet], transform: Any) -> tuple[PairSet, PairSet, PairSet]:
    def vectors(side: Items) -> Items:
        return Items(side.ids, transform(side.content), "vector", side.metadata)

    train, validation, test = (replace(p, x=vectors(p.x), y=vectors(p.y)) for p in parts)
    return train, validation, test


def are_counts(content: Any) -> bool:
    """Whether vectors are counts of terms: whole numbers, none below 0."""
    data = content.data if sp.issparse(content) else np.asarray(content)
    return bool((data >= 0).all() and (data == np.floor(data)).all())


class SsiLinks(Experiment[Task]):
    """Rank loss, MAP and P@10 of what is learned from links, beside word matching."""

    title = "Documents ranked by what links between others teach"
    paper = SSI
    shown_as = "Table 1"
    sentence = "Does learning from links rank documents better than counting shared words?"
    needs = "documents that link each other, in one language"
    demo = "pydocs_links"
    sets = ("cora", "citeulike_t")
    methods = ("tfidf_cosine", "query_expansion", "lsa", "ssi")
    minutes = 1.0
    split_by = "x"

    def load(
        self,
        path: str | Path | None = None,
        *,
        size: Size = "demo",
        seed: int = 0,
        n_train: int | None = None,
        n_pool: int | None = None,
    ) -> Task:
        """Read documents and links."""
        if path is None:
            return super().load(size=size, seed=seed, n_train=n_train, n_pool=n_pool)
        parts = read_parts(path, pool="all", seed=seed)
        made = between_sides if any(Path(path).glob("y.*")) else within_collection
        return made(parts.thinned(n_train, n_pool, pool="all"))

    def prepared(
        self,
        pairs: PairSet,
        *,
        seed: int = 0,
        n_train: int | None = None,
        n_pool: int | None = None,
    ) -> Task:
        """Make data of pairs that somebody brought."""
        alone = pairs.x is pairs.y
        given = any("split" in side.metadata for side in (pairs.x, pairs.y))
        pool: Pool = "all" if alone else "mates"
        parts = Parts.of(pairs, by="column" if given else "x", pool=pool, seed=seed)
        made = within_collection if alone else between_sides
        return made(parts.thinned(n_train, n_pool, pool=pool))

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        counts = all(
            side.kind == "vector" and are_counts(side.content) for side in (pairs.x, pairs.y)
        )
        one = counts and pairs.x.content.shape[1] == pairs.y.content.shape[1]
        return one or same_vocabulary(pairs)

    def _run(
        self, data: Task, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> Found:
        """Train, choose settings by validation, and test."""
        lexical = _fitted("tfidf_cosine", data.train)

        def tested(method: str, part: Progress) -> dict[str, Scored]:
            name = _TITLES[method]
            part(f"Training {name}")
            if method == "tfidf_cosine":
                return {name: Scored(data.test.evaluate(lexical, _METRICS))}
            if method == "query_expansion":
                return {name: _expanded(data, size, part)}
            return alone_and_blended(
                (name, f"α {name} + (1 − α) TFIDF"),
                lambda listening: _candidates(method, data, seed, listening),
                lexical, data, _METRICS, MAP(), part,
            )  # fmt: skip

        wanted = {method: _COSTS[method] for method in ("tfidf_cosine", *methods)}
        scored: dict[str, Scored] = {}
        for found in progress.each(tested, wanted).values():
            scored |= found
        table = score_table(
            "Table 1: ranking by links", "scores", scored, _METRICS,
            "Rank loss is the share of pairs of a linked and another document in the wrong order: "
            "less is better. The paper's own numbers are of other documents and are not shown.",
        )  # fmt: skip
        notes = [
            *data.notes,
            "Chosen by the MAP of validation: dimensions, the weight α, the pass at which SSI "
            "stops, and the settings of query expansion. Both scores of a blend are divided "
            "by their spread in training.",
            "Words: 1 + log₂ of counts, times idf of the training documents, length 1. The "
            "paper uses 1.8 million pages of Wikipedia and their links.",
        ]
        return Found(data.about, tables=[table], claims=_claims(scored), notes=notes)


def _candidates(method: str, data: Task, seed: int, progress: Progress) -> dict[str, PairPipeline]:
    """Fitted pipelines by their settings, in words."""
    name = _TITLES[method]
    params: dict[str, Any] = {"shared": True}
    if method == "lsa":
        params = {"n_components": min(max(_SIZES), *data.train.x.content.shape)}
    model: Any = get_method(method)(**params, random_state=seed)
    pipeline = PairPipeline(model, Vectors(), Vectors())
    pipeline.set_callbacks(progress.listen(f"Training {name}"))
    pipeline.fit(data.train, *([data.validation.pairs] if method == "ssi" else []))
    progress(f"Training {name}", 1.0)
    if method == "ssi":
        return {f"{model.n_components} dimensions": pipeline}
    top = pipeline.model_.n_components_
    return {f"{k} dimensions": pipeline.truncate(k) for k in _SIZES if k <= top}


def _fitted(method: str, pairs: PairSet, **params: float) -> PairPipeline:
    return PairPipeline(get_method(method)(**params), Vectors(), Vectors()).fit(pairs)


def _expanded(data: Task, size: Size, progress: Progress) -> Scored:
    """Query expansion, fed by the documents that are ranked."""
    held = data.validation
    step = -(-len(held.pairs.x) // _MOST_QUERIES)
    few = Asked(held.pairs.take(range(0, len(held.pairs.x), step)), held.one_collection)
    best = (-1.0, 0.0, _FEEDBACK[0])
    grid = [(b, n) for n in (_FEEDBACK[:1] if size == "demo" else _FEEDBACK) for b in _BETAS]
    for (beta, n), part in progress.part(0, 0.7).over(grid):
        part("Choosing query expansion")
        fed = _fitted("query_expansion", few.pairs, beta=beta, n_feedback=n)
        value = few.evaluate(fed, [MAP()]).value(MAP())
        best = max(best, (value, beta, n))
    _, beta, n = best
    progress("Testing query expansion", 0.7)
    fed = _fitted("query_expansion", data.test.pairs, beta=beta, n_feedback=n)
    return Scored(data.test.evaluate(fed, _METRICS), f"β = {beta:g}, {n} documents")


def _claims(scored: Mapping[str, Scored]) -> list[Claim]:
    """What the paper concludes, each with its test."""
    values = {name: one.result.per_query(MAP(), "x2y") for name, one in scored.items()}
    wanted = [
        ("SSI", "TFIDF", "SSI ranks better than TFIDF."),
        ("SSI", "LSI", "SSI ranks better than LSI."),
        ("SSI", "α LSI + (1 − α) TFIDF", "SSI ranks better than LSI blended with TFIDF."),
    ]
    claims = claims_ahead(wanted, values, "MAP")
    if "query expansion" in values:
        claims.append(
            Claim.level(
                "Query expansion ranks as TFIDF does.",
                paired_randomization(values["query expansion"], values["TFIDF"]),
                _MARGIN,
                "MAP, query expansion − TFIDF",
                published="equal in every printed digit",
            )
        )
    return claims
