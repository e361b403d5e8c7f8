"""What can be taken along: the table, every query, a report, and the models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from simviz.evaluation.tables import Column, table_csv, table_latex, table_markdown
from simviz.evaluation.trec import why_no_qrels
from simviz.exceptions import SimvizError
from simviz.exports import dense_modules, numpy_files, onnx_graphs, why_not
from simviz.exports.linear import Form
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now
from simviz.markdown import escape_markdown
from simviz.reports import html_report, query_csv, trec_zip
from simviz.reports.run_summary import RunEntry, RunTable
from simviz.store.run import Run
from simviz.workbench.compare import significance
from simviz.workbench.compare.significance import TestResults
from simviz.workbench.shell import code, drawings, forms, preferences, state
from simviz.workbench.shell.runs import describe_split

Cells = Mapping[str, Any]
_LOAD = """import simviz

model = simviz.load_pipeline("{file}")
scores = model.similarity(x_items, y_items)"""
#: Forms for other programs: what the button says, its file, what is in it, and what writes it.
_FORMS: dict[Form, tuple[str, str, str, Callable[..., bytes]]] = {
    "numpy": (
        "NumPy arrays",
        "numpy-model.zip",
        "One matrix a side, the terms of its rows, and a Python file that needs numpy and "
        "scipy only.",
        numpy_files,
    ),
    "onnx": (
        "ONNX graphs",
        "onnx-model.zip",
        "One graph a side, from features to vectors, for any ONNX runtime.",
        onnx_graphs,
    ),
    "dense": (
        "sentence-transformers",
        "dense-modules.zip",
        "One Dense module a side, to be put behind the pretrained encoder.",
        dense_modules,
    ),
}


def _download(
    label: str,
    key: str,
    file: str,
    mime: str,
    write: Callable[[], str | bytes],
    text: str = "",
    reason: str = "",
    **more: Any,
) -> None:
    """A button for a file that is made when it is pressed, or the reason why there is none."""
    more |= {"disabled": bool(reason), "help": escape_markdown(reason) or text or None}
    st.download_button(label, write, file, mime, key=key, on_click="ignore", **more)


# -- tables ---------------------------------------------------------------------------


def show(table: RunTable, metrics: Sequence[str], results: TestResults | None) -> None:
    """Buttons that save the table and what is behind it; each file is made when asked for."""
    # The files are made outside of this page's run: nothing there may ask the page.
    runs = [entry.run for entry in table.entries]
    labels = {entry.run.id: entry.label for entry in table.entries}
    looks = {entry.run.id: entry.look for entry in table.entries}
    pairs, part, others = table.pairs, table.part, code.parts_of(runs)

    def report() -> bytes:
        options: dict[str, Any] = {"metric": table.metric, "direction": table.direction}
        options |= {"labels": labels, "looks": looks, "others": others, "part": part}
        if drawings.best_stored(runs[0]) is None:
            draw_now(runs[0], pairs, QUICK_LAYOUT)
        return html_report(runs, pairs, **options).encode()

    def queries() -> bytes:
        text = query_csv(runs, pairs, list(table.metrics), labels=labels, part=part)
        return text.encode("utf-8", "replace")

    def trec() -> bytes:
        sides = preferences.query_sides(table.direction)
        return trec_zip(runs, pairs, directions=sides, labels=labels, part=part)

    arguments = table, metrics, results
    name = f"comparison-{part}"
    _download(
        "Table as CSV", "compare-csv", f"{name}.csv", "text/csv", partial(csv_table, *arguments)
    )
    writers = partial(table_latex, n_runs=len(runs)), table_markdown
    latex, markdown = (partial(printed_table, write, *arguments) for write in writers)
    _download("Table as LaTeX", "compare-tex", f"{name}.tex", "text/x-tex", latex)
    _download("Table as Markdown", "compare-md", f"{name}.md", "text/markdown", markdown)
    # A demo is read from installed packages, and those may have been renewed.
    same = all(run.info.spec.get("dataset_digest") == pairs.digest for run in runs)
    stale = "" if same else "The data changed since these runs were trained. Train them again."
    file = f"{name}-queries.csv", "text/csv"
    text = (
        f"One line a query of the {part} part with the rank of its first relevant answer and the "
        "metrics of each run."
    )
    _download("Queries of all runs as CSV", "compare-every-query", *file, queries, text, stale)
    file, reason = (f"{name}-trec.zip", "application/zip"), why_no_qrels(pairs.relevance)
    text = f"For trec_eval and its kin: up to 1,000 answers to each query of the {part} part."
    _download("TREC run and judgments", "compare-trec", *file, trec, text, stale or reason)
    file, icon = (f"{name}.html", "text/html"), ":material/description:"
    text = (
        f"Table and curves of the {part} part, map, settings, seeds, versions and the code to "
        "repeat it, in one HTML file that opens without a network."
    )
    _download("Report as one page", "compare-report", *file, report, text, stale, icon=icon)


def csv_table(table: RunTable, metrics: Sequence[str], results: TestResults | None) -> str:
    """Every figure, for a spreadsheet."""
    measured = table.entries[0].measured
    part: Cells = {"part": table.part, "x items": measured.n_x, "y items": measured.n_y}
    lines = [dict(part) for _ in table.row_names]
    for cells, entry in zip(lines, table.entries, strict=False):
        if entry.is_stopped_early:
            cells["stopped early by"] = table.part
    for cells, more in zip(lines, _all_figures(table, results) if results else (), strict=False):
        cells.update(more)
    return table_csv(_columns(table, metrics, lines))


def printed_table(
    write: Callable[..., str], table: RunTable, metrics: Sequence[str], results: TestResults | None
) -> str:
    """Tie groups, differences and p-values beside the metrics, for a paper or for notes."""
    extra = [] if results is None else _printed(table, results)
    columns = _columns(table, metrics, extra)
    return write(columns, caption=_caption(table, results))


def _all_figures(table: RunTable, results: TestResults) -> list[Cells]:
    """All of it in figures, one mapping a run, for files; the verdict on the test part alone."""
    comparisons, base = results.comparisons, results.setting.against
    letters = comparisons.letters()
    mean = comparisons.means[comparisons.names.index(base.run.id)]
    lines: list[Cells] = []
    for entry, one in zip(table.entries, significance.against(table, results), strict=True):
        low, high = significance.interval(table, entry)
        cells: dict[str, Any] = {"bootstrap 95 % low": low, "bootstrap 95 % high": high}
        cells["group"] = letters[entry.run.id]
        if one is not None:
            wins = significance.outcomes(comparisons, one) or (None, None, None)
            cells |= {
                f"Δ to {base.label}": one.difference,
                "Δ 95 % low": one.low,
                "Δ 95 % high": one.high,
                "Δ %": 100 * one.difference / mean if mean else None,
                **dict(zip(("better", "same", "worse"), wins, strict=True)),
                "p": one.p_value,
                "test": significance.test_name(comparisons),
                "effect size": one.effect_size,
            }
            if one.why_missing:
                cells["empty because"] = one.why_missing
        hidden = ("group", "p", "test") if table.part == "validation" else ()
        lines.append({name: cell for name, cell in cells.items() if name not in hidden})
    return lines


def _printed(table: RunTable, results: TestResults) -> list[Cells]:
    """Tie groups, differences and p-values, one mapping a run, for a printed table."""
    delta, letters = f"Δ to {results.setting.against.label}", results.comparisons.letters()
    lines: list[Cells] = []
    for entry, one in zip(table.entries, significance.against(table, results), strict=True):
        cells: dict[str, Any] = {"group": letters[entry.run.id]}
        if one is not None:
            cells |= {delta: one.difference, "p": significance.p_text(one.p_value)}
        if table.part == "validation":  # the interval takes the place of the verdict
            interval = one and significance.interval_text(one)
            cells = {delta: cells.get(delta), "Δ, 95 %": interval}
        lines.append(cells)
    return lines


def _caption(table: RunTable, results: TestResults | None) -> str:
    """What the printed table shows, and by which test."""
    first = table.entries[0]
    split = describe_split(first.run.info.spec["split"], table.names, table.part)
    size = f"{first.measured.n_x:,} × {first.measured.n_y:,}"
    arrows = {"x2y": "{} to {}", "y2x": "{1} to {0}", "mean": "mean of {} to {} and back"}
    text = (
        f"{table.pairs.name}: {arrows[table.direction].format(*table.names)}, ± 95 % interval; "
        f"{table.part} part, {size}: {split}; ranked against {table.pool}."
    )
    if early := [entry.label for entry in table.entries if entry.is_stopped_early]:
        text += f" Stopped early by this part: {', '.join(early)}."
    if results is None:
        return text
    now = results.setting
    tested = f"{significance.tested_name(table, now)} against {now.against.label}"
    if table.part == "validation":
        return f"{text} Δ is of {tested}, with its 95 % interval."
    return (
        f"{text} Runs that share a letter cannot be told apart at 5 %; Δ and p are of {tested} "
        f"({significance.test_name(results.comparisons)})."
    )


def _columns(table: RunTable, metrics: Sequence[str], extra: Sequence[Cells]) -> list[Column]:
    """The results table with further cells by line; lines that are left over have none."""
    names, (sizes, times) = table.row_names, table.costs()
    heads = dict.fromkeys(head for cells in extra for head in cells)
    lines = [*extra, *[{}] * (len(names) - len(extra))]
    return [
        ["method", *names],
        *([metric, *table.figures(metric)] for metric in metrics),
        *([head, *(cells.get(head) for cells in lines)] for head in heads),
        ["dimensions", *sizes],
        ["seconds", *times],
    ]


# -- models ---------------------------------------------------------------------------


def show_model_files(entries: Sequence[RunEntry]) -> None:
    """Buttons with every form in which one of the runs can leave."""
    run = entries[0].run
    if len(entries) > 1:
        labels = {entry.run.id: entry.label for entry in entries}
        run_id = st.selectbox("Model of", **forms.options(labels), key="take-model")
        run = next(entry.run for entry in entries if entry.run.id == run_id)
    name = f"{run.info.method}.simviz"
    text = "Features and method in one file of JSON and arrays, for simviz."
    _download("Whole model", "take-whole", name, "application/zip", run.pipeline_bytes, text)
    st.code(_LOAD.format(file=name), language="python")
    # Reading a model takes its time: once a run, and only when this is opened.
    if not st.toggle("For other programs", key=f"take-forms-{run.id}"):
        return
    try:
        reasons = _reasons(run)
    except SimvizError as error:
        st.text(str(error))
        return
    for form, (label, file, text, write) in _FORMS.items():
        reason, make = reasons[form] or "", partial(_written, run, write)
        _download(label, f"take-{form}", file, "application/zip", make, text, reason)
        if reason:
            st.caption(reason)


@state.cached(64, "Reading the model")
def _reasons(run: Run) -> dict[str, str | None]:
    """Why a model cannot have a form, by the form; None where it can."""
    pipeline = run.pipeline()
    return {form: why_not(pipeline, form) for form in _FORMS}


def _written(run: Run, write: Callable[..., bytes]) -> bytes:
    return write(run.pipeline())
