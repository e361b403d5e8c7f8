"""Zip archives from strangers: bounded, and never leading out of themselves."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from pathlib import PurePosixPath

from simviz.data.wording import shown
from simviz.exceptions import DatasetError

MAX_ENTRIES = 20_000
MAX_UNPACKED = 1024 * 1024 * 1024
MAX_ENTRY = 32 * 1024 * 1024
#: No picture or table shrinks to less than a two-hundredth; bombs do.
MAX_RATIO = 200


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
    entries = [e for e in archive.infolist() if not e.is_dir()]
    if len(entries) > MAX_ENTRIES:
        raise DatasetError(
            f"{name} holds {len(entries):,} files; the limit is {MAX_ENTRIES:,}. Bring a sample."
        )
    total = sum(e.file_size for e in entries)
    if total > MAX_UNPACKED:
        raise DatasetError(
            f"{name} unpacks to {total:,} bytes; the limit is {MAX_UNPACKED:,}. Bring a sample, "
            "or smaller images."
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
                "Pack the images again, without absolute paths and '..'."
            )
        if entry.flag_bits & 0x1:
            raise DatasetError(f"{name} is encrypted ({shown(path)}). Pack it without a password.")
        if entry.file_size > MAX_ENTRY or entry.file_size > MAX_RATIO * (
            entry.compress_size + 1024
        ):
            raise DatasetError(
                f"{name}: {shown(path)} unpacks from {entry.compress_size:,} to "
                f"{entry.file_size:,} bytes; the limits are {MAX_ENTRY:,} bytes and a ratio of "
                f"{MAX_RATIO}. Remove it, or make it smaller."
            )
    repeated = [p for p, n in Counter(e.filename for e in entries).items() if n > 1]
    if repeated:
        raise DatasetError(f"{name} holds {shown(repeated[0])} twice. Remove one of the two.")
    return [e for e in entries if not _is_clutter(e.filename)]


def _is_clutter(path: str) -> bool:
    """Files that operating systems add by themselves."""
    parts = PurePosixPath(path).parts
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
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise DatasetError(
            f"{name}: {shown(entry.filename)} is damaged ({error}). Pack the images again."
        ) from error
