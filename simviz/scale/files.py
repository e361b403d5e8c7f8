"""Folders of shards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.exceptions import StoreError
from simviz.persistence import replacing

META = "meta.json"


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
    found = meta.get("format") if isinstance(meta, dict) else None
    if found != format_name:
        raise StoreError(f"{path} has the format {found!r}, expected {format_name!r}.")
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
        """Copy items into memory.

        Parameters
        ----------
        rows : array-like of int, shape (n,)
            Numbers of items from 0 over all shards, in any order; ascending ones
            are read from the disk in order.

        Returns
        -------
        csr_array or ndarray of float32, shape (n, n_columns)
            The rows in the order asked for.
        """
        raise NotImplementedError

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
        """
        i = range(len(self))[i]
        if not self._has_ids:
            return None
        ends, raw = self._map_ids(i)
        return self._decoded(i, bytes(raw), [0, *ends.tolist()])

    def _map_ids(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return where the ids of a shard end, and their bytes."""
        path, n = self.folder / self._names[i], self._rows[i]
        ends = map_array(path.with_name(f"{path.name}.id_ends.npy"), np.int64, (n,))
        size = max(0, int(ends[-1])) if n else 0
        return ends, map_array(path.with_name(f"{path.name}.id_bytes.npy"), np.uint8, (size,))

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
        wanted = np.asarray(rows, dtype=np.int64).reshape(-1)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self.n_items:
            raise IndexError(
                f"Items are numbered from 0 to {self.n_items - 1:,}, got {wanted.min():,} to "
                f"{wanted.max():,}. They may belong to other shards."
            )
        return wanted, np.searchsorted(self.starts, wanted, side="right") - 1
