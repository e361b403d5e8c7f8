"""The compiled loop of `simviz.data.health.near_duplicates`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simviz._numba import njit

Ints = NDArray[np.int32]
Index = NDArray[np.intp]
Reals = NDArray[np.float64]


@njit()
def shared_weight(
    first: Index,
    second: Index,
    indptr: Ints,
    indices: Ints,
    rest: Reals,
    needed: Reals,
    out: Reals,
) -> None:
    """Add up what pairs of sorted sets share, as far as it can still be enough."""
    # `rest` is what each entry and those after it weigh in its row. Fills `out` with the shared
    # weight of each pair; -1 where it is less than `needed`.
    for k in range(len(first)):
        p, p_end = indptr[first[k]], indptr[first[k] + 1]
        q, q_end = indptr[second[k]], indptr[second[k] + 1]
        shared = 0.0
        while p < p_end and q < q_end:
            if shared + min(rest[p], rest[q]) < needed[k]:
                break
            if indices[p] == indices[q]:
                after = rest[p + 1] if p + 1 < p_end else 0.0
                shared += rest[p] - after
                p += 1
                q += 1
            elif indices[p] < indices[q]:
                p += 1
            else:
                q += 1
        out[k] = shared if shared >= needed[k] else -1.0
