"""Columns by their distinct cells: what is said of a cell is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]


class Coded(NamedTuple):
    """A column as the distinct cells and which of them stands in each row.

    Parameters
    ----------
    codes : array of int, shape (n,)
        Position in `words` of the cell of each row.
    words : object array of str
        The distinct cells, in order of appearance.
    """

    codes: Codes
    words: NDArray[np.object_]

    @property
    def cells(self) -> NDArray[np.object_]:
        """The cell of each row; equal cells are one object."""
        return self.words[self.codes]

    @property
    def counts(self) -> Codes:
        """In how many rows each word stands."""
        return np.bincount(self.codes, minlength=len(self.words))

    def map(self, change: Callable[[str], str]) -> Coded:
        """The column with each cell changed; words that become equal are one.

        Parameters
        ----------
        change : callable
            From a cell to a cell.

        Returns
        -------
        Coded
            Its words in order of appearance.
        """
        return merged(self.codes, [change(word) for word in self.words])

    def where(self, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
        """In which rows something holds of the cell.

        Parameters
        ----------
        holds : callable
            What is asked of a cell.

        Returns
        -------
        array of bool, shape (n,)
            One answer a row.
        """
        answers = np.fromiter(map(holds, self.words), dtype=bool, count=len(self.words))
        return answers[self.codes]


def merged(codes: Codes, words: Sequence[str]) -> Coded:
    """A column from codes and words that may repeat.

    Examples
    --------
    >>> merged(np.array([0, 1, 2]), ["a", "b", "a"]).codes.tolist()
    [0, 1, 0]
    """
    seen: dict[str, int] = {}
    to = np.array([seen.setdefault(word, len(seen)) for word in words], dtype=np.intp)
    return Coded(to[codes] if len(to) else codes, as_cells(list(seen)))


def encoded(cells: NDArray[np.object_]) -> Coded:
    """A column from its cells.

    Examples
    --------
    >>> encoded(as_cells(["a", "b", "a"])).words.tolist()
    ['a', 'b']
    """
    import pandas as pd

    codes, words = pd.factorize(cells, use_na_sentinel=False)
    return Coded(codes.astype(np.intp, copy=False), as_cells(words))


def renumbered(codes: Codes) -> tuple[Codes, Codes]:
    """Number codes in order of appearance; also where each appears first.

    Examples
    --------
    >>> renumbered(np.array([7, 3, 7]))
    (array([0, 1, 0]), array([0, 1]))
    """
    import pandas as pd

    new, distinct = pd.factorize(codes)
    new = new.astype(np.intp, copy=False)
    first = np.empty(len(distinct), dtype=np.intp)
    first[new[::-1]] = np.arange(len(new) - 1, -1, -1)
    return new, first


def as_cells(values: Sequence[str] | NDArray[np.object_]) -> NDArray[np.object_]:
    """Strings as an object array, never as one of fixed width."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells
