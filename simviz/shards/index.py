"""The nearest items among many, found without looking at all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.evaluation.intervals import confidence_interval
from simviz.exceptions import StoreError
from simviz.shards import _faiss
from simviz.shards._files import new_folder, read_meta, write_meta
from simviz.shards.search import Neighbors, as_queries, best, exact_search, rescored
from simviz.shards.vectors import VectorShards

Kind = Literal["lists", "graph"]
Storage = Literal["float16", "int8"]
Neighborhood = Literal["cosine", "inner_product"]

FORMAT = "simviz-index-1"
_FILE = "index.faiss"
#: Candidates that are looked at once more by their stored vectors, a wanted item.
_RESCORED = 4


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
    """An index by faiss of vectors on disk: lists of similar items, or a graph.

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
    kind : {"lists", "graph"}
        What it is.
    storage : {"float16", "int8"}
        What numbers are rounded to.
    settings : dict
        All that it was built with.

    Notes
    -----
    *Lists* [1]_: k-means finds middles of directions, every item is in the
    list of the nearest one, and a query looks through the lists whose middles
    are nearest to it. *Graph* [2]_: every item knows some neighbours, and a
    query walks from one to the next. Lists are built much faster, take less
    memory and found more among a million items of many topics; a graph looks
    at less among few items.

    Where lengths differ, who is whose neighbour in a graph is an open
    question: by inner product [3]_ a few long vectors are everybody's. Here
    neighbours are those of the greatest cosine and only the walk goes by inner
    products, unless asked otherwise. A further column that makes all vectors
    equally long [4]_ was between the two or far behind
    (benchmarks/README.md).

    A file that was damaged is refused by its sum. One that was made on purpose
    brings its own: faiss checks most sizes and places while it reads, but not
    all. Open only what you built or whose source you trust.

    References
    ----------
    .. [1] Jégou, Douze & Schmid (2011), Product quantization for nearest
       neighbor search. IEEE TPAMI 33(1); and Douze et al. (2024), The Faiss
       library. arXiv:2401.08281.
    .. [2] Malkov & Yashunin (2020), Efficient and robust approximate nearest
       neighbor search using hierarchical navigable small world graphs. IEEE
       TPAMI 42(4).
    .. [3] Morozov & Babenko (2018), Non-metric similarity graphs for maximum
       inner product search. NeurIPS.
    .. [4] Bachrach, Finkelstein, Gilad-Bachrach, Katzir, Koenigstein, Nice &
       Paquet (2014), Speeding up the Xbox recommender system using a
       Euclidean transformation for inner-product spaces. RecSys.

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
        self, folder: Path, vectors: VectorShards, index: Any, meta: dict[str, Any]
    ) -> None:
        self.folder, self.vectors, self._index = folder, vectors, index
        self.settings = dict(meta["settings"])
        self.kind, self.storage = str(meta["kind"]), str(self.settings["storage"])
        self._type = _faiss.TYPES[self.kind]

    @classmethod
    def build(
        cls,
        vectors: VectorShards,
        folder: str | Path,
        *,
        kind: Kind = "lists",
        storage: Storage = "float16",
        n_lists: int | None = None,
        connectivity: int = 32,
        ef_construction: int = 128,
        neighbors: Neighborhood = "cosine",
        n_threads: int | None = 1,
        callback: Callable[[int, int], object] | None = None,
    ) -> ApproximateIndex:
        """Build the index and store it beside a note of what it belongs to.

        Parameters
        ----------
        vectors : VectorShards
            The items.
        folder : str or Path
            A new or empty directory.
        kind : {"lists", "graph"}, default="lists"
            See Notes of the class.
        storage : {"float16", "int8"}, default="float16"
            What the numbers in the index are rounded to.
        n_lists : int, optional
            Number of lists; twice the square root of the number of items when
            omitted, and never so many that lists have fewer than some 10.
        connectivity : int, default=32
            Neighbours (M) of an item on the upper levels of a graph; there are
            twice as many on the lowest. More find more and take more memory.
        ef_construction : int, default=128
            Candidates that are kept while the neighbours of a new item of a
            graph are sought. More give a better graph, and take longer.
        neighbors : {"cosine", "inner_product"}, default="cosine"
            Who is whose neighbour in a graph; it makes no difference where
            all vectors have one length.
        n_threads : int or None, default=1
            Threads that build. With one the same vectors give the same index;
            None takes as many as OpenMP offers.
        callback : callable, optional
            Told the number of items in the index and of all.

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

        faiss = _faiss.library()
        known = kind in _faiss.TYPES and storage in _faiss.CODES
        known = known and neighbors in ("cosine", "inner_product")
        in_range = 2 <= connectivity <= 512 and ef_construction >= 1
        if not (known and in_range and (n_lists is None or n_lists >= 1)):
            raise ValueError(
                "kind is lists or graph, storage float16 or int8, n_lists at least 1, "
                "connectivity in 2..512, ef_construction at least 1, neighbors cosine or "
                f"inner_product; got {kind!r}, {storage!r}, {n_lists}, {connectivity}, "
                f"{ef_construction}, {neighbors!r}."
            )
        if not vectors.n_items:
            raise ValueError("There are no items to build an index of.")
        folder = new_folder(folder)
        settings: dict[str, Any] = {"storage": storage}
        with threadpool_limits(limits=n_threads, user_api="openmp"):  # faiss builds with it
            if kind == "lists":
                wanted = n_lists or round(2 * vectors.n_items**0.5)
                settings["n_lists"] = max(1, min(wanted, vectors.n_items // 10))
                index = _faiss.lists(vectors, storage, settings["n_lists"], callback)
            else:
                settings |= {"connectivity": connectivity, "ef_construction": ef_construction}
                settings["neighbors"] = neighbors
                directed = neighbors == "cosine"
                index = _faiss.graph(
                    vectors, storage, connectivity, ef_construction, directed, callback
                )
        draft = folder / f".{_FILE}"
        faiss.write_index(index, str(draft))
        digest = _digest(draft)
        draft.replace(folder / _FILE)
        meta = {
            "format": FORMAT,
            "library": f"faiss {faiss.__version__}",
            "kind": kind,
            "settings": settings,
            "vectors": vectors.digest,
            "sha256": digest,
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

        Raises
        ------
        StoreError
            If the folder is not complete, the file is damaged, or the index
            was built of other vectors.
        ImportError
            If faiss is not installed.
        """
        faiss = _faiss.library()
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
            index = cls(folder, vectors, _faiss.read(folder / _FILE), meta)
        except (OSError, RuntimeError, MemoryError, KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"The index in {folder} cannot be read ({str(error)[-200:]}). Build it again."
            ) from error
        read = index._index
        found = (type(read).__name__, read.ntotal, read.d, read.metric_type)
        wanted = (index._type, vectors.n_items, vectors.n_components, faiss.METRIC_INNER_PRODUCT)
        if found != wanted:
            raise StoreError(
                f"The index in {folder} is {found}, expected {wanted}. Build it again."
            )
        return index

    def search(
        self, queries: ArrayLike, k: int = 10, *, n_probe: int = 128, ef_search: int = 256
    ) -> Neighbors:
        """Some k items that are hardly worse than the nearest ones.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_components)
            As for `simviz.shards.exact_search`.
        k : int, default=10
            Items wanted.
        n_probe : int, default=128
            Lists that are looked through. More find more and take longer.
        ef_search : int, default=256
            Candidates (ef) that are kept on the walk through a graph, at least
            k. More find more and take longer.

        Returns
        -------
        Neighbors
            With min(k, n_items) columns; scores are those of `exact_search`.

        Raises
        ------
        ValueError
            If queries are not finite or of another width, or a number is below
            1.
        """
        Q = as_queries(self.vectors, queries, k)
        if n_probe < 1 or ef_search < 1:
            raise ValueError(
                f"n_probe and ef_search must be at least 1, got {n_probe} and {ef_search}."
            )
        faiss = _faiss.library()
        k = min(k, self.vectors.n_items)
        n_seen = min(_RESCORED * k, self.vectors.n_items)
        if self.kind == "lists":
            how = faiss.SearchParametersIVF(nprobe=min(n_probe, int(self._index.nlist)))
        else:
            n_seen = max(k, min(ef_search, n_seen))
            how = faiss.SearchParametersHNSW(efSearch=max(ef_search, n_seen))
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
        ef_search: int = 256,
        exact: Neighbors | None = None,
    ) -> Recall:
        """Share of the k best items that a search finds.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_components)
            As for `search`; ones that were not built into the graph.
        k : int, default=10
            Items wanted.
        n_probe, ef_search : int
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
        found = self.search(queries, k, n_probe=n_probe, ef_search=ef_search)
        last = truth.scores[:, found.scores.shape[1] - 1, None]
        shares = (found.scores >= last).mean(axis=1)
        return Recall(shares, float(shares.mean()), confidence_interval(shares))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
