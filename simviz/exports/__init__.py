"""Trained models in forms that other programs read, where simviz is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.exports.arrays import numpy_files
    from simviz.exports.graphs import onnx_graphs
    from simviz.exports.linear import why_not
    from simviz.exports.modules import dense_modules

_WHERE = {
    "dense_modules": "modules",
    "numpy_files": "arrays",
    "onnx_graphs": "graphs",
    "why_not": "linear",
}

__all__ = ["dense_modules", "numpy_files", "onnx_graphs", "why_not"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"simviz.exports.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
