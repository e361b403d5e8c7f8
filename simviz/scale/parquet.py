"""Texts in folders of Parquet files: read a batch of rows at a time, and made into features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from simviz.data.arrow import is_string
from simviz.data.cells import counted, did_you_mean, shown
from simviz.exceptions import DatasetError
from simviz.features.text import TermFeatures
from simviz.scale.dask import map_parts, map_reduce
from simviz.scale.shards import SparseShards, finish, new_folder, write_shard

if TYPE_CHECKING:
    from distributed import Client

F = TypeVar("F", bound=TermFeatures)
RequiredColumns = dict[str, tuple[str, list[str]]]

BATCH_ROWS = 65_536


class TextFolder:
    """Texts of a folder of Parquet files, which stay there.

    Items are the rows of the files, files in the order of their names. Files are
    looked at when this is made, and read when texts are asked for.

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
        If there are no files or no rows, one of them is no Parquet file, lacks a column, or has
        numbers where texts should be; from `batches`, if it is damaged or an id is missing.
    ValueError
        If a batch should have no rows.
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
        self.files, self.rows = open_files(where, {text: TEXT} | ({} if id is None else {id: IDS}))
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
        """
        columns = [self.text] if self.id is None else [self.text, self.id]
        for table in read_batches(self.files[i], columns, self.batch_rows):
            texts = ["" if value is None else value for value in table[self.text].to_pylist()]
            yield texts, None if self.id is None else id_texts(self.files[i], table, self.id)


def write_features(
    features: BaseEstimator, source: TextFolder, folder: str | Path, client: Client | None = None
) -> SparseShards:
    """Write the features of all texts of a folder, a shard a batch of rows.

    Parameters
    ----------
    features : TextCounts, Tfidf, HashedText or other sparse features
        Fitted.
    source : TextFolder
        The texts; its `batch_rows` are the rows of a shard.
    folder : str or Path
        A new or empty directory.
    client : distributed.Client, optional
        Of a cluster whose workers find both directories in the same place; each writes the shards
        of files of its own. Without one they are written here, one after another.

    Returns
    -------
    SparseShards
        Items in the order of `source`, with its ids if it has some.

    Raises
    ------
    NotFittedError, ValueError, DatasetError, StoreError
        If the features are not fitted or are dense, a file is damaged, or the
        folder holds shards already.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from simviz.features import TextCounts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"text": ["heart", "a car"]}), Path(folder, "1.parquet"))
    ...     source = TextFolder(folder)
    ...     counts = fit_vocabulary(TextCounts(), source)
    ...     shards = write_features(counts, source, Path(folder, "counts"))
    ...     source.n_items, counts.vocabulary_, shards[0].toarray()
    (2, ['a', 'car', 'heart'], array([[0., 0., 1.],
           [1., 1., 0.]], dtype=float32))
    """
    check_is_fitted(features)
    folder = new_folder(folder).absolute()
    written: list[dict[str, Any]] = []
    for shards in map_parts(_write, range(len(source)), source, features, folder, client=client):
        written += shards
    return finish(folder, written)


def _write(i: int, source: TextFolder, features: Any, folder: Path) -> list[dict[str, Any]]:
    written = []
    for j, (texts, ids) in enumerate(source.batches(i)):
        matrix = features.transform(texts)
        if not sp.issparse(matrix):
            raise ValueError(
                f"Shards keep sparse features, got {type(matrix).__name__} from "
                f"{type(features).__name__}. Use features of terms such as Tfidf."
            )
        written.append(write_shard(folder, f"{i:05d}-{j:05d}", matrix, ids))
    return written


def fit_vocabulary(features: F, *sources: TextFolder, client: Client | None = None) -> F:
    """Fit features of terms on folders of texts, going through them once.

    The terms of each file are counted on their own and the counts added up: the vocabulary is that
    of ``features.fit`` on all texts in one list, and so are its weights, to the last bit.

    Parameters
    ----------
    features : TextCounts, Tfidf or HashedText
        What to fit; hashed features have no vocabulary, but weights.
    *sources : TextFolder
        One, or several for one vocabulary over them, as of both sides.
    client : distributed.Client, optional
        Of a cluster whose workers find the files in the same place; each
        counts files of its own, and sums go from worker to worker by a tree.
        Without one the files are counted here, one after another.

    Returns
    -------
    TextCounts, Tfidf or HashedText
        The same object, fitted.

    Raises
    ------
    DatasetError, ValueError
        If a file is damaged, there is no source, a parameter is out of range, or no term is left.

    Notes
    -----
    Memory: a batch of texts with its terms, and all distinct terms met so far,
    some 230 bytes each: a rare one is dropped only when all texts were seen. On a
    cluster a worker holds those of two files. Where there are too many, as of long
    character n-grams, use `simviz.features.HashedText`, which keeps none.
    """
    if not sources:
        raise ValueError("A vocabulary is learned from texts, got no source. Give a TextFolder.")
    parts = [(source, i) for source in sources for i in range(len(source))]
    totals: Any = map_reduce(_count, lambda a, b: a.add(b), parts, features, client=client)
    return features.fit_totals(totals)


def _count(part: tuple[TextFolder, int], features: TermFeatures) -> Any:
    source, i = part
    totals: Any = features.count_totals([])
    for texts, _ in source.batches(i):
        totals.add(features.count_totals(texts))
    return totals


#: What a column may hold: the words for it, and the kinds of Arrow types that are such.
TEXT = ("text", ["text"])
IDS = ("text or whole numbers", ["text", "integer"])
GRADES = ("numbers", ["integer", "floating", "boolean"])


def _fits(kind: Any, allowed: list[str]) -> bool:
    import pyarrow.types as t

    is_text = is_string(kind.value_type if t.is_dictionary(kind) else kind)
    return any(is_text if name == "text" else getattr(t, f"is_{name}")(kind) for name in allowed)


def open_files(
    where: str | Path, required: RequiredColumns
) -> tuple[tuple[Path, ...], tuple[int, ...]]:
    """Find Parquet files and make sure that they have columns."""
    import pyarrow.parquet as pq

    files = _files_in(Path(where))
    rows = []
    for path in files:
        with reading(path):
            file = pq.ParquetFile(path)
            schema, n = file.schema_arrow, file.metadata.num_rows
            file.close()
        for column, (text, allowed) in required.items():
            if schema.names.count(column) != 1:
                near = did_you_mean(column, schema.names) if schema.names else "It has none."
                twice = "two columns" if column in schema.names else "no column"
                raise DatasetError(f"{path} has {twice} {shown(column)}. {near}")
            kind = schema.field(column).type
            if not _fits(kind, allowed):
                raise DatasetError(
                    f"Column {shown(column)} of {path} should hold {text}, got {kind}. "
                    "Name another column, or write it as such in every file."
                )
        rows.append(n)
    if not sum(rows):
        raise DatasetError(f"{where} has {counted(len(files), 'file')} without any row.")
    return files, tuple(rows)


def read_batches(path: Path, columns: list[str], n_rows: int) -> Iterator[Any]:
    """Read some columns of a Parquet file."""
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
    """Ids of a batch of rows as texts."""
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


def _files_in(where: Path) -> tuple[Path, ...]:
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
