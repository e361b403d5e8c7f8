"""Blocks of similarities and what flows back through them, never all at once.

A block goes three ways: scores P_B Qᵀ out, derivatives W Q and Wᵀ P_B back. The
three matrix products are nearly all of the work. They are taken in float32 or
float64 by numpy, in bfloat16 by torch, or on a GPU; sums are kept in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simviz._blas import add_product
from simviz._numba import threads_for
from simviz.methods._s2net_kernels import add_scaled

Array = NDArray[np.floating]

_ENTRIES = 2**24  # of a block: 64 MB of float32
_ROWS = (128, 1024)  # a block of fewer wastes products, of more saves nothing
# bfloat16 pays off where products outweigh the passes over a block: at a thousand items
# a side it took longer, at six thousand it was 1.0 to 1.3 times as fast with vectors of
# 256, and 1.6 times with 1,000.
_WIDE, _MANY = 256, 2**24


_MINUS_INFINITY = 0xFF80  # in bits of bfloat16


class Memory:
    """Arrays that are used again: fresh pages cost more than what is written to them."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array with any content, the same one as long as shape and type are."""
        kept = self._arrays.get(name)
        if kept is None or kept.shape != shape or kept.dtype != dtype:
            kept = self._arrays[name] = np.empty(shape, dtype=dtype)
        return kept


class FloatBlocks:
    """Products of numpy, in the type of the vectors.

    Parameters
    ----------
    P, Q : ndarray of shape (n_x, k) and (n_y, k)
        Vectors of both sides, one row an item.
    rows : int, optional
        Rows of a block; by default some 64 MB of float32.
    memory : Memory, optional
        Where arrays are kept that later blocks may overwrite.
    """

    def __init__(
        self, P: Array, Q: Array, rows: int | None = None, *, memory: Memory | None = None
    ) -> None:
        self.P, self.Q = P, Q
        self.rows = rows or int(np.clip(_ENTRIES // max(1, len(Q)), *_ROWS))
        self._memory = Memory() if memory is None else memory
        self.dP, self.dQ = (
            self._memory.take(name, Z.shape, Z.dtype) for name, Z in (("dP", P), ("dQ", Q))
        )
        self.dP[:] = 0
        self.dQ[:] = 0
        self._buffer = self._block("block")

    def _block(self, name: str) -> Array:
        return self._memory.take(name, (min(self.rows, len(self.P)), len(self.Q)), self.P.dtype)

    def __iter__(self) -> Iterator[slice]:
        """Yield slices of rows, in order."""
        for start in range(0, len(self.P), self.rows):
            yield slice(start, min(start + self.rows, len(self.P)))

    def scores(self, rows: slice, scale: float = 1.0) -> Array:
        """``scale`` P_B Qᵀ, in an array that the next call fills anew."""
        block = self._buffer[: rows.stop - rows.start]
        return np.matmul(self.P[rows] * self.P.dtype.type(scale), self.Q.T, out=block)

    def entries(self, rows: slice) -> NDArray[Any]:
        """P_B Qᵀ likewise, as the products leave it: floats, or bits of bfloat16."""
        return self.scores(rows)

    #: A score of minus infinity among entries.
    nowhere: float = -np.inf

    def spread(self, rows: slice, W: NDArray[Any], scale: float) -> None:
        """Add the derivatives that ``scale`` W, by the scores, is for the vectors.

        W is in the type of the vectors, or in that of `entries`.
        """
        add_product(self.dP[rows], W, self.Q, scale)
        add_product(self.dQ, W.T, self.P[rows], scale)

    def turned(self) -> Self:
        """Blocks of Q Pᵀ, whose gradients are collected in the same place."""
        other = copy(self)
        other.P, other.Q, other.dP, other.dQ = self.Q, self.P, self.dQ, self.dP
        other._buffer = other._block("turned block")
        return other

    def gradients(self) -> tuple[Array, Array]:
        """Derivatives by P and Q collected so far, to be added to in place."""
        return self.dP, self.dQ


class TorchBlocks(FloatBlocks):
    """Products of torch: in bfloat16, or on another device.

    Parameters
    ----------
    P, Q : ndarray of shape (n_x, k) and (n_y, k)
        Vectors of both sides.
    rows : int, optional
        Rows of a block.
    dtype : str, optional
        Type of the factors, such as "bfloat16"; sums over blocks stay in float32.
    device : str, default="cpu"
        Where the products are taken.
    memory : Memory, optional
        As for `FloatBlocks`.
    """

    def __init__(
        self,
        P: Array,
        Q: Array,
        rows: int | None = None,
        *,
        dtype: str,
        device: str = "cpu",
        memory: Memory | None = None,
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
            self.nowhere = _MINUS_INFINITY

    def turned(self) -> Self:
        """Blocks of Q Pᵀ, whose gradients are collected in the same place."""
        other = super().turned()
        other._P, other._Q = self._Q, self._P
        return other

    def scores(self, rows: slice, scale: float = 1.0) -> Array:
        """``scale`` P_B Qᵀ, in an array that the next call fills anew."""
        block = self._buffer[: rows.stop - rows.start]
        product = (self._P[rows] * scale) @ self._Q.T
        self._torch.from_numpy(block).copy_(product)
        return block

    def entries(self, rows: slice) -> NDArray[Any]:
        """P_B Qᵀ likewise, as the products leave it: floats, or bits of bfloat16."""
        if not self.bits:
            return self.scores(rows)
        block = self._memory.take("bits", self._buffer.shape, np.uint16)
        block = block[: rows.stop - rows.start]
        self._torch.mm(self._P[rows], self._Q.T, out=self._tensor(block))
        return block

    def spread(self, rows: slice, W: NDArray[Any], scale: float) -> None:
        """Add the derivatives that ``scale`` W, by the scores, is for the vectors."""
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
    """Whether this processor multiplies bfloat16 faster than float32."""
    import torch

    cpu = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(cpu.get("avx512_bf16") or cpu.get("amx_bf16") or cpu.get("amx_tile"))


class Maker:
    """How blocks are made, chosen once for a fit; new ones overwrite those before.

    Parameters
    ----------
    precision : {"auto", "float32", "bfloat16"}
        Of the products. "auto" takes bfloat16 for float32 data where the processor
        is made for it and both vectors and items are many.
    device : {"auto", "cpu", "cuda"}
        Where they are taken; "auto" is a GPU where there is one.
    dtype : dtype
        Of the data.
    n_components : int
        Width of the vectors.
    """

    def __init__(self, precision: str, device: str, dtype: Any, n_components: int) -> None:
        self.device = _device(device)
        self.dtype = "bfloat16" if precision == "bfloat16" else np.dtype(dtype).name
        self._memory = Memory()
        self.kept_gradients: list[Array] = []  # of parameters, see `Objective`
        self.fast = (
            precision == "auto"
            and self.dtype == "float32"
            and self.device == "cpu"
            and n_components >= _WIDE
            and has_fast_bfloat16()
        )

    def kind(self, n_x: int, n_y: int) -> str:
        """Type that the products of so many vectors are taken in."""
        return "bfloat16" if self.fast and n_x * n_y >= _MANY else self.dtype

    def __call__(self, P: Array, Q: Array, rows: int | None = None) -> FloatBlocks:
        """Blocks of P Qᵀ."""
        dtype = self.kind(len(P), len(Q))
        if self.device == "cpu" and dtype != "bfloat16":
            return FloatBlocks(P, Q, rows, memory=self._memory)
        return TorchBlocks(P, Q, rows, dtype=dtype, device=self.device, memory=self._memory)


def _device(name: str) -> str:
    if name == "cpu":
        return name
    import torch

    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ValueError(
            "device='cuda' needs a GPU that torch can use, and found none. "
            "Use device='auto' or 'cpu'."
        )
    return "cuda" if there else "cpu"
