"""The finding in a sentence, the table of results, and what its figures mean."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isnan
from typing import TYPE_CHECKING

import streamlit as st

from simviz.reports.summary import Entry, find_record, table_rows
from simviz.workbench.compare import choice as compare_link, files
from simviz.workbench.compare.choice import (
    Choice,
    Setting,
    evaluated_runs,
    tested_runs,
)
from simviz.workbench.compare.columns import (
    Verdicts,
    compared,
    dimensions_column,
    draw_columns,
    metric_column,
    metric_under_test,
    power,
    test_name,
    tested_column,
    time_column,
    values,
    verdict,
)
from simviz.workbench.shell import code, links, settings
from simviz.workbench.shell.marks import plain
from simviz.workbench.shell.runs import describe_split

if TYPE_CHECKING:
    pass


_FEW = ("top-1", "MRR", "AUC")


def show_finding(choice: Choice) -> None:
    """Say what the best run can do, and whether the next is really behind."""
    from simviz.evaluation.tables import finding

    best = choice.entries[0]
    record = best.record(choice.metric, choice.direction)
    if record is None or isnan(record["value"]):
        st.markdown(f"{choice.metric} could not be measured on the {choice.part} part.")
        return
    popular = find_record(
        best.measured.evaluation["baselines"].get("popularity", []),
        choice.metric,
        choice.direction,
    )
    query, answer, unseen = _who_asks(choice)
    if record["direction"] == "pairs":
        query, unseen = "pairs", True
    words = finding(
        best.label,
        choice.metric,
        record["value"],
        record["n"],
        query_name=query,
        answer_name=answer,
        baseline=None if popular is None else popular["value"],
        unseen=unseen,
        part=choice.part,
        candidates=best.measured.ranked_against(choice.direction, choice.part, choice.pairs),
    )
    show_words(words)
    if len(choice.entries) > 1:
        show_lead(choice, best, choice.entries[1])
    if choice.part == "validation":
        _offer_test(choice)


def show_words(words: str) -> None:
    """The finding itself; a figure and its per cent stay on one line."""
    words = words.replace(" %", "\N{NO-BREAK SPACE}%")
    st.html(f'<p class="sv-finding">{escape(words)}</p>')


def show_lead(choice: Choice, a: Entry, b: Entry) -> None:
    """Say which of two runs is ahead, and how sure that is."""
    st.html(f'<p class="sv-next">{escape(verdict(choice, a, b))}</p>')


def _offer_test(choice: Choice) -> None:
    """In place of a verdict on the validation part: one line that says why, and the way there."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            "Choose methods and settings by these figures; whether one is better than another is "
            "for the test part to say.",
            width="content",
        )
        dataset_id = choice.entries[0].run.info.dataset_id
        settings.part_button(dataset_id, "test", "See the test", "compare-see-test")


def show_table(choice: Choice) -> None:
    """Runs by metric, the best first; what knows nothing below, in grey."""
    several = len(choice.entries) > 1
    now = compare_link.setting(choice)
    few = [choice.metric, *(m for m in _FEW if m in choice.metrics and m != choice.metric)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if several:
            compare_link.choose_test(choice, now)
        everything = st.toggle("More columns", key="compare-more", persist_state="session")
        verdicts = _verdicts(choice, now) if several else None
        # What stands beside a test takes the place of a metric.
        n_metrics = 3 if verdicts is None else 2 if verdicts.beside is None else 1
        metrics = choice.metrics if everything else few[:n_metrics]
        rows = table_rows(choice.entries, metrics, choice.direction)
        runs = [entry.run for entry in choice.entries]
        with st.popover("Export", icon=":material/download:", type="tertiary"):
            files.show(choice, rows, metrics, verdicts)
            st.divider()
            files.show_model_files(runs, {entry.run.id: entry.label for entry in choice.entries})
        code.show_compare(choice, now.test, now.correction)
        links.show_button("compare", runs, compare_link.view())
    columns = [metric_column(rows, metric) for metric in metrics]
    if verdicts is not None:
        columns[1:1] = tested_column(choice, verdicts, everything=everything)
    if everything or verdicts is None or choice.part == "validation":
        columns.append(dimensions_column(rows))
    columns.append(time_column(rows))
    draw_columns(rows, choice.entries, columns)
    if verdicts is not None and choice.part == "test":
        if words := power(choice, verdicts.found):
            st.html(f'<p class="sv-next">{escape(words)}</p>')
        st.caption(_test_note(choice, verdicts))
    st.caption(_footnote(choice, metrics))
    for sentence in _empty_items(choice):
        st.caption(plain(sentence))


def _verdicts(choice: Choice, now: Setting) -> Verdicts:
    """What the chosen test found, and a better one beside one of the papers."""
    found = compared(choice, now.test, now.correction)
    beside = None
    if now.chosen == "published":
        beside = compared(choice, "randomization", "holm")
    return Verdicts(now, found, beside)


def _test_note(choice: Choice, verdicts: Verdicts) -> str:
    """What the marks of the table mean, and by which test; markdown."""
    now = verdicts.setting
    words = (
        f"**p:** {plain(test_name(verdicts.found))}; bold up to 0\\.05. "
        "**Ties:** runs that share a letter cannot be told apart by this test at 5 %."
    )
    if (name := metric_under_test(choice, now)) != choice.metric:
        words += plain(
            f" {choice.metric} pools all pairs; in ties, Δ and p {name} stands for it, query by "
            "query."
        )
    if now.test == "subsets" or tested_runs(choice).level != "query":
        return words + (f" {now.caution}" if now.caution else "")
    told = values(choice, now.against)
    if told.unit == "pair":
        words += " A pair asks from both sides and counts once."
    if not told.is_independent:
        words += (
            " Queries of both sides share judgments, and the test takes them for independent: "
            "let one side ask to be strict."
        )
    return words + (f" {now.caution}" if now.caution else "")


def _footnote(choice: Choice, shown: Sequence[str]) -> str:
    """What the figures are means of, and what a query was ranked against."""
    from simviz.evaluation.metrics import parse_metric

    first = choice.entries[0]
    query, _, unseen = _who_asks(choice)
    split = describe_split(first.run.info.spec["split"], choice.names, choice.part)
    counted = next(
        (
            record
            for m in choice.metrics
            if (record := first.record(m, choice.direction)) and record["direction"] != "pairs"
        ),
        None,
    )
    words = f"**{plain(choice.metric)}:** {parse_metric(choice.metric).description} "
    if counted is not None:
        pool = first.measured.ranked_against(choice.direction, choice.part, choice.pairs)
        words += plain(
            f"Means over {counted['n']:,} {'unseen ' if unseen else ''}{query} ± 95 % interval; "
            f"each is ranked against {pool}."
        )
    words += _left_out(choice, anything_ranked=counted is not None)
    words += plain(
        f" {choice.part.capitalize()} part: {split}. Ties count with their expected value."
    )
    pooled = [m for m in shown if parse_metric(m).level != "query"]
    if pooled:
        words += plain(
            f" {' and '.join(pooled)} {'pool' if len(pooled) > 1 else 'pools'} all pairs, "
            "whichever side asks."
        )
    return words


def _left_out(choice: Choice, *, anything_ranked: bool) -> str:
    """How many queries cannot fail, since all of their judged candidates are relevant."""
    from simviz.evaluation.metrics import parse_metric

    first = choice.entries[0]
    if first.measured.pool != "judged":
        return ""
    metric = parse_metric(choice.metric)
    by = metric if metric.level == "query" else "MRR"
    n = evaluated_runs(choice, first).n_certain(choice.direction, by)  # type: ignore[arg-type]
    if not n:
        return ""
    one = n == 1
    if anything_ranked:
        words = f" {n:,} quer{'y' if one else 'ies'} with nothing but right candidates"
        return f"{words} {'is' if one else 'are'} left out."
    words = f"{n:,} quer{'y has' if one else 'ies have'} nothing but right candidates"
    return f" Metrics of ranks have nothing to measure: {words}, the others none."


def _empty_items(choice: Choice) -> list[str]:
    """Say for which items a run knows nothing: they score 0 against everything."""
    who: dict[str, list[str]] = {}
    for entry in choice.entries:
        sides = zip(choice.names, ("x_empty", "y_empty"), strict=True)
        shares = [
            f"{100 * share:.1f} % of the {name}"
            for name, side in sides
            if (share := entry.measured.evaluation.get(side))
        ]
        if shares:
            who.setdefault(" and ".join(shares), []).append(entry.label)
    return [
        f"To {', '.join(labels)}, {shares} are empty: nothing in them was seen in training, "
        "and they score 0 against everything."
        for shares, labels in who.items()
    ]


def _who_asks(choice: Choice) -> tuple[str, str, bool]:
    """What queries and answers are called, and whether training knew no query."""
    x_name, y_name = choice.names
    unseen = choice.entries[0].measured.unseen
    if choice.direction == "mean":
        return "queries", "answers", unseen["x"] and unseen["y"]
    if choice.direction == "x2y":
        return x_name, y_name, unseen["x"]
    return y_name, x_name, unseen["y"]
