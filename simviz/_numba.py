"""Compiled kernels: one place decides how numba runs them."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import numba
from numba import prange
from numba.core import event as event_of_numba
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener

__all__ = ["n_threads", "njit", "prange", "threads_for"]

#: Loops of fewer steps stay on one thread.
SHORT = 2**20

_log = logging.getLogger(__name__)

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Jobs run in threads of one process. With the default choice numba may fall
# back to its "workqueue" layer, which kills the process when two threads enter
# parallel kernels at once. The choice only counts before the first of them runs.
numba.config.THREADING_LAYER = "threadsafe"


def _load_threadsafe_layer() -> bool:
    """Load TBB or OpenMP; False where neither is there."""
    # GNU OpenMP reads once, when it is loaded, how threads wait for one another.
    # Spinning, its default, starves kernels whenever others use the cores: a
    # dimension curve beside a busy process took 19 s, and 6 s with patience.
    policy = os.environ.get("OMP_WAIT_POLICY")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        return any(map(_can_import, ("numba.np.ufunc.tbbpool", "numba.np.ufunc.omppool")))
    finally:
        if policy is None:
            del os.environ["OMP_WAIT_POLICY"]


def _can_import(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


#: Without a thread-safe layer kernels run on one core: slower, never wrong.
PARALLEL = _load_threadsafe_layer()


class _Notice(Listener):
    """Says once that a kernel of ours is being compiled: what else is slow then is not."""

    _is_logged = False

    def on_start(self, event: Event) -> None:
        is_simviz = event.data["dispatcher"].py_func.__module__.startswith("simviz.")
        if is_simviz and not self._is_logged:
            self._is_logged = True
            _log.warning(
                "Compiling, once on this machine. `python -m simviz.precompile` compiles all."
            )

    def on_end(self, event: Event) -> None:
        """Nothing more to say."""


event_of_numba.register("numba:compile", _Notice())


def njit(
    *, parallel: bool = False, fastmath: frozenset[str] = frozenset()
) -> Callable[[Kernel], Kernel]:
    """Compile a function without the interpreter, keeping the machine code on disk."""
    compiled = numba.njit(nogil=True, parallel=parallel and PARALLEL, fastmath=set(fastmath))

    def compile_cached(function: Kernel) -> Kernel:
        kernel = compiled(function)
        # Where nothing can be written, each process compiles for itself.
        with suppress(RuntimeError):
            kernel._cache = _Cache(function)
        return cast("Kernel", kernel)

    return compile_cached


class _Cache(FunctionCache):
    """Machine code on disk, as far as there is room for it."""

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


def n_threads() -> int:
    """Threads that a parallel kernel started from here uses."""
    return int(numba.get_num_threads()) if PARALLEL else 1


@contextmanager
def threads_for(n_steps: int) -> Iterator[None]:
    """Keep a parallel kernel on one thread where it has little to do."""
    # Waiting for a second thread costs milliseconds when other processes use the cores; a
    # million steps cost less.
    before = numba.get_num_threads()
    numba.set_num_threads(before if n_steps > SHORT else 1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
