"""The nearest items of queries: exactly, or among many without looking at all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._extras import require
from simviz.evaluation.significance import confidence_interval
from simviz.exceptions import StoreError
from simviz.pipeline._index import LEARNED, lists_of
from simviz.scale.shards import new_folder, read_meta, write_meta
from simviz.scale.vectors import VectorShards

Vectors = NDArray[np.float32]
Positions = NDArray[np.int64]
Callback = Callable[[int, int], object] | None
Storage = Literal["float16", "int8"]

#: Queries that are compared at a time, scores of them (32 MB), and rows, least and most.
QUERIES, _ENTRIES, ROWS_AT_ONCE, MAX_ROWS = 1024, 2**23, 2**13, 2**16
#: Vectors (of float64) that are multiplied one by one at a time: some 32 MB.
LISTED = 2**22

FORMAT = "simviz-index-1"
_FILE = "index.faiss"
_ROWS = 2**15  # added to an index at a time
_ITERATIONS = 10  # in which the middles of lists are learned
#: Candidates that are looked at once more by their stored vectors, a wanted item.
_RESCORED = 4
CODES = {"float16": "QT_fp16", "int8": "QT_8bit"}


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """What was found for each query, best first; equal scores in the order of positions.

    Parameters
    ----------
    positions : ndarray of int64, shape (n_queries, k)
        Numbers of items over all shards; -1 where nothing more was found.
    scores : ndarray of float32, shape (n_queries, k)
        Inner products with the stored vectors, -inf where nothing was found.
    """

    positions: Positions
    scores: Vectors

    def ids(self, vectors: VectorShards) -> list[list[str]]:
        """What was found by id; by position in decimal where items have none.

        Parameters
        ----------
        vectors : VectorShards
            Those that were searched.

        Returns
        -------
        list of list of str
            One list a query, without places where nothing was found.
        """
        listed = [row[row >= 0] for row in self.positions]
        return [vectors.ids_at(row) or list(map(str, row.tolist())) for row in listed]


def exact_search(vectors: VectorShards, queries: ArrayLike, k: int = 10) -> Neighbors:
    """The k nearest items of each query, by comparing it with all.

    Blocks of a shard are multiplied with blocks of queries, and of each only what may belong to
    the best is looked at. Memory does not grow with the number of items.

    Parameters
    ----------
    vectors : VectorShards
        The items.
    queries : array-like of shape (n_queries, n_components)
        Vectors of the other side, see `simviz.scale.embed`; one query may be given as a vector.
    k : int, default=10
        Items wanted; fewer are found where there are not as many.

    Returns
    -------
    Neighbors
        With min(k, n_items) columns.

    Raises
    ------
    ValueError, StoreError
        If queries are not finite or of another width, k is below 1, or a shard
        cannot be read or holds NaN.

    Notes
    -----
    Sums of float32 depend in their last digits on the shape of the blocks that
    are multiplied. Items are therefore chosen with a margin above the largest
    possible error, and scores computed once more in float64: equal vectors tie,
    and the first of them are taken, however the shards are cut.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.methods import get_method
    >>> from simviz.scale import embed, write_vectors
    >>> model = get_method("cca")(3).fit(np.eye(4), np.eye(4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vectors = write_vectors(model, np.eye(4), folder, "y")
    ...     exact_search(vectors, embed(model, np.eye(4), "x"), k=1).positions.ravel()
    array([0, 1, 2, 3])
    """
    Q = as_queries(vectors, queries, k)
    k = min(k, vectors.n_items)
    found = _nothing_found(len(Q), k)
    for start in range(0, len(Q), QUERIES):
        rows = slice(start, start + QUERIES)
        part = _search(vectors, Q[rows], k)
        found.positions[rows], found.scores[rows] = part.positions, part.scores
    return found


def _nothing_found(n: int, k: int) -> Neighbors:
    return Neighbors(np.full((n, k), -1), np.full((n, k), -np.inf, dtype=np.float32))


def _search(vectors: VectorShards, Q: Vectors, k: int) -> Neighbors:
    """The best of one block of queries."""
    n = len(Q)
    # n·u·‖q‖·‖y‖ bounds the rounding of a sum of n products (Higham 2002, section 3.1). Twice
    # that also covers lengths that were noted before vectors were rounded to float16.
    lengths = np.sqrt(np.einsum("ik,ik->i", Q, Q, dtype=np.float64))
    error = np.finfo(np.float32).eps * (Q.shape[1] + 2)
    margin = (2 * error * lengths * vectors.longest + np.finfo(np.float32).tiny)[:, None]
    nearest = _nothing_found(n, k)
    known = lengths > 0
    n_rows = int(np.clip(_ENTRIES // n, ROWS_AT_ONCE, MAX_ROWS))
    for start, block in vectors.blocks(n_rows):
        S = Q @ block.T
        if not np.isfinite(block if S.size > block.size else S).all():
            raise StoreError(
                f"The vectors in {vectors.folder} hold NaN or infinity after item {start:,}. "
                "Write the folder again."
            )
        least = np.where(known[:, None], nearest.scores[:, -1:] - margin, np.inf)
        is_candidate = S >= least
        many = np.flatnonzero(np.count_nonzero(is_candidate, axis=1) > 2 * k)
        if len(many) and len(block) > k:
            # k of the block are at least as good as its k-th, so that others need not be seen.
            kth = np.partition(S[many], len(block) - k, axis=1)[:, len(block) - k, None]
            is_candidate[many] &= S[many] >= kth - 2 * margin[many]
        query, row = np.nonzero(is_candidate)
        if not len(query):
            continue
        old = np.nonzero(nearest.positions >= 0)
        positions = np.r_[nearest.positions[old], row + start]
        scores = np.r_[nearest.scores[old], rescored(Q, query, row, block)]
        nearest = best(np.r_[old[0], query], positions, scores, n, k)
    # Zeros score 0 with everything.
    nearest.positions[~known], nearest.scores[~known] = np.arange(k), 0
    return nearest


def as_queries(vectors: VectorShards, queries: ArrayLike, k: int) -> Vectors:
    """Queries as a matrix that fits to the vectors; see `exact_search`."""
    Q = np.atleast_2d(np.ascontiguousarray(queries, dtype=np.float32))
    if Q.ndim != 2 or Q.shape[1] != vectors.n_components:
        raise ValueError(
            f"Queries are vectors of {vectors.n_components} dimensions, as the items are; got "
            f"shape {Q.shape}. Embed them by the model that the items were embedded by."
        )
    if not np.isfinite(Q).all():
        raise ValueError("Queries must be finite, but some hold NaN or infinity.")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    return Q


def rescored(Q: Vectors, query: Positions, rows: NDArray[Any], block: NDArray[Any]) -> Vectors:
    """Scores of listed pairs, each computed alike: products and sum in float64."""
    scores = np.empty(len(query), dtype=np.float32)
    step = max(1, LISTED // Q.shape[1])
    for start in range(0, len(query), step):
        own = slice(start, start + step)
        a, b = Q[query[own]].astype(np.float64), block[rows[own]].astype(np.float64)
        np.multiply(a, b, out=a)
        scores[own] = a.sum(axis=1)
    return scores


def best(query: Positions, positions: Positions, scores: Vectors, n: int, k: int) -> Neighbors:
    """The k best of listed pairs for each of n queries, lower positions first where they tie."""
    order = np.lexsort((positions, -scores, query))
    query = query[order]
    first = np.searchsorted(query, np.arange(n))
    place = np.arange(len(query)) - first[query]
    is_best = place < k
    nearest = _nothing_found(n, k)
    nearest.positions[query[is_best], place[is_best]] = positions[order[is_best]]
    nearest.scores[query[is_best], place[is_best]] = scores[order[is_best]]
    return nearest


@dataclass(frozen=True, slots=True, eq=False)
class Recall:
    """How much of what an exact search finds an index finds."""

    per_query: NDArray[np.float64]
    mean: float
    interval: tuple[float, float]


class ApproximateIndex:
    """An index by faiss of vectors on disk: lists of items in about one direction.

    Made by `build`, opened by `open`. Vectors in the index are rounded; what a
    search meets is compared once more by the vectors themselves. Scores are
    those of `exact_search`, only that some of the best items may be missed.

    Parameters
    ----------
    folder : Path
        Where the index lies.
    vectors : VectorShards
        The items.
    index : faiss.Index
        Read from the folder.
    meta : dict
        What was noted beside it.

    Attributes
    ----------
    vectors : VectorShards
        The items.
    storage : {"float16", "int8"}
        What numbers are rounded to.
    settings : dict
        All that it was built with.

    Raises
    ------
    ValueError
        If there are no items, a parameter is out of range, or queries are not
        finite or of another width.
    StoreError
        From `build`, if the folder holds an index or shards already; from `open`, if it is not
        complete, the file is damaged, or the index was built of other vectors.
    MissingLibraryError
        If faiss is not installed.

    Notes
    -----
    K-means finds middles of directions, every item is in the list of the nearest one, and a query
    looks through the lists nearest to it [1]_. A graph of neighbours took longer to build and to
    search among a million vectors (benchmarks/README.md); among few, `exact_search` looks at all.

    A file that was damaged is refused by its sum. One that was made on purpose brings its own, and
    faiss does not check all places: open only what you built or whose source you trust.

    References
    ----------
    .. [1] Jégou, Douze & Schmid (2011), Product quantization for nearest neighbor search. IEEE
       TPAMI 33(1); and Douze et al. (2024), The Faiss library. arXiv:2401.08281.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.methods import get_method
    >>> from simviz.scale import embed, write_vectors
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
        self, folder: Path, vectors: VectorShards, index: Any, meta: dict[str, Any]
    ) -> None:
        self.folder, self.vectors, self._index = folder, vectors, index
        self.settings = dict(meta["settings"])
        self.storage = str(self.settings["storage"])

    @classmethod
    def build(
        cls,
        vectors: VectorShards,
        folder: str | Path,
        *,
        storage: Storage = "float16",
        n_lists: int | None = None,
        n_threads: int | None = 1,
        callback: Callback = None,
    ) -> ApproximateIndex:
        """Build the index and store it beside a note of what it belongs to.

        Parameters
        ----------
        vectors : VectorShards
            The items.
        folder : str or Path
            A new or empty directory.
        storage : {"float16", "int8"}, default="float16"
            What the numbers in the index are rounded to.
        n_lists : int, optional
            Number of lists; twice the square root of the number of items when
            omitted, and never so many that lists have fewer than some 10.
        n_threads : int or None, default=1
            Threads that build. With one the same vectors give the same index;
            None takes as many as OpenMP offers.
        callback : callable, optional
            Told the number of items in the index and of all.

        Returns
        -------
        ApproximateIndex
            Opened from the folder.
        """
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        faiss = library()
        if storage not in CODES or (n_lists is not None and n_lists < 1):
            raise ValueError(
                "storage is float16 or int8, and n_lists at least 1; got "
                f"{storage!r} and {n_lists}."
            )
        if not vectors.n_items:
            raise ValueError("There are no items to build an index of.")
        folder = new_folder(folder)
        n_lists = n_lists or round(2 * vectors.n_items**0.5)
        n_lists = max(1, min(n_lists, vectors.n_items // 10))
        with threadpool_limits(limits=n_threads, user_api="openmp"):  # faiss builds with it
            index = _build(vectors, storage, n_lists, callback)
        faiss.write_index(index, str(folder / _FILE))  # it counts with the note that follows
        meta = {
            "format": FORMAT,
            "library": f"faiss {faiss.__version__}",
            "settings": {"storage": storage, "n_lists": n_lists},
            "vectors": vectors.digest,
            "sha256": _digest(folder / _FILE),
        }
        write_meta(folder, meta)
        return cls.open(folder, vectors)

    @classmethod
    def open(
        cls, folder: str | Path, vectors: VectorShards, *, verify: bool = True
    ) -> ApproximateIndex:
        """Open what `build` stored; the file is mapped into memory, not copied.

        Parameters
        ----------
        folder : str or Path
            Of the index.
        vectors : VectorShards
            Those it was built of.
        verify : bool, default=True
            Whether the file is read once and compared with the sum noted when
            it was written, which takes a second for some gigabytes.

        Returns
        -------
        ApproximateIndex
            Ready to search.
        """
        faiss = library()
        folder = Path(folder)
        meta = read_meta(folder, FORMAT)
        if meta.get("vectors") != vectors.digest:
            raise StoreError(
                f"The index in {folder} was not built of the vectors in {vectors.folder}. "
                "Build it again."
            )
        try:
            if verify and _digest(folder / _FILE) != meta.get("sha256"):
                raise ValueError("it is not what was written")
            with _byte_limit((folder / _FILE).stat().st_size):
                read = faiss.read_index(str(folder / _FILE), faiss.IO_FLAG_MMAP_IFC)
            index = cls(folder, vectors, read, meta)
        except (OSError, RuntimeError, MemoryError, KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"The index in {folder} cannot be read ({str(error)[-200:]}). Build it again."
            ) from error
        actual = (type(read).__name__, read.ntotal, read.d, read.metric_type)
        size = vectors.n_items, vectors.n_components
        expected = ("IndexIVFScalarQuantizer", *size, faiss.METRIC_INNER_PRODUCT)
        if actual != expected:
            raise StoreError(
                f"The index in {folder} is {actual}, expected {expected}. Build it again."
            )
        return index

    def search(self, queries: ArrayLike, k: int = 10, *, n_probe: int = 128) -> Neighbors:
        """Some k items that are hardly worse than the nearest ones.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_components)
            As for `simviz.scale.exact_search`.
        k : int, default=10
            Items wanted.
        n_probe : int, default=128
            Lists that are looked through. More find more and take longer.

        Returns
        -------
        Neighbors
            With min(k, n_items) columns; scores are those of `exact_search`.
        """
        Q = as_queries(self.vectors, queries, k)
        if n_probe < 1:
            raise ValueError(f"n_probe must be at least 1, got {n_probe}.")
        k = min(k, self.vectors.n_items)
        n_seen = min(_RESCORED * k, self.vectors.n_items)
        how = library().SearchParametersIVF(nprobe=min(n_probe, int(self._index.nlist)))
        _, positions = self._index.search(Q, n_seen, params=how)
        query, place = np.nonzero((positions >= 0) & (positions < self.vectors.n_items))
        met = positions[query, place]
        scores = rescored(Q, query, np.arange(len(met)), self.vectors.take(met))
        return best(query, met, scores, len(Q), k)

    def recall(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        n_probe: int = 128,
        exact: Neighbors | None = None,
    ) -> Recall:
        """Share of the k best items that a search finds.

        Parameters
        ----------
        queries, k, n_probe : array-like and int
            As for `search`.
        exact : Neighbors, optional
            What `simviz.scale.exact_search` finds for these queries, with at
            least k columns, where it is known already.

        Returns
        -------
        Recall
            Mean and interval over queries. Items that tie with the k-th count
            as found, whichever of them it is.
        """
        truth = exact_search(self.vectors, queries, k) if exact is None else exact
        neighbors = self.search(queries, k, n_probe=n_probe)
        last = truth.scores[:, neighbors.scores.shape[1] - 1, None]
        shares = (neighbors.scores >= last).mean(axis=1)
        return Recall(shares, float(shares.mean()), confidence_interval(shares))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def library() -> Any:
    """faiss, of an extra."""
    require("search", "An approximate index, unlike exact_search,")
    import faiss

    return faiss


def _build(vectors: VectorShards, storage: Storage, n_lists: int, callback: Callback) -> Any:
    """Items in lists of those that point in about the same direction."""

    def blocks() -> Iterator[tuple[int, Vectors]]:
        for start, block in vectors.blocks(_ROWS):
            yield start, _scaled(block, vectors)
            if callback is not None:
                callback(start + len(block), vectors.n_items)

    directions = _sample(vectors, max(LEARNED * n_lists, 2**14))
    # Where lengths differ, the range of numbers is another one than that of directions.
    numbers = _sample(vectors, 2**16) if vectors.similarity == "dot" else None
    return lists_of(directions, blocks(), n_lists, _ITERATIONS, CODES[storage], numbers)


def _sample(vectors: VectorShards, n: int) -> Vectors:
    """Some vectors from everywhere."""
    n = min(vectors.n_items, n)
    picked = np.unique(np.linspace(0, vectors.n_items - 1, n).astype(np.int64))
    return _scaled(vectors.take(picked), vectors)


def _scaled(block: Vectors, vectors: VectorShards) -> Vectors:
    """Divided by the greatest length, which changes no order: float16 holds all of them."""
    return np.ascontiguousarray(block * np.float32(1 / (vectors.longest or 1)))


@contextmanager
def _byte_limit(n_bytes: int) -> Iterator[None]:
    """Let no array of a file claim more than so many bytes."""
    faiss = library()
    before = faiss.get_deserialization_vector_byte_limit()
    faiss.set_deserialization_vector_byte_limit(max(n_bytes, 1))
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(before)
