"""What was found: one sentence, one table, two curves, one map."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import compare_choice, compare_columns, compare_runs, compare_table, naming
from pages._shared.compare_runs import Entry
from pages._shared.state import is_narrow, theme

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store.run import Run

CHART_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


def title_of(run: Run) -> str:
    """Name of a run: its own, else its method's."""
    return naming.run_title(run.info)


def value_of(records: Sequence[dict[str, Any]], metric: str, direction: str) -> dict[str, Any]:
    """The record of a metric in a direction: "x2y", "y2x" or their "mean".

    A metric that pools all pairs has one value, whatever the direction.
    """
    wanted = (direction, "pairs")
    return next(r for r in records if r["metric"] == metric and r["direction"] in wanted)


def show_finding(run: Run, metric: str, direction: str, names: tuple[str, str]) -> None:
    """Say in a sentence what the best run can do."""
    from simviz.evaluation.report import finding

    record = value_of(run.records(), metric, direction)
    baseline = value_of(run.evaluation()["baselines"]["popularity"], metric, direction)
    x_name, y_name = names
    query, answer = (y_name, x_name) if direction == "y2x" else (x_name, y_name)
    words = finding(
        title_of(run),
        metric,
        record["value"],
        record["n"],
        query_name=query,
        answer_name=answer,
        baseline=baseline["value"],
    )
    compare_table.show_words(words)


def show_table(
    runs: Sequence[Run], metrics: Sequence[str], direction: str, names: tuple[str, str]
) -> None:
    """Compare runs in a few columns, the best first, what knows nothing last."""
    infos = [run.info for run in runs]
    labels, looks = compare_runs.label_runs(infos), compare_runs.looks(infos)
    entries = [
        Entry(run, labels[run.id], looks[run.id], compare_choice.read_measured(run.id))
        for run in runs
    ]
    rows = compare_table.table_rows(entries, direction, metrics)
    columns = [compare_columns.metric(rows, metric) for metric in metrics]
    columns += [compare_columns.dimensions(rows), compare_columns.time(rows)]
    compare_columns.draw(rows, [entry.look for entry in entries], columns)
    record = value_of(runs[0].records(), metrics[0], direction)
    asked = {"x2y": names[0], "y2x": names[1], "mean": "queries from both sides"}[direction]
    pool = {"split": "all items of the test part", "judged": "the judged items"}
    st.caption(
        f"Mean over {record['n']:,} test {asked} ± 95 % interval, each ranked against "
        f"{pool.get(record['pool'], record['pool'])}. Ties count with their expected value."
    )


def show_curves(runs: Sequence[Run], direction: str) -> None:
    """Draw ROC and quality against dimensions side by side."""
    from simviz.charts import RocCurve, dimension_figure, roc_figure
    from simviz.evaluation.roc import Roc

    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("#### How well it separates pairs")
        rocs = []
        for run in runs:
            arrays = run.roc()
            if arrays is not None:
                roc = Roc(**arrays)
                label = title_of(run)
                rocs.append(RocCurve(run.info.method, label, roc.fpr, roc.tpr, roc.auc))
        figure = roc_figure(rocs, theme=theme())
        st.plotly_chart(figure, theme=None, key="roc", alt=_alt(figure), config=CHART_CONFIG)
    with right:
        st.markdown("#### How many dimensions it takes")
        curves = [curve for run in runs if (curve := _dimension_curve(run, direction))]
        metric = next((r["metric"] for run in runs for r in run.curve()), "MRR")
        figure = dimension_figure(curves, metric=metric, theme=theme())
        st.plotly_chart(figure, theme=None, key="curve", alt=_alt(figure), config=CHART_CONFIG)


def _dimension_curve(run: Run, direction: str) -> Any:
    """Quality by dimension with its 95 % band, or None where the method has none."""
    from simviz.charts import DimensionCurve

    wanted = ("x2y", "y2x") if direction == "mean" else (direction,)
    sides = [[r for r in run.curve() if r["direction"] == d] for d in wanted]
    if not all(sides):
        return None
    values = [fmean(p["value"] for p in points) for points in zip(*sides, strict=True)]
    spread = [
        1.96 * fmean(p["standard_error"] for p in points) for points in zip(*sides, strict=True)
    ]
    return DimensionCurve(
        run.info.method,
        title_of(run),
        [point["dimension"] for point in sides[0]],
        values,
        [v - s for v, s in zip(values, spread, strict=True)],
        [v + s for v, s in zip(values, spread, strict=True)],
    )


def show_map(runs: Sequence[Run], pairs: PairSet) -> None:
    """Draw both sides as one of the runs sees them."""
    from simviz.charts import map_figure
    from simviz.jobs import load_map
    from simviz.jobs.drawing import DRAWING

    st.markdown("#### Both sides on one map")
    titles = {run.id: title_of(run) for run in runs}
    chosen = st.segmented_control(
        "As seen by",
        list(titles),
        format_func=lambda run_id: titles[run_id],
        default=runs[0].id,
        required=True,
        key="home-map-run",
        label_visibility="collapsed",
    )
    run = next(r for r in runs if r.id == chosen)
    drawing, x_drawn, y_drawn = load_map(run, DRAWING)
    height = 420 if is_narrow() else 680
    x, y = pairs.x.take(x_drawn), pairs.y.take(y_drawn)
    figure = map_figure(
        drawing,
        x,
        y,
        pairs.relevance.take(x_drawn, y_drawn),
        theme=theme(),
        x_name=pairs.x_name,
        y_name=pairs.y_name,
        width=360 if is_narrow() else 1000,
        height=height,
    )
    # Said to Plotly too: otherwise it may keep the ranges of a first, lower draw.
    figure.update_layout(height=height)
    st.plotly_chart(
        figure, theme=None, key="map", alt=_alt(figure), config=CHART_CONFIG, height=height
    )
    if drawing.quality is not None:
        st.caption(f"{drawing.quality.describe()} {' '.join(drawing.notes)}")


def _alt(figure: Any) -> str:
    """What a chart shows, for those who cannot see it."""
    return str(figure.layout.meta["alt"])
