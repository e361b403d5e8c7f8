"""The finding in a sentence, the table of results, and what its figures mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from itertools import zip_longest
from math import isnan
from pathlib import Path

import streamlit as st
from markupsafe import Markup
from streamlit.delta_generator import DeltaGenerator

from simviz.charts.style import clean_text
from simviz.charts.tables import html_table
from simviz.data.cells import counted
from simviz.evaluation import Comparison, Comparisons, Verdict
from simviz.evaluation.metrics import parse_metric
from simviz.markdown import escape_markdown
from simviz.reports.run_summary import (
    RunEntry,
    RunTable,
    bold,
    column,
    finding_of,
    nothing_known,
    order,
    side_names,
    verdict_of,
    verdict_text,
)
from simviz.workbench.compare import downloads, significance
from simviz.workbench.compare.significance import TestResults
from simviz.workbench.shell import code, display, sharing, state
from simviz.workbench.shell.display import mark
from simviz.workbench.shell.runs import describe_split

#: Metrics beside the main one where not all are shown.
_FEW = ("top-1", "MRR", "AUC")
_NOTHING = "–"
_LONGEST = 16  # characters of a run's name in a heading
_STYLE = Path(__file__).with_name("table.css")


# -- the finding ----------------------------------------------------------------------


def show_finding(table: RunTable, shown: str | None = None) -> None:
    """Say what the best run can do, by a metric that is easy to read, and the verdict."""
    record = table.record()
    if record is None or isnan(record["value"]):
        st.markdown(f"{table.metric} could not be measured on the {table.part} part.")
        return
    if shown is not None and table.record(shown) is None:
        shown = None
    text = finding_of(table, shown)
    # A figure and its per cent stay on one line.
    text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    st.html(f'<p class="sv-finding">{escape(text)}</p>')
    with st.spinner("Testing", show_time=False):
        labels = tuple(entry.label for entry in table.entries)
        comparisons = _verdict(table, table.entries, labels, order(table.entries))
    # Nor does a line end within "p < 0.001".
    whole = "p\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}"
    text = re.sub(r"\bp ([<=]) ", whole, verdict_text(comparisons, table))
    st.html(f'<p class="sv-next">{escape(text)}</p>')


@state.cached(100)
def _verdict(
    table: RunTable, entries: Sequence[RunEntry], labels: Sequence[str], order: str
) -> Verdict:
    """The verdict by what runs are called, which an entry's key does not say."""
    return verdict_of(table)


# -- the table ------------------------------------------------------------------------


def show_table(table: RunTable, bar: DeltaGenerator) -> DeltaGenerator:
    """Show runs by metric, those of one method together; return the place of what explains it."""
    several = len(table.entries) > 1
    now = significance.current_setting(table)
    everything = bool(st.session_state.get("compare-more"))
    table = replace(table, entries=_by_method(table.entries))
    results = significance.test_results(table, now) if several else None
    with bar:
        if several:
            significance.choose_test(table, now)
        # What stands beside a test takes the place of metrics.
        few = dict.fromkeys((table.metric, *(_FEW if results is None else ("AUC",))))
        metrics = table.metrics if everything else [m for m in few if m in table.metrics][:3]
        runs = [entry.run for entry in table.entries]
        with st.popover("Export", icon=":material/download:"):
            downloads.show(table, metrics, results)
            st.divider()
            downloads.show_model_files(table.entries)
            code.show_compare(table, now.test, now.correction)
        sharing.show_button("compare", runs)
    with_costs = everything or results is None
    columns = table.page_columns(metrics, table.metric, with_costs=with_costs)
    if results is not None:
        columns[1:1] = _tested_columns(table, results, everything=everything)
    with st.container(key="compare-table" + "-wide" * everything):
        draw_columns(table, columns, indented=True)
    # A popover would lie on the table.
    about = st.expander("About these figures", type="compact", key="compare-about")
    with about:
        st.caption(_footnote(table, metrics))
        if table.part == "validation":
            st.caption("Choose by these figures; which is better, the test part says.")
        elif results is not None:
            st.caption(_test_note(table, results))
            if text := significance.power(table, results.comparisons):
                st.caption(escape_markdown(text))
        for sentence in nothing_known(table):
            st.caption(escape_markdown(sentence))
    return about


def _method_key(entry: RunEntry) -> str:
    """What runs of one method share; a blend, or a run of another system, has no kin."""
    info = entry.run.info
    return info.id if info.is_derived or info.is_imported else info.method


def _by_method(entries: Sequence[RunEntry]) -> list[RunEntry]:
    """Runs of one method behind the best of them."""
    groups: dict[str, list[RunEntry]] = {}
    for entry in entries:
        groups.setdefault(_method_key(entry), []).append(entry)
    return [entry for group in groups.values() for entry in group]


def draw_columns(
    table: RunTable, columns: Sequence[Sequence[object]], *, indented: bool = False
) -> None:
    """Draw a table of runs, then of what knows nothing, in grey; settings may be indented."""
    entries, names = table.entries, table.row_names
    looks = [""] * len(entries) + ["sv-base"] * (len(names) - len(entries))
    marks = ""
    for i, entry in enumerate(entries):
        if indented and i and _method_key(entry) == _method_key(entries[i - 1]):
            looks[i] = "sv-kin"
            first = entries[i - 1].label.partition(", ")[0]
            names[i] = names[i].removeprefix(f"{first}, ")
        # On the validation part a dagger marks the runs that stopped by it.
        marked = Markup('<span class="sv-mark sv-run-{}"></span>{}{}')
        names[i] = marked.format(i, names[i], "†" * entry.is_stopped_early)
        marks += f".sv-run-{i} {{ background-image: {mark(entry.look)}; }}"
    head, *lines = zip_longest(["method", *names], *columns, fillvalue=_NOTHING)
    html = html_table(head, lines, look="sv-table", row_looks=looks, scroll="sv-scroll")
    st.html(_STYLE)
    st.html(f"<style>{marks}</style>{html}")
    if any(entry.is_stopped_early for entry in entries):
        st.caption("† Early-stopped on this part: its figures here are optimistic.")


def _tested_columns(
    table: RunTable, results: TestResults, *, everything: bool
) -> list[list[object]]:
    """What tests found: tie groups, differences and p-values; more of it where asked."""
    now, comparisons = results.setting, results.comparisons
    base = now.against.label
    by_pairs, units = significance.is_by_pairs(comparisons), significance.counted(comparisons)

    def tested_column(
        head: str,
        hover: str,
        text: Callable[[Comparison], str],
        comparisons: Comparisons = comparisons,
    ) -> list[object]:
        lines = significance.against(table, results._replace(comparisons=comparisons))
        return column(head, [_NOTHING if one is None else text(one) for one in lines], hover)

    name, test = significance.tested_name(table, now), significance.test_name(comparisons)
    head = f"Δ to {clean_text(base, _LONGEST)}"
    hover = f"{name} minus that of {base}, on the same queries."
    delta = tested_column(head, hover, lambda one: display.signed(one.difference))
    kind = "BCa" if now.test == "bootstrap" else "Student"
    if by_pairs:
        kind = "normal" if now.test == "delong" else "Student"
    hover = f"Interval of the difference: {kind}."
    interval = tested_column("Δ, 95 %", hover, significance.interval_text)
    if table.part == "validation":
        return [delta, interval]
    letters = comparisons.letters()
    marks = [letters[entry.run.id] for entry in table.entries]
    ties = column("group", marks, f"Runs that share a letter cannot be told apart at 5 %: {test}.")
    tests = [tested_column(_p_head(significance.SHORT[now.test]), f"Against {base}: {test}.", _p)]
    if (stricter := results.stricter) is not None:
        short = "bootstrap" if significance.is_by_pairs(stricter) else "randomisation"
        hover = f"The better test: {significance.test_name(stricter)}."
        tests.append(tested_column(_p_head(short), hover, _p, stricter))
    if not everything:
        return [ties, delta, *tests]
    tested = significance.tested_metric(table)
    what, drawn = f"Where the mean {tested.name} of other such queries", "the queries"
    if tested.level != "query":
        what, drawn = f"Where {tested.name} of other such judged pairs", "the items"
    intervals = [significance.interval(table, entry) for entry in table.entries]
    mean = comparisons.means[comparisons.names.index(now.against.run.id)]
    paired = next(iter(comparisons.pairs.values())).outcomes is not None
    unit = "of the paired differences (d_z)" if paired else "of the values"
    unit = "of one item's draw" if by_pairs else unit
    ranges = [
        _NOTHING if isnan(low) else f"{display.number(low)} to {display.number(high)}"
        for low, high in intervals
    ]
    hover = f"{what} lies: from 2,000 draws of {drawn}."
    return [
        column("bootstrap 95\N{NO-BREAK SPACE}%", ranges, hover),
        ties,
        delta,
        interval,
        tested_column(
            "Δ %",
            f"The difference as a share of {base}'s mean.",
            lambda one: _percent(one.difference, mean),
        ),
        tested_column(
            "better / same / worse",
            f"{units} on which the run does better than {base}, the same, and worse.",
            lambda one: (
                " / ".join(f"{n:,}" for n in significance.outcomes(comparisons, one) or ())
                or _NOTHING
            ),
        ),
        *tests,
        tested_column(
            "effect",
            f"Difference in standard deviations {unit}, corrected for small samples (Hedges).",
            lambda one: display.number(one.effect_size, "+.2f").replace("inf", "∞"),
        ),
    ]


def _p_head(test: str) -> Markup:
    """The heading of p-values; a phone has no room for the test, which its hover names."""
    return Markup('p<span class="sv-test">, {}</span>').format(test)


def _p(one: Comparison) -> str:
    text = significance.p_text(one.p_value)
    return bold(text) if one.is_significant() else text


def _percent(difference: float, base: float) -> str:
    if not base or isnan(difference):
        return _NOTHING
    return f"{display.number(100 * difference / base, '+.1f')} %"


# -- notes below it -------------------------------------------------------------------


def _test_note(table: RunTable, results: TestResults) -> str:
    """What the marks of the table mean, and by which test; markdown."""
    now = results.setting
    test = escape_markdown(significance.test_name(results.comparisons))
    text = (
        f"**p:** {test}; bold where it tells two apart. "
        "**Group:** runs that share a letter cannot be told apart by this test at 5 %."
    )
    if len(results.comparisons.pairs) > 1:
        text += " The verdict counts its own comparisons only, the table all of its pairs."
    if (name := significance.tested_name(table, now)) != table.metric:
        text += escape_markdown(
            f" {table.metric} pools all pairs; in group, Δ and p {name} stands for it, query by "
            "query."
        )
    if now.test != "subsets" and significance.is_by_query(table):
        values = significance.values(table, now.against)
        if values.unit == "pair":
            text += " A pair asks from both sides and counts once."
        if not values.is_independent:
            text += (
                " Queries of both sides share judgments, and the test takes them for independent: "
                "let one side ask to be strict."
            )
    return text + (f" {now.caution}" if now.caution else "")


def _footnote(table: RunTable, shown: Sequence[str]) -> str:
    """What the figures are means of, and what a query was ranked against."""
    first = table.entries[0]
    sides = side_names(table.pairs, table.direction)
    split = describe_split(first.run.info.spec["split"], table.names, table.part)
    records = (first.record(m, table.direction) for m in table.metrics)
    ranked = next((r for r in records if r and r["direction"] != "pairs"), None)
    text = f"**{escape_markdown(table.metric)}:** {parse_metric(table.metric).description} "
    if ranked is not None:
        text += escape_markdown(
            f"Means over {ranked['n']:,} queries ({sides.queries}) ± 95 % interval; each is "
            f"ranked against {table.pool}."
        )
    text += _left_out(table, anything_ranked=ranked is not None)
    text += escape_markdown(
        f" {table.part.capitalize()} part: {split}. Ties count with their expected value. "
        f"Runs are ordered {order(table.entries)}, those of one method together."
    )
    pooled = [m for m in shown if parse_metric(m).level != "query"]
    if pooled:
        verb = "pool" if len(pooled) > 1 else "pools"
        names = escape_markdown(" and ".join(pooled))
        text += f" {names} {verb} all pairs, whichever side asks."
    return text


def _left_out(table: RunTable, *, anything_ranked: bool) -> str:
    """How many queries cannot fail, since all of their judged candidates are relevant."""
    first = table.entries[0]
    if first.measured.pool != "judged":
        return ""
    metric = parse_metric(table.metric)
    by = metric if metric.level == "query" else "MRR"
    n = first.evaluation.n_certain(table.direction, by)
    if not n:
        return ""
    text = counted(n, "query", "queries")
    if anything_ranked:
        return f" {text} with relevant candidates only {'is' if n == 1 else 'are'} left out."
    has = "has" if n == 1 else "have"
    return (
        f" Metrics of ranks have nothing to measure: {text} {has} relevant candidates only, the "
        "others none."
    )
