"""What candidates of a search have in common on one training part, computed once."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from simviz._types import Index
from simviz.base import EmbeddingModel, IterativeMixin, Matrix, TopicSimilarity
from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.data.cells import percent
from simviz.data.splitting import all_are_candidates, assign_parts, components, groups
from simviz.evaluation.blends import blend_curve
from simviz.evaluation.curves import dimension_curve
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import DIRECTIONS, Asking, directions_of
from simviz.evaluation.scoring import evaluate
from simviz.evaluation.significance import mean, standard_error
from simviz.exceptions import DatasetError, JobCancelled
from simviz.pipeline import BlendPipeline, PairPipeline, Pipeline
from simviz.registry import unknown_name
from simviz.relevance import Relevance

Params = Mapping[str, Any]
UnitBy = Literal["pair", "x", "y", "group"]

#: One unit in so many of a training part is watched by methods that stop early.
_WATCHED = 8
#: A component of linked items beyond this share of a training part cannot be held out fairly.
_LARGEST = 0.5
#: Parameters of which one fit gives many values.
_COMPONENTS, _RIDGE, _ALPHA = "model__n_components", "model__regularization", "alpha"


class Group(NamedTuple):
    """Candidates that one fit serves."""

    pipeline: Pipeline
    members: tuple[int, ...]
    free: tuple[Params, ...]


def full_name(pipeline: Any, name: str) -> str:
    """A parameter's name within a pipeline: "n_components" is that of the method."""
    known = pipeline.get_params(deep=True)
    if name in known and not hasattr(known[name], "get_params"):
        return name
    inside = f"model__{name}"
    if inside in known:
        return inside
    short = [n.removeprefix("model__") for n in known if not hasattr(known[n], "get_params")]
    raise ValueError(unknown_name("parameter to search", name, short))


def is_nested(model: Any) -> bool:
    """Whether the first components of a method are the method with fewer components."""
    return model.tags.nested and isinstance(model, EmbeddingModel)


def grouped(pipeline: Pipeline, candidates: Sequence[Params]) -> list[Group]:
    """Sort candidates into groups, each of which needs one fit or one path of fits."""
    free: tuple[str, ...] = (_ALPHA,)
    if not isinstance(pipeline, BlendPipeline):
        model = pipeline.model
        free = (_COMPONENTS,) if is_nested(model) else ()
        free += (_RIDGE,) if hasattr(model, "regularization_path") else ()
    groups: dict[str, tuple[Params, list[int], list[Params]]] = {}
    for i, candidate in enumerate(candidates):
        named = {full_name(pipeline, name): value for name, value in candidate.items()}
        own = {name: value for name, value in named.items() if name in free}
        common = {name: value for name, value in named.items() if name not in free}
        _, members, theirs = groups.setdefault(repr(sorted(common.items())), (common, [], []))
        members.append(i)
        theirs.append(own)
    return [
        Group(clone(pipeline).set_params(**common), tuple(members), tuple(theirs))
        for common, members, theirs in groups.values()
    ]


class TrainFits:
    """One training part: features and decompositions, each made once."""

    def __init__(
        self,
        train: PairSet,
        by: UnitBy,
        group_key: str | None = None,
        seed: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.train = train
        self._by, self._group_key, self._seed = by, group_key, seed
        self._callback = callback
        self._stopped = False
        self._parts: tuple[PairSet, PairSet | None] | None = None
        self._features: dict[Hashable, tuple[Any, Any, Matrix, Matrix]] = {}

    def fitted(self, pipeline: Pipeline) -> Pipeline:
        if isinstance(pipeline, BlendPipeline):
            train, watched = self._part(pipeline)
            made = clone(pipeline).set_callbacks(self._progress)
            made.fit(train, watched).set_callbacks()
            self._check_stopped()
            return made
        x, y, X, Y = self.features(pipeline)
        train, watched = self._part(pipeline)
        watch = {}
        if watched is not None:
            watch = {
                "X_val": x.transform(pipeline.x_content(watched.x)),
                "y_val": y.transform(watched.y.content),
                "relevance_val": watched.relevance,
            }
        joined = clone(pipeline)
        model = clone(pipeline.model).set_callbacks(self._progress)
        model.fit(X, Y, train.relevance, **watch).set_callbacks()
        self._check_stopped()
        joined.x_features_, joined.y_features_, joined.model_ = x, y, model
        return joined

    def path(
        self, pipeline: PairPipeline, values: Sequence[float], n_components: int
    ) -> Iterator[Any]:
        """Fitted methods for some ridges, of `n_components` each, from one decomposition."""
        model = clone(pipeline.model).set_callbacks(self._progress)
        if model.tags.nested:
            model.set_params(n_components=n_components)
        _, _, X, Y = self.features(pipeline)
        for fitted in model.regularization_path(X, Y, self.train.relevance, values=values):
            self._check_stopped()
            yield fitted

    def features(self, pipeline: PairPipeline) -> tuple[Any, Any, Matrix, Matrix]:
        key = (key_of(pipeline.x_features), key_of(pipeline.y_features), _is_iterative(pipeline))
        if key not in self._features:
            train, _ = self._part(pipeline)
            # As a pipeline fits them, with a method that takes no time.
            nothing: Any = _Nothing()
            bare = clone(pipeline).set_params(model=nothing)
            bare.set_callbacks(self._progress).fit(train).set_callbacks()
            self._check_stopped()
            x, y = bare.x_features_, bare.y_features_
            self._features[key] = (x, y, bare.model_.X, bare.model_.Y)
        return self._features[key]

    def _part(self, pipeline: Pipeline) -> tuple[PairSet, PairSet | None]:
        """What is fitted on, and an eighth of it that is watched; never what is scored."""
        if not _is_iterative(pipeline):
            return self.train, None
        if self._parts is None:
            try:
                units = PairUnits.of(self.train, self._by, self._group_key)
                train_rows, watched = units.folds(_WATCHED, self._seed)[0]
                fitted = units.take(train_rows)
                self._parts = fitted, units.take(watched, fitted)
            except DatasetError:  # too few pairs to spare any
                self._parts = self.train, None
        return self._parts

    def _progress(self, step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        if self._callback is not None and self._callback(step, total, metrics):
            self._stopped = True
        return self._stopped

    def _check_stopped(self) -> None:
        if self._stopped:
            raise JobCancelled("The search was stopped.")


class _Nothing:
    """In a method's place: keeps what it is given."""

    X: Matrix
    Y: Matrix

    def fit(self, X: Matrix, Y: Matrix, relevance: object) -> Self:
        self.X, self.Y = X, Y
        return self

    def set_callbacks(self, *callbacks: Callback) -> Self:
        return self

    def __sklearn_clone__(self) -> _Nothing:
        return _Nothing()


def key_of(estimator: Any) -> Hashable:
    """An estimator's class and parameters; one that holds what cannot be compared equals none."""
    if estimator is None:
        return None
    params = estimator.get_params(deep=True)
    simple = (str, int, float, bool, tuple, type(None))
    return type(estimator), tuple(
        (name, type(value) if hasattr(value, "get_params") else value)
        if isinstance(value, simple) or hasattr(value, "get_params")
        else (name, object())
        for name, value in sorted(params.items())
    )


def cut(model: Any, k: int) -> Any:
    return model if model.n_components_ <= k else model.truncate(k)


def _is_iterative(pipeline: Pipeline) -> bool:
    if isinstance(pipeline, BlendPipeline):
        return any(_is_iterative(part) for part in (pipeline.learned, pipeline.lexical))
    return isinstance(pipeline.model, IterativeMixin)


class Score(NamedTuple):
    """A candidate on one fold."""

    value: float
    spread: float
    seconds: float = 0.0
    note: str = ""


class Scorer:
    """Scores the candidates of a search on one test part."""

    def __init__(
        self, metric: Metric, direction: Asking | None, callback: Callback | None = None
    ) -> None:
        self.metric = metric
        self.directions = directions_of(direction, DIRECTIONS)
        self._how: dict[str, Any] = {"directions": self.directions, "callback": callback}

    def group(self, group: Group, fits: TrainFits, test: PairSet) -> list[Score]:
        """Scores of all members of a group, from as few fits as they allow."""
        start = time.perf_counter()
        measure = self._alphas if isinstance(group.pipeline, BlendPipeline) else self._settings
        try:
            scores = measure(group, fits, test)
        except (ValueError, np.linalg.LinAlgError) as error:
            if len(group.members) > 1:  # one of them may spoil it for the others
                return [
                    self.group(Group(group.pipeline, (member,), (own,)), fits, test)[0]
                    for member, own in zip(group.members, group.free, strict=True)
                ]
            scores = [Score(nan, nan, note=str(error))]
        seconds = (time.perf_counter() - start) / len(scores)
        return [score._replace(seconds=seconds) for score in scores]

    def one(self, scorer: Any, x: Any, y: Any, relevance: Relevance) -> Score:
        result = evaluate(scorer, x, y, relevance, [self.metric], directions=self.directions)
        if self.metric.level != "query":
            return Score(result.value(self.metric), nan)
        return _mean_of([result.per_query(self.metric, d) for d in self.directions])

    def _settings(self, group: Group, fits: TrainFits, test: PairSet) -> list[Score]:
        """Several ridges and numbers of components of one method."""
        pipeline: Any = clone(group.pipeline)
        defaults = pipeline.get_params()
        names = [name for name in (_COMPONENTS, _RIDGE) if name in defaults]
        free = [{name: defaults[name] for name in names} | dict(own) for own in group.free]
        ridges: list[Any] = list(dict.fromkeys(own.get(_RIDGE) for own in free))
        nested = is_nested(pipeline.model)
        n_components = max((own[_COMPONENTS] for own in free), default=1) if nested else 1
        if len(ridges) > 1:  # a path of them shares one decomposition
            models = fits.path(pipeline, ridges, n_components)
        else:
            shared = {_RIDGE: ridges[0], _COMPONENTS: n_components if nested else None}
            pipeline.set_params(**{n: v for n, v in shared.items() if v is not None})
            models = iter([fits.fitted(pipeline).model_])
        scores: dict[int, Score] = {}
        x, y, *_ = fits.features(pipeline)
        X, Y = x.transform(pipeline.x_content(test.x)), y.transform(test.y.content)
        sides = X, Y, test.relevance
        for ridge, model in zip(ridges, models, strict=True):
            mine = [i for i, own in enumerate(free) if own.get(_RIDGE) == ridge]
            if nested:
                ks = [int(free[i][_COMPONENTS]) for i in mine]
                scores.update(zip(mine, self._dimensions(model, ks, *sides), strict=True))
            else:
                scores.update(dict.fromkeys(mine, self.one(model, *sides)))
        return [scores[i] for i in range(len(free))]

    def _dimensions(
        self, model: Any, ks: list[int], X: Matrix, Y: Matrix, relevance: Relevance
    ) -> list[Score]:
        known = model.n_components_
        notes = [f"The data give {known:,} components." if k > known else "" for k in ks]
        if self.metric.level != "query" or isinstance(model, TopicSimilarity):
            scores = [self.one(cut(model, k), X, Y, relevance) for k in ks]
        else:
            sides, asked = (model.transform(X), model.transform_y(Y)), {min(k, known) for k in ks}
            how = {"similarity": "dot" if model.similarity_kind == "dot" else "cosine"} | self._how
            curve = dimension_curve(*sides, relevance, sorted(asked), metric=self.metric, **how)
            at = [curve.dimensions.index(min(k, known)) for k in ks]
            scores = [_mean_of([curve.per_query[d][i] for d in self.directions]) for i in at]
        return [score._replace(note=note) for score, note in zip(scores, notes, strict=True)]

    def _alphas(self, group: Group, fits: TrainFits, test: PairSet) -> list[Score]:
        blend: Any = group.pipeline
        fitted = fits.fitted(blend)
        alphas = [float(own.get(_ALPHA, blend.alpha)) for own in group.free]
        sides = test.x, test.y, test.relevance
        if self.metric.level != "query" or blend.normalization not in ("global_std", "none"):
            return [self.one(fitted.with_alpha(alpha), *sides) for alpha in alphas]
        curve = blend_curve(fitted, *sides, alphas, metrics=[self.metric], **self._how)
        lines = [curve.per_query[self.metric.name, d] for d in self.directions]
        at = np.searchsorted(curve.alphas, alphas)
        return [_mean_of([line[i] for line in lines]) for i in at]


def _mean_of(lines: list[Any]) -> Score:
    """Mean of the directions in which queries count, and of their standard errors."""
    return Score(mean([mean(line) for line in lines]), mean([standard_error(v) for v in lines]))


@dataclass(frozen=True, slots=True, eq=False)
class PairUnits:
    """A pair set as numbered units, any of which may be held out without a leak."""

    # What `simviz.data.splitting` keeps together is a unit: an item of one side, a group, or the
    # items that are linked by relevant pairs. Arrays of unit numbers are what scikit-learn's
    # splitters and search classes cut.

    pairs: PairSet
    by: UnitBy
    x_unit: Index | None
    y_unit: Index | None
    weights: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    group_key: str | None = None

    @classmethod
    def of(cls, pairs: PairSet, by: UnitBy = "pair", group_key: str | None = None) -> Self:
        x: Index | None
        y: Index | None
        if by == "pair":
            x, y, weights = _linked(pairs)
        elif by == "x":
            x, y, weights = np.arange(len(pairs.x)), None, np.ones(len(pairs.x))
        elif by == "y":
            x, y, weights = None, np.arange(len(pairs.y)), np.ones(len(pairs.y))
        elif by == "group":
            codes, numbers = groups(pairs, group_key or "group")
            x, y = codes.get("x"), codes.get("y")
            counts = [np.bincount(code, minlength=len(numbers)) for code in codes.values()]
            weights = np.sum(counts, axis=0).astype(np.float64)
        else:
            raise DatasetError(
                f"Units are cut by 'pair', 'x', 'y' or 'group'; got {by!r}. Where a column names "
                "the parts, cut what is left of its test part by 'x', 'y' or 'pair'."
            )
        relevant = np.zeros(len(weights), dtype=bool)
        positives = pairs.relevance.positives
        for unit, graph in ((x, positives), (y, positives.T.tocsr())):
            if unit is not None:
                relevant[unit[np.diff(graph.indptr) > 0]] = True
        return cls(pairs, by, x, y, weights, relevant, group_key)

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, units: ArrayLike, known: PairSet | None = None) -> PairSet:
        is_taken = np.zeros(len(self), dtype=bool)
        is_taken[np.asarray(units, dtype=np.intp).ravel()] = True
        x = None if self.x_unit is None else np.flatnonzero(is_taken[self.x_unit])
        y = None if self.y_unit is None else np.flatnonzero(is_taken[self.y_unit])
        relevance = self.pairs.relevance
        if x is None and y is not None:
            x = self._followers("x", relevance.T, y, known)
        elif y is None and x is not None:
            y = self._followers("y", relevance, x, known)
        part = self.pairs.take(x, y)
        if self.pairs.x is self.pairs.y and np.array_equal(x, y):  # type: ignore[arg-type]
            return replace(part, y=part.x)  # a collection linked to itself stays one
        return part

    def folds(self, n_splits: int, seed: int = 0) -> list[tuple[Index, Index]]:
        if n_splits < 2:
            raise DatasetError(f"Folds are at least 2, got {n_splits}. Take 5.")
        rng = np.random.default_rng(seed)
        strata = np.where(self.relevant, 0, 1)
        shares = np.full(n_splits, 1 / n_splits)
        part = assign_parts(np.maximum(self.weights, 1), strata, shares, rng, "unit")
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_splits)]

    def _followers(self, side: str, relevance: Relevance, rows: Index, known: object) -> Index:
        """Items of the side that is not cut, as `simviz.data.splitting` chooses them."""
        items = self.pairs.x if side == "x" else self.pairs.y
        if items.kind == "keyword":
            if isinstance(known, PairSet):
                learned = set((known.x if side == "x" else known.y).ids)
                return np.flatnonzero([name in learned for name in items.ids])
            graph = relevance.positives
        elif isinstance(known, PairSet) and all_are_candidates(self.pairs):
            return np.arange(len(items), dtype=np.intp)
        else:
            graph = relevance.matrix if relevance.unjudged == "ignore" else relevance.positives
        return np.unique(graph[rows].indices).astype(np.intp)

    def __sklearn_clone__(self) -> Self:
        return self  # it never changes: every candidate of a search may read the same one

    def __deepcopy__(self, memo: object) -> Self:
        return self


def _linked(pairs: PairSet) -> tuple[Index, Index, NDArray[np.float64]]:
    """Components of linked items; judged negatives link where they do not tie everything."""
    relevance = pairs.relevance
    x, y, weights = components(pairs, relevance.positives)
    if relevance.unjudged == "ignore":
        wider = components(pairs, relevance.matrix)
        if wider[2].max() <= _LARGEST * wider[2].sum():
            x, y, weights = wider
    if weights.max() > max(1.0, _LARGEST * weights.sum()):
        raise DatasetError(
            f"{percent(weights.max() / weights.sum())} of the pairs hang together through shared "
            "items, so they cannot be cut by pair. Cut by='x' (new x items) or by='y'."
        )
    return x, y, weights.astype(np.float64)
