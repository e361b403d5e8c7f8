"""The cards of the experiments, one a table or figure of a paper."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import jobs, papers_findings, papers_jobs, plain
from simviz.experiments import all_experiments

if TYPE_CHECKING:
    from simviz.experiments import Experiment

STYLE = """
<style>
.sv-meta { opacity: .7; font-size: .9rem; margin: 0; }
[class*="st-key-papers-card-"] { padding: 1rem 0 .6rem; max-width: 68rem;
  border-top: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
</style>
"""


def show() -> None:
    """Show every experiment, or the one that a link asks for."""
    st.title("Do the papers hold?")
    st.html(STYLE + papers_findings.STYLE)
    plain.style()
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
    done = papers_jobs.known_jobs()
    papers: dict[str, list[Experiment[Any]]] = {}
    for cls in known.values():
        papers.setdefault(cls.paper.id, []).append(cls())
    for group in sorted(papers.values(), key=_newest_last):
        _show_paper(group, done)


def _newest_last(group: list[Experiment[Any]]) -> tuple[int, str]:
    return group[0].paper.year, group[0].paper.id


def _show_all() -> None:
    del st.query_params["experiment"]


def _show_paper(group: list[Experiment[Any]], done: papers_jobs.Known) -> None:
    paper = group[0].paper
    st.header(paper.title, anchor=paper.id)
    where = f"{paper.authors}, {paper.year}" + (f". {paper.venue}" if paper.venue else "")
    st.html(f'<p class="sv-meta">{escape(where)}</p>')
    for experiment in sorted(group, key=lambda e: e.id):
        with st.container(key=f"papers-card-{experiment.id}"):
            _show_card(experiment, done)


def _show_card(experiment: Experiment[Any], done: papers_jobs.Known) -> None:
    st.subheader(experiment.title, anchor=experiment.id)
    demo = papers_jobs.demo_title(experiment)
    st.html(
        f'<p class="sv-meta">{escape(experiment.shown_as)} · needs {escape(experiment.needs)} · '
        f"about {experiment.minutes:g} min on “{escape(demo)}”</p>"
    )
    plain.said(experiment.sentence)
    targets = papers_jobs.targets(experiment)
    with st.container(horizontal=True, vertical_alignment="center"):
        for target in targets:
            if (experiment.id, target.dataset_id) not in done:
                st.button(
                    target.words,
                    key=f"papers-run-{experiment.id}-{target.place}",
                    icon=":material/play_arrow:",
                    on_click=papers_jobs.start,
                    args=(experiment.id, target.dataset_id),
                )
    for target in targets:
        status = done.get((experiment.id, target.dataset_id))
        if status is None:
            continue
        key = f"papers-{experiment.id}-{target.place}"
        if status.state == "succeeded":
            papers_findings.show(experiment, status, key)
        else:
            jobs.show_progress([status.id], key=key)
