"""From texts on disk to sparse features on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from simviz.shards._files import new_folder
from simviz.shards._work import each
from simviz.shards.csr import SparseShards, WrittenShard, finish, write_shard
from simviz.shards.folder import TextFolder

if TYPE_CHECKING:
    from distributed import Client


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
