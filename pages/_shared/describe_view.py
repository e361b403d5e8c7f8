"""What a data set is made of, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import plain

if TYPE_CHECKING:
    from simviz.data.description import Description, SideDescription, Spread
    from simviz.data.pairs import PairSet

_SHOWN_SCRIPTS = 3
_LEAST_SCRIPT = 0.01  # of the items
# Long cells take another line here rather than leave the page.
_STYLE = """
<style>.st-key-data-facts .sv-table td { white-space: normal; font-size: .9rem; }</style>
"""


def show(pairs: PairSet) -> None:
    """Show counts, lengths, words, scripts and grades.

    Parameters
    ----------
    pairs : PairSet
        A data set.
    """
    told = _described(pairs.digest, pairs)
    sides = (told.x, told.y)
    rows = [
        ("with a relevant pair", [f"{s.n_linked:,} of {s.n:,}" for s in sides]),
        ("relevant pairs of one", [_spread(s.answers) for s in sides]),
        ("characters", [_spread(s.characters) for s in sides]),
        ("words", [_spread(s.words) for s in sides]),
        ("different words", [f"{s.n_words:,}" if s.words else "" for s in sides]),
        ("script", [_scripts(s) for s in sides]),
        ("size", [_size(s) for s in sides]),
    ]
    if told.n_shared_words is not None:
        both = f"{told.n_shared_words:,}"
        rows.insert(5, ("of them on both sides", [both, both]))
    with st.container(key="data-facts"):
        st.html(_STYLE)
        plain.table(
            ["", told.x.name, told.y.name],
            [(name, *(cell or "–" for cell in cells)) for name, cells in rows if any(cells)],
        )
    if any("(" in cell for _, cells in rows for cell in cells):
        plain.quiet("In brackets: from the lowest to the highest, but for 5 % at either end.")
    for side in sides:
        if 0 < side.n_read < side.n:
            plain.quiet(
                f"Words of “{side.name}” are counted in {side.n_read:,} of {side.n:,} texts, "
                "spread evenly."
            )
    if len(told.grades) > 1:
        what = "Scores" if told.is_score else "Grades"
        grades = " · ".join(f"{grade}: {n:,}" for grade, n in told.grades)
        plain.quiet(f"{what}, the highest first: {grades}.")


@st.cache_resource(show_spinner=False, max_entries=32)
def _described(digest: str, _pairs: PairSet) -> Description:
    """Found once for a content."""
    from simviz.data.description import describe

    return describe(_pairs)


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return ""
    low, middle, high = (f"{value:,.0f}" for value in (spread.low, spread.middle, spread.high))
    # All alike but for a few: an interval from a number to itself says nothing.
    return middle if low == high else f"{middle} ({low} – {high})"


def _scripts(side: SideDescription) -> str:
    telling = [found for found in side.scripts if found[1] >= _LEAST_SCRIPT]
    if len(telling) < 2:
        return "".join(name for name, _ in telling)
    more = " …" if len(telling) > _SHOWN_SCRIPTS else ""
    told = (f"{name} {_percent(share)}" for name, share in telling[:_SHOWN_SCRIPTS])
    return ", ".join(told) + more


def _percent(share: float) -> str:
    return "< 1 %" if share < 0.005 else f"{100 * share:.0f} %"


def _size(side: SideDescription) -> str:
    if side.size is None:
        return ""
    if side.kind == "vector":
        return f"{side.size[0]:,} numbers, {_percent(side.filled)} not 0"
    height, width, *channels = side.size
    return f"{width} × {height} pixels, {'colour' if channels else 'grey'}"
