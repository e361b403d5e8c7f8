"""Folders of Parquet files, read a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simviz.data.arrow import is_string
from simviz.data.wording import counted, did_you_mean, shown
from simviz.exceptions import DatasetError

BATCH_ROWS = 65_536


class TextFolder:
    """Texts of a folder of Parquet files, which stay there.

    Items are the rows of the files, files in the order of their names: the
    first item has row 0. Files are looked at when this is made, and read when
    texts are asked for, in batches of rows.

    Parameters
    ----------
    where : str or Path
        A directory, whose ``*.parquet`` files are taken; a pattern such as
        ``"pairs/part-*.parquet"``; or one file.
    text : str, default="text"
        Column of texts; empty where there is no value.
    id : str, optional
        Column of ids, text or whole numbers, no two alike.
    batch_rows : int, default=65,536
        Rows that are read at a time.

    Attributes
    ----------
    files : tuple of Path
        In order.
    rows : tuple of int
        Rows of each file.
    n_items : int
        Rows of all files.

    Raises
    ------
    DatasetError
        If there are no files or no rows, one of them is no Parquet file, lacks
        a column, or has numbers where texts should be.
    ValueError
        If a batch should have no rows.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"text": ["a heart", "a car"]}), Path(folder, "1.parquet"))
    ...     source = TextFolder(folder)
    ...     source.n_items, list(source.batches(0))
    (2, [(['a heart', 'a car'], None)])
    """

    def __init__(
        self,
        where: str | Path,
        text: str = "text",
        id: str | None = None,
        *,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        if batch_rows < 1:
            raise ValueError(f"batch_rows is a number of rows, got {batch_rows}.")
        self.text, self.id, self.batch_rows = text, id, batch_rows
        self.files, self.rows = open_files(
            where, {text: _TEXT} | ({} if id is None else {id: _ID})
        )
        self.n_items = sum(self.rows)

    def __len__(self) -> int:
        """Files, the parts that workers share out."""
        return len(self.files)

    def batches(self, i: int) -> Iterator[tuple[list[str], list[str] | None]]:
        """Read a file.

        Parameters
        ----------
        i : int
            Number of the file.

        Yields
        ------
        texts : list of str
            Of the next `batch_rows` rows; the last batch may be shorter.
        ids : list of str or None
            Of the same rows; None without a column of ids.

        Raises
        ------
        DatasetError
            If the file is damaged, or an id is missing.
        """
        columns = [self.text] if self.id is None else [self.text, self.id]
        for table in read_batches(self.files[i], columns, self.batch_rows):
            texts = ["" if value is None else value for value in table[self.text].to_pylist()]
            yield texts, None if self.id is None else id_texts(self.files[i], table, self.id)


#: What a column may hold: the words for it, and whether an Arrow type is such.
Wanted = dict[str, tuple[str, Any]]


def _is_text(kind: Any) -> bool:
    import pyarrow.types as t

    return is_string(kind.value_type if t.is_dictionary(kind) else kind)


def _is_id(kind: Any) -> bool:
    import pyarrow.types as t

    return _is_text(kind) or bool(t.is_integer(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind))


_TEXT, _ID = ("text", _is_text), ("text or whole numbers", _is_id)
IDS, GRADES = _ID, ("numbers", _is_number)


def open_files(where: str | Path, wanted: Wanted) -> tuple[tuple[Path, ...], tuple[int, ...]]:
    """Find Parquet files and make sure that they have columns.

    Parameters
    ----------
    where : str or Path
        Directory, pattern or file.
    wanted : dict
        Columns, and what they may hold.

    Returns
    -------
    files : tuple of Path
        In the order of their names.
    rows : tuple of int
        Rows of each.

    Raises
    ------
    DatasetError
        If there are none, no rows, or one lacks a column.
    """
    import pyarrow.parquet as pq

    files = _found(Path(where))
    rows = []
    for path in files:
        with reading(path):
            file = pq.ParquetFile(path)
            schema, n = file.schema_arrow, file.metadata.num_rows
            file.close()
        for column, (words, fits) in wanted.items():
            if schema.names.count(column) != 1:
                near = did_you_mean(column, schema.names) if schema.names else "It has none."
                twice = "two columns" if column in schema.names else "no column"
                raise DatasetError(f"{path} has {twice} {shown(column)}. {near}")
            kind = schema.field(column).type
            if not fits(kind):
                raise DatasetError(
                    f"Column {shown(column)} of {path} should hold {words}, got {kind}. "
                    "Name another column, or write it as such in every file."
                )
        rows.append(n)
    if not sum(rows):
        raise DatasetError(f"{where} has {counted(len(files), 'file')} without any row.")
    return files, tuple(rows)


def read_batches(path: Path, columns: list[str], n_rows: int) -> Iterator[Any]:
    """Read some columns of a Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    columns : list of str
        To read.
    n_rows : int
        Rows of a batch; only the last has fewer.

    Yields
    ------
    pyarrow.RecordBatch
        Rows.

    Raises
    ------
    DatasetError
        If the file is damaged.
    """
    import pyarrow.parquet as pq

    with reading(path):
        # Pages are read as they are needed; else whole row groups would be held.
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20)
        batches = file.iter_batches(n_rows, columns=columns, use_threads=False)
    while True:
        with reading(path):
            batch = next(batches, None)
        if batch is None:
            file.close()
            return
        yield batch


def id_texts(path: Path, batch: Any, column: str) -> list[str]:
    """Ids of a batch of rows as texts.

    Raises
    ------
    DatasetError
        If one is missing.
    """
    values = batch[column]
    if values.null_count:
        raise DatasetError(
            f"{counted(values.null_count, 'row')} of {path} without an id in column "
            f"{shown(column)}. Give every row one."
        )
    return [str(value) for value in values.to_pylist()]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in one sentence which file cannot be read, and why."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n")[0][:120]
        raise DatasetError(
            f"{path} is no Parquet file, cut off or damaged ({reason}). Copy or export it again."
        ) from error


def _found(where: Path) -> tuple[Path, ...]:
    """Files of a directory or a pattern, in the order of their names."""
    if where.is_dir():
        files = sorted(where.glob("*.parquet"))
        kind = f"The directory {where} has no file *.parquet"
    elif where.is_file():
        return (where,)
    else:
        # A pattern may have stars in any part of the path.
        root = Path(where.anchor)
        pattern = str(where.relative_to(root)) if where.anchor else str(where)
        files = sorted(path for path in root.glob(pattern) if path.is_file())
        kind = f"There is no file or directory {where}"
    if not files:
        raise DatasetError(f"{kind}. Give a directory, a pattern or a file of Parquet.")
    return tuple(files)
