"""Sparse features on disk, mapped into memory shard by shard."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.exceptions import StoreError

META = "meta.json"


@contextmanager
def drafted(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes its name when all of it is written."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an npy file; nothing is pickled."""
    with drafted(path) as file:
        np.save(file, array, allow_pickle=False)


def map_array(path: Path, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """An npy file mapped into memory, read as it is used."""
    try:
        if 0 in shape:  # nothing to map
            array = np.load(path, allow_pickle=False)
        else:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise StoreError(
            f"The shard {path} cannot be read ({error}). Write the folder again."
        ) from error
    if array.dtype != dtype or array.shape != shape:
        raise StoreError(
            f"The shard {path} holds {array.dtype} of shape {array.shape}, expected "
            f"{np.dtype(dtype)} of shape {shape}. Write the folder again."
        )
    return array


def write_meta(folder: Path, meta: dict[str, Any]) -> None:
    """Write what a folder holds: the last file, without which it is not complete."""
    with drafted(folder / META) as file:
        file.write(json.dumps(meta, indent=1).encode())


def read_meta(folder: Path, format_name: str) -> dict[str, Any]:
    """What a folder says that it holds."""
    path = folder / META
    if not path.is_file():
        raise StoreError(
            f"{folder} has no {META}: it is no folder of shards, or was not written to its end. "
            "Write it again."
        )
    try:
        meta = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read ({error}). Write the folder again.") from error
    found = meta.get("format") if isinstance(meta, dict) else None
    if found != format_name:
        raise StoreError(f"{path} has the format {found!r}, expected {format_name!r}.")
    return dict(meta)


def new_folder(folder: str | Path) -> Path:
    """A directory for new shards; one that holds finished ones is refused."""
    folder = Path(folder)
    if (folder / META).exists():
        raise StoreError(
            f"{folder} holds shards already. Choose another folder, or delete this one."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_names(folder: Path, name: str, ids: Sequence[str]) -> None:
    """Write ids of a shard: their bytes one after another, and where each ends."""
    # Text from the web may hold lone surrogates; reading passes them on too.
    coded = [i.encode("utf-8", "surrogatepass") for i in ids]
    ends = np.cumsum([len(c) for c in coded], dtype=np.int64)
    write_array(folder / f"{name}.id_bytes.npy", np.frombuffer(b"".join(coded), dtype=np.uint8))
    write_array(folder / f"{name}.id_ends.npy", ends)


def read_names(folder: Path, name: str, n: int) -> list[str]:
    """The ids of a shard of `n` items."""
    ends = map_array(folder / f"{name}.id_ends.npy", np.int64, (n,))
    size = int(ends[-1]) if n else 0
    raw = map_array(folder / f"{name}.id_bytes.npy", np.uint8, (max(0, size),)).tobytes()
    places = [0, *ends.tolist()]
    try:
        if any(b < a for a, b in pairwise(places)):
            raise ValueError("ends descend")
        return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(places)]
    except ValueError as error:
        raise StoreError(
            f"The ids of shard {name} in {folder} are damaged ({error}). Write the folder again."
        ) from error


FORMAT = "simviz-csr-1"
_MOST_ENTRIES = 2**31 - 1  # of a shard, whose places are then 32 bits wide


@dataclass(frozen=True, slots=True)
class WrittenShard:
    """A shard on disk: its name, and how much it holds."""

    name: str
    n_items: int
    n_entries: int
    n_features: int
    has_ids: bool


class SparseShards:
    """Features of items as CSR matrices on disk, one a shard.

    Shards hold rows in order: the first shard the first rows. Their arrays
    (row pointers int64, columns int32, values float32) are files of numpy
    that are mapped into memory: the system reads what is used and drops it
    when memory is wanted for something else.

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
        If the folder is not complete or is of another format.

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

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        meta = read_meta(self.folder, FORMAT)
        try:
            self.n_features = int(meta["n_features"])
            self._names = [str(Path(str(name)).name) for name in meta["names"]]
            self._rows = [int(n) for n in meta["rows"]]
            self._entries = [int(n) for n in meta["entries"]]
            self._has_ids = bool(meta["ids"])
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"{self.folder / 'meta.json'} does not say what there is ({error!r}). "
                "Write the folder again."
            ) from error
        self.starts: NDArray[np.int64] = np.r_[0, np.cumsum(self._rows, dtype=np.int64)]
        self.n_items = int(self.starts[-1])
        self._trusted: set[int] = set()

    def __len__(self) -> int:
        return len(self._names)

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

    def ids(self, i: int) -> list[str] | None:
        """The ids of the items of a shard.

        Parameters
        ----------
        i : int
            Number of the shard.

        Returns
        -------
        list of str or None
            In the order of rows; None where items have no ids.

        Raises
        ------
        StoreError
            If they are missing or damaged.
        """
        i = range(len(self))[i]
        if not self._has_ids:
            return None
        return read_names(self.folder, self._names[i], self._rows[i])

    def take(self, rows: ArrayLike) -> sp.csr_array:
        """Copy rows into memory.

        Parameters
        ----------
        rows : array-like of int, shape (n,)
            Numbers of rows from 0, in any order, over all shards. Ascending
            ones are read from the disk in order.

        Returns
        -------
        csr_array of float32, shape (n, n_features)
            The rows in the order asked for.

        Raises
        ------
        IndexError
            If there is no such row.
        """
        rows = np.asarray(rows, dtype=np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.n_items:
            raise IndexError(
                f"Rows are numbered from 0 to {self.n_items - 1:,}, got {rows.min():,} to "
                f"{rows.max():,}. They may belong to other shards."
            )
        ascending = bool((np.diff(rows) >= 0).all())
        order = np.arange(len(rows)) if ascending else np.argsort(rows, kind="stable")
        cuts = np.searchsorted(rows[order], self.starts).tolist()
        parts = [
            self[i][rows[order[low:high]] - self.starts[i]]
            for i, (low, high) in enumerate(pairwise(cuts))
            if high > low
        ]
        if not parts:
            return sp.csr_array((0, self.n_features), dtype=np.float32)
        found = parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")
        if ascending:
            return found
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return found[back]

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

        Raises
        ------
        StoreError
            If the folder holds shards already.
        ValueError
            If there is nothing to write, widths differ, or ids are not as many
            as rows.
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
) -> WrittenShard:
    """Write the files of one shard."""
    matrix = sp.csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if ids is not None and len(ids) != matrix.shape[0]:
        raise ValueError(
            f"Shard {name} has {matrix.shape[0]:,} rows and {len(ids):,} ids. Give one id a row."
        )
    if matrix.nnz > _MOST_ENTRIES:
        raise ValueError(
            f"Shard {name} has {matrix.nnz:,} entries, at most {_MOST_ENTRIES:,} fit. "
            "Write shards of fewer rows."
        )
    write_array(folder / f"{name}.indptr.npy", matrix.indptr.astype(np.int64, copy=False))
    write_array(folder / f"{name}.indices.npy", matrix.indices.astype(np.int32, copy=False))
    write_array(folder / f"{name}.data.npy", matrix.data.astype(np.float32, copy=False))
    if ids is not None:
        write_names(folder, name, ids)
    return WrittenShard(name, matrix.shape[0], matrix.nnz, matrix.shape[1], ids is not None)


def finish(folder: Path, written: Sequence[WrittenShard]) -> SparseShards:
    """Say what a folder holds, which makes it complete."""
    widths = sorted({shard.n_features for shard in written})
    if len(widths) != 1:
        raise ValueError(
            f"Shards have one number of features, got {widths or 'no shard'}. "
            "Write at least one matrix, all from one fitted transformer."
        )
    write_meta(
        folder,
        {
            "format": FORMAT,
            "n_features": widths[0],
            "names": [shard.name for shard in written],
            "rows": [shard.n_items for shard in written],
            "entries": [shard.n_entries for shard in written],
            "ids": all(shard.has_ids for shard in written),
        },
    )
    return SparseShards(folder)
