"""Tables that say more about items: their part of a split, folds, groups."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath

import numpy as np

from simviz.data.coded import as_cells
from simviz.data.collection.sides import Side
from simviz.data.metadata import typed
from simviz.data.roles import SPLIT_WORDS
from simviz.data.tables import Table, read_table
from simviz.data.wording import counted, shown

_SEPARATOR = " | "


def attach_table(path: str, data: bytes, x: Side, y: Side) -> list[str]:
    """Add the columns of a table to the items that it names.

    Parameters
    ----------
    path : str
        Name of the file; "y_split" says that it is about the y side.
    data : bytes
        Its content.
    x, y : Side
        Both sides; their metadata grows. The same object twice is one side.

    Returns
    -------
    list of str
        What was added, or why nothing was. Values of an item that is named
        several times are joined by " | ".
    """
    name = PurePosixPath(path).name
    table = read_table(data, name)
    side_name, column = _subject(table, PurePosixPath(path).stem, x, y)
    side = x if side_name == "x" else y
    index = {key: i for i, key in enumerate(side.ids)}
    keys = [cell.strip() for cell in table.columns[column]]
    at = np.array([index.get(key, -1) for key in keys], dtype=np.intp)
    n_known = int((at >= 0).sum())
    if not n_known:
        return [f"{name} was not used: it names no item of either side."]
    notes = []
    for other in table.columns:
        if other == column or other in table.vectors:
            continue
        values: dict[int, list[str]] = defaultdict(list)
        for i, cell in zip(at, table.columns[other], strict=True):
            if i >= 0 and cell.strip() and cell.strip() not in values[int(i)]:
                values[int(i)].append(cell.strip())
        cells = as_cells([_SEPARATOR.join(values.get(i, ())) for i in range(len(side.ids))])
        words = {c.lower() for v in values.values() for c in v}
        title = other
        if words and words <= SPLIT_WORDS.keys() and all(len(v) < 2 for v in values.values()):
            cells, title = as_cells([SPLIT_WORDS.get(c.lower(), "") for c in cells]), "split"
        side.metadata[title] = typed(cells, title in ("group", "split", "fold"))
        notes.append(f"{name} says {shown(title)} of {counted(len(values), f'{side_name} item')}.")
    return notes


def _subject(table: Table, stem: str, x: Side, y: Side) -> tuple[str, str]:
    """The side and the column of ids: by name, else where most cells are ids."""
    columns = [c for c in table.columns if c not in table.vectors]
    best = ("x", columns[0], -1.0)
    for side_name, side in (("x", x), ("y", y)):
        known = set(side.ids)
        for column in columns:
            coded = table.coded(column)
            hits = np.array([word.strip() in known for word in coded.words], dtype=bool)
            share = float(hits[coded.codes].mean())
            share += 2.0 * column.lower().startswith(f"{side_name}_")
            share += 2.0 * stem.lower().startswith(f"{side_name}_")
            if share > best[2]:
                best = (side_name, column, share)
    return best[0], best[1]
