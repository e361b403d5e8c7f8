"""Embeddings on disk, mapped into memory shard by shard."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.exceptions import StoreError
from simviz.shards._files import map_array, read_meta

if TYPE_CHECKING:
    from simviz.base import PairModel
    from simviz.pipeline import Pipeline

Floats = NDArray[np.floating[Any]]
Side = Literal["x", "y"]

FORMAT = "simviz-vectors-1"
_PLAIN_NAME = re.compile(r"part-[0-9]{5,9}")
_NUMBERS = ("rows", "shortest", "longest")
_KEPT = 256  # shards that stay mapped: each takes a file handle
_FEW = 256  # vectors that are copied one by one


class VectorShards:
    """Vectors of the items of one side on disk, one matrix a shard.

    Inner products of these vectors with those of the other side are the
    model's similarities: rows have length 1 where it compares by cosine. The
    files are numpy's, mapped into memory: the system reads what is used.

    Parameters
    ----------
    folder : str or Path
        Written by `simviz.shards.write_vectors`.

    Attributes
    ----------
    n_items, n_components : int
        Rows of all shards, and their columns.
    dtype : dtype
        float32, or float16 where it was asked for.
    side : {"x", "y"}
        Whose items these are.
    similarity : {"cosine", "dot", "hellinger"}
        How the model compares; see `simviz.base.EmbeddingModel.similarity_kind`.
    model_digest : str
        Of the model that gave the vectors.
    digest : str
        Of what is written here: equal vectors, equal digests.
    starts : ndarray of int64, shape (n_shards + 1,)
        Position of the first item of each shard, and the number of items.
    shortest, longest : float
        Least and greatest length of a vector; 0 where there is none.

    Raises
    ------
    StoreError
        If the folder is not complete, or is of another format.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.methods import get_method
    >>> from simviz.shards import write_vectors
    >>> model = get_method("cca")(2).fit(np.eye(4), np.eye(4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vectors = write_vectors(model, [np.eye(4)[:3], np.eye(4)[3:]], folder, "y")
    ...     len(vectors), vectors.n_items, vectors.n_components, vectors.similarity
    (2, 4, 2, 'cosine')
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        meta = read_meta(self.folder, FORMAT)
        try:
            self._fill(meta)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StoreError(
                f"{self.folder / 'meta.json'} does not say what there is ({error!r}). "
                "Write the folder again."
            ) from error
        self._mapped = lru_cache(_KEPT)(self._map)
        self._mapped_ids = lru_cache(_KEPT)(self._map_ids)
        for i in range(len(self)):
            self[i]  # a missing or cut file is told now, not in the middle of a search

    def _fill(self, meta: dict[str, Any]) -> None:
        self._names = [str(name) for name in meta["names"]]
        self._rows, shortest, longest = (list(meta[name]) for name in _NUMBERS)
        self._sums = [str(digest) for digest in meta["sha256"]]
        self._has_ids = bool(meta["ids"])
        self.n_components = int(meta["n_components"])
        self.dtype = np.dtype(str(meta["dtype"]))
        self.side, self.similarity = str(meta["side"]), str(meta["similarity"])
        self.model_digest = str(meta["model"])
        if self.dtype not in (np.float32, np.float16) or self.n_components < 1:
            raise ValueError(f"{self.n_components} columns of {self.dtype}")
        if {self.side} - {"x", "y"} or {self.similarity} - {"cosine", "dot", "hellinger"}:
            raise ValueError(f"side {self.side!r}, similarity {self.similarity!r}")
        if not all(_PLAIN_NAME.fullmatch(name) for name in self._names):
            raise ValueError("names other than part-00000")
        if not all(type(n) is int and n >= 0 for n in self._rows):
            raise ValueError("numbers of rows")
        if {len(v) for v in (self._rows, shortest, longest, self._sums)} != {len(self._names)}:
            raise ValueError("lists of different lengths")
        lengths = np.array([*shortest, *longest], dtype=np.float64)
        if not (np.isfinite(lengths).all() and (lengths >= 0).all()):
            raise ValueError("lengths of vectors")
        self.starts = np.r_[0, np.cumsum(self._rows, dtype=np.int64)]
        self.n_items = int(self.starts[-1])
        kept = [i for i, n in enumerate(self._rows) if n]
        self.shortest = min((float(shortest[i]) for i in kept), default=0.0)
        self.longest = max((float(longest[i]) for i in kept), default=0.0)
        told = {name: meta[name] for name in ("rows", "sha256", "side", "similarity", "dtype")}
        self.digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, i: int) -> Floats:
        """Shard i as a matrix (rows, n_components) that lies on the disk."""
        return self._mapped(range(len(self))[i])

    def take(self, positions: ArrayLike) -> NDArray[np.float32]:
        """Copy vectors into memory.

        Parameters
        ----------
        positions : array-like of int, shape (n,)
            Numbers of items from 0 over all shards, in any order.

        Returns
        -------
        ndarray of float32, shape (n, n_components)
            Their vectors, in the order asked for.

        Raises
        ------
        IndexError
            If there is no such item.
        """
        wanted, shard = self._placed(positions)
        found = np.empty((len(wanted), self.n_components), dtype=np.float32)
        if len(wanted) <= _FEW:
            rows = (wanted - self.starts[shard]).tolist()
            for place, (i, row) in enumerate(zip(shard.tolist(), rows, strict=True)):
                found[place] = self._mapped(i)[row]
            return found
        for i in np.unique(shard).tolist():
            own = shard == i
            found[own] = self[i][wanted[own] - self.starts[i]]
        return found

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
        return self.ids_at(np.arange(self.starts[i], self.starts[i + 1]))

    def ids_at(self, positions: ArrayLike) -> list[str] | None:
        """The ids of some items; nothing else is read.

        Parameters
        ----------
        positions : array-like of int, shape (n,)
            Numbers of items from 0 over all shards, in any order.

        Returns
        -------
        list of str or None
            In the order asked for; None where items have no ids.

        Raises
        ------
        IndexError
            If there is no such item.
        StoreError
            If ids are missing or damaged.
        """
        wanted, shard = self._placed(positions)
        if not self._has_ids:
            return None
        return [
            self._id(int(i), int(p - self.starts[i])) for i, p in zip(shard, wanted, strict=True)
        ]

    def require_model(self, model: PairModel | Pipeline) -> None:
        """Refuse a model that is not the one that gave these vectors.

        Parameters
        ----------
        model : PairModel or PairPipeline
            The one that embeds queries.

        Raises
        ------
        StoreError
            If it is another one, whose scores would mean nothing here.
        """
        from simviz.shards.embedding import model_digest

        if model_digest(model) != self.model_digest:
            raise StoreError(
                f"The vectors in {self.folder} come from another model, or from this one before "
                "it was fitted again. Load the model they were written with, or write them anew."
            )

    def verify(self) -> None:
        """Read everything once, and compare it with what was noted at writing.

        Raises
        ------
        StoreError
            If a shard is not what it was.
        """
        for i, (name, digest) in enumerate(zip(self._names, self._sums, strict=True)):
            if bytes_digest(self[i]) != digest:
                raise StoreError(
                    f"The shard {name} of {self.folder} is not what was written. "
                    "Write the folder again."
                )

    def _placed(self, positions: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The positions as an array, and the shards that they lie in."""
        wanted = np.asarray(positions, dtype=np.int64).reshape(-1)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self.n_items:
            raise IndexError(
                f"Items are numbered from 0 to {self.n_items - 1:,}, got {wanted.min():,} to "
                f"{wanted.max():,}. They may belong to other vectors."
            )
        return wanted, np.searchsorted(self.starts, wanted, side="right").astype(np.int64) - 1

    def __reduce__(self) -> tuple[type[VectorShards], tuple[Path]]:
        return type(self), (self.folder,)

    def _map(self, i: int) -> Floats:
        shape = (self._rows[i], self.n_components)
        shard = map_array(self.folder / f"{self._names[i]}.npy", self.dtype, shape)
        return shard.view(np.ndarray)  # rows of a memmap are slow to make

    def _map_ids(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        path, n = self.folder / self._names[i], self._rows[i]
        ends = map_array(path.with_name(f"{path.name}.id_ends.npy"), np.int64, (n,))
        size = max(0, int(ends[-1])) if n else 0
        return ends, map_array(path.with_name(f"{path.name}.id_bytes.npy"), np.uint8, (size,))

    def _id(self, i: int, row: int) -> str:
        ends, raw = self._mapped_ids(i)
        start, end = int(ends[row - 1]) if row else 0, int(ends[row])
        try:
            if not 0 <= start <= end <= len(raw):
                raise ValueError(f"row {row} ends before it begins")
            return bytes(raw[start:end]).decode("utf-8", "surrogatepass")
        except ValueError as error:
            raise StoreError(
                f"The ids of shard {self._names[i]} in {self.folder} are damaged ({error}). "
                "Write the folder again."
            ) from error


def bytes_digest(array: Floats) -> str:
    """SHA-256 of the numbers of a contiguous array, as they lie in memory."""
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()
