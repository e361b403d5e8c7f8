"""Hubs of a run corrected by CSLS, with k chosen on validation, and kept as a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import streamlit as st

from simviz.evaluation import parse_metric
from simviz.evaluation.hubs import csls_values
from simviz.jobs import JobSpec, csls_spec
from simviz.reports.summary import Entry
from simviz.store.run import CSLS
from simviz.workbench.compare.blend import offer_to_keep
from simviz.workbench.compare.choice import Choice, held_out
from simviz.workbench.shell import display, forms, state

if TYPE_CHECKING:
    from simviz.evaluation.result import Asking
    from simviz.pipeline._csls import Queries

_FORMS = {"given": "The other queries", "training": "Training items"}


def correctable(choice: Choice) -> Sequence[Entry]:
    """Runs whose hubs can be corrected: not what is corrected already, nor answers of others."""
    return [
        entry
        for entry in choice.entries
        if entry.run.info.method != CSLS and not entry.run.info.is_imported
    ]


@st.fragment
@display.problems(ValueError)
def show(choice: Choice) -> None:
    """Choose a run and a form, and show the metric at each k."""
    st.markdown(
        "Some answers are near to very many queries: hubs. CSLS, cross-domain similarity local "
        "scaling, takes the mean similarity of both items to their k nearest off each score."
    )
    entries = {entry.run.id: entry for entry in correctable(choice)}
    names = {run_id: entry.label for run_id, entry in entries.items()}
    if st.session_state.get("compare-scaled") not in names:
        st.session_state["compare-scaled"] = next(iter(names))
    run_id = st.selectbox("Run", **forms.kept(names, "compare-scaled"))
    words = "The nearest are looked for among"
    queries: Queries = forms.segments(words, _FORMS, "compare-neighbours")
    with st.spinner("Measuring at each k", show_time=False):
        values = _values(choice, entries[run_id], queries)
    better = 1 if parse_metric(choice.metric).higher_is_better else -1
    known = {k: better * value for k, value in values.items() if k and value == value}
    if not known:
        display.quiet("No query of the validation part has an answer, so k cannot be chosen.")
        return
    best = max(known, key=known.__getitem__)
    rows = [["without CSLS", f"{values[0]:.3f}", ""]]
    for k, value in values.items():
        if k:
            name = f"k = {k}, best" if k == best else f"k = {k}"
            rows.append([name, f"{value:.3f}", display.signed(value - values[0])])
    display.table([f"{choice.metric}, validation", "value", "Δ"], rows, look="sv-tight")
    st.caption(
        "As published, CSLS looks at the other queries: a score depends on what else is asked, so "
        "figures are of asking all queries of a part at once. Single queries, as in Search, find "
        "their nearest among training items."
        if queries == "given"
        else "A score depends on its two items and the model alone, however many queries ask."
    )
    info, mine = entries[run_id].run.info, state.workspace()
    about = "It stays whole when that run is deleted."

    def made() -> JobSpec:
        return csls_spec(info, best, queries=queries, workspace=mine)

    offer_to_keep(made, "correction", about)


@state.cached(60)
def _values(choice: Choice, entry: Entry, queries: Queries) -> dict[int, float]:
    """The metric on the validation part at each k, and under 0 without CSLS."""
    run, pairs = entry.run, choice.pairs
    held = held_out(run, "validation", pairs)
    if not (len(held.x) and len(held.y) and held.relevance.positives.nnz):
        return {}
    train, direction = run.take(pairs, "train"), cast("Asking", choice.direction)
    metric = parse_metric(choice.metric)
    return csls_values(run.pipeline(), train, held, queries, metric, direction)
