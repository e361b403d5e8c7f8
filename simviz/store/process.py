"""Which process wrote something, and whether it still lives."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


@cache
def _own(pid: int) -> str:
    return f"{pid}-{_start_time(pid)}-{_boot_id()}"


def own_process() -> str:
    """A name for this process that no later process repeats.

    Returns
    -------
    str
        Process id, start time and a part of the id of this boot, since process
        ids are used again.
    """
    return _own(os.getpid())


def is_alive(process: str) -> bool:
    """Whether the process that `own_process` described is still running.

    Parameters
    ----------
    process : str
        Its description; anything else is a process that is gone.

    Returns
    -------
    bool
        False after its end, whoever has its number by now.
    """
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
