"""The cards of the experiments, one a table or figure of a paper."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from simviz.charts.papers import paper_figure
from simviz.datasets import DEMOS
from simviz.exceptions import SimvizError, StoreError
from simviz.experiments import (
    SIGNS,
    Claim,
    Experiment,
    Findings,
    Table,
    all_experiments,
    cell_text,
    tables_csv,
    to_markdown,
)
from simviz.jobs import JobStatus, experiment_spec
from simviz.markdown import escape_markdown
from simviz.store.run import EXPERIMENT
from simviz.workbench.shell import display, forms, frame, progress, state
from simviz.workbench.shell.figures import show_chart

_STYLE = Path(__file__).with_name("cards.css")
_LOOKS = {"holds": "sv-yes", "does not hold": "sv-no", "not comparable": "sv-open"}
#: The newest job of each experiment and data set.
Jobs = Mapping[tuple[str, str], "JobStatus"]


class Target(NamedTuple):
    """Data that an experiment can be run on."""

    dataset_id: str
    words: str
    place: str


@frame.page("Papers")
def show_page() -> None:
    """Show every experiment, or the one that a link asks for."""
    st.title("Papers")
    st.html(_STYLE)
    display.style()
    known = all_experiments()
    wanted = st.query_params.get("experiment", "")
    if wanted in known:
        forms.quiet_button(
            "All papers", "arrow_back", "papers-all", st.query_params.pop, "experiment"
        )
        known = {wanted: known[wanted]}
    else:
        st.html(
            '<p class="sv-lead">Each card repeats a table or figure of a paper on open data and '
            "tests its claims.</p>"
        )
    jobs = _newest_jobs()
    papers: dict[str, list[Experiment[Any]]] = {}
    for cls in known.values():
        papers.setdefault(cls.paper.id, []).append(cls())
    for group in sorted(papers.values(), key=lambda g: (g[0].paper.year, g[0].paper.id)):
        _show_paper(group, jobs)


def _show_paper(group: list[Experiment[Any]], jobs: Jobs) -> None:
    paper = group[0].paper
    st.header(paper.title, anchor=paper.id)
    where = f"{paper.authors}, {paper.year}" + (f". {paper.venue}" if paper.venue else "")
    st.html(f'<p class="sv-meta">{escape(where)}</p>')
    for experiment in sorted(group, key=lambda e: e.id):
        with st.container(key=f"papers-card-{experiment.id}"):
            _show_card(experiment, jobs)


def _show_card(experiment: Experiment[Any], jobs: Jobs) -> None:
    st.subheader(experiment.title, anchor=experiment.id)
    info = DEMOS.get(experiment.demo)
    demo = info.title if info else experiment.demo
    st.html(
        f'<p class="sv-meta">{escape(experiment.shown_as)} · needs {escape(experiment.needs)} · '
        f"about {experiment.minutes:g} min on “{escape(demo)}”</p>"
    )
    display.said(experiment.sentence)
    targets = _targets(experiment)
    with st.container(horizontal=True, vertical_alignment="center"):
        for target in targets:
            if (experiment.id, target.dataset_id) not in jobs:
                st.button(
                    target.words,
                    key=f"papers-run-{experiment.id}-{target.place}",
                    icon=":material/play_arrow:",
                    on_click=_start_job,
                    args=(experiment.id, target.dataset_id),
                )
    for target in targets:
        status = jobs.get((experiment.id, target.dataset_id))
        if status is None:
            continue
        key = f"papers-{experiment.id}-{target.place}"
        if status.state == "succeeded":
            _show_findings(experiment, status, key)
        else:
            progress.show_progress([status.id], key=key)


def _newest_jobs() -> Jobs:
    """Return what this visitor has asked for, the newest of each kind."""
    found: dict[tuple[str, str], JobStatus] = {}
    for status in state.jobs():
        if status.spec and status.spec.method == EXPERIMENT:
            key = str(status.spec.params.get("name")), status.spec.dataset_id
            found.setdefault(key, status)
    return found


def _targets(experiment: Experiment[Any]) -> list[Target]:
    """Return the demo, and the current data set where its kinds fit."""
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


def _start_job(name: str, dataset_id: str) -> None:
    """Ask for an experiment; an answer that is known comes at once."""
    try:
        digest = state.dataset(dataset_id).digest
        spec = experiment_spec(name, dataset_id, digest, workspace=state.workspace())
        state.queue().submit(spec)
    except SimvizError as error:
        st.toast(escape_markdown(str(error)))


def _show_findings(experiment: Experiment[Any], status: JobStatus, key: str) -> None:
    """Show what a finished job found."""
    try:
        found = state.queue().result(status.id, state.workspace()).findings()
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
    """Return claims as a list: verdict by colour and sign, numbers, test, the paper's numbers."""
    entries = []
    for claim in claims:
        verdict = claim.verdict
        lines = [
            claim.reason or claim.numbers(),
            f"Test: {claim.test}." if claim.test else "",
            f"The paper’s test: {claim.paper_test}." if claim.paper_test else "",
            f"The paper: {claim.published}." if claim.published else "",
        ]
        small = "".join(f"<small>{escape(line)}</small>" for line in lines if line)
        mark = f'<span class="sv-verdict {_LOOKS[verdict]}">{SIGNS[verdict]} {verdict}</span>'
        words = f"<span>{escape(claim.statement)}</span>"
        entries.append(f'<div class="sv-claim" role="listitem">{mark}{words}{small}</div>')
    return f'<div class="sv-claims" role="list">{"".join(entries)}</div>'


def _show_figure(found: Any, key: str) -> None:
    figure = paper_figure(found, theme=state.theme())
    st.markdown(f"#### {found.title}")
    show_chart(figure, key)
    if found.note:
        display.quiet(found.note)


def _show_table(table: Table) -> None:
    display.table(table.columns, [[cell_text(cell) for cell in row] for row in table.rows])
    if table.note:
        display.quiet(table.note)


def _show_files(experiment: Experiment[Any], found: Findings, key: str) -> None:
    files = {
        "Report as Markdown": ("md", "text/markdown", lambda: to_markdown(experiment, found)),
        "Tables as CSV": (
            "csv",
            "text/csv",
            lambda: tables_csv(found.tables).encode("utf-8", "replace"),
        ),
    }
    with st.container(horizontal=True):
        for label, (end, mime, write) in files.items():
            name = f"{found.experiment}.{end}"
            st.download_button(label, write, name, mime, key=f"{key}-{end}", on_click="ignore")
