"""Parquet and Arrow files, in bounded memory however small the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simviz.data.arrow import check_schema, gather, is_string
from simviz.data.columnar import Columns
from simviz.data.limits import get_limits
from simviz.exceptions import DatasetError


def read_columns(name: str, data: bytes, max_bytes: int) -> Columns:
    """Read the columns of a Parquet file that are text, numbers or vectors.

    Parameters
    ----------
    name : str
        File name for messages.
    data : bytes
        The whole file.
    max_bytes : int
        Largest number of characters over all cells.

    Returns
    -------
    Columns
        Rows count from 1.

    Raises
    ------
    DatasetError
        If the file is cut off, damaged, or too large when unpacked.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def read() -> Columns:
        schema = pq.read_schema(pa.BufferReader(data))
        strings = [f.name for f in schema if is_string(f.type)]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=strings)
        check_schema(name, schema, file.metadata.num_rows)
        _refuse_unpacked(name, file.metadata)

        def column(wanted: str) -> Any:
            found = file.read(columns=[wanted], use_threads=True)
            found.validate(full=True)
            return found.column(0)

        return gather(name, column, schema, file.metadata.num_rows, max_bytes)

    whole = data[-4:] == b"PAR1"
    return _guarded(name, "a Parquet", "damaged" if whole else "cut off or damaged", read)


def read_arrow(name: str, data: bytes, max_bytes: int) -> Columns:
    """Read the columns of an Arrow or Feather file, or of an Arrow stream.

    Parameters
    ----------
    name : str
        File name for messages.
    data : bytes
        The whole file.
    max_bytes : int
        Largest number of characters over all cells.

    Returns
    -------
    Columns
        Rows count from 1.

    Raises
    ------
    DatasetError
        If the file is cut off, damaged, or too large.
    """
    import pyarrow as pa

    def read() -> Columns:
        source = pa.BufferReader(data)
        is_file = data.startswith(b"ARROW1")
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        table = reader.read_all()
        # Offsets of a stranger may point anywhere.
        table.validate(full=True)
        check_schema(name, table.schema, table.num_rows)
        return gather(name, table.column, table.schema, table.num_rows, max_bytes)

    return _guarded(name, "an Arrow", "cut off or damaged", read)


def _refuse_unpacked(name: str, metadata: Any) -> None:
    """Refuse what says itself that it unpacks to too much."""
    limit = get_limits().unpacked_bytes
    total = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if total > limit:
        raise DatasetError(
            f"{name} unpacks to {total:,} bytes; the limit is {limit:,}. Bring a sample, or "
            "fewer columns."
        )


def _guarded(name: str, what: str, state: str, read: Callable[[], Columns]) -> Columns:
    """Read, and say in one sentence where it fails."""
    import pyarrow as pa

    try:
        return read()
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, MemoryError) as error:
        reason = str(error).split("\n")[0][:120]
        raise DatasetError(
            f"{name} is {what} file that is {state} ({reason}). Copy or export it again."
        ) from error
