"""Data larger than memory: folders of Parquet, shards on disk, and fits that stream over them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.shards.csr import SparseShards
    from simviz.shards.embedding import embed, write_vectors
    from simviz.shards.fit import fit_s2net
    from simviz.shards.folder import TextFolder
    from simviz.shards.index import ApproximateIndex
    from simviz.shards.judgments import read_pairs
    from simviz.shards.pairs import PairRows
    from simviz.shards.search import Neighbors, exact_search
    from simviz.shards.vectors import VectorShards
    from simviz.shards.vocabulary import fit_vocabulary
    from simviz.shards.writing import write_features

_HOMES = {
    "ApproximateIndex": "index",
    "Neighbors": "search",
    "PairRows": "pairs",
    "SparseShards": "csr",
    "TextFolder": "folder",
    "VectorShards": "vectors",
    "embed": "embedding",
    "exact_search": "search",
    "fit_s2net": "fit",
    "fit_vocabulary": "vocabulary",
    "read_pairs": "judgments",
    "write_features": "writing",
    "write_vectors": "embedding",
}

__all__ = [
    "ApproximateIndex",
    "Neighbors",
    "PairRows",
    "SparseShards",
    "TextFolder",
    "VectorShards",
    "embed",
    "exact_search",
    "fit_s2net",
    "fit_vocabulary",
    "read_pairs",
    "write_features",
    "write_vectors",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
