r"""Bounds of the Jensen-Shannon similarity that come from matrix products.

With m = (p + q) / 2 and :math:`\omega = \ln(p / q)`, topic by topic, the
similarity is the mean under m of :math:`h(b)`, where

.. math:: h(b) = H(\tfrac12 + \tfrac12 \sqrt{1 - b^2}), \quad
          b = \sqrt{p q} / m = 1 / \cosh(\omega / 2)

and H is the entropy of a coin in bits. Means under m of functions of ω that
are sums of products of a function of p and one of q are matrix products:

.. math:: B = \sum \sqrt{p q}, \quad
          C = \sum \sqrt{p q} \cos(\lambda \omega)

of b and of :math:`c = b \cos(\lambda \omega)`, the latter by the cosine of a
difference of logarithms. What is true of every topic is true of the means:

1. h is convex and runs from h(0) = 0 to h(1) = 1, so it lies below its chord,
   and by Jensen's inequality the mean of h(b) is at least h of the mean:
   :math:`h(B) \le s \le B`. Both are sharp, and at most 0.15 apart.
2. The points :math:`(b, h - \gamma c)` lie on a curve, their means within its
   convex hull. Every line α + β b below (above) the curve gives
   :math:`s \ge (\le)\; \alpha + \beta B + \gamma C`; with the edges of the
   hull at B these are at most 0.0171 apart for the γ and λ chosen here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Singles = NDArray[np.float32]

#: γ and λ of the second bound, chosen among a grid of both for narrow hulls.
WEIGHT, FREQUENCY = 0.32, 0.55
_CELLS = 256  # values of B that have edges of their own


def waves(shares: NDArray[np.floating[Any]], roots: Singles) -> Singles:
    """Rows whose products are C: roots times cosines and sines of λ ln p."""
    single = shares.astype(np.float32, copy=False)
    phase = np.log(single, out=np.zeros_like(single), where=single > 0)
    phase *= np.float32(FREQUENCY)
    return np.hstack([roots * np.cos(phase), roots * np.sin(phase)])


def slack(width: int) -> float:
    """What rounding may do to a bound, and to the similarity it is compared with.

    A sum of w products in float32 whose sizes add up to 1 at most is off by
    less than w 2⁻²⁴, in whatever order. B comes with a factor up to 2, C is a
    sum of 2 w products with the factor γ: less than 3 w 2⁻²⁴ together. The
    rest allows for roots, logarithms and the similarity itself (2e-6).
    """
    return (2 * width + 256) * 2.0**-23


def window(similarity: NDArray[np.floating[Any]], width: int) -> tuple[Singles, Singles]:
    """Values of B, as computed, between which the first bound leaves a choice.

    Parameters
    ----------
    similarity : ndarray
        What candidates are compared with.
    width : int
        Topics that B sums over.

    Returns
    -------
    lowest, highest : ndarray of float32
        A smaller B cannot reach the similarity, a larger one exceeds it.
    """
    grid = np.linspace(0, 1, 2**14 + 1)
    # The next point of the grid at which the lower bound has got there.
    reached = np.searchsorted(least(grid), similarity.astype(np.float64) + slack(width))
    highest = np.append(grid, 1.0)[reached] + slack(width)
    lowest = similarity - slack(width)
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
    """Lines of the second bound, for B in equal cells from 0 to 1.

    Returns
    -------
    ndarray of shape (n_cells, 4)
        Constant and slope of the lower line, then of the upper one.
    """
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
