"""Quality against the number of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.markdown import escape_markdown
from simviz.reports.summary import NEARLY, dimension_curve, milestones
from simviz.workbench.compare.choice import Choice, part_of
from simviz.workbench.shell import display, drawings, state
from simviz.workbench.shell.figures import draw, segments, show_rows

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.reports.summary import Entry

#: Metrics that a curve can be drawn of, by what the page calls them.
METRICS = {"MRR": "MRR", "AUC": "AUC (by query)", "NDCG@3": "NDCG@3 (exponential gain)"}


def show(choice: Choice) -> None:
    """Draw quality against the number of dimensions."""
    from simviz.charts import dimension_figure, dimension_records
    from simviz.charts.curves import knee

    nested = [entry for entry in choice.entries if entry.measured.curve]
    if not nested:
        st.caption(
            "None of these methods has such a curve: their dimensions are not ordered, so that "
            "the first few would be no smaller model."
        )
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        metric = segments(
            "Metric",
            list(METRICS),
            "compare-dimension-metric",
            help="AUC is that of each query's own candidates, on average.",
        )
    curves = []
    with st.spinner("Measuring the first dimensions", show_time=False):
        for entry in nested:
            records = _records(entry, METRICS[metric], choice)
            if (curve := dimension_curve(entry, choice.direction, records)) is not None:
                curves.append(curve)
    if not curves:
        left.caption(
            f"No query of the {choice.part} part has both right and wrong candidates in this "
            "direction, so that there is nothing to rank with few dimensions or many."
        )
        return
    with right:
        rows = []
        for curve in curves:
            at = knee(curve.dimensions, curve.values)
            rows.append([curve.label, *milestones(curve), f"{at:,.0f}" if at else "–"])
        nearly = f"{NEARLY:.0%} of it with".replace("%", " %")
        display.table(["method", "best", "with", nearly, "knee"], rows, look="sv-slim")
        st.caption(
            f"{escape_markdown(METRICS[metric])} of the first dimensions of each model, all from "
            "one training, with 95 % bands over queries. The ring marks the best; the dotted line "
            "the knee, from which on more dimensions help less. Fewer dimensions are quicker to "
            "search and smaller to store."
        )
        without = [entry.label for entry in choice.entries if entry not in nested]
        if without:
            st.caption(escape_markdown(f"Without ordered dimensions: {', '.join(without)}."))
    with left:
        draw(dimension_figure(curves, metric=metric, theme=state.theme()), "dimensions")
        show_rows("dimensions", lambda: dimension_records(curves))


def _records(entry: Entry, metric: str, choice: Choice) -> Sequence[Mapping[str, Any]]:
    """The curve that came with the run, or one of another metric, measured now."""
    stored = entry.measured.curve
    if stored[0]["metric"] == metric:
        return stored
    dimensions = sorted({int(record["dimension"]) for record in stored})
    return _measured(entry, metric, dimensions, part_of(entry, choice.pairs))


@state.cached(64)
def _measured(
    entry: Entry, metric: str, dimensions: Sequence[int], part: PairSet
) -> list[Mapping[str, Any]]:
    from simviz.evaluation import dimension_curve as measure

    pipeline: Any = drawings.pipeline(entry.run.id, entry.run)
    curve = measure(
        pipeline.transform(part.x),
        pipeline.transform_y(part.y),
        part.relevance,
        dimensions,
        similarity="dot" if pipeline.model_.similarity_kind == "dot" else "cosine",
        metric=metric,
    )
    return list(curve.to_records())
