"""Learned similarity: train any method on pairs, compare honestly, draw one map.

The names below are loaded when they are first asked for, so that importing
simviz itself costs nothing.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.charts import map_figure
    from simviz.data import Items, PairSet, read_pairs, split, write_pairs
    from simviz.datasets import load_demo
    from simviz.evaluation import evaluate
    from simviz.evaluation.baselines import PopularityScorer
    from simviz.methods import all_methods, get_method
    from simviz.pipeline import BlendPipeline, PairPipeline, default_pipeline, load_pipeline
    from simviz.projection import joint_map
    from simviz.relevance import Relevance

# OpenBLAS lets its threads spin after each product, which starves the compiled kernels that
# follow; it reads this when numpy is first imported, so simviz has to come before numpy.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

__all__ = [
    "BlendPipeline",
    "Items",
    "PairPipeline",
    "PairSet",
    "PopularityScorer",
    "Relevance",
    "all_methods",
    "default_pipeline",
    "evaluate",
    "get_method",
    "joint_map",
    "load_demo",
    "load_pipeline",
    "map_figure",
    "read_pairs",
    "split",
    "write_pairs",
]

_HOMES = {
    "BlendPipeline": "pipeline",
    "Items": "data",
    "PairPipeline": "pipeline",
    "PairSet": "data",
    "PopularityScorer": "evaluation.baselines",
    "Relevance": "relevance",
    "all_methods": "methods",
    "default_pipeline": "pipeline",
    "evaluate": "evaluation",
    "get_method": "methods",
    "joint_map": "projection",
    "load_demo": "datasets",
    "load_pipeline": "pipeline",
    "map_figure": "charts",
    "read_pairs": "data",
    "split": "data",
    "write_pairs": "data",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"simviz.{_HOMES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("simviz")
    raise AttributeError(f"module 'simviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
