"""What candidates of a search have in common on one training part, computed once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from simviz.base import EmbeddingModel, IterativeMixin, Matrix
from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.evaluation._search_units import PairUnits, UnitBy
from simviz.exceptions import DatasetError, JobCancelled
from simviz.pipeline import BlendPipeline, PairPipeline, Pipeline

#: One unit in so many of a training part is watched by methods that stop early.
_WATCHED = 8
_COMPONENTS, _RIDGE, _ALPHA = "model__n_components", "model__regularization", "alpha"
Params = Mapping[str, Any]


class Group(NamedTuple):
    """Candidates that one fit serves.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        With what they have in common.
    members : tuple of int
        Their numbers.
    free : tuple of mapping
        For each, the parameters in which they differ.
    """

    pipeline: Pipeline
    members: tuple[int, ...]
    free: tuple[Params, ...]


def full_name(pipeline: Any, name: str) -> str:
    """A parameter's name within a pipeline: "n_components" is that of the method.

    Raises
    ------
    ValueError
        If nothing in the pipeline has such a parameter.
    """
    known = pipeline.get_params(deep=True)
    if name in known and not hasattr(known[name], "get_params"):
        return name
    inside = f"model__{name}"
    if inside in known:
        return inside
    from simviz.discovery import unknown_name

    short = [n.removeprefix("model__") for n in known if not hasattr(known[n], "get_params")]
    raise ValueError(unknown_name("parameter to search", name, short))


def free_names(pipeline: Pipeline) -> tuple[str, ...]:
    """Parameters of which one fit gives many values."""
    if isinstance(pipeline, BlendPipeline):
        return (_ALPHA,)
    model = pipeline.model
    nested = (_COMPONENTS,) if model.tags.nested and isinstance(model, EmbeddingModel) else ()
    return nested + ((_RIDGE,) if hasattr(model, "regularization_path") else ())


def grouped(pipeline: Pipeline, candidates: Sequence[Params]) -> list[Group]:
    """Sort candidates into groups, each of which needs one fit or one path of fits."""
    free = free_names(pipeline)
    found: dict[str, tuple[Params, list[int], list[Params]]] = {}
    for i, candidate in enumerate(candidates):
        named = {full_name(pipeline, name): value for name, value in candidate.items()}
        own = {name: value for name, value in named.items() if name in free}
        common = {name: value for name, value in named.items() if name not in free}
        _, members, theirs = found.setdefault(repr(sorted(common.items())), (common, [], []))
        members.append(i)
        theirs.append(own)
    return [
        Group(clone(pipeline).set_params(**common), tuple(members), tuple(theirs))
        for common, members, theirs in found.values()
    ]


class TrainFits:
    """One training part: features and decompositions, each made once.

    Parameters
    ----------
    train : PairSet
        Training pairs.
    by : {"pair", "x", "y", "group"}
        How the part that is watched is cut off.
    group_key : str, optional
        Column of the groups.
    seed : int
        Of that cut.
    heard : callable, optional
        A callback for the fits; a true answer stops them.
    """

    def __init__(
        self,
        train: PairSet,
        by: UnitBy,
        group_key: str | None = None,
        seed: int = 0,
        heard: Callback | None = None,
    ) -> None:
        self.train = train
        self._cut = by, group_key, seed
        self._heard = heard
        self._stopped = False
        self._parts: dict[bool, tuple[PairSet, PairSet | None]] = {}
        self._features: dict[Hashable, tuple[Any, Any, Matrix, Matrix]] = {}
        self._models: dict[Hashable, Any] = {}

    def fitted(self, pipeline: Pipeline, reach: int | None = None) -> Pipeline:
        """A fitted pipeline with these parameters.

        Parameters
        ----------
        pipeline : PairPipeline or BlendPipeline
            Left as it is.
        reach : int, optional
            Components that will be wanted at most: a nested method is fitted
            with so many once, and cut.

        Returns
        -------
        PairPipeline or BlendPipeline
            Fitted; parts may be those of other answers.
        """
        if isinstance(pipeline, BlendPipeline):
            train, watched = self._part(_is_iterative(pipeline))
            made = clone(pipeline).set_callbacks(self._hear)
            made.fit(train, watched).set_callbacks()
            self._check_stopped()
            return made
        model = pipeline.model
        if not model.tags.nested or not isinstance(model, EmbeddingModel):
            return self._joined(pipeline, self._fit(pipeline, model))
        wanted = int(model.n_components)
        plain = clone(model).set_params(n_components=1)
        key = self._key(pipeline), told(plain)
        whole = self._models.get(key)
        if whole is None or whole.n_components < wanted:
            most = max(wanted, reach or 0)
            whole = self._fit(pipeline, clone(model).set_params(n_components=most))
            self._models[key] = whole
        return self._joined(pipeline, cut(whole, wanted))

    def path(self, pipeline: PairPipeline, values: Sequence[float], reach: int) -> Iterator[Any]:
        """Fitted methods for some ridges, `reach` components each, from one decomposition."""
        model = clone(pipeline.model).set_callbacks(self._hear)
        if model.tags.nested:
            model.set_params(n_components=reach)
        _, _, X, Y = self.features(pipeline)
        train, _ = self._part(False)
        for fitted in model.regularization_path(X, Y, train.relevance, values=values):
            self._check_stopped()
            yield fitted

    def features(self, pipeline: PairPipeline) -> tuple[Any, Any, Matrix, Matrix]:
        """Fitted transformers of both sides, and what they make of the training items."""
        key = self._key(pipeline)
        if key not in self._features:
            train, _ = self._part(_is_iterative(pipeline))
            # As a pipeline fits them, with a method that takes no time.
            nothing: Any = _Nothing()
            bare = PairPipeline(nothing, pipeline.x_features, pipeline.y_features)
            bare.set_callbacks(self._hear).fit(train).set_callbacks()
            self._check_stopped()
            x, y = bare.x_features_, bare.y_features_
            self._features[key] = (x, y, bare.model_.X, bare.model_.Y)
        return self._features[key]

    def _fit(self, pipeline: PairPipeline, model: Any) -> Any:
        x, y, X, Y = self.features(pipeline)
        train, watched = self._part(_is_iterative(pipeline))
        watch = {}
        if watched is not None:
            watch = {
                "X_val": x.transform(watched.x.content),
                "y_val": y.transform(watched.y.content),
                "relevance_val": watched.relevance,
            }
        model = clone(model).set_callbacks(self._hear)
        model.fit(X, Y, train.relevance, **watch).set_callbacks()
        self._check_stopped()
        return model

    def _joined(self, pipeline: PairPipeline, model: Any) -> PairPipeline:
        made = clone(pipeline)
        made.x_features_, made.y_features_, *_ = self.features(pipeline)
        made.model_ = model
        return made

    def _part(self, is_iterative: bool) -> tuple[PairSet, PairSet | None]:
        """What is fitted on, and what is watched; never what is scored."""
        if is_iterative not in self._parts:
            self._parts[is_iterative] = (
                watch_part(self.train, *self._cut) if is_iterative else (self.train, None)
            )
        return self._parts[is_iterative]

    def _key(self, pipeline: PairPipeline) -> Hashable:
        return told(pipeline.x_features), told(pipeline.y_features), _is_iterative(pipeline)

    def _hear(self, step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        if self._heard is not None and self._heard(step, total, metrics):
            self._stopped = True
        return self._stopped

    def _check_stopped(self) -> None:
        if self._stopped:
            raise JobCancelled("The search was stopped.")


class SharedFits:
    """Keeps what was fitted on the latest training parts, for candidates to come.

    scikit-learn's search classes fit every candidate by itself; given one of
    these, candidates meet on what they have in common.

    Parameters
    ----------
    reach : int, optional
        Most components that any candidate asks for, so that a nested method
        is fitted once a fold.
    most : int, default=8
        Training parts kept; at least the folds of the search.
    """

    def __init__(self, reach: int | None = None, most: int = 8) -> None:
        self.reach = reach
        self.most = most
        self._kept: OrderedDict[bytes, TrainFits] = OrderedDict()

    def on(self, units: PairUnits, chosen: NDArray[np.intp]) -> TrainFits:
        """The fits on some units."""
        key = np.sort(chosen).tobytes()
        if key not in self._kept:
            self._kept[key] = TrainFits(units.take(chosen), units.by, units.group_key)
        self._kept.move_to_end(key)
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return self._kept[key]

    def __sklearn_clone__(self) -> Self:
        return self


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


def told(estimator: Any) -> Hashable:
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
    """The first k components of a nested method; all where it has no more."""
    return model if model.n_components_ <= k else model.truncate(k)


def watch_part(
    train: PairSet, by: UnitBy, group_key: str | None, seed: int
) -> tuple[PairSet, PairSet | None]:
    """A training part without an eighth, and that eighth to be watched."""
    try:
        units = PairUnits.of(train, by, group_key)
        ours, watched = units.folds(_WATCHED, seed)[0]
        fitted = units.take(ours)
        return fitted, units.take(watched, fitted)
    except DatasetError:  # too few pairs to spare any
        return train, None


def _is_iterative(pipeline: Pipeline) -> bool:
    if isinstance(pipeline, BlendPipeline):
        return any(_is_iterative(part) for part in (pipeline.learned, pipeline.lexical))
    return isinstance(pipeline.model, IterativeMixin)
