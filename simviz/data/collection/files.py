"""Files of a folder, a zip or an upload, opened one at a time and in bounds."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from simviz.data.archives import open_zip, safe_entries, unpack
from simviz.data.limits import get_limits
from simviz.data.sources import gunzip, load_bytes
from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError

Sources = Mapping[str, bytes | str | Path]
_PACKED = (".gz", ".gzip")


class Files(Mapping[str, Callable[[], bytes]]):
    """Paths to what reads them; nothing is read before it is asked for.

    Parameters
    ----------
    name : str
        Of the whole, for messages.
    openers : mapping of str to callable
        Path, without what gzip adds, to a function that gives the bytes.
    notes : sequence of str
        What was passed over.
    """

    def __init__(
        self, name: str, openers: Mapping[str, Callable[[], bytes]], notes: tuple[str, ...] = ()
    ) -> None:
        if not openers:
            raise DatasetError(f"{name} holds no file. Put the data files into it.")
        self.name = name
        self.notes = notes
        self._openers = dict(openers)

    def __getitem__(self, path: str) -> Callable[[], bytes]:
        return self._openers[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._openers)

    def __len__(self) -> int:
        return len(self._openers)

    def read(self, path: str) -> bytes:
        """Content of one file, unpacked where it was gzipped.

        Parameters
        ----------
        path : str
            One of the keys.

        Returns
        -------
        bytes
            Never more than the limits allow.

        Raises
        ------
        DatasetError
            If it is damaged, empty or too large.
        """
        return gunzip(path, self._openers[path]())[1]


def from_folder(folder: Path) -> Files:
    """The files of a folder and of the folders in it; links are not followed.

    Parameters
    ----------
    folder : Path
        An existing folder.

    Returns
    -------
    Files
        Keys are paths relative to the folder.

    Raises
    ------
    DatasetError
        If it holds nothing, or too much.
    """
    limits = get_limits()
    openers: dict[str, Callable[[], bytes]] = {}
    links, total = 0, 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or any(p.is_symlink() for p in path.relative_to(folder).parents):
            links += 1
        elif path.is_file() and not path.name.startswith("."):
            total += path.stat().st_size
            openers[_plain(path.relative_to(folder).as_posix())] = _opener(path)
        if len(openers) > limits.files or total > limits.unpacked_bytes:
            raise DatasetError(
                f"{folder.name} holds more than {limits.files:,} files or "
                f"{limits.unpacked_bytes:,} bytes. Give the folder of one data set."
            )
    notes = (f"{counted(links, 'link')} in {folder.name} not followed.",) if links else ()
    return Files(folder.name or str(folder), openers, notes)


def from_zip(name: str, data: bytes) -> Files:
    """The files of a zip archive.

    Parameters
    ----------
    name : str
        File name for messages.
    data : bytes
        The archive.

    Returns
    -------
    Files
        Keys are paths; a folder around all of them is dropped.

    Raises
    ------
    DatasetError
        If it is damaged, unsafe, or holds too much.
    """
    archive = open_zip(name, data)
    entries = safe_entries(name, archive)
    tops = {PurePosixPath(e.filename).parts[0] for e in entries}
    shared = len(tops) == 1 and all(len(PurePosixPath(e.filename).parts) > 1 for e in entries)
    openers = {}
    for entry in entries:
        path = PurePosixPath(entry.filename)
        inner = str(PurePosixPath(*path.parts[1:])) if shared else str(path)
        openers[_plain(inner)] = _member(name, archive, entry)
    return Files(name, openers)


def from_mapping(name: str, sources: Sources) -> Files:
    """Files that were handed in one by one.

    Parameters
    ----------
    name : str
        Of the whole, for messages.
    sources : mapping of str to bytes or path
        File name to content, or to where it lies.

    Returns
    -------
    Files
        Under the names given.

    Raises
    ------
    DatasetError
        If they are too many or too large together.
    """
    limits = get_limits()
    total = sum(len(s) for s in sources.values() if isinstance(s, bytes))
    if len(sources) > limits.files or total > limits.unpacked_bytes:
        raise DatasetError(
            f"{name}: {len(sources):,} files with {total:,} bytes; the limits are "
            f"{limits.files:,} files and {limits.unpacked_bytes:,} bytes. Bring a sample."
        )
    openers = {
        _plain(path): (lambda path=path, source=source: load_bytes(source, path)[1])
        for path, source in sources.items()
    }
    if len(openers) < len(sources):
        raise DatasetError(f"{name}: two files bear one name. Rename one of them.")
    return Files(name, openers)


def _opener(path: Path) -> Callable[[], bytes]:
    return lambda: load_bytes(path)[1]


def _member(name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        data = unpack(name, archive, entry)
        if not data:
            raise DatasetError(f"{name}: {shown(entry.filename)} is empty (0 bytes).")
        return data

    return read


def _plain(path: str) -> str:
    """A path without the ending that gzip adds."""
    for ending in _PACKED:
        if path.lower().endswith(ending) and len(path) > len(ending):
            return path[: -len(ending)]
    return path
