"""What is known about a demo before its data are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from simviz._extras import why_missing
from simviz.data.description import Direction
from simviz.data.pairs import PairSet

SplitBy = Literal["pair", "x", "y", "group", "column"]


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
