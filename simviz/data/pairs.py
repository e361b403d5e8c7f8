"""PairSet: the items of both sides and what belongs together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from simviz.data.items import Items
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

Index = NDArray[np.integer] | Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class PairSet:
    """Two sides and their relevance, frozen, with a content digest.

    Parameters
    ----------
    x, y : Items
        The left side (queries, keywords, English) and the right side
        (documents, images, Spanish). The same object on both sides means
        links between items of one collection.
    relevance : Relevance
        Judgments of shape (len(x), len(y)).
    name : str, default="pairs"
        A short name to show.
    x_name, y_name : str
        What the items of a side are called, in the plural.

    Raises
    ------
    DatasetError
        If a side is empty or the shapes do not fit.

    Examples
    --------
    >>> pairs = PairSet.from_texts(["heart", "car"], ["corazón", "coche"])
    >>> pairs
    PairSet('pairs': 2 x × 2 y, 2 relevant)
    """

    x: Items
    y: Items
    relevance: Relevance
    name: str = "pairs"
    x_name: str = "x"
    y_name: str = "y"
    _digest: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for side, items in (("x", self.x), ("y", self.y)):
            if not len(items):
                raise DatasetError(f"The {side} side is empty. Bring at least one item a side.")
        if self.relevance.shape != (len(self.x), len(self.y)):
            raise DatasetError(
                f"Relevance has shape {self.relevance.shape}, the sides have "
                f"{len(self.x)} and {len(self.y)} items."
            )

    @classmethod
    def from_texts(
        cls, x: Sequence[str], y: Sequence[str], relevance: Relevance | None = None, **names: str
    ) -> PairSet:
        """Pair texts row by row, or by the given relevance.

        Parameters
        ----------
        x, y : sequences of str
            The texts of the two sides.
        relevance : Relevance, optional
            Judgments of shape (len(x), len(y)); row i belongs to row i when omitted.
        **names : str
            ``name``, ``x_name``, ``y_name``.

        Returns
        -------
        PairSet
            With ids "0", "1", ... on both sides.
        """
        sides = [Items([str(i) for i in range(len(s))], s, "text") for s in (x, y)]
        return cls(sides[0], sides[1], Relevance.coerce(relevance, len(x), len(y)), **names)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of x items and of y items."""
        return len(self.x), len(self.y)

    @property
    def digest(self) -> str:
        """Content hash (hex), taken once; names do not count."""
        if self._digest is None:
            h = hashlib.blake2b(digest_size=16)
            for part in (self.x.digest, self.y.digest, self.relevance.digest):
                h.update(part.encode())
            object.__setattr__(self, "_digest", h.hexdigest())
        return cast(str, self._digest)

    def take(self, x_index: Index | None = None, y_index: Index | None = None) -> PairSet:
        """Some items of each side with the judgments between them.

        Parameters
        ----------
        x_index, y_index : array-like of int, optional
            Items to keep, in the order wanted; all when omitted.

        Returns
        -------
        PairSet
            Under the same names; what a pair means stays what it was.
        """
        return replace(
            self,
            x=self.x if x_index is None else self.x.take(x_index),
            y=self.y if y_index is None else self.y.take(y_index),
            relevance=self.relevance.take(x_index, y_index),
        )

    def swap(self) -> PairSet:
        """The same pairs with the sides exchanged."""
        return replace(
            self,
            x=self.y,
            y=self.x,
            relevance=self.relevance.T,
            x_name=self.y_name,
            y_name=self.x_name,
        )

    def __repr__(self) -> str:
        return (
            f"PairSet({self.name!r}: {len(self.x):,} {self.x_name} × {len(self.y):,} "
            f"{self.y_name}, {self.relevance.positives.nnz:,} relevant)"
        )
