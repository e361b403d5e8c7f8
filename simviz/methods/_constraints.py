"""Pairs that should lie close together, and pairs that should lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, nonzero_rows
from simviz.relevance import Relevance

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Distinct pairs of items in random order."""

    x: Ints
    y: Ints
    sign: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sign)

    def take(self, keep: NDArray[Any]) -> Constraints:
        """Some of the pairs, by index or mask."""
        return Constraints(self.x[keep], self.y[keep], self.sign[keep])


def draw_constraints(
    data: tuple[Matrix, Matrix, Relevance], n: int, rng: Any, name: str
) -> Constraints:
    """Draw pairs from judgments, without replacement."""
    # Half of them are relevant pairs; where there are fewer, all of these and the more others.
    # The others are those judged not relevant, or any that are not relevant where unjudged pairs
    # are negative. Pairs of an item without any known feature say nothing and are left out.
    X, Y, relevance = data
    judged = relevance.unjudged == "ignore"
    positives = _codes(relevance.positives)
    negatives = _codes(relevance.negatives)
    if not len(positives) or (judged and not len(negatives)):
        raise ValueError(
            f"{name} sets similar pairs against dissimilar ones; got {len(positives)} relevant "
            f"and {len(negatives)} judged not relevant. Bring both, or set unjudged='negative'."
        )
    similar = rng.permutation(positives)[: max(1, n // 2)]
    wanted = n - len(similar)
    if judged:
        dissimilar = rng.permutation(negatives)[:wanted]
    else:
        dissimilar = _others(positives, relevance.shape, wanted, rng)
    code = np.concatenate([similar, dissimilar])
    sign = np.repeat([1.0, -1.0], [len(similar), len(dissimilar)])
    order = rng.permutation(len(code))
    x, y = np.divmod(code[order], relevance.shape[1])
    pairs = Constraints(x, y, sign[order])
    return pairs.take(nonzero_rows(X)[x] & nonzero_rows(Y)[y])


def _codes(matrix: sp.csr_array) -> Ints:
    """Stored entries as row · width + column, ascending."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return np.sort(rows * matrix.shape[1] + matrix.indices)


def _others(positives: Ints, shape: tuple[int, int], n: int, rng: Any) -> Ints:
    """Draw distinct pairs that are not relevant, uniformly."""
    total = shape[0] * shape[1]
    if total <= 4 * (n + len(positives)):
        free = np.setdiff1d(np.arange(total, dtype=np.int64), positives, assume_unique=True)
        return np.asarray(rng.permutation(free)[:n])
    found = np.empty(0, dtype=np.int64)
    while len(found) < n:
        drawn = rng.randint(total, size=2 * n, dtype=np.int64)
        found = np.setdiff1d(np.union1d(found, drawn), positives, assume_unique=True)
    return np.asarray(rng.permutation(found)[:n])
