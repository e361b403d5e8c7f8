"""S2Net's minibatches from shards on disk, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz.base import Matrix
from simviz.methods._s2net_training import Batches, batches_of_a_pass
from simviz.methods.s2net import S2Net
from simviz.params import validate_params
from simviz.relevance import Relevance
from simviz.scale.pairs import PairRows
from simviz.scale.shards import SparseShards

M = TypeVar("M", bound=S2Net)
Data = tuple[Matrix, Matrix, Relevance]

_RUNS = 32  # of neighbours that a buffer holds
_FEWEST, _WATCHED = 20, 4096  # held-out queries
_RATE = 0.3  # of Adam: fast, since every pass reads the disk


def fit_s2net(
    model: M,
    X: SparseShards,
    Y: SparseShards,
    pairs: PairRows | None = None,
    *,
    validation: Data | None = None,
    buffer_size: int = 100_000,
    n_start: int = 8_000,
) -> M:
    """Fit S2Net by Adam on data that stay on the disk.

    Every pass reads all training pairs once, a buffer at a time: 32 runs of neighbouring x rows
    from anywhere, other ones in each pass, with the y rows that they were judged with; batches are
    drawn from these at random. With the same validation set and rate, and a buffer and a start
    that hold all queries, the model is that of `S2Net.fit`, to the last bit. What is held out is
    not learned from, and the rate is 0.3 unless the model has one.

    Parameters
    ----------
    model : S2Net
        With ``solver="adam"``; `shared` needs shards of equal width.
    X, Y : SparseShards
        Features of both sides.
    pairs : PairRows, optional
        Training pairs; row i belongs to row i when omitted.
    validation : tuple of (matrix, matrix, Relevance), optional
        Items and judgments to stop early by. When omitted, a share of `validation_fraction` of the
        queries is held out, 4,096 at most, with their partners if no other query has those.
    buffer_size : int, default=100,000
        Queries that are held at a time, with their partners.
    n_start : int, default=8,000
        Queries that the start (`init`) is fitted on, drawn at random; for "opca"
        and "cca" memory grows with its square.

    Returns
    -------
    S2Net
        The same model, fitted.

    Raises
    ------
    ValueError
        If the solver is another one, sides or pairs do not fit, a number is
        too small, or as in `S2Net.fit`.

    Notes
    -----
    Memory: parameters with their gradient, moments and averages, some eight times (d_x + d_y) k
    numbers; the buffer; the start; and 8 bytes a pair. Partners are read in the order of the y
    side; on a slow disk, keep partners near one another.

    References
    ----------
    Xu, L., Qiu, S., Yuan, B., Jiang, J., Renggli, C., Gan, S., Kara, K., Li,
    G., Liu, J., Wu, W., Ye, J. and Zhang, C. (2022). In-database machine
    learning with CorgiPile: stochastic gradient descent without full data
    shuffle. SIGMOD.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> rng = np.random.default_rng(0)
    >>> X, Y = (sp.csr_array(rng.random((90, d))) for d in (9, 7))
    >>> with tempfile.TemporaryDirectory() as x, tempfile.TemporaryDirectory() as y:
    ...     sides = SparseShards.write(x, [X[:40], X[40:]]), SparseShards.write(y, [Y])
    ...     model = fit_s2net(S2Net(3, max_iter=2, validation_fraction=0), *sides)
    >>> model.x_projection_.shape, model.n_iter_
    ((9, 3), 2)
    """
    if model.solver != "adam":
        raise ValueError(
            f"solver={model.solver!r} compares all pairs in every iteration, which needs all of "
            "them in memory. Use solver='adam', or simviz.scale.lbfgs.fit_s2net_lbfgs."
        )
    validate_params(model)
    pairs = _checked(X, Y, pairs)
    for name, value in (("buffer_size", buffer_size), ("n_start", n_start)):
        if value < 2:
            raise ValueError(f"{name} is a number of queries, got {value}. Give at least 2.")
    rng = check_random_state(model.random_state)
    queries = pairs.queries()
    if validation is None:
        queries, validation = _held_out(X, Y, pairs, queries, model.validation_fraction, rng)
    sample = queries
    if n_start < len(queries):
        sample = np.sort(queries[rng.choice(len(queries), n_start, replace=False)])
    fitting = _Streamed(**{**model.get_params(deep=False), "validation_fraction": 0.0})
    fitting.stream = Stream(X, Y, pairs, queries, model.batch_size, buffer_size)
    watched = dict(zip(("X_val", "y_val", "relevance_val"), validation or (), strict=False))
    return fitted_as(model, fitting, *fitting.stream.load(sample), **watched)


def fitted_as(model: M, fitting: S2Net, *data: Any, **validation: Any) -> M:
    """Fit a model by another one of its kind, and give it what that one learned."""
    fitting.set_callbacks(*getattr(model, "_callbacks", ()))
    before = set(vars(fitting))
    fitting.fit(*data, **validation)
    for name, value in vars(fitting).items():
        if name not in before:
            setattr(model, name, value)
    return model


class Stream:
    """Batches of a pass, read from shards a buffer at a time."""

    def __init__(
        self, X: SparseShards, Y: SparseShards, pairs: PairRows, queries: NDArray[np.integer],
        batch_size: int, buffer_size: int,
    ) -> None:  # fmt: skip
        self.X, self.Y, self.pairs, self.queries = X, Y, pairs, queries
        self.batch_size = batch_size
        self.n = batches_of_a_pass(len(queries), batch_size)
        # A buffer has one batch at least, which is larger than what it should hold otherwise.
        self.n_buffers = min(self.n, -(-len(queries) // buffer_size))
        self.rng: Any = None

    def load(self, queries: NDArray[np.integer]) -> Data:
        """Read some queries, and all items that they were judged with."""
        candidates, relevance = self.pairs.between(queries)
        return self.X.take(queries), self.Y.take(candidates), relevance

    def __iter__(self) -> Iterator[Data]:
        """Go through all queries once, in a new order."""
        counts = np.array_split(np.arange(self.n), self.n_buffers)
        for queries, own in zip(self._buffers(), counts, strict=True):
            batches = Batches(*self.load(queries), self.batch_size, self.rng)
            batches.n = len(own)
            yield from batches

    def _buffers(self) -> Iterator[NDArray[np.integer]]:
        """Queries of each buffer: runs of neighbours, drawn at random, in their order."""
        if self.n_buffers == 1:
            yield self.queries
            return
        runs = np.array_split(self.queries, min(len(self.queries), _RUNS * self.n_buffers))
        for buffer in np.array_split(self.rng.permutation(len(runs)), self.n_buffers):
            yield np.concatenate([runs[i] for i in np.sort(buffer)])


class _Streamed(S2Net):
    """S2Net whose batches are read from the disk; it is given the sample to start from."""

    stream: Stream

    def _rates(self, held: Any) -> tuple[float, ...]:
        return (self.learning_rate or _RATE,)  # what is read from a disk is read once

    def _batches(self, data: Data, rng: Any) -> Stream:
        self.stream.rng = rng
        return self.stream


def _checked(X: SparseShards, Y: SparseShards, pairs: PairRows | None) -> PairRows:
    """Pairs that fit the sides."""
    if pairs is None:
        if X.n_items != Y.n_items:
            raise ValueError(
                f"Without pairs row i belongs to row i, got {X.n_items:,} x items and "
                f"{Y.n_items:,} y items. Give pairs."
            )
        return PairRows.identity(X.n_items)
    for name, rows, shards in (("x", pairs.x, X), ("y", pairs.y, Y)):
        if rows.max() >= shards.n_items:
            raise ValueError(
                f"Pairs name {name} row {rows.max():,}, the last of the {name} side is "
                f"{shards.n_items - 1:,}. Number the items as they stand in the shards."
            )
    return pairs


def _held_out(
    X: SparseShards, Y: SparseShards, pairs: PairRows, queries: NDArray[np.int32],
    fraction: float, rng: Any,
) -> tuple[NDArray[np.int32], Data | None]:  # fmt: skip
    """Queries to learn from, and some items to watch."""
    n = min(_WATCHED, round(fraction * len(queries)))
    if n < _FEWEST or n == len(queries):
        return queries, None
    held = np.zeros(len(queries), dtype=np.bool_)
    held[rng.choice(len(queries), n, replace=False)] = True
    learned, watched = queries[~held], queries[held]
    candidates, relevance = pairs.between(watched)
    if relevance.unjudged == "ignore" and not (
        relevance.positives.nnz and relevance.negatives.nnz
    ):
        return queries, None
    known = np.zeros(Y.n_items, dtype=np.bool_)
    known[pairs.y[pairs.among(learned)]] = True
    # Candidates of one query are new with it; those of many are all there always.
    if known[candidates].any() and len(candidates) < _WATCHED:
        others = np.setdiff1d(np.arange(Y.n_items), candidates, assume_unique=True)
        more = rng.choice(others, min(len(others), _WATCHED - len(candidates)), replace=False)
        candidates, relevance = pairs.between(watched, np.sort(np.r_[candidates, more]))
    return learned, (X.take(watched), Y.take(candidates), relevance)
