"""The health of the data: findings as rows, each with its remedy or an explanation."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

import streamlit as st
from markupsafe import Markup

from simviz.charts.tables import html_table
from simviz.data import split
from simviz.data.health import Finding, HealthReport, Remedy, check_health
from simviz.data.health.checks import estimate_seconds, find_disputed
from simviz.data.health.findings import ItemName
from simviz.data.pairs import PairSet
from simviz.exceptions import DatasetError
from simviz.jobs import SplitSpec
from simviz.store import DatasetInfo
from simviz.workbench.data.upload import Upload
from simviz.workbench.shell import display, forms, preferences, query_params, state

#: Longest check that starts by itself, in seconds.
PATIENCE = 4.0
#: From this MRR or AUC of shared words on, nobody can do much better.
_NEARLY_ALL = 0.975
# In the session: checks that were wanted, by what they are about; the
# version that each mended data set was made from; and what went wrong.
_REQUESTED, _BEFORE, _PROBLEM = "data-health-asked", "data-health-before", "data-health-problem"
_LEVELS = {"act": "fix", "look": "check"}


def show(info: DatasetInfo, pairs: PairSet, spec: SplitSpec) -> None:
    """Show what was found in a data set, and let it be mended."""
    st.markdown("#### Health")
    if wrong := st.session_state.pop(_PROBLEM, ""):
        display.problem(wrong)
    offer_undo(info)
    report = _requested_report(pairs, spec)
    if report is None:
        return
    for finding in report:
        _show_finding(info, pairs, spec, finding)
    _show_rest(report)


def _requested_report(pairs: PairSet, spec: SplitSpec) -> HealthReport | None:
    """Return the report; None where it takes long and nobody asked for it yet."""
    key = pairs.cache_key, spec
    seconds = estimate_seconds(pairs)
    if seconds > PATIENCE and key not in st.session_state.get(_REQUESTED, ()):
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            if not st.button("Check now", key="data-health-check"):
                display.quiet(
                    "Looking for leaks, duplicates and contradictions takes about "
                    f"{int(seconds) if seconds < 10 else 5 * round(seconds / 5)} seconds."
                )
                return None
        st.session_state.setdefault(_REQUESTED, set()).add(key)
    with st.spinner("Looking for leaks, duplicates and contradictions"):
        return _report(pairs, spec)


@state.cached(32)
def _report(pairs: PairSet, spec: SplitSpec) -> HealthReport:
    """Return the report, found once for a content and a split."""
    try:
        parts = split(pairs, spec.by, spec.fractions, spec.seed, spec.group_key)
    except DatasetError:  # the split says itself what is wrong with it
        return check_health(pairs, suggest=False)
    return check_health(pairs, parts)


def _show_finding(info: DatasetInfo, pairs: PairSet, spec: SplitSpec, finding: Finding) -> None:
    """Show a row that opens, and the button that mends it."""
    left, right = st.columns([7, 2], gap="medium", vertical_alignment="top")
    with left:
        st.html(finding_html(finding, pairs))
    remedy = finding.remedy
    if remedy is not None and not query_params.get("share"):
        with right:
            forms.button(
                remedy.label,
                f"data-remedy-{finding.kind}",
                mend,
                info,
                pairs,
                spec,
                finding.title,
                remedy,
                help="Makes a new version of the data; this one is kept.",
            )


def show_disputed(file: Upload) -> None:
    """Show what a file says twice and differently, while its rows are still known."""
    result = file.understood()
    finding = find_disputed(result)
    if finding is None or finding.remedy is None:
        return
    st.html(finding_html(finding, result.pairs))
    if st.button(finding.remedy.label, key=f"data-disputed-{file.pairs_digest}"):
        with display.problems():
            file.mend(finding.title, finding.remedy)
            st.rerun()


def finding_html(finding: Finding, pairs: PairSet) -> str:
    """Return a finding as a row that opens: why it matters, and examples."""
    # Where all examples are of one side, the finding has named it.
    start = 1 if len({row[0] for row in finding.examples if finding.head[0] == "side"}) == 1 else 0
    rows = [[_cell(cell, pairs) for cell in row[start:]] for row in finding.examples]
    table = html_table(finding.head[start:], rows, look="sv-table") if rows else ""
    return (
        f'<details class="sv-find"><summary><i class="sv-{finding.level}">'
        f"{_LEVELS[finding.level]}</i>{escape(finding.title)}</summary>"
        f"<div><p>{escape(finding.why)}</p>{table}</div></details>"
    )


def _cell(cell: str, pairs: PairSet) -> object:
    if not isinstance(cell, ItemName):
        return cell
    items = pairs.x if cell.side == "x" else pairs.y
    source = display.item_picture(items, cell.item, 64) if cell.item < len(items) else None
    if source is None:
        return str(cell)
    return Markup('<img src="{}" alt="">{}').format(source, str(cell))


def _show_rest(report: HealthReport) -> None:
    """Show what was looked for and how far shared words lead."""
    if not len(report):
        display.sentence("No problems found.")
    shared = report.shared
    if shared is not None:
        note = " Training has little to add." if shared.words >= _NEARLY_ALL else ""
        display.quiet(
            f"Shared words alone (TF-IDF) reach {shared.metric} {shared.words:.2f} on {shared.on} "
            f"(chance: {shared.chance:.2f}).{note}"
        )
    took = f" {report.seconds:.1f} s." if report.seconds >= 0.05 else ""
    display.quiet(f"Checked: {'; '.join(report.checked)}.{took}")
    display.notes(report.skipped)


@display.problems(show=display.later(_PROBLEM))
def mend(info: DatasetInfo, pairs: PairSet, spec: SplitSpec, title: str, remedy: Remedy) -> None:
    """Keep the mended pairs as a new version, and work on that."""
    note = f"Fixed: {title}. {remedy.label}. The version before is “{info.name}”."
    mended = replace(remedy(pairs), name=next_name(info.name))
    dataset_id = state.store().datasets.put(mended, state.workspace(), (*info.notes, note))
    if remedy.is_split:
        spec = replace(spec, by="column", group_key="split")
    preferences.choose_split(dataset_id, spec)
    st.session_state.setdefault(_BEFORE, {})[dataset_id] = (info.id, note)
    state.choose_dataset(dataset_id)


def offer_undo(info: DatasetInfo) -> None:
    """Offer the way back to the version before, where this one was made of it just now."""
    before_id, note = st.session_state.get(_BEFORE, {}).get(info.id, ("", ""))
    if not before_id:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        display.quiet(note)
        forms.quiet_button(
            "Undo",
            "data-health-undo",
            state.choose_dataset,
            before_id,
            icon="undo",
            help="Back to the version before; this one is kept.",
        )


def next_name(name: str) -> str:
    """Return what the next version of a data set is called."""
    match = re.fullmatch(r"(.*), version (\d{1,6})", name, re.DOTALL)
    base, number = (match[1], int(match[2])) if match else (name, 1)
    return f"{base}, version {number + 1}"
