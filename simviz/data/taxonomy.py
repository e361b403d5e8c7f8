"""Texts in groups as pairs: what stands in one group belongs together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simviz.data.augment.groups import GROUP_SEPARATOR
from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

Grouped = Mapping[str, Sequence[str]]


def taxonomy_pairs(titles: Grouped, inputs: Grouped | None = None, **names: str) -> PairSet:
    """Pair texts with the titles of a taxonomy that share a group with them.

    Parameters
    ----------
    titles : mapping of str to sequence of str
        Title to the groups it stands in; the y side.
    inputs : mapping of str to sequence of str, optional
        Text to its groups; the x side. The titles themselves when omitted.
    **names : str
        ``name``, ``x_name``, ``y_name``.

    Returns
    -------
    PairSet
        All other pairs are negative. Metadata "group" of both sides names the
        groups, with " | " between those of a text that stands in several.

    Raises
    ------
    DatasetError
        If an input belongs to no group of the taxonomy.

    Examples
    --------
    >>> titles = {"cook": ["kitchen"], "chef": ["kitchen"], "vet": ["animals"]}
    >>> taxonomy_pairs(titles, {"Sous-chef wanted": ["kitchen"]})
    PairSet('pairs': 1 x × 3 y, 2 relevant)
    """
    members: dict[str, list[int]] = {}
    for column, groups in enumerate(titles.values()):
        for group in groups:
            members.setdefault(group, []).append(column)
    y = _items(titles)
    x = y if inputs is None else _items(inputs)
    rows, columns = [], []
    for row, (text, groups) in enumerate((titles if inputs is None else inputs).items()):
        found = {column for group in groups for column in members.get(group, ())}
        if not found:
            raise DatasetError(
                f"{text!r} belongs to {', '.join(groups) or 'no group'}, which no title of the "
                "taxonomy does. Leave it out, or add a title to that group."
            )
        rows += [row] * len(found)
        columns += sorted(found)
    relevance = Relevance.from_pairs(rows, columns, shape=(len(x), len(y)), unjudged="negative")
    return PairSet(x, y, relevance, **names)


def _items(grouped: Grouped) -> Items:
    groups = np.array([GROUP_SEPARATOR.join(of) for of in grouped.values()], dtype=object)
    return Items([str(i) for i in range(len(grouped))], list(grouped), "text", {"group": groups})
