"""The long form that simviz writes: a header that says what the cells mean.

One row is one judgment. The columns are ``x_id``, ``x[text]``, ``y_id``,
``y[keyword]`` (the item kind in brackets), a value column such as
``grade[unjudged=negative]`` or ``score[unjudged=ignore threshold=2.5]``, and
metadata such as ``x.year[<i8]``. A row with one side only declares an item,
which keeps items that nothing was judged against, and the order of items.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from simviz.relevance import Kind, Unjudged

Side = Literal["x", "y"]
TextKind = Literal["text", "keyword"]

_START = re.compile(r"x_id([,\t])x\[(?:text|keyword)\]\1y_id\1y\[(?:text|keyword)\]\1")
_CONTENT = re.compile(r"([xy])\[(text|keyword)\]")
_VALUE = re.compile(r"(grade|score)\[unjudged=(negative|ignore)(?: threshold=([^\]]+))?\]")
_METADATA = re.compile(r"([xy])\.(.*)\[(text|[<>|][iufb]\d)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """One metadata column: its side, its name, and "text" or a numpy dtype."""

    side: Side
    name: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.side}.{self.name}[{self.dtype}]"


@dataclass(frozen=True, slots=True)
class Header:
    """What the columns of a file in long form mean.

    Parameters
    ----------
    x_kind, y_kind : {"text", "keyword"}
        Item kinds.
    kind, unjudged, threshold
        As in `simviz.relevance.Relevance`.
    metadata : tuple of MetadataColumn
        In the order of the columns.

    Examples
    --------
    >>> header = Header("text", "keyword", "grade", "negative", None)
    >>> header.columns
    ['x_id', 'x[text]', 'y_id', 'y[keyword]', 'grade[unjudged=negative]']
    >>> parse_header(header.columns) == header
    True
    """

    x_kind: TextKind
    y_kind: TextKind
    kind: Kind
    unjudged: Unjudged
    threshold: float | None
    metadata: tuple[MetadataColumn, ...] = ()

    @property
    def value(self) -> str:
        """Name of the value column."""
        threshold = "" if self.threshold is None else f" threshold={float(self.threshold)!r}"
        return f"{self.kind}[unjudged={self.unjudged}{threshold}]"

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        sides = ["x_id", f"x[{self.x_kind}]", "y_id", f"y[{self.y_kind}]"]
        return [*sides, self.value, *map(str, self.metadata)]


def own_delimiter(text: str) -> str | None:
    """Delimiter of a text that begins with the header of `Header.columns`, else None."""
    start = _START.match(text)
    return start.group(1) if start else None


def parse_header(columns: Sequence[str]) -> Header | None:
    """Read column names back, or None where the file is not in this form."""
    if len(columns) < 5 or columns[0] != "x_id" or columns[2] != "y_id":
        return None
    x_kind, y_kind = (_CONTENT.fullmatch(columns[i]) for i in (1, 3))
    value = _VALUE.fullmatch(columns[4])
    metadata = [_METADATA.fullmatch(c) for c in columns[5:]]
    if not (x_kind and y_kind and value) or None in metadata:
        return None
    threshold = value.group(3)
    try:
        parsed = None if threshold is None else float(threshold)
        extra = tuple(
            MetadataColumn(cast(Side, m.group(1)), m.group(2), _dtype(m.group(3)))
            for m in metadata
            if m is not None
        )
    except (ValueError, TypeError):
        return None
    return Header(
        cast(TextKind, x_kind.group(2)),
        cast(TextKind, y_kind.group(2)),
        cast(Kind, value.group(1)),
        cast(Unjudged, value.group(2)),
        parsed,
        extra,
    )


def _dtype(name: str) -> str:
    """A dtype name that numpy knows; raises TypeError otherwise."""
    return name if name == "text" else np.dtype(name).str
