"""Items of one side encoded once, and searched often."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.base import EmbeddingModel
from simviz.data.pairs import Items, as_items
from simviz.persistence import save_state

if TYPE_CHECKING:
    import pandas as pd

    from simviz.pipeline._pipelines import Pipeline

Vectors = NDArray[np.floating[Any]]
Side = Literal["x", "y"]
#: Vectors from which on not all of them are looked at, where faiss is installed.
MANY = 1_000_000
#: Queries that are compared at once, in scores (32 MB).
_ENTRIES = 2**23
#: Lists that a query looks through, vectors a list that its middle is learned from, and
#: candidates a wanted item that are compared once more by their own vectors.
_PROBED, _LEARNED, _RESCORED = 128, 40, 4


class ItemIndex:
    """Items of one side, encoded once, that queries of the other side are answered with.

    Made by ``pipeline.index(items)``, read from a file by `load_index`. All items
    are compared; among a million or more, where faiss is installed and vectors are
    compared by cosine, only those in the lists nearest to the query.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        Fitted.
    items : Items, or sequence of str or array
        What is found.
    side : {"x", "y"}, default="y"
        Of which side the items are.

    Attributes
    ----------
    items : Items
        What is found.

    Raises
    ------
    ValueError
        If the pipeline does not read such items or queries, or `k` is below 1.
    DatasetError
        From `add`, if an id is there already.

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
        self._lists: Any = None

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

        asked = as_items([queries] if isinstance(queries, str) else queries)
        if isinstance(k, bool) or int(k) != k or k < 1:
            raise ValueError(f"k counts items: a whole number from 1, got {k!r}.")
        positions, scores = self._nearest(asked, min(int(k), len(self)))
        n, k = positions.shape
        found = positions.ravel()
        return pd.DataFrame(
            {
                "query": np.repeat(asked.labels, k),
                "rank": np.tile(np.arange(1, k + 1), n),
                "id": self.items.ids[found],
                "text": self.items.labels[found],
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
        self.items, self._lists = both, None
        self._encoded = stacked(self._encoded, encoded)

    def save(self, path: str | Path) -> None:
        """Write pipeline, items and vectors to one file of JSON and arrays.

        Parameters
        ----------
        path : str or Path
            File to write; `load_index` reads it.
        """
        encoded = self._encoded if isinstance(self._encoded, np.ndarray) else None
        index = {
            "side": self.side,
            "ids": list(self.items.ids),
            "content": self.items.content,
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

    def _nearest(self, asked: Items, k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Positions and scores of the best, one row a query."""
        other: Side = "x" if self.side == "y" else "y"
        queries = self.pipeline._encoded(asked, other)
        n = len(asked)
        if k and n and self._is_listed():
            return self._listed(queries, k)
        positions, scores = np.empty((n, k), dtype=np.intp), np.empty((n, k))
        start = 0
        size = max(1, _ENTRIES // max(1, len(self)))
        for first in range(0, n, size):
            part = (
                queries.take(np.arange(first, min(n, first + size)))
                if isinstance(queries, Items)
                else queries[first : first + size]
            )
            block = self.pipeline._compared(part, self._encoded, self.side)
            for row in block:
                positions[start] = best = _top(row, k)
                scores[start] = row[best]
                start += 1
        return positions, scores

    def _is_listed(self) -> bool:
        """Whether there are so many vectors, all of length 1, that lists of them are made."""
        model = getattr(self.pipeline, "model_", None)
        is_cosine = isinstance(model, EmbeddingModel) and model.similarity_kind == "cosine"
        if len(self) < MANY or not is_cosine or find_spec("faiss") is None:
            return False
        if self._lists is None:
            import faiss

            vectors = np.ascontiguousarray(self._encoded, dtype=np.float32)
            n_lists = int(2 * np.sqrt(len(vectors)))
            middles = faiss.IndexFlatIP(vectors.shape[1])
            kind = faiss.ScalarQuantizer.QT_fp16
            metric = faiss.METRIC_INNER_PRODUCT
            lists = faiss.IndexIVFScalarQuantizer(
                middles, vectors.shape[1], n_lists, kind, metric, False
            )
            lists.cp.spherical, lists.cp.max_points_per_centroid = True, _LEARNED
            rng = np.random.default_rng(0)
            sample = rng.permutation(len(vectors))[: _LEARNED * n_lists]
            lists.train(vectors[np.sort(sample)])
            lists.add(vectors)
            lists.nprobe, lists.own_fields = min(_PROBED, n_lists), False
            self._lists = lists, middles  # one refers to the other
        return True

    def _listed(self, queries: Vectors, k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The best of the nearest lists, compared once more by their own vectors."""
        Q = np.ascontiguousarray(queries, dtype=np.float32)
        _, met = self._lists[0].search(Q, min(_RESCORED * k, len(self)))
        positions, scores = np.empty((len(Q), k), dtype=np.intp), np.empty((len(Q), k))
        for i, row in enumerate(met):
            known = np.sort(row[row >= 0])
            if len(known) < k:  # a query of zeros is near to no list
                known = np.arange(len(self))
            products = self._encoded[known] @ queries[i]
            best = _top(products, k)
            positions[i], scores[i] = known[best], products[best]
        return positions, scores


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
