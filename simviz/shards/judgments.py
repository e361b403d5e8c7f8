"""Pairs of ids on disk, as pairs of rows."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError
from simviz.relevance import Unjudged
from simviz.shards.csr import SparseShards
from simviz.shards.folder import GRADES, IDS, id_texts, open_files, read_batches
from simviz.shards.pairs import PairRows

logger = logging.getLogger(__name__)

_BATCH_ROWS = 2**20  # each looks up its ids in a table made for it
_SHOWN = 5


def read_pairs(
    where: str | Path,
    X: SparseShards,
    Y: SparseShards,
    *,
    x_id: str = "x_id",
    y_id: str = "y_id",
    grade: str | None = None,
    skip_unknown: bool = False,
    unjudged: Unjudged | None = None,
) -> PairRows:
    """Read pairs of ids from Parquet files and find their rows.

    Parameters
    ----------
    where : str or Path
        Directory, pattern or file, as for `TextFolder`.
    X, Y : SparseShards
        Items of both sides, with ids.
    x_id, y_id : str, default="x_id" and "y_id"
        Columns of ids.
    grade : str, optional
        Column of grades: above 0 relevant, 0 or below judged not relevant.
        Without it every pair is relevant.
    skip_unknown : bool, default=False
        Whether pairs with an id that no item has are left out, with a line in
        the log that says how many; an error otherwise.
    unjudged : {"negative", "ignore"}, optional
        What other pairs mean, as for `PairRows`.

    Returns
    -------
    PairRows
        All pairs.

    Raises
    ------
    DatasetError
        If there are no files or columns, a file is damaged, a side has no ids,
        two items have the same one, an id is unknown, or a grade is missing.

    Notes
    -----
    Memory: the ids of both sides as bytes, a table to look them up of some 30
    bytes an item, and 12 bytes a pair.
    """
    sides = [_known(shards, name) for shards, name in ((X, "x"), (Y, "y"))]
    wanted = {x_id: IDS, y_id: IDS} | ({} if grade is None else {grade: GRADES})
    files, _ = open_files(where, wanted)
    rows: tuple[list[Any], list[Any]] = ([], [])
    grades: list[NDArray[np.float32]] = []
    missed: list[dict[str, int]] = [{}, {}]
    dropped = 0
    for path in files:
        for batch in read_batches(path, list(wanted), _BATCH_ROWS):
            found = [
                _rows(id_texts(path, batch, column), known, counts)
                for column, known, counts in zip((x_id, y_id), sides, missed, strict=True)
            ]
            kept = (found[0] >= 0) & (found[1] >= 0)
            dropped += int((~kept).sum())
            for part, places in zip(rows, found, strict=True):
                part.append(places[kept].astype(np.int32))
            if grade is not None:
                grades.append(_grades(path, batch[grade], grade)[kept])
    if dropped:
        told = _told(dropped, missed)
        if not skip_unknown:
            raise DatasetError(f"{told} Add the items, or pass skip_unknown=True.")
        logger.warning("%s They are left out.", told)
    x, y = (np.concatenate(part) for part in rows)
    if not len(x):
        raise DatasetError(f"No pair of {where} has the ids of two items. Are these their ids?")
    return PairRows(x, y, np.concatenate(grades) if grades else None, unjudged)


def _known(shards: SparseShards, side: str) -> Any:
    """All ids of a side, in the order of rows, as an Arrow array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for i in range(len(shards)):
        ids = shards.ids(i)
        if ids is None:
            raise DatasetError(
                f"The items of the {side} side in {shards.folder} have no ids. Write them from "
                "a TextFolder with a column of ids."
            )
        parts.append(pa.array(ids, pa.large_string()))
    known = pa.concat_arrays(parts)
    if pc.count_distinct(known).as_py() < len(known):
        counts = pc.value_counts(known)
        often = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        first = ", ".join(shown(value) for value in often[:_SHOWN].to_pylist())
        raise DatasetError(
            f"{counted(len(often), 'id')} of the {side} side in {shards.folder} "
            f"{'belongs' if len(often) == 1 else 'belong'} to more than one item: {first}"
            f"{', …' if len(often) > _SHOWN else ''}. Give every item an id of its own."
        )
    return known


def _rows(ids: list[str], known: Any, missed: dict[str, int]) -> NDArray[np.int64]:
    """The row of each id, −1 where there is none; counts the first few of those."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(pa.array(ids, pa.large_string()), value_set=known).fill_null(-1)
    rows = found.to_numpy(zero_copy_only=False).astype(np.int64)
    for i in np.flatnonzero(rows < 0):
        if len(missed) >= _SHOWN and ids[i] not in missed:
            continue
        missed[ids[i]] = missed.get(ids[i], 0) + 1
    return rows


def _grades(path: Path, values: Any, column: str) -> NDArray[np.float32]:
    """Grades of a batch; a label 0 says that a pair is not relevant."""
    import pyarrow as pa

    grades = values.cast(pa.float32()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    if not np.isfinite(grades).all():
        raise DatasetError(
            f"{counted(int((~np.isfinite(grades)).sum()), 'row')} of {path} without a number in "
            f"column {shown(column)}. Leave pairs out that were not judged."
        )
    return np.where(grades == 0, np.float32(-1), grades)


def _told(dropped: int, missed: list[dict[str, int]]) -> str:
    """How many pairs have unknown ids, and the first of those."""
    named = [
        f"on the {side} side {', '.join(shown(i) for i in ids)}"
        for side, ids in zip("xy", missed, strict=True)
        if ids
    ]
    return f"{counted(dropped, 'pair')} with an id that no item has, first {'; '.join(named)}."
