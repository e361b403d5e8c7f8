"""What is asked of faiss: lists, graphs, and reading them from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.base import unit_rows
from simviz.shards.vectors import VectorShards

Reals = NDArray[np.float32]
Tell = Callable[[int, int], object] | None

_ROWS = 2**15  # added at a time
#: Vectors a list from which the middles of lists are learned, and rounds of it.
_LEARNED, _ITERATIONS = 40, 10
CODES = {"float16": "QT_fp16", "int8": "QT_8bit"}
TYPES = {"lists": "IndexIVFScalarQuantizer", "graph": "IndexHNSWSQ"}


def library() -> Any:
    """faiss, of an extra.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            'An approximate index needs faiss: pip install "simviz[search]". '
            "Without it, exact_search looks at every item."
        ) from error
    return faiss


def lists(vectors: VectorShards, storage: str, n_lists: int, tell: Tell) -> Any:
    """Items in lists of those that point in about the same direction."""
    faiss = library()
    width, metric = vectors.n_components, faiss.METRIC_INNER_PRODUCT
    middles = faiss.IndexFlatIP(width)
    code = getattr(faiss.ScalarQuantizer, CODES[storage])
    index = faiss.IndexIVFScalarQuantizer(middles, width, n_lists, code, metric, False)
    index.cp.niter, index.cp.spherical = _ITERATIONS, True
    index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, _LEARNED
    learned = unit_rows(_sample(vectors, max(_LEARNED * n_lists, 2**14)))
    index.train(learned)
    if vectors.similarity == "dot":  # the range of numbers is another one
        index.sq.train(_sample(vectors, 2**16))
    for start, block in _blocks(vectors):
        _, nearest = middles.search(unit_rows(block), 1)
        chosen, numbers = nearest.ravel(), np.arange(start, start + len(block), dtype=np.int64)
        index.add_core(len(block), *map(faiss.swig_ptr, (block, numbers, chosen)))
        if tell is not None:
            tell(start + len(block), vectors.n_items)
    index.own_fields = False
    index.referenced_objects = [middles]
    return index


def graph(
    vectors: VectorShards, storage: str, connectivity: int, ef: int, directed: bool, tell: Tell
) -> Any:
    """A graph of neighbours; by directions only, where asked for."""
    faiss = library()
    directed = directed and vectors.similarity == "dot"
    made: Callable[[Reals], Reals] = unit_rows if directed else np.asarray
    width, code = vectors.n_components, getattr(faiss.ScalarQuantizer, CODES[storage])
    index = faiss.IndexHNSWSQ(width, code, connectivity, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = ef
    index.train(made(_sample(vectors, 2**16)))
    for start, block in _blocks(vectors):
        index.add(made(block))
        if tell is not None:
            tell(start + len(block), vectors.n_items)
    if directed:  # the graph stays, and its vectors get back their lengths
        index.storage.reset()
        index.storage.train(_sample(vectors, 2**16))
        for _, block in _blocks(vectors):
            index.storage.add(block)
    return index


def read(path: Path) -> Any:
    """An index mapped into memory; no array may claim more than the file has bytes."""
    faiss = library()
    with _at_most(faiss, path.stat().st_size):
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)


def _blocks(vectors: VectorShards) -> Iterator[tuple[int, Reals]]:
    """Position of the first, and vectors, some at a time."""
    for i in range(len(vectors)):
        shard = vectors[i]
        for row in range(0, len(shard), _ROWS):
            yield int(vectors.starts[i]) + row, _scaled(shard[row : row + _ROWS], vectors)


def _sample(vectors: VectorShards, n: int) -> Reals:
    """Some vectors from everywhere."""
    n = min(vectors.n_items, n)
    picked = np.unique(np.linspace(0, vectors.n_items - 1, n).astype(np.int64))
    return _scaled(vectors.take(picked), vectors)


def _scaled(block: NDArray[np.floating[Any]], vectors: VectorShards) -> Reals:
    """Divided by the greatest length, which changes no order: float16 holds all of them."""
    block = np.asarray(block, dtype=np.float32)
    return np.ascontiguousarray(block * np.float32(1 / (vectors.longest or 1)))


@contextmanager
def _at_most(faiss: Any, n_bytes: int) -> Iterator[None]:
    before = faiss.get_deserialization_vector_byte_limit()
    faiss.set_deserialization_vector_byte_limit(max(n_bytes, 1))
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(before)
