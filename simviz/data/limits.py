"""What limits a file, an upload too; and how far the reading of one is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace

from simviz.exceptions import DatasetError

_PREFIX = "SIMVIZ_MAX_"
_CURRENT: ContextVar[ReadingLimits | None] = ContextVar("simviz_reading_limits", default=None)
_WATCH: ContextVar[Callable[[float], None] | None] = ContextVar("simviz_watch", default=None)


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The most that a file may hold before it is refused with a sentence.

    Each can be set for a whole server by an environment variable of its name, such as
    ``SIMVIZ_MAX_FILE_BYTES=50000000``, and for some lines of Python by `reading_limits`.

    Parameters
    ----------
    file_bytes : int, default=200 MiB
        Bytes of one file, before and after unpacking.
    unpacked_bytes : int, default=1 GiB
        Bytes of all files of an archive or folder, and of one matrix.
    files : int, default=20,000
        Files in an archive or folder.
    ratio : int, default=200
        How much more a packed file may hold than it takes; bombs hold more.
    rows : int, default=5,000,000
        Rows of a table.
    columns : int, default=1,000
        Columns of a table.
    cells : int, default=20,000,000
        Rows times columns: a short line of a wide file still costs a row.
    cell_characters : int, default=5,000,000
        Characters of one cell.
    pairs : int, default=20,000,000
        Pairs that are made from groups or from a dense table of scores.
    depth : int, default=40
        Levels of lists and objects in JSON.
    images : int, default=20,000
        Images of one data set.
    pixels : int, default=25,000,000
        Pixels of one image, before it is made small.
    total_pixels : int, default=1,000,000,000
        Pixels of all images of a data set, likewise.
    seconds : int, default=120
        Time that the app gives to one upload; Python waits for as long as it takes.

    Examples
    --------
    >>> ReadingLimits().columns
    1000
    """

    file_bytes: int = 200 * 2**20
    unpacked_bytes: int = 2**30
    files: int = 20_000
    ratio: int = 200
    rows: int = 5_000_000
    columns: int = 1_000
    cells: int = 20_000_000
    cell_characters: int = 5_000_000
    pairs: int = 20_000_000
    depth: int = 40
    images: int = 20_000
    pixels: int = 25_000_000
    total_pixels: int = 1_000_000_000
    seconds: int = 120


def get_limits() -> ReadingLimits:
    """The limits that hold now.

    Returns
    -------
    ReadingLimits
        Of `reading_limits` around this, else of the environment.

    Raises
    ------
    DatasetError
        If a variable holds no whole number above 0.
    """
    if current := _CURRENT.get():
        return current
    limits: dict[str, int] = {}
    for field in fields(ReadingLimits):
        variable = _PREFIX + field.name.upper()
        value = os.environ.get(variable, "").strip()
        if value:
            if not value.isdecimal() or int(value) < 1:
                raise DatasetError(
                    f"The environment variable {variable} is {value[:40]!r}; "
                    "write a whole number above 0."
                )
            limits[field.name] = int(value)
    return ReadingLimits(**limits)


@contextmanager
def reading_limits(**changes: int) -> Iterator[ReadingLimits]:
    r"""Read with other limits for some lines.

    Parameters
    ----------
    **changes : int
        Parameters of `ReadingLimits`.

    Yields
    ------
    ReadingLimits
        Those that hold inside.

    Examples
    --------
    >>> from simviz.data import read_pairs
    >>> with reading_limits(rows=1):
    ...     read_pairs(b"x,y\na,b\nc,d\n", "q.csv")
    Traceback (most recent call last):
    ...
    simviz.exceptions.DatasetError: q.csv has 2 rows; the limit is 1. Bring a sample.
    """
    token = _CURRENT.set(replace(get_limits(), **changes))
    try:
        yield get_limits()
    finally:
        _CURRENT.reset(token)


@contextmanager
def progress_listener(watch: Callable[[float], None]) -> Iterator[None]:
    """Tell while something is read in this thread how far it is; what `watch` raises ends it."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def report_progress(fraction: float) -> None:
    """Tell whoever watches what share of the reading is done, about."""
    if watch := _WATCH.get():
        watch(fraction)


def refuse_wide(name: str, n_columns: int, n_rows: int) -> None:
    """Refuse a table of too many columns or cells."""
    limits = get_limits()
    if n_columns > limits.columns:
        raise DatasetError(
            f"{name} has {n_columns:,} columns; the limit is {limits.columns:,}. "
            "Keep the columns with the pairs and remove the others."
        )
    if n_columns * n_rows > limits.cells:
        raise DatasetError(
            f"{name} has {n_rows:,} rows of {n_columns:,} columns; the limit is "
            f"{limits.cells:,} cells. Bring a sample, or fewer columns."
        )
