"""What scikit-learn's search classes drive: an estimator whose samples are units of pairs."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from simviz.evaluation._search_fits import SharedFits, TrainFits, full_name
from simviz.evaluation._search_scores import Scorer
from simviz.evaluation._search_units import PairUnits
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.result import Asking
from simviz.pipeline import Pipeline

_OWN = ("pipeline", "units", "metric", "direction", "shared")


class UnitEstimator(BaseEstimator):
    """A pipeline as scikit-learn's search classes know estimators: fitted on rows of one array.

    The rows are numbers of units (`PairUnits`): queries, groups or linked
    pairs. `fit` and `score` slice the pair set, both sides at once and without
    a leak, which slicing rows of two unequal sides would not be.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        What is fitted. Its method's parameters go by their short names:
        ``n_components`` is ``pipeline__model__n_components``.
    units : PairUnits
        The pairs, without the test part.
    metric : Metric or str, default="MRR"
        What `score` measures.
    direction : {"x2y", "y2x", "mean"}, optional
        Which side asks; x when omitted.
    shared : SharedFits, optional
        Keeps features and nested methods of each training part for the next
        candidate.

    Attributes
    ----------
    pipeline_ : PairPipeline or BlendPipeline
        Fitted.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from simviz.data import PairSet
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(
    ...     [f"{c} {t}" for c in ("red", "blue", "green") for t in ("car", "sea", "sky")],
    ...     [f"{t} {c}" for c in ("rot", "blau", "grün") for t in ("Auto", "Meer", "Luft")],
    ... )
    >>> units = PairUnits.of(pairs, "x")
    >>> pipeline = default_pipeline("cca", pairs, shared=False)
    >>> grid = GridSearchCV(UnitEstimator(pipeline, units), {"n_components": [1, 2]}, cv=3)
    >>> grid.fit(np.arange(len(units))).best_params_
    {'n_components': 2}
    """

    def __init__(
        self,
        pipeline: Pipeline,
        units: PairUnits,
        metric: Metric | str = "MRR",
        direction: Asking | None = None,
        shared: SharedFits | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.units = units
        self.metric = metric
        self.direction = direction
        self.shared = shared

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the pipeline and its method by short names too.

        Parameters
        ----------
        **params
            Names and values.

        Returns
        -------
        self
            The same object.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        named = {}
        for name, value in params.items():
            is_own = name in _OWN or name.startswith("pipeline__")
            named[name if is_own else f"pipeline__{full_name(self.pipeline, name)}"] = value
        return cast("Self", super().set_params(**named))

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train on some units.

        Parameters
        ----------
        X : array-like of int, shape (n,) or (n, 1)
            Numbers of units.
        y : object
            Ignored: what belongs together is known to the units.

        Returns
        -------
        self
            Fitted. Methods that stop early watch an eighth of these units.
        """
        chosen = _numbers(X)
        if self.shared is None:
            fits = TrainFits(self.units.take(chosen), self.units.by, self.units.group_key)
            self.pipeline_ = fits.fitted(self.pipeline)
        else:
            fits = self.shared.on(self.units, chosen)
            self.pipeline_ = fits.fitted(self.pipeline, self.shared.reach)
        self._train = fits.train
        return self

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Measure on some units.

        Parameters
        ----------
        X : array-like of int, shape (n,) or (n, 1)
            Numbers of units.
        y : object
            Ignored.

        Returns
        -------
        float
            Larger is better: a metric of which less is better is negated.
        """
        check_is_fitted(self)
        metric = parse_metric(self.metric) if isinstance(self.metric, str) else self.metric
        test = self.units.take(_numbers(X), self._train)
        value, _ = Scorer(metric, self.direction).one(self.pipeline_, test)
        return value if metric.higher_is_better else -value


def _numbers(X: ArrayLike) -> NDArray[np.intp]:
    return np.asarray(X, dtype=np.intp).ravel()
