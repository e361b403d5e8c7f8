"""Both sides on one map, and how far to trust it.

The names below are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.projection.barycentre import Spot, place_among
    from simviz.projection.gap import Gap, balance_sides, side_gap
    from simviz.projection.joint import JointMap, joint_map
    from simviz.projection.mds import mds_map
    from simviz.projection.nearest import Neighbors, kept_near, nearest_across
    from simviz.projection.pca import pca_map
    from simviz.projection.procrustes import align
    from simviz.projection.quality import Quality, map_quality
    from simviz.projection.regions import Region, topic_regions, word_regions
    from simviz.projection.umap import umap_map, warm_up
    from simviz.projection.unfolding import unfold

_HOMES = {
    "Gap": "gap",
    "JointMap": "joint",
    "Neighbors": "nearest",
    "Quality": "quality",
    "Region": "regions",
    "Spot": "barycentre",
    "align": "procrustes",
    "balance_sides": "gap",
    "joint_map": "joint",
    "kept_near": "nearest",
    "map_quality": "quality",
    "mds_map": "mds",
    "nearest_across": "nearest",
    "pca_map": "pca",
    "place_among": "barycentre",
    "side_gap": "gap",
    "topic_regions": "regions",
    "umap_map": "umap",
    "unfold": "unfolding",
    "warm_up": "umap",
    "word_regions": "regions",
}

__all__ = [
    "Gap",
    "JointMap",
    "Neighbors",
    "Quality",
    "Region",
    "Spot",
    "align",
    "balance_sides",
    "joint_map",
    "kept_near",
    "map_quality",
    "mds_map",
    "nearest_across",
    "pca_map",
    "place_among",
    "side_gap",
    "topic_regions",
    "umap_map",
    "unfold",
    "warm_up",
    "word_regions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
