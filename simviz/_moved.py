"""Old paths of modules, whose names still answer for one release."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any

#: Old module to those that hold its names now.
HOMES = {
    "simviz.attribution": ("simviz.explain.terms",),
    "simviz.checks": ("simviz.base.checks",),
    "simviz.cluster": ("simviz.jobs.dask", "simviz.scale.gradients"),
    "simviz.data.columns": ("simviz.data.roles",),
    "simviz.data.items": ("simviz.data.pairs",),
    "simviz.data.limits": ("simviz.data.sources",),
    "simviz.occlusion": ("simviz.explain.terms",),
    "simviz.shards": ("simviz.scale",),
}


class OldPaths:
    """Finds and loads old modules, which are no files any more; for ``sys.meta_path``."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the specification of an old module, None for any other."""
        return ModuleSpec(fullname, self) if fullname in HOMES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look its names up where they are now."""

        def __getattr__(name: str) -> Any:  # noqa: N807 -- it becomes one
            old = module.__name__
            homes = () if name.startswith("_") else map(import_module, HOMES[old])
            home = next((home for home in homes if hasattr(home, name)), None)
            if home is None:
                raise AttributeError(f"module {old!r} has no attribute {name!r}")
            warnings.warn(
                f"{old}.{name} is now {home.__name__}.{name}. The old path goes with the next "
                "release.",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(home, name)

        module.__getattr__ = __getattr__  # type: ignore[method-assign]

    def get_code(self, fullname: str) -> CodeType | None:
        """Return what ``python -m`` runs: only of ``simviz.cluster`` there was a command."""
        spec = find_spec("simviz.jobs.local_cluster")
        if fullname != "simviz.cluster" or spec is None:
            return None
        code: CodeType | None = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
        return code
