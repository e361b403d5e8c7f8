"""The table of results as files: every figure for a spreadsheet, a few for a paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import TYPE_CHECKING

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.workbench.compare import columns
from simviz.workbench.compare.choice import Choice
from simviz.workbench.compare.columns import Verdicts
from simviz.workbench.shell import code
from simviz.workbench.shell.marks import plain
from simviz.workbench.shell.runs import describe_split

if TYPE_CHECKING:
    from simviz.evaluation.tables import TableRow
    from simviz.exports.linear import Form
    from simviz.store.run import Run


def show_export(choice: Choice, table: Callable[[], str]) -> None:
    """Buttons for everything but the printed table; each file is made when it is asked for."""
    from simviz.evaluation.trec import why_no_qrels

    # The files are made outside of this page's run: nothing there may ask the page.
    runs = [entry.run for entry in choice.entries]
    labels = {entry.run.id: entry.label for entry in choice.entries}
    looks = {entry.run.id: entry.look for entry in choice.entries}
    pairs, metric, direction = choice.pairs, choice.metric, choice.direction
    every, others, part = list(choice.metrics), code.parts_of(runs), choice.part

    def report() -> bytes:
        from simviz.reports import html_report

        return html_report(
            runs,
            pairs,
            metric=metric,
            direction=direction,
            labels=labels,
            looks=looks,
            others=others,
            part=part,
        ).encode()

    def queries() -> bytes:
        from simviz.reports import query_csv

        text = query_csv(runs, pairs, every, labels=labels, part=part)
        return text.encode("utf-8", "replace")

    def trec() -> bytes:
        from simviz.reports import trec_zip

        asked = ("x2y", "y2x") if direction == "mean" else (direction,)
        return trec_zip(runs, pairs, directions=asked, labels=labels, part=part)  # type: ignore[arg-type]

    # A demo is read from installed packages, and those may have been renewed.
    same = all(run.info.spec.get("dataset_digest") == pairs.digest for run in runs)
    stale = "" if same else "The data changed since these runs were trained. Train them again."
    st.download_button(
        "Table as Markdown",
        table,
        f"comparison-{part}.md",
        "text/markdown",
        key="compare-md",
        on_click="ignore",
    )
    st.download_button(
        "Queries of all runs as CSV",
        queries,
        f"comparison-{part}-queries.csv",
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
        f"comparison-{part}-trec.zip",
        "application/zip",
        key="compare-trec",
        on_click="ignore",
        disabled=bool(reason),
        help=plain(reason)
        or f"For trec_eval and its kin: up to 1,000 answers to each query of the {part} part.",
    )
    st.download_button(
        "Report as one page",
        report,
        f"comparison-{part}.html",
        "text/html",
        key="compare-report",
        icon=":material/description:",
        on_click="ignore",
        disabled=not same,
        help=stale
        or f"Table and curves of the {part} part, map, settings, seeds, versions and the code to "
        "repeat it, in one HTML file that opens without a network.",
    )


Cells = Mapping[str, float | str | None]


def show(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> None:
    """Buttons that save the table, with what was tested."""
    st.download_button(
        "Table as CSV",
        lambda: csv_table(choice, rows, metrics, verdicts),
        f"comparison-{choice.part}.csv",
        "text/csv",
        key="compare-csv",
        on_click="ignore",
    )
    st.download_button(
        "Table as LaTeX",
        lambda: latex_table(choice, rows, metrics, verdicts),
        f"comparison-{choice.part}.tex",
        "text/x-tex",
        key="compare-tex",
        on_click="ignore",
    )
    show_export(choice, lambda: markdown_table(choice, rows, metrics, verdicts))


def csv_table(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> str:
    """Every figure, for a spreadsheet."""
    from simviz.evaluation.tables import table_csv

    further = [] if verdicts is None else figures(choice, verdicts)
    measured = choice.entries[0].measured
    part: Cells = {"part": choice.part, "x items": measured.n_x, "y items": measured.n_y}
    early = _stopped_early(choice)
    named = []
    for row in _with(rows, further):
        mark = {"stopped early by": choice.part} if row.label in early else {}
        named.append(replace(row, further={**part, **mark, **row.further}))
    return table_csv(named, metrics)


def latex_table(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> str:
    """Tie groups, differences and p-values beside the metrics, for a paper."""
    from simviz.evaluation.tables import table_latex

    further = [] if verdicts is None else few(choice, verdicts)
    return table_latex(_with(rows, further), metrics, caption(choice, verdicts))


def markdown_table(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> str:
    """The same for notes and issues."""
    from simviz.evaluation.tables import table_markdown

    further = [] if verdicts is None else few(choice, verdicts)
    return table_markdown(_with(rows, further), metrics, caption(choice, verdicts))


def figures(choice: Choice, verdicts: Verdicts) -> list[Cells]:
    """All of it in figures, one mapping a run, for files; the verdict on the test part alone."""
    now, found = verdicts.setting, verdicts.found
    letters, base = found.letters(), now.against.label
    told: list[Cells] = []
    for entry, one in zip(choice.entries, columns.against(choice, verdicts), strict=True):
        low, high = columns.interval(choice, entry)
        wins = (None if one is None else columns.outcomes(found, one)) or (
            None,
            None,
            None,
        )
        mean = found.means[found.names.index(now.against.run.id)]
        cells: Cells = {
            "bootstrap 95 % low": _known(low),
            "bootstrap 95 % high": _known(high),
            "ties": letters[entry.run.id],
            f"Δ to {base}": None if one is None else _known(one.difference),
            "Δ 95 % low": None if one is None else _known(one.low),
            "Δ 95 % high": None if one is None else _known(one.high),
            "Δ %": None if one is None or not mean else _known(100 * one.difference / mean),
            "better": wins[0],
            "level": wins[1],
            "worse": wins[2],
            "p": None if one is None else _known(one.p_value),
            "test": None if one is None else columns.test_name(found),
            "effect size": None if one is None else _known(one.effect_size),
        }
        verdict = ("ties", "p", "test") if choice.part == "validation" else ()
        told.append({name: cell for name, cell in cells.items() if name not in verdict})
    return told


def few(choice: Choice, verdicts: Verdicts) -> list[Cells]:
    """Tie groups, differences and p-values, one mapping a run, for a printed table."""
    # On the validation part the interval of the difference takes the place of the verdict.
    now, found = verdicts.setting, verdicts.found
    delta, letters = f"Δ to {now.against.label}", found.letters()
    told: list[Cells] = []
    for entry, one in zip(choice.entries, columns.against(choice, verdicts), strict=True):
        difference = None if one is None else _known(one.difference)
        if choice.part == "validation":
            bounds = None if one is None else columns.bounds(one)
            told.append({delta: difference, "Δ, 95 %": bounds})
        else:
            p = None if one is None else columns.p_text(one.p_value)
            told.append({"ties": letters[entry.run.id], delta: difference, "p": p})
    return told


def caption(choice: Choice, verdicts: Verdicts | None) -> str:
    """What the printed table shows, and by which test."""
    first = choice.entries[0]
    pool = first.measured.ranked_against(choice.direction, choice.part, choice.pairs)
    split = describe_split(first.run.info.spec["split"], choice.names, choice.part)
    size = f"{first.measured.n_x:,} × {first.measured.n_y:,}"
    arrows = {"x2y": "{} to {}", "y2x": "{1} to {0}", "mean": "mean of {} to {} and back"}
    words = (
        f"{choice.pairs.name}: {arrows[choice.direction].format(*choice.names)}, ± 95 % interval; "
        f"{choice.part} part, {size}: {split}; ranked against {pool}."
    )
    if early := _stopped_early(choice):
        words += f" Stopped early by this part: {', '.join(early)}."
    if verdicts is not None:
        now = verdicts.setting
        tested = f"{columns.metric_under_test(choice, now)} against {now.against.label}"
        if choice.part == "validation":
            return f"{words} Δ is of {tested}, with its 95 % interval."
        words += (
            f" Runs that share a letter cannot be told apart at 5 %; Δ and p are of {tested} "
            f"({columns.test_name(verdicts.found)})."
        )
    return words


def _stopped_early(choice: Choice) -> list[str]:
    """Labels of the runs that the part shown flatters: their training watched it."""
    from simviz.store import stopped_by_validation

    if choice.part == "test":
        return []
    return [entry.label for entry in choice.entries if stopped_by_validation(entry.run)]


def _with(rows: Sequence[TableRow], cells: Sequence[Cells]) -> list[TableRow]:
    """Rows with further cells; those that are left over have none."""
    known = [replace(row, further=more) for row, more in zip(rows, cells, strict=False)]
    return [*known, *rows[len(known) :]]


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)


_LOAD = """from simviz.pipeline import load_pipeline

model = load_pipeline("{file}")
scores = model.similarity(x_items, y_items)  # simviz.data.Items of both sides"""


def show_model_files(runs: Sequence[Run], labels: Mapping[str, str]) -> None:
    """Buttons with every form in which one of the runs can leave."""
    ids = [run.id for run in runs]
    chosen = ids[0]
    if len(ids) > 1:
        chosen = st.selectbox(
            "Model of", ids, format_func=lambda run_id: labels[run_id], key="take-model"
        )
    run = next(run for run in runs if run.id == chosen)
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
    _show_forms(run)


def _show_forms(run: Run) -> None:
    """The forms for programs without simviz, or why there are none."""
    # Reading a model takes its time: once a run, and only when this is opened.
    if not st.toggle("For other programs", key=f"take-forms-{run.id}"):
        return
    try:
        reasons = _reasons(run.id, run)
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


@st.cache_data(show_spinner="Reading the model", max_entries=64)
def _reasons(run_id: str, _run: Run) -> dict[str, str | None]:
    from simviz.exports import why_not

    pipeline = _run.pipeline()
    return {form: why_not(pipeline, form) for form in _FORMS}


def _written(run: Run, form: Form) -> bytes:
    from simviz import exports

    write: dict[str, Callable[..., bytes]] = {
        "numpy": exports.numpy_files,
        "onnx": exports.onnx_graphs,
        "dense": exports.dense_modules,
    }
    return write[form](run.pipeline())
