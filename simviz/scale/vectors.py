"""From items to vectors whose inner products are the model's similarities."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._types import Side
from simviz.base import EmbeddingModel, unit_rows
from simviz.data.pairs import Items
from simviz.exceptions import StoreError
from simviz.persistence import state_digest
from simviz.scale.dask import map_parts
from simviz.scale.shards import (
    Shards,
    SparseShards,
    columns,
    map_array,
    new_folder,
    write_array,
    write_ids,
    write_meta,
)

if TYPE_CHECKING:
    from distributed import Client

    from simviz.base import PairModel
    from simviz.pipeline import PairPipeline, Pipeline

Floats = NDArray[np.floating[Any]]

FORMAT = "simviz-vectors-1"
_KINDS = ("cosine", "dot", "hellinger")
_MAX_MAPPED = 256  # shards that stay mapped: each takes a file handle
COPY_SINGLY = 256  # vectors that are copied one by one


class VectorShards(Shards):
    """Vectors of the items of one side on disk, one matrix a shard.

    Inner products of these vectors with those of the other side are the model's
    similarities: rows have length 1 where it compares by cosine. The files are
    mapped into memory: the system reads what is used.

    Parameters
    ----------
    folder : str or Path
        Written by `simviz.scale.write_vectors`.

    Attributes
    ----------
    n_items, n_components : int
        Rows of all shards, and their columns.
    dtype : dtype
        float32, or float16 where it was asked for.
    side : {"x", "y"}
        Whose items these are.
    similarity : {"cosine", "dot", "hellinger"}
        How the model compares; see `simviz.base.EmbeddingModel.similarity_kind`.
    model_digest : str
        Of the model that gave the vectors.
    digest : str
        Of what is written here: equal vectors, equal digests.
    starts : ndarray of int64, shape (n_shards + 1,)
        Position of the first item of each shard, and the number of items.
    shortest, longest : float
        Least and greatest length of a vector; 0 where there is none.

    Raises
    ------
    StoreError
        If the folder is not complete, or is of another format; if ids are missing
        or damaged; from `verify`, if a shard is not what it was; from
        `require_model`, if scores of the model would mean nothing here.
    IndexError
        From `take` and `ids_at`, if there is no such item.
    """

    _format = FORMAT

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        self._mapped = lru_cache(_MAX_MAPPED)(self._map)
        self._mapped_ids = lru_cache(_MAX_MAPPED)(self._map_ids)
        for i in range(len(self)):
            self[i]  # a missing or cut file is noticed now, not in the middle of a search

    def _fill(self, meta: dict[str, Any]) -> None:
        self._sums = [str(digest) for digest in meta["sha256"]]
        self.n_components = int(meta["n_components"])
        self.dtype = np.dtype(str(meta["dtype"]))
        self.side, self.similarity = str(meta["side"]), str(meta["similarity"])
        self.model_digest = str(meta["model"])
        if self.dtype not in (np.float32, np.float16) or self.n_components < 1:
            raise ValueError(f"{self.n_components} columns of {self.dtype}")
        if self.side not in ("x", "y") or self.similarity not in _KINDS:
            raise ValueError(f"side {self.side!r}, similarity {self.similarity!r}")
        lengths = np.array([meta["shortest"], meta["longest"]], dtype=np.float64)
        if not {len(self._names)} == {len(self._sums), len(self._rows), lengths.shape[1]}:
            raise ValueError("lists of different lengths")
        if not (np.isfinite(lengths).all() and (lengths >= 0).all()):
            raise ValueError("lengths of vectors")
        filled = lengths[:, np.array(self._rows) > 0]
        self.shortest = float(filled[0].min()) if filled.size else 0.0
        self.longest = float(filled[1].max()) if filled.size else 0.0
        stated = {name: meta[name] for name in ("rows", "sha256", "side", "similarity", "dtype")}
        self.digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()

    def __getitem__(self, i: int) -> Floats:
        """Shard i as a matrix (rows, n_components) that lies on the disk."""
        return self._mapped(range(len(self))[i])

    def take(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Copy vectors into memory."""
        positions, shard = self._located(rows)
        vectors = np.empty((len(positions), self.n_components), dtype=np.float32)
        if len(positions) <= COPY_SINGLY:
            within = (positions - self.starts[shard]).tolist()
            for place, (i, row) in enumerate(zip(shard.tolist(), within, strict=True)):
                vectors[place] = self._mapped(i)[row]
            return vectors
        for i in np.unique(shard).tolist():
            own = shard == i
            vectors[own] = self[i][positions[own] - self.starts[i]]
        return vectors

    def blocks(self, n_rows: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Read all vectors, some at a time.

        Parameters
        ----------
        n_rows : int
            Vectors of a block, at most.

        Yields
        ------
        start : int
            Position of the first item of the block.
        block : ndarray of float32, shape (n, n_components)
            Vectors of the items from there on.
        """
        for i, start in enumerate(self.starts[:-1].tolist()):
            shard = self[i]
            for row in range(0, len(shard), n_rows):
                yield start + row, np.asarray(shard[row : row + n_rows], dtype=np.float32)

    def ids_at(self, positions: ArrayLike) -> list[str] | None:
        """The ids of some items; nothing else is read.

        Parameters
        ----------
        positions : array-like of int, shape (n,)
            Numbers of items from 0 over all shards, in any order.

        Returns
        -------
        list of str or None
            In the order asked for; None where items have no ids.
        """
        places, shard = self._located(positions)
        if not self._has_ids:
            return None
        ids = []
        for i, row in zip(shard.tolist(), (places - self.starts[shard]).tolist(), strict=True):
            ends, raw = self._mapped_ids(i)
            ids += self._decoded(i, raw, [int(ends[row - 1]) if row else 0, int(ends[row])])
        return ids

    def require_model(self, model: PairModel | Pipeline) -> None:
        """Refuse a model that is not the one that gave these vectors.

        Parameters
        ----------
        model : PairModel or PairPipeline
            The one that embeds queries.
        """
        if model_digest(model) != self.model_digest:
            raise StoreError(
                f"The vectors in {self.folder} come from another model, or from this one before "
                "it was fitted again. Load the model they were written with, or write them anew."
            )

    def verify(self) -> None:
        """Read everything once, and compare it with what was noted at writing."""
        for i, (name, digest) in enumerate(zip(self._names, self._sums, strict=True)):
            if bytes_digest(self[i]) != digest:
                raise StoreError(
                    f"The shard {name} of {self.folder} is not what was written. "
                    "Write the folder again."
                )

    def __reduce__(self) -> tuple[type[VectorShards], tuple[Path]]:
        return type(self), (self.folder,)

    def _map(self, i: int) -> Floats:
        shape = (self._rows[i], self.n_components)
        shard = map_array(self.folder / f"{self._names[i]}.npy", self.dtype, shape)
        return shard.view(np.ndarray)  # rows of a memmap are slow to make


def bytes_digest(array: Floats) -> str:
    """SHA-256 of the numbers of a contiguous array, as they lie in memory."""
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def write_vectors(
    model: PairModel | Pipeline,
    items: SparseShards | Iterable[Any],
    folder: str | Path,
    side: Side,
    *,
    dtype: str = "float32",
    client: Client | None = None,
) -> VectorShards:
    """Embed many items and write their vectors as shards.

    Parameters
    ----------
    model : PairPipeline or EmbeddingModel
        Fitted; or an `SSI` of low rank without a shared vocabulary.
    items : SparseShards or iterable
        Features on disk, of which each shard becomes one of vectors; or batches, each a matrix of
        features or, for a pipeline, `Items` or a list of texts. One batch is held at a time.
    folder : str or Path
        A new or empty directory.
    side : {"x", "y"}
        Whose items they are.
    dtype : {"float32", "float16"}, default="float32"
        float16 halves the files; scores then differ from the model's by some
        thousandths of the lengths.
    client : distributed.Client, optional
        Of a cluster whose workers see the same disk: they read, embed and
        write shard by shard. Items have to be `SparseShards` then.

    Returns
    -------
    VectorShards
        What was written. The folder counts as complete when its last file,
        ``meta.json``, is there.

    Raises
    ------
    ValueError, StoreError
        If the model has no vectors whose inner products are its similarities, vectors are not
        finite, there is nothing to write, or the folder holds shards already.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.data import PairSet
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["corazón rojo", "coche azul"])
    >>> pipeline = default_pipeline("cca", pairs, n_components=1).fit(pairs)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vectors = write_vectors(pipeline, [["un corazón", "un coche"], ["rojo"]], folder, "y")
    ...     vectors.n_items
    3
    """
    if dtype not in ("float32", "float16"):
        raise ValueError(f"dtype must be 'float32' or 'float16', got {dtype!r}.")
    if side not in ("x", "y"):
        raise ValueError(f"side must be 'x' or 'y', got {side!r}.")
    kind = _kind(model)
    folder = new_folder(folder)
    how = (folder.absolute(), side, dtype)
    if isinstance(items, SparseShards):
        numbers = range(len(items))
        written = list(map_parts(_write_shard, numbers, model, items, how, client=client))
    elif client is None:
        written = [_write_part(*batch, model, how) for batch in _batches(items)]
    else:
        raise ValueError(
            "Workers read features from disk by themselves. Write them as SparseShards first, "
            "or leave out the client."
        )
    widths = {part["width"] for part in written}
    if len(widths) != 1:
        raise ValueError("There is nothing to embed. Give at least one batch of items.")
    has_ids = {part["ids"] for part in written}
    if len(has_ids) > 1:
        raise ValueError("Some batches have ids and others do not. Give ids for all, or for none.")
    meta = {
        "format": FORMAT,
        "side": side,
        "similarity": kind,
        "n_components": widths.pop(),
        "dtype": dtype,
        "model": model_digest(model),
        "ids": has_ids.pop(),
        **columns(written, "names", "rows", "shortest", "longest", "sha256"),
    }
    write_meta(folder, meta)
    return VectorShards(folder)


def embed(model: PairModel | Pipeline, items: Any, side: Side) -> NDArray[np.float32]:
    """Vectors of items whose inner products are the model's similarities.

    Parameters
    ----------
    model : PairPipeline or EmbeddingModel
        As for `write_vectors`.
    items : matrix, Items or list of str
        One batch, as for `write_vectors`.
    side : {"x", "y"}
        Whose items they are.

    Returns
    -------
    ndarray of float32, shape (n, k)
        Of length 1 where the model compares by cosine; zeros for an item
        without any known feature.

    Raises
    ------
    ValueError
        If the model has no such vectors, or they are not finite.
    """
    kind = _kind(model)
    own: Any = getattr(model, "model_", model)
    if not (items.shape[0] if hasattr(items, "shape") else len(items)):
        width = own.n_components_ if isinstance(own, EmbeddingModel) else own.x_factors_.shape[1]
        return np.empty((0, width), dtype=np.float32)
    matrix = _features(model, items, side)
    if isinstance(own, EmbeddingModel):
        Z = own.coordinates_of(matrix, side)
    else:
        matrix = unit_rows(matrix) if own.scales_items else matrix
        factors = own.x_factors_ if side == "x" else own.y_factors_
        Z = np.asarray(matrix @ factors.astype(matrix.dtype, copy=False))
    vectors = np.ascontiguousarray(Z, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError(
            f"The model gives vectors that are not finite for this batch ({kind} of "
            f"{vectors.shape[1]} dimensions). Fit it again, and look for infinite features."
        )
    return vectors


def model_digest(model: PairModel | Pipeline) -> str:
    """What tells a fitted model from every other one."""
    return state_digest({"model": getattr(model, "model_", model)})


def _kind(model: PairModel | Pipeline) -> str:
    """How the vectors are compared; an error where inner products are not the similarity."""
    from simviz.methods.ssi import SSI

    own = getattr(model, "model_", model)
    if not hasattr(own, "tags"):
        raise ValueError(
            f"{type(own).__name__} has no vectors of its own: a blend mixes the scores of two "
            "models, and an unfitted pipeline has none. Write those of one fitted pipeline."
        )
    if isinstance(own, SSI) and own.form == "low_rank" and not own.shared:
        return "dot"
    kind = getattr(own, "similarity_kind", "none")
    if kind not in _KINDS or not isinstance(own, EmbeddingModel):
        remedy = "Take a method that puts both sides into one space (shared=False for SSI)"
        if kind == "js":
            remedy = "Fit it with measure='hellinger', which orders almost alike"
        raise ValueError(
            f"{own.tags.title} compares items in a way that is no inner product of vectors. "
            f"{remedy}."
        )
    return str(kind)


def _features(model: PairModel | Pipeline, items: Any, side: Side) -> Any:
    """A batch as features; sparse matrices are features already."""
    if not hasattr(model, "model_") or sp.issparse(items):
        return items
    pipeline = cast("PairPipeline", model)
    content = items.content if isinstance(items, Items) else items
    if isinstance(content, Sequence):
        content = np.array(content, dtype=object)
    part = pipeline.x_features_ if side == "x" else pipeline.y_features_
    return part.transform(content)


def _batches(items: Any) -> Iterator[tuple[int, Any, Sequence[str] | None]]:
    """Yield the number of each batch, the batch, and its ids if it has any."""
    if sp.issparse(items) or isinstance(items, np.ndarray | Items):
        items = [items]
    for i, batch in enumerate(items):
        if isinstance(batch, str):
            raise ValueError(
                f"Items come in batches, each a list of texts; got the text {batch[:40]!r} "
                "alone. Give a list of lists."
            )
        yield i, batch, batch.ids.tolist() if isinstance(batch, Items) else None


def _write_part(
    i: int, content: Any, ids: Sequence[str] | None, model: Any, how: tuple[Path, Side, str]
) -> dict[str, Any]:
    """Embed one batch and write its files; return what is noted of it."""
    folder, side, dtype = how
    name = f"part-{i:05d}"
    vectors = embed(model, content, side)
    lengths = np.sqrt(np.einsum("ik,ik->i", vectors, vectors, dtype=np.float64))
    with np.errstate(over="ignore"):
        stored = vectors.astype(dtype, copy=False)
    if not np.isfinite(stored).all():
        raise ValueError("Some vectors are too long for float16. Take dtype='float32'.")
    has_ids = write_ids(folder, name, ids, len(vectors))
    write_array(folder / f"{name}.npy", stored)
    return {
        "names": name,
        "rows": len(vectors),
        "width": vectors.shape[1],
        "shortest": float(lengths.min()) if len(lengths) else 0.0,
        "longest": float(lengths.max()) if len(lengths) else 0.0,
        "sha256": bytes_digest(stored),
        "ids": has_ids,
    }


def _write_shard(
    i: int, model: Any, items: SparseShards, how: tuple[Path, Side, str]
) -> dict[str, Any]:
    """Embed one shard on a worker, which reads the features itself."""
    return _write_part(i, items[i], items.ids(i), model, how)
