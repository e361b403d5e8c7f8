"""Old paths of names, which still work for one release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def moved(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` for names that stand elsewhere; `homes` says where."""

    def __getattr__(name: str) -> Any:  # noqa: N807 -- it becomes one
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(
            f"{module}.{name} is now {homes[name]}.{name}. The old path goes with the next "
            "release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(homes[name]), name)

    return __getattr__
