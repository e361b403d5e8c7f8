"""Files that appear whole or not at all."""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.exceptions import StoreError
from simviz.scale.files import replacing

MAX_BYTES = 8 * 2**30


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file; a reader sees the old content or the new, never a part."""
    with replacing(path, sync=True) as file:
        file.write(data)


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file, see `write_bytes`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Text from the web may hold lone surrogates; reading passes them on too.
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"The file {path.name} of the store cannot be read ({error}).") from error


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Replace an npz file, see `write_bytes`; nothing is pickled."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                try:
                    np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
                except ValueError as error:
                    raise StoreError(
                        f"The array {name!r} holds objects of Python, which cannot be stored."
                    ) from error
    write_bytes(path, buffer.getvalue())


def read_arrays(path: Path, max_bytes: int = MAX_BYTES) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > max_bytes:
                raise StoreError(
                    f"{path.name} unpacks to {size:,} bytes, more than the {max_bytes:,} allowed."
                )
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise StoreError(f"The file {path.name} of the store cannot be read ({error}).") from error


def sync_tree(folder: Path) -> int:
    """Make sure that a directory and all that is in it are on the disk."""
    size = 0
    for path in folder.iterdir():
        if path.is_dir():
            size += sync_tree(path)
            continue
        with path.open("rb") as file:
            os.fsync(file.fileno())
        size += path.stat().st_size
    sync_folder(folder)
    return size


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a directory are on the disk."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # not every platform opens directories
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_tree(folder: Path) -> None:
    """Remove a directory and what it holds, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)


@cache
def _own(pid: int) -> str:
    return f"{pid}-{_start_time(pid)}-{_boot_id()}"


def own_process() -> str:
    """A name for this process that no later process repeats."""
    return _own(os.getpid())


def is_alive(process: str) -> bool:
    """Whether the process that `own_process` described is still running."""
    number, _, rest = process.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 10 and int(number)):
        return False
    pid = int(number)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it lives and belongs to another user
    return rest == f"{_start_time(pid)}-{_boot_id()}"


def _start_time(pid: int) -> str:
    """Clock ticks between boot and the start of a process; "0" where nobody tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "0"
    # The name of the program stands in parentheses and may hold anything.
    fields = stat.rpartition(")")[2].split()
    return "0" if fields[0] in "ZX" else fields[19]


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", "")[:12]
    except OSError:
        return "0"
