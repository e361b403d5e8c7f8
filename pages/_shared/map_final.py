"""One's own test part stays closed on the pages that show single items, until it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import compare_final, drawings, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs.placed import Placed, Side
    from simviz.projection import Neighbors
    from simviz.store.run import Run

#: What the view of a share says where its owner had opened the test part.
_TEST, _OPEN = "test", "open"


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """Which items of a data set may be looked at.

    Parameters
    ----------
    x, y : ndarray of bool, optional
        By side; None where all may.
    """

    x: Any = None
    y: Any = None

    def __bool__(self) -> bool:
        return self.x is not None

    @property
    def key(self) -> str:
        """What tells names of what is kept apart."""
        return "-closed" if self else ""

    def allows(self, side: Side, row: int) -> bool:
        """Whether an item may be looked at."""
        mask = self.of(side)
        return mask is None or bool(mask[row])

    def of(self, side: Side) -> Any:
        """The items of one side; None where all may be looked at."""
        return self.x if side == "x" else self.y

    def n_hidden(self, side: Side) -> int:
        """Items of a side that may not be looked at."""
        mask = self.of(side)
        return 0 if mask is None else int((~mask).sum())

    def drawn(self, placed: Placed) -> Placed:
        """A drawing without them, its quality that of the items that stay."""
        from simviz.jobs.placed import Placed

        if not self:
            return placed
        x, y = self.x[placed.x_rows], self.y[placed.y_rows]
        drawing, quality = placed.drawing, placed.drawing.quality
        if quality is not None:
            stays = np.concatenate([x, y])
            judged = stays[quality.sample]
            quality = replace(
                quality,
                sample=(np.cumsum(stays) - 1)[quality.sample[judged]],
                false_neighbors=quality.false_neighbors[judged],
                missing_neighbors=quality.missing_neighbors[judged],
                # These two are of all pairs, those of the test among them.
                mrr_space=None,
                mrr_map=None,
            )
        drawing = replace(drawing, x=drawing.x[x], y=drawing.y[y], quality=quality)
        return Placed(drawing, placed.x_rows[x], placed.y_rows[y])

    def best(self, found: Neighbors, k: int) -> Neighbors:
        """The first k of what was found that may be looked at."""
        mask = self.of(found.side)
        if mask is None:
            return found
        stays = np.flatnonzero(mask[found.index])[:k]
        return replace(found, index=found.index[stays], scores=found.scores[stays])


def of(dataset_id: str, runs: Sequence[Run], pairs: PairSet) -> Closed:
    """What of a data set may be looked at with some runs.

    Parameters
    ----------
    dataset_id : str
        The data set.
    runs : sequence of Run
        Whose test parts count.
    pairs : PairSet
        Its content.

    Returns
    -------
    Closed
        Without items that are in a test part and in nothing else, unless the
        final test was asked for, or it is a demo. A published view shows what
        its owner saw.
    """
    seen = state.share()
    if seen is None:
        is_open = compare_final.was_opened(dataset_id, runs)
    else:
        is_open = dataset_id.startswith("demo:") or dict(seen.view).get(_TEST) == _OPEN
    if is_open:
        return Closed()
    masks = []
    for side in (0, 1):
        stays = np.ones(len((pairs.x, pairs.y)[side]), dtype=bool)
        for run in runs:
            stays &= drawings.parts(run.id, run, pairs)[side] != "test"
        masks.append(stays)
    return Closed() if all(mask.all() for mask in masks) else Closed(*masks)


def published(closed: Closed, dataset_id: str) -> dict[str, str]:
    """What a published view says of the test part."""
    return {} if closed or dataset_id.startswith("demo:") else {_TEST: _OPEN}


def say(closed: Closed, pairs: PairSet, dataset_id: str) -> None:
    """Say in a line what is left out, and where it is opened."""
    if not closed:
        return
    sides = ((pairs.x_name, closed.n_hidden("x")), (pairs.y_name, closed.n_hidden("y")))
    told = " and ".join(f"{n:,} {name}" for name, n in sides if n)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="closed-test"
    ):
        st.html(
            f'<p class="sv-quiet">The test part ({escape(told)}) is left out until the end.</p>',
            width="content",
        )
        if state.share() is not None:
            return
        st.page_link(
            "pages/compare.py",
            label="Open it on Compare",
            icon=":material/visibility:",
            query_params={"data": dataset_id},
        )


def part_shown(closed: Closed) -> str:
    """The part that examples are taken from and figures are of."""
    return "validation" if closed else "test"
