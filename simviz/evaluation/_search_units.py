"""What can be set apart from the rest without a leak, by number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.data import PairSet
from simviz.data.apportion import apportion
from simviz.data.partition import components, groups
from simviz.data.splitting import competes_whole
from simviz.data.wording import percent
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

UnitBy = Literal["pair", "x", "y", "group"]
Index = NDArray[np.intp]
#: A component of linked items beyond this share of a training part cannot be held out fairly.
_LARGEST = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class PairUnits:
    """A pair set as numbered units, any of which may be held out without a leak.

    What `simviz.data.split` keeps together is a unit: an item of one side, a
    group, or the items that are linked by relevant pairs. Arrays of unit
    numbers are what scikit-learn's splitters and search classes cut.

    Parameters
    ----------
    pairs : PairSet
        All pairs that may be learned from or scored on; the test part is not
        among them.
    by : {"pair", "x", "y", "group"}
        What a unit is.
    x_unit, y_unit : ndarray of int or None
        Unit of each item. None where a side belongs to no unit but follows
        the other: its items are those judged with the items of a part.
    weights : ndarray of float, shape (n_units,)
        Judgments (or items) in each unit.
    relevant : ndarray of bool, shape (n_units,)
        Whether a unit has a relevant pair.
    group_key : str, optional
        Metadata column of the groups.

    Examples
    --------
    >>> words = [f"word {i}" for i in range(10)]
    >>> units = PairUnits.of(PairSet.from_texts(words, words), "pair")
    >>> len(units), units.take([2, 5])
    (10, PairSet('pairs': 2 x × 2 y, 2 relevant))
    """

    pairs: PairSet
    by: UnitBy
    x_unit: Index | None
    y_unit: Index | None
    weights: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    group_key: str | None = None

    @classmethod
    def of(cls, pairs: PairSet, by: UnitBy = "pair", group_key: str | None = None) -> Self:
        """Number the units of a pair set.

        Parameters
        ----------
        pairs : PairSet
            Without the test part.
        by : {"pair", "x", "y", "group"}, default="pair"
            As in `simviz.data.split`.
        group_key : str, optional
            Metadata column of the groups; "group" when omitted.

        Returns
        -------
        PairUnits
            Ready to be cut.

        Raises
        ------
        DatasetError
            If `by` is unknown, the column is missing, or most pairs hang
            together.
        """
        x: Index | None
        y: Index | None
        if by == "pair":
            x, y, weights = _linked(pairs)
        elif by == "x":
            x, y, weights = np.arange(len(pairs.x)), None, np.ones(len(pairs.x))
        elif by == "y":
            x, y, weights = None, np.arange(len(pairs.y)), np.ones(len(pairs.y))
        elif by == "group":
            codes, numbers = groups(pairs, group_key or "group")
            x, y = codes.get("x"), codes.get("y")
            counts = [np.bincount(code, minlength=len(numbers)) for code in codes.values()]
            weights = np.sum(counts, axis=0).astype(np.float64)
        else:
            raise DatasetError(
                f"Units are cut by 'pair', 'x', 'y' or 'group'; got {by!r}. Where a column names "
                "the parts, cut what is left of its test part by 'x', 'y' or 'pair'."
            )
        relevant = np.zeros(len(weights), dtype=bool)
        positives = pairs.relevance.positives
        for unit, graph in ((x, positives), (y, positives.T.tocsr())):
            if unit is not None:
                relevant[unit[np.diff(graph.indptr) > 0]] = True
        return cls(pairs, by, x, y, weights, relevant, group_key)

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, units: ArrayLike, known: PairSet | None = None) -> PairSet:
        """The pairs of some units.

        Parameters
        ----------
        units : array-like of int
            Numbers of units.
        known : PairSet, optional
            What was learned from, where a held-out part is asked for: its
            candidates on a side that follows the other one are all items, or
            the keywords that were learned, as `simviz.data.split` has it.

        Returns
        -------
        PairSet
            Nothing of another unit is in it, but for items of a side that
            follows the other one.
        """
        chosen = np.zeros(len(self), dtype=bool)
        chosen[np.asarray(units, dtype=np.intp).ravel()] = True
        x = None if self.x_unit is None else np.flatnonzero(chosen[self.x_unit])
        y = None if self.y_unit is None else np.flatnonzero(chosen[self.y_unit])
        relevance = self.pairs.relevance
        if x is None and y is not None:
            x = self._followers("x", relevance.T, y, known)
        elif y is None and x is not None:
            y = self._followers("y", relevance, x, known)
        part = self.pairs.take(x, y)
        if self.pairs.x is self.pairs.y and np.array_equal(x, y):  # type: ignore[arg-type]
            return replace(part, y=part.x)  # a collection linked to itself stays one
        return part

    def folds(self, n_splits: int, seed: int = 0) -> list[tuple[Index, Index]]:
        """Cut all units into folds of about equal weight.

        Parameters
        ----------
        n_splits : int
            Folds, at least 2.
        seed : int, default=0
            Equal units and seeds give equal folds.

        Returns
        -------
        list of (ndarray, ndarray)
            Units to train on and units to score, for each fold; what
            scikit-learn's search classes take as ``cv``.

        Raises
        ------
        DatasetError
            If there are too few units with a relevant pair.
        """
        if n_splits < 2:
            raise DatasetError(f"Folds are at least 2, got {n_splits}. Take 5.")
        rng = np.random.default_rng(seed)
        strata = np.where(self.relevant, 0, 1)
        shares = np.full(n_splits, 1 / n_splits)
        part = apportion(np.maximum(self.weights, 1), strata, shares, rng, "unit")
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_splits)]

    def _followers(self, side: str, relevance: Relevance, rows: Index, known: object) -> Index:
        """Items of the side that is not cut, as `simviz.data.split` chooses them."""
        items = self.pairs.x if side == "x" else self.pairs.y
        if items.kind == "keyword":
            if isinstance(known, PairSet):
                learned = set((known.x if side == "x" else known.y).ids)
                return np.flatnonzero([name in learned for name in items.ids])
            graph = relevance.positives
        elif isinstance(known, PairSet) and competes_whole(self.pairs):
            return np.arange(len(items), dtype=np.intp)
        else:
            graph = relevance.matrix if relevance.unjudged == "ignore" else relevance.positives
        return np.unique(graph[rows].indices).astype(np.intp)

    def __sklearn_clone__(self) -> Self:
        return self  # it never changes: every candidate of a search may read the same one

    def __deepcopy__(self, memo: object) -> Self:
        return self


def _linked(pairs: PairSet) -> tuple[Index, Index, NDArray[np.float64]]:
    """Components of linked items; judged negatives link where they do not tie everything."""
    relevance = pairs.relevance
    x, y, weights = components(pairs, relevance.positives)
    if relevance.unjudged == "ignore":
        wider = components(pairs, relevance.matrix)
        if wider[2].max() <= _LARGEST * wider[2].sum():
            x, y, weights = wider
    if weights.max() > max(1.0, _LARGEST * weights.sum()):
        raise DatasetError(
            f"{percent(weights.max() / weights.sum())} of the pairs hang together through shared "
            "items, so they cannot be cut by pair. Cut by='x' (new x items) or by='y'."
        )
    return x, y, weights.astype(np.float64)
