"""The same work on several machines, by Dask: ``pip install "simviz[cluster]"``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.cluster.carried import Carried
    from simviz.cluster.executor import ClusterExecutor
    from simviz.cluster.s2net import fit_s2net
    from simviz.cluster.service import cluster_queue

_WHERE = {
    "Carried": "carried",
    "ClusterExecutor": "executor",
    "cluster_queue": "service",
    "fit_s2net": "s2net",
}

__all__ = ["Carried", "ClusterExecutor", "cluster_queue", "fit_s2net"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"simviz.cluster.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
