"""Other shapes of tables: groups and triplets, as judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from simviz.data.augment.base import GROUP_SEPARATOR
from simviz.data.cells import as_cells, counted, shown
from simviz.data.columns import Roles
from simviz.data.items import Items
from simviz.data.limits import get_limits
from simviz.data.pairs import PairSet
from simviz.data.tables import Table
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

_LABEL = "relevant"


def triplets_as_judgments(table: Table, roles: Roles) -> tuple[Table, Roles]:
    r"""Anchor, positive and negatives as one judgment a row each."""
    if not roles.negatives:
        raise DatasetError(
            f"{table.name}: triplets need a column with what does not belong. Choose one, or "
            "read the file as pairs."
        )
    columns = (roles.y, *roles.negatives)
    as_vectors = [c in table.vectors for c in columns]
    if any(as_vectors) and not all(as_vectors):
        raise DatasetError(
            f"{table.name}: columns {', '.join(map(shown, columns))} hold text and vectors. "
            "Choose columns of one kind for what belongs and what does not."
        )
    label = _LABEL
    while label in table.columns:
        label += "_"
    kept = [np.arange(len(table))]
    for column in roles.negatives:
        filled = (
            np.ones(len(table), dtype=bool)
            if column in table.vectors
            else table.factorize(column).where(lambda cell: bool(cell.strip()))
        )
        kept.append(np.flatnonzero(filled))
    at = np.concatenate(kept)
    # Stable: the rows of one triplet stay together, its positive first.
    order = np.argsort(at, kind="stable")
    at = at[order]
    others = [c for c in table.columns if c not in columns]
    cells = {c: table.columns[c][at] for c in others}
    joined = [table.columns[c][rows] for c, rows in zip(columns, kept, strict=True)]
    cells[roles.y] = np.concatenate(joined)[order]
    signs = [["1"] * len(kept[0]), *(["-1"] * len(rows) for rows in kept[1:])]
    cells[label] = as_cells([sign for part in signs for sign in part])[order]
    vectors = {c: v[at] for c, v in table.vectors.items() if c in others}
    if all(as_vectors):
        parts = [table.vectors[c][rows] for c, rows in zip(columns, kept, strict=True)]
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise DatasetError(
                f"{table.name}: the vectors of columns {', '.join(map(shown, columns))} have "
                f"{' and '.join(map(str, sorted(widths)))} numbers. Bring equally many."
            )
        vectors[roles.y] = np.concatenate(parts)[order]
    long = Table(
        name=table.name,
        columns=cells,
        rows=table.rows[at],
        unit=table.unit,
        delimiter="",
        notes=table.notes,
        vectors=vectors,
    )
    left = tuple(c for c in (*roles.x_metadata, *roles.y_metadata) if c in others)
    return long, replace(
        roles,
        shape="pairs",
        negatives=(),
        label=label,
        label_kind="grade",
        y_id=None,
        x_metadata=tuple(c for c in roles.x_metadata if c in left),
        y_metadata=tuple(c for c in roles.y_metadata if c in left),
        ignored=tuple(c for c in roles.ignored if c in others),
    )


def pairs_of_groups(
    name: str, member: np.ndarray, group: np.ndarray, n_items: int
) -> tuple[Relevance, list[str]]:
    """Pair the items that share a group, each with all others of it."""
    _, codes = np.unique(group, return_inverse=True)
    inside = sp.csr_array(
        (np.ones(len(member)), (member, codes)), shape=(n_items, int(codes.max()) + 1)
    )
    inside.sum_duplicates()
    inside.data[:] = 1.0
    sizes = np.asarray(inside.sum(axis=0)).ravel()
    n_pairs, limit = int((sizes * (sizes - 1)).sum()), get_limits().pairs
    if n_pairs > limit:
        raise DatasetError(
            f"{name}: its groups make {n_pairs:,} pairs; the limit is {limit:,}. Read it as pairs "
            "of an item and its group, or bring smaller groups."
        )
    shared = sp.csr_array(inside @ inside.T)
    coo = shared.tocoo()
    keep = coo.row != coo.col
    if not keep.any():
        raise DatasetError(
            f"{name}: no group has two items, so nothing belongs together. Choose another column "
            "as the group, or read the file as pairs."
        )
    relevance = Relevance.from_pairs(
        coo.row[keep], coo.col[keep], shape=(n_items, n_items), unjudged="negative"
    )
    alone = n_items - len(np.unique(coo.row[keep]))
    notes = [
        f"{counted(int((sizes > 1).sum()), 'group')} of two items or more: every item belongs to "
        "all others of its group."
    ]
    if alone:
        notes.append(
            f"{counted(alone, 'item stands', 'items stand')} alone in a group: nothing belongs "
            "to them, but they compete as answers."
        )
    return relevance, notes


Grouped = Mapping[str, Sequence[str]]


def taxonomy_pairs(titles: Grouped, inputs: Grouped | None = None, **names: str) -> PairSet:
    """Pair texts with the titles of a taxonomy that share a group with them."""
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
