"""Pipelines as files of JSON and arrays, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from simviz.exceptions import StoreError
from simviz.persistence import load_state, save_state
from simviz.pipeline._blend import ROLES, BlendPipeline, Pipeline
from simviz.pipeline._pair import PairPipeline


def save_pipeline(pipeline: Pipeline, path: str | Path) -> None:
    """Write a fitted pipeline to one file."""
    save_state(_objects(pipeline), path)


def load_pipeline(path: str | Path) -> Pipeline:
    """Read a saved pipeline or blend.

    Parameters
    ----------
    path : str or Path
        File that ``save`` wrote.

    Returns
    -------
    PairPipeline or BlendPipeline
        Fitted, with the same similarities to the last bit.

    Raises
    ------
    StoreError
        If the file is not a saved pipeline.
    """
    return _pipeline(load_state(path), path)


def _objects(pipeline: Pipeline) -> dict[str, Any]:
    """What is stored of a fitted pipeline, by name; those of a part begin with its role."""
    check_is_fitted(pipeline)
    if isinstance(pipeline, PairPipeline):
        told: dict[str, Any] = {"model": pipeline.model_, "x_features": pipeline.x_features_}
        if pipeline.y_features_ is not pipeline.x_features_:
            told["y_features"] = pipeline.y_features_
        return told
    told = {
        "blend": {
            "alpha": float(pipeline.alpha),
            "normalization": pipeline.normalization,
            "spreads": list(pipeline.spreads_),
        }
    }
    for role, part in zip(ROLES, (pipeline.learned_, pipeline.lexical_), strict=True):
        told |= {f"{role}.{name}": value for name, value in _objects(part).items()}
    return told


def _pipeline(objects: dict[str, Any], path: str | Path) -> Pipeline:
    """The pipeline that was stored as these objects."""
    if "blend" in objects:
        return _blend(objects, path)
    if not {"model", "x_features"} <= set(objects):
        raise StoreError(f"{path} holds {sorted(objects)}, not a pipeline.")
    parts = {name: clone(value) for name, value in objects.items()}
    pipeline = PairPipeline(parts["model"], parts["x_features"], parts.get("y_features"))
    pipeline.model_ = objects["model"]
    pipeline.x_features_ = objects["x_features"]
    pipeline.y_features_ = objects.get("y_features", pipeline.x_features_)
    return pipeline


def _blend(objects: dict[str, Any], path: str | Path) -> BlendPipeline:
    parts = []
    for role in ROLES:
        start = f"{role}."
        own = {n.removeprefix(start): v for n, v in objects.items() if n.startswith(start)}
        parts.append(_pipeline(own, path))
    try:
        how = objects["blend"]
        blend = BlendPipeline(
            clone(parts[0]), clone(parts[1]), how["alpha"], normalization=how["normalization"]
        )
        blend.check_parameters()
        learned, lexical = (float(spread) for spread in how["spreads"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} holds a blend that cannot be read ({error}).") from error
    blend.learned_, blend.lexical_ = parts
    blend.spreads_ = (learned, lexical)
    return blend
