"""The network: characters, an optional convolution, recurrent layers, mean, projection.

Vectors of n-grams may be added to what is projected.

Parameters are one flat vector, so that a step, an average and a copy are one
operation each. Sequences are time-major: (steps, texts, units).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import prod, sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix

Tensor = Any  # torch is imported when a network is first used
_WORTH_SHARING = 2_048  # units of a step that two threads take sooner than one
_ORDERS = 2, 3  # characters of an n-gram

Index = NDArray[np.int64]

_LARGEST = 2.0**53  # above it not every whole number can be told from the next
NONE, UNKNOWN = 0, 1  # what the network reads where there is no character, or a new one


@dataclass(frozen=True, slots=True)
class Shape:
    n_characters: int
    embedding_size: int
    convolution: int
    n_layers: int
    hidden_units: int
    n_components: int
    n_grams: int = 0

    def parts(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every array, in the order of the flat vector."""
        shapes: dict[str, tuple[int, ...]] = {
            "characters": (self.n_characters + 1, self.embedding_size)
        }
        width, h = self.embedding_size, self.hidden_units
        if self.convolution:
            shapes["convolution"] = (2 * h, width, self.convolution)
            shapes["convolution_bias"] = (2 * h,)
            width = 2 * h
        for layer in range(self.n_layers):
            for direction in ("forward", "backward"):
                name = f"{direction}_{layer}"
                shapes[f"{name}_input"] = (4 * h, width)
                shapes[f"{name}_recurrent"] = (4 * h, h)
                shapes[f"{name}_bias"] = (4 * h,)
            width = 2 * h
        shapes["projection"] = (self.n_components, width)
        shapes["projection_bias"] = (self.n_components,)
        if self.n_grams:
            shapes["n_grams"] = (self.n_grams, self.n_components)
        return shapes

    def start(self, rng: Any, *, common: bool = True) -> NDArray[np.float64]:
        drawn = []
        for name, shape in self.parts().items():
            if name == "characters":
                part = rng.standard_normal(shape)
                part[0] = 0
            elif name == "n_grams":
                # Means of random vectors keep the cosines of n-gram counts, nearly;
                # of two networks, they would say nothing about each other.
                part = rng.standard_normal(shape) if common else np.zeros(shape)
            elif name.endswith("bias"):
                part = np.zeros(shape)
                if len(shape) == 1 and "ward_" in name:
                    # Open forget gates let gradients reach far back from the beginning.
                    part[self.hidden_units : 2 * self.hidden_units] = 1
            else:
                fan_in = prod(shape[1:])
                part = rng.uniform(-1, 1, shape) * sqrt(3 / fan_in)
            drawn.append(part.ravel())
        return np.concatenate(drawn)

    def split(self, theta: Tensor) -> dict[str, Tensor]:
        shapes = self.parts()
        pieces = theta.split([prod(shape) for shape in shapes.values()])
        named = zip(shapes.items(), pieces, strict=True)
        return {name: piece.view(shape) for (name, shape), piece in named}


@dataclass(frozen=True, slots=True)
class Dropout:
    """What is left out in training."""

    layers: float
    recurrent: float
    characters: float
    generator: Any

    def thin(self, values: Tensor, share: float, shape: Sequence[int]) -> Tensor:
        """Leave a share out, and scale the rest up."""
        if not share:
            return values
        import torch

        mask = torch.empty(tuple(shape), dtype=values.dtype, device=values.device)
        return values * mask.bernoulli_(1 - share, generator=self.generator).div_(1 - share)

    def obscure(self, ids: Tensor, unknown: int) -> Tensor:
        """Make some characters unknown."""
        if not self.characters:
            return ids
        import torch

        drawn = torch.rand(ids.shape, generator=self.generator, device=ids.device)
        return ids.masked_fill((drawn < self.characters) & (ids > 0), unknown)


@contextmanager
def threads_for(n_units: int) -> Iterator[None]:
    """One thread for what is too small to share: others would wait busily for it to end."""
    import torch

    before = torch.get_num_threads()
    if before == 1 or n_units >= _WORTH_SHARING:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def encode(
    parts: Mapping[str, Tensor],
    shape: Shape,
    ids: Tensor,
    lengths: Tensor,
    dropout: Dropout | None = None,
) -> Tensor:
    import torch
    from torch.nn import functional

    T, n = ids.shape
    steps = torch.arange(T, device=ids.device)[:, None]
    inside = (steps < lengths).unsqueeze(2)
    Z = functional.embedding(ids, parts["characters"], padding_idx=0)
    if shape.convolution:
        width = shape.convolution
        Z = functional.pad(Z.permute(1, 2, 0), ((width - 1) // 2, width // 2))
        Z = functional.conv1d(Z, parts["convolution"], parts["convolution_bias"])
        Z = functional.relu(Z).permute(2, 0, 1)
    mirrored = None
    if not bool(inside.all()):
        # Each text is turned round in itself, so that no direction begins with padding.
        mirrored = torch.where(steps < lengths, lengths - 1 - steps, steps)
        mirrored = (mirrored * n + torch.arange(n, device=ids.device)).ravel()
    for layer in range(shape.n_layers):
        if dropout is not None and layer:
            Z = dropout.thin(Z, dropout.layers, (1, n, Z.shape[2]))
        weights = [_weights(parts, f"{way}_{layer}", dropout) for way in ("forward", "backward")]
        if mirrored is None:
            Z = _lstm(Z, weights[0] + weights[1], shape.hidden_units)
        else:
            turn = _turn().apply
            ahead = _lstm(Z, weights[0], shape.hidden_units)
            back = turn(_lstm(turn(Z, mirrored), weights[1], shape.hidden_units), mirrored)
            Z = torch.cat([ahead, back], dim=2)
    # Zeros where a text has ended: its own steps alone make the mean.
    mean = (Z * inside).sum(dim=0) / lengths[:, None]
    if dropout is not None:
        mean = dropout.thin(mean, dropout.layers, mean.shape)
    projected = functional.linear(mean, parts["projection"], parts["projection_bias"])
    return projected + letter_n_grams(parts["n_grams"], ids) if shape.n_grams else projected


def letter_n_grams(table: Tensor, ids: Tensor) -> Tensor:
    """Mean vector of the n-grams of texts, found by their hash (FNV-1a, 32 bits)."""
    import torch
    from torch.nn import functional

    # An empty place before and behind a text tells its first and last character.
    padded = functional.pad(ids.T, (1, max(_ORDERS) - 1))
    buckets, counts = [], []
    for order in _ORDERS:
        windows = padded.unfold(1, order, 1)
        code = torch.full_like(windows[:, :, 0], 0x811C9DC5)
        for k in range(order):
            code = (code ^ windows[:, :, k]) * 0x01000193 & 0xFFFFFFFF
        buckets.append((code ^ code >> 15) % len(table))
        counts.append((windows > 0).sum(dim=2) >= order - 1)
    inside = torch.cat(counts, dim=1).to(table)
    rows = torch.cat(buckets, dim=1)
    total = functional.embedding_bag(rows, table, mode="sum", per_sample_weights=inside)
    return total / inside.sum(dim=1, keepdim=True).clamp(min=1)


def _weights(parts: Mapping[str, Tensor], name: str, dropout: Dropout | None) -> list[Tensor]:
    recurrent, bias = parts[f"{name}_recurrent"], parts[f"{name}_bias"]
    if dropout is not None:
        recurrent = dropout.thin(recurrent, dropout.recurrent, recurrent.shape)
    return [parts[f"{name}_input"], recurrent, bias, bias.detach() * 0]


def _lstm(Z: Tensor, weights: list[Tensor], hidden_units: int) -> Tensor:
    """One layer in the compiled loop of `torch.nn.LSTM`, in as many directions as have weights."""
    import torch

    n_directions = len(weights) // 4

    if Z.is_cuda:  # cuDNN reads matrices, then biases, as one piece of memory, or copies them
        order = sorted(range(len(weights)), key=lambda i: -weights[i].dim())
        pieces = [weights[i] for i in order]
        flat = torch.cat([w.flatten() for w in pieces]).split([w.numel() for w in pieces])
        placed = dict(zip(order, flat, strict=True))
        weights = [placed[i].view_as(w) for i, w in enumerate(weights)]
    first = Z.new_zeros(n_directions, Z.shape[1], hidden_units)
    learns, both = torch.is_grad_enabled(), n_directions == 2
    return torch.lstm(Z, (first, first), weights, True, 1, 0.0, learns, both, False)[0]


@cache
def _turn() -> Any:
    """Reorder steps by a permutation that is its own inverse."""
    import torch

    class Turn(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, Z: Tensor, order: Tensor) -> Tensor:
            context.save_for_backward(order)
            return _reordered(Z, order)

        @staticmethod
        def backward(context: Any, gradient: Tensor) -> Any:
            return _reordered(gradient, context.saved_tensors[0]), None

    return Turn


def _reordered(Z: Tensor, order: Tensor) -> Tensor:
    return Z.reshape(-1, Z.shape[2]).index_select(0, order).view(Z.shape)


@dataclass(frozen=True, slots=True)
class Texts:
    """Characters of texts, as the network reads them."""

    ids: Index
    lengths: Index

    def __len__(self) -> int:
        return len(self.lengths)

    def steps(self, rows: Index, fixed: int | None, rng: Any = None) -> tuple[Index, Index]:
        """Time-major ids and the number of steps of some texts."""
        lengths = self.lengths[rows]
        longest = max(1, int(lengths.max(initial=0)))
        if fixed is None:
            ids = np.zeros((longest, len(rows)), dtype=np.int64)
            width = min(longest, self.ids.shape[1])
            ids[:width] = self.ids[rows, :width].T
            return ids, np.maximum(lengths, 1)
        start = (fixed - lengths) // 2
        if rng is not None:
            start = (rng.random_sample(len(rows)) * (fixed - lengths + 1)).astype(int)
        ids = np.zeros((fixed, len(rows)), dtype=np.int64)
        text, at = np.nonzero(self.ids[rows])
        ids[at + start[text], text] = self.ids[rows][text, at]
        return ids, np.full(len(rows), fixed)


def read_ids(X: Matrix, longest: int) -> sp.csr_array:
    """Whole numbers, the first so many of each row, moved to the left."""
    X = sp.csr_array(X)
    if not X.has_sorted_indices:
        X = X.copy()
        X.sort_indices()
    ids = np.rint(np.clip(X.data, -_LARGEST, _LARGEST)).astype(np.int64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[ids != 0]
    ids = ids[ids != 0]
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    at = np.arange(len(ids)) - ends[rows]
    keep = at < longest
    shape = (X.shape[0], min(longest, X.shape[1]))
    return sp.csr_array((ids[keep], (rows[keep], at[keep])), shape=shape)


def known_characters(*sides: Matrix) -> Index:
    """Ids above that of the unknown character, in ascending order, each once."""
    ids = np.unique(np.concatenate([side.data for side in sides]))
    return ids[ids > UNKNOWN]


def as_texts(ids: sp.csr_array, characters: Index) -> Texts:
    """Texts over an alphabet; what is not in it is the unknown character."""
    codes = np.full(len(ids.data), UNKNOWN, dtype=np.int64)
    if len(characters):
        place = np.minimum(np.searchsorted(characters, ids.data), len(characters) - 1)
        met = characters[place] == ids.data
        codes[met] = place[met] + UNKNOWN + 1
    dense = sp.csr_array((codes, ids.indices, ids.indptr), shape=ids.shape).toarray()
    return Texts(dense, np.diff(ids.indptr).astype(np.int64))


def distinct(texts: list[Texts]) -> tuple[Texts, list[Index]]:
    """Each text once, and where to find those of every list."""
    longest = max(t.ids.shape[1] for t in texts)
    ids = np.concatenate([np.pad(t.ids, ((0, 0), (0, longest - t.ids.shape[1]))) for t in texts])
    ids, first, place = np.unique(ids, axis=0, return_index=True, return_inverse=True)
    lengths = np.concatenate([t.lengths for t in texts])[first]
    ends = np.cumsum([len(t) for t in texts])[:-1]
    return Texts(ids, lengths), np.split(place.ravel(), ends)
