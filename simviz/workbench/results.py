"""What was found: one sentence, one table, two curves, one map."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from simviz.charts import RocCurve, dimension_figure, roc_figure
from simviz.charts.canvas import map_alt
from simviz.data.pairs import PairSet
from simviz.evaluation.roc import Roc
from simviz.reports import summary
from simviz.store.run import Run
from simviz.workbench.compare import table
from simviz.workbench.map import canvas, scene as map_scene
from simviz.workbench.map.view import View
from simviz.workbench.shell import drawings, forms, progress, runs as shell_runs, settings, state
from simviz.workbench.shell.figures import show_chart

_KEY = "map-alone"
#: Where to go from what was found.
_FURTHER = (
    ("pages/compare.py", "Which queries differ", ":material/leaderboard:"),
    ("pages/map.py", "Explore the map", ":material/scatter_plot:"),
    ("pages/train.py", "Train other methods", ":material/model_training:"),
)


def show(
    dataset_id: str,
    pairs: PairSet,
    runs: Sequence[Run],
    metric: str,
    direction: str,
    key: str,
) -> list[Run]:
    """Show what runs on one split found on the part that is looked at."""
    part = settings.current_part(dataset_id)
    measured = {run.id: shell_runs.read_measured(run) for run in runs}
    ordered = summary.ranked(runs, measured, metric, direction, part)
    entries = shell_runs.entries_of(ordered, part)
    answer = st.container()  # stands above what it depends on
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        settings.part_switch(dataset_id)
        for page, label, icon in _FURTHER:
            if page != "pages/train.py" or key != "train":
                st.page_link(page, label=label, icon=icon, query_params={"data": dataset_id})
    missing = [
        (run, shell_runs.run_title(run.info))
        for run in ordered
        if part not in measured[run.id].parts
    ]
    if missing:
        progress.offer_missing_part(missing, part, pairs, key=key)
    if not entries:
        return []
    with answer:
        # Easier to read than an MRR, and a column of the table.
        table.show_best(entries[0], "top-1" if metric == "MRR" else metric, direction, pairs)
    shown = list(dict.fromkeys([metric, "top-1", "MAP" if direction == "y2x" else "AUC"]))
    show_table(entries, shown, direction, pairs)
    show_curves(entries, direction)
    return [entry.run for entry in entries]


def show_table(
    entries: Sequence[summary.Entry], metrics: Sequence[str], direction: str, pairs: PairSet
) -> None:
    """Compare runs in a few columns, the best on validation first, what knows nothing last."""
    metrics = [metric for metric in metrics if entries[0].record(metric, direction) is not None]
    rows = summary.table_rows(entries, metrics, direction)
    columns = [summary.metric_column(rows, metric) for metric in metrics]
    columns += [summary.dimensions_column(rows), summary.time_column(rows)]
    table.draw_columns(rows, entries, columns)
    record = entries[0].record(metrics[0], direction) if metrics else None
    if record is None:
        return
    part = entries[0].part
    if record["direction"] == "pairs":
        st.caption(
            f"Over {record['n']:,} pairs of the {part} part. In the order of the validation part."
        )
        return
    queries = {"x2y": pairs.x_name, "y2x": pairs.y_name, "mean": "queries from both sides"}
    pool = entries[0].measured.ranked_against(direction, part, pairs)
    st.caption(
        f"Mean over {record['n']:,} {part} {queries[direction]} ± 95 % interval, each ranked "
        f"against {pool}. Ties count with their expected value. "
        "In the order of the validation part."
    )


def show_curves(entries: Sequence[summary.Entry], direction: str) -> None:
    """Draw ROC and quality against dimensions side by side."""
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("#### How well it separates pairs")
        rocs = []
        for entry in entries:
            arrays = entry.run.part(entry.part).roc()
            if arrays is not None:
                roc = Roc(**arrays)
                rocs.append(RocCurve(entry.look, entry.label, roc.fpr, roc.tpr, roc.auc))
        show_chart(roc_figure(rocs, theme=state.theme()), "roc")
    with right:
        st.markdown("#### How many dimensions it takes")
        drawn = [summary.dimension_curve(entry, direction) for entry in entries]
        metrics = [r["metric"] for entry in entries for r in entry.measured.curve]
        metric = metrics[0] if metrics else "MRR"
        figure = dimension_figure([c for c in drawn if c], metric=metric, theme=state.theme())
        show_chart(figure, "curve")


def show_map(runs: Sequence[Run], pairs: PairSet) -> None:
    """Draw both sides as one of the runs sees them."""
    st.markdown("#### Both sides on one map")
    by_id = {run.id: run for run in runs}
    titles = {run.id: shell_runs.run_title(run.info) for run in runs}
    chosen = forms.segmented("As seen by", titles, "home-map-run", default=runs[0].id)
    show_map_alone(by_id[chosen], pairs)


def show_map_alone(run: Run, pairs: PairSet) -> None:
    """Draw both sides as a run sees them; what is clicked is opened on the map."""
    picked = canvas.news("picked", _KEY)
    if picked is not None and picked.get("key"):
        where = {"data": run.info.dataset_id, "run": run.id, "sel": str(picked["key"])}
        st.switch_page("pages/map.py", query_params=where)
    drawing = drawings.best_kept(run)
    placed = drawings.kept(run, drawing)
    scene = map_scene.scene_of(run, pairs, drawing)
    st.html(canvas.STYLE)
    canvas.send(scene.items, "items")
    canvas.send(scene.places, "places")
    data = map_scene.data(View(run.info.dataset_id, run.id), scene)
    alt = map_alt(placed.drawing, (pairs.x_name, pairs.y_name))
    canvas.show(data | {"asked": [], "scrolls": True, "alt": alt}, _KEY)
    if placed.drawing.quality is not None:
        st.caption(
            f"{placed.drawing.quality.describe()} {' '.join(placed.drawing.notes)} "
            "Press an item to open it on the map."
        )
