"""Drawings of a run on a page: kept ones at once, others when they are ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from simviz import compilation
from simviz.workbench.shell import query_params, state

#: Items of a data set up to which its map is drawn in seconds.
_QUICK = 5_000

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs.background import TaskProgress
    from simviz.pipeline import Pipeline
    from simviz.projection.pipeline_map import Placed, Space
    from simviz.store.run import Run


@state.cached(8)
def stored_drawing(run: Run, drawing: str) -> Placed:
    """A kept drawing with the items on it."""
    from simviz.jobs.run_drawings import map_name
    from simviz.projection.pipeline_map import Placed
    from simviz.store import load_map

    return Placed(*load_map(run, map_name(drawing)))


@state.cached(3)
def space(run: Run, pairs: PairSet) -> Space:
    """The items of a data set as a run sees them."""
    from simviz.projection.pipeline_map import Space

    return Space.of(pipeline(run), pairs)


@state.cached(6)
def pipeline(run: Run) -> Pipeline:
    """What a run trained."""
    return run.pipeline()


@state.cached(8)
def parts(run: Run, pairs: PairSet) -> Any:
    """The part of the split of each x item and each y item."""
    from simviz.data.splitting import part_labels

    arrays = run.arrays()
    return part_labels(arrays, "x", len(pairs.x)), part_labels(arrays, "y", len(pairs.y))


def best_stored(run: Run) -> str | None:
    """The two-sided drawing where it is there already, else the first one if that is."""
    from simviz.jobs.run_drawings import DEFAULT_LAYOUT, QUICK_LAYOUT, map_name

    return next(
        (name for name in (DEFAULT_LAYOUT, QUICK_LAYOUT) if map_name(name) in run.maps()), None
    )


def ensure_drawn(run: Run, pairs: PairSet, drawing: str, title: str, meanwhile: str = "") -> bool:
    """Whether a drawing is kept; if not, have it made and show how far it is."""
    from simviz.jobs.run_drawings import draw_run

    progress = draw_run(state.drawing_background(), run, pairs, drawing, _workspace())
    if progress is not None:
        text = f"Drawing {title}" + (f"; {meanwhile} is shown meanwhile" if meanwhile else "")
        _show(progress, (run.id, drawing), text)
    return progress is None


def draw_ahead(run: Run, pairs: PairSet) -> bool:
    """Have the quick drawing of a run made, then the best; whether one of them is kept."""
    from simviz.jobs.run_drawings import DEFAULT_LAYOUT, QUICK_LAYOUT, draw_run

    is_stored = best_stored(run) is not None
    if not is_stored or state.drawing_background().is_idle:
        drawing = DEFAULT_LAYOUT if is_stored else QUICK_LAYOUT
        draw_run(state.drawing_background(), run, pairs, drawing, _workspace())
    return is_stored


def redraw(run: Run, pairs: PairSet, drawing: str) -> None:
    """Have a drawing made again from other seeds."""
    from simviz.jobs.run_drawings import redraw_run

    if redraw_run(state.drawing_background(), run, pairs, drawing, _workspace()) is None:
        cast(Any, stored_drawing).clear()  # somebody else had that done


def show_again(run: Run, drawing: str) -> None:
    """Show how far a drawing from other seeds is."""
    key = (run.id, drawing, "seeds")
    if progress := state.drawing_background().progress(key):
        _show(progress, key, "Drawing it with other seeds")


def draw_next_share(run: Run, pairs: PairSet) -> None:
    """Have the next stop of the slider drawn, if nobody waits for anything and it is quick."""
    from simviz.jobs.run_drawings import DEFAULT_LAYOUT, SHARES, draw_run, map_name

    if len(pairs.x) + len(pairs.y) > _QUICK or not state.drawing_background().is_idle:
        return
    missing = [n for n in SHARES if map_name(f"{DEFAULT_LAYOUT}-{n}") not in run.maps()]
    if missing:
        draw_run(
            state.drawing_background(), run, pairs, f"{DEFAULT_LAYOUT}-{missing[0]}", _workspace()
        )


def _workspace() -> str:
    # Who only looks at what somebody published has no workspace, and needs none.
    return query_params.get("share") or state.workspace()


def _show(progress: TaskProgress, key: tuple[str, ...], text: str) -> None:
    if progress.state != "failed":
        _watch(key, text)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(progress.message)
        st.button(
            "Try again",
            key=f"map-again-{'-'.join(key[1:])}",
            on_click=state.drawing_background().forget,
            args=(key,),
            icon=":material/replay:",
            type="tertiary",
        )


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
