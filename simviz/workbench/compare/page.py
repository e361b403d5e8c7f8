"""The Compare page from top to bottom, and what it says where there is nothing to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from simviz.charts.tuning import parameters_figure
from simviz.data.pairs import PairSet
from simviz.evaluation import Evaluation, evaluate_part
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import Direction
from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.reports.run_summary import RunEntry, RunTable
from simviz.workbench.compare import (
    blend,
    curves,
    pair_curves,
    queries,
    repeated_splits,
    table,
    topics,
)
from simviz.workbench.compare.choice import MORE, TABS, choose, part_of
from simviz.workbench.shell import (
    display,
    drawings,
    empty,
    forms,
    frame,
    preferences,
    progress,
    query_params,
    runs,
    state,
)
from simviz.workbench.shell.charts import CHART_CONFIG

_STYLE = Path(__file__).with_name("style.css")
_TITLE = "Compare"
_INTRODUCTION = (
    "Runs on one data set are compared here: which finds the right answers, how sure that is, and "
    "for which queries they differ. Choose a data set first."
)
#: Metrics shown against all items, beside the main one.
_FEW = ("top-1", "MRR")
#: Parameters drawn beside one another, and the key of their chart.
_MAX_PARAMETERS, _PARAMETERS = 4, "compare-parameters"


def show_page() -> None:
    """Show the Compare page."""
    with frame.page("Compare"):
        dataset_id = state.current_dataset_id()
        if dataset_id is None:
            empty.show_no_data("compare", _TITLE, _INTRODUCTION)
            return
        head = st.container(horizontal=True, vertical_alignment="bottom", key="compare-head")
        head.title(_TITLE, width="content")
        try:
            show(dataset_id, state.dataset(dataset_id), head)
        except SimvizError as error:
            st.html(f'<p role="alert">{escape(str(error))}</p>')
            st.markdown("These are always there:")
            empty.show_demos("compare")


def show(dataset_id: str, pairs: PairSet, head: DeltaGenerator) -> None:
    """Compare the finished runs on a data set, whose size stands beside the title."""
    st.html(_STYLE)
    text = (
        f"{runs.dataset_title(dataset_id, pairs.name)}: {len(pairs.x):,} {pairs.nouns[0]} × "
        f"{len(pairs.y):,} {pairs.nouns[1]}, {pairs.relevance.positives.nnz:,} relevant pairs"
    )
    head.caption(escape_markdown(text), width="content")
    n_finished = len(state.runs(dataset_id))
    on_data = [s for s in state.jobs() if s.spec is not None and s.spec.dataset_id == dataset_id]
    # What ended without a result is told only where there is nothing else to see.
    shown = [s for s in on_data if s.is_active or (not n_finished and not s.run_id)]
    if shown:
        progress.show_progress([s.id for s in shown], key="compare")
    if not n_finished:
        _show_nothing_trained(dataset_id, waiting=any(s.is_active for s in shown))
        return
    blend.take_stored_blend()
    answer = st.container()  # stands above what it depends on
    bar = st.container(
        horizontal=True, vertical_alignment="bottom", gap="xsmall", key="compare-bar"
    )
    run_table = choose(dataset_id, pairs, bar)
    if run_table is None:
        return
    with answer:
        table.show_finding(run_table)
    with table.show_table(run_table, bar):
        _show_against_all_items(run_table)
    curves.show(run_table)
    _show_details(run_table)


def _show_details(run_table: RunTable) -> None:
    """One at a time of what stands below, where somebody opens it."""
    fits = {
        "parameters": bool(_differing(run_table)),
        "topics": bool(topics.labelled(run_table)),
        "blend": len(run_table.entries) > 1,
        "hubs": bool(blend.correctable(run_table)),
    }
    known = {name: label for name, label in TABS.items() if fits.get(name, True)}
    # What a page sets, a browser takes over, whatever was pressed in the meantime.
    if st.session_state.get("compare-tab") not in (None, *known):
        st.session_state["compare-tab"] = None
    name = st.segmented_control(
        "Look further",
        **forms.session_options(known, "compare-tab"),
        label_visibility="collapsed",
        wrap=True,
    )
    if name != "queries":
        query_params.put(a=None, b=None, query=None)
    if name is None:
        query_params.put(tab=st.session_state["compare-curve"])
        return
    if name != "more":
        query_params.put(tab=name)
    show_tab = {
        "queries": queries.show,
        "parameters": _show_parameters,
        "topics": topics.show,
        "blend": blend.show,
        "hubs": blend.show_hubs,
        "more": _show_more,
    }
    show_tab[name](run_table)


def _show_more(run_table: RunTable) -> None:
    """What scores mean by themselves, and whether another split would say the same."""
    head = st.container(horizontal=True, vertical_alignment="center", gap="small")
    with head:
        kind = forms.segments("More", MORE, "compare-further", is_labelled=False, wrap=True)
    query_params.put(tab=kind)
    if kind == "divisions":
        repeated_splits.show(run_table)
        return
    about = head.popover(
        "Figures", icon=":material/info:", type="tertiary", key="compare-told-more"
    )
    show_kind = pair_curves.show_histograms if kind == "scores" else pair_curves.show_reliability
    with display.problems():  # a model that was deleted since, or is damaged
        show_kind(run_table, (st.container(), about))


def _differing(run_table: RunTable) -> dict[str, dict[str, Any]]:
    """Parameters in which runs of one method differ, each with its value by run."""
    results: dict[str, dict[str, Any]] = {}
    methods: dict[str, list[Mapping[str, Any]]] = {}
    for entry in run_table.entries:
        info = entry.run.info
        if info.is_derived or info.is_imported:
            continue
        request = runs.request_of(info)
        methods.setdefault(info.method, []).append({**request.default_params, **request.params})
        for name, value in methods[info.method][-1].items():
            is_plain = isinstance(value, bool | int | float | str) or value is None
            results.setdefault(name, {})[entry.run.id] = value if is_plain else repr(value)
    apart = {
        name
        for runs_of_method in methods.values()
        for name in runs_of_method[0]
        if len({repr(values.get(name)) for values in runs_of_method}) > 1
    }
    return {name: values for name, values in results.items() if name in apart}


def _show_parameters(run_table: RunTable) -> None:
    """Draw the metric against each parameter; what is brushed is chosen."""
    parameters = _differing(run_table)
    names = list(parameters)[:_MAX_PARAMETERS]
    rows: list[dict[str, Any]] = [
        {
            "id": entry.run.id,
            "method": entry.run.info.method,
            "label": entry.label,
            "value": entry.measured.value(run_table.metric, run_table.direction),
            "parameters": {
                n: parameters[n][entry.run.id] for n in names if entry.run.id in parameters[n]
            },
        }
        for entry in run_table.entries
    ]
    st.plotly_chart(
        parameters_figure(rows, names, metric=run_table.metric, theme=state.theme()),
        theme=None,
        key=_PARAMETERS,
        on_select=choose_brushed,
        selection_mode=("points", "box", "lasso"),
        config={**CHART_CONFIG, "modeBarButtonsToRemove": []},
        height=330,
    )
    st.caption(
        f"{escape_markdown(run_table.metric)} on the {run_table.part} part. Draw a box around "
        "points, or press them, to keep only these runs; *All* among the runs brings the others "
        "back."
    )


def choose_brushed() -> None:
    """Take the brushed runs, here and on other pages."""
    brushed: Any = st.session_state.get(_PARAMETERS)
    points = brushed["selection"]["points"]
    ids = [
        data[0] if isinstance(data, list) else data
        for data in (p.get("customdata") for p in points)
    ]
    if run_ids := list(dict.fromkeys(str(run_id) for run_id in ids if run_id)):
        st.session_state.run_ids = run_ids


def _show_nothing_trained(dataset_id: str, *, waiting: bool) -> None:
    if waiting:
        st.caption("The first result appears here as soon as it is there.")
        return
    st.markdown("Nothing has been trained on these data yet.")
    label, icon = "Choose methods to train", ":material/model_training:"
    frame.page_link("pages/train.py", label, icon, data=dataset_id)
    if dataset_id.startswith("demo:"):
        demo = dataset_id.removeprefix("demo:")
        frame.page_link("app.py", "Train this demo's methods", ":material/play_arrow:", demo=demo)


def _show_against_all_items(run_table: RunTable) -> None:
    """Offer figures against all items, where a query met only those of its part."""
    entries = [entry for entry in run_table.entries if not entry.run.info.is_imported]
    measured, sides = run_table.entries[0].measured, preferences.query_sides(run_table.direction)
    n_x, n_y = len(run_table.pairs.x), len(run_table.pairs.y)
    is_part = {"x2y": measured.n_y < n_y, "y2x": measured.n_x < n_x}
    if not entries or measured.pool != "split" or not any(is_part[side] for side in sides):
        return
    fold = st.expander("Against all items", key="compare-all-items", on_change="rerun")
    if not fold.open:
        return
    names = dict.fromkeys(m for m in (run_table.metric, *_FEW) if m in run_table.metrics)
    metrics = [m for m in names if parse_metric(m).level == "query"]
    rows, pool = [], 0
    with fold, display.problems():  # a model that was deleted since, or is damaged
        with st.spinner("Ranking against all items", show_time=False):
            for entry in entries:
                evaluation = _evaluation(entry, sides, run_table.pairs)
                values = [evaluation.value(m, run_table.direction) for m in metrics]
                rows.append([entry.label, *(f"{value:.3f}" for value in values)])
                pool = max(int(r.n_candidates.max()) for r in evaluation.rankings.values())
        display.table(["method", *metrics], rows)
        part = part_of(entries[0], run_table.pairs)
        st.caption(
            escape_markdown(
                f"The queries of the {run_table.part} part ({len(part.x):,} {part.nouns[0]}, "
                f"{len(part.y):,} {part.nouns[1]}), each ranked against all items of the other "
                f"side, up to {pool:,}; known training pairs are neither candidates nor relevant. "
                "Items of training compete here, as they do in use."
            )
        )


@state.cached(64)
def _evaluation(entry: RunEntry, sides: Sequence[Direction], pairs: PairSet) -> Evaluation:
    """What a run finds among all items."""
    pipeline, parts = drawings.pipeline(entry.run), entry.run.split(pairs)
    return evaluate_part(pipeline, pairs, parts, entry.part, pool="all", directions=sides)
