"""Folders of shards: what they have in common, and sparse features."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.exceptions import StoreError
from simviz.persistence import replacing

META = "meta.json"
_SPARSE = "simviz-csr-1"
_MAX_ENTRIES = 2**31 - 1  # of a shard, whose places are then 32 bits wide


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an npy file; nothing is pickled."""
    with replacing(path) as file:
        np.save(file, array, allow_pickle=False)


def map_array(path: Path, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an npy file mapped into memory, read as it is used."""
    try:
        mode: Any = None if 0 in shape else "r"  # nothing cannot be mapped
        array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
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


def new_folder(folder: str | Path) -> Path:
    """Make a directory for new shards; one that holds finished ones is refused."""
    folder = Path(folder)
    if (folder / META).exists():
        raise StoreError(
            f"{folder} holds shards already. Choose another folder, or delete this one."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_meta(folder: Path, meta: dict[str, Any]) -> None:
    """Write what a folder holds: the last file, without which it is not complete."""
    with replacing(folder / META) as file:
        file.write(json.dumps(meta, indent=1).encode())


def columns(shards: Sequence[dict[str, Any]], *names: str) -> dict[str, list[Any]]:
    """Return what was noted of all shards, one list a name."""
    return {name: [shard[name] for shard in shards] for name in names}


def read_meta(folder: Path, format_name: str) -> dict[str, Any]:
    """Return what `write_meta` wrote."""
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
    stated = meta.get("format") if isinstance(meta, dict) else None
    if stated != format_name:
        raise StoreError(f"{path} has the format {stated!r}, expected {format_name!r}.")
    return dict(meta)


def write_ids(folder: Path, name: str, ids: Sequence[str] | None, n_items: int) -> bool:
    """Write ids of a shard, if it has some: their bytes one after another, and where each ends."""
    if ids is None:
        return False
    if len(ids) != n_items:
        raise ValueError(
            f"Shard {name} has {n_items:,} rows and {len(ids):,} ids. Give one id a row."
        )
    # Text from the web may hold lone surrogates; reading passes them on too.
    coded = [i.encode("utf-8", "surrogatepass") for i in ids]
    ends = np.cumsum([len(c) for c in coded], dtype=np.int64)
    write_array(folder / f"{name}.id_bytes.npy", np.frombuffer(b"".join(coded), dtype=np.uint8))
    write_array(folder / f"{name}.id_ends.npy", ends)
    return True


class Shards:
    """What folders of shards have in common: numbered items, with ids where they were given."""

    _format: ClassVar[str]
    n_items: int
    starts: NDArray[np.int64]

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        meta = read_meta(self.folder, self._format)
        try:
            self._names = [str(name) for name in meta["names"]]
            self._rows = list(meta["rows"])
            self._has_ids = bool(meta["ids"])
            self._fill(meta)
            if any(Path(name).name != name for name in self._names):
                raise ValueError("names with a folder")
            if not all(type(n) is int and n >= 0 for n in self._rows):
                raise ValueError("numbers of rows")
            if len(self._rows) != len(self._names):
                raise ValueError("lists of different lengths")
            self.starts = np.r_[0, np.cumsum(self._rows, dtype=np.int64)]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StoreError(
                f"{self.folder / META} does not say what there is ({error!r}). "
                "Write the folder again."
            ) from error
        self.n_items = int(self.starts[-1])

    def _fill(self, meta: dict[str, Any]) -> None:
        """Read what is special to a kind of shards."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._names)

    def take(self, rows: ArrayLike) -> Any:
        """Copy items into memory by their numbers over all shards, in any order."""
        raise NotImplementedError

    def ids(self, i: int) -> list[str] | None:
        """The ids of the items of a shard, in the order of rows; None where there are none."""
        i = range(len(self))[i]
        if not self._has_ids:
            return None
        ends, raw = self._map_ids(i)
        return self._decoded(i, bytes(raw), [0, *ends.tolist()])

    def _map_ids(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return where the ids of a shard end, and their bytes."""
        name, n = self._names[i], self._rows[i]
        ends = map_array(self.folder / f"{name}.id_ends.npy", np.int64, (n,))
        size = max(0, int(ends[-1])) if n else 0
        return ends, map_array(self.folder / f"{name}.id_bytes.npy", np.uint8, (size,))

    def _decoded(self, i: int, raw: Any, places: Sequence[int]) -> list[str]:
        """Return the ids between places in the bytes of a shard."""
        try:
            if not 0 <= places[0] <= places[-1] <= len(raw):
                raise ValueError("ends lie outside")
            if any(b < a for a, b in pairwise(places)):
                raise ValueError("ends descend")
            return [bytes(raw[a:b]).decode("utf-8", "surrogatepass") for a, b in pairwise(places)]
        except ValueError as error:
            raise StoreError(
                f"The ids of shard {self._names[i]} in {self.folder} are damaged ({error}). "
                "Write the folder again."
            ) from error

    def _located(self, rows: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return numbers of items as an array, and the shards that they lie in."""
        positions = np.asarray(rows, dtype=np.int64).reshape(-1)
        if len(positions) and not 0 <= positions.min() <= positions.max() < self.n_items:
            raise IndexError(
                f"Items are numbered from 0 to {self.n_items - 1:,}, got {positions.min():,} to "
                f"{positions.max():,}. They may belong to other shards."
            )
        return positions, np.searchsorted(self.starts, positions, side="right") - 1


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
        From `write`, if there is nothing to write, widths differ, or ids are not as many as rows.

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

    _format = _SPARSE

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
        name, n, m = self._names[i], self._rows[i], self._entries[i]
        indptr = map_array(self.folder / f"{name}.indptr.npy", np.int64, (n + 1,))
        indices = map_array(self.folder / f"{name}.indices.npy", np.int32, (m,))
        data = map_array(self.folder / f"{name}.data.npy", np.float32, (m,))
        if i not in self._trusted:
            self._check(i, indptr, indices)
            self._trusted.add(i)
        # Both kinds of places must be of one type, or scipy copies the long one.
        matrix = sp.csr_array((data, indices, indptr.astype(np.int32)), (n, self.n_features))
        matrix.has_canonical_format = True
        return matrix

    def __iter__(self) -> Iterator[sp.csr_array]:
        return (self[i] for i in range(len(self)))

    def take(self, rows: ArrayLike) -> sp.csr_array:
        """Copy rows into memory."""
        positions, _ = self._located(rows)
        ascending = bool((np.diff(positions) >= 0).all())
        order = np.arange(len(positions)) if ascending else np.argsort(positions, kind="stable")
        cuts = np.searchsorted(positions[order], self.starts).tolist()
        parts = [
            self[i][positions[order[low:high]] - self.starts[i]]
            for i, (low, high) in enumerate(pairwise(cuts))
            if high > low
        ]
        if not parts:
            return sp.csr_array((0, self.n_features), dtype=np.float32)
        matrix = parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")
        return matrix if ascending else matrix[np.argsort(order)]

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
    if matrix.nnz > _MAX_ENTRIES:
        raise ValueError(
            f"Shard {name} has {matrix.nnz:,} entries, at most {_MAX_ENTRIES:,} fit. "
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
    meta = {"format": _SPARSE, "n_features": widths[0], **noted, "ids": has_ids}
    write_meta(folder, meta)
    return SparseShards(folder)
