"""What every format is read into: columns of text and columns of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from simviz.data.coded import Coded


@dataclass(slots=True)
class Columns:
    """The columns of a file, and what was done to get them.

    Parameters
    ----------
    text : dict of str to Coded or list of str
        Columns whose cells are text, numbers, dates.
    vectors : dict of str to array of shape (n, d)
        Columns whose cells are lists of as many numbers each.
    order : list of str
        Names of all columns, as in the file.
    rows : sequence of int
        The number of each row.
    notes : list of str
        What the reader should know.
    """

    text: dict[str, Coded | list[str]]
    vectors: dict[str, NDArray[Any]]
    order: list[str]
    rows: Sequence[int]
    notes: list[str] = field(default_factory=list)
