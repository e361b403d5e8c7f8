"""From items to vectors whose inner products are the model's similarities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import EmbeddingModel, unit_rows
from simviz.data.items import Items
from simviz.persistence import state_digest
from simviz.shards._files import new_folder, write_array, write_meta, write_names
from simviz.shards.vectors import FORMAT, Side, VectorShards, bytes_digest

if TYPE_CHECKING:
    from distributed import Client

    from simviz.base import PairModel
    from simviz.pipeline import PairPipeline, Pipeline
    from simviz.shards.csr import SparseShards

_KINDS = ("cosine", "dot", "hellinger")
_WAITING = 2  # shards a worker that are sent ahead of those that are done


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A shard of vectors on disk, and what is noted of it."""

    n_items: int
    n_components: int
    shortest: float
    longest: float
    sha256: str
    has_ids: bool


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
        Features on disk, of which each shard becomes one of vectors; or
        batches, each a matrix of features or, for a pipeline, `Items` or a
        list of texts. One batch is held at a time.
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
    ValueError
        If the model has no vectors whose inner products are its
        similarities, vectors are not finite, or there is nothing to write.
    StoreError
        If the folder holds shards already.

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
    how = (str(folder), side, dtype)
    if client is None:
        written = [
            _write_part(model, content, ids, i, how)
            for i, (content, ids) in enumerate(_batches(items))
        ]
    else:
        written = _shared_out(model, items, how, client)
    widths = {part.n_components for part in written}
    if len(widths) != 1:
        raise ValueError("There is nothing to embed. Give at least one batch of items.")
    if len({part.has_ids for part in written}) > 1:
        raise ValueError("Some batches have ids and others do not. Give ids for all, or for none.")
    meta = {
        "format": FORMAT,
        "side": side,
        "similarity": kind,
        "n_components": widths.pop(),
        "dtype": dtype,
        "model": model_digest(model),
        "ids": written[0].has_ids,
        "names": [_name(i) for i in range(len(written))],
        "rows": [part.n_items for part in written],
        "shortest": [part.shortest for part in written],
        "longest": [part.longest for part in written],
        "sha256": [part.sha256 for part in written],
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

    Examples
    --------
    >>> from simviz.methods import get_method
    >>> model = get_method("cca")(2).fit(np.eye(4), np.eye(4))
    >>> embed(model, np.eye(4), "x").shape
    (4, 2)
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
    """What tells a fitted model from every other one.

    Parameters
    ----------
    model : PairModel or PairPipeline
        Fitted. Of a pipeline the method counts, not the features: these may
        have been applied before.

    Returns
    -------
    str
        The same for equal parameters and learned arrays, wherever it is loaded.
    """
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
        remedy = (
            "Fit it with measure='hellinger', which orders almost alike"
            if kind == "js"
            else "Take a method that puts both sides into one space (shared=False for SSI)"
        )
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


def _batches(items: Any) -> Iterator[tuple[Any, Sequence[str] | None]]:
    """Batches with their ids, if they have any."""
    if hasattr(items, "n_items"):
        yield from ((items[i], items.ids(i)) for i in range(len(items)))
        return
    if sp.issparse(items) or isinstance(items, np.ndarray | Items):
        items = [items]
    for batch in items:
        if isinstance(batch, str):
            raise ValueError(
                f"Items come in batches, each a list of texts; got the text {batch[:40]!r} "
                "alone. Give a list of lists."
            )
        yield batch, batch.ids.tolist() if isinstance(batch, Items) else None


def _name(i: int) -> str:
    return f"part-{i:05d}"


def _write_part(
    model: Any, content: Any, ids: Sequence[str] | None, i: int, how: tuple[str, Side, str]
) -> WrittenPart:
    """Embed one batch and write its files."""
    folder, side, dtype = how
    vectors = embed(model, content, side)
    if ids is not None and len(ids) != len(vectors):
        raise ValueError(
            f"Batch {i} has {len(vectors):,} items and {len(ids):,} ids. Give one id an item."
        )
    lengths = np.sqrt(np.einsum("ik,ik->i", vectors, vectors, dtype=np.float64))
    with np.errstate(over="ignore"):
        stored = vectors.astype(dtype, copy=False)
    if not np.isfinite(stored).all():
        raise ValueError("Some vectors are too long for float16. Take dtype='float32'.")
    write_array(Path(folder) / f"{_name(i)}.npy", stored)
    if ids is not None:
        write_names(Path(folder), _name(i), ids)
    ends = (float(lengths.min()), float(lengths.max())) if len(lengths) else (0.0, 0.0)
    n, width = vectors.shape
    return WrittenPart(n, width, *ends, bytes_digest(stored), ids is not None)


def _write_shard(model: Any, items: Any, i: int, how: tuple[str, Side, str]) -> WrittenPart:
    """The same on a worker, which reads the features itself."""
    return _write_part(model, items[i], items.ids(i), i, how)


def _shared_out(
    model: Any, items: Any, how: tuple[str, Side, str], client: Client
) -> list[WrittenPart]:
    """All parts, written by workers, a few shards ahead of those that are done."""
    from distributed import as_completed

    if not hasattr(items, "n_items"):
        raise ValueError(
            "Workers read features from disk by themselves. Write them as SparseShards first, "
            "or leave out the client."
        )
    sent = client.scatter([model], broadcast=True, hash=False)[0]
    left = iter(range(len(items)))

    def submit(i: int) -> Any:
        return client.submit(_write_shard, sent, items, i, how, pure=False, key=None)

    numbers: dict[Any, int] = {}
    ahead = _WAITING * max(1, len(client.nthreads()))
    for _, i in zip(range(ahead), left, strict=False):
        numbers[submit(i)] = i
    done: dict[int, WrittenPart] = {}
    running = as_completed(list(numbers))
    for future in running:
        done[numbers.pop(future)] = future.result()
        if (following := next(left, None)) is not None:
            sent_on = submit(following)
            numbers[sent_on] = following
            running.add(sent_on)
    return [done[i] for i in sorted(done)]
