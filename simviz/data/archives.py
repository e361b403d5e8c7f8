"""Zip archives from strangers: bounded, and never leading out of themselves."""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections import Counter
from pathlib import PurePosixPath

from simviz.data.limits import get_limits
from simviz.data.wording import shown
from simviz.exceptions import DatasetError

_BROKEN = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
)


def open_zip(name: str, data: bytes) -> zipfile.ZipFile:
    """Open a zip archive in memory.

    Parameters
    ----------
    name : str
        File name for messages.
    data : bytes
        The archive.

    Returns
    -------
    zipfile.ZipFile
        For reading.

    Raises
    ------
    DatasetError
        If it is none, or damaged.
    """
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN as error:
        raise DatasetError(
            f"{name} is not a zip archive that can be opened ({str(error)[:120]}). Pack it again."
        ) from error


def safe_entries(name: str, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Files of an archive, refused as a whole where it is unsafe or too large.

    Parameters
    ----------
    name : str
        File name for messages.
    archive : zipfile.ZipFile
        Open for reading.

    Returns
    -------
    list of zipfile.ZipInfo
        Its files, without folders and what operating systems add.

    Raises
    ------
    DatasetError
        If it holds too much, an encrypted file, a path that leads out of it,
        or a file that unpacks to suspiciously more than it takes.
    """
    limits = get_limits()
    entries = [e for e in archive.infolist() if not e.filename.endswith("/")]
    if len(entries) > limits.files:
        raise DatasetError(
            f"{name} holds {len(entries):,} files; the limit is {limits.files:,}. Bring a sample."
        )
    total = sum(e.file_size for e in entries)
    if total > limits.unpacked_bytes:
        raise DatasetError(
            f"{name} unpacks to {total:,} bytes; the limit is {limits.unpacked_bytes:,}. Bring a "
            "sample, or smaller images."
        )
    for entry in entries:
        path = entry.filename
        if (
            path.startswith(("/", "\\"))
            or re.match(r"[A-Za-z]:", path)
            or ".." in re.split(r"[\\/]", path)
        ):
            raise DatasetError(
                f"{name} holds {shown(path)}, a path that leads out of the archive. "
                "Pack it again, without absolute paths and '..'."
            )
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise DatasetError(
                f"{name} holds a link ({shown(path)}), which could lead anywhere. Pack the file "
                "itself in its place."
            )
        if entry.flag_bits & 0x1:
            raise DatasetError(f"{name} is encrypted ({shown(path)}). Pack it without a password.")
        packed = entry.compress_size + 1024  # a short file may well shrink to nothing
        if entry.file_size > min(limits.file_bytes, limits.ratio * packed):
            raise DatasetError(
                f"{name}: {shown(path)} unpacks from {entry.compress_size:,} to "
                f"{entry.file_size:,} bytes; the limits are {limits.file_bytes:,} bytes and a "
                f"ratio of {limits.ratio}. Remove it, or make it smaller."
            )
    repeated = [p for p, n in Counter(e.filename for e in entries).items() if n > 1]
    if repeated:
        raise DatasetError(f"{name} holds {shown(repeated[0])} twice. Remove one of the two.")
    return [e for e in entries if not _is_clutter(e.filename)]


def _is_clutter(path: str) -> bool:
    """Files that operating systems add by themselves, or without a name."""
    parts = PurePosixPath(path).parts
    if not parts or not path.isprintable():
        return True
    return parts[0] == "__MACOSX" or parts[-1].startswith(".") or parts[-1] == "Thumbs.db"


def unpack(name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Content of one file, never more than it claims to hold.

    Raises
    ------
    DatasetError
        If the file is damaged.
    """
    try:
        with archive.open(entry) as file:
            return file.read(entry.file_size + 1)
    except (*_BROKEN, zlib.error) as error:
        raise DatasetError(
            f"{name}: {shown(entry.filename)} is damaged ({str(error)[:120]}). Pack it again."
        ) from error
