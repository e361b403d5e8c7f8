"""The cards of the experiments, one a table or figure of a paper."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from simviz.exceptions import SimvizError, StoreError
from simviz.experiments import all_experiments
from simviz.jobs.spec import EXPERIMENT
from simviz.markdown import escape_markdown
from simviz.workbench.shell import display, frame, progress, state
from simviz.workbench.shell.figures import CHART_CONFIG

if TYPE_CHECKING:
    from simviz.experiments import Claim, Experiment, Findings, Table
    from simviz.jobs import JobStatus

FINDINGS_STYLE = """
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


def show_findings(experiment: Experiment[Any], status: JobStatus, key: str) -> None:
    """Show what a finished job found."""
    from simviz.jobs.experiments import findings_of

    try:
        found = findings_of(state.queue().result(status.id, state.workspace()))
    except StoreError as error:
        display.problem(error)
        return
    display.quiet(f"{found.data}: {found.about}. Took {found.seconds:,.0f} s, seed {found.seed}.")
    if found.claims:
        st.html(claims_html(found.claims))
    for place, figure in enumerate(found.figures):
        _show_figure(figure, f"{key}-figure-{place}")
    for place, table in enumerate(found.tables):
        with st.expander(table.title, expanded=not place and not state.is_narrow()):
            _show_table(table)
    if found.notes:
        with st.expander("How it was done"):
            display.notes(found.notes)
    if found.command:
        st.code(found.command, language="bash")
    _show_files(experiment, found, key)


def claims_html(claims: tuple[Claim, ...]) -> str:
    """Claims as a list: verdict by colour and sign, numbers, the test, the paper's numbers."""
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
        display.quiet(found.note)


def _show_table(table: Table) -> None:
    from simviz.experiments import cell_text

    display.table(table.columns, [[cell_text(cell) for cell in row] for row in table.rows])
    if table.note:
        display.quiet(table.note)


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


#: The newest job of each experiment and data set.
Known = Mapping[tuple[str, str], "JobStatus"]


class Target(NamedTuple):
    """Data that an experiment can be run on."""

    dataset_id: str
    words: str
    place: str


def known_jobs() -> Known:
    """What this visitor has asked for, the newest of each kind."""
    found: dict[tuple[str, str], JobStatus] = {}
    for status in state.queue().jobs(state.workspace()):
        if status.spec and status.spec.method == EXPERIMENT:
            key = str(status.spec.params.get("name")), status.spec.dataset_id
            found.setdefault(key, status)
    return found


def demo_title(experiment: Experiment[Any]) -> str:
    """What the experiment's demo is called."""
    from simviz.datasets import DEMOS

    info = DEMOS.get(experiment.demo)
    return info.title if info else experiment.demo


def job_targets(experiment: Experiment[Any]) -> list[Target]:
    """The demo, and the current data set where its kinds fit."""
    demo_id = f"demo:{experiment.demo}"
    found = [Target(demo_id, "Run on the demo", "demo")]
    own = state.current_dataset_id()
    if own and own != demo_id and "share" not in st.query_params:
        try:
            pairs = state.dataset(own)
        except SimvizError:
            return found
        if not experiment.refusal(pairs):
            name = escape_markdown(pairs.name)
            found.append(Target(own, f"Run on {name}", "own"))
    return found


def start_job(name: str, dataset_id: str) -> None:
    """Ask for an experiment; an answer that is known comes at once."""
    from simviz.jobs.experiments import experiment_spec

    try:
        digest = state.dataset(dataset_id).digest
        spec = experiment_spec(name, dataset_id, digest, workspace=state.workspace())
        state.queue().submit(spec)
    except SimvizError as error:
        st.toast(escape_markdown(str(error)))


STYLE = """
<style>
.sv-meta { opacity: .7; font-size: .9rem; margin: 0; }
[class*="st-key-papers-card-"] { padding: 1rem 0 .6rem; max-width: 68rem;
  border-top: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
</style>
"""


def show_page() -> None:
    """Show the Papers page."""
    frame.begin("Papers")
    show()
    frame.end()


def show() -> None:
    """Show every experiment, or the one that a link asks for."""
    st.title("Do the papers hold?")
    st.html(STYLE + FINDINGS_STYLE)
    display.style()
    known = all_experiments()
    wanted = st.query_params.get("experiment", "")
    if wanted in known:
        st.button(
            "All papers",
            key="papers-all",
            icon=":material/arrow_back:",
            type="tertiary",
            on_click=_show_all,
        )
        known = {wanted: known[wanted]}
    else:
        st.html(
            '<p class="sv-lead">Each card runs a table or figure of a paper again, on open data. '
            "Its claims then hold or do not hold, with the test that says so, the paper’s numbers "
            "beside ours.</p>"
        )
    done = known_jobs()
    papers: dict[str, list[Experiment[Any]]] = {}
    for cls in known.values():
        papers.setdefault(cls.paper.id, []).append(cls())
    for group in sorted(papers.values(), key=_newest_last):
        _show_paper(group, done)


def _newest_last(group: list[Experiment[Any]]) -> tuple[int, str]:
    return group[0].paper.year, group[0].paper.id


def _show_all() -> None:
    del st.query_params["experiment"]


def _show_paper(group: list[Experiment[Any]], done: Known) -> None:
    paper = group[0].paper
    st.header(paper.title, anchor=paper.id)
    where = f"{paper.authors}, {paper.year}" + (f". {paper.venue}" if paper.venue else "")
    st.html(f'<p class="sv-meta">{escape(where)}</p>')
    for experiment in sorted(group, key=lambda e: e.id):
        with st.container(key=f"papers-card-{experiment.id}"):
            _show_card(experiment, done)


def _show_card(experiment: Experiment[Any], done: Known) -> None:
    st.subheader(experiment.title, anchor=experiment.id)
    demo = demo_title(experiment)
    st.html(
        f'<p class="sv-meta">{escape(experiment.shown_as)} · needs {escape(experiment.needs)} · '
        f"about {experiment.minutes:g} min on “{escape(demo)}”</p>"
    )
    display.said(experiment.sentence)
    targets = job_targets(experiment)
    with st.container(horizontal=True, vertical_alignment="center"):
        for target in targets:
            if (experiment.id, target.dataset_id) not in done:
                st.button(
                    target.words,
                    key=f"papers-run-{experiment.id}-{target.place}",
                    icon=":material/play_arrow:",
                    on_click=start_job,
                    args=(experiment.id, target.dataset_id),
                )
    for target in targets:
        status = done.get((experiment.id, target.dataset_id))
        if status is None:
            continue
        key = f"papers-{experiment.id}-{target.place}"
        if status.state == "succeeded":
            show_findings(experiment, status, key)
        else:
            progress.show_progress([status.id], key=key)
