"""The map page: a slim bar, the map, and what is selected on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import streamlit as st

from simviz.exceptions import StoreError
from simviz.workbench.map import canvas, choices, topics, trust, view as map_stage
from simviz.workbench.map.choices import DRAWINGS, FIRST_DRAWING, View
from simviz.workbench.shell import display, drawings, frame, progress, runs, state
from simviz.workbench.shell.marks import plain as one_line

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.projection.drawing import Placed
    from simviz.store import RunInfo

TITLE = "What does it look like?"


WORDS = (
    "A map puts both sides into one picture: words among the pictures they mean, titles "
    "beside their translation. It needs data and one trained method."
)


def show_no_data(title: str = TITLE, words: str = WORDS) -> None:
    """No data set is chosen yet."""
    st.title(title)
    st.markdown(words)
    _show_ways_out()


def show_unknown(reason: str, title: str = TITLE) -> None:
    """The data set is not there for this visitor."""
    st.title(title)
    display.style()
    display.problem(reason)
    _show_ways_out()


def say_sample(placed: Placed, pairs: PairSet, seed: int) -> None:
    """Say that a large data set is drawn in part, and how that part was chosen."""
    parts = [
        f"{len(rows):,} of {len(items):,} {name}"
        for rows, items, name in (
            (placed.x_rows, pairs.x, pairs.x_name),
            (placed.y_rows, pairs.y, pairs.y_name),
        )
        if len(rows) < len(items)
    ]
    if parts:
        display.quiet(
            f"Drawn: {' and '.join(parts)}, a random sample (seed {seed}) that keeps pairs "
            "together. What you select is always shown, and every search asks all items."
        )


def show_untrained(
    dataset_id: str, asked: Sequence[str] = (), title: str = TITLE, verb: str = "draw"
) -> None:
    """Nothing has been trained yet; what runs is shown until it has ended."""
    st.title(title)
    job_ids = list(asked) or [
        status.id
        for status in state.queue().jobs(state.workspace())
        if status.spec and status.spec.dataset_id == dataset_id and status.state != "succeeded"
    ]
    if job_ids:
        statuses = progress.show_progress(job_ids, key="map")
        if any(status.is_active for status in statuses):
            st.caption("This page goes on as soon as the first of them is ready.")
            return
    st.markdown(f"Nothing is trained on these data yet, so there is nothing to {verb}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if dataset_id.startswith("demo:"):
            st.button(
                "Train the demo's methods",
                key="map-train",
                type="primary",
                on_click=_train_demo,
                args=(dataset_id,),
            )
        st.page_link(
            "pages/train.py",
            label="Choose a method to train",
            icon=":material/model_training:",
            query_params={"data": dataset_id},
        )


def _train_demo(dataset_id: str) -> None:
    for spec in progress.demo_specs(dataset_id.removeprefix("demo:")):
        state.queue().submit(spec)


def _show_ways_out() -> None:
    from simviz.datasets import DEMOS

    with st.container(horizontal=True, vertical_alignment="center"):
        for demo, info in DEMOS.items():
            st.button(
                info.title,
                key=f"map-demo-{demo}",
                on_click=state.choose_dataset,
                args=(f"demo:{demo}",),
            )
        st.page_link("pages/data.py", label="Use my own file", icon=":material/upload_file:")


#: Pixels of the box with the names of runs, and characters that are read in it whole.
_WIDEST, _FITTING, _FITTING_NARROW = 225, 21, 17


def pick_run(view: View, infos: Sequence[RunInfo]) -> str:
    """Choose whose eyes to see with."""
    titles = runs.label_runs(infos)
    st.session_state["map-run"] = choices.choose_run(view, infos)
    longest = max(map(len, titles.values()))
    st.selectbox(
        "Seen by",
        list(titles),
        format_func=titles.__getitem__,
        key="map-run",
        label_visibility="collapsed",
        # As wide as the longest name needs, up to a limit.
        width="stretch" if state.is_narrow() else min(_WIDEST, max(160, 62 + 8 * longest)),
        on_change=_take_run,
        args=(view,),
    )
    return str(view.run_id)


def _take_run(view: View) -> None:
    view.run_id = st.session_state["map-run"]


def say_long_name(view: View, infos: Sequence[RunInfo]) -> None:
    """Write the name of the run out below the bar, where its box must cut it."""
    title = runs.label_runs(infos)[str(view.run_id)]
    if len(title) > (_FITTING_NARROW if state.is_narrow() else _FITTING):
        display.quiet(f"Seen by {title}")


def pick_drawing(view: View) -> None:
    """Choose how the space is made flat."""
    st.session_state["map-method"] = view.drawing.partition("-")[0]
    st.segmented_control(
        "Drawing",
        list(DRAWINGS),
        format_func=DRAWINGS.__getitem__,
        required=True,
        key="map-method",
        label_visibility="collapsed",
        help="MDS keeps distances, UMAP keeps neighbourhoods, PCA shows the main directions.",
        on_change=_take_drawing,
        args=(view,),
    )


def _take_drawing(view: View) -> None:
    view.drawing = f"{st.session_state['map-method']}-2"


def pick_colour(view: View, pairs: PairSet) -> str:
    """Choose what the colours mean: one of `COLOURS`, or a metadata column as "=name"."""
    colours = [
        *choices.COLOURS,
        *(f"={name}" for name in choices.columns(pairs.digest, pairs)),
    ]
    if view.colour not in colours:
        view.colour = colours[0]
    st.session_state["map-colour"] = view.colour
    st.selectbox(
        "Colour by",
        colours,
        format_func=lambda choice: choice.removeprefix("=")[:40],
        key="map-colour",
        label_visibility="collapsed",
        icon=":material/palette:",
        width=132,
        on_change=_take,
        args=(view, "colour"),
    )
    return view.colour


def _take(view: View, name: Literal["colour", "side", "part"]) -> None:
    """What was chosen is closed by no legend of other colours."""
    setattr(view, name, st.session_state[f"map-{name}"])
    if name == "colour" and view.closed:
        view.closed = ()
        view.set_n += 1


def pick_items(
    view: View, placed: Placed, parts: tuple[Any, Any], pairs: PairSet
) -> tuple[Any, Any]:
    """Choose which items to show, by side and part; answer with masks of the drawing."""
    from simviz.data.splitting import is_in_part, parts_present

    named = [parts[0][placed.x_rows], parts[1][placed.y_rows]]
    present = parts_present(np.concatenate(named))
    if view.part not in present:
        view.part = ""
    names = {"": "Both sides", "x": one_line(pairs.x_name), "y": one_line(pairs.y_name)}
    n_set = bool(view.side) + bool(view.part)
    with st.popover(f"Show · {n_set}" if n_set else "Show", icon=":material/tune:"):
        st.session_state["map-side"], st.session_state["map-part"] = view.side, view.part
        st.radio(
            "Items",
            list(names),
            format_func=names.__getitem__,
            key="map-side",
            on_change=_take,
            args=(view, "side"),
        )
        st.radio(
            "Part of the split",
            ["", *present],
            format_func=lambda part: part or "All parts",
            key="map-part",
            on_change=_take,
            args=(view, "part"),
        )
        st.caption("What is selected is shown in any case, and so is what is nearest to it.")
        st.download_button(
            "Positions as CSV",
            lambda: positions_csv(placed, parts, pairs),
            file_name=f"simviz-{view.drawing}.csv",
            mime="text/csv",
            key="map-csv",
            on_click="ignore",
            icon=":material/download:",
            type="tertiary",
        )
    masks = []
    for side, labels in zip(("x", "y"), named, strict=True):
        keep = np.full(len(labels), view.side in ("", side))
        if view.part:
            keep &= is_in_part(labels, view.part)
        masks.append(keep)
    return masks[0], masks[1]


def positions_csv(placed: Placed, parts: tuple[Any, Any], pairs: PairSet) -> str:
    """The rows behind the map: who stands where, and in which part."""
    from simviz.charts import map_records
    from simviz.evaluation.tables import csv_text

    items = pairs.x.take(placed.x_rows), pairs.y.take(placed.y_rows)
    part = np.concatenate([parts[0][placed.x_rows], parts[1][placed.y_rows]])
    records = map_records(placed.drawing, *items)
    lines = [[*record.values(), where] for record, where in zip(records, part, strict=True)]
    return csv_text([[*records[0], "part"], *lines])


STYLE = """
<style>
.stMainBlockContainer { padding: 3.9rem 1.5rem 1rem; }
.st-key-map-bar { gap: .35rem .5rem; }
.st-key-map-run input { text-overflow: ellipsis; }
[role="listbox"][aria-label="Seen by"] [role="option"] { display: block; height: auto;
  min-height: 2.2rem; flex: none; }
[role="listbox"][aria-label="Seen by"] [role="option"] > div { display: block; height: auto;
  white-space: normal; overflow-wrap: anywhere; line-height: 1.35; padding-block: .3rem; }
@media (max-width: 640px) {
  .st-key-map-bar button { padding-inline: .55rem; }
  .st-key-map-bar [data-testid="stPopoverButton"][kind="tertiary"] { padding-inline: .15rem; }
}
.stMainBlockContainer div:has(> .st-key-map-progress:empty) { display: none; }
/* Nothing is selected: the map has the whole width, in the place that it keeps. */
.st-key-map-stage .stColumn:last-child:not(:has(.st-key-map-drawer)) { display: none; }
.st-key-map-said { gap: .1rem; }
.stMainBlockContainer div:has(> .st-key-map-said:empty) { display: none; }
.st-key-map-below { gap: .5rem 1rem; }
</style>
"""


def show_page() -> None:
    """Show the Map page."""
    frame.begin("Map")
    show()
    frame.end()


def show() -> None:
    """Draw the page, whatever there is to draw."""
    dataset_id = state.current_dataset_id()
    if dataset_id is None:
        show_no_data()
        return
    try:
        with st.spinner("Reading the data"):
            pairs = state.dataset(dataset_id)
        infos = runs.best_first(dataset_id, pairs, state.runs(dataset_id))
    except StoreError as error:
        show_unknown(str(error))
        return
    view = choices.current(dataset_id)
    awaited = choices.follow_link(view, pairs)
    if awaited or not infos:
        show_untrained(dataset_id, awaited)
        return
    _show_map(view, pairs, infos)


def _show_map(view: View, pairs: PairSet, infos: Sequence[RunInfo]) -> None:
    """Everything on the page once there is a run."""
    st.html(STYLE + canvas.STYLE)
    display.style()
    if view.lost:
        display.problem(view.lost)
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="map-bar")
    with bar:
        run = state.run(pick_run(view, infos))
        pick_drawing(view)
    said = st.container(key="map-said")
    # A place of its own: what comes and goes there must not move the map, which would begin anew.
    with st.container(key="map-progress"):
        is_kept = drawings.ask(run, pairs, view.kept_as, DRAWINGS[view.drawing.partition("-")[0]])
    drawing = view.kept_as if is_kept else FIRST_DRAWING
    placed = drawings.kept(run.id, drawing, run)
    parts = drawings.parts(run.id, run, pairs)
    with bar:
        colour = pick_colour(view, pairs)
        is_labelled = topics.pick(view, run)
        masks = pick_items(view, placed, parts, pairs)
        trust.show(view, placed.drawing)
        trust.show_gap(view, placed.drawing)
    with said:
        say_long_name(view, infos)
        say_sample(placed, pairs, int(run.spec["split"]["seed"]))
    if not any(mask.any() for mask in masks):
        st.info("Nothing is left to show. Loosen the filter above the map.")
        return
    scene = map_stage.scene_of(run, pairs, drawing, masks, colour, is_labelled)
    canvas.send(scene.items, "items")
    canvas.send(scene.places, "places")
    map_stage.show(view, scene)
    canvas.listen(partial(choices.hear, view))
    # While the reader looks, what the first click will ask for is made ready.
    drawings.space(run.id, run, pairs)
