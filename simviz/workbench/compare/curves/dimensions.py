"""Quality against the number of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.reports.summary import NEARLY, dimension_curve, milestones
from simviz.workbench.compare.choice import Choice
from simviz.workbench.compare.columns import part_of
from simviz.workbench.shell import drawings, state
from simviz.workbench.shell.figures import draw, show_figures, show_rows
from simviz.workbench.shell.marks import plain

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.reports.summary import Entry
    from simviz.store.run import Part, Run

#: Metrics that a curve can be drawn of, by what the page calls them.
_METRICS = {"MRR": "MRR", "AUC": "AUC (by query)", "NDCG@3": "NDCG@3 (exponential gain)"}


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
        metric = _choose_metric()
    drawn = []
    with st.spinner("Measuring the first dimensions", show_time=False):
        for entry in nested:
            records = _records(entry, metric, choice)
            if (curve := dimension_curve(entry, choice.direction, records)) is not None:
                drawn.append((entry, curve))
    if not drawn:
        left.caption(
            f"No query of the {choice.part} part has both right and wrong candidates in this "
            "direction, so that there is nothing to rank with few dimensions or many."
        )
        return
    curves = [curve for _, curve in drawn]
    with right:
        show_figures(
            ["method", "best", "with", f"{NEARLY:.0%} of it with".replace("%", " %"), "knee"],
            [
                [
                    entry.label,
                    *milestones(curve),
                    f"{at:,.0f}" if (at := knee(curve.dimensions, curve.values)) else "–",
                ]
                for entry, curve in drawn
            ],
        )
        st.caption(
            f"{plain(_METRICS[metric])} of the first dimensions of each model, all from one "
            "training, with 95 % bands over queries. The ring marks the best; the dotted line the "
            "knee, from which on more dimensions help less. Fewer dimensions are quicker to "
            "search and smaller to store."
        )
        without = [entry.label for entry in choice.entries if entry not in nested]
        if without:
            st.caption(plain(f"Without ordered dimensions: {', '.join(without)}."))
    with left:
        draw(dimension_figure(curves, metric=metric, theme=state.theme()), "dimensions")
        show_rows("dimensions", lambda: dimension_records(curves))


def _choose_metric() -> str:
    if st.session_state.get("compare-dimension-metric") not in _METRICS:
        st.session_state["compare-dimension-metric"] = "MRR"
    chosen: str = st.segmented_control(
        "Metric",
        list(_METRICS),
        key="compare-dimension-metric",
        required=True,
        persist_state="session",
        help="AUC is that of each query's own candidates, on average.",
    )
    return chosen


def _records(entry: Entry, metric: str, choice: Choice) -> Sequence[Mapping[str, Any]]:
    """The curve that came with the run, or one of another metric, measured now."""
    stored = entry.measured.curve
    if stored[0]["metric"] == _METRICS[metric]:
        return stored
    ks = tuple(sorted({int(record["dimension"]) for record in stored}))
    pairs = part_of(entry, choice.pairs)
    return _measured(entry.run.id, entry.part, _METRICS[metric], ks, entry.run, pairs)


@st.cache_data(show_spinner=False, max_entries=64)
def _measured(
    run_id: str, part: Part, metric: str, dimensions: tuple[int, ...], _run: Run, _pairs: PairSet
) -> list[Any]:
    from simviz.evaluation import dimension_curve as measure

    pipeline: Any = drawings.pipeline(run_id, _run)
    found = measure(
        pipeline.transform(_pairs.x),
        pipeline.transform_y(_pairs.y),
        _pairs.relevance,
        dimensions,
        similarity="dot" if pipeline.model_.similarity_kind == "dot" else "cosine",
        metric=metric,
    )
    return list(found.to_records())
