"""Data frames of other libraries: pandas, polars, Arrow, Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simviz.data.arrow import check_schema, gather
from simviz.data.columns import Roles
from simviz.data.labels import Labels
from simviz.data.limits import get_limits
from simviz.data.readers import ReadResult, roles_with, to_pairs
from simviz.data.tables import Table, make_table
from simviz.exceptions import DatasetError


def from_frame(
    frame: Any,
    roles: Roles | None = None,
    *,
    labels: Labels | None = None,
    name: str = "frame",
) -> ReadResult:
    """Pairs from a data frame of any library.

    Parameters
    ----------
    frame : data frame
        Anything with the Arrow C stream (pandas, polars, pyarrow, DuckDB) or
        the dataframe interchange protocol; a Hugging Face ``Dataset``, or a
        ``DatasetDict``, whose splits are kept.
    roles : Roles, optional
        Which column is which; guessed when omitted.
    labels : mapping of str to float or None, optional
        What words in the label column mean, as in `read_pairs`.
    name : str, default="frame"
        Of the data set, and in messages.

    Returns
    -------
    ReadResult
        As `read_pairs`; rows count from 1.

    Raises
    ------
    DatasetError
        If it is no data frame, or cannot be understood.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"query": ["heart"], "document": ["blood pump"], "grade": [2]})
    >>> from_frame(frame).pairs
    PairSet('frame': 1 query × 1 document, 1 relevant)
    """
    table = table_from_frame(frame, name=name)
    return to_pairs(table, roles_with(table, roles, labels))


def table_from_frame(frame: Any, *, name: str = "frame") -> Table:
    """A data frame of any library as a table.

    Parameters
    ----------
    frame : data frame
        As in `from_frame`.
    name : str, default="frame"
        For messages.

    Returns
    -------
    Table
        Columns of lists of equally many numbers are its vectors.

    Raises
    ------
    DatasetError
        If it is no data frame, or too large.
    """
    import pyarrow as pa

    try:
        table = _arrow(frame)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        if isinstance(error, DatasetError):
            raise
        reason = str(error).split("\n")[0][:200]
        raise DatasetError(
            f"{name} cannot be read as a table ({reason}). Give its columns types that Arrow "
            "knows, such as text and numbers."
        ) from error
    check_schema(name, table.schema, table.num_rows)
    columns = gather(name, table.column, table.schema, table.num_rows, get_limits().unpacked_bytes)
    return make_table(name, columns, "row")


def _arrow(frame: Any) -> Any:
    """An Arrow table without a copy where that is possible."""
    import pyarrow as pa

    if isinstance(frame, Mapping) and frame and not hasattr(frame, "__arrow_c_stream__"):
        parts = []
        for part, one in frame.items():
            table = _arrow(one)
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
