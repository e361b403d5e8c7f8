"""What reading a file gives: pairs, and what was done to get them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simviz.data.pairs import PairSet
from simviz.data.roles import Roles
from simviz.data.tables import Table


class LeftOut(NamedTuple):
    """A row that is not in the pairs, and why.

    Parameters
    ----------
    row : int
        Its number in the file.
    reason : str
        A sentence.
    """

    row: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class ReadResult:
    """Pairs with an account of how they were read.

    Parameters
    ----------
    pairs : PairSet
        What was read.
    notes : tuple of str
        What was guessed, mended, merged or dropped, in plain words.
    left_out : tuple of LeftOut
        Rows that are not in the pairs, in the order of the file.
    table : Table
        The file as it was read, for a preview.
    roles : Roles
        The roles that were used.
    disputed : ndarray of int, shape (n, 2), optional
        Pairs, by x and y item, that one row judges relevant and another not.
    """

    pairs: PairSet
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    table: Table
    roles: Roles
    disputed: NDArray[np.intp] | None = None
