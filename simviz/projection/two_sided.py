"""The two-sided layout: a drawing that keeps what is near within a side and across the sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._numba import threads_for
from simviz.callbacks import Callback
from simviz.projection import _two_sided_kernels as kernels, layout
from simviz.projection.layout import BLOCK_BYTES, FloatArray

Single = NDArray[np.float32]
Float = TypeVar("Float", np.float32, np.float64)
#: How items of different sides are compared: by distance or inner product of their vectors.
Similarity = Literal["euclidean", "dot"]
#: Share of the forces that acts across the sides where none is given.
SHARE = 0.7


class Stage(NamedTuple):
    """A piece of the optimisation."""

    n_iter: int
    exaggeration: float  # how many times too strongly neighbours attract one another
    own: float  # perplexity within a side
    other: float  # and across the sides
    # Whether each point has normalisers of its own, within its side and across; else there is one
    # for all pairs, as in t-SNE.
    by_row: bool = False


#: From wide neighbourhoods to narrow ones. In those with one normaliser for all, the forces across
#: the sides are half of all; then `SHARE` of them.
STAGES = (
    Stage(200, 12, 50, 50),
    Stage(150, 4, 30, 30),
    Stage(150, 2, 10, 10, by_row=True),
    Stage(300, 1, 20, 5, by_row=True),
)
#: Steps by which a drawing is carried on.
_MORE = 60
#: Neighbours that are looked at, in perplexities.
_PER_PERPLEXITY = 3
#: Below so many items of a side, or points that all coincide, it is drawn by distances.
_MIN_ITEMS = 3
#: With more points the far ones count by cell: forces then differ by a thousandth.
_EXACT = 1_500
#: Cells along an edge of the grid.
_MIN_CELLS, _MAX_CELLS = 8, 600
#: Width of a small cell, where a point meets cells alone, and how many an edge has at most.
_SMALL_WIDTH, _MAX_SMALL_CELLS = 0.2, 75
_LONGEST_STEP, _SLOW_STEPS = 5.0, 20


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The nearest items of one side to each item of one side."""

    index: NDArray[np.int32]  # rows (n, k), the nearest first
    cost: Single  # squared distances, or similarities with their sign turned, rising
    n_other: int  # items to choose from

    def shares(self, perplexity: float) -> sp.csr_array:
        """Conditional probabilities of the neighbours of each row, calibrated row by row."""
        k = min(self.cost.shape[1], int(np.ceil(_PER_PERPLEXITY * perplexity)))
        counts = np.full(len(self.cost), k)
        if k < self.cost.shape[1]:
            # Of several that are equally near all count or none: only their order in the data
            # could choose among them.
            counts = (self.cost[:, :k] < self.cost[:, [k]]).sum(axis=1)
        out = np.empty((len(self.cost), k), dtype=np.float32)
        with threads_for(20 * out.size):
            kernels.calibrate(self.cost, counts, perplexity, out)
        starts = np.arange(0, out.size + 1, k)
        parts = out.ravel(), self.index[:, :k].ravel(), starts
        shares = sp.csr_array(parts, shape=(len(out), self.n_other))
        shares.eliminate_zeros()
        return shares


def two_sided_map(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    *,
    similarity: Similarity | ArrayLike = "euclidean",
    share: float = SHARE,
    random_state: int = 0,
    callback: Callback | None = None,
    start: tuple[ArrayLike, ArrayLike] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Positions that keep each point near its neighbours of its own side and of the other.

    Neighbours become probabilities, row by row and for each pair of sides by itself, so that
    neither a gap between the sides nor an item that is near to everything counts. The drawing
    follows them as t-SNE does, from wide neighbourhoods to narrow ones, at last with normalisers
    of each point's own. Nothing but the model's vectors or similarities enters.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in the model's space; distances within a side are read off them. Rows of
        zeros stand for items of which nothing is known.
    similarity : {"euclidean", "dot"} or array-like of shape (n_x, n_y), default="euclidean"
        How items of different sides are compared: by these coordinates, or by a table of
        similarities.
    share : float, default=0.7
        Share of the forces that acts across the sides, above 0 and below 1.
    random_state : int, default=0
        Seed of what parts points that coincide.
    callback : callable, optional
        See `simviz.callbacks`. A true answer stops and keeps the positions reached.
    start : tuple of array-like of shape (n_x, 2) and (n_y, 2), optional
        Positions of a two-sided drawing of the same items by a slightly different model. It is
        carried on from there for a short while, without being turned.

    Returns
    -------
    x, y : ndarray of shape (n_x, 2) and (n_y, 2)
        Positions centred at the mean of all points, the widest direction first. Unknown items lie
        in one place beside the others. Those of `mds_map` for fewer than 3 known items on a side.

    Raises
    ------
    ValueError
        If the sides do not lie in one space, or an option is out of range.

    Notes
    -----
    The same input gives the same picture on one machine, whatever the number of threads. Beyond
    1,500 points distant ones repel by cells of a grid.

    References
    ----------
    van der Maaten, L., Hinton, G. (2008). Visualizing data using t-SNE. Journal of Machine
    Learning Research 9.
    Globerson, A., Chechik, G., Pereira, F., Tishby, N. (2007). Euclidean embedding of
    co-occurrence data. Journal of Machine Learning Research 8.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}.")
    x, y = layout.check_sides(x_vectors, y_vectors)
    how = check_similarity(similarity, len(x), len(y), np.float32)
    table = None if isinstance(how, str) else how
    goes_on = start is not None
    begin = start or layout.mds_map(layout.centred(x), layout.centred(y))
    first = np.concatenate(layout.check_sides(*begin))
    known_x, known_y = _known(x, table), _known(y, None if table is None else table.T)
    if min(known_x.sum(), known_y.sum()) < _MIN_ITEMS or not first.any():
        return first[: len(x)], first[len(x) :]
    if table is not None:
        how = table[np.ix_(known_x, known_y)]
    blocks = _blocks(x[known_x], y[known_y], how)
    known = np.concatenate([known_x, known_y])
    stages: Sequence[Stage] = STAGES
    if goes_on:
        stages = (STAGES[-1]._replace(n_iter=_MORE),)
    else:
        first *= 1e-4 / first[known].std()  # leaves the first stage free
    points = _optimise(blocks, first[known], stages, share, random_state, callback)
    if not goes_on:
        points = layout.centred(points)
        points = points @ layout.principal_axes(points.T @ points, 2)
    drawn = np.empty_like(first)
    drawn[known] = points
    drawn[~known] = points.min(axis=0) - 0.03 * np.ptp(points, axis=0)
    return drawn[: len(x)], drawn[len(x) :]


def check_similarity(
    similarity: Similarity | ArrayLike, n_x: int, n_y: int, dtype: type[Float]
) -> Similarity | NDArray[Float]:
    """A way to compare both sides, or a finite table of their similarities."""
    if isinstance(similarity, str):
        if similarity in ("euclidean", "dot"):
            return cast(Similarity, similarity)
        raise ValueError(f"similarity must be 'euclidean', 'dot' or a table, got {similarity!r}.")
    table = np.asarray(similarity, dtype=dtype)
    if table.shape != (n_x, n_y) or not np.isfinite(table).all():
        raise ValueError(
            f"A table of similarities must be finite and of shape ({n_x}, {n_y}), one row per x "
            f"item and one column per y item; got shape {table.shape}."
        )
    return table


def _known(vectors: FloatArray, table: Single | None) -> NDArray[np.bool_]:
    """Items that differ from nothing, and that do not find all others alike."""
    known = np.asarray(vectors.any(axis=1))
    return known if table is None else known & (table != table[:, [0]]).any(axis=1)


def _blocks(x: FloatArray, y: FloatArray, similarity: Similarity | Single) -> list[list[Block]]:
    """Nearest items for both sides among both sides, at the widest stage."""
    own = int(np.ceil(_PER_PERPLEXITY * max(stage.own for stage in STAGES))) + 1
    other = int(np.ceil(_PER_PERPLEXITY * max(stage.other for stage in STAGES))) + 1
    if isinstance(similarity, str):
        across = [_nearest(a, b, other, similarity) for a, b in ((x, y), (y, x))]
    else:
        across = [_largest(table, other) for table in (similarity, similarity.T)]
    within = [_nearest(side, None, own) for side in (x, y)]
    return [[within[0], across[0]], [across[1], within[1]]]


def _nearest(
    items: FloatArray, others: FloatArray | None, k: int, by: Similarity = "euclidean"
) -> Block:
    """The k nearest others to each item, exact; without others, those of its own side."""
    is_own = others is None
    # Moved together: single precision then loses nothing that a drawing could show.
    middle = items.mean(axis=0) if others is None or by == "euclidean" else np.zeros(1)
    a = (items - middle).astype(np.float32)
    b = a if others is None else (others - middle).astype(np.float32)
    norms = np.einsum("ij,ij->i", b, b) if by == "euclidean" else np.zeros(1, dtype=np.float32)
    k = min(k, len(b) - is_own)
    index, cost = np.empty((len(a), k), dtype=np.int32), np.empty((len(a), k), dtype=np.float32)
    size = max(1, BLOCK_BYTES // (4 * len(b)))
    for start in range(0, len(a), size):
        rows = slice(start, start + size)
        block = a[rows] @ b.T
        block *= -2
        block += norms
        if is_own:
            own = np.arange(start, min(start + size, len(a)))
            block[own - start, own] = np.inf
        index[rows], cost[rows] = _least(block, k)
    return Block(index, cost, len(b))


def _largest(table: Single, k: int) -> Block:
    k = min(k, table.shape[1])
    return Block(*_least(-table, k), table.shape[1])


def _least(block: Single, k: int) -> tuple[NDArray[np.int32], Single]:
    """Columns of the k least of each row, rising; equal ones by column."""
    near = np.broadcast_to(np.arange(block.shape[1]), block.shape)
    if k < block.shape[1]:
        near = np.argpartition(block, k - 1, axis=1)[:, :k]
    values = np.take_along_axis(block, near, axis=1)
    order = np.lexsort((near, values), axis=1)
    index = np.take_along_axis(near, order, axis=1).astype(np.int32)
    return index, np.take_along_axis(values, order, axis=1)


def _goal(blocks: list[list[Block]], stage: Stage, share: float) -> sp.csr_array:
    """Attraction of each pair of points: probabilities of both rows, summing to 1 in all."""
    (xx, xy), (yx, yy) = blocks
    n = len(xx.index) + len(yy.index)
    x_own, y_own = xx.shares(stage.own), yy.shares(stage.own)
    across = (xy.shares(stage.other) + yx.shares(stage.other).T) * (share / (2 * n))
    weight = (1 - share) / (2 * n)
    within = [(own + own.T) * weight for own in (x_own, y_own)]
    goal = sp.block_array([[within[0], across], [across.T, within[1]]], format="csr")
    goal.sort_indices()
    return goal


def _optimise(
    blocks: list[list[Block]],
    start: FloatArray,
    stages: Sequence[Stage],
    share: float,
    random_state: int,
    callback: Callback | None,
) -> FloatArray:
    """Follow the gradient through stages."""
    n, n_x = len(start), len(blocks[0][0].index)
    # The jitter parts points that coincide.
    jitter = np.random.RandomState(random_state).normal(scale=1e-6, size=start.shape)
    at = np.ascontiguousarray((start + jitter).T, dtype=np.float32)
    new, speed, gain = np.empty_like(at), np.zeros_like(at), np.ones_like(at)
    charges, push = np.zeros((2, n), dtype=np.float32), np.empty((4, n), dtype=np.float32)
    n_cells = 1 if n <= _EXACT else _MIN_CELLS
    done, total = 0, sum(stage.n_iter for stage in stages)
    for stage in stages:
        across = share if stage.by_row else 0.5
        goal = _goal(blocks, stage, across)
        weights = goal.data.astype(np.float32)
        rate = np.float32(n / stage.exaggeration)
        n_cells = repelled(at, n_x, charges, push, n_cells)
        for _ in range(stage.n_iter):
            sums = np.maximum(push[2:], 1e-12)
            # Of the step before: it has nearly the same positions.
            if stage.by_row:
                charges[0] = (1 - across) / (2 * n) / sums[0]
                charges[1] = across / (2 * n) / sums[1]
            else:
                charges[:] = 0.5 / sums.sum(dtype=np.float64)
            n_cells = repelled(at, n_x, charges, push, n_cells)
            momentum = np.float32(0.5 if done < _SLOW_STEPS else 0.8)
            with threads_for(goal.nnz):
                kernels.descend(
                    at, push, goal.indptr, goal.indices, weights,
                    np.float32(stage.exaggeration), rate, momentum, np.float32(_LONGEST_STEP),
                    speed, gain, new,
                )  # fmt: skip
            at, new = new, at
            done += 1
            if callback is not None and callback(done, total, {}):
                return at.T.astype(np.float64)
    return at.T.astype(np.float64)


def repelled(at: Single, n_x: int, charges: Single, push: Single, n_cells: int = 1) -> int:
    """Repulsion of all points (two rows) and sums of kernels; returns the next number of cells."""
    n = at.shape[1]
    left, low = at.min(axis=1).astype(np.float64)
    extent = max(float(np.ptp(at, axis=1).max()), 1e-9)
    radius = 2
    if n_cells > 1 and extent < _MAX_SMALL_CELLS * _SMALL_WIDTH:
        # The kernel hardly changes within such a cell. All points count by their cells while most
        # of them crowd in the middle.
        radius, n_cells = -1, int(extent / _SMALL_WIDTH) + 2
    width = extent / n_cells * (1 + 1e-6)
    sides = []
    for part in (slice(0, n_x), slice(n_x, n)):
        own = at[:, part]
        order, begins = kernels.sort_into_cells(own[0], own[1], left, low, width, n_cells)
        x, y = own[:, order]
        sides.append((part, order, x, y, begins, charges[:, part][:, order]))
    ones = np.ones(n, dtype=np.float32)
    out = [np.empty((3, end), dtype=np.float32) for end in (n_x, n - n_x)]
    for s, (part, order, x, y, _, charge) in enumerate(sides):
        force = np.zeros((2, len(order)), dtype=np.float32)
        for kind in range(2):
            _, _, to_x, to_y, begins, other = sides[s ^ kind]
            first, *cells = kernels.sum_cells(to_x, to_y, other[kind], begins)
            with threads_for(len(x) * len(to_x)):
                kernels.repel(
                    x, y, charge[kind], left, low, width, n_cells, to_x, to_y, ones, other[kind],
                    begins, first, cells[0], cells[1], cells[2], cells[3], radius, out[s],
                )  # fmt: skip
            force += out[s][:2]
            push[2 + kind, part][order] = out[s][2]
        push[:2, part][:, order] = force
    push[2] -= 1  # a point has no kernel with itself
    if n_cells == 1 or radius < 0:
        return n_cells
    # Costs are even where a point meets as many cells as points in the near ones. Clusters crowd
    # into few cells, so this follows the drawing.
    counts = [np.diff(side[4]) for side in sides]
    n_met = sum(int((count > 0).sum()) for count in counts)
    n_near = sum(25 * float(count @ count) / count.sum() for count in counts)
    finer = n_cells * 1.1 + 1 if n_near > n_met else n_cells / 1.1
    return int(min(max(finer, _MIN_CELLS), _MAX_CELLS))


def place_new(points: ArrayLike, scores: ArrayLike) -> FloatArray:
    """Put a new item among the items of the other side (n, 2) on a two-sided drawing."""
    # The cost is the item's own part of that of the drawing, all else fixed: its neighbours'
    # probabilities, calibrated as those of a drawn item, against the kernel around its place. The
    # best of the places that descents from each of the five nearest items find.
    from scipy.optimize import minimize

    where = np.asarray(points, dtype=np.float64)
    near = np.asarray(scores, dtype=np.float32)
    if where.shape != (len(near), 2) or not len(near):
        raise ValueError(
            f"{len(where)} points and {len(near)} scores do not make a place: give a score a "
            "point, at least one."
        )
    last = STAGES[-1]
    n_near = int(np.ceil(_PER_PERPLEXITY * last.other)) + 1
    shares = _largest(near[None], n_near).shares(last.other)
    if not shares.nnz:  # all are equally near
        return where.mean(axis=0)
    order = np.argsort(-shares.data, kind="stable")
    index, weights = shares.indices[order], shares.data[order].astype(np.float64)

    def cost(at: FloatArray) -> tuple[float, FloatArray]:
        away = at - where
        far = 1 + (away**2).sum(axis=1)
        kernel = 1 / far
        total = kernel.sum()
        drawn = weights @ np.log(far[index]) + np.log(total)
        pull = (weights * kernel[index]) @ away[index]
        return float(drawn), 2 * (pull - (kernel**2) @ away / total)

    ends = [minimize(cost, where[i] + 0.1, jac=True, method="BFGS") for i in index[:5]]
    best: FloatArray = min(ends, key=lambda end: end.fun).x
    return best
