r"""Jensen-Shannon similarity of distributions, and exact ranks by it.

With the divergence JS in bits, from 0 to 1, the similarity of p and q is [1]_

.. math:: s = 1 - JS = \tfrac12 \sum_k (p_k + q_k) \log_2 (p_k + q_k)
          - p_k \log_2 p_k - q_k \log_2 q_k,

summed over the topics both have. All pairs of a block are bounded at once by a matrix product
(`simviz.base._jensen_shannon`). A candidate whose lower bound exceeds what it is compared with
stands above it, one whose upper bound does not reach it stands below, and only those in between
are compared themselves, after a second and narrower bound where they are many.

References
----------
.. [1] J. Lin. "Divergence measures based on the Shannon entropy." IEEE
   Transactions on Information Theory 37(1), 1991.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Reals
from simviz.base.pair_model import row_blocks

Singles = NDArray[np.float32]

#: γ and λ of the second bound, chosen among a grid of both for narrow hulls.
WEIGHT, FREQUENCY = 0.32, 0.55
_CELLS = 256  # values of B that have edges of their own

Values = NDArray[np.floating[Any]]
Ranks = tuple[Ints, Ints, Reals]

_WIDTH = 64  # topics are filled up to a multiple: lanes of four SIMD registers of float32
_SMALLEST = 2.0**-60  # below it a share is none: products stay normal numbers
MANY = 0.2  # share of open candidates that costs more than the second bound of all
_TASKS = 32  # pieces of work at least, so that threads end together


def waves(shares: NDArray[np.floating[Any]], roots: Singles) -> Singles:
    """Rows whose products are C: roots times cosines and sines of λ ln p."""
    single = shares.astype(np.float32, copy=False)
    phase = np.log(single, out=np.zeros_like(single), where=single > 0)
    phase *= np.float32(FREQUENCY)
    return np.hstack([roots * np.cos(phase), roots * np.sin(phase)])


def slack_of(width: int) -> float:
    """What rounding may do to a bound, and to the similarity it is compared with."""
    # A sum of w products in float32 whose sizes add up to 1 at most is off by less than w 2⁻²⁴,
    # in whatever order. B comes with a factor up to 2, C is a sum of 2 w products with the
    # factor γ: less than 3 w 2⁻²⁴ together. The rest allows for roots, logarithms and the
    # similarity itself (2e-6).
    return (2 * width + 256) * 2.0**-23


def window(similarity: NDArray[np.floating[Any]], width: int) -> tuple[Singles, Singles]:
    """Values of B, as computed, between which the first bound leaves a choice."""
    grid = np.linspace(0, 1, 2**14 + 1)
    # The next point of the grid at which the lower bound has got there.
    end = np.searchsorted(least(grid), similarity.astype(np.float64) + slack_of(width))
    highest = np.append(grid, 1.0)[end] + slack_of(width)
    lowest = similarity - slack_of(width)
    return (
        np.nextafter(lowest.astype(np.float32), np.float32(-np.inf)),
        np.nextafter(highest.astype(np.float32), np.float32(np.inf)),
    )


def least(B: Reals) -> Reals:
    """The least similarity that B allows: h(B)."""
    spread = np.sqrt((1 - B) * (1 + B))
    # The rarer side of the coin, (1 - spread) / 2, without cancellation.
    u = B * B / (1 + spread) / 2
    v = (1 + spread) / 2
    return -(u * np.log2(u, out=np.zeros_like(u), where=u > 0) + v * np.log2(v))


@cache
def edges() -> Reals:
    """Lines of the second bound, for B in equal cells from 0 to 1."""
    from scipy.spatial import ConvexHull

    # Beyond ω = 60 both coordinates are below 1e-12; between two points of the
    # curve it leaves the chord by less than 1e-6, a part of the slack.
    omega = np.concatenate([np.linspace(0, 20, 8_001), np.linspace(20.1, 60, 400)])
    b = 1 / np.cosh(omega / 2)
    height = least(b) - WEIGHT * b * np.cos(FREQUENCY * omega)
    along, up, constant = ConvexHull(np.stack([b, height], axis=1)).equations.T
    centre = (np.arange(_CELLS) + 0.5) / _CELLS
    lines = []
    for side in (-1, 1):
        facing = side * up > 1e-9
        a, slope = -constant[facing] / up[facing], -along[facing] / up[facing]
        # Of all lines on that side the hull's edge is the one nearest to the hull.
        nearest = np.argmin(side * (a + np.outer(centre, slope)), axis=1)
        lines += [a[nearest], slope[nearest]]
    return np.stack(lines, axis=1)


@dataclass(frozen=True, eq=False)
class Distributions:
    """Rows of shares, made ready to be compared many times."""

    shares: Values
    logs: Values
    roots: NDArray[np.float32]
    n_topics: int

    @classmethod
    def of(cls, theta: ArrayLike) -> Distributions:
        """Normalise rows and take logarithms and roots."""
        values = np.asarray(theta)
        dtype = np.float32 if values.dtype == np.float32 else np.float64
        if values.ndim != 2:
            raise ValueError(f"Distributions are rows of a matrix; got shape {values.shape}.")
        if values.size and not (values.min() >= 0 and values.max() < np.inf):
            raise ValueError(
                "Shares of topics must be 0 or more and finite, got values from "
                f"{values.min()} to {values.max()}. Look for a fit that diverged."
            )
        totals = values.sum(axis=1, dtype=np.float64, keepdims=True)
        n, k = values.shape
        shares = np.zeros((n, max(1, -(-k // _WIDTH)) * _WIDTH), dtype=dtype)
        np.divide(values, totals, out=shares[:, :k], where=totals > 0, casting="same_kind")
        shares[shares < _SMALLEST] = 0
        logs = shares * np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        return cls(shares, logs, np.sqrt(shares, dtype=np.float32), k)

    @cached_property
    def waves(self) -> NDArray[np.float32]:
        """Rows whose products make the second bound."""
        return waves(self.shares, self.roots)

    def __len__(self) -> int:
        return len(self.shares)

    def rows(self, index: slice) -> Distributions:
        """Some of the rows, as views."""
        parts = self.shares[index], self.logs[index], self.roots[index]
        return Distributions(*parts, self.n_topics)


def js_similarity(P: ArrayLike | Distributions, Q: ArrayLike | Distributions) -> Values:
    """One minus the Jensen-Shannon divergence in bits, of all pairs of rows."""
    p, q = _sides(P, Q)
    n, m = len(p), len(q)
    out = np.empty((n, m), dtype=p.shares.dtype)
    start, stop = np.zeros(n, dtype=np.int64), np.full(n, m, dtype=np.int64)
    _compare(p, q, start, stop, np.arange(m, dtype=np.int32), np.arange(n) * m, out.reshape(-1))
    return out


def js_pairs(P: ArrayLike | Distributions, Q: ArrayLike | Distributions) -> Values:
    p, q = _sides(P, Q)
    return js_listed(p, q, np.arange(len(p) + 1), np.arange(len(p)))


def js_listed(p: Distributions, q: Distributions, indptr: Ints, indices: Ints) -> Values:
    p, q = _sides(p, q)
    out = np.empty(len(indices), dtype=p.shares.dtype)
    limits = indptr.astype(np.int64)
    falls = np.flatnonzero(np.diff(indices) < 0) + 1
    if not np.isin(falls, limits).all():
        raise ValueError("Candidates must ascend within each row; call sort_indices() first.")
    _compare(p, q, limits[:-1], limits[1:], indices.astype(np.int32), limits[:-1], out)
    return out


def js_ranks(
    P: ArrayLike | Distributions,
    Q: ArrayLike | Distributions,
    indptr: Ints,
    indices: Ints,
    block_size: int | None = None,
) -> Iterator[Ranks]:
    """Where listed candidates stand by Jensen-Shannon similarity, exactly."""
    sides = JensenShannon(*_sides(P, Q))
    for rows in row_blocks(len(sides.p), len(sides.q), block_size):
        ptr = indptr[rows.start : rows.stop + 1].astype(np.int64)
        yield sides.rank_rows(rows, ptr - ptr[0], indices[ptr[0] : ptr[-1]])


@dataclass(frozen=True, slots=True, eq=False)
class JensenShannon:
    """Two sides made ready to be compared in several ways, with one outcome."""

    p: Distributions
    q: Distributions

    def iter_similarity(self, block_size: int | None = None) -> Iterator[Values]:
        for rows in row_blocks(len(self.p), len(self.q), block_size):
            yield js_similarity(self.p.rows(rows), self.q)

    def listed(self, indptr: Ints, indices: Ints) -> Values:
        return js_listed(self.p, self.q, indptr, indices)

    def rank_rows(
        self, rows: slice, indptr: Ints, indices: Ints, *, backwards: bool = False
    ) -> Ranks:
        asking, other = (self.q, self.p) if backwards else (self.p, self.q)
        return _rank_rows(asking.rows(rows), other, indptr, indices)


def _rank_rows(p: Distributions, q: Distributions, indptr: Ints, indices: Ints) -> Ranks:
    from simviz._numba import threads_for
    from simviz.base._jensen_shannon_kernels import narrow, place, screen

    n, m = len(p), len(q)
    own = js_listed(p, q, indptr, indices)
    row = np.repeat(np.arange(n), np.diff(indptr))
    order = np.lexsort((own, row))
    ordered = own[order]
    width = p.shares.shape[1]
    lowest, highest = window(ordered, width)
    between, equal = np.zeros((2, len(own)), dtype=np.int64)
    n_open, n_zero = np.zeros((2, n), dtype=np.int64)
    columns = np.empty((n, m), dtype=np.int32)
    B = p.roots @ q.roots.T
    with threads_for(n * m):
        screen(B, indptr, lowest, highest, between, columns, n_open, n_zero)
    if n_open.sum() > MANY * n * m:
        C = p.waves @ q.waves.T
        C *= np.float32(WEIGHT)
        with threads_for(n * m):
            lines, slack = edges(), slack_of(width)
            narrow(B, C, lines, slack, indptr, ordered, between, columns, n_open)
    similarity = np.empty((n, m), dtype=own.dtype)
    start = np.arange(n) * m
    flat = columns.reshape(-1), start, similarity.reshape(-1)
    _compare(p, q, start, start + n_open, *flat)
    with threads_for(int(n_open.sum())):
        place(similarity, n_open, n_zero, indptr, ordered, between, equal)
    # What exceeds a similarity exceeds it or any later one of its row.
    below = np.concatenate([[0], np.cumsum(between)])
    higher = below[indptr[1:]][row] - below[:-1]
    # Equal ones were counted where they stand first.
    new = np.ones(len(own), dtype=bool)
    new[1:] = (np.diff(row) > 0) | (ordered[1:] != ordered[:-1])
    first = np.maximum.accumulate(np.where(new, np.arange(len(own)), 0))
    above, tied = np.empty((2, len(own)), dtype=np.int64)
    above[order], tied[order] = higher[first], equal[first]
    return above, tied, own.astype(np.float64)


def _compare(
    p: Distributions,
    q: Distributions,
    start: Ints,
    stop: Ints,
    columns: NDArray[np.int32],
    place: Ints,
    out: Values,
) -> None:
    """Compare listed pairs; see `shared_information`."""
    from simviz._numba import threads_for
    from simviz.base._jensen_shannon_kernels import shared_information

    sides = p.shares, p.logs, q.shares, q.logs
    n_parts = max(1, _TASKS * 16 // max(1, len(p)))
    with threads_for(int((stop - start).sum()) * p.shares.shape[1]):
        shared_information(*sides, start, stop, columns, place, n_parts, out)


def _sides(
    P: ArrayLike | Distributions, Q: ArrayLike | Distributions
) -> tuple[Distributions, Distributions]:
    """Both sides ready and of one type."""
    p, q = (S if isinstance(S, Distributions) else Distributions.of(S) for S in (P, Q))
    if p.n_topics != q.n_topics:
        raise ValueError(
            f"Distributions over {p.n_topics} and {q.n_topics} topics cannot be compared. "
            "Both sides must come from one model."
        )
    if p.shares.dtype != q.shares.dtype:
        k = p.n_topics
        p, q = (Distributions.of(S.shares[:, :k].astype(np.float64)) for S in (p, q))
    return p, q
