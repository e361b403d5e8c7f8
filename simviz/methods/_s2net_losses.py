"""What S2Net minimises, put together from judgments and parameters."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from copy import copy
from functools import cache
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._blas import add_product
from simviz._extras import missing, require
from simviz._numba import threads_for
from simviz._types import Array, Ints, Reals
from simviz.methods._s2net_kernels import (
    HINGE,
    LOGISTIC,
    SOFTMAX,
    WIDTH,
    add_pairs,
    add_scaled,
    compare_listed,
    compare_matched,
    compare_rows,
    pair_scores,
    sum_exponentials,
    weigh_exponentials,
)
from simviz.methods._training import torch_device
from simviz.relevance import Relevance

_ENTRIES = 2**24  # of a block: 64 MB of float32
_MAX_CACHED = 10**8  # scores that may be kept from one pass to the next: 400 MB of float32
_ROWS = (128, 1024)  # a block of fewer wastes products, of more saves nothing
# bfloat16 pays off where products outweigh the passes over a block: at a thousand items
# a side it took longer, at six thousand it was 1.0 to 1.3 times as fast with vectors of
# 256, and 1.6 times with 1,000.
_WIDE, MANY = 256, 2**24


_MINUS_INFINITY = 0xFF80  # in bits of bfloat16

T = TypeVar("T")
#: Called once a block; raises where the fit is to stop.
Tick = Callable[[], None]
#: Yields a share of a sum over all rows, is sent the sum, and returns a T.
Steps = Generator[Reals, Reals, T]

# float32 holds exp(2γ) · exp(2γ), and a double the product of eight of these, up to here.
_SINGLE_GAMMA = 20.0
_GROUP = 4096  # judged pairs that are compared with one another where no query has two
_KINDS = {"logistic": LOGISTIC, "triplet": HINGE, "softmax": SOFTMAX}


class ArrayPool:
    """Arrays that are used again: fresh pages cost more than what is written to them."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array with any content, the same one as long as shape and type are."""
        array = self._arrays.get(name)
        if array is None or array.shape != shape or array.dtype != dtype:
            array = self._arrays[name] = np.empty(shape, dtype=dtype)
        return array


class FloatBlocks:
    """Products of numpy, in the type of the vectors."""

    def __init__(
        self, P: Array, Q: Array, rows: int | None = None, *, memory: ArrayPool | None = None
    ) -> None:
        self.P, self.Q = P, Q
        self.rows = rows or int(np.clip(_ENTRIES // max(1, len(Q)), *_ROWS))
        self._memory = ArrayPool() if memory is None else memory
        self.dP, self.dQ = (
            self._memory.take(name, Z.shape, Z.dtype) for name, Z in (("dP", P), ("dQ", Q))
        )
        self.dP[:] = 0
        self.dQ[:] = 0
        self._buffer = self._block("block")

    def cached_scores(self) -> Iterator[tuple[slice, NDArray[Any] | None]]:
        """Yield slices of rows, with room where the scores of all may stay till the next pass."""
        shape = len(self.P), len(self.Q)
        fits = shape[0] * shape[1] <= _MAX_CACHED
        room = self._memory.take("kept", shape, self.entry_type) if fits else None
        for rows in self:
            yield rows, None if room is None else room[rows]

    @property
    def entry_type(self) -> Any:
        return self.P.dtype

    def _block(self, name: str) -> Array:
        return self._memory.take(name, (min(self.rows, len(self.P)), len(self.Q)), self.P.dtype)

    def __iter__(self) -> Iterator[slice]:
        for start in range(0, len(self.P), self.rows):
            yield slice(start, min(start + self.rows, len(self.P)))

    def scores(self, rows: slice, scale: float = 1.0) -> Array:
        """``scale`` P_B Qᵀ, in an array that the next call fills anew."""
        block = self._buffer[: rows.stop - rows.start]
        return np.matmul(self.P[rows] * self.P.dtype.type(scale), self.Q.T, out=block)

    def entries(self, rows: slice, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """P_B Qᵀ likewise, as the products leave it: floats, or bits of bfloat16."""
        return self.scores(rows) if out is None else np.matmul(self.P[rows], self.Q.T, out=out)

    #: A score of minus infinity among entries.
    minus_infinity: float = -np.inf

    def add_gradients(self, rows: slice, W: NDArray[Any], scale: float) -> None:
        """Add the derivatives that ``scale`` W, by the scores, is for the vectors."""
        # W is in the type of the vectors, or in that of `entries`.
        add_product(self.dP[rows], W, self.Q, scale)
        add_product(self.dQ, W.T, self.P[rows], scale)

    def transposed(self) -> Self:
        """Blocks of Q Pᵀ, whose gradients are collected in the same place."""
        other = copy(self)
        other.P, other.Q, other.dP, other.dQ = self.Q, self.P, self.dQ, self.dP
        other._buffer = other._block("turned block")
        return other


class TorchBlocks(FloatBlocks):
    """Products of torch: in bfloat16, or on another device."""

    def __init__(
        self,
        P: Array,
        Q: Array,
        rows: int | None = None,
        *,
        dtype: str,
        device: str = "cpu",
        memory: ArrayPool | None = None,
    ) -> None:
        import torch

        self.bits = dtype == "bfloat16" and device == "cpu"
        if self.bits and rows is None:
            rows = int(np.clip(2 * _ENTRIES // max(1, len(Q)), _ROWS[0], 2 * _ROWS[1]))
        super().__init__(P, Q, rows, memory=memory)
        self._torch = torch
        self._place = {"device": device, "dtype": getattr(torch, dtype)}
        self._P, self._Q = (torch.from_numpy(Z).to(**self._place) for Z in (P, Q))
        if self.bits:
            self.minus_infinity = _MINUS_INFINITY

    def transposed(self) -> Self:
        other = super().transposed()
        other._P, other._Q = self._Q, self._P
        return other

    def scores(self, rows: slice, scale: float = 1.0) -> Array:
        block = self._buffer[: rows.stop - rows.start]
        product = (self._P[rows] * scale) @ self._Q.T
        self._torch.from_numpy(block).copy_(product)
        return block

    @property
    def entry_type(self) -> Any:
        return np.dtype(np.uint16) if self.bits else self._buffer.dtype

    def entries(self, rows: slice, out: NDArray[Any] | None = None) -> NDArray[Any]:
        if not self.bits:
            scores = self.scores(rows)
            if out is None:
                return scores
            out[:] = scores
            return out
        block = out
        if block is None:
            block = self._memory.take("bits", self._buffer.shape, np.uint16)
            block = block[: rows.stop - rows.start]
        self._torch.mm(self._P[rows], self._Q.T, out=self._tensor(block))
        return block

    def add_gradients(self, rows: slice, W: NDArray[Any], scale: float) -> None:
        if self.bits and W.dtype == np.uint16:
            weights = self._tensor(W)
        else:
            weights = self._torch.from_numpy(W).to(**self._place)
        for name, out, W_, Z in (
            ("to dP", self.dP[rows], weights, self._Q),
            ("to dQ", self.dQ, weights.T, self._P[rows]),
        ):
            if self.bits:
                product = self._memory.take(name, out.shape, np.uint16)
                self._torch.mm(W_, Z, out=self._tensor(product))
                with threads_for(product.size):
                    add_scaled(product, out.dtype.type(scale), out)
            else:
                total = self._torch.from_numpy(out)
                total.add_((W_ @ Z).to(device="cpu", dtype=total.dtype), alpha=scale)

    def _tensor(self, bits: NDArray[Any]) -> Any:
        """bfloat16 numbers, from their bits and in the same place."""
        return self._torch.from_numpy(bits.view(np.int16)).view(self._torch.bfloat16)


@cache
def has_fast_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 faster than float32, and torch does."""
    if missing(["torch"]):
        return False
    import torch

    cpu = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(cpu.get("avx512_bf16") or cpu.get("amx_bf16") or cpu.get("amx_tile"))


class BlockFactory:
    """How blocks are made, chosen once for a fit; new ones overwrite those before."""

    def __init__(self, precision: str, device: str, dtype: Any, n_components: int) -> None:
        if precision == "bfloat16":
            require("neural", "precision='bfloat16'")
        self.device = torch_device(device)
        self.dtype = "bfloat16" if precision == "bfloat16" else np.dtype(dtype).name
        self._memory = ArrayPool()
        self.parameter_gradients: list[Array] = []  # of parameters, see `Objective`
        self.fast = (
            precision == "auto"
            and self.dtype == "float32"
            and self.device == "cpu"
            and n_components >= _WIDE
            and has_fast_bfloat16()
        )

    def kind(self, n_x: int, n_y: int) -> str:
        """Type that the products of so many vectors are taken in."""
        return "bfloat16" if self.fast and n_x * n_y >= MANY else self.dtype

    def __call__(self, P: Array, Q: Array, rows: int | None = None) -> FloatBlocks:
        dtype = self.kind(len(P), len(Q))
        if self.device == "cpu" and dtype != "bfloat16":
            return FloatBlocks(P, Q, rows, memory=self._memory)
        return TorchBlocks(P, Q, rows, dtype=dtype, device=self.device, memory=self._memory)


class Pairs:
    """Relevant pairs in both orders, and how much each query counts."""

    def __init__(self, positives: sp.csr_array, direction: str, balanced: bool) -> None:
        self.shape = positives.shape
        self.indptr = positives.indptr.astype(np.int64)
        self.y = positives.indices.astype(np.int64)
        per_x = np.diff(self.indptr)
        self.x = np.repeat(np.arange(self.shape[0]), per_x)
        self.by_column = np.lexsort((self.x, self.y))
        per_y = np.bincount(self.y, minlength=self.shape[1])
        self.indptr_y = np.concatenate([[0], np.cumsum(per_y)])
        self.matched = max(per_x.max(initial=0), per_y.max(initial=0)) <= 1
        if balanced and direction == "both":  # one weight serves all queries of equal sides alone
            self.matched &= self.shape[0] == self.shape[1]
        weights = []
        self.total = 0.0
        for is_query, own, others in (
            (direction != "y2x", per_x, self.shape[1]),
            (direction != "x2y", per_y, self.shape[0]),
        ):
            comparisons = own * (others - own) * int(is_query)
            counted = comparisons > 0
            weight = np.divide(1.0, comparisons, out=np.zeros(len(own)), where=counted)
            weights.append(weight if balanced else counted.astype(np.float64))
            self.total += float(weights[-1] @ comparisons)
        self.x_weight, self.y_weight = weights
        # Where each pair stands among all pairs of all rows, sorted by column.
        self.place = np.empty(len(self.x), dtype=np.int64)
        self.place[self.by_column] = np.arange(len(self.x))
        self.columns_ptr = self.indptr_y

    def of_rows(self, rows: slice) -> Self:
        """The pairs of some rows, which know their places among all."""
        own = copy(self)
        listed = slice(self.indptr[rows.start], self.indptr[rows.stop])
        own.shape = (rows.stop - rows.start, self.shape[1])
        own.indptr = self.indptr[rows.start : rows.stop + 1] - listed.start
        own.x, own.y = self.x[listed] - rows.start, self.y[listed]
        own.by_column = np.lexsort((own.x, own.y))
        per_y = np.bincount(own.y, minlength=self.shape[1])
        own.indptr_y = np.concatenate([[0], np.cumsum(per_y)])
        own.x_weight, own.place = self.x_weight[rows], self.place[listed]
        return own

    def scatter(self, values: Reals) -> Reals:
        """A value of each pair at its place among all pairs, 0 for those of other rows."""
        among = np.zeros(self.columns_ptr[-1])
        among[self.place] = values
        return among

    def scores(self, P: Array, Q: Array) -> Reals:
        out = np.empty(len(self.x))
        pair_scores(P, Q, self.x, self.y, out)
        return out

    def in_block(self, rows: slice) -> tuple[Any, Any]:
        """Where in a block of these rows relevant pairs stand."""
        listed = slice(self.indptr[rows.start], self.indptr[rows.stop])
        return self.x[listed] - rows.start, self.y[listed]

    def add_gradients(self, weights: Reals, blocks: FloatBlocks, scale: float) -> None:
        """Add what derivatives by the pairs' scores are for the vectors."""
        w = (weights * scale).astype(blocks.P.dtype)
        with threads_for(len(w) * blocks.dP.shape[1]):
            add_pairs(self.indptr, self.y, w, np.arange(len(w)), blocks.Q, blocks.dP)
            add_pairs(self.indptr_y, self.x, w, self.by_column, blocks.P, blocks.dQ)


class LossTerm:
    """A sum of terms over comparisons."""

    total: float

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        """Add the gradient of ``scale`` times the sum to the blocks; return the sum."""
        raise NotImplementedError


class DividedTerm(LossTerm):
    """A sum over pairs whose rows may be shared out."""

    pairs: Pairs

    def of_rows(self, rows: slice) -> Self:
        own = copy(self)
        own.pairs = self.pairs.of_rows(rows)
        return own

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        steps = self.steps(blocks, scale, tick)
        share = next(steps)
        while True:
            try:
                share = steps.send(share)  # these rows are all there are
            except StopIteration as end:
                return float(end.value)

    def steps(self, blocks: FloatBlocks, scale: float, tick: Tick) -> Steps[float]:
        """Do likewise with the share of these rows."""
        raise NotImplementedError


class AllNegatives(DividedTerm):
    def __init__(self, pairs: Pairs, gamma: float, margin: float | None = None) -> None:
        self.pairs, self.gamma, self.margin = pairs, gamma, margin
        self.total = pairs.total

    def steps(self, blocks: FloatBlocks, scale: float, tick: Tick) -> Steps[float]:
        pairs, hinge = self.pairs, self.margin is not None
        s = pairs.scores(blocks.P, blocks.Q)
        dtype, every = _working_type(blocks.P.dtype, self.gamma)
        factor = s - (self.margin or 0) if hinge else np.exp(-self.gamma * s)
        f_y = yield pairs.scatter(factor)
        compare = self._matched if pairs.matched and not hinge else self._general
        rho, rho_y, loss, slope = compare(blocks, factor, f_y, (dtype, every), scale, tick)
        rho_y = yield rho_y
        pairs.add_gradients(-slope * (rho + rho_y[pairs.place]), blocks, scale)
        return loss

    def _matched(
        self, blocks: FloatBlocks, factor: Reals, f_y: Reals, kind: Any, scale: float, tick: Tick
    ) -> tuple[Reals, Reals, float, float]:
        pairs, (dtype, every) = self.pairs, kind
        a, b = (np.zeros(n, dtype) for n in pairs.shape)
        a[pairs.x] = factor * (pairs.x_weight[pairs.x] > 0)
        columns = np.flatnonzero(np.diff(pairs.columns_ptr))
        b[columns] = f_y * (pairs.y_weight[columns] > 0)
        # All queries have as many comparisons or weigh 1: one weight serves them all.
        weight = max(pairs.x_weight.max(initial=0), pairs.y_weight.max())
        n_chunks = -(-pairs.shape[1] // WIDTH)
        row_sums, column_sums = (np.zeros(n) for n in pairs.shape)
        loss = 0.0
        for rows in blocks:
            S = blocks.entries(rows)
            S[pairs.in_block(rows)] = blocks.minus_infinity
            r, logs = np.zeros((n_chunks, len(S))), np.zeros(n_chunks)
            base = _base_two(self.gamma, dtype)
            compare_matched(S, base, a[rows], b, every, r, column_sums, logs)
            row_sums[rows] = r.sum(axis=0)
            loss += float(logs.sum())
            blocks.add_gradients(rows, S, self.gamma * scale * weight)
            tick()
        rho, rho_y = weight * row_sums[pairs.x], weight * column_sums[columns]
        return rho, rho_y, weight * loss, self.gamma

    def _general(
        self, blocks: FloatBlocks, factor: Reals, f_y: Reals, kind: Any, scale: float, tick: Tick
    ) -> tuple[Reals, Reals, float, float]:
        pairs, (dtype, every) = self.pairs, kind
        hinge = self.margin is not None
        slope = 1.0 if hinge else self.gamma
        f, f_y = factor.astype(dtype), f_y.astype(dtype)
        rho, rho_y = np.zeros(len(f)), np.zeros(len(f_y))
        x_weight, y_weight = pairs.x_weight.astype(dtype), pairs.y_weight.astype(dtype)
        loss_y = np.zeros(pairs.shape[1])
        loss = 0.0
        for rows in blocks:
            E = blocks.scores(rows, 1.0 if hinge else self.gamma).astype(dtype, copy=False)
            if not hinge:
                np.exp(E, out=E)
            E[pairs.in_block(rows)] = -np.inf if hinge else 0
            G = np.zeros_like(E)
            if x_weight.any():
                loss_x = np.zeros(len(E))
                listed = slice(pairs.indptr[rows.start], pairs.indptr[rows.stop])
                ptr = pairs.indptr[rows.start : rows.stop + 1] - listed.start
                compare_rows(
                    E, G, ptr, f[listed], x_weight[rows], hinge, every, rho[listed], loss_x
                )
                loss += float(loss_x.sum())
            if y_weight.any():
                ET, GT = np.ascontiguousarray(E.T), np.zeros(E.shape[::-1], dtype)
                compare_rows(ET, GT, pairs.columns_ptr, f_y, y_weight, hinge, every, rho_y, loss_y)
                G += GT.T
            blocks.add_gradients(rows, G.astype(blocks.P.dtype, copy=False), slope * scale)
            tick()
        return rho, rho_y, loss + float(loss_y.sum()), slope


class Softmax(DividedTerm):
    """Each relevant pair against all others of its row, and column, together."""

    # The loss log(1 + Σ exp(−γ Δ)), known as InfoNCE. Sums over columns are known only when all
    # blocks have passed, so they pass twice; up to a hundred million scores are kept instead.

    def __init__(self, pairs: Pairs, gamma: float, balanced: bool) -> None:
        self.pairs, self.gamma = pairs, gamma
        self._weights = []
        self.total = 0.0
        for is_query, own in (
            (pairs.x_weight > 0, np.diff(pairs.indptr)),
            (pairs.y_weight > 0, np.diff(pairs.indptr_y)),
        ):
            weight = is_query / np.maximum(own, 1) if balanced else is_query.astype(np.float64)
            self._weights.append(weight)
            self.total += float(weight @ own)

    def of_rows(self, rows: slice) -> Self:
        own = super().of_rows(rows)
        own._weights = [self._weights[0][rows], self._weights[1]]
        return own

    def steps(self, blocks: FloatBlocks, scale: float, tick: Tick) -> Steps[float]:
        pairs, gamma = self.pairs, self.gamma
        dtype, _ = _working_type(blocks.P.dtype, gamma)
        base = _base_two(gamma, dtype)
        row_sums, column_sums = (np.zeros(n) for n in pairs.shape)
        n_chunks = -(-pairs.shape[1] // WIDTH)
        for rows, room in blocks.cached_scores():
            S = blocks.entries(rows, room)
            S[pairs.in_block(rows)] = blocks.minus_infinity
            r = np.zeros((n_chunks, len(S)))
            sum_exponentials(S, np.array([base]), r, column_sums)
            row_sums[rows] = r.sum(axis=0)
            tick()
        column_sums = yield column_sums
        a = np.exp(-gamma * pairs.scores(blocks.P, blocks.Q))
        loss, rho = 0.0, np.zeros(len(a))
        slopes: list[Any] = []
        for at, sums, weight in (
            (pairs.x, row_sums, self._weights[0]),
            (pairs.y, column_sums, self._weights[1]),
        ):
            ratio = a * sums[at]
            loss += float(weight[at] @ np.log1p(ratio))
            rho += weight[at] * ratio / (1 + ratio)
            slopes.append(np.bincount(at, weight[at] * a / (1 + ratio), minlength=len(sums)))
        slopes[1] = yield slopes[1]
        by_row, by_column = (slope.astype(dtype) for slope in slopes)
        for rows, room in blocks.cached_scores():
            S = blocks.entries(rows) if room is None else room
            if room is None:
                S[pairs.in_block(rows)] = blocks.minus_infinity
            weigh_exponentials(S, base, by_row[rows], by_column)
            blocks.add_gradients(rows, S, gamma * scale)
            tick()
        pairs.add_gradients(-gamma * rho, blocks, scale)
        return loss


def _working_type(dtype: Any, gamma: float) -> tuple[Any, int]:
    """Type of exponentials, and how many factors a double holds before it must be emptied."""
    return (dtype, 8) if gamma <= _SINGLE_GAMMA else (np.dtype(np.float64), 1)


def _base_two(gamma: float, dtype: Any) -> Any:
    """Factor of scores such that 2 to their power is exp(γ s), in the type to work in."""
    return dtype.type(gamma / np.log(2))


class GradeOrder:
    """Judged pairs of each query, by grade."""

    def __init__(self, query: Ints, grade: Reals, balanced: bool) -> None:
        self.order = np.lexsort((grade, query))
        q, g = query[self.order], grade[self.order]
        first = np.flatnonzero(np.r_[True, q[1:] != q[:-1]][: len(q)])
        self.ptr = np.r_[first, len(q)].astype(np.int64)
        sizes = np.diff(self.ptr)
        # The first pair of its grade tells how many of the query are graded lower.
        new = np.r_[True, (q[1:] != q[:-1]) | (g[1:] != g[:-1])][: len(q)]
        start = np.maximum.accumulate(np.where(new, np.arange(len(q)), 0))
        self.lower = start - np.repeat(first, sizes)
        comparisons = np.add.reduceat(self.lower, first) if len(q) else np.zeros(0)
        self.weight = 1.0 / np.maximum(comparisons, 1) if balanced else np.ones(len(sizes))
        self.total = float(self.weight @ comparisons)

    def add(self, kind: int, gamma: float, margin: float, s: Reals, slopes: Reals) -> float:
        """Add derivatives by the scores to `slopes`; return the summed loss."""
        if not self.total:
            return 0.0
        ordered = s[self.order]
        if kind == HINGE:
            high, low, slope = -ordered, ordered, 1.0
        else:
            high, low, slope = np.exp(-gamma * ordered), np.exp(gamma * ordered), gamma
        out, loss = np.zeros(len(ordered)), np.zeros(len(self.weight))
        compare_listed(kind, high, low, self.ptr, self.lower, self.weight, margin, out, loss)
        slopes[self.order] += slope * out
        return float(loss.sum())


class GradedPairs(LossTerm):
    """Judged pairs against pairs of lower grade, of the same query."""

    # Where no query has two grades, all judged pairs are compared, in random groups of some
    # thousands, if there is a generator to draw these by.

    def __init__(self, judged: sp.csr_array, model: Any, direction: str, rng: Any = None) -> None:
        self.kind, self.gamma, self.margin = _KINDS[model.loss], model.gamma, _margin(model)
        self.pairs = Pairs(judged, direction, model.balanced)
        x, y, grade = self.pairs.x, self.pairs.y, judged.data
        sides = {"x2y": (x,), "y2x": (y,), "both": (x, y)}[direction]
        self.orders = [GradeOrder(q.astype(np.int64), grade, model.balanced) for q in sides]
        self.total = sum(order.total for order in self.orders)
        if not self.total and rng is not None and len(grade):
            groups = rng.permutation(len(grade)) // _GROUP
            self.orders = [GradeOrder(groups, grade, model.balanced)]
            self.total = self.orders[0].total

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        s = self.pairs.scores(blocks.P, blocks.Q)
        slopes = np.zeros(len(s))
        loss = sum(o.add(self.kind, self.gamma, self.margin, s, slopes) for o in self.orders)
        self.pairs.add_gradients(slopes, blocks, scale)
        tick()
        return loss


class HardNegatives(LossTerm):
    """Relevant pairs against the most similar others of each query."""

    # They are looked for anew at every evaluation.

    def __init__(self, positives: sp.csr_array, model: Any) -> None:
        self.model = model
        ones = np.ones(positives.nnz)
        relevant = sp.csr_array((ones, positives.indices, positives.indptr), positives.shape)
        self._sides = []
        self.total = 0.0
        for name, matrix in (("x2y", relevant), ("y2x", sp.csr_array(relevant.T))):
            if model.direction not in (name, "both"):
                continue
            own = np.diff(matrix.indptr)
            comparisons = own * np.minimum(model.hard_negatives, matrix.shape[1] - own)
            self.total += float((comparisons > 0).sum() if model.balanced else comparisons.sum())
            self._sides.append((matrix, name == "y2x"))

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        loss = 0.0
        for relevant, turned in self._sides:
            seen = blocks.transposed() if turned else blocks
            judged = relevant + self._hardest(seen, relevant, tick)
            loss += GradedPairs(judged, self.model, "x2y").add(seen, scale, tick)
        return loss

    def _hardest(self, blocks: FloatBlocks, relevant: sp.csr_array, tick: Tick) -> sp.csr_array:
        """The most similar others of each row, marked −1."""
        n = relevant.shape[1]
        h = min(self.model.hard_negatives, n)
        x, y = [], []
        for rows in blocks:
            S = blocks.scores(rows)
            ptr = relevant.indptr[rows.start : rows.stop + 1]
            inside = np.repeat(np.arange(len(S)), np.diff(ptr))
            S[inside, relevant.indices[ptr[0] : ptr[-1]]] = -np.inf
            top = np.argpartition(S, n - h, axis=1)[:, n - h :]
            row, rank = np.nonzero(np.isfinite(np.take_along_axis(S, top, axis=1)))
            x.append(row + rows.start)
            y.append(top[row, rank])
            tick()
        rows_, columns = np.concatenate(x), np.concatenate(y)
        return sp.csr_array((np.full(len(rows_), -1.0), (rows_, columns)), relevant.shape)


class SquaredError(LossTerm):
    """Half the squared error of every similarity, 1 where relevant and 0 elsewhere."""

    # The sum over all pairs is that of two small Gram matrices, Σ s² = ⟨PᵀP, QᵀQ⟩, so nothing of
    # size n² is computed.

    def __init__(self, target: sp.csr_array, others: float) -> None:
        self.pairs = Pairs(target, "both", balanced=False)
        self.target, self.others = target.data, others
        n_others = np.prod(target.shape, dtype=float) - target.nnz
        self.total = float(target.nnz + others * n_others)

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        s = self.pairs.scores(blocks.P, blocks.Q)
        error = s - self.target
        loss = float(error @ error - self.others * (s @ s)) / 2
        if self.others:
            x_gram, y_gram = (Z.T @ Z for Z in (blocks.P, blocks.Q))
            loss += self.others * float(np.sum(x_gram * y_gram, dtype=np.float64)) / 2
            weight = blocks.P.dtype.type(scale * self.others)
            blocks.dP += blocks.P @ (y_gram * weight)
            blocks.dQ += blocks.Q @ (x_gram * weight)
        self.pairs.add_gradients(error - self.others * s, blocks, scale)
        tick()
        return loss


class Loss:
    """Mean loss over all comparisons that the judgments allow, as an S2Net has it."""

    def __init__(self, relevance: Relevance, model: Any, rng: Any) -> None:
        self.parts = [part for part in _loss_terms(relevance, model, rng) if part.total > 0]
        self.total = sum(part.total for part in self.parts)

    def require_comparisons(self, relevance: Relevance) -> None:
        if not self.total:
            raise ValueError(
                "S2Net compares relevant with other pairs; got "
                f"{relevance.positives.nnz} relevant and {relevance.negatives.nnz} judged not "
                f"relevant of {relevance.shape[0]} x {relevance.shape[1]} (1 sample has none to "
                "compare). Bring both kinds, or set unjudged='negative'."
            )

    def __call__(self, blocks: FloatBlocks, tick: Tick) -> float:
        value = sum(part.add(blocks, 1 / self.total, tick) for part in self.parts)
        return value / max(self.total, 1)

    def of_rows(self, rows: slice) -> Self:
        """The share of some rows in the same mean."""
        own = copy(self)
        own.parts = []
        for part in self.parts:
            if not isinstance(part, DividedTerm):
                raise ValueError(
                    "Rows are divided among workers for the losses 'logistic', 'softmax' and "
                    "'triplet' over all pairs that are not relevant; grades, judged pairs alone, "
                    "hard_negatives and 'mse' are computed on one machine. Use fit."
                )
            own.parts.append(part.of_rows(rows))
        return own

    def steps(self, blocks: FloatBlocks, tick: Tick) -> Steps[float]:
        """Add the gradient of the share of some rows and return their share of the loss."""
        value = 0.0
        for part in self.parts:
            value += yield from part.steps(blocks, 1 / self.total, tick)  # type: ignore[attr-defined]
        return value / max(self.total, 1)


def _margin(model: Any) -> float:
    """Width of a hinge as wide as the logistic loss is: slopes agree at both ends of it."""
    return 2 / float(model.gamma)


def _loss_terms(relevance: Relevance, model: Any, rng: Any) -> Iterator[LossTerm]:
    if model.loss == "mse":
        yield _squared_error(relevance)
        return
    if relevance.unjudged == "ignore":
        yield GradedPairs(relevance.matrix, model, model.direction, rng)
        return
    positives = relevance.positives
    if model.hard_negatives is not None:
        yield HardNegatives(positives, model)
    else:
        pairs = Pairs(positives, model.direction, model.balanced)
        if model.loss == "softmax":
            yield Softmax(pairs, model.gamma, model.balanced)
        else:
            yield AllNegatives(
                pairs, model.gamma, _margin(model) if model.loss == "triplet" else None
            )
    if len(np.unique(positives.data)) > 1:
        # Higher grades stand above lower ones too.
        yield GradedPairs(positives, model, model.direction)


def _squared_error(relevance: Relevance) -> SquaredError:
    """Grades as similarities between 0 and 1; unjudged pairs as 0 or not at all."""
    matrix = relevance.matrix
    values = matrix.data
    if relevance.kind == "score":
        low, high = values.min(initial=0), values.max(initial=1)
        target = (values - low) / max(high - low, 1e-300)
    else:
        target = np.maximum(values, 0) / max(values.max(initial=0), 1e-300)
    others = 0.0
    if relevance.unjudged == "negative" and matrix.nnz:
        # All others together weigh as much as the listed pairs.
        others = matrix.nnz / max(1.0, np.prod(matrix.shape, dtype=float) - matrix.nnz)
    targets = sp.csr_array((target, matrix.indices, matrix.indptr), matrix.shape)
    return SquaredError(targets, others)
