"""Table 1 of Wu, Xu and Li (2010): ranking documents for new queries, over many trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Reals
from simviz.data import Items, PairSet
from simviz.datasets import load_demo
from simviz.evaluation import MAP, blend_curve, corrected_resampled_t, paired_t
from simviz.exceptions import DatasetError
from simviz.experiments._bench import blend_weights, describe, tried
from simviz.experiments._claims import Judge
from simviz.experiments._experiment import Experiment, Grid, Grids, RunResult, Size, two_texts
from simviz.experiments._findings import Cell, Table
from simviz.experiments._parts import Parts, read_parts
from simviz.experiments._progress import Progress
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

Ints = NDArray[np.integer[Any]]
Scores = NDArray[np.floating[Any]]

#: Share of the queries that each division tests on.
TEST_SHARE = 0.2
ALPHAS = np.linspace(0, 1, 11)
_CONSTRAINTS = 4_000
N_TRIALS = 10
#: Queries of the demo; the paper has 50.
N_QUERIES = 250
_FOLDS: Mapping[Size, int] = {"demo": 3, "full": 5}
_FEWEST = 15
_JUDGE = Judge(
    quantity="MAP, {} − {}".format,
    test=partial(corrected_resampled_t, test_fraction=TEST_SHARE),
    paper=lambda a, b: replace(paired_t(a, b), unit="split"),
)


class Measured(NamedTuple):
    """A scorer on the test queries of one division."""

    value: float
    setting: str = ""


class Collection:
    """Queries and documents, and everything that is not learned from pairs."""

    def __init__(self, pairs: PairSet, grids: Grids, seed: int) -> None:
        queries, documents = pairs.x.content, pairs.y.content
        self.relevance, self.grids, self.seed = pairs.relevance, grids, seed
        tfidf = Tfidf(stop_words="english", min_df=2).fit(documents)
        counts = TextCounts(stop_words="english").fit(documents)
        self.X, self.Y = tfidf.transform(queries), tfidf.transform(documents)
        self.vsm: Scores = (self.X @ self.Y.T).toarray()
        sides = counts.transform(queries), counts.transform(documents)
        cls: Any = get_method("bm25")
        bm25 = cls(**cls.presets["paper"]).fit(*sides, self.relevance)
        self.bm25: Scores = bm25.similarity(*sides)
        largest = max(grids["mlc"]["n_components"])
        self.space: Any = get_method("pca")(largest, random_state=seed)
        self.space.fit(self.X, self.Y, self.relevance)
        # Turned into the few dimensions that queries span: no inner product of queries, and no
        # learned similarity to a document, is changed by it.
        U, s, _ = np.linalg.svd(self.X.toarray(), full_matrices=False)
        self.turned = (U * s).astype(self.X.dtype)

    def learned(
        self, method: str, train: Ints, test: Ints, progress: Progress
    ) -> dict[str, tuple[Mapping[str, Any], Scores]]:
        """Settings and scores of all documents for some queries, learned from other queries."""
        cls, grid = get_method(method), self.grids[method]
        X = self.turned if method == "heterogeneous_svd" else self.X
        data = X[train], self.Y, self.relevance.take(train)

        def make(n_components: int, form: str = "", **params: Any) -> tuple[Any, tuple[Any, ...]]:
            if not form:
                return cls(n_components, measure="dot", random_state=self.seed, **params), data
            space = self.space.truncate(min(n_components, self.space.n_components_))
            made = cls(
                space.n_components_, init=space, form="full" if form == "start" else form,
                n_constraints=_CONSTRAINTS, tol=1e-3, validation_fraction=0,
                random_state=self.seed,
            )  # fmt: skip
            if form == "start":  # stopped before its first step
                return made.set_callbacks(lambda *_: True).fit(*data), ()
            return made, data

        results: dict[str, tuple[Mapping[str, Any], Scores]] = {}
        for params, model in tried(method, grid, make, progress):
            # Folds that differ by a query may give a dimension more or less: names are those of
            # the grid, so that settings can be compared.
            k = min(k for k in grid["n_components"] if k >= params["n_components"])
            params["n_components"] = k
            results[describe(params)] = params, model.similarity(X[test], self.Y)
        return results

    def curve(self, scores: Scores, rows: Ints) -> Reals:
        """MAP of some queries by the weight of learned scores, beside BM25's in their spreads."""
        both = scores / (scores.std() or 1.0), self.bm25[rows] / (self.bm25.std() or 1.0)
        known: Any = SimpleNamespace(iter_parts=lambda *_, **__: iter([both]))
        sides = self.X[rows], self.Y, self.relevance.take(rows)
        return blend_curve(known, *sides, ALPHAS, metrics=[MAP()], directions=["x2y"]).values()


def divided(
    collection: Collection,
    learners: Mapping[str, Mapping[str, Grid]],
    trial: int,
    n_folds: int,
    progress: Progress,
) -> dict[str, Measured]:
    """Test scorers on a fifth of the queries, drawn at random."""
    rng = np.random.default_rng(trial)
    drawn = rng.permutation(collection.X.shape[0])
    test, train = np.split(drawn, [round(TEST_SHARE * len(drawn))])
    folds = np.array_split(rng.permutation(train), n_folds)
    results = {
        "VSM": Measured(float(collection.curve(collection.vsm[test], test)[-1])),
        "BM25": Measured(float(collection.curve(collection.bm25[test], test)[0])),
    }
    for method, part in progress.over(list(learners)):
        curves: dict[str, list[Reals]] = {}
        *inner, last = (one for _, one in part.over(range(n_folds + 1)))
        for held, inside in zip(folds, inner, strict=True):
            learned = collection.learned(method, np.setdiff1d(train, held), held, inside)
            for setting, (_, scores) in learned.items():
                curves.setdefault(setting, []).append(collection.curve(scores, held))
        final = collection.learned(method, train, test, last)
        # Folds of unequal size may allow one dimension more or less.
        means = {
            name: np.mean(lines, axis=0)
            for name, lines in curves.items()
            if len(lines) == n_folds and name in final
        }
        both = {setting: (final[setting][0], line) for setting, line in means.items()}
        for name, best, mixed, at in blend_weights(both, learners[method]):
            alone, blended = (collection.curve(final[s][1], test) for s in (best, mixed))
            results[name] = Measured(float(alone[-1]), best)
            results[f"{name} + BM25"] = Measured(
                float(blended[at]), f"{mixed}, α = {ALPHAS[at]:.1f}"
            )
    return results


class HeterogeneousRanking(Experiment[PairSet]):
    """MAP of learned scores, alone and with BM25, over ten random divisions of the queries."""

    def load(self, path: str | Path | None = None, *, size: Size = "demo", **how: Any) -> PairSet:
        """Read queries and documents."""
        pairs = load_demo(self.demo) if path is None else _whole(read_parts(path, pool="all"))
        return self.prepared(pairs, **how)

    def prepared(
        self, pairs: PairSet, *, seed: int = 0, n_train: int | None = None, **how: Any
    ) -> PairSet:
        """Make data of pairs that somebody brought."""
        queries = _asking(pairs)
        if len(queries) < _FEWEST:
            raise DatasetError(f"{len(queries)} queries have a relevant document. {self.needs}.")
        n_wanted = n_train or (N_QUERIES if pairs.name == self.demo else len(queries))
        if n_wanted < len(queries):
            drawn = np.random.default_rng(seed).permutation(queries)[: max(n_wanted, _FEWEST)]
            queries = np.sort(drawn)
        return pairs.take(queries)

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return two_texts(pairs) and len(_asking(pairs)) >= _FEWEST

    def _run(
        self, data: PairSet, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        progress("Weighing terms")
        collection = Collection(data, self.grids[size], seed)
        learners = {method: self.rows(method) for method in methods if method in self.grids[size]}
        tested = progress.part(0.02, 1.0).each(
            lambda trial, part: divided(collection, learners, trial, _FOLDS[size], part),
            range(N_TRIALS),
        )
        trials = list(tested.values())
        values = {name: [trial[name].value for trial in trials] for name in trials[0]}
        protocol = self.texts["protocol"].format(
            n_trials=N_TRIALS,
            share=1 - TEST_SHARE,
            n_folds=_FOLDS[size],
            others=self.texts[data.relevance.unjudged],
        )
        return RunResult(
            f"{len(data.x):,} {data.x_name}, {len(data.y):,} {data.y_name}",
            tables=[self._table(trials, values)],
            claims=self.judged({"": values}, _JUDGE),
            notes=[protocol, *self.remarks],
        )

    def _table(
        self, trials: Sequence[Mapping[str, Measured]], values: Mapping[str, Sequence[float]]
    ) -> Table:
        def row(name: str) -> dict[str, Cell]:
            ours, base = np.array(values[name]), np.array(values["BM25"])
            ahead = f"{(ours > base).sum()} of {len(ours)}"
            return {
                "scores": name,
                "MAP": float(ours.mean()),
                "over BM25": float(ours.mean() - base.mean()),
                "ahead of BM25 in": None if name == "BM25" else ahead,
                "chosen most often": Counter(t[name].setting for t in trials).most_common(1)[0][0],
            }

        return self.table("main", map(row, values), n=len(trials))


def _asking(pairs: PairSet) -> Ints:
    """Queries that have a relevant document."""
    return np.flatnonzero(np.diff(pairs.relevance.positives.indptr))


def _whole(parts: Parts) -> PairSet:
    """What a folder holds, undivided."""
    sets = (parts.train, parts.validation, parts.test)
    x = reduce(Items.join, (part.x for part in sets))
    matrix = sp.csr_array(sp.vstack([part.relevance.matrix for part in sets]))
    relevance = Relevance(matrix, unjudged=parts.train.relevance.unjudged)
    return replace(parts.train, x=x, relevance=relevance, x_name="queries", y_name="documents")
