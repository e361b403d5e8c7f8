"""The linear model that another method starts from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from simviz.base import LinearPairModel, Matrix
from simviz.relevance import Relevance


def initial_model(
    model: Any,
    data: tuple[Matrix, Matrix, Relevance],
    notify: Callable[[], bool],
    *,
    shared: bool,
) -> LinearPairModel:
    """Resolve ``model.init``: fit what is named or not fitted, cut what is too large."""
    linear: LinearPairModel = model.init
    if isinstance(model.init, str):
        from simviz.methods import get_method

        cls = get_method(model.init)
        known = cls._get_param_names()
        wanted = {
            "n_components": model.n_components,
            "shared": shared,
            "random_state": model.random_state,
        }
        linear = cls(**{name: value for name, value in wanted.items() if name in known})
    elif not _is_fitted(linear):
        linear = clone(linear)
    if not _is_fitted(linear):
        linear.set_callbacks(lambda step, total, metrics: notify())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
            linear.fit(*data)
        linear.set_callbacks()
    widths = linear.x_projection_.shape[0], linear.y_projection_.shape[0]
    given = data[0].shape[1], data[1].shape[1]
    if widths != given:
        raise ValueError(
            f"init was fitted on {widths[0]} and {widths[1]} features, X and y have "
            f"{given[0]} and {given[1]}. Fit it on the same features."
        )
    k = linear.n_components_
    if k > model.n_components and linear.tags.nested:
        return linear.truncate(model.n_components)
    if k < model.n_components:
        warnings.warn(
            f"{type(model).__name__}: n_components={model.n_components} is more than the data "
            f"can give {type(linear).__name__} to start from, {k} are kept.",
            UserWarning,
            stacklevel=4,
        )
    return linear


def _is_fitted(model: LinearPairModel) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True
