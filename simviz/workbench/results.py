"""What was found: a verdict, one table, two curves, one map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from simviz.charts import dimension_figure, roc_figure
from simviz.data.cells import counted
from simviz.data.pairs import PairSet
from simviz.evaluation.differences import hardest_queries, query_metric
from simviz.evaluation.result import Asking
from simviz.jobs.run_drawings import QUICK_LAYOUT
from simviz.markdown import escape_markdown
from simviz.relevance import FEW_JUDGED
from simviz.reports import run_summary
from simviz.reports.run_summary import RunTable
from simviz.store.run import Run
from simviz.workbench.compare import curves, table
from simviz.workbench.map import scene as map_scene
from simviz.workbench.shell import display, drawings, frame, preferences, progress, state
from simviz.workbench.shell.charts import show_chart
from simviz.workbench.shell.runs import entries_of, run_title

_LABEL = 60  # characters of a query
#: Where to go from what was found, and whether the page takes one run or several.
_NEXT_PAGES = (
    ("pages/compare.py", "Compare", ":material/leaderboard:", "runs"),
    ("pages/map.py", "Map", ":material/scatter_plot:", "run"),
    ("pages/search.py", "Search", ":material/search:", "run"),
    ("pages/train.py", "Train other methods", ":material/model_training:", ""),
)


def show(
    dataset_id: str, pairs: PairSet, runs: Sequence[Run], metric: str, direction: Asking, key: str
) -> Run | None:
    """Show what runs on one split found on the part looked at; return the run of the verdict."""
    part = preferences.current_part(dataset_id)
    ordered = run_summary.ranked(runs, metric, direction, part)
    entries = entries_of(ordered, part)
    answer = st.container()  # stands above what it depends on
    row: Any = {"horizontal": True, "vertical_alignment": "bottom", "gap": "medium"}
    with st.container(key="results-links", **row):
        preferences.part_switch(dataset_id)
        seen = entries[0].run if entries else ordered[0]
        for page, label, icon, takes in _NEXT_PAGES:
            if not (key == "train" and page == "pages/train.py"):
                ids = {"runs": ",".join(run.id for run in ordered), "run": seen.id}
                where = {takes: ids[takes], "part": part} if takes else {}
                frame.page_link(page, label, icon, data=dataset_id, **where)
    missing = [run for run in ordered if part not in run.measured]
    progress.explain_missing_part([run_title(run.info) for run in missing], part)
    if not entries:
        return None
    shown = dict.fromkeys([metric, "top-1", "MAP" if direction == "y2x" else "AUC"])
    run_table = RunTable(pairs, entries, direction, metric, list(shown))
    with answer:
        # Easier to read than an MRR, and a column of the table.
        easy = "top-1" if metric == "MRR" else metric
        table.show_finding(run_table, easy)
    show_table(run_table, easy)
    show_hardest(entries[0], direction, pairs)
    show_curves(run_table)
    return entries[0].run


def show_table(run_table: RunTable, headline: str) -> None:
    """Compare runs in a few columns, in their order; what the headline says is bold."""
    metrics = [metric for metric in run_table.metrics if run_table.record(metric) is not None]
    table.draw_columns(run_table, run_table.page_columns(metrics, headline))
    record = run_table.record(metrics[0]) if metrics else None
    if record is None:
        return
    part, order = run_table.part, f"Runs are ordered {run_summary.order(run_table.entries)}."
    if record["direction"] == "pairs":
        st.caption(f"Over {record['n']:,} pairs of the {part} part. {order}")
        return
    queries = run_summary.side_names(run_table.pairs, run_table.direction).queries
    queries = "queries from both sides" if run_table.direction == "mean" else queries
    st.caption(
        f"Mean over {record['n']:,} {part} {queries} ± 95 % interval, each ranked "
        f"against {run_table.pool}. Ties count with their expected value. {order}"
    )


def show_hardest(entry: run_summary.RunEntry, direction: Asking, pairs: PairSet) -> None:
    """Name the queries for which the best run finds the right answer last; each leads to why."""
    ranking = entry.evaluation.rankings.get("y2x" if direction == "y2x" else "x2y")
    run_table = [] if ranking is None else hardest_queries(ranking)
    if not run_table:
        return
    side = "y" if direction == "y2x" else "x"
    items, rows = getattr(pairs, side), entry.run.arrays()[f"{side}_{entry.part}"]
    text = f"Hardest queries for {entry.label}; press one to see why:"
    st.markdown(escape_markdown(text))
    with st.container(key="results-hardest", gap=None):
        for query, rank in run_table:
            at = int(rows[query])
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                if picture := display.item_picture(items, at):
                    st.html(f'<img src="{picture}" alt="" height="28">', width=30)
                label = escape_markdown(display.item_label(items, at, _LABEL)) or "·"
                where = {"data": entry.run.info.dataset_id, "run": entry.run.id}
                where |= {"part": entry.part, "ask": f"{side}{at}"}
                frame.page_link("pages/search.py", label, ":material/help:", **where)
                st.caption(f"right answer at rank {rank:,.4g}", width="content")


def show_curves(run_table: RunTable) -> None:
    """Draw ROC and quality against dimensions side by side; say why where there is none."""
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("#### ROC: matching pairs against others")
        part, rocs = run_table.part, run_summary.roc_curves(run_table.entries)
        if rocs:
            show_chart(roc_figure([curve for curve, _ in rocs], theme=state.theme()), "roc")
            if (n_others := rocs[-1][1].n_negative) < FEW_JUDGED:
                others = counted(n_others, "pair")
                st.caption(f"AUC rests on {others} judged not relevant: a rough figure.")
        else:
            display.quiet(f"No ROC curve: the {part} part lacks relevant or other pairs.")
    with right:
        st.markdown("#### Quality by number of dimensions")
        metric = query_metric(run_table.metric).name
        made = {}
        with display.problems():  # a model that was deleted since, or is damaged
            for entry in run_table.entries:
                made[entry.label] = curves.curve_of(run_table, entry, metric)
        if drawn := [curve for curve in made.values() if curve is not None]:
            show_chart(dimension_figure(drawn, metric=metric, theme=state.theme()), "curve")
        if flat := [label for label, curve in made.items() if curve is None]:
            # A method that orders its dimensions can be cut to the first of them.
            st.caption(
                escape_markdown(f"No curve, as their dimensions have no order: {', '.join(flat)}.")
            )


def show_map(run: Run, pairs: PairSet) -> None:
    """Draw both sides as the run of the verdict sees them, soon after its figures are there."""
    title = escape_markdown(run_title(run.info))
    st.markdown(f"#### Both sides on one map, as {title} sees them")
    if drawings.draw_ahead(run, pairs):
        where = {"data": run.info.dataset_id, "run": run.id}
        drawing = map_scene.show_alone(run, pairs, where, "map-alone")
        if drawing.quality is not None:
            st.caption(
                f"{drawing.quality.describe()} {' '.join(drawing.notes)} "
                "Press an item to open it on the map."
            )
    else:
        drawings.ensure_drawn(run, pairs, QUICK_LAYOUT, "the map")
