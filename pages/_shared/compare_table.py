"""The finding in a sentence, the table of metrics, and the table as files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isnan
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import sharing
from pages._shared.compare_choice import Choice
from pages._shared.compare_marks import mark, plain
from pages._shared.compare_runs import Entry, describe_split, estimate, find_record

if TYPE_CHECKING:
    from simviz.evaluation import Evaluation
    from simviz.evaluation.differences import Differences
    from simviz.evaluation.tables import TableRow
    from simviz.store.run import Run

BASELINES = {"popularity": "guessing by popularity", "chance": "pure chance"}
_FEW = ("top-1", "MRR", "AUC")
_POOLS = {
    "split": "all {answers} of the test part",
    "all": "all {answers}",
    "judged": "the judged {answers} of the query",
}


@st.cache_resource(show_spinner=False, max_entries=24)
def _evaluation(run_id: str, _run: Run) -> Evaluation:
    from simviz.jobs import load_evaluation

    return load_evaluation(_run)


def differences(choice: Choice, a: Entry, b: Entry) -> Differences:
    """Two runs query by query, by the main metric or what stands for it."""
    from simviz.evaluation.differences import paired_differences, query_metric

    wanted = None if choice.direction == "mean" else [choice.direction]
    sides = [_evaluation(entry.run.id, entry.run) for entry in (a, b)]
    return paired_differences(*sides, query_metric(choice.metric), wanted)  # type: ignore[arg-type]


def show_finding(choice: Choice) -> None:
    """Say what the best run can do, and whether the next is really behind."""
    from simviz.evaluation.report import finding

    best = choice.entries[0]
    record = best.record(choice.metric, choice.direction)
    if record is None or isnan(record["value"]):
        st.markdown(f"{choice.metric} could not be measured on this test part.")
        return
    popular = find_record(
        best.measured.told["baselines"].get("popularity", []), choice.metric, choice.direction
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
    )
    st.html(f'<p class="sv-finding">{escape(words)}</p>')
    if len(choice.entries) > 1:
        show_lead(choice, best, choice.entries[1])


def show_lead(choice: Choice, a: Entry, b: Entry) -> None:
    """Say which of two runs is ahead, and how sure that is."""
    told = differences(choice, a, b).in_words(a.label, b.label)
    st.html(f'<p class="sv-next">{escape(told)}</p>')


def show_table(choice: Choice) -> None:
    """Runs by metric, the best first; what knows nothing below, in grey."""
    few = [choice.metric, *(m for m in _FEW if m in choice.metrics and m != choice.metric)][:3]
    with st.container(horizontal=True, vertical_alignment="center"):
        everything = st.toggle("More metrics", key="compare-more", persist_state="session")
        metrics = choice.metrics if everything else few
        rows = table_rows(choice, metrics)
        with st.popover("Download", icon=":material/download:", type="tertiary"):
            _show_downloads(choice, rows, metrics)
        sharing.show_button("compare", [entry.run for entry in choice.entries])
    _draw(choice, rows, metrics)
    st.caption(_footnote(choice, metrics))
    for sentence in _empty_items(choice):
        st.caption(plain(sentence))


def table_rows(choice: Choice, metrics: Sequence[str]) -> list[TableRow]:
    """The table's lines: chosen runs, then what knows nothing."""
    from simviz.evaluation.tables import TableRow

    rows = [
        TableRow(
            entry.label,
            {m: estimate(entry.record(m, choice.direction)) for m in metrics},
            max((point["dimension"] for point in entry.measured.curve), default=None),
            entry.run.info.seconds,
        )
        for entry in choice.entries
    ]
    # All runs here share data and test part, and so their baselines.
    known = choice.entries[0].measured.told["baselines"]
    for name, label in BASELINES.items():
        if name in known:
            values = {m: estimate(find_record(known[name], m, choice.direction)) for m in metrics}
            rows.append(TableRow(label, values, is_baseline=True))
    return rows


def _draw(choice: Choice, rows: Sequence[TableRow], metrics: Sequence[str]) -> None:
    from simviz.evaluation.metrics import parse_metric
    from simviz.evaluation.tables import best_values

    best = best_values(rows, metrics)
    marks = "".join(
        f".sv-run-{i} {{ background-image: {mark(entry.look)}; }}"
        for i, entry in enumerate(choice.entries)
    )
    head = "".join(
        f'<th title="{escape(parse_metric(m).description)}">{escape(m)}</th>' for m in metrics
    )
    lines = []
    for i, row in enumerate(rows):
        cells = []
        for metric in metrics:
            value, reach = row.values[metric]
            is_best = not row.is_baseline and value == best.get(metric)
            shown = "–" if isnan(value) else f"{value:.3f}"
            if not isnan(reach) and not row.is_baseline:
                shown += f' <span class="sv-se">±{reach:.3f}</span>'
            cells.append(f"<td{' class=sv-best' if is_best else ''}>{shown}</td>")
        k = "–" if row.dimensions is None else f"{row.dimensions:,}"
        seconds = "–" if row.seconds is None else f"{row.seconds:.1f} s"
        name = escape(row.label)
        if not row.is_baseline:
            name = f'<span class="sv-mark sv-run-{i}"></span>{name}'
        lines.append(
            f"<tr{' class=sv-base' if row.is_baseline else ''}><td>{name}</td>{''.join(cells)}"
            f"<td>{k}</td><td>{seconds}</td></tr>"
        )
    st.html(
        f'<style>{marks}</style><div class="sv-scroll" tabindex="0"><table class="sv-table">'
        f"<thead><tr><th>method</th>{head}<th>dimensions</th>"
        '<th title="To train, measure and draw">time</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _footnote(choice: Choice, shown: Sequence[str]) -> str:
    """What the figures are means of, and what a query was ranked against."""
    from simviz.evaluation.metrics import parse_metric

    first = choice.entries[0]
    query, answer, unseen = _who_asks(choice)
    split = describe_split(first.run.info.spec["split"], choice.names)
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
        pool = _POOLS[first.measured.pool].format(answers=answer)
        words += plain(
            f"Means over {counted['n']:,} {'unseen ' if unseen else ''}{query} ± 95 % interval; "
            f"each is ranked against {pool} ({first.measured.n_x:,} × {first.measured.n_y:,})."
        )
    words += plain(f" Test part: {split}. Ties count with their expected value.")
    pooled = [m for m in shown if parse_metric(m).level != "query"]
    if pooled:
        words += plain(
            f" {' and '.join(pooled)} {'pool' if len(pooled) > 1 else 'pools'} all pairs, "
            "whichever side asks."
        )
    return words


def _empty_items(choice: Choice) -> list[str]:
    """Say for which items a run knows nothing: they score 0 against everything."""
    who: dict[str, list[str]] = {}
    for entry in choice.entries:
        sides = zip(choice.names, ("x_empty", "y_empty"), strict=True)
        shares = [
            f"{100 * share:.1f} % of the {name}"
            for name, side in sides
            if (share := entry.measured.told.get(side))
        ]
        if shares:
            who.setdefault(" and ".join(shares), []).append(entry.label)
    return [
        f"To {', '.join(labels)}, {shares} are empty: nothing in them was seen in training, "
        "and they score 0 against everything."
        for shares, labels in who.items()
    ]


def _show_downloads(choice: Choice, rows: Sequence[TableRow], metrics: Sequence[str]) -> None:
    from simviz.evaluation.tables import table_csv, table_latex

    first = choice.entries[0].measured
    pool = _POOLS[first.pool].format(answers="candidates")
    split = describe_split(choice.entries[0].run.info.spec["split"], choice.names)
    arrows = {"x2y": "{} to {}", "y2x": "{1} to {0}", "mean": "mean of {} to {} and back"}
    caption = (
        f"{choice.pairs.name}: {arrows[choice.direction].format(*choice.names)}, ± 95 % interval; "
        f"test part: {split}; ranked against {pool}."
    )
    st.download_button(
        "Table as CSV",
        table_csv(rows, metrics),
        "comparison.csv",
        "text/csv",
        key="compare-csv",
        on_click="ignore",
    )
    st.download_button(
        "Table as LaTeX",
        table_latex(rows, metrics, caption),
        "comparison.tex",
        "text/x-tex",
        key="compare-tex",
        on_click="ignore",
    )


def _who_asks(choice: Choice) -> tuple[str, str, bool]:
    """What queries and answers are called, and whether training knew no query."""
    x_name, y_name = choice.names
    unseen = choice.entries[0].measured.unseen
    if choice.direction == "mean":
        return "queries", "answers", unseen["x"] and unseen["y"]
    if choice.direction == "x2y":
        return x_name, y_name, unseen["x"]
    return y_name, x_name, unseen["y"]
