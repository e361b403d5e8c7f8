"""From texts on disk to sparse features on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from simviz.features.hashed import HashedText
from simviz.features.text import TextCounts
from simviz.scale.csr import SparseShards, WrittenShard, finish, write_shard
from simviz.scale.dask import each, joined
from simviz.scale.files import new_folder
from simviz.scale.parquet import TextFolder

if TYPE_CHECKING:
    from distributed import Client

F = TypeVar("F", bound=TextCounts | HashedText)


def write_features(
    features: BaseEstimator,
    source: TextFolder,
    folder: str | Path,
    client: Client | None = None,
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
        Of a cluster whose workers find both directories in the same place;
        each writes the shards of files of its own. Without one they are
        written here, one after another.

    Returns
    -------
    SparseShards
        Items in the order of `source`, with its ids if it has some.

    Raises
    ------
    NotFittedError
        If the features are not fitted.
    ValueError
        If they are dense.
    DatasetError
        If a file is damaged.
    StoreError
        If the folder holds shards already.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from simviz.features import TextCounts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"text": ["a heart", "a car"]}), Path(folder, "1.parquet"))
    ...     counts = TextCounts().fit(["car", "heart"])
    ...     shards = write_features(counts, TextFolder(folder), Path(folder, "counts"))
    ...     shards[0].toarray()
    array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    check_is_fitted(features)
    folder = new_folder(folder).absolute()
    written: list[WrittenShard] = []
    for shards in each(_write, range(len(source)), source, features, folder, client=client):
        written += shards
    return finish(folder, written)


def _write(i: int, source: TextFolder, features: Any, folder: Path) -> list[WrittenShard]:
    """The shards of one file."""
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

    The terms of each file are counted on their own: in how many texts each is,
    and how often. The counts of files are added up, and the vocabulary is
    chosen from the sums: it is that of ``features.fit`` on all texts in one list,
    and so are its weights, to the last bit.

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
    DatasetError
        If a file is damaged.
    ValueError
        If there is no source, a parameter is out of range, or no term is left.

    Notes
    -----
    Memory: a batch of texts with its terms, and all distinct terms met so far,
    whatever `min_df` is: some 230 bytes each, for a rare term is dropped only
    when all texts were seen. On a cluster a worker holds those of two files or
    of two sums. Where there are too many, as of long character n-grams, use
    `simviz.features.HashedText`, which keeps none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, texts in enumerate([["a heart", "a car"], ["a sun"]]):
    ...         pq.write_table(pa.table({"text": texts}), Path(folder, f"{i}.parquet"))
    ...     fit_vocabulary(TextCounts(), TextFolder(folder)).vocabulary_
    ['a', 'car', 'heart', 'sun']
    """
    if not sources:
        raise ValueError("A vocabulary is learned from texts, got no source. Give a TextFolder.")
    parts = [(source, i) for source in sources for i in range(len(source))]
    totals: Any = joined(_count, _add, parts, features, client=client)
    return features.fit_totals(totals)


def _count(part: tuple[TextFolder, int], features: TextCounts | HashedText) -> Any:
    """The terms of one file."""
    source, i = part
    totals: Any = features.count_totals([])
    for texts, _ in source.batches(i):
        totals.add(features.count_totals(texts))
    return totals


def _add(totals: Any, more: Any) -> Any:
    return totals.add(more)
