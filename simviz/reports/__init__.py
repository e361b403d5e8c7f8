"""Comparisons that leave: one page that opens anywhere, and files for other programs.

The names below are loaded when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.reports.lines import query_csv, repeat_code
    from simviz.reports.page import html_report
    from simviz.reports.screens import (
        compare_code,
        data_code,
        map_code,
        normalise_code,
        search_code,
    )
    from simviz.reports.trec_files import trec_zip

_WHERE = {
    "compare_code": "screens",
    "data_code": "screens",
    "html_report": "page",
    "map_code": "screens",
    "normalise_code": "screens",
    "query_csv": "lines",
    "repeat_code": "lines",
    "search_code": "screens",
    "trec_zip": "trec_files",
}

__all__ = [
    "compare_code",
    "data_code",
    "html_report",
    "map_code",
    "normalise_code",
    "query_csv",
    "repeat_code",
    "search_code",
    "trec_zip",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"simviz.reports.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
