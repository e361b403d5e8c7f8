"""Rankings alone and blended: settings and weights chosen on validation pairs, then one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Reals
from simviz.data import PairSet
from simviz.evaluation.blends import blend_curve
from simviz.evaluation.metrics import MAP, Metric, Precision, RankLoss
from simviz.evaluation.result import Evaluation
from simviz.evaluation.significance import Comparison, confidence_interval
from simviz.experiments._claims import Judge
from simviz.experiments._experiment import (
    Experiment,
    Grid,
    Grids,
    RunResult,
    Size,
    describe,
    tried,
)
from simviz.experiments._findings import Table
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import Vectors
from simviz.features.text import term_weights
from simviz.pipeline import BlendPipeline, PairPipeline

#: Weights of the learned scores that are tried.
ALPHAS = np.linspace(0.0, 1.0, 21)
_TIE_TOLERANCE = 1e-12  # of several weights as good as the best, the middle one


class TermWeights(Vectors):
    """Counts as weights: what `tf` makes of each, times idf, in rows of length 1."""

    def __init__(self, idf: NDArray[np.float64], tf: str = "log1p") -> None:
        super().__init__(normalize=True)
        self.idf = idf
        self.tf = tf

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
    `metrics` are shown of the test, and validation chooses by `metric`. The `table` is its
    title, the heading of its first column, and its note; `paper_test` the paper's own test.
    """

    lexical: ClassVar[str] = "TFIDF"
    blend: ClassVar[str] = "α {} + (1 − α) TFIDF"
    metrics: ClassVar[tuple[Metric, ...]] = (RankLoss(), MAP(), Precision(10))
    metric: ClassVar[Metric] = MAP()
    table: ClassVar[tuple[str, str, str]]
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
        title, first, note = self.table
        rows = (
            {first: name}
            | {str(metric): one.result.value(metric) for metric in self.metrics}
            | {f"{self.metric}, 95 %": self._interval(one), "chosen by validation": one.chosen}
            for name, one in scored.items()
        )
        return RunResult(
            task.parts.describe(),
            tables=[Table.of(title, rows, note)],
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

    def _interval(self, one: Scored) -> str:
        low, high = confidence_interval(one.result, self.metric)
        return f"{low:.3f}–{high:.3f}"
