"""Table 1 of Bai et al. (2009): ranking documents by links between others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data import Items, PairSet
from simviz.evaluation.comparisons import compare_all
from simviz.evaluation.metrics import MAP, Precision, RankLoss
from simviz.evaluation.result import Evaluation
from simviz.experiments._blending import Asked, Chosen, choose
from simviz.experiments._experiment import SSI, Experiment, Size
from simviz.experiments._findings import Cell, Claim, Findings, Table
from simviz.experiments._parts import Parts, Pool, read_parts
from simviz.experiments._progress import Progress
from simviz.features import Tfidf, Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline, same_vocabulary
from simviz.relevance import Relevance


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links to learn from, to choose settings by, and to test on."""

    name: str
    train: PairSet
    validation: Asked
    test: Asked
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """How much there is, in words."""
        links = self.train.relevance.positives.nnz
        asked = f"{len(self.validation.pairs.x):,} and {len(self.test.pairs.x):,} documents"
        return (
            f"{links:,} links to learn from, {asked} that ask in validation and test, "
            f"{len(self.test.pairs.y):,} to rank in the test"
        )


def between_sides(parts: Parts) -> Links:
    """Documents of one side that link documents of the other."""
    train, validation, test = _weighted((parts.train, parts.validation, parts.test))
    return Links(parts.name, train, Asked(validation), Asked(test), parts.notes)


def within_collection(parts: Parts) -> Links:
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
    parts_of = _weighted((train, validation, parts.test))
    return Links(
        parts.name,
        replace(parts_of[0], y=parts_of[0].x),
        Asked(parts_of[1], one_collection=True),
        Asked(parts_of[2], one_collection=True),
        parts.notes,
    )


def _weighted(parts: Sequence[PairSet]) -> list[PairSet]:
    """Texts and counts as tf·idf, with the document frequencies of the first part."""
    train = parts[0]
    if train.x.kind == "text":
        texts: Any = np.concatenate([train.x.content, train.y.content])
        words = Tfidf(tf="log2", min_df=2, stop_words="english").fit(texts)
        return [_as_vectors(part, words.transform) for part in parts]
    same = train.x is train.y
    both = sp.csr_array(train.x.content if same else sp.vstack([train.x.content, train.y.content]))
    df = np.bincount(both.indices[both.data != 0], minlength=both.shape[1])
    idf = np.where(df > 0, np.log(both.shape[0] / np.maximum(df, 1)), 0.0)

    def weighed(content: Any) -> sp.csr_array:
        counts = sp.csr_array(content, dtype=np.float64)
        counts.eliminate_zeros()
        counts.data = (1 + np.log2(counts.data)) * idf[counts.indices]
        return _unit(counts)

    return [_as_vectors(part, weighed) for part in parts]


def _as_vectors(part: PairSet, transform: Any) -> PairSet:
    x, y = (
        Items(side.ids, transform(side.content), "vector", side.metadata)
        for side in (part.x, part.y)
    )
    return replace(part, x=x, y=y)


def _unit(rows: sp.csr_array) -> sp.csr_array:
    from simviz.base import unit_rows

    scaled: sp.csr_array = unit_rows(rows).astype(np.float32)
    return scaled


def are_counts(content: Any) -> NDArray[np.bool_] | bool:
    """Whether vectors are counts of terms: whole numbers, none below 0."""
    data = content.data if sp.issparse(content) else np.asarray(content)
    return bool((data >= 0).all() and (data == np.floor(data)).all())


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


class SsiLinks(Experiment[Links]):
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
    ) -> Links:
        """Read documents and links."""
        if path is None:
            return super().load(size=size, seed=seed, n_train=n_train, n_pool=n_pool)
        parts = read_parts(path, pool="all", seed=seed)
        alone = not any(Path(path).glob("y.*"))
        return self._links(parts.thinned(n_train, n_pool, pool="all"), alone)

    def prepared(
        self,
        pairs: PairSet,
        *,
        seed: int = 0,
        n_train: int | None = None,
        n_pool: int | None = None,
    ) -> Links:
        """Make data of pairs that somebody brought."""
        alone = pairs.x is pairs.y
        given = any("split" in side.metadata for side in (pairs.x, pairs.y))
        pool: Pool = "all" if alone else "mates"
        parts = Parts.of(pairs, by="column" if given else "x", pool=pool, seed=seed)
        return self._links(parts.thinned(n_train, n_pool, pool=pool), alone)

    def refusal(self, pairs: PairSet) -> str:
        """Why it cannot be run on these pairs."""
        counts = all(
            side.kind == "vector" and are_counts(side.content) for side in (pairs.x, pairs.y)
        )
        one = counts and pairs.x.content.shape[1] == pairs.y.content.shape[1]
        return "" if one or same_vocabulary(pairs) else f"It needs {self.needs}."

    def run(
        self,
        data: Links,
        *,
        size: Size = "demo",
        seed: int = 0,
        methods: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Findings:
        """Train, choose settings by validation, and test."""
        progress = progress or Progress()
        wanted = dict.fromkeys(("tfidf_cosine", *self.chosen(methods)))
        lexical = _fitted("tfidf_cosine", data.train)

        def tested(method: str, part: Progress) -> dict[str, tuple[Evaluation, str]]:
            """Scores by their titles, and what was chosen."""
            name = _TITLES[method]
            part(f"Training {name}")
            if method == "tfidf_cosine":
                return {name: (data.test.evaluate(lexical, _METRICS), "")}
            if method == "query_expansion":
                return {name: _expanded(data, size, part)}
            found = choose(
                self._candidates(method, data, seed, part.part(0, 0.7)),
                lexical, data.train, data.validation, MAP(),
                callback=part.part(0.7, 0.9).listen(f"Weighing {name}"),
            )  # fmt: skip
            part(f"Testing {name}", 0.9)
            return {
                title: (data.test.evaluate(scorer, _METRICS), chosen)
                for title, scorer, chosen in (
                    (name, found.learned, found.setting),
                    (f"α {name} + (1 − α) TFIDF", found.blend, _weighed(found)),
                )
            }

        by_method = progress.each(tested, {method: _COSTS[method] for method in wanted})
        results = {title: both for found in by_method.values() for title, both in found.items()}
        tests = {title: result for title, (result, _) in results.items()}
        told = {title: chosen for title, (_, chosen) in results.items()}
        return self.findings(
            data.name, data.in_words(), size, seed,
            tables=[_table(tests, told)],
            claims=_claims(tests),
            notes=[
                *data.notes,
                "Chosen by the MAP of validation: dimensions, the weight α, the pass at which SSI "
                "stops, and the settings of query expansion. Both scores of a blend are divided "
                "by their spread in training.",
                "Words: 1 + log₂ of counts, times idf of the training documents, length 1. The "
                "paper uses 1.8 million pages of Wikipedia and their links.",
            ],
        )  # fmt: skip

    @staticmethod
    def _links(parts: Parts, alone: bool) -> Links:
        return within_collection(parts) if alone else between_sides(parts)

    @staticmethod
    def _candidates(
        method: str, data: Links, seed: int, progress: Progress
    ) -> dict[str, PairPipeline]:
        listen = progress.listen(f"Training {_TITLES[method]}")
        if method == "ssi":
            model = get_method("ssi")(shared=True, random_state=seed)
            pipeline = PairPipeline(model, Vectors(), Vectors()).set_callbacks(listen)
            fitted = pipeline.fit(data.train, data.validation.pairs)
            progress("Training SSI", 1.0)
            return {f"{model.n_components} dimensions": fitted}
        most = min(max(_SIZES), *data.train.x.content.shape)
        model = get_method("lsa")(most, random_state=seed)
        fitted = PairPipeline(model, Vectors(), Vectors()).set_callbacks(listen).fit(data.train)
        progress("Training LSI", 1.0)
        top = fitted.model_.n_components_
        return {f"{k} dimensions": fitted.truncate(k) for k in _SIZES if k <= top}


def _fitted(method: str, pairs: PairSet, **params: float) -> PairPipeline:
    return PairPipeline(get_method(method)(**params), Vectors(), Vectors()).fit(pairs)


def _expanded(data: Links, size: Size, progress: Progress) -> tuple[Evaluation, str]:
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
    return data.test.evaluate(fed, _METRICS), f"β = {beta:g}, {n} documents"


def _weighed(found: Chosen) -> str:
    return f"α = {found.alpha:.2f}, {found.blend_setting}"


def _table(tests: dict[str, Evaluation], told: dict[str, str]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (name, *(result.value(metric, "x2y") for metric in _METRICS), told.get(name, ""))
        for name, result in tests.items()
    ]
    return Table(
        "Table 1: ranking by links",
        ("scores", *(str(metric) for metric in _METRICS), "chosen by validation"),
        tuple(rows),
        "Rank loss is the share of pairs of a linked and another document in the wrong order: "
        "less is better. The paper's own numbers are of other documents and are not shown.",
    )


def _claims(tests: dict[str, Evaluation]) -> list[Claim]:
    """What the paper concludes, each with its test."""
    values = {name: result.per_query(MAP(), "x2y") for name, result in tests.items()}
    claims = []
    others = {
        "TFIDF": "SSI ranks better than TFIDF.",
        "LSI": "SSI ranks better than LSI.",
        "α LSI + (1 − α) TFIDF": "SSI ranks better than LSI blended with TFIDF.",
    }
    known = [name for name in others if name in values]
    if "SSI" in values and known:
        runs = {name: values[name] for name in ("SSI", *known)}
        found = compare_all(runs, baseline="SSI")
        for name, statement in others.items():
            quantity = f"MAP, SSI − {name}"
            if name in known:
                claims.append(Claim.ahead(statement, found.between("SSI", name), quantity))
    if "query expansion" in values:
        level = compare_all({n: values[n] for n in ("query expansion", "TFIDF")})
        claims.append(
            Claim.level(
                "Query expansion ranks as TFIDF does.",
                level.between("query expansion", "TFIDF"),
                _MARGIN,
                "MAP, query expansion − TFIDF",
                published="equal in every printed digit",
            )
        )
    return claims
