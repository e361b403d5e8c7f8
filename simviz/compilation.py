"""Whether the kernels are compiled on this machine, and a process that compiles them.

numba keeps what it compiles on disk, by processor. ``python -m simviz.precompile`` fills that
cache and leaves a stamp behind; here is what asks for the stamp, and what waits for it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

__all__ = ["folder", "is_done", "progress", "start", "wait"]

#: What is compiled first, for all methods: how a job evaluates.
FIRST = "evaluation"
_ROOT = Path(__file__).parent
#: Whoever waits asks so often, in seconds, whether it is to stop.
_POLL_SECONDS = 0.2


def folder() -> Path:
    """Where the stamp lies, and the run that Home shows: a folder beside numba's cache."""
    return _cache() / f"simviz-{digest()}"


def is_done() -> bool:
    """Whether ``python -m simviz.precompile`` has run to its end, for this processor."""
    return (folder() / "done").exists()


def _cache() -> Path:
    """Where numba keeps what it compiles."""
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(folder)
    beside = _ROOT / "__pycache__"
    if os.access(beside if beside.exists() else _ROOT, os.W_OK):
        return beside
    from numba.misc.appdirs import AppDirs

    return Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)


@cache
def digest() -> str:
    """Of all that numba's cache depends on: versions, kernels, processor."""
    h = hashlib.blake2b(digest_size=8)
    packages = ("simviz", "numba", "umap-learn", "numpy")
    h.update(repr([sys.version, *map(version, packages), *_processor()]).encode())
    for path in sorted(_ROOT.rglob("*.py")):
        source = path.read_bytes()
        if b"\n@njit(" in source or path.name == "precompile.py":
            h.update(source)
    return h.hexdigest()


def _processor() -> list[str]:
    features = [platform.machine(), platform.processor(), os.environ.get("NUMBA_CPU_NAME", "")]
    features.append(os.environ.get("NUMBA_CPU_FEATURES", ""))
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return features
    fields = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    return features + [line for line in first.splitlines() if line.startswith(fields)]


class _Child:
    """The process that compiles for this one, and what it has told."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.compiled: set[str] = set()
        self.done, self.n, self.is_running = 0, 0, True
        self._process = subprocess.Popen(
            [sys.executable, "-m", "simviz.precompile", "--child"],
            cwd=_ROOT.parent,
            stdin=subprocess.PIPE,  # closed by the system when this process ends, however it does
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, name="simviz-compiling", daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # such as "14 cplsa jplsa plsa"
            n, *names = line.split()
            with self.changed:
                self.done, self.n = self.done + 1, int(n)
                self.compiled.update(names)
                self.changed.notify_all()
        self._process.wait()
        with self.changed:
            self.is_running = False
            self.changed.notify_all()


_child: _Child | None = None


def start() -> None:
    """Have a process of low priority compile what is not compiled, once a process."""
    global _child
    if _child is None and not is_done():
        _child = _Child()


def progress() -> str | None:
    """What to tell who waits for the process that `start` began; None if nothing is compiled."""
    if _child is None or not _child.is_running:
        return None
    with _child.changed:
        n = f", {_child.done} of {_child.n}" if _child.n else ""
    return f"compiling, once on this machine{n}"


def wait(name: str, is_stopped: Callable[[], bool]) -> None:
    """Wait until the process that `start` began has compiled something, or has ended.

    The name is that of a method, or of a way to draw a map; what that process does not know is
    waited for to its end. A true answer of `is_stopped` ends the waiting.
    """
    if (child := _child) is None:
        return
    with child.changed:
        while child.is_running and not {name, FIRST} <= child.compiled and not is_stopped():
            child.changed.wait(_POLL_SECONDS)
