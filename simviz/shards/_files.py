"""Arrays in files that appear whole or not at all, and are read by mapping them into memory."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from simviz.exceptions import StoreError

META = "meta.json"


@contextmanager
def drafted(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes its name when all of it is written.

    Parameters
    ----------
    path : Path
        Its name at the end.

    Yields
    ------
    file
        Open for writing.
    """
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
    """An npy file mapped into memory, read as it is used.

    Parameters
    ----------
    path : Path
        The file.
    dtype : dtype
        That it should have.
    shape : tuple of int
        That it should have.

    Returns
    -------
    ndarray
        Read-only.

    Raises
    ------
    StoreError
        If it is missing, damaged, or of another type or shape.
    """
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
    """What a folder says that it holds.

    Parameters
    ----------
    folder : Path
        With a file ``meta.json``.
    format_name : str
        The format that it should name.

    Returns
    -------
    dict
        Its content.

    Raises
    ------
    StoreError
        If it is missing, damaged, or of another format.
    """
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
    """A directory for new shards; one that holds finished ones is refused.

    Raises
    ------
    StoreError
        If shards are there already.
    """
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
    """The ids of a shard of `n` items.

    Raises
    ------
    StoreError
        If they are missing or damaged.
    """
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
