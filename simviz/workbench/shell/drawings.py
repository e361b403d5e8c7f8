"""Drawings of a run on a page: kept ones at once, others when they are ready."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

from simviz import compilation
from simviz.data.pairs import PairSet
from simviz.data.splitting import part_labels
from simviz.jobs.background import TaskProgress
from simviz.jobs.run_drawings import (
    DEFAULT_LAYOUT,
    QUICK_LAYOUT,
    SHARES,
    draw_run,
    map_name,
    redraw_run,
)
from simviz.pipeline import Pipeline
from simviz.projection.pipeline_map import Placed, Space
from simviz.store import load_map
from simviz.store.run import Run
from simviz.workbench.shell import forms, query_params, state

#: Items of a data set up to which its map is drawn in seconds.
_QUICK = 5_000


@state.cached(8)
def stored_drawing(run: Run, drawing: str) -> Placed:
    """A kept drawing with the items on it."""
    return Placed(*load_map(run, map_name(drawing)))


@state.cached(3)
def space(run: Run, pairs: PairSet) -> Space:
    """The items of a data set as a run sees them."""
    return Space.of(pipeline(run), pairs)


@state.cached(6)
def pipeline(run: Run) -> Pipeline:
    """What a run trained."""
    return run.pipeline()


@state.cached(8)
def parts(run: Run, pairs: PairSet) -> Any:
    """The part of the split of each x item and each y item."""
    arrays = run.arrays()
    return part_labels(arrays, "x", len(pairs.x)), part_labels(arrays, "y", len(pairs.y))


def best_stored(run: Run) -> str | None:
    """The two-sided drawing where it is there already, else the first one if that is."""
    known = run.maps()
    return next((d for d in (DEFAULT_LAYOUT, QUICK_LAYOUT) if map_name(d) in known), None)


def ensure_drawn(run: Run, pairs: PairSet, drawing: str, title: str, meanwhile: str = "") -> bool:
    """Whether a drawing is kept; if not, have it made and show how far it is."""
    progress = draw_run(state.drawing_background(), run, pairs, drawing, _workspace())
    if progress is not None:
        text = f"Drawing {title}" + (f"; {meanwhile} is shown meanwhile" if meanwhile else "")
        _show(progress, (run.id, drawing), text)
    return progress is None


def draw_ahead(run: Run, pairs: PairSet) -> bool:
    """Have the quick drawing of a run made, then the best; whether one of them is kept."""
    is_stored = best_stored(run) is not None
    if not is_stored or state.drawing_background().is_idle:
        drawing = DEFAULT_LAYOUT if is_stored else QUICK_LAYOUT
        draw_run(state.drawing_background(), run, pairs, drawing, _workspace())
    return is_stored


def redraw(run: Run, pairs: PairSet, drawing: str) -> None:
    """Have a drawing made again from other seeds."""
    if redraw_run(state.drawing_background(), run, pairs, drawing, _workspace()) is None:
        cast(Any, stored_drawing).clear()  # somebody else had that done


def show_again(run: Run, drawing: str) -> None:
    """Show how far a drawing from other seeds is."""
    key = (run.id, drawing, "seeds")
    if progress := state.drawing_background().progress(key):
        _show(progress, key, "Drawing it with other seeds")


def draw_next_share(run: Run, pairs: PairSet) -> None:
    """Have the next stop of the slider drawn, if nobody waits for anything and it is quick."""
    background = state.drawing_background()
    if len(pairs.x) + len(pairs.y) > _QUICK or not background.is_idle:
        return
    drawings = [f"{DEFAULT_LAYOUT}-{n}" for n in SHARES]
    if missing := [name for name in drawings if map_name(name) not in run.maps()]:
        draw_run(background, run, pairs, missing[0], _workspace())


def _workspace() -> str:
    # Who only looks at what somebody published has no workspace, and needs none.
    return query_params.get("share") or state.workspace()


def _show(progress: TaskProgress, key: tuple[str, ...], text: str) -> None:
    if progress.state != "failed":
        _watch(key, text)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(progress.message)
        again, forget = f"map-again-{'-'.join(key[1:])}", state.drawing_background().forget
        forms.quiet_button("Try again", again, forget, key, icon="replay")


@st.fragment(run_every=0.5)
def _watch(key: tuple[str, ...], text: str) -> None:
    progress = state.drawing_background().progress(key)
    if progress is None or progress.state == "failed":
        cast(Any, stored_drawing).clear()  # it may know more now
        st.rerun()
    if progress.state == "waiting":
        text = f"Waiting for its turn: {text[0].lower()}{text[1:]}"
    elif not progress.fraction and (compiled := compilation.progress()):
        text += f" · {compiled}"
    st.progress(min(1.0, progress.fraction), text=text)
