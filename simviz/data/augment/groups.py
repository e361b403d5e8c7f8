"""Which items of the y side stand together."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from simviz.data.pairs import PairSet

#: Between the groups of an item that stands in several, in the column "group".
GROUP_SEPARATOR = " | "


class Groups:
    """The groups of a pair set, by name, and what is in each.

    A metadata column "group" of the y side says it; without one, items that
    are relevant to a common item stand together.

    Parameters
    ----------
    pairs : PairSet
        Whose items are grouped.

    Examples
    --------
    >>> from simviz.relevance import Relevance
    >>> relevance = Relevance.from_pairs([0, 0, 1], [0, 1, 2], shape=(2, 3))
    >>> pairs = PairSet.from_texts(["cooks", "vets"], ["cook", "chef", "vet"], relevance)
    >>> groups = Groups(pairs)
    >>> list(groups.columns), groups.of_x(0)
    (['0', '1'], ('0',))
    >>> groups.texts("0")
    ['cook', 'chef', 'cooks']
    """

    def __init__(self, pairs: PairSet) -> None:
        self.pairs = pairs
        self.of_y = _named(pairs) or _connected(pairs)
        columns: dict[str, list[int]] = {}
        for j, names in enumerate(self.of_y):
            for name in names:
                columns.setdefault(name, []).append(j)
        #: Name of a group to the positions of its y items.
        self.columns = columns
        self._positives = pairs.relevance.positives

    def of_x(self, i: int) -> tuple[str, ...]:
        """Groups all of whose items are relevant to an x item, in a fixed order."""
        p = self._positives
        relevant = p.indices[p.indptr[i] : p.indptr[i + 1]].tolist()
        inside = set(relevant)
        names = dict.fromkeys(name for j in relevant for name in self.of_y[j])
        whole = [n for n in names if inside.issuperset(self.columns[n])]
        # Where judgments are patchy no group may be whole.
        return tuple(whole or names)

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Name of a group to the positions of the x items in it."""
        found: dict[str, list[int]] = {name: [] for name in self.columns}
        for i in range(len(self.pairs.x)):
            for name in self.of_x(i):
                found[name].append(i)
        return found

    def texts(self, name: str) -> list[str]:
        """Distinct texts of a group on both sides, those of the y side first."""
        y, x = self.pairs.y.content, self.pairs.x.content
        both = [*(y[j] for j in self.columns[name]), *(x[i] for i in self.rows[name])]
        return list(dict.fromkeys(both))


def _named(pairs: PairSet) -> list[tuple[str, ...]] | None:
    """Groups as the column says."""
    if "group" not in pairs.y.metadata:
        return None
    cells = pairs.y.metadata["group"].tolist()
    # An item of no known group is one of its own.
    return [
        tuple(str(cell).split(GROUP_SEPARATOR)) if cell not in (None, "") else (f"#{j}",)
        for j, cell in enumerate(cells)
    ]


def _connected(pairs: PairSet) -> list[tuple[str, ...]]:
    """Groups as relevance says."""
    from scipy.sparse.csgraph import connected_components

    positives = pairs.relevance.positives
    together = sp.csr_array((positives.T @ positives) > 0)
    _, labels = connected_components(together, directed=False)
    return [(str(label),) for label in np.asarray(labels).tolist()]
