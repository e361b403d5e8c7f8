"""Learned similarity: train any method on pairs, compare honestly, draw one map.

The names below are loaded when they are first asked for, so that importing
simviz itself costs nothing.
"""

import os

import lazy_loader as lazy

# OpenBLAS lets its threads spin after each product, which starves the compiled kernels that
# follow; it reads this when numpy is first imported, so simviz has to come before numpy.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

_lazy, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("simviz")
    return _lazy(name)
