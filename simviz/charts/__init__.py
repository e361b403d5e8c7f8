"""Tidy results to Plotly figures: pure functions, in a light and a dark look.

The names below are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.charts.dimensions import DimensionCurve, dimension_figure, dimension_records
    from simviz.charts.map import map_figure, map_records
    from simviz.charts.roc import RocCurve, roc_figure, roc_records
    from simviz.charts.style import DARK, LIGHT, MethodStyle, Theme, apply_theme, method_style

_HOMES = {
    "DARK": "style",
    "DimensionCurve": "dimensions",
    "LIGHT": "style",
    "MethodStyle": "style",
    "RocCurve": "roc",
    "Theme": "style",
    "apply_theme": "style",
    "dimension_figure": "dimensions",
    "dimension_records": "dimensions",
    "map_figure": "map",
    "map_records": "map",
    "method_style": "style",
    "roc_figure": "roc",
    "roc_records": "roc",
}

__all__ = [
    "DARK",
    "LIGHT",
    "DimensionCurve",
    "MethodStyle",
    "RocCurve",
    "Theme",
    "apply_theme",
    "dimension_figure",
    "dimension_records",
    "map_figure",
    "map_records",
    "method_style",
    "roc_figure",
    "roc_records",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
