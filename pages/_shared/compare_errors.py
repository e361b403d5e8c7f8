"""What the threshold behind a point of a curve gets wrong, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import compare_items, drawings
from pages._shared.compare_choice import Choice
from pages._shared.compare_curves import part_of
from pages._shared.compare_link import TABS
from pages._shared.compare_marks import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pages._shared.compare_pairs import Traced
    from simviz.data.pairs import PairSet
    from simviz.evaluation import ThresholdErrors
    from simviz.evaluation.errors import ScoredPairs
    from simviz.store.run import Part, Run

_LISTED = 8
#: Longest text of an item in a line.
_LONGEST = 32
_STYLE = """
<style>
[class*="st-key-compare-alarm-"] button, [class*="st-key-compare-miss-"] button {
  justify-content: flex-start; text-align: left; min-height: 1.9rem; padding: .1rem 0; }
</style>
"""


def show(
    choice: Choice,
    event: Mapping[str, Any] | None,
    traced: Sequence[Traced],
    places: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
) -> None:
    """Show the pairs behind a point, or how to get there.

    Parameters
    ----------
    choice : Choice
        What is compared.
    event : mapping or None
        What Streamlit tells of a chart's selection.
    traced : sequence of Traced
        The runs of the chart.
    places : mapping of str to two ndarrays
        By run id, where each point of its curve lies on both axes.
    """
    points = (event or {}).get("selection", {}).get("points", [])
    by_look = {one.entry.look: one for one in traced}
    told = points[0].get("customdata") if points else None
    look = told[0] if isinstance(told, list | tuple) and told else told
    if not points or look not in by_look:
        st.caption("Press a point of a curve to see which pairs that threshold gets wrong.")
        return
    one = by_look[look]
    x, y = places[one.entry.run.id]
    off = np.abs(x - float(points[0]["x"])) + np.abs(y - float(points[0]["y"]))
    threshold = float(one.roc.thresholds[int(np.nanargmin(off))])
    part = part_of(one.entry, choice.pairs)
    with st.spinner("Looking for the pairs", show_time=False):
        key = one.entry.run.id, one.entry.part
        found = _errors(*key, threshold, one.entry.run, part)
    st.html(_STYLE)
    _say(one, found)
    beside = st.columns(2, gap="large")
    opens = len(choice.entries) > 1
    for column, title, pairs, kind in (
        (beside[0], "False alarms with the highest scores", found.false_alarms, "alarm"),
        (beside[1], "True pairs that miss it most narrowly", found.misses, "miss"),
    ):
        with column:
            st.markdown(f"**{title}**")
            _list(choice, one, part, pairs, kind, opens=opens)
    if opens:
        st.caption("Press a pair to see all answers to its query, by two runs side by side.")


@st.cache_resource(show_spinner=False, max_entries=40)
def _errors(
    run_id: str, part: Part, threshold: float, _run: Run, _pairs: PairSet
) -> ThresholdErrors:
    from simviz.evaluation import errors_at

    sides = _pairs.x, _pairs.y, _pairs.relevance
    return errors_at(drawings.pipeline(run_id, _run), *sides, threshold=threshold, k=_LISTED)


def _say(one: Traced, found: ThresholdErrors) -> None:
    precision = found.n_found / found.n_passing if found.n_passing else float("nan")
    at = f"at or above {found.threshold:.4g}" if np.isfinite(found.threshold) else "in all"
    sure = f", precision {100 * precision:.3g} %" if precision == precision else ""
    st.markdown(
        plain(
            f"{one.entry.label}: {found.n_passing:,} pairs score {at}. {found.n_found:,} of the "
            f"{found.n_relevant:,} true pairs are among them (recall "
            f"{100 * found.n_found / found.n_relevant:.3g} %{sure})."
        )
    )


def _list(
    choice: Choice, one: Traced, part: PairSet, pairs: ScoredPairs, kind: str, *, opens: bool
) -> None:
    if not len(pairs.x):
        st.caption("None.")
        return
    with st.container(gap=None if opens else "small", key=f"compare-{kind}-list"):
        for n, (i, j, score) in enumerate(zip(pairs.x, pairs.y, pairs.score, strict=True)):
            words = f"{_name(part.x, int(i))} ↔ {_name(part.y, int(j))} · {score:.3f}"
            if not opens:
                st.caption(plain(words))
                continue
            direction = "y2x" if choice.direction == "y2x" else "x2y"
            if st.button(
                plain(words),
                key=f"compare-{kind}-{n}",
                type="tertiary",
                on_click=_open,
                args=(one, direction, int(i) if direction == "x2y" else int(j)),
            ):
                st.rerun(scope="app")  # another tab is open now


def _name(items: Any, at: int) -> str:
    words = compare_items.text(items, at, _LONGEST)
    glyph = compare_items.glyph(items, at)
    return f"{glyph} {words}" if glyph and glyph != words else words


def _open(one: Traced, direction: str, query: int) -> None:
    """Go to both lists of answers to a query."""
    entry = one.entry
    position = int(entry.run.arrays()[f"{direction[0]}_{entry.part}"][query])
    st.session_state["compare-tab"] = st.session_state["compare-open"] = TABS["queries"]
    st.query_params["query"] = f"{direction}:{position}"
