"""Learned similarity: train any method on pairs, compare honestly, draw one map.

The names below are loaded when they are first asked for, so that importing
simviz itself costs nothing.
"""

import os
import sys

import lazy_loader as lazy

from simviz._moved import OldPaths

# OpenBLAS lets its threads spin after each product, which starves the compiled kernels that
# follow; it reads this when numpy is first imported, so simviz has to come before numpy.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

# In front, since an update may leave an old package behind as an empty folder.
sys.meta_path.insert(0, OldPaths())

_lazy, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("simviz")
    return _lazy(name)
