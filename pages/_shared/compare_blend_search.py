"""Which two of several runs to blend: every pair tried at every weight, on validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from pages._shared import plain
from pages._shared.compare_marks import plain as escaped

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.evaluation import BlendCurve
    from simviz.evaluation.result import Asking

_TRIED = "compare-blend-tried"
#: Runs of which all pairs are tried, the first ones, and rows of the table.
_MOST_RUNS, _ROWS = 6, 5


class Found(NamedTuple):
    """The best weight of a pair of runs.

    Parameters
    ----------
    learned, lexical : Entry
        A share α is of the first.
    alpha : float
        The best weight on validation.
    value : float
        The metric there.
    gain : float
        How far that is ahead of the better of the two alone.
    """

    learned: Entry
    lexical: Entry
    alpha: float
    value: float
    gain: float


def show(
    entries: Sequence[Entry],
    pair: Callable[[Sequence[Entry]], tuple[Entry, Entry]],
    curve: Callable[[Entry, Entry], BlendCurve | None],
    direction: Asking,
    setting: tuple[str, ...],
) -> None:
    """Offer to try every pair, and show what was found.

    Parameters
    ----------
    entries : sequence of Entry
        The chosen runs, without blends.
    pair : callable
        Which of two is the learned one, which the lexical one.
    curve : callable
        Their blend at all weights on the validation part, if it has pairs.
    direction : {"x2y", "y2x", "mean"}
        Who asks.
    setting : tuple of str
        Metric, scale, ...: what the answer depends on beside the runs.
    """
    pairs = [pair(two) for two in combinations(entries[:_MOST_RUNS], 2)]
    if len(pairs) < 2:
        return
    told = (*setting, *(entry.run.id for entry in entries))
    few = f" of the first {_MOST_RUNS} runs" if len(entries) > _MOST_RUNS else ""
    st.button(
        f"Try all {len(pairs)} pairs{few}",
        key="compare-blend-try",
        icon=":material/join_inner:",
        type="tertiary",
        disabled=st.session_state.get(_TRIED) == told,
        on_click=st.session_state.__setitem__,
        args=(_TRIED, told),
        help="Blends every two of the chosen runs at 101 weights each, and keeps the best weight "
        "of each pair. Only the validation part is looked at.",
    )
    if st.session_state.get(_TRIED) != told:
        return
    with st.spinner(f"Trying {len(pairs)} pairs", show_time=False):
        found = _tried(pairs, curve, direction)
    if not found:
        plain.quiet("No query of the validation part has an answer, so no pair can be chosen.")
        return
    _show_found(found, setting)


def _tried(
    pairs: Sequence[tuple[Entry, Entry]],
    curve: Callable[[Entry, Entry], BlendCurve | None],
    direction: Asking,
) -> list[Found]:
    """Each pair at its best weight, the best pair first."""
    found = []
    for learned, lexical in pairs:
        measured = curve(learned, lexical)
        if measured is None:
            continue
        alpha = measured.best(direction=direction)
        if alpha != alpha:
            continue
        values = measured.values(direction=direction)
        value = float(values[round(100 * alpha)])
        gain = value - float(max(values[0], values[-1]))
        found.append(Found(learned, lexical, round(alpha, 2), value, gain))
    return sorted(found, key=lambda one: -one.value)


def _show_found(found: Sequence[Found], setting: tuple[str, ...]) -> None:
    metric, normalization = setting[:2]
    rows = [
        [
            f"{one.learned.label} and {one.lexical.label}",
            f"{one.value:.3f}",
            f"{one.gain:+.3f}",
            f"{one.alpha:g}",
        ]
        for one in found[:_ROWS]
    ]
    plain.table(["blend", metric, "Δ to the better", "best α"], rows)
    more = f" The best {_ROWS} of {len(found)} pairs." if len(found) > _ROWS else ""
    st.caption(f"On the validation part; Δ: ahead of the better of the two alone.{more}")
    best = found[0]
    st.button(
        f"Take {escaped(best.learned.label)} and {escaped(best.lexical.label)}",
        key="compare-blend-take",
        icon=":material/done:",
        type="tertiary",
        on_click=_take,
        args=(best, normalization),
    )


def alpha_key(learned_id: str, lexical_id: str, normalization: str) -> str:
    """Where the weight of a blend is in the session.

    Parameters
    ----------
    learned_id, lexical_id : str
        Ids of both runs.
    normalization : str
        How they are brought to one scale.

    Returns
    -------
    str
        The key of the slider.
    """
    return f"compare-alpha-{learned_id[:8]}-{lexical_id[:8]}-{normalization}"


def _take(best: Found, normalization: str) -> None:
    learned, lexical = best.learned.run.id, best.lexical.run.id
    st.session_state["compare-learned"] = learned
    st.session_state["compare-lexical"] = lexical
    st.session_state[alpha_key(learned, lexical, normalization)] = best.alpha
