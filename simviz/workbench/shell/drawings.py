"""Drawings of a run on a page: kept ones at once, others when they are ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.workbench.shell import state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs.background import Background
    from simviz.pipeline import Pipeline
    from simviz.projection.drawing import Placed
    from simviz.projection.space import Space
    from simviz.store.run import Run


@st.cache_resource(show_spinner=False)
def background() -> Background:
    """The one thread of this server that draws; what it draws outlives every page."""
    from simviz.jobs.background import Background

    return Background(
        busy="Too many drawings wait. Ask again in a minute.",
        broken="The drawing could not be made. Take another one.",
    )


@state.cached(8)
def kept(run: Run, drawing: str) -> Placed:
    """A kept drawing with the items on it."""
    from simviz.jobs.background import kept_name
    from simviz.projection.drawing import Placed
    from simviz.store import load_map

    return Placed(*load_map(run, kept_name(drawing)))


@state.cached(3)
def space(run: Run, pairs: PairSet) -> Space:
    """The items of a data set as a run sees them."""
    from simviz.projection.space import space_of

    return space_of(pipeline(run), pairs)


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


def ask(run: Run, pairs: PairSet, drawing: str, title: str) -> bool:
    """Whether a drawing is kept; if not, have it made and show how far it is."""
    from simviz.jobs.background import draw_run

    # Who only looks at what somebody published has no workspace, and needs none.
    whose = st.query_params.get("share") or state.workspace()
    progress = draw_run(background(), run, pairs, drawing, whose)
    if progress is None:
        return True
    if progress.state == "failed":
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(progress.message)
            st.button(
                "Try again",
                key=f"map-again-{drawing}",
                on_click=background().forget,
                args=((run.id, drawing),),
                icon=":material/replay:",
                type="tertiary",
            )
        return False
    _watch(run.id, drawing, title)
    return False


@st.fragment(run_every=1.0)
def _watch(run_id: str, drawing: str, title: str) -> None:
    progress = background().progress((run_id, drawing))
    if progress is None or progress.state == "failed":
        st.rerun()
    words = f"{title} waits for its turn" if progress.state == "waiting" else f"Drawing {title}"
    st.progress(min(1.0, progress.fraction), text=f"{words}. Meanwhile you see the first drawing.")
