"""Writing pairs in long form, so that reading gives the same pairs back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from simviz._types import Side
from simviz.data.cells import Codes, escape_cell, parse_number, shown
from simviz.data.pairs import Items, PairSet, as_pairs
from simviz.data.tables import Table, items_by_id
from simviz.exceptions import DatasetError
from simviz.relevance import Kind, Relevance, Unjudged

TextKind = Literal["text", "keyword"]

_CONTENT = re.compile(r"([xy])\[(text|keyword)\]")
_VALUE = re.compile(r"(grade|score)\[unjudged=(negative|ignore)(?: threshold=([^\]]+))?\]")
_METADATA = re.compile(r"([xy])\.(.*)\[(text|[<>|][iufb]\d)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """One metadata column: its side, its name, and "text" or a numpy dtype."""

    side: Side
    name: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.side}.{self.name}[{self.dtype}]"


@dataclass(frozen=True, slots=True)
class Header:
    """What the columns of a file in long form mean."""

    x_kind: TextKind
    y_kind: TextKind
    kind: Kind
    unjudged: Unjudged
    threshold: float | None
    metadata: tuple[MetadataColumn, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        sides = ["x_id", f"x[{self.x_kind}]", "y_id", f"y[{self.y_kind}]"]
        threshold = "" if self.threshold is None else f" threshold={float(self.threshold)!r}"
        value = f"{self.kind}[unjudged={self.unjudged}{threshold}]"
        return [*sides, value, *map(str, self.metadata)]


def parse_header(columns: Sequence[str]) -> Header | None:
    """Read column names back, or None where the file is not in this form."""
    if len(columns) < 5 or columns[0] != "x_id" or columns[2] != "y_id":
        return None
    matches: list[Any] = [*map(_CONTENT.fullmatch, columns[1:4:2]), _VALUE.fullmatch(columns[4])]
    matches += map(_METADATA.fullmatch, columns[5:])
    if None in matches:
        return None
    x, y, value, *metadata = matches
    try:
        threshold = None if value[3] is None else float(value[3])
        dtypes = ["text" if m[3] == "text" else np.dtype(m[3]).str for m in metadata]
    except (ValueError, TypeError):
        return None
    more = (MetadataColumn(m[1], m[2], dtype) for m, dtype in zip(metadata, dtypes, strict=True))
    return Header(x[2], y[2], value[1], value[2], threshold, tuple(more))


_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")

Row = tuple[int, int, float | None]  # x item or -1, y item or -1, value of a judgment


def write_pairs(pairs: PairSet, path: str | Path) -> Path:
    """Write pairs to CSV, TSV, JSONL or Parquet, by the ending of the path.

    One row is one judgment; a row with one side declares an item. Kinds, types and the meaning of
    pairs that are not listed stand in the column names, so that `read_pairs` gives pairs of the
    same digest. In CSV and TSV, cells that a spreadsheet would run as a formula are marked with an
    apostrophe, which reading takes off again.

    Parameters
    ----------
    pairs : PairSet
        Both sides of kind "text" or "keyword".
    path : str or Path
        Where to write; an existing file is replaced when all went well.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    DatasetError
        If the format is unknown, or cannot hold a side or a value.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from simviz.data import read_pairs
    >>> pairs = PairSet.from_texts(["=heart", "car"], ["corazón", "coche"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_pairs(pairs, Path(folder) / "words.csv")
    ...     print(path.read_text(encoding="utf-8"))
    ...     read_pairs(path).pairs.digest == pairs.digest
    x_id,x[text],y_id,y[text],grade[unjudged=negative]
    0,'=heart,0,corazón,1
    1,car,1,coche,1
    True
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise DatasetError(
            f"{path.name} ends in {shown(suffix)}; pairs are written to one of "
            f"{', '.join(_FORMATS)}. Change the ending."
        )
    content = dump_pairs(as_pairs(pairs), suffix)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DatasetError(
            f"{path} cannot be written ({error.strerror}). Choose another folder."
        ) from error
    return path


def dump_pairs(pairs: PairSet, suffix: str) -> bytes:
    """The bytes that `write_pairs` writes, for a download.

    Parameters
    ----------
    pairs : PairSet
        Both sides of kind "text" or "keyword".
    suffix : {".csv", ".tsv", ".jsonl", ".parquet"}
        The format.

    Returns
    -------
    bytes
        The file.
    """
    header = _header(pairs)
    for side, items in (("x", pairs.x), ("y", pairs.y)):
        _refuse_unwritable(items, side, suffix)
    if suffix == ".parquet":
        return _parquet(pairs, header)
    if suffix == ".jsonl":
        return _jsonl(pairs, header)
    return _delimited(pairs, header, "," if suffix == ".csv" else "\t")


def _header(pairs: PairSet) -> Header:
    metadata: list[MetadataColumn] = []
    for side, items in (("x", pairs.x), ("y", pairs.y)):
        if items.kind not in ("text", "keyword"):
            raise DatasetError(
                f"The {side} side holds items of kind {items.kind!r}; only text and keywords can "
                "be written as a table. Save the pipeline or the run instead."
            )
        metadata += [
            MetadataColumn(cast(Side, side), name, _dtype(side, name, values))
            for name, values in items.metadata.items()
        ]
    x_kind, y_kind = cast(TextKind, pairs.x.kind), cast(TextKind, pairs.y.kind)
    judged = pairs.relevance
    return Header(x_kind, y_kind, judged.kind, judged.unjudged, judged.threshold, tuple(metadata))


def _dtype(side: str, name: str, values: NDArray[Any]) -> str:
    if values.ndim == 1 and values.dtype.kind in "OUS":
        return "text"
    if values.ndim == 1 and values.dtype.kind in "iufb" and values.dtype.itemsize <= 8:
        return values.dtype.str
    raise DatasetError(
        f"Metadata {shown(name)} of the {side} side is {values.dtype} of {values.ndim} "
        "dimensions and cannot be written. Turn it into one text or number an item."
    )


def _refuse_unwritable(items: Items, side: str, suffix: str) -> None:
    """Raise for what the format cannot hold, rather than write something else."""
    if "" in items.ids:
        raise DatasetError(f"An item of the {side} side has an empty id. Give it one to write it.")
    columns = {"id": items.ids, "text": items.content, **items.metadata}
    for name, values in columns.items() if suffix in (".csv", ".tsv") else ():
        for text in (name, *(map(str, values) if values.dtype.kind in "OUS" else ())):
            if "\x00" in text:
                raise DatasetError(
                    f"{shown(text)} on the {side} side ({shown(name)}) holds a NUL, which "
                    f"{suffix} cannot hold. Write .jsonl or .parquet, or remove it."
                )


def _rows(pairs: PairSet) -> Iterator[Row]:
    """Judgments by x item, with declarations where order or existence needs them."""
    matrix = pairs.relevance.matrix
    declared = 0  # y items before this one are known to the reader
    for x in range(len(pairs.x)):
        row = slice(matrix.indptr[x], matrix.indptr[x + 1])
        columns, values = matrix.indices[row].tolist(), matrix.data[row].tolist()
        if not columns:
            yield x, -1, None
        for y, value in zip(columns, values, strict=True):
            for missing in range(declared, y):
                yield -1, missing, None
            declared = max(declared, y + 1)
            yield x, y, value
    for missing in range(declared, len(pairs.y)):
        yield -1, missing, None


def _columns(pairs: PairSet, header: Header, as_text: bool) -> list[list[Any]]:
    """The columns of a file, None where there is nothing; metadata as text where `as_text`."""
    x, y, judgments = zip(*_rows(pairs), strict=True)
    sides = {"x": (pairs.x, x), "y": (pairs.y, y)}
    columns: list[list[Any]] = []
    for items, at in sides.values():
        columns += [_cells_at(items.ids.tolist(), at), _cells_at(items.content.tolist(), at)]
    columns.append(list(judgments))
    for m in header.metadata:
        items, at = sides[m.side]
        column = items.metadata[m.name]
        is_text = as_text or m.dtype == "text"
        columns.append(_cells_at(list(map(str, column)) if is_text else column.tolist(), at))
    return columns


def _cells_at(values: list[Any], at: Sequence[int]) -> list[Any]:
    return [None if i < 0 else values[i] for i in at]


def _delimited(pairs: PairSet, header: Header, delimiter: str) -> bytes:
    buffer = io.StringIO(newline="")
    # The line end \r\n makes the writer quote cells that hold either of the two.
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(header.columns)
    is_text = [True] * 4 + [False] + [m.dtype == "text" for m in header.metadata]
    columns = [
        [cell and escape_cell(cell) for cell in column] if text else column
        for column, text in zip(_columns(pairs, header, as_text=True), is_text, strict=True)
    ]
    columns[4] = list(map(_number, columns[4]))
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue().encode("utf-8")


def _number(value: float | None) -> str | None:
    """The shortest text that reads back as the same number."""
    if value is None:
        return None
    return repr(value).removesuffix(".0") if value else repr(value)


def _jsonl(pairs: PairSet, header: Header) -> bytes:
    columns = [list(map(_as_json, column)) for column in _columns(pairs, header, as_text=False)]
    records = (dict(zip(header.columns, row, strict=True)) for row in zip(*columns, strict=True))
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return "".join(lines).encode("utf-8")


def _as_json(value: object) -> object:
    """Write 1.0 as 1, as a person would; NaN as null, which JSON has a word for."""
    if isinstance(value, float):
        if value != value:
            return None
        if value.is_integer() and abs(value) < 2**53 and str(value) != "-0.0":
            return int(value)
    return value


def _parquet(pairs: PairSet, header: Header) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Wide enough for every type of its kind; the header keeps the exact one.
    wide = {"f": pa.float64(), "i": pa.int64(), "u": pa.uint64(), "b": pa.bool_()}
    types = [pa.string()] * 4 + [pa.float64()]
    for m in header.metadata:
        types.append(pa.string() if m.dtype == "text" else wide[np.dtype(m.dtype).kind])
    schema = pa.schema(list(zip(header.columns, types, strict=True)))
    buffer = io.BytesIO()
    table = pa.table(_columns(pairs, header, as_text=False), schema=schema)
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def from_long_form(table: Table, header: Header) -> PairSet:
    """Rebuild the pairs that `simviz.data.write_pairs` wrote."""
    # Cells are taken as they stand. A row with one id declares an item of that side; a row with
    # two is a judgment.
    id_x, text_x, id_y, text_y, value = list(table.frame)[:5]
    x, x_rows = _items_of_rows(table, id_x, text_x)
    y, y_rows = _items_of_rows(table, id_y, text_y)
    judged = np.flatnonzero((x >= 0) & (y >= 0))
    codes, _, cells = table.factorize(value)
    numbers = np.array([_value(cell, header.kind) for cell in cells])[codes[judged]]
    if np.isnan(numbers).any():
        row = int(judged[np.argmax(np.isnan(numbers))])
        raise DatasetError(
            f"{table.place(row, value)}: {shown(table[value][row])} is not a "
            f"{header.kind}. Write a number"
            + (" other than 0 (-1: judged not relevant)." if header.kind == "grade" else ".")
        )
    relevance = Relevance.from_pairs(
        x[judged],
        y[judged],
        numbers,
        shape=(len(x_rows), len(y_rows)),
        unjudged=header.unjudged,
        kind=header.kind,
        threshold=header.threshold,
    )
    sides = []
    x_side = ("x", x_rows, id_x, text_x, header.x_kind)
    y_side = ("y", y_rows, id_y, text_y, header.y_kind)
    for side, rows, key, text, kind in (x_side, y_side):
        metadata = {m.name: _restore(table, m, rows) for m in header.metadata if m.side == side}
        ids, texts = (np.asarray(table[c][rows], dtype=object) for c in (key, text))
        sides.append(Items(ids, texts, kind, metadata))
    return PairSet(sides[0], sides[1], relevance, name=table.name.rsplit(".", 1)[0] or "pairs")


def _items_of_rows(table: Table, id_column: str, text_column: str) -> tuple[Codes, Codes]:
    """The item of each row, -1 where it names none, and the first row of each item."""
    keys, texts = table[id_column], table[text_column]
    rows = np.flatnonzero(keys != "")
    (codes, first), _ = items_by_id(table, text_column, rows, keys[rows], texts[rows])
    items = np.full(len(table), -1)
    items[rows] = codes
    return items, rows[first]


def _value(cell: str, kind: str) -> float:
    """A grade or score, or NaN where the cell holds none."""
    number = parse_number(cell)
    if number is None or not np.isfinite(number) or (kind == "grade" and number == 0):
        return np.nan
    return number


def _restore(table: Table, column: MetadataColumn, first: Codes) -> NDArray[Any]:
    """A metadata column with the type that it was written with."""
    cells = np.asarray(table[str(column)][first], dtype=object)
    if column.dtype == "text":
        return cells
    dtype = np.dtype(column.dtype)
    restored = np.empty(len(cells), dtype=dtype)
    for i, cell in enumerate(cells):
        try:
            if dtype.kind == "b":
                restored[i] = {"true": True, "false": False}[cell.lower()]
            elif dtype.kind == "f":
                restored[i] = float(cell or "nan")
            else:
                restored[i] = int(cell)
        except (ValueError, KeyError, OverflowError) as error:
            raise DatasetError(
                f"{table.place(first[i], str(column))}: {shown(cell)} does not fit the "
                f"{column.side} metadata {shown(column.name)} of type {dtype}. Write a "
                "matching value."
            ) from error
    return restored
