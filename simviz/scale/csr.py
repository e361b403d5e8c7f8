"""Sparse features on disk, mapped into memory shard by shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.exceptions import StoreError
from simviz.scale.files import (
    Shards,
    columns,
    map_array,
    new_folder,
    write_array,
    write_ids,
    write_meta,
)

FORMAT = "simviz-csr-1"
_MOST_ENTRIES = 2**31 - 1  # of a shard, whose places are then 32 bits wide


class SparseShards(Shards):
    """Features of items as CSR matrices on disk, one a shard.

    Shards hold rows in order. Their arrays (row pointers int64, columns int32,
    values float32) are mapped into memory: the system reads what is used.

    Parameters
    ----------
    folder : str or Path
        Written by `SparseShards.write` or `simviz.scale.write_features`.

    Attributes
    ----------
    n_items, n_features : int
        Rows of all shards, and their columns.
    starts : ndarray of int64, shape (n_shards + 1,)
        Number of the first row of each shard, and of all rows.

    Raises
    ------
    StoreError
        If the folder is not complete or is of another format; from `write`, if it
        holds shards already.
    IndexError
        From `take`, if there is no such row.
    ValueError
        From `write`, if there is nothing to write, widths differ, or ids are not
        as many as rows.

    Examples
    --------
    >>> import tempfile
    >>> parts = [sp.eye_array(3, format="csr"), 2 * sp.eye_array(2, 3, format="csr")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = SparseShards.write(folder, parts)
    ...     len(shards), shards.n_items, shards.take([4, 0]).toarray()
    (2, 5, array([[0., 2., 0.],
           [1., 0., 0.]], dtype=float32))
    """

    _format = FORMAT

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        self._trusted: set[int] = set()

    def _fill(self, meta: dict[str, Any]) -> None:
        self.n_features = int(meta["n_features"])
        self._entries = [int(n) for n in meta["entries"]]
        if len(self._entries) != len(self._names):
            raise ValueError("lists of different lengths")

    def __getitem__(self, i: int) -> sp.csr_array:
        """Shard i as a matrix (rows, n_features) of arrays that lie on the disk."""
        i = range(len(self))[i]
        start, n, m = self.folder / self._names[i], self._rows[i], self._entries[i]
        indptr = map_array(start.with_name(f"{start.name}.indptr.npy"), np.int64, (n + 1,))
        indices = map_array(start.with_name(f"{start.name}.indices.npy"), np.int32, (m,))
        data = map_array(start.with_name(f"{start.name}.data.npy"), np.float32, (m,))
        if i not in self._trusted:
            self._check(i, indptr, indices)
            self._trusted.add(i)
        # Both kinds of places must be of one type, or scipy copies the long one.
        matrix = sp.csr_array((data, indices, indptr.astype(np.int32)), (n, self.n_features))
        matrix.has_canonical_format = True
        return matrix

    def __iter__(self) -> Iterator[sp.csr_array]:
        """Yield the shards in order."""
        return (self[i] for i in range(len(self)))

    def take(self, rows: ArrayLike) -> sp.csr_array:
        """Copy rows into memory."""
        wanted, _ = self._located(rows)
        ascending = bool((np.diff(wanted) >= 0).all())
        order = np.arange(len(wanted)) if ascending else np.argsort(wanted, kind="stable")
        cuts = np.searchsorted(wanted[order], self.starts).tolist()
        parts = [
            self[i][wanted[order[low:high]] - self.starts[i]]
            for i, (low, high) in enumerate(pairwise(cuts))
            if high > low
        ]
        if not parts:
            return sp.csr_array((0, self.n_features), dtype=np.float32)
        found = parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")
        return found if ascending else found[np.argsort(order)]

    @classmethod
    def write(
        cls,
        folder: str | Path,
        matrices: Iterable[sp.csr_array],
        ids: Iterable[Sequence[str]] | None = None,
    ) -> SparseShards:
        """Write matrices as shards, one after another.

        Parameters
        ----------
        folder : str or Path
            A new or empty directory.
        matrices : iterable of sparse matrix of shape (n, n_features)
            One a shard; only one is held at a time.
        ids : iterable of sequence of str, optional
            The ids of the items of each.

        Returns
        -------
        SparseShards
            What was written.
        """
        folder = new_folder(folder)
        names = None if ids is None else iter(ids)
        written = []
        for i, matrix in enumerate(matrices):
            own = None if names is None else next(names)
            written.append(write_shard(folder, f"{i:05d}", matrix, own))
        return finish(folder, written)

    def _check(self, i: int, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        """Refuse places that lie outside: compiled code would follow them anywhere."""
        fits = indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all()
        if fits and len(indices):
            fits = indices.min() >= 0 and indices.max() < self.n_features
        if not fits:
            raise StoreError(
                f"Shard {self._names[i]} of {self.folder} is damaged: its entries lie outside of "
                f"{self._rows[i]:,} x {self.n_features:,}. Write the folder again."
            )


def write_shard(
    folder: Path, name: str, matrix: sp.csr_array, ids: Sequence[str] | None
) -> dict[str, Any]:
    """Write the files of one shard; return what is noted of it."""
    matrix = sp.csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if matrix.nnz > _MOST_ENTRIES:
        raise ValueError(
            f"Shard {name} has {matrix.nnz:,} entries, at most {_MOST_ENTRIES:,} fit. "
            "Write shards of fewer rows."
        )
    has_ids = write_ids(folder, name, ids, matrix.shape[0])
    write_array(folder / f"{name}.indptr.npy", matrix.indptr.astype(np.int64, copy=False))
    write_array(folder / f"{name}.indices.npy", matrix.indices.astype(np.int32, copy=False))
    write_array(folder / f"{name}.data.npy", matrix.data.astype(np.float32, copy=False))
    rows, width = matrix.shape
    return {"names": name, "rows": rows, "entries": matrix.nnz, "width": width, "ids": has_ids}


def finish(folder: Path, written: Sequence[dict[str, Any]]) -> SparseShards:
    """Say what a folder holds, which makes it complete."""
    widths = sorted({shard["width"] for shard in written})
    if len(widths) != 1:
        raise ValueError(
            f"Shards have one number of features, got {widths or 'no shard'}. "
            "Write at least one matrix, all from one fitted transformer."
        )
    noted = columns(written, "names", "rows", "entries", "ids")
    has_ids = all(noted.pop("ids"))
    meta = {"format": FORMAT, "n_features": widths[0], **noted, "ids": has_ids}
    write_meta(folder, meta)
    return SparseShards(folder)
