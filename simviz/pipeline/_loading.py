"""Saved pipelines read back: what a file may hold, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone

from simviz.base import PairModel
from simviz.base.stored import Sizes
from simviz.features._base import Transformer
from simviz.persistence import load_state
from simviz.pipeline._csls import SCALED, CSLSPipeline
from simviz.pipeline._index import ItemIndex
from simviz.pipeline._pipelines import BLEND_ROLES, BlendPipeline, PairPipeline

Pipeline: TypeAlias = PairPipeline | BlendPipeline | CSLSPipeline


class BestPipeline:
    """What answers as the pipeline that was chosen, ``best``, where it has no answer itself."""

    __slots__ = ()
    best: Pipeline

    def __getattr__(self, name: str) -> Any:
        if name == "best" or name.startswith("__"):  # while it is copied
            raise AttributeError(name)
        return getattr(self.best, name)


def load_pipeline(path: str | Path, *, trusted: Sequence[Callable[..., Any]] = ()) -> Pipeline:
    """Read a saved pipeline, whatever it is made of.

    Parameters
    ----------
    path : str or Path
        File that ``save`` wrote.
    trusted : sequence of types and functions, optional
        Methods, features and functions of your own that the file may name; registered
        methods (`simviz.register_method`) need not be named.

    Returns
    -------
    PairPipeline, BlendPipeline or CSLSPipeline
        Fitted, with the same similarities to the last bit.

    Raises
    ------
    StoreError
        If the file is not a saved pipeline, or damaged: what each class declares to
        store is checked before anything is computed with it.
    FileNotFoundError
        If there is no such file.
    """
    return load_state(path, _pipeline, trusted=trusted)


def load_index(path: str | Path, *, trusted: Sequence[Callable[..., Any]] = ()) -> ItemIndex:
    """Read an index that `ItemIndex.save` wrote, with its pipeline.

    Parameters
    ----------
    path : str or Path
        The file.
    trusted : sequence of types and functions, optional
        As of `load_pipeline`.

    Returns
    -------
    ItemIndex

    Raises
    ------
    StoreError
        If the file is not a saved index, or damaged.
    FileNotFoundError
        If there is no such file.
    """

    def build(objects: dict[str, Any], sizes: dict[str, Sizes]) -> ItemIndex:
        if not isinstance(stored := objects.pop("index", None), dict):
            raise ValueError("it holds a pipeline alone, no items: load it with load_pipeline")
        return ItemIndex._loaded(_pipeline(objects, sizes), stored)

    return load_state(path, build, trusted=trusted)


def _pipeline(objects: dict[str, Any], sizes: dict[str, Sizes]) -> Pipeline:
    """The pipeline that was stored as these objects, which have these dimensions."""
    if "blend" in objects:
        return _blend(objects, sizes)
    if "csls" in objects:
        how = objects.pop("csls")
        return CSLSPipeline._loaded(_part(SCALED, objects, sizes), how)
    column = objects.pop("x_column", None)
    if not isinstance(column, str | None):
        raise ValueError(f"its x_column is a {type(column).__name__}")
    if not {"model", "x_features"} <= set(objects) <= {"model", "x_features", "y_features"}:
        raise ValueError(f"it holds {str(sorted(objects))[:80]}, not a pipeline")
    for name, value in objects.items():
        if not isinstance(value, PairModel if name == "model" else Transformer):
            raise ValueError(f"its {name} is a {type(value).__name__}")
    for side in "xy":
        name = "y_features" if side == "y" and "y_features" in objects else "x_features"
        read, made = sizes["model"][f"{side}_features"], sizes[name]["columns"]
        if read != made:
            raise ValueError(f"the method reads {read:,} features of {side}, {made:,} are made")
    parts = {name: _unfitted(value) for name, value in objects.items()}
    pipeline = PairPipeline(parts["model"], parts["x_features"], parts.get("y_features"), column)
    pipeline.model_ = objects["model"]
    pipeline.x_features_ = objects["x_features"]
    pipeline.y_features_ = objects.get("y_features", pipeline.x_features_)
    return pipeline


def _unfitted(estimator: Any) -> Any:
    """A clone, made in a third of the time where no parameter is an estimator."""
    params = {k: v for k, v in vars(estimator).items() if not (k.endswith("_") or k[0] == "_")}
    if any(isinstance(value, BaseEstimator) for value in params.values()):
        return clone(estimator)
    return type(estimator)(**params)


def _part(role: str, objects: dict[str, Any], sizes: dict[str, Sizes]) -> Pipeline:
    own = {n: n.removeprefix(f"{role}.") for n in objects if n.startswith(f"{role}.")}
    return _pipeline(
        {part: objects[n] for n, part in own.items()},
        {part: sizes[n] for n, part in own.items() if n in sizes},
    )


def _blend(objects: dict[str, Any], sizes: dict[str, Sizes]) -> BlendPipeline:
    parts = [_part(role, objects, sizes) for role in BLEND_ROLES]
    how = objects["blend"]
    blend = BlendPipeline(
        clone(parts[0]), clone(parts[1]), how["alpha"], normalization=how["normalization"]
    )
    blend.check_parameters()
    learned, lexical = (float(spread) for spread in how["spreads"])
    if not (0 < learned < np.inf and 0 < lexical < np.inf):
        raise ValueError(f"the spreads of a blend are above 0, got {how['spreads']}")
    blend.learned_, blend.lexical_ = parts
    blend.spreads_ = (learned, lexical)
    return blend
