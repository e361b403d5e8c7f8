"""Scores of candidates on one fold."""

from __future__ import annotations

import time
from math import nan
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from simviz.base import EmbeddingModel, TopicSimilarity
from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.evaluation._search_fits import Group, TrainFits, cut
from simviz.evaluation.blends import blend_curve
from simviz.evaluation.curves import dimension_curve
from simviz.evaluation.intervals import mean, standard_error
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import DIRECTIONS, Asking, meant
from simviz.evaluation.scoring import evaluate
from simviz.pipeline import BlendPipeline, PairPipeline, Pipeline

_COMPONENTS, _RIDGE, _ALPHA = "model__n_components", "model__regularization", "alpha"


class Score(NamedTuple):
    """A candidate on one fold.

    Parameters
    ----------
    value : float
        The metric.
    spread : float
        Its standard error over queries; NaN for metrics of all pairs.
    seconds : float
        Its share of the time.
    note : str
        Why it failed, or what to know.
    """

    value: float
    spread: float
    seconds: float
    note: str = ""


class Scorer:
    """Scores the candidates of a search on one test part.

    Parameters
    ----------
    metric : Metric
        What to measure.
    direction : {"x2y", "y2x", "mean"} or None
        Which side asks; None for x.
    heard : callable, optional
        A callback for the scoring.
    """

    def __init__(
        self, metric: Metric, direction: Asking | None, heard: Callback | None = None
    ) -> None:
        self.metric = metric
        self.heard = heard
        self.directions = meant(direction, DIRECTIONS)

    def group(self, group: Group, fits: TrainFits, test: PairSet) -> list[Score]:
        """Scores of all members of a group, from as few fits as they allow."""
        start = time.perf_counter()
        try:
            told = self._group(group, fits, test)
        except (ValueError, np.linalg.LinAlgError) as error:
            if len(group.members) > 1:  # one of them may spoil it for the others
                return [
                    self.group(Group(group.pipeline, (member,), (own,)), fits, test)[0]
                    for member, own in zip(group.members, group.free, strict=True)
                ]
            told = [(nan, nan, str(error))]
        share = (time.perf_counter() - start) / len(told)
        return [Score(value, spread, share, note) for value, spread, note in told]

    def one(self, pipeline: Pipeline, test: PairSet) -> tuple[float, float]:
        """Value and spread of a fitted pipeline."""
        return self._evaluated(pipeline, test.x, test.y, test)

    def _group(
        self, group: Group, fits: TrainFits, test: PairSet
    ) -> list[tuple[float, float, str]]:
        if isinstance(group.pipeline, BlendPipeline):
            return self._alphas(group, group.pipeline, fits, test)
        pipeline = clone(group.pipeline)
        usual = pipeline.get_params()
        free = [{n: usual[n] for n in (_COMPONENTS, _RIDGE) if n in usual} | dict(own)
                for own in group.free]  # fmt: skip
        ridges = list(dict.fromkeys(own.get(_RIDGE) for own in free))
        nested = pipeline.model.tags.nested and isinstance(pipeline.model, EmbeddingModel)
        reach = max((own[_COMPONENTS] for own in free), default=1) if nested else 1
        found: dict[int, tuple[float, float, str]] = {}
        for ridge, model in self._models(pipeline, fits, ridges, reach):
            mine = [i for i, own in enumerate(free) if own.get(_RIDGE) == ridge]
            if nested:
                ks = [int(free[i][_COMPONENTS]) for i in mine]
                curve = self._dimensions(pipeline, model, ks, fits, test)
                found.update(zip(mine, curve, strict=True))
            else:
                value = self._with_features(pipeline, model, fits, test)
                found.update(dict.fromkeys(mine, (*value, "")))
        return [found[i] for i in range(len(free))]

    def _models(
        self, pipeline: PairPipeline, fits: TrainFits, ridges: list[Any], reach: int
    ) -> list[tuple[Any, Any]] | Any:
        """Fitted methods by their ridge; a path of them shares one decomposition."""
        if len(ridges) > 1:
            return zip(ridges, fits.path(pipeline, ridges, reach), strict=True)
        told: dict[str, Any] = {} if ridges[0] is None else {_RIDGE: ridges[0]}
        if pipeline.model.tags.nested and _COMPONENTS in pipeline.get_params():
            told[_COMPONENTS] = reach
        pipeline.set_params(**told)
        return [(ridges[0], fits.fitted(pipeline).model_)]

    def _dimensions(
        self,
        pipeline: PairPipeline,
        model: Any,
        ks: list[int],
        fits: TrainFits,
        test: PairSet,
    ) -> list[tuple[float, float, str]]:
        """Several numbers of components of one nested method."""
        known = model.n_components_
        note = f"The data give {known:,} components." if max(ks) > known else ""
        notes = [note if k > known else "" for k in ks]
        if self.metric.level != "query" or isinstance(model, TopicSimilarity):
            cuts = [self._with_features(pipeline, cut(model, k), fits, test) for k in ks]
            return [(*told, note) for told, note in zip(cuts, notes, strict=True)]
        x, y, *_ = fits.features(pipeline)
        curve = dimension_curve(
            model.transform(x.transform(test.x.content)),
            model.transform_y(y.transform(test.y.content)),
            test.relevance,
            sorted({min(k, known) for k in ks}),
            similarity="dot" if model.similarity_kind == "dot" else "cosine",
            metric=self.metric,
            directions=self.directions,
            callback=self.heard,
        )
        at = {k: i for i, k in enumerate(curve.dimensions)}
        told = []
        for k, said in zip(ks, notes, strict=True):
            lines = [curve.per_query[d][at[min(k, known)]] for d in self.directions]
            told.append((*_mean_of(lines), said))
        return told

    def _alphas(
        self,
        group: Group,
        blend: BlendPipeline,
        fits: TrainFits,
        test: PairSet,
    ) -> list[tuple[float, float, str]]:
        """Several weights of one blend."""
        fitted = fits.fitted(blend)
        alphas = [float(own.get(_ALPHA, blend.alpha)) for own in group.free]
        if self.metric.level != "query" or blend.normalization not in ("global_std", "none"):
            return [(*self.one(fitted.with_alpha(alpha), test), "") for alpha in alphas]
        curve = blend_curve(
            fitted,
            test.x,
            test.y,
            test.relevance,
            alphas,
            metrics=[self.metric],
            directions=self.directions,
            callback=self.heard,
        )
        at = {float(alpha): i for i, alpha in enumerate(curve.alphas)}
        lines = {d: curve.per_query[self.metric.name, d] for d in self.directions}
        return [(*_mean_of([lines[d][at[a]] for d in self.directions]), "") for a in alphas]

    def _with_features(
        self, pipeline: PairPipeline, model: Any, fits: TrainFits, test: PairSet
    ) -> tuple[float, float]:
        x, y, *_ = fits.features(pipeline)
        rows = x.transform(test.x.content), y.transform(test.y.content)
        return self._evaluated(model, *rows, test)

    def _evaluated(self, scorer: Any, x: Any, y: Any, test: PairSet) -> tuple[float, float]:
        result = evaluate(scorer, x, y, test.relevance, [self.metric], directions=self.directions)
        if self.metric.level != "query":
            return result.value(self.metric), nan
        return _mean_of([result.per_query(self.metric, d) for d in self.directions])


def _mean_of(lines: list[Any]) -> tuple[float, float]:
    """Mean of the directions in which queries count, and of their standard errors."""
    return mean([mean(line) for line in lines]), mean([standard_error(line) for line in lines])
