"""Parquet: flat columns as text, in bounded memory however small the file."""

from __future__ import annotations

from typing import Any

import numpy as np

from simviz.data.jsonl import scalar_text
from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError

_BATCH = 65_536


def read_columns(
    name: str, data: bytes, max_bytes: int, max_columns: int, max_cells: int
) -> tuple[dict[str, list[str]], list[int], list[str]]:
    """Read the flat columns of a Parquet file as text.

    Text columns stay dictionary-encoded until their size is known: a few
    kilobytes can stand for terabytes of one repeated string.

    Parameters
    ----------
    name : str
        File name for messages.
    data : bytes
        The whole file.
    max_bytes : int
        Largest number of characters over all cells.
    max_columns, max_cells : int
        Refuse more than this.

    Returns
    -------
    columns : dict of str to list of str
        Flat columns; empty where a cell is null.
    rows : list of int
        1 for the first row.
    notes : list of str
        Names columns that were left out because they are nested or binary.

    Raises
    ------
    DatasetError
        If the file is cut off, damaged, or too large when unpacked.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(pa.BufferReader(data))
        flat = [f.name for f in schema if _is_flat(f.type)]
        strings = [f.name for f in schema if _is_string(f.type)]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=strings)
        n_rows = file.metadata.num_rows
        if len(schema) > max_columns or len(flat) * n_rows > max_cells:
            raise DatasetError(
                f"{name} has {n_rows:,} rows of {len(schema):,} columns; the limits are "
                f"{max_columns:,} columns and {max_cells:,} cells. Bring a sample, or fewer "
                "columns."
            )
        repeated = sorted({f for f in flat if flat.count(f) > 1})
        if repeated:
            raise DatasetError(
                f"{name} names two columns {shown(repeated[0])}. Rename one of them."
            )
        columns: dict[str, list[str]] = {f: [] for f in flat}
        characters = 0
        for batch in file.iter_batches(batch_size=_BATCH, columns=flat) if flat else ():
            for column, array in zip(batch.schema.names, batch.columns, strict=True):
                cells, size = _cells(array, max_bytes - characters)
                characters += size
                if characters > max_bytes:
                    raise DatasetError(
                        f"{name} holds more than {max_bytes:,} characters once unpacked (in "
                        f"column {shown(column)}). Bring a sample, or fewer columns."
                    )
                columns[column].extend(cells)
    except (pa.ArrowException, OSError) as error:
        what = "cut off or damaged" if data[-4:] != b"PAR1" else "damaged"
        reason = str(error).split("\n")[0][:120]
        raise DatasetError(
            f"{name} is a Parquet file that is {what} ({reason}). Copy or export it again."
        ) from error
    left_out = [f.name for f in schema if not _is_flat(f.type)]
    notes = []
    if left_out:
        notes.append(
            f"{name}: {counted(len(left_out), 'column')} with nested or binary values left out: "
            f"{', '.join(shown(c) for c in left_out)}. Write them as text to keep them."
        )
    return columns, list(range(1, n_rows + 1)) if flat else [], notes


def _is_string(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_string(kind) or t.is_large_string(kind))


def _is_flat(kind: Any) -> bool:
    """Whether cells of an Arrow type have an obvious text."""
    import pyarrow.types as t

    if t.is_dictionary(kind):
        return _is_string(kind.value_type)
    checks = (t.is_boolean, t.is_integer, t.is_floating, t.is_decimal, t.is_temporal, t.is_null)
    return _is_string(kind) or any(check(kind) for check in checks)


def _cells(array: Any, budget: int) -> tuple[list[str], int]:
    """Text of an Arrow array and its number of characters, refused beyond a budget."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_dictionary(array.type):
        words = array.dictionary.to_pylist()
        lookup = np.empty(len(words) + 1, dtype=object)
        lookup[:] = [scalar_text(w) for w in words] + [""]
        at = array.indices.fill_null(len(words)).to_numpy(zero_copy_only=False).astype(np.int64)
        size = int(np.array([len(w) for w in lookup], dtype=np.int64)[at].sum())
        return (list(lookup[at]) if size <= budget else []), size
    if t.is_temporal(array.type):
        array = array.cast(pa.string())
    cells = [scalar_text(v) for v in array.to_pylist()]
    return cells, sum(map(len, cells))
