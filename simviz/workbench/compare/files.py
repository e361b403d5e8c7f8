"""What can be taken along: the table, every query, a report, and the models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import Any

import streamlit as st

from simviz import exports
from simviz.evaluation.tables import TableRow, table_csv, table_latex, table_markdown
from simviz.evaluation.trec import why_no_qrels
from simviz.exceptions import SimvizError
from simviz.exports import why_not
from simviz.exports.linear import Form
from simviz.markdown import escape_markdown
from simviz.reports import html_report, query_csv, trec_zip
from simviz.store import stopped_by_validation
from simviz.store.run import Run
from simviz.workbench.compare import significance
from simviz.workbench.compare.choice import Choice
from simviz.workbench.compare.significance import Verdicts
from simviz.workbench.shell import code, settings, state
from simviz.workbench.shell.runs import describe_split

Cells = Mapping[str, Any]
_LOAD = """from simviz.pipeline import load_pipeline

model = load_pipeline("{file}")
scores = model.similarity(x_items, y_items)  # simviz.data.Items of both sides"""
#: Forms for other programs: what the button says, its file, and what is in it.
_FORMS: dict[Form, tuple[str, str, str]] = {
    "numpy": (
        "NumPy arrays",
        "numpy-model.zip",
        "One matrix a side, the terms of its rows, and a Python file that needs numpy and "
        "scipy only.",
    ),
    "onnx": (
        "ONNX graphs",
        "onnx-model.zip",
        "One graph a side, from features to vectors, for any ONNX runtime.",
    ),
    "dense": (
        "sentence-transformers",
        "dense-modules.zip",
        "One Dense module a side, to be put behind the pretrained encoder.",
    ),
}


# -- tables ---------------------------------------------------------------------------


def show(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> None:
    """Buttons that save the table and what is behind it; each file is made when asked for."""
    # The files are made outside of this page's run: nothing there may ask the page.
    runs = [entry.run for entry in choice.entries]
    labels = {entry.run.id: entry.label for entry in choice.entries}
    looks = {entry.run.id: entry.look for entry in choice.entries}
    pairs, part, others = choice.pairs, choice.part, code.parts_of(runs)

    def report() -> bytes:
        return html_report(
            runs,
            pairs,
            metric=choice.metric,
            direction=choice.direction,
            labels=labels,
            looks=looks,
            others=others,
            part=part,
        ).encode()

    def queries() -> bytes:
        text = query_csv(runs, pairs, list(choice.metrics), labels=labels, part=part)
        return text.encode("utf-8", "replace")

    def trec() -> bytes:
        sides = settings.asking_sides(choice.direction)
        return trec_zip(runs, pairs, directions=sides, labels=labels, part=part)

    given = choice, rows, metrics, verdicts
    name = f"comparison-{part}"
    for label, write, file, mime, key in (
        ("Table as CSV", csv_table, f"{name}.csv", "text/csv", "compare-csv"),
        ("Table as LaTeX", latex_table, f"{name}.tex", "text/x-tex", "compare-tex"),
        ("Table as Markdown", markdown_table, f"{name}.md", "text/markdown", "compare-md"),
    ):
        st.download_button(label, partial(write, *given), file, mime, key=key, on_click="ignore")
    # A demo is read from installed packages, and those may have been renewed.
    same = all(run.info.spec.get("dataset_digest") == pairs.digest for run in runs)
    stale = "" if same else "The data changed since these runs were trained. Train them again."
    st.download_button(
        "Queries of all runs as CSV",
        queries,
        f"{name}-queries.csv",
        "text/csv",
        key="compare-every-query",
        on_click="ignore",
        disabled=not same,
        help=stale
        or f"One line a query of the {part} part with the rank of its first relevant answer and "
        "the metrics of each run.",
    )
    reason = stale or why_no_qrels(pairs.relevance)
    st.download_button(
        "TREC run and judgments",
        trec,
        f"{name}-trec.zip",
        "application/zip",
        key="compare-trec",
        on_click="ignore",
        disabled=bool(reason),
        help=escape_markdown(reason)
        or f"For trec_eval and its kin: up to 1,000 answers to each query of the {part} part.",
    )
    st.download_button(
        "Report as one page",
        report,
        f"{name}.html",
        "text/html",
        key="compare-report",
        icon=":material/description:",
        on_click="ignore",
        disabled=not same,
        help=stale
        or f"Table and curves of the {part} part, map, settings, seeds, versions and the code to "
        "repeat it, in one HTML file that opens without a network.",
    )


def csv_table(
    choice: Choice, rows: Sequence[TableRow], metrics: Sequence[str], verdicts: Verdicts | None
) -> str:
    """Every figure, for a spreadsheet."""
    measured = choice.entries[0].measured
    part: Cells = {"part": choice.part, "x items": measured.n_x, "y items": measured.n_y}
    early = _stopped_early(choice)
    further = [] if verdicts is None else _all_figures(choice, verdicts)
    lines = []
    for row in _with_cells(rows, further):
        stopped = {"stopped early by": choice.part} if row.label in early else {}
        lines.append(replace(row, further={**part, **stopped, **row.further}))
    return table_csv(lines, metrics)


def latex_table(
    choice: Choice, rows: Sequence[TableRow], metrics: Sequence[str], verdicts: Verdicts | None
) -> str:
    """Tie groups, differences and p-values beside the metrics, for a paper."""
    return table_latex(_printed(choice, rows, verdicts), metrics, _caption(choice, verdicts))


def markdown_table(
    choice: Choice, rows: Sequence[TableRow], metrics: Sequence[str], verdicts: Verdicts | None
) -> str:
    """The same for notes and issues."""
    return table_markdown(_printed(choice, rows, verdicts), metrics, _caption(choice, verdicts))


def _all_figures(choice: Choice, verdicts: Verdicts) -> list[Cells]:
    """All of it in figures, one mapping a run, for files; the verdict on the test part alone."""
    now, found = verdicts.setting, verdicts.found
    letters = found.letters()
    mean = found.means[found.names.index(now.against.run.id)]
    lines: list[Cells] = []
    for entry, one in zip(choice.entries, significance.against(choice, verdicts), strict=True):
        low, high = significance.interval(choice, entry)
        cells: dict[str, Any] = {
            "bootstrap 95 % low": _known(low),
            "bootstrap 95 % high": _known(high),
            "ties": letters[entry.run.id],
        }
        wins = (None if one is None else significance.outcomes(found, one)) or (None, None, None)
        cells |= {
            f"Δ to {now.against.label}": one and _known(one.difference),
            "Δ 95 % low": one and _known(one.low),
            "Δ 95 % high": one and _known(one.high),
            "Δ %": one and _known(100 * one.difference / mean) if mean else None,
            "better": wins[0],
            "level": wins[1],
            "worse": wins[2],
            "p": one and _known(one.p_value),
            "test": one and significance.test_name(found),
            "effect size": one and _known(one.effect_size),
        }
        hidden = ("ties", "p", "test") if choice.part == "validation" else ()
        lines.append({name: cell for name, cell in cells.items() if name not in hidden})
    return lines


def _printed(
    choice: Choice, rows: Sequence[TableRow], verdicts: Verdicts | None
) -> list[TableRow]:
    """Rows with tie groups, differences and p-values, for a printed table."""
    if verdicts is None:
        return list(rows)
    # On the validation part the interval of the difference takes the place of the verdict.
    delta, letters = f"Δ to {verdicts.setting.against.label}", verdicts.found.letters()
    cells: list[Cells] = []
    for entry, one in zip(choice.entries, significance.against(choice, verdicts), strict=True):
        difference = one and _known(one.difference)
        if choice.part == "validation":
            cells.append({delta: difference, "Δ, 95 %": one and significance.interval_text(one)})
        else:
            p = one and significance.p_text(one.p_value)
            cells.append({"ties": letters[entry.run.id], delta: difference, "p": p})
    return _with_cells(rows, cells)


def _caption(choice: Choice, verdicts: Verdicts | None) -> str:
    """What the printed table shows, and by which test."""
    first = choice.entries[0]
    split = describe_split(first.run.info.spec["split"], choice.names, choice.part)
    size = f"{first.measured.n_x:,} × {first.measured.n_y:,}"
    arrows = {"x2y": "{} to {}", "y2x": "{1} to {0}", "mean": "mean of {} to {} and back"}
    words = (
        f"{choice.pairs.name}: {arrows[choice.direction].format(*choice.names)}, ± 95 % interval; "
        f"{choice.part} part, {size}: {split}; ranked against {choice.pool}."
    )
    if early := _stopped_early(choice):
        words += f" Stopped early by this part: {', '.join(early)}."
    if verdicts is None:
        return words
    now = verdicts.setting
    tested = f"{significance.tested_name(choice, now)} against {now.against.label}"
    if choice.part == "validation":
        return f"{words} Δ is of {tested}, with its 95 % interval."
    return (
        f"{words} Runs that share a letter cannot be told apart at 5 %; Δ and p are of {tested} "
        f"({significance.test_name(verdicts.found)})."
    )


def _stopped_early(choice: Choice) -> list[str]:
    """Labels of the runs that the part shown flatters: their training watched it."""
    if choice.part == "test":
        return []
    return [entry.label for entry in choice.entries if stopped_by_validation(entry.run)]


def _with_cells(rows: Sequence[TableRow], cells: Sequence[Cells]) -> list[TableRow]:
    """Rows with further cells; those that are left over have none."""
    known = [replace(row, further=more) for row, more in zip(rows, cells, strict=False)]
    return [*known, *rows[len(known) :]]


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)


# -- models ---------------------------------------------------------------------------


def show_model_files(runs: Sequence[Run], labels: Mapping[str, str]) -> None:
    """Buttons with every form in which one of the runs can leave."""
    by_id = {run.id: run for run in runs}
    chosen = runs[0].id
    if len(runs) > 1:
        chosen = st.selectbox(
            "Model of", list(by_id), format_func=labels.__getitem__, key="take-model"
        )
    run = by_id[chosen]
    name = f"{run.info.method}.simviz"
    st.download_button(
        "Whole model",
        run.pipeline_bytes,
        name,
        "application/zip",
        key="take-whole",
        on_click="ignore",
        help="Features and method in one file of JSON and arrays, for simviz.",
    )
    st.code(_LOAD.format(file=name), language="python")
    # Reading a model takes its time: once a run, and only when this is opened.
    if not st.toggle("For other programs", key=f"take-forms-{run.id}"):
        return
    try:
        reasons = _reasons(run)
    except SimvizError as error:
        st.text(str(error))
        return
    for form, (label, file, words) in _FORMS.items():
        reason = reasons[form]
        st.download_button(
            label,
            partial(_written, run, form),
            file,
            "application/zip",
            key=f"take-{form}",
            on_click="ignore",
            disabled=reason is not None,
            help=words,
        )
        if reason is not None:
            st.caption(reason)


@state.cached(64, "Reading the model")
def _reasons(run: Run) -> dict[str, str | None]:
    """Why a model cannot have a form, by the form; None where it can."""
    pipeline = run.pipeline()
    return {form: why_not(pipeline, form) for form in _FORMS}


def _written(run: Run, form: Form) -> bytes:
    write: dict[str, Callable[..., bytes]] = {
        "numpy": exports.numpy_files,
        "onnx": exports.onnx_graphs,
        "dense": exports.dense_modules,
    }
    return write[form](run.pipeline())
