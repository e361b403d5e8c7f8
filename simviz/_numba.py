"""Compiled kernels: one place decides how numba runs them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import prange

__all__ = ["njit", "prange"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Jobs run in threads of one process. With the default choice numba may fall
# back to its "workqueue" layer, which kills the process when two threads enter
# parallel kernels at once. The choice only counts before the first of them runs.
numba.config.THREADING_LAYER = "threadsafe"


def _has_threadsafe_layer() -> bool:
    """Whether OpenMP or TBB can be loaded on this machine."""
    for name in ("tbbpool", "omppool"):
        try:
            importlib.import_module(f"numba.np.ufunc.{name}")
        except ImportError:
            continue
        return True
    return False


#: Without a thread-safe layer kernels run on one core: slower, never wrong.
PARALLEL = _has_threadsafe_layer()


def njit(*, parallel: bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a function without the interpreter, keeping the machine code on disk.

    Parameters
    ----------
    parallel : bool, default=False
        Spread ``prange`` loops over the cores.

    Returns
    -------
    callable
        A decorator.
    """
    return numba.njit(cache=True, nogil=True, parallel=parallel and PARALLEL)
