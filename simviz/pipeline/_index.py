"""Items of one side encoded once, and searched often."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simviz._types import Side
from simviz.base import EmbeddingModel, unit_rows
from simviz.data.pairs import Items, as_items
from simviz.persistence import save_state

if TYPE_CHECKING:
    import pandas as pd

    from simviz.pipeline._loading import Pipeline

_log = logging.getLogger(__name__)
Vectors = NDArray[np.floating[Any]]
#: Positions of items, all where None, and their scores for one query.
Scored = tuple[NDArray[np.int64] | None, NDArray[Any]]
#: Vectors from which on not all of them are looked at, where faiss is installed.
MANY = 1_000_000
#: Queries that are compared at once, in scores (32 MB).
_ENTRIES = 2**23
#: Vectors a list that its middle is learned from, rounds of it, and candidates a wanted
#: item that are compared once more by their own vectors.
LEARNED, _ITERATIONS, _RESCORED = 40, 5, 4
_ROWS = 2**15  # sorted into lists at a time
#: How near a list has to be to be looked through, from the mean of all (0) to the nearest (1):
#: the first of these by which so many vectors of the index find this share of their nearest.
_NEAR, _N_SAMPLED, _RECALL = tuple(i / 20 for i in range(10, -1, -1)), 200, 0.97


class ItemIndex:
    """Items of one side, encoded once, that queries of the other side are answered with.

    Made by ``pipeline.index(items)``, read from a file by `load_index`. All items
    are compared; among a million or more, where faiss is installed and vectors are
    compared by cosine, only those in the lists near to the query (see Notes).

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        Fitted.
    items : Items, or sequence of str or array
        What is found.
    side : {"x", "y"}, default="y"
        Of which side the items are.

    Raises
    ------
    ValueError
        If the pipeline does not read such items or queries, or `k` is below 1.
    DatasetError
        From `add`, if an id is there already.

    Notes
    -----
    Lists are made at the first search, in some 14 s a million vectors of 200 numbers. How
    near a list has to be is chosen such that 200 of the index's own vectors find 97 % of
    their ten nearest. Queries of the other side usually find about as many, but need not:
    `simviz.scale.ApproximateIndex` has a setting for it, and measures it.

    Examples
    --------
    >>> from simviz import PairSet, default_pipeline
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["a red heart", "a blue car"])
    >>> index = default_pipeline("bm25", pairs).fit(pairs).index(pairs.y)
    >>> index.search(["heart"], k=1)[["query", "rank", "text"]].values.tolist()
    [['heart', 1, 'a red heart']]
    """

    def __init__(self, pipeline: Pipeline, items: Any, side: Side = "y") -> None:
        if side not in ("x", "y"):
            raise ValueError(f"Items are of side 'x' or 'y', got {side!r}.")
        self.pipeline, self.side = pipeline, side
        self.items = as_items(items)
        self._encoded = pipeline._encoded(self.items, side)
        self._scorer: Any = None
        self._lists: tuple[Any, Vectors, float] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"ItemIndex({len(self):,} items of the {self.side} side)"

    def search(self, queries: Any, k: int = 10) -> pd.DataFrame:
        """The k nearest items of each query.

        Parameters
        ----------
        queries : str, or Items, or sequence of str or array
            Items of the other side.
        k : int, default=10
            Items wanted; fewer are found where there are not as many.

        Returns
        -------
        pandas.DataFrame
            With query, rank, id, text and score; equal scores stand in the order of
            the items. A query without any known feature scores 0 with all.
        """
        import pandas as pd

        items = as_items([queries] if isinstance(queries, str) else queries)
        if isinstance(k, bool) or int(k) != k or k < 1:
            raise ValueError(f"k counts items: a whole number from 1, got {k!r}.")
        k = min(int(k), len(self))
        positions, scores = np.empty((0, k), np.intp), np.empty((0, k))
        if len(items):
            queries = self.pipeline._encoded(items, "x" if self.side == "y" else "y")
            lists = self._made_lists()
            scored = partial(self._listed, lists) if lists else self._compared
            positions, scores = self._best(scored, queries, k)
        n, k = positions.shape
        rows = positions.ravel()
        return pd.DataFrame(
            {
                "query": np.repeat(items.labels, k),
                "rank": np.tile(np.arange(1, k + 1), n),
                "id": self.items.ids[rows],
                "text": self.items.labels[rows],
                "score": scores.ravel(),
            }
        )

    def add(self, items: Any) -> None:
        """Encode further items and add them at the end.

        Parameters
        ----------
        items : Items, or sequence of str or array
            Texts without ids are numbered on.
        """
        new = as_items(items, start=len(self))
        both = self.items.join(new)
        encoded = self.pipeline._encoded(new, self.side)
        self.items, self._scorer, self._lists = both, None, None
        self._encoded = stacked(self._encoded, encoded)

    def save(self, path: str | Path) -> None:
        """Write pipeline, items and vectors to one file of JSON and arrays.

        Parameters
        ----------
        path : str or Path
            File to write; `load_index` reads it.
        """
        encoded = self._encoded if isinstance(self._encoded, np.ndarray) else None
        read = getattr(self.pipeline, "x_content", None) if self.side == "x" else None
        index = {
            "side": self.side,
            "ids": list(self.items.ids),
            "content": self.items.content if read is None else read(self.items),
            "kind": self.items.kind,
            "labels": list(self.items.labels),
            "vectors": encoded,
        }
        save_state({**self.pipeline._state(), "index": index}, path)

    @classmethod
    def _loaded(cls, pipeline: Pipeline, stored: dict[str, Any]) -> ItemIndex:
        """The index that was stored so; what does not fit the pipeline is refused."""
        if set(stored) != {"side", "ids", "content", "kind", "labels", "vectors"}:
            raise ValueError(f"it holds {str(sorted(stored))[:80]}, not an index")
        labels = np.array([str(label) for label in stored["labels"]], dtype=object)
        ids, vectors = [str(i) for i in stored["ids"]], stored["vectors"]
        items = Items(ids, stored["content"], stored["kind"], {"label": labels})
        few = cls(pipeline, items.take([0]), stored["side"])
        if vectors is None or not isinstance(few._encoded, np.ndarray):
            return cls(pipeline, items, stored["side"])
        fits = isinstance(vectors, np.ndarray) and vectors.dtype == few._encoded.dtype
        if not fits or vectors.shape != (len(items), few._encoded.shape[1]):
            raise ValueError("its vectors are not of these items and this pipeline")
        if not np.isfinite(vectors).all():
            raise ValueError("its vectors hold numbers that are not finite")
        few.items, few._encoded = items, vectors
        return few

    def _best(
        self, scored: Callable[[Any, int], Iterable[Scored]], queries: Any, k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        n = len(queries) if isinstance(queries, Items) else queries.shape[0]
        positions, scores = np.empty((n, k), dtype=np.intp), np.empty((n, k))
        size = max(1, _ENTRIES // max(1, len(self)))
        for first in range(0, n, size):
            rows, is_items = slice(first, first + size), isinstance(queries, Items)
            part = queries.take(np.arange(n)[rows]) if is_items else queries[rows]
            for i, (known, row) in enumerate(scored(part, k), first):
                best = _top(row, k)
                positions[i], scores[i] = best if known is None else known[best], row[best]
        return positions, scores

    def _compared(self, queries: Any, k: int) -> Iterator[Scored]:
        if self._scorer is None:
            self._scorer = self.pipeline._scorer(self._encoded, self.side)
        return ((None, row) for row in self._scorer(queries))

    def _listed(
        self, made: tuple[Any, Vectors, float], queries: Vectors, k: int
    ) -> Iterator[Scored]:
        """Scores of what is found in the near lists, by its own vectors, query by query."""
        lists, middles, near = made
        Q = np.ascontiguousarray(queries, dtype=np.float32)
        nearness = Q @ middles.T
        nearness -= nearness.mean(axis=1, keepdims=True)
        is_near = nearness > near * nearness.max(axis=1, keepdims=True)
        numbers = np.where(is_near, np.arange(len(middles)), -1)  # -1 is passed over
        _, met = lists.search_preassigned(Q, min(_RESCORED * k, len(self)), numbers, None)
        for query, row in zip(queries, met, strict=True):
            known = np.sort(row[row >= 0])
            if len(known) < k:  # a query of zeros is near to no list
                yield None, self._encoded @ query
            else:
                yield known, self._encoded[known] @ query

    def _made_lists(self) -> tuple[Any, Vectors, float] | None:
        """Lists, their middles and what is near, if vectors are many and all of length 1."""
        model = getattr(self.pipeline, "model_", None)
        is_cosine = isinstance(model, EmbeddingModel) and model.similarity_kind == "cosine"
        if len(self) < MANY or not is_cosine or find_spec("faiss") is None:
            return None
        if self._lists is None:
            _log.warning("Sorting %s vectors into lists, once.", f"{len(self):,}")
            vectors = np.ascontiguousarray(self._encoded, dtype=np.float32)
            n_lists = int(2 * np.sqrt(len(vectors)))
            sample = np.random.default_rng(0).permutation(len(vectors))[: LEARNED * n_lists]
            learned = vectors[np.sort(sample)]
            blocks = ((i, vectors[i : i + _ROWS]) for i in range(0, len(vectors), _ROWS))
            lists = lists_of(learned, blocks, n_lists, _ITERATIONS)
            lists.nprobe = n_lists
            middles = lists.quantizer.reconstruct_n(0, n_lists)
            own = self._encoded[sample[:_N_SAMPLED]]
            k = min(11, len(self))  # each finds itself first
            least = self._best(self._compared, own, k)[1][:, -1:] - 1e-6
            for near in _NEAR:
                made = lists, middles, near
                scores = self._best(partial(self._listed, made), own, k)[1]
                if (scores[:, 1:] >= least).mean() >= _RECALL:
                    break
            self._lists = made
        return self._lists


def lists_of(
    sample: Vectors,
    blocks: Iterable[tuple[int, Vectors]],
    n_lists: int,
    n_rounds: int,
    code: str = "QT_fp16",
    ranged: Vectors | None = None,
) -> Any:
    """Blocks of vectors, each with its first number, in lists of about one direction, by faiss.

    Middles are learned from a sample, and how numbers are rounded from another one, if any.
    """
    import faiss

    width, metric = sample.shape[1], faiss.METRIC_INNER_PRODUCT
    middles = faiss.IndexFlatIP(width)
    code = getattr(faiss.ScalarQuantizer, code)
    lists = faiss.IndexIVFScalarQuantizer(middles, width, n_lists, code, metric, False)
    lists.cp.niter, lists.cp.spherical = n_rounds, True
    lists.cp.min_points_per_centroid, lists.cp.max_points_per_centroid = 1, LEARNED
    lists.train(unit_rows(sample))
    if ranged is not None:
        lists.sq.train(ranged)
    for start, block in blocks:
        _, nearest = middles.search(unit_rows(block), 1)
        numbers = np.arange(start, start + len(block), dtype=np.int64)
        lists.add_core(len(block), *map(faiss.swig_ptr, (block, numbers, nearest.ravel())))
    lists.own_fields, lists.referenced_objects = False, [middles]
    return lists


def stacked(above: Any, below: Any) -> Any:
    """Encoded items one after another, of whatever kind they are."""
    if isinstance(above, Items):
        return above.join(below)
    if isinstance(above, np.ndarray):
        return np.concatenate([above, below])
    import scipy.sparse as sp

    return sp.vstack([above, below], format="csr")


def _top(scores: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Positions of the k highest, of equal ones the first."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        near = np.flatnonzero(scores >= least)
    else:
        near = np.arange(len(scores))
    return near[np.argsort(-scores[near], kind="stable")[:k]]
