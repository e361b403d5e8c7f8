"""Finding the classes of a package: one module, one class, no list to keep."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def find_classes(package: ModuleType, base: type[T]) -> dict[str, type[T]]:
    """Import every public module of a package and return the class each defines, by module name.

    A module that does not define exactly one subclass of `base` raises ImportError.
    """
    by_module: dict[str, type[T]] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda i: i.name):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        classes = [
            c
            for name, c in vars(module).items()
            if isinstance(c, type)
            and issubclass(c, base)
            and c.__module__ == module.__name__
            and not name.startswith("_")
        ]
        if len(classes) != 1:
            raise ImportError(
                f"{module.__name__} must define exactly one public {base.__name__}, "
                f"found {[c.__name__ for c in classes]}. One module, one class."
            )
        by_module[info.name] = classes[0]
    return by_module


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return the error message for an unknown name, with the nearest known one.

    Examples
    --------
    >>> unknown_name("method", "cc", ["cca", "lsa"])
    "There is no method 'cc'. Did you mean 'cca'? Known: cca, lsa."
    """
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"There is no {what} {name!r}.{hint} Known: {', '.join(known) or 'none'}."
