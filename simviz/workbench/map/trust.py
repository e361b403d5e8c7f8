"""How far to trust the map: its figures, its halos, and the gap between the sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from simviz.workbench.map.choices import BALANCES, View
from simviz.workbench.shell import display

if TYPE_CHECKING:
    from simviz.projection import JointMap, Quality

#: What each way to draw the sides together is called, and what it keeps.
GAP_NAMES = {
    "none": "As the model has them",
    "center": "Centres together",
    "rank": "Ranks matched",
}
GAP_WORDS = {
    "none": "Keeps every distance of the model, the gap between the sides with them.",
    "center": "Keeps every distance within a side; the constant offset between the sides goes.",
    "rank": (
        "Keeps the order of every item's list of the other side, as far as both sides agree on "
        "it; the distances across follow those within the sides."
    ),
}
#: Shares of the worst possible from which on a halo is faint, clear and strong.
_LEVELS = (0.1, 0.25, 0.4)


def show(view: View, drawing: JointMap) -> None:
    """A chip that says in words how far to trust the drawing, with the figures behind it."""
    from simviz.projection.quality import trust_level

    quality = drawing.quality
    level = "About this drawing" if quality is None else trust_level(quality)
    with st.popover(
        level,
        icon=":material/straighten:",
        type="tertiary",
        help=None if quality is None else quality.describe(),
    ):
        if quality is not None:
            _show_quality(view, quality)
        display.notes(drawing.notes)


def _show_quality(view: View, quality: Quality) -> None:
    st.markdown("**How far to trust this drawing**")
    figures = [
        (f"{quality.trustworthiness:.2f}", "trustworthiness: 1 if what is drawn near is near"),
        (f"{quality.continuity:.2f}", "continuity: 1 if what is near is drawn near"),
        (
            f"{100 * quality.overlap:.0f} %",
            f"of the {quality.n_neighbors} nearest stay "
            f"(chance: {100 * quality.random_overlap:.1f} %)",
        ),
    ]
    display.figures(figures)
    if quality.mrr_space is not None and quality.mrr_map is not None:
        display.figures(
            [
                (f"{quality.mrr_space:.2f}", "MRR in the model, by distance"),
                (f"{quality.mrr_map:.2f}", "MRR on the map"),
            ]
        )
        display.quiet(
            "So much of the search survives when only the drawing is looked at. Asked are all "
            "items of the first side, those of training included."
        )
    st.session_state["map-halos"] = view.has_halos
    st.toggle(
        "Show it for each item",
        key="map-halos",
        on_change=_take_halos,
        args=(view,),
        help="A glow for false neighbours, a ring for missing ones.",
    )
    if quality.n_sampled < quality.n_points:
        display.quiet(
            f"Known of {quality.n_sampled:,} of the {quality.n_points:,} items, a sample."
        )


def _take_halos(view: View) -> None:
    view.has_halos = st.session_state["map-halos"]


def show_gap(view: View, drawing: JointMap) -> None:
    """A chip that tells how far apart the sides lie in the model, and ways to close the gap."""
    ratio = drawing.gap.distance_ratio
    with st.popover(
        f"Gap {ratio:.2f}",
        icon=":material/join_inner:",
        type="tertiary",
        help="Distance within a side over distance across the sides, in the model: 1 is no gap.",
    ):
        st.markdown("**The gap between the sides**")
        display.figures(
            [
                (f"{ratio:.2f}", "in the model"),
                (f"{drawing.gap_balanced.distance_ratio:.2f}", "as drawn here"),
            ]
        )
        display.quiet(
            "Distance within a side over distance across the sides: 1 where both lie around one "
            "point, near 0 for two islands."
        )
        _pick_balance(view)


def _pick_balance(view: View) -> None:
    st.session_state["map-gap"] = view.balance
    st.radio(
        "How the sides are drawn together",
        BALANCES,
        format_func=GAP_NAMES.__getitem__,
        captions=[GAP_WORDS[name] for name in BALANCES],
        key="map-gap",
        on_change=_take_gap,
        args=(view,),
    )


def _take_gap(view: View) -> None:
    view.balance = st.session_state["map-gap"]


def halos(quality: Quality, n_items: int) -> dict[str, np.ndarray]:
    """Strength of both halos of each item, from 0 (none) to 3."""
    made = {}
    for name, values in (
        ("false", quality.false_neighbors),
        ("missing", quality.missing_neighbors),
    ):
        strength = np.zeros(n_items, dtype=np.uint8)
        strength[quality.sample] = np.searchsorted(_LEVELS, values, side="right")
        made[name] = strength
    return made
