"""Data sets, runs and shares on disk, with an index beside them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.store.records import DatasetInfo, Limits, RunInfo, Share
    from simviz.store.run import PartFiles, Run, RunFiles, RunPart
    from simviz.store.store import Store

_WHERE = {
    "DatasetInfo": "records",
    "Limits": "records",
    "PartFiles": "run",
    "Run": "run",
    "RunFiles": "run",
    "RunInfo": "records",
    "RunPart": "run",
    "Share": "records",
    "Store": "store",
}

__all__ = [
    "DatasetInfo",
    "Limits",
    "PartFiles",
    "Run",
    "RunFiles",
    "RunInfo",
    "RunPart",
    "Share",
    "Store",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"simviz.store.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
