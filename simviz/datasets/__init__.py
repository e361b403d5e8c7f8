"""Demos: real pairs read from packages that pip has already installed.

One module is one demo: it names itself in a constant ``DEMO`` and is found by
being there. Nothing is read, drawn or downloaded before a demo is loaded.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from simviz._extras import why_missing

if TYPE_CHECKING:
    from simviz.data.description import Direction
    from simviz.data.pairs import PairSet

DEMOS: Mapping[str, DemoInfo]

__all__ = ["DEMOS", "load_demo"]

SplitBy = Literal["pair", "x", "y", "group", "column"]
#: Parameters of S2Net that serve all demos of texts.
TEXT_S2NET = {"n_components": 100, "init": "cl_lsi", "learning_rate": 0.3}


@dataclass(frozen=True, slots=True)
class DemoInfo:
    """One demo as a card shows it."""

    id: str
    title: str
    description: str
    source: str
    licence: str
    x_name: str
    y_name: str
    split_by: SplitBy
    methods: Mapping[str, Mapping[str, Any]]
    metric: str
    direction: Direction
    size: str
    loader: Callable[[], PairSet]
    position: int = 100
    #: From its button to all figures, on two cores, see `benchmarks/README.md`.
    seconds: int = 10
    variant_of: str | None = None
    word_lists: Callable[[], Mapping[str, Sequence[str]]] | None = None
    #: Of simviz, whose libraries it is read from.
    extra: str = ""

    def why_missing(self) -> str | None:
        """Say what to install to read it; None where nothing is missing."""
        return why_missing(self.extra, f"The demo “{self.title}”") if self.extra else None


@cache
def _find_demos() -> Mapping[str, DemoInfo]:
    """Every module's ``DEMO`` by its id, in the order in which to show them."""
    demos: list[DemoInfo] = [
        importlib.import_module(f"{__name__}.{module.name}").DEMO
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    ]
    demos.sort(key=lambda demo: (demo.position, demo.id))
    return MappingProxyType({demo.id: demo for demo in demos})


def load_demo(demo_id: str) -> PairSet:
    """Load a demo by its id.

    Parameters
    ----------
    demo_id : str
        A key of `DEMOS`.

    Returns
    -------
    PairSet
        Its items and what belongs together; the same at every call.

    Raises
    ------
    DatasetError
        If there is no such demo, or the package it reads is not as expected.
    MissingLibraryError
        If that package is not installed.

    Examples
    --------
    >>> load_demo("icons")
    PairSet('icons': 618 keywords × 1,340 icons, 6,654 relevant)
    """
    from simviz.exceptions import DatasetError, MissingLibraryError
    from simviz.registry import unknown_name

    demos = _find_demos()
    if demo_id not in demos:
        raise DatasetError(unknown_name("demo", demo_id, demos))
    if reason := demos[demo_id].why_missing():
        raise MissingLibraryError(reason)
    return demos[demo_id].loader()


def __getattr__(name: str) -> Any:
    if name == "DEMOS":
        return _find_demos()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
