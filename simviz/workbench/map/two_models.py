"""Two models on one map: items glide from the drawing of the one to that of the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from simviz.charts.canvas import Part, with_positions
from simviz.charts.drawing import Drawing, changed_most, changed_text
from simviz.charts.style import clean_text
from simviz.data.pairs import PairSet
from simviz.exceptions import SimvizError
from simviz.exports.html import page_contents
from simviz.markdown import escape_markdown
from simviz.projection.pipeline_map import Placed, nearest_of_all, neighbors_changed
from simviz.store.run import Run
from simviz.workbench.map import canvas
from simviz.workbench.map.view import View, driven
from simviz.workbench.shell import display, drawings, forms, runs, state, what_if

if TYPE_CHECKING:
    from simviz.workbench.map.scene import Scene

#: The run whose drawing is shown, by its id.
_SHOWN = "map-shown"
_FITTING = 18


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two runs, the drawing of the second turned onto that of the first, and what changed."""

    first: Run
    second: Run
    drawing: str
    placed: Placed
    changed: NDArray[np.float64]

    @property
    def cache_key(self) -> Any:
        """What stands for it in caches."""
        return self.first, self.second, self.drawing

    @property
    def titles(self) -> dict[str, str]:
        """What both runs are called, by their ids."""
        titles = runs.label_runs([self.first.info, self.second.info])
        return titles | {self.first.id: what_if.title(self.first, titles[self.first.id])}


def choose(view: View, titles: dict[str, str]) -> None:
    """Choose a second run, or none."""
    others = {"": "No other"} | {i: title for i, title in titles.items() if i != view.run_id}
    if view.beside not in others:
        view.put_beside("")
    if len(others) == 1:
        return
    name = f"Beside {clean_text(others[view.beside], _FITTING)}" if view.beside else "Beside"
    text = (
        "Items glide from the drawing of one run to that of another, and colours show for which "
        "of them the nearest of the other side changed."
    )
    with st.popover(escape_markdown(name), icon=":material/compare_arrows:", help=text):
        names = forms.options({i: escape_markdown(title) for i, title in others.items()})
        st.radio("Second run", **names, **driven("map-beside", view.beside, view.put_beside))


def ready(view: View, pairs: PairSet, drawing: str, titles: dict[str, str]) -> Run | None:
    """Return the second run as soon as its drawing is there."""
    if not view.beside:
        return None
    run = state.run(view.beside)
    return run if drawings.ensure_drawn(run, pairs, drawing, titles[run.id]) else None


@display.problems(ValueError)
def compare(first: Run, second: Run, pairs: PairSet, drawing: str) -> Compared | None:
    """Compare two runs; None, with a sentence why, where they cannot be compared."""
    return _compare(first, second, pairs, drawing)


@state.cached(4, "Comparing what both find nearest")
def _compare(first: Run, second: Run, pairs: PairSet, drawing: str) -> Compared:
    one, other = (drawings.stored_drawing(run, drawing) for run in (first, second))
    if any(not np.array_equal(one.rows(side), other.rows(side)) for side in ("x", "y")):
        raise SimvizError("These two runs draw different samples of the data. Choose another one.")
    drawn = pairs.take(one.x_rows, one.y_rows)
    changed = neighbors_changed(drawings.pipeline(first), drawings.pipeline(second), drawn)
    placed = replace(other, drawing=other.drawing.turned_onto(one.drawing))
    return Compared(first, second, drawing, placed, changed)


def pair(scene: Scene) -> list[str]:
    """Return what stands for both runs of a scene; nothing of one run."""
    both = scene.compared
    return [] if both is None else [f"{both.first.id} {both.second.id}"]


def is_turned(both: Compared) -> bool:
    """Return whether the drawing of the second run is asked for."""
    return bool(st.session_state.get(_SHOWN) == both.second.id)


def turned(scene: Scene, both: Compared, places: Part) -> Scene:
    """Return the scene as the second run sees it, by its own places, which are turned and sent."""
    places = with_positions(places, both.placed.drawing)
    canvas.send(places, "turned")
    # Where regions are is known of the drawing of the first only.
    return replace(scene, run=both.second, placed=both.placed, places=places, regions=[])


def show(scene: Scene) -> None:
    """Show which run draws, what changed between both, and for which items most."""
    both = scene.compared
    if both is None:
        return
    titles = both.titles
    if st.session_state.get(_SHOWN) not in titles:
        st.session_state[_SHOWN] = both.first.id
    names = {i: escape_markdown(title) for i, title in titles.items()}
    forms.segmented("Drawn as seen by", names, _SHOWN, is_labelled=True)
    display.quiet(changed_text(both.changed))
    rows = scene.placed.x_rows, scene.placed.y_rows
    st.markdown("**Changed most**")
    canvas.show_rows(changed_most(scene.pairs.take(*rows), both.changed, rows), "map-changed")


def show_file(scene: Scene) -> None:
    """Offer both drawings as one page."""
    both = scene.compared
    if both is None:
        return
    make, name = partial(page, both, scene.pairs), "simviz-two-models.html"
    forms.download("Both as one page", make, name, key="map-two-page", mime="text/html")
    placed = scene.placed
    display.quiet(page_contents(scene.pairs.take(placed.x_rows, placed.y_rows)))


def page(both: Compared, pairs: PairSet) -> str:
    """Both drawings as one page."""
    one, titles = drawings.stored_drawing(both.first, both.drawing), both.titles
    drawn = pairs.take(one.x_rows, one.y_rows)

    def drawing_of(run: Run, placed: Placed) -> Drawing:
        nearest = nearest_of_all(drawings.pipeline(run), pairs, placed)
        return Drawing(placed.drawing, drawn, nearest, titles[run.id])

    first, second = drawing_of(both.first, one), drawing_of(both.second, both.placed)
    return replace(first, then=second, changed=both.changed).to_html()
