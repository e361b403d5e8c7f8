"""The Parameters section: runs as points over the parameters in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from simviz.charts.tuning import parameters_figure
from simviz.markdown import escape_markdown
from simviz.reports.run_summary import RunTable
from simviz.workbench.shell import runs, state
from simviz.workbench.shell.charts import CHART_CONFIG

#: Panels beside one another, and the key of the chart.
_MAX_PARAMETERS, _KEY = 4, "compare-parameters"


def differing(table: RunTable) -> dict[str, dict[str, Any]]:
    """Parameters in which runs of one method differ, each with its value by run."""
    results: dict[str, dict[str, Any]] = {}
    methods: dict[str, list[Mapping[str, Any]]] = {}
    for entry in table.entries:
        info = entry.run.info
        if info.is_derived or info.is_imported:
            continue
        request = runs.request_of(info)
        values = request.default_params | request.params
        methods.setdefault(info.method, []).append(values)
        for name, value in values.items():
            is_plain = isinstance(value, bool | int | float | str) or value is None
            results.setdefault(name, {})[entry.run.id] = value if is_plain else repr(value)
    apart = {
        name
        for runs_of_method in methods.values()
        for name in runs_of_method[0]
        if len({repr(values.get(name)) for values in runs_of_method}) > 1
    }
    return {name: values for name, values in results.items() if name in apart}


def show(table: RunTable, parameters: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the metric against each parameter; what is brushed is chosen."""
    names = list(parameters)[:_MAX_PARAMETERS]
    rows: Sequence[Mapping[str, Any]] = [
        {
            "id": entry.run.id,
            "method": entry.run.info.method,
            "label": entry.label,
            "value": entry.measured.value(table.metric, table.direction),
            "parameters": {
                n: parameters[n][entry.run.id] for n in names if entry.run.id in parameters[n]
            },
        }
        for entry in table.entries
    ]
    st.plotly_chart(
        parameters_figure(rows, names, metric=table.metric, theme=state.theme()),
        theme=None,
        key=_KEY,
        on_select=choose_brushed,
        selection_mode=("points", "box", "lasso"),
        config={**CHART_CONFIG, "modeBarButtonsToRemove": []},
        height=330,
    )
    st.caption(
        f"{escape_markdown(table.metric)} on the {table.part} part. Draw a box around points, "
        "or press them, to keep only these runs; *All* among the runs brings the others back."
    )


def choose_brushed() -> None:
    """Take the brushed runs, here and on other pages."""
    brushed: Any = st.session_state.get(_KEY)
    points = brushed["selection"]["points"]
    ids = [
        data[0] if isinstance(data, list) else data
        for data in (p.get("customdata") for p in points)
    ]
    if run_ids := list(dict.fromkeys(str(run_id) for run_id in ids if run_id)):
        st.session_state.run_ids = run_ids
