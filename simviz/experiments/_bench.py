"""Methods with every setting, what validation and test say of each, and blends of them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._types import Reals
from simviz.data import PairSet
from simviz.evaluation import Direction, Evaluation, Metric, blend_curve, compare_all
from simviz.evaluation.metrics import MAP, Precision, RankLoss
from simviz.evaluation.significance import Comparison, confidence_interval
from simviz.experiments._claims import Judge
from simviz.experiments._experiment import PARAM_TEXTS, Experiment, Grid, Grids, RunResult, Size
from simviz.experiments._findings import Cell, Table
from simviz.experiments._parts import Part, Parts
from simviz.experiments._progress import Progress
from simviz.features import Vectors
from simviz.features.text import term_weights
from simviz.methods import get_method
from simviz.pipeline import BlendPipeline, PairPipeline

#: Weights of the learned scores that are tried.
ALPHAS = np.linspace(0.0, 1.0, 21)
_TIE_TOLERANCE = 1e-12  # of several weights as good as the best, the middle one


def describe(params: Mapping[str, Any]) -> str:
    """Settings as tables show them."""
    return ", ".join(PARAM_TEXTS.get(n, f"{n} {{}}").format(v) for n, v in params.items())


def tried(
    method: str,
    grid: Grid,
    make: Callable[..., tuple[Any, tuple[Any, ...]]],
    progress: Progress,
    *,
    paths: bool = False,
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Every setting of a method, with its fitted model or pipeline.

    ``make(**params)`` answers one to fit and what its `fit` takes; no data where it is fitted
    already. What one fit gives is had from it: nested numbers of dimensions, measures, and with
    `paths` the ridges of a model that has a path of them.
    """
    cls = get_method(method)
    measures = grid.get("measure", ())
    sizes = grid.get("n_components", ()) if cls.tags.nested else ()
    paths = paths and hasattr(cls, "regularization_path")
    ridges = grid.get("regularization", ()) if paths else ()
    late = {"measure": measures, "n_components": sizes, "regularization": ridges}
    early = {name: values for name, values in grid.items() if not late.get(name)}
    largest = {"n_components": max(sizes)} if sizes else {}
    for values, part in progress.over(list(itertools.product(*early.values()))):
        params = dict(zip(early, values, strict=True))
        label = ", ".join(filter(None, (f"Training {cls.tags.title}", describe(params))))
        part(label)
        model, data = make(**params, **largest)
        model.set_callbacks(part.listen(label))
        # Without validation pairs: which ridge is best is asked here.
        path = model.regularization_path(*data[:3], values=ridges) if ridges else None
        for done, ridge in enumerate(ridges or (None,), start=1):
            if path is not None:
                params["regularization"] = ridge
                with part.fitting():
                    model = next(path)
            elif data:
                part.fitted(model, *data)
            part(label, done / max(len(ridges), 1))
            top = getattr(model, "model_", model).n_components_ if sizes else 0
            for k in sorted({min(k, top) for k in sizes}) or [0]:
                named = {**params, "n_components": k} if k else {**params}
                small = model.truncate(k) if k else model
                yield from ((named | {"measure": m}, _measured_by(small, m)) for m in measures)
                if not measures:
                    yield named, small


def _measured_by(model: Any, measure: str) -> Any:
    """A copy of a model or pipeline that compares in another way."""
    other = copy.copy(model)
    if not hasattr(model, "model_"):
        return other.set_params(measure=measure)
    other.model_ = copy.copy(model.model_).set_params(measure=measure)
    return other


def letters(values: Mapping[str, ArrayLike]) -> dict[str, str]:
    """Letters that those have in common which cannot be told apart."""
    return compare_all(values).letters() if len(values) > 1 else dict.fromkeys(values, "")


def interval(values: Any, metric: Metric | None = None) -> str:
    """The 95 % interval of a mean, as tables show it."""
    return "{:.3f}–{:.3f}".format(*confidence_interval(values, metric))


@dataclass(frozen=True, eq=False)
class Point:
    """A fitted model, and how it ranks validation items and, if asked, those of the test."""

    bench: Bench
    method: str
    settings: str
    model: Any
    parts: Parts
    watched: Evaluation

    @property
    def k(self) -> int:
        """Its dimensions; 0 where it has none."""
        return getattr(self.model, "n_components_", 0)

    @property
    def validation(self) -> float:
        """What validation chooses by."""
        return self.bench.quality(self.watched)

    @cached_property
    def tested(self) -> Evaluation:
        return self.bench.ranked(self.model, self.parts)

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        x, y, _ = self.parts.sides(self.model, "test")
        return np.asarray(self.model.similarity(x, y), np.float32)


def best(points: Iterable[Point]) -> Point:
    """The first of those that rank validation items best."""
    return max(points, key=lambda point: point.validation)


def best_by_size(points: Iterable[Point]) -> dict[int, Point]:
    """The best of each number of dimensions, the fewest first."""
    found = list(points)
    return {k: best(p for p in found if p.k == k) for k in sorted({p.k for p in found})}


@dataclass(eq=False)
class Bench:
    """How settings are tried: what is measured of rankings, and what of it validation chooses by.

    `shown_params` are the settings that stand beside others; all of them where it is empty. What
    is measured of the test alone is `late`.
    """

    metrics: Sequence[Metric | str]
    quality: Callable[[Evaluation], float]
    directions: Sequence[Direction]
    seed: int
    shown_params: Sequence[str] = ()
    late: Sequence[Metric | str] = ()
    #: Processor seconds of all fits, by method.
    spent: dict[str, float] = field(default_factory=dict)

    def points(
        self,
        method: str,
        grid: Grid,
        parts: Parts,
        progress: Progress,
        text: str = "",
        *,
        shared: bool = True,
        **fixed: Any,
    ) -> list[Point]:
        """Every setting of a method, with validation items where it watches them."""
        cls, known = get_method(method), {"shared": shared, "random_state": self.seed}
        fixed |= {name: known[name] for name in known if name in cls._get_param_names()}

        def make(**params: Any) -> tuple[Any, tuple[Any, ...]]:
            made = cls(**fixed, **params)
            data: tuple[Any, ...] = parts.sides(made, "train")
            if getattr(made, "validation_fraction", 0):
                data += parts.sides(made, "validation")
            return made, data

        found, before = [], progress.spent
        for params, model in tried(method, grid, make, progress, paths=True):
            shown = {n: v for n, v in params.items() if n in (self.shown_params or params)}
            settings = ", ".join(filter(None, (text, describe(shown))))
            watched = self.ranked(model, parts, "validation")
            found.append(Point(self, method, settings, model, parts, watched))
        self.spent[method] = self.spent.get(method, 0.0) + progress.spent - before
        return found

    def times(self, names: Mapping[str, str]) -> Table:
        """What training took, of methods by their names."""
        rows: list[dict[str, Cell]] = [
            {"method": name, "processor seconds": self.spent[method]}
            for method, name in names.items()
            if method in self.spent
        ]
        return Table.of(
            "Training times",
            rows,
            "All settings of a method together, on one thread; dimensions that one fit gives, and "
            "ridges of one decomposition, are trained once.",
        )

    def ranked(self, model: Any, parts: Parts, part: Part = "test") -> Evaluation:
        metrics = [*self.metrics, *(self.late if part == "test" else ())]
        return parts.ranked(model, metrics, part, self.directions)


class TermWeights(Vectors):
    """Counts as weights: what `tf` makes of each, times idf, in rows of length 1."""

    def __init__(self, idf: NDArray[np.float64], tf: str = "log1p") -> None:
        super().__init__(normalize=True)
        self.idf = idf
        self.tf = tf

    @classmethod
    def of(cls, train: PairSet, tf: str = "log1p") -> Self:
        """Weights by the document frequencies of counts to learn from."""
        sides = [train.x.content] if train.x is train.y else [train.x.content, train.y.content]
        counts = sp.csr_array(sp.vstack(sides))
        df = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
        idf = np.where(df > 0, np.log(counts.shape[0] / np.maximum(df, 1)), 0.0)
        return cls(idf, tf).fit(counts)

    def transform(self, X: sp.csr_array) -> sp.csr_array:
        weighed = sp.csr_array(X, dtype=np.float64, copy=True)
        weighed.eliminate_zeros()
        weighed.data = term_weights(self.tf)(weighed.data) * self.idf[weighed.indices]
        weighed.eliminate_zeros()
        return sp.csr_array(super().transform(weighed), dtype=np.float32)


class Task(NamedTuple):
    """Data as methods take them, the fitted lexical scorer, what is tried, and the seed."""

    parts: Parts
    lexical: PairPipeline
    grids: Grids
    seed: int


class Scored(NamedTuple):
    """What a scorer reaches on test queries, with what validation chose."""

    result: Evaluation
    chosen: str = ""


def blend_weights(
    curves: Mapping[str, tuple[Mapping[str, Any], Reals]], rows: Mapping[str, Grid]
) -> Iterator[tuple[str, str, str, int]]:
    """Each row, with its best setting alone, that of its best blend, and the weight's place.

    Curves are values by weight, higher being better, of settings by their names; rows say which
    values they may choose. A row of which nothing was tried is left out.
    """
    for name, limits in rows.items():
        some = {
            setting: values
            for setting, (params, values) in curves.items()
            if all(params.get(n) in allowed for n, allowed in limits.items())
        }
        if some:
            alone = max(some, key=lambda setting: some[setting][-1])
            mixed = max(some, key=lambda setting: some[setting].max())
            tied = np.flatnonzero(some[mixed] >= some[mixed].max() - _TIE_TOLERANCE)
            yield name, alone, mixed, int(tied[(len(tied) - 1) // 2])


class BlendedRanking(Experiment[Parts]):
    """A table of learned scores, alone and blended with lexical ones.

    `lexical` and `blend` are what the table calls the lexical scores, and a blend with them;
    `metrics` are shown of the test, and validation chooses by `metric`. `heading` stands over the
    rows of the table; `paper_test` is the paper's own test.
    """

    lexical: ClassVar[str] = "TFIDF"
    blend: ClassVar[str] = "α {} + (1 − α) TFIDF"
    metrics: ClassVar[tuple[Metric, ...]] = (RankLoss(), MAP(), Precision(10))
    metric: ClassVar[Metric] = MAP()
    heading: ClassVar[str] = "scores"
    paper_test: ClassVar[Callable[..., Comparison] | None] = None

    def _run(
        self, data: Parts, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        progress("Reading texts")
        task = Task(*self._begun(data), self.grids[size], seed)
        scored = {self.lexical: Scored(task.parts.ranked(task.lexical, self.metrics))}
        tested = progress.part(0.05, 1.0).each(
            lambda method, part: self._tested(method, task, part),
            {method: self.costs[method] for method in methods if method in self.costs},
        )
        for found in tested.values():
            scored |= found
        values = {name: one.result.per_query(self.metric) for name, one in scored.items()}
        judge = Judge(quantity=f"{self.metric}, {{}} − {{}}".format, paper=type(self).paper_test)
        rows = (
            {self.heading: name}
            | {str(metric): one.result.value(metric) for metric in self.metrics}
            | {f"{self.metric}, 95 %": interval(one.result, self.metric)}
            | {"chosen by validation": one.chosen}
            for name, one in scored.items()
        )
        return RunResult(
            task.parts.describe(),
            tables=[self.table("main", rows)],
            claims=self.judged({"": values}, judge),
            notes=[*task.parts.notes, *self.remarks],
        )

    def _begun(self, data: Parts) -> tuple[Parts, PairPipeline]:
        raise NotImplementedError

    def _pipeline(self, method: str, task: Task, **params: Any) -> PairPipeline:
        raise NotImplementedError

    def _tested(self, method: str, task: Task, progress: Progress) -> dict[str, Scored]:
        name, parts = self.name(method), task.parts

        def make(**params: Any) -> tuple[PairPipeline, tuple[PairSet, PairSet]]:
            return self._pipeline(method, task, **params), (parts.train, parts.validation)

        models, curves = {}, {}
        sign, listen = 1.0 if self.metric.higher_is_better else -1.0, f"Weighing {name}"
        every = list(tried(method, task.grids[method], make, progress.part(0, 0.75)))
        for params, model in every:
            blend = BlendPipeline.of(model, task.lexical, parts.train, normalization="global_std")
            curve = blend_curve(
                parts.limited(blend), *parts.sides(blend, "validation"), ALPHAS,
                metrics=[self.metric], directions=["x2y"],
                callback=progress.part(0.75, 0.9).listen(listen),
            )  # fmt: skip
            models[describe(params)] = model, blend
            curves[describe(params)] = params, sign * curve.values()
        scored: dict[str, Scored] = {}
        for row, alone, mixed, at in blend_weights(curves, self.rows(method)):
            progress(f"Testing {row}", 0.9)
            alpha = float(ALPHAS[at])
            blend = models[mixed][1].with_alpha(alpha)
            scored[row] = Scored(parts.ranked(models[alone][0], self.metrics), alone)
            scored[self.blend.format(row)] = Scored(
                parts.ranked(blend, self.metrics), f"α = {alpha:.2f}, {mixed}"
            )
        return scored
