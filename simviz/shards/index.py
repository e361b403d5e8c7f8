"""The nearest items among many, found by walking through a graph of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.base import unit_rows
from simviz.evaluation.intervals import confidence_interval
from simviz.exceptions import StoreError
from simviz.shards._files import new_folder, read_meta, write_meta
from simviz.shards.search import Neighbors, as_queries, best, exact_search, rescored
from simviz.shards.vectors import VectorShards

Storage = Literal["float16", "int8"]
Neighborhood = Literal["cosine", "inner_product"]

FORMAT = "simviz-index-1"
_FILE = "graph.faiss"
_ROWS = 2**15  # added at a time
#: Candidates that are looked at once more by their stored vectors, a wanted item.
_RESCORED = 4
_CODES = {"float16": "QT_fp16", "int8": "QT_8bit"}


@dataclass(frozen=True, slots=True, eq=False)
class Recall:
    """How much of what an exact search finds an index finds.

    Parameters
    ----------
    per_query : ndarray of float64, shape (n_queries,)
        Share of the k places taken by an item that is as good as the k-th
        best or better.
    mean : float
        Over all queries.
    interval : tuple of float
        Ends of the 95 % interval of the mean, by resampling queries.
    """

    per_query: NDArray[np.float64]
    mean: float
    interval: tuple[float, float]


class ApproximateIndex:
    """A graph of neighbours (HNSW) over vectors on disk, by faiss.

    Made by `build`, opened by `open`. A search walks through the graph, whose
    vectors are rounded, and compares what it meets last with the vectors
    themselves: scores are those of `exact_search`, only that some of the best
    items may be missed.

    Parameters
    ----------
    folder : Path
        Where the graph lies.
    vectors : VectorShards
        The items.
    graph : faiss.IndexHNSW
        Read from the folder.
    meta : dict
        What was noted beside it.

    Attributes
    ----------
    vectors : VectorShards
        The items.
    connectivity, ef_construction : int
        M and efConstruction, as it was built.
    storage : {"float16", "int8"}
        What the numbers in the graph are rounded to.
    neighbors : {"cosine", "inner_product"}
        Who is whose neighbour.

    Notes
    -----
    Where lengths differ, who is whose neighbour is an open question: by
    inner product [2]_ a few long vectors are everybody's neighbours. Here
    neighbours are those of the greatest cosine, and only the walk goes by
    inner products. That found most in vectors of learned models; in ones whose
    lengths have nothing to do with their direction, neighbours by inner
    product found more, and can be asked for. A further column that makes all
    vectors equally long [3]_ was between the two or far behind
    (benchmarks/README.md).

    The file is read by faiss, which checks that neighbours and sizes lie
    inside; files that were damaged at random were all refused or harmless.
    It was not made for files of strangers nevertheless: open only what you
    built or whose source you trust.

    References
    ----------
    .. [1] Malkov & Yashunin (2020), Efficient and robust approximate nearest
       neighbor search using hierarchical navigable small world graphs. IEEE
       TPAMI 42(4).
    .. [2] Morozov & Babenko (2018), Non-metric similarity graphs for maximum
       inner product search. NeurIPS.
    .. [3] Bachrach, Finkelstein, Gilad-Bachrach, Katzir, Koenigstein, Nice &
       Paquet (2014), Speeding up the Xbox recommender system using a
       Euclidean transformation for inner-product spaces. RecSys.
    .. [4] Douze et al. (2024), The Faiss library. arXiv:2401.08281.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.methods import get_method
    >>> from simviz.shards import embed, write_vectors
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.random((300, 20)), rng.random((300, 20))
    >>> model = get_method("cca")(8).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     vectors = write_vectors(model, [Y], f"{home}/vectors", "y")
    ...     index = ApproximateIndex.build(vectors, f"{home}/index")
    ...     index.search(embed(model, X, "x"), k=5).positions.shape
    (300, 5)
    """

    def __init__(
        self, folder: Path, vectors: VectorShards, graph: Any, meta: dict[str, Any]
    ) -> None:
        self.folder, self.vectors, self._graph = folder, vectors, graph
        self.connectivity = int(meta["connectivity"])
        self.ef_construction = int(meta["ef_construction"])
        self.storage, self.neighbors = str(meta["storage"]), str(meta["neighbors"])

    @classmethod
    def build(
        cls,
        vectors: VectorShards,
        folder: str | Path,
        *,
        connectivity: int = 16,
        ef_construction: int = 128,
        storage: Storage = "float16",
        neighbors: Neighborhood = "cosine",
        n_threads: int | None = 1,
        callback: Callable[[int, int], object] | None = None,
    ) -> ApproximateIndex:
        """Build the graph and store it beside a note of what it belongs to.

        Parameters
        ----------
        vectors : VectorShards
            The items.
        folder : str or Path
            A new or empty directory.
        connectivity : int, default=16
            Neighbours (M) of an item on the upper levels; there are twice as
            many on the lowest. More find more and take more memory.
        ef_construction : int, default=128
            Candidates that are kept while the neighbours of a new item are
            sought. More give a better graph, and take longer to build.
        storage : {"float16", "int8"}, default="float16"
            What the numbers in the graph are rounded to.
        neighbors : {"cosine", "inner_product"}, default="cosine"
            Who is whose neighbour in the graph; it makes no difference where
            all vectors have one length. See Notes.
        n_threads : int or None, default=1
            Threads that build. With one the same vectors give the same graph;
            None takes as many as OpenMP offers.
        callback : callable, optional
            Told the number of items in the graph and of all.

        Returns
        -------
        ApproximateIndex
            Opened from the folder.

        Raises
        ------
        ValueError
            If there are no items, or a parameter is out of range.
        StoreError
            If the folder holds an index or shards already.
        ImportError
            If faiss is not installed.
        """
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        faiss = _faiss()
        known = storage in _CODES and neighbors in ("cosine", "inner_product")
        if not (2 <= connectivity <= 512 and ef_construction >= 1 and known):
            raise ValueError(
                f"connectivity lies in 2..512, ef_construction is at least 1, storage one of "
                f"{', '.join(_CODES)}, neighbors cosine or inner_product; got {connectivity}, "
                f"{ef_construction}, {storage!r}, {neighbors!r}."
            )
        if not vectors.n_items:
            raise ValueError("There are no items to build an index of.")
        folder = new_folder(folder)
        directed = neighbors == "cosine" and vectors.similarity == "dot"
        width, code = vectors.n_components, getattr(faiss.ScalarQuantizer, _CODES[storage])
        graph = faiss.IndexHNSWSQ(width, code, connectivity, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = ef_construction
        with threadpool_limits(limits=n_threads, user_api="openmp"):  # faiss builds with it
            graph.train(_sample(vectors, directed))
            for block in _blocks(vectors, directed):
                graph.add(block)
                if callback is not None:
                    callback(int(graph.ntotal), vectors.n_items)
            if directed:  # the graph stays, and its vectors get back their lengths
                graph.storage.reset()
                graph.storage.train(_sample(vectors, False))
                for block in _blocks(vectors, False):
                    graph.storage.add(block)
        draft = folder / f".{_FILE}"
        faiss.write_index(graph, str(draft))
        draft.replace(folder / _FILE)
        meta = {
            "format": FORMAT,
            "library": f"faiss {faiss.__version__}",
            "connectivity": connectivity,
            "ef_construction": ef_construction,
            "storage": storage,
            "neighbors": neighbors,
            "vectors": vectors.digest,
        }
        write_meta(folder, meta)
        return cls.open(folder, vectors)

    @classmethod
    def open(cls, folder: str | Path, vectors: VectorShards) -> ApproximateIndex:
        """Open what `build` stored; the file is mapped into memory, not copied.

        Parameters
        ----------
        folder : str or Path
            Of the index.
        vectors : VectorShards
            Those it was built of.

        Returns
        -------
        ApproximateIndex
            Ready to search.

        Raises
        ------
        StoreError
            If the folder is not complete, the file is damaged, or the index
            was built of other vectors.
        ImportError
            If faiss is not installed.
        """
        faiss = _faiss()
        folder = Path(folder)
        meta = read_meta(folder, FORMAT)
        if meta.get("vectors") != vectors.digest:
            raise StoreError(
                f"The index in {folder} was not built of the vectors in {vectors.folder}. "
                "Build it again."
            )
        try:
            size = (folder / _FILE).stat().st_size
            with _at_most(faiss, size):
                graph = faiss.read_index(str(folder / _FILE), faiss.IO_FLAG_MMAP_IFC)
            index = cls(folder, vectors, graph, meta)
        except (OSError, RuntimeError, MemoryError, KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"The index in {folder} cannot be read ({str(error)[-200:]}). Build it again."
            ) from error
        found = (type(graph).__name__, graph.ntotal, graph.d, graph.metric_type)
        wanted = ("IndexHNSWSQ", vectors.n_items, vectors.n_components, faiss.METRIC_INNER_PRODUCT)
        if found != wanted:
            raise StoreError(
                f"The index in {folder} is {found}, expected {wanted}. Build it again."
            )
        return index

    def search(self, queries: ArrayLike, k: int = 10, *, ef_search: int = 64) -> Neighbors:
        """Some k items that are hardly worse than the nearest ones.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_components)
            As for `simviz.shards.exact_search`.
        k : int, default=10
            Items wanted.
        ef_search : int, default=64
            Candidates (ef) that are kept on the walk, at least k. More find
            more and take longer.

        Returns
        -------
        Neighbors
            With min(k, n_items) columns; scores are those of `exact_search`.

        Raises
        ------
        ValueError
            If queries are not finite or of another width, or k or `ef_search`
            is below 1.
        """
        Q = as_queries(self.vectors, queries, k)
        if ef_search < 1:
            raise ValueError(f"ef_search must be at least 1, got {ef_search}.")
        faiss = _faiss()
        k = min(k, self.vectors.n_items)
        n_seen = min(max(k, min(ef_search, _RESCORED * k)), self.vectors.n_items)
        how = faiss.SearchParametersHNSW(efSearch=max(ef_search, n_seen))
        _, positions = self._graph.search(Q, n_seen, params=how)
        query, place = np.nonzero(positions >= 0)
        met = positions[query, place]
        scores = rescored(Q, query, np.arange(len(met)), self.vectors.take(met))
        return best(query, met, scores, len(Q), k)

    def recall(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        ef_search: int = 64,
        exact: Neighbors | None = None,
    ) -> Recall:
        """Share of the k best items that a search finds.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_components)
            As for `search`; ones that were not built into the graph.
        k : int, default=10
            Items wanted.
        ef_search : int, default=64
            As for `search`.
        exact : Neighbors, optional
            What `simviz.shards.exact_search` finds for these queries, with at
            least k columns, where it is known already.

        Returns
        -------
        Recall
            Mean and interval over queries. Items that tie with the k-th count
            as found, whichever of them it is.

        Raises
        ------
        ValueError
            As from `search`.
        """
        truth = exact_search(self.vectors, queries, k) if exact is None else exact
        found = self.search(queries, k, ef_search=ef_search)
        last = truth.scores[:, found.scores.shape[1] - 1, None]
        shares = (found.scores >= last).mean(axis=1)
        return Recall(shares, float(shares.mean()), confidence_interval(shares))


def _faiss() -> Any:
    """The library, of an extra."""
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            'An approximate index needs faiss: pip install "simviz[search]". '
            "Without it, exact_search looks at every item."
        ) from error
    return faiss


def _blocks(vectors: VectorShards, directed: bool) -> Iterator[NDArray[np.float32]]:
    """Vectors as the graph takes them, some at a time."""
    for i in range(len(vectors)):
        shard = vectors[i]
        for row in range(0, len(shard), _ROWS):
            yield _scaled(shard[row : row + _ROWS], vectors.longest, directed)


def _sample(vectors: VectorShards, directed: bool) -> NDArray[np.float32]:
    """Some vectors from everywhere, by which the range of numbers is set."""
    n = min(vectors.n_items, 2**16)
    picked = np.unique(np.linspace(0, vectors.n_items - 1, n).astype(np.int64))
    return _scaled(vectors.take(picked), vectors.longest, directed)


def _scaled(
    block: NDArray[np.floating[Any]], longest: float, directed: bool
) -> NDArray[np.float32]:
    """Directions only, or vectors divided by the greatest length: float16 holds all of them."""
    block = np.ascontiguousarray(block, dtype=np.float32)
    return unit_rows(block) if directed else block * np.float32(1 / longest if longest else 1)


@contextmanager
def _at_most(faiss: Any, n_bytes: int) -> Iterator[None]:
    """Let no array of a file claim more memory than the file has bytes."""
    before = faiss.get_deserialization_vector_byte_limit()
    faiss.set_deserialization_vector_byte_limit(max(n_bytes, 1))
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(before)
