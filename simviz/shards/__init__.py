"""Data larger than memory: folders of Parquet, shards on disk, and fits that stream over them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.shards.csr import SparseShards

_HOMES = {
    "SparseShards": "csr",
}

__all__ = ["SparseShards"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
