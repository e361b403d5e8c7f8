"""Arrow tables as columns of text and of vectors, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import Content, Note, counted, shown
from simviz.data.jsonl import scalar_text
from simviz.data.limits import get_limits, refuse_wide, report_progress
from simviz.exceptions import DatasetError


def gather(
    name: str, read: Callable[[str], Any], schema: Any, n_rows: int, limit: int | None = None
) -> Content:
    """Turn Arrow columns into text and vectors, one after another."""
    from pyarrow import compute as pc

    limit = limit or get_limits().file_bytes
    readable = [f.name for f in schema if is_flat(f.type) or is_vector(f.type)]
    refuse_wide(name, len(schema), 0)
    refuse_wide(name, len(readable), n_rows)
    repeated = sorted({f for f in readable if readable.count(f) > 1})
    if repeated:
        raise DatasetError(f"{name} names two columns {shown(repeated[0])}. Rename one of them.")
    columns: dict[str, Any] = {}
    characters, left_out = 0, list[str]()
    for i, one in enumerate(schema):
        report_progress(0.6 * i / len(schema))
        if is_flat(one.type):
            codes, values = coded_text(read(one.name))
            # A few kilobytes can stand for terabytes of one repeated string.
            characters += pc.sum(pc.utf8_length(values).take(codes)).as_py() or 0
            if characters > limit:
                raise DatasetError(
                    f"{name} holds more than {limit:,} characters once unpacked (in "
                    f"column {shown(one.name)}). Bring a sample, or fewer columns."
                )
            columns[one.name] = values.take(codes)
            continue
        matrix = _matrix(name, one.name, read(one.name)) if is_vector(one.type) else None
        if matrix is None:
            left_out.append(one.name)
        else:
            columns[one.name] = matrix
    text = (
        f"{name}: {counted(len(left_out), 'column')} with nested, ragged or binary values "
        f"left out: {', '.join(shown(c) for c in left_out[:12])}. Write them as text, or as "
        "lists of equally many numbers, to keep them."
    )
    return columns, range(1, n_rows + 1), [Note(text, "lost")] if left_out else []


def is_string(kind: Any) -> bool:
    """Whether an Arrow type holds text."""
    import pyarrow.types as t

    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def is_flat(kind: Any) -> bool:
    """Whether cells of an Arrow type have an obvious text."""
    import pyarrow.types as t

    if t.is_dictionary(kind):
        return is_string(kind.value_type)
    checks = (t.is_boolean, t.is_integer, t.is_floating, t.is_decimal, t.is_temporal, t.is_null)
    return is_string(kind) or any(check(kind) for check in checks)


def is_vector(kind: Any) -> bool:
    """Whether cells of an Arrow type are lists of numbers."""
    import pyarrow.types as t

    lists = t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)
    return bool(lists and (t.is_integer(kind.value_type) or t.is_floating(kind.value_type)))


def coded_text(column: Any) -> tuple[Any, Any]:
    """A flat column as text, by its distinct cells; empty where a cell is null."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(column.type):
        column = column.cast(pa.string())
    if t.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if t.is_float16(column.type):
        column = column.cast(pa.float32())
    if t.is_dictionary(column.type):
        column = column.unify_dictionaries()
    # One chunk: several would have to be unified, which takes ten times as long.
    column = column.combine_chunks().dictionary_encode()
    values = column.dictionary
    if t.is_temporal(values.type):
        values = values.cast(pa.string())
    if not is_string(values.type):
        values = pa.array(map(scalar_text, values.to_pylist()), pa.string())
    values = pa.concat_arrays(
        [values.cast(pa.large_string()).fill_null(""), pa.array([""], pa.large_string())]
    )
    return column.indices.cast(pa.int64()).fill_null(len(values) - 1), values


def _matrix(name: str, column_name: str, column: Any) -> NDArray[Any] | None:
    """Lists of equally many numbers as a matrix; None where they are not."""
    import pyarrow as pa
    from pyarrow import compute as pc

    widths = pc.unique(pc.list_value_length(column)).to_pylist()
    if column.null_count or len(widths) != 1 or not widths[0]:
        return None
    kind, limit = column.type.value_type, get_limits().unpacked_bytes
    dtype = np.float32 if pa.types.is_float32(kind) or pa.types.is_float16(kind) else np.float64
    if widths[0] * len(column) * np.dtype(dtype).itemsize > limit:
        raise DatasetError(
            f"{name}: the vectors in column {shown(column_name)} need more than {limit:,} bytes. "
            "Bring a sample, or fewer dimensions."
        )
    parts = [chunk.flatten() for chunk in column.chunks]
    if any(part.null_count for part in parts):
        return None
    numbers = [part.to_numpy(zero_copy_only=False) for part in parts]
    return np.concatenate(numbers, dtype=dtype).reshape(len(column), widths[0])


def read_columns(name: str, data: bytes) -> Content:
    """Read the columns of a Parquet file that are text, numbers or vectors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = data[-4:] == b"PAR1"
    with _damage_in(name, "a Parquet", "damaged" if whole else "cut off or damaged"):
        schema = pq.read_schema(pa.BufferReader(data))
        strings = [f.name for f in schema if is_string(f.type)]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=strings)

        def column(name: str) -> Any:
            table = file.read(columns=[name], use_threads=True)
            table.validate(full=True)
            return table.column(0)

        # Refuse what says itself that it unpacks to too much.
        groups, limit = range(file.metadata.num_row_groups), get_limits().unpacked_bytes
        total = sum(file.metadata.row_group(i).total_byte_size for i in groups)
        if total > limit:
            raise DatasetError(
                f"{name} unpacks to {total:,} bytes; the limit is {limit:,}. Bring a sample, or "
                "fewer columns."
            )
        return gather(name, column, schema, file.metadata.num_rows)


def read_arrow(name: str, data: bytes) -> Content:
    """Read the columns of an Arrow or Feather file, or of an Arrow stream."""
    import pyarrow as pa

    with _damage_in(name, "an Arrow", "cut off or damaged"):
        source = pa.BufferReader(data)
        is_file = data.startswith(b"ARROW1")
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        table = reader.read_all()
        # Offsets of a stranger may point anywhere.
        table.validate(full=True)
        return gather(name, table.column, table.schema, table.num_rows)


@contextmanager
def _damage_in(name: str, what: str, state: str) -> Iterator[None]:
    """Say in one sentence where reading fails."""
    import pyarrow as pa

    try:
        yield
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, MemoryError) as error:
        reason = str(error).split("\n")[0][:120]
        raise DatasetError(
            f"{name} is {what} file that is {state} ({reason}). Copy or export it again."
        ) from error


def as_arrow(frame: Any) -> Any:
    """An Arrow table without a copy where that is possible."""
    import pyarrow as pa

    if isinstance(frame, Mapping) and frame and not hasattr(frame, "__arrow_c_stream__"):
        # A part of a dataset has columns of its own.
        of_frames = ("column_names", "columns", "__dataframe__")
        if not any(hasattr(part, name) for part in frame.values() for name in of_frames):
            columns = {str(name): _as_column(str(name), cells) for name, cells in frame.items()}
            lengths = {name: len(column) for name, column in columns.items()}
            if len(set(lengths.values())) > 1:
                raise DatasetError(
                    f"Columns are equally long; got {lengths}. Give one cell a row in each."
                )
            return pa.table(columns)
        parts = []
        for part, one in frame.items():
            table = as_arrow(one)
            if "split" not in table.column_names:
                table = table.append_column("split", pa.array([str(part)] * table.num_rows))
            parts.append(table)
        return pa.concat_tables(parts, promote_options="default")
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "with_format") and hasattr(frame, "column_names"):
        # Hugging Face: a selection of rows is applied only when rows are taken.
        return frame.with_format("arrow")[:]
    if hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
        # An index that pandas sends along is no column.
        index = [c for c in table.column_names if c.startswith("__index_level_")]
        return table.drop_columns(index)
    if hasattr(frame, "__dataframe__"):
        from pyarrow import interchange

        return interchange.from_dataframe(frame)
    raise DatasetError(
        f"A {type(frame).__name__} is no data frame. Give one of pandas, polars, pyarrow or "
        "Hugging Face datasets."
    )


def _as_column(name: str, cells: Any) -> Any:
    """A list, series or array of texts, numbers or vectors as an Arrow column."""
    import pyarrow as pa

    if hasattr(cells, "__arrow_c_stream__"):
        return pa.chunked_array(cells)
    if hasattr(cells, "__arrow_c_array__"):
        return pa.array(cells)
    if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.shape[1]:
        return pa.FixedSizeListArray.from_arrays(pa.array(cells.ravel()), cells.shape[1])
    if isinstance(cells, str | bytes) or not hasattr(cells, "__len__"):
        raise DatasetError(
            f"{name} is a {type(cells).__name__}, not a column. Give a list or an array with one "
            "cell a row."
        )
    return pa.array(list(cells), from_pandas=True)
