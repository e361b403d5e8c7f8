"""Pairs: reading, writing, splitting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.data.asking import default_direction, who_asks
    from simviz.data.collection.reader import read_collection
    from simviz.data.description import describe
    from simviz.data.folding import folds, repeated_splits
    from simviz.data.frames import from_frame, table_from_frame
    from simviz.data.health import check_health
    from simviz.data.images import read_images
    from simviz.data.items import Items
    from simviz.data.limits import ReadingLimits, get_limits, reading_limits
    from simviz.data.pairs import PairSet
    from simviz.data.readers import read_pairs, to_pairs
    from simviz.data.result import LeftOut, ReadResult
    from simviz.data.roles import Roles, guess_roles
    from simviz.data.splitting import Split, split
    from simviz.data.tables import Table, read_table
    from simviz.data.writers import dump_pairs, write_pairs

# No module bears the name of what it exports: importing a submodule binds its
# name on the package and would hide the function.
_WHERE = {
    "Items": "items",
    "LeftOut": "result",
    "PairSet": "pairs",
    "ReadResult": "result",
    "ReadingLimits": "limits",
    "Roles": "roles",
    "Split": "splitting",
    "Table": "tables",
    "check_health": "health",
    "default_direction": "asking",
    "describe": "description",
    "dump_pairs": "writers",
    "folds": "folding",
    "from_frame": "frames",
    "get_limits": "limits",
    "guess_roles": "roles",
    "read_collection": "collection.reader",
    "read_images": "images",
    "read_pairs": "readers",
    "read_table": "tables",
    "reading_limits": "limits",
    "repeated_splits": "folding",
    "split": "splitting",
    "table_from_frame": "frames",
    "to_pairs": "readers",
    "who_asks": "asking",
    "write_pairs": "writers",
}

__all__ = [
    "Items",
    "LeftOut",
    "PairSet",
    "ReadResult",
    "ReadingLimits",
    "Roles",
    "Split",
    "Table",
    "check_health",
    "default_direction",
    "describe",
    "dump_pairs",
    "folds",
    "from_frame",
    "get_limits",
    "guess_roles",
    "read_collection",
    "read_images",
    "read_pairs",
    "read_table",
    "reading_limits",
    "repeated_splits",
    "split",
    "table_from_frame",
    "to_pairs",
    "who_asks",
    "write_pairs",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"simviz.data.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
