"""The cards of the experiments, one a table or figure of a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from simviz.charts.papers import paper_figure
from simviz.data.cells import counted
from simviz.datasets import DEMOS
from simviz.exceptions import SimvizError, StoreError
from simviz.experiments import (
    SIGNS,
    SIZES,
    VERDICTS,
    Claim,
    ClaimVerdict,
    Experiment,
    Findings,
    Size,
    Table,
    all_experiments,
    cell_text,
    get_experiment,
    known_findings,
    tables_csv,
    to_markdown,
)
from simviz.jobs import JobStatus, experiment_spec
from simviz.jobs.cost import MAX_SECONDS
from simviz.markdown import escape_markdown
from simviz.methods import get_method
from simviz.store.run import EXPERIMENT
from simviz.workbench.shell import display, forms, frame, progress, query_params, state
from simviz.workbench.shell.charts import show_chart

_STYLE = Path(__file__).with_name("cards.css")
_LOOKS = {"holds": "sv-yes", "does not hold": "sv-no"}
_LONGEST = MAX_SECONDS / 60  # minutes of a job
_LARGEST_SEED = 2**31 - 1


class How(NamedTuple):
    """How an experiment is run; no methods are all of them."""

    size: Size
    seed: int
    methods: tuple[str, ...] = ()


#: The newest job of each experiment, data set, and how it was run.
Jobs = Mapping[tuple[str, str, How], "JobStatus"]


class Target(NamedTuple):
    """Data that an experiment can be run on."""

    dataset_id: str
    text: str
    place: str


@frame.page("Papers")
def show_page() -> None:
    """Show every experiment, or the one that a link asks for."""
    st.title("Papers")
    st.html(_STYLE)
    display.style()
    known = all_experiments()
    requested = query_params.get("experiment")
    if requested in known:
        none = {"experiment": None}
        forms.quiet_button(
            "All papers", "papers-all", query_params.put, icon="arrow_back", kwargs=none
        )
        known = {requested: known[requested]}
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
    with st.container(horizontal=True, key=f"papers-methods-{paper.id}", gap="small"):
        for method in dict.fromkeys(name for one in group for name in one.methods):
            title = escape_markdown(get_method(method).tags.title)
            frame.page_link("pages/methods.py", title, None, method=method)
    for experiment in sorted(group, key=lambda e: e.id):
        with st.container(key=f"papers-card-{experiment.id}"):
            _show_card(experiment, jobs)


def _show_card(experiment: Experiment[Any], jobs: Jobs) -> None:
    st.subheader(experiment.title, anchor=experiment.id)
    info = DEMOS.get(experiment.demo)
    demo = info.title if info else experiment.demo
    place = st.empty()
    display.sentence(experiment.sentence)
    targets = _targets(experiment)
    with st.container(horizontal=True, vertical_alignment="center"):
        runs = st.container(horizontal=True, width="content")
        how = _choose_how(experiment, jobs)
    minutes = experiment.estimate(how.size)
    place.html(
        f'<p class="sv-meta">{escape(experiment.shown_as)} · needs {escape(experiment.needs)} · '
        f"{progress.duration(60 * minutes)} on “{escape(demo)}”</p>"
    )
    if minutes > _LONGEST:
        runs.code(experiment.command("full", how.seed), language="bash")
    statuses = [jobs.get((experiment.id, target.dataset_id, how)) for target in targets]
    if not any(status is not None and status.state == "succeeded" for status in statuses):
        _show_known(experiment)
    for target, status in zip(targets, statuses, strict=True):
        if status is None:
            if minutes <= _LONGEST:
                key = f"papers-run-{experiment.id}-{target.place}"
                job = experiment.id, target.dataset_id, how
                with runs:
                    forms.button(target.text, key, _start_job, *job, icon="play_arrow")
            continue
        key = f"papers-{experiment.id}-{target.place}"
        if status.state == "succeeded":
            _show_findings(experiment, status, key)
        else:
            progress.show_progress([status.id], key=key)


def _show_known(experiment: Experiment[Any]) -> None:
    if not (known := known_findings().get(experiment.id, ())):
        return
    counts = _counts(claim.verdict for findings in known for claim in findings.claims)
    display.quiet(
        f"Before this version was published, by full runs on open sets: {counts}. Rows and "
        "claims that are newer come with a run."
    )
    verdicts: dict[str, dict[str, str]] = {}
    for findings in known:
        for claim in findings.claims:
            text = f"{SIGNS[claim.verdict]} {claim.verdict}"
            verdicts.setdefault(claim.statement, {})[findings.data] = text
    sets = [findings.data for findings in known]
    rows = [(claim, *(on.get(name, "") for name in sets)) for claim, on in verdicts.items()]
    display.table(("claim", *sets), rows, look="sv-verdicts")
    for findings in known:
        with st.expander(f"All tables and numbers of {escape_markdown(findings.data)}"):
            display.quiet(f"{findings.about}. Size {findings.size}, seed {findings.seed}.")
            st.html(claims_html(findings.claims))
            for table in findings.tables:
                st.markdown(f"#### {escape_markdown(table.title)}")
                _show_table(table)


def _counts(verdicts: Iterable[ClaimVerdict]) -> str:
    """How many claims have each verdict, in words."""
    counts, many = Counter(verdicts), {"holds": "hold", "does not hold": "do not hold"}
    return ", ".join(
        f"{SIGNS[v]} {n} {v if n == 1 else many.get(v, v)}" for v in VERDICTS if (n := counts[v])
    )


def _newest_jobs() -> Jobs:
    """Return what this visitor has asked for by today's protocol, the newest of each kind."""
    newest: dict[tuple[str, str, How], JobStatus] = {}
    known = all_experiments()
    for status in state.jobs():
        spec = status.spec
        if spec is None or spec.method != EXPERIMENT or spec.params.get("name") not in known:
            continue
        name, size = spec.params["name"], spec.params["size"]
        if spec.params.get("protocol") == get_experiment(name).protocol(size):
            how = How(size, spec.split.seed, tuple(spec.params.get("methods") or ()))
            newest.setdefault((name, spec.dataset_id, how), status)
    return newest


def _choose_how(experiment: Experiment[Any], jobs: Jobs) -> How:
    """Let the visitor choose size, seed and methods; at first as in the newest job."""
    name, every = experiment.id, experiment.methods
    keys = [f"papers-{part}-{name}" for part in ("size", "seed", "methods")]
    last = next((how for of, _, how in jobs if of == name), How("demo", 0))
    for key, value in zip(keys, (last.size, last.seed, list(last.methods or every)), strict=True):
        st.session_state.setdefault(key, value)
    size, seed, methods = (st.session_state[key] for key in keys)
    few = f", {len(methods)} methods" if 0 < len(methods) < len(every) else ""
    with st.popover(f"{size.capitalize()} size, seed {seed}{few}", key=f"papers-how-{name}"):
        costs = {size: progress.duration(60 * experiment.estimate(size)) for size in SIZES}
        labels = {size: f"{size.capitalize()}, {cost}" for size, cost in costs.items()}
        st.radio("Size", **forms.options(labels), key=keys[0])
        st.number_input("Seed", 0, _LARGEST_SEED, key=keys[1])
        titles = {m: escape_markdown(get_method(m).tags.title) for m in every}
        if len(every) > 1:
            st.pills("Methods", **forms.options(titles), selection_mode="multi", key=keys[2])
    requested = tuple(m for m in every if m in methods)
    return How(size, int(seed), () if len(requested) in (0, len(every)) else requested)


def _targets(experiment: Experiment[Any]) -> list[Target]:
    """Return the demo, and the current data set where its kinds fit."""
    demo_id = f"demo:{experiment.demo}"
    targets = [Target(demo_id, "Run on the demo", "demo")]
    own = state.current_dataset_id()
    if own and own != demo_id and not query_params.get("share"):
        try:
            pairs = state.dataset(own)
        except SimvizError:
            return targets
        if not experiment.refusal(pairs):
            targets.append(Target(own, f"Run on {escape_markdown(pairs.name)}", "own"))
    return targets


@display.problems(show=display.toast)
def _start_job(name: str, dataset_id: str, how: How) -> None:
    """Ask for an experiment; an answer that is known comes at once."""
    params: dict[str, Any] = {"size": how.size, "seed": how.seed, "methods": how.methods or None}
    digest = state.dataset(dataset_id).digest
    spec = experiment_spec(name, dataset_id, digest, **params, workspace=state.workspace())
    state.queue().submit(spec)


def _show_findings(experiment: Experiment[Any], status: JobStatus, key: str) -> None:
    try:
        findings = state.queue().result(status.id, state.workspace()).value
    except StoreError as error:
        display.problem(error)
        return
    display.quiet(
        f"{findings.data}: {findings.about}. Size {findings.size}, seed {findings.seed}, took "
        f"{findings.seconds:,.0f} s."
    )
    if findings.claims:
        counts = _counts(claim.verdict for claim in findings.claims)
        display.quiet(f"{counted(len(findings.claims), 'claim')}: {counts}.")
        st.html(claims_html(findings.claims))
    for place, figure in enumerate(findings.figures):
        st.markdown(f"#### {figure.title}")
        show_chart(paper_figure(figure, theme=state.theme()), f"{key}-figure-{place}")
        if figure.note:
            display.quiet(figure.note)
    for place, table in enumerate(findings.tables):
        with st.expander(table.title, expanded=not place and not state.is_narrow()):
            _show_table(table)
    if findings.notes:
        with st.expander("How it was done"):
            display.notes(findings.notes)
    if findings.command:
        st.code(findings.command, language="bash")
    _show_files(experiment, findings, key)


def claims_html(claims: tuple[Claim, ...]) -> str:
    """Return claims as a list: verdict by colour and sign, numbers, test, the paper's numbers."""
    entries = []
    for claim in claims:
        lines = [
            claim.numbers(),
            *(f"{SIGNS[p.verdict]} {p.statement}: {p.numbers()}" for p in claim.parts),
            f"Test: {claim.test}." if claim.test else "",
            f"The paper’s test: {claim.paper_test}." if claim.paper_test else "",
            f"The paper: {claim.published}." if claim.published else "",
        ]
        small = "".join(f"<small>{escape(line)}</small>" for line in lines if line)
        look = _LOOKS.get(claim.verdict, "sv-open")
        mark = f'<span class="sv-verdict {look}">{SIGNS[claim.verdict]} {claim.verdict}</span>'
        text = f"<span>{escape(claim.statement)}</span>"
        entries.append(f'<div class="sv-claim" role="listitem">{mark}{text}{small}</div>')
    return f'<div class="sv-claims" role="list">{"".join(entries)}</div>'


def _show_table(table: Table) -> None:
    text = any(isinstance(row[-1], str) for row in table.rows)
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    display.table(table.columns, rows, look="sv-words" if text else "")
    if table.note:
        display.quiet(table.note)


def _show_files(experiment: Experiment[Any], findings: Findings, key: str) -> None:
    def write_tables() -> bytes:
        return tables_csv(findings.tables).encode("utf-8", "replace")

    files: dict[str, tuple[str, str, Any]] = {
        "Report as Markdown": ("md", "text/markdown", partial(to_markdown, experiment, findings)),
        "Tables as CSV": ("csv", "text/csv", write_tables),
    }
    with st.container(horizontal=True):
        for label, (end, mime, write) in files.items():
            name = f"{findings.experiment}.{end}"
            st.download_button(label, write, name, mime, key=f"{key}-{end}", on_click="ignore")
