"""Documentation of Python functions, and what each says to see also.

Documents, attribution and licence are those of `simviz.datasets.pydocs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simviz.data.pairs import PairSet
from simviz.datasets import pydocs
from simviz.datasets._documents import Library, read_library
from simviz.relevance import Relevance


def load_pydocs_links() -> PairSet:
    """Pair documents that link each other under *See Also*."""
    # A split of one collection by x would let a document compete among its own answers, as the
    # one most like itself, and many links to find in the test would be answers in training, read
    # backwards. Neither happens between two sides.
    # The *See Also* section itself is not in the text; names in running text and in examples
    # are, as the words of a hyperlink are in a page.
    return pair_halves(read_library())


def pair_halves(library: Library) -> PairSet:
    """Pair documents of one side with those of the other, see `load_pydocs_links`."""
    items = library.items()
    is_y = _deal(len(items), library.links)
    place = np.where(is_y, np.cumsum(is_y), np.cumsum(~is_y)) - 1
    pairs = [(a, b) if is_y[b] else (b, a) for a, b in library.links if is_y[a] != is_y[b]]
    x, y = (items.take(np.flatnonzero(side)) for side in (~is_y, is_y))
    x_index, y_index = place[np.array(pairs, dtype=np.intp)].T
    relevance = Relevance.from_pairs(x_index, y_index, shape=(len(x), len(y)), unjudged="negative")
    return PairSet(x, y, relevance, "pydocs_links", "documents", "linked documents")


def _deal(n: int, links: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which documents go to the y side: each where most of those it is linked with are not."""
    # Dealt out in turn first; then each changes sides whenever that lets more of its links run
    # across. Every change adds a link, so this ends, and leaves each at least one.
    linked: list[list[int]] = [[] for _ in range(n)]
    for a, b in sorted({(min(link), max(link)) for link in links}):
        linked[a].append(b)
        linked[b].append(a)
    is_y = [i % 2 == 1 for i in range(n)]
    changed = True
    while changed:
        changed = False
        for i, others in enumerate(linked):
            if 2 * sum(is_y[j] == is_y[i] for j in others) > len(others):
                is_y[i] = not is_y[i]
                changed = True
    return np.array(is_y, dtype=np.bool_)


DEMO = replace(
    pydocs.DEMO,
    id="pydocs_links",
    title="Documents and links",
    description="Pages of Python documentation, and the pages they say to see also.",
    x_name="documents",
    y_name="linked documents",
    metric="MAP",
    loader=load_pydocs_links,
    position=40,
    variant_of="pydocs",
)
