"""What an experiment found: claims with their verdicts, figures, tables, files."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import plain, state
from pages._shared.compare_curves import CHART_CONFIG
from simviz.exceptions import StoreError

if TYPE_CHECKING:
    from simviz.experiments import Claim, Experiment, Findings, Table
    from simviz.jobs import JobStatus

STYLE = """
<style>
.sv-claims { margin: .3rem 0; max-width: 60rem; }
.sv-claim { display: grid; grid-template-columns: 9.2rem 1fr; gap: .1rem 1rem;
  padding: .55rem 0; line-height: 1.5; overflow-wrap: anywhere;
  border-bottom: 1px solid color-mix(in srgb, currentColor 9%, transparent); }
.sv-claims small { grid-column: 2; font-size: .875rem; opacity: .75;
  font-variant-numeric: tabular-nums; }
.sv-verdict { font-weight: 600; white-space: nowrap; }
.sv-verdict.sv-yes { color: light-dark(#1d7a4c, #58c08c); }
.sv-verdict.sv-no { color: light-dark(#b03a20, #f08a6c); }
.sv-verdict.sv-open { opacity: .65; }
@media (max-width: 640px) {
  .sv-claim { grid-template-columns: 1fr; }
  .sv-claims small { grid-column: 1; }
}
</style>
"""
_LOOKS = {"holds": "sv-yes", "does not hold": "sv-no", "not comparable": "sv-open"}


def show(experiment: Experiment[Any], status: JobStatus, key: str) -> None:
    """Show what a finished job found.

    Parameters
    ----------
    experiment : Experiment
        Whose findings they are.
    status : JobStatus
        A job that succeeded.
    key : str
        Sets the widgets apart from those of other cards.
    """
    from simviz.jobs.experiments import findings_of

    try:
        found = findings_of(state.queue().result(status.id, state.workspace()))
    except StoreError as error:
        plain.problem(error)
        return
    plain.quiet(f"{found.data}: {found.about}. Took {found.seconds:,.0f} s, seed {found.seed}.")
    if found.claims:
        st.html(claims_html(found.claims))
    for place, figure in enumerate(found.figures):
        _show_figure(figure, f"{key}-figure-{place}")
    for place, table in enumerate(found.tables):
        with st.expander(table.title, expanded=not place and not state.is_narrow()):
            _show_table(table)
    if found.notes:
        with st.expander("How it was done"):
            plain.notes(found.notes)
    if found.command:
        st.code(found.command, language="bash")
    _show_files(experiment, found, key)


def claims_html(claims: tuple[Claim, ...]) -> str:
    """Claims as a list: verdict by colour and sign, numbers, the test, the paper's numbers.

    Parameters
    ----------
    claims : tuple of Claim
        In order.

    Returns
    -------
    str
        HTML, every text escaped.
    """
    from simviz.experiments import SIGNS

    entries = []
    for claim in claims:
        verdict = claim.verdict
        lines = [claim.reason or claim.numbers()]
        lines += [f"Test: {claim.test}."] if claim.test else []
        lines += [f"The paper’s test: {claim.paper_test}."] if claim.paper_test else []
        lines += [f"The paper: {claim.published}."] if claim.published else []
        told = "".join(f"<small>{escape(line)}</small>" for line in lines if line)
        mark = f'<span class="sv-verdict {_LOOKS[verdict]}">{SIGNS[verdict]} {verdict}</span>'
        said = f"<span>{escape(claim.statement)}</span>"
        entries.append(f'<div class="sv-claim" role="listitem">{mark}{said}{told}</div>')
    return f'<div class="sv-claims" role="list">{"".join(entries)}</div>'


def _show_figure(found: Any, key: str) -> None:
    from simviz.charts.papers import paper_figure

    figure = paper_figure(found, theme=state.theme())
    st.markdown(f"#### {found.title}")
    alt = str(figure.layout.meta["alt"])
    st.plotly_chart(figure, theme=None, key=key, alt=alt, config=CHART_CONFIG)
    if found.note:
        plain.quiet(found.note)


def _show_table(table: Table) -> None:
    from simviz.experiments import cell_text

    plain.table(table.columns, [[cell_text(cell) for cell in row] for row in table.rows])
    if table.note:
        plain.quiet(table.note)


def _show_files(experiment: Experiment[Any], found: Findings, key: str) -> None:
    from simviz.experiments import tables_csv, to_markdown

    with st.container(horizontal=True):
        st.download_button(
            "All of it as Markdown",
            lambda: to_markdown(experiment, found),
            f"{found.experiment}.md",
            "text/markdown",
            key=f"{key}-md",
            on_click="ignore",
        )
        st.download_button(
            "Tables as CSV",
            lambda: tables_csv(found.tables).encode("utf-8", "replace"),
            f"{found.experiment}.csv",
            "text/csv",
            key=f"{key}-csv",
            on_click="ignore",
        )
