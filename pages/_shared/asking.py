"""Who asks: one direction for all pages, kept with the data set and in the link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import kept
from pages._shared.compare_marks import plain

if TYPE_CHECKING:
    from simviz.data.asking import WhoAsks
    from simviz.data.pairs import PairSet

LINK = "direction"
_SIDES = ("x2y", "y2x")
_ALL = (*_SIDES, "mean")
_WIDGET = "compare-direction"


def current(dataset_id: str, pairs: PairSet, measured: Sequence[str] = _SIDES) -> str:
    """The direction that figures are of: as the link says, else as was chosen before.

    Parameters
    ----------
    dataset_id : str
        A data set that the visitor may see.
    pairs : PairSet
        Its content.
    measured : sequence of {"x2y", "y2x"}
        What the runs shown were measured in.

    Returns
    -------
    {"x2y", "y2x", "mean"}
        Where nobody has chosen, what a demo says or the data suggest.
    """
    found = kept.current("direction", dataset_id, _ALL) or usual(dataset_id, pairs).direction
    return found if found in _offered(measured) else measured[0]


def choose(dataset_id: str, pairs: PairSet, measured: Sequence[str]) -> str:
    """Let the visitor choose who asks, and keep the choice in the link.

    Parameters
    ----------
    dataset_id : str
        A data set that the visitor may see.
    pairs : PairSet
        Its content.
    measured : sequence of {"x2y", "y2x"}
        What the runs shown were measured in.

    Returns
    -------
    {"x2y", "y2x", "mean"}
        The direction to show.
    """
    x, y = plain(pairs.x_name), plain(pairs.y_name)
    words = {"x2y": f"{x} → {y}", "y2x": f"{y} → {x}", "mean": "Mean of both"}
    direction = st.session_state[_WIDGET] = current(dataset_id, pairs, measured)
    st.segmented_control(
        "Query side",
        _offered(measured),
        format_func=words.__getitem__,
        key=_WIDGET,
        required=True,
        wrap=True,
        help=f"All pages show figures of these queries. At first {plain(why(dataset_id, pairs))}.",
        on_change=_take,
        args=(dataset_id,),
    )
    kept.put_in_link("direction", direction)
    return direction


def usual(dataset_id: str, pairs: PairSet) -> WhoAsks:
    """Who asks where nobody has chosen, and why.

    Parameters
    ----------
    dataset_id : str
        A data set that the visitor may see.
    pairs : PairSet
        Its content.

    Returns
    -------
    WhoAsks
        As a demo says, else as the data suggest.
    """
    return _usual(dataset_id, pairs.digest, (pairs.x_name, pairs.y_name), pairs)


def sides(direction: str) -> tuple[str, ...]:
    """The directions behind one that is shown: both behind their mean."""
    return _SIDES if direction == "mean" else (direction,)


def words(direction: str, pairs: PairSet) -> str:
    """Who asks, in words."""
    if direction == "mean":
        return "the mean of both sides asking"
    return f"{pairs.x_name if direction == 'x2y' else pairs.y_name} ask"


def why(dataset_id: str, pairs: PairSet) -> str:
    """A sentence without its full stop on who asks where nobody has chosen."""
    return usual(dataset_id, pairs).reason


def _offered(measured: Sequence[str]) -> list[str]:
    known = [d for d in _SIDES if d in measured]
    return [*known, "mean"] if len(known) > 1 else known


def _take(dataset_id: str) -> None:
    kept.keep("direction", dataset_id, st.session_state[_WIDGET])


@st.cache_resource(show_spinner=False, max_entries=100)
def _usual(dataset_id: str, digest: str, names: tuple[str, str], _pairs: PairSet) -> WhoAsks:
    from simviz.jobs.asking import usual_asking

    return usual_asking(dataset_id, _pairs)
