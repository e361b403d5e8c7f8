"""Memory that jobs may take: of the machine, of its container, and of what the operator gives."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simviz.exceptions import JobError

# What jobs leave to pages: a share of all, and no more than so many bytes.
_RESERVED_SHARE, MAX_RESERVED = 0.05, 2**28
#: Seconds that the memory of what is stopped has to come back; a step takes one at most.
PATIENCE = 2.0
MACHINE = Path("/proc/meminfo")
GROUPS, GROUP_FILES = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
#: Files of a control group: its limit, what it takes, and what of that could be given up.
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")

_lock = threading.Lock()
#: What works in this process, in the order of their beginning.
_running_keys: list[Hashable] = []
#: When memory was first seen to be short; None while it is not.
_short_since: float | None = None
_limit = math.inf


def set_limit(n_bytes: float) -> None:
    """Let this process take no more than so many bytes, as far as jobs can help it."""
    global _limit
    _limit = n_bytes


def taken_bytes() -> int:
    """What this process has in memory; 0 where nobody tells."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def free_bytes() -> float:
    """What jobs may still take; below 0 where they took too much, infinity where nobody tells."""
    known = [*_of_machine(), *_of_container()]
    if _limit < math.inf:
        known.append((_limit, _limit - taken_bytes()))
    left = (free - min(_RESERVED_SHARE * total, MAX_RESERVED) for total, free in known)
    return min(left, default=math.inf)


def return_freed() -> None:
    """Return to the system what the C library keeps of memory that was freed."""
    # Arrays of a few megabytes leave a tenth of what a large table took with the process.
    with suppress(OSError, AttributeError, TypeError):  # other systems, other libraries
        ctypes.CDLL(None).malloc_trim(0)


def _of_machine() -> Iterator[tuple[float, float]]:
    """All memory and what is free of it."""
    with suppress(OSError, ValueError, KeyError):
        lines = (line.split() for line in MACHINE.read_text().splitlines())
        fields = {words[0]: 1024 * int(words[1]) for words in lines}
        yield fields["MemTotal:"], fields["MemAvailable:"]


def _of_container() -> Iterator[tuple[float, float]]:
    """The same of each control group that this process is in; /proc/meminfo knows of none."""
    try:
        groups = [line.split(":", 2) for line in GROUPS.read_text().splitlines()]
    except OSError:
        return
    for _, controllers, path in groups:
        root, names = GROUP_FILES, _V2
        if controllers:
            root, names = root / "memory", _V1
            if "memory" not in controllers.split(","):
                continue
        # A container often sees its own group as the root, under the path that the host knows.
        inner = root / path.lstrip("/")
        for folder in [inner, *inner.parents]:
            if not folder.is_relative_to(root):
                break
            with suppress(OSError, ValueError):  # "max": no limit
                limit, taken = (int((folder / name).read_text()) for name in names[:2])
                stat = (folder / "memory.stat").read_text().split()
                cached = dict(zip(stat[::2], stat[1::2], strict=False)).get(names[2], "0")
                yield limit, limit - taken + int(cached)


@contextmanager
def limit_memory(key: Hashable) -> Iterator[Callable[[], None]]:
    """Give what a piece of work calls at each step: it raises JobError where memory runs short."""
    # Nobody knows which thread of a process took its memory. What began last is stopped first,
    # what began before it only if that did not help, or the last takes no step.
    with _lock:
        _running_keys.append(key)

    def require() -> None:
        global _short_since
        free, now = free_bytes(), time.monotonic()
        with _lock:
            if free >= 0:
                _short_since = None
                return
            _short_since = now if _short_since is None else _short_since
            n_later = len(_running_keys) - 1 - _running_keys.index(key)
            if now - _short_since < PATIENCE * n_later:
                return
        raise JobError(
            f"This was stopped, for it takes more memory than there is: the process has "
            f"{taken_bytes() / 1e9:.1f} GB, {-free / 1e9:.1f} GB more than it may. Take a sample "
            "of the data or fewer components, or repeat it when no other job runs."
        )

    global _short_since
    try:
        yield require
    except (JobError, MemoryError) as error:
        traceback.clear_frames(error.__traceback__)  # what they hold would outlive its turn
        return_freed()
        raise
    finally:
        with _lock:
            _running_keys.remove(key)
            _short_since = None
