"""What was found: one sentence, one table, two curves, one map."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared.state import theme

if TYPE_CHECKING:
    from simviz.store.run import Run

CHART_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


def title_of(run: Run) -> str:
    """Name of a run: its own, else its method's."""
    from simviz.methods import get_method

    return run.info.name or get_method(run.info.method).tags.title


def value_of(records: Sequence[dict[str, Any]], metric: str, direction: str) -> dict[str, Any]:
    """The record of a metric in a direction; "both" is the mean of the two."""
    return next(r for r in records if r["metric"] == metric and r["direction"] == direction)


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
    st.html(f'<p class="sv-finding">{escape(words)}</p>')


def show_table(runs: Sequence[Run], metrics: Sequence[str], direction: str) -> None:
    """Compare runs in a few columns, the best first, what costs nothing last."""
    from simviz.charts.style import method_style

    rows = []
    best = {
        m: max(value_of(run.records(), m, direction)["value"] for run in runs) for m in metrics
    }
    for run in runs:
        colour = method_style(run.info.method, theme()).colour
        cells = []
        for metric in metrics:
            record = value_of(run.records(), metric, direction)
            mark = " sv-best" if record["value"] == best[metric] else ""
            cells.append(
                f'<td class="{mark.strip()}">{record["value"]:.3f} '
                f'<span class="sv-se">±{1.96 * record["standard_error"]:.3f}</span></td>'
            )
        k = run.info.summary.get("n_components")
        rows.append(
            f'<tr><td><span style="color:{colour}">■</span> {escape(title_of(run))}</td>'
            + "".join(cells)
            + f"<td>{int(k) if k else '–'}</td><td>{run.info.seconds:.1f} s</td></tr>"
        )
    for name, records in runs[0].evaluation()["baselines"].items():
        cells = [f"<td>{value_of(records, m, direction)['value']:.3f}</td>" for m in metrics]
        rows.append(
            f'<tr class="sv-base"><td>{escape(name)}</td>{"".join(cells)}<td>–</td><td>–</td></tr>'
        )
    head = "".join(f"<th>{escape(m)}</th>" for m in metrics)
    st.html(
        '<div class="sv-scroll"><table class="sv-table"><thead><tr><th>method</th>'
        f"{head}<th>dimensions</th><th>time</th></tr></thead><tbody>{''.join(rows)}</tbody>"
        "</table></div>"
    )
    record = value_of(runs[0].records(), metrics[0], direction)
    pool = {"split": "all items of the test part", "judged": "the judged items"}
    st.caption(
        f"Mean over {record['n']:,} test queries ± 95 % interval, ranked against "
        f"{pool.get(record['pool'], record['pool'])}; ties count with their expected value."
    )


def show_curves(runs: Sequence[Run], metric: str, direction: str) -> None:
    """Draw ROC and quality against dimensions side by side."""
    from simviz.charts import DimensionCurve, RocCurve, dimension_figure, roc_figure
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
        curves = []
        for run in runs:
            points = [r for r in run.curve() if r["direction"] == direction]
            if not points:
                continue
            values = [p["value"] for p in points]
            spread = [1.96 * p["standard_error"] for p in points]
            curves.append(
                DimensionCurve(
                    run.info.method,
                    title_of(run),
                    [p["dimension"] for p in points],
                    values,
                    [v - s for v, s in zip(values, spread, strict=True)],
                    [v + s for v, s in zip(values, spread, strict=True)],
                )
            )
        figure = dimension_figure(curves, metric=metric, theme=theme())
        st.plotly_chart(figure, theme=None, key="curve", alt=_alt(figure), config=CHART_CONFIG)


def _alt(figure: Any) -> str:
    """What a chart shows, for those who cannot see it."""
    return str(figure.layout.meta["alt"])
