"""The curves beside the table: one kind at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from simviz.charts import DimensionCurve, dimension_figure, dimension_records
from simviz.charts.curves import (
    MAX_BANDS,
    ProgressCurve,
    learning_figure,
    progress_records,
    training_figure,
)
from simviz.data.pairs import PairSet
from simviz.evaluation.differences import query_metric
from simviz.exceptions import StoreError
from simviz.jobs.background import ReportFraction
from simviz.jobs.run_curves import (
    smaller_dimensions,
    train_dimensions,
    train_on_shares,
    why_no_curve,
)
from simviz.markdown import escape_markdown
from simviz.reports.run_summary import (
    NEARLY,
    RunEntry,
    RunTable,
    dimension_curve,
    mean_band,
    milestones,
    records_by_dimension,
)
from simviz.workbench.compare import pair_curves
from simviz.workbench.compare.choice import CURVES, held_out
from simviz.workbench.shell import display, forms, progress, query_params, state
from simviz.workbench.shell.charts import show_beside
from simviz.workbench.shell.forms import segments

#: Where the chart stands, and where what it means.
Columns = Sequence[DeltaGenerator]
#: Metrics of a curve by training size, by what the page calls them.
METRICS = {"MRR": "MRR", "AUC": "AUC (by query)", "NDCG@3": "NDCG@3 (exponential gain)"}
#: What an event of a training holds besides metrics.
_NO_METRICS = {"seconds", "stage", "fraction", "step", "total"}


@st.fragment
def show(table: RunTable) -> None:
    """Choose a kind of curve and show it for all runs; the rest of the page is left alone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        unlabelled: dict[str, Any] = {"label_visibility": "collapsed", "width": 190}
        kind = forms.select("Curve", CURVES, "compare-curve", **unlabelled)
        about = st.popover("Figures", icon=":material/info:", type="tertiary", key="compare-told")
    if st.session_state.get("compare-tab") is None:
        query_params.put(tab=kind)
    columns = st.container(), about
    show_kind = {"dimensions": show_dimensions, "training": show_training, "size": show_sizes}
    with display.problems():  # a model that was deleted since, or is damaged
        if kind in pair_curves.KINDS:
            pair_curves.show(table, kind, columns)
        else:
            show_kind[kind](table, columns)


def _without(table: RunTable, drawn: Sequence[str], text: str) -> str:
    """Name the runs that are not drawn."""
    without = [entry.label for entry in table.entries if entry.label not in drawn]
    return escape_markdown(f"{text}: {', '.join(without)}.") if without else ""


# -- quality by dimension -------------------------------------------------------------


def show_dimensions(table: RunTable, columns: Columns) -> None:
    """Draw the metric, or what stands for it by query, against the number of dimensions."""
    nested = [entry for entry in table.entries if entry.measured.curve]
    swept = [e for e in table.entries if not e.measured.curve and e.run.has_smaller(e.part)]
    missing = [e for e in table.entries if e not in swept and smaller_dimensions(e.run)]
    if not nested and not swept:
        text = "Their dimensions have no order: no smaller model is part of a larger one."
        st.markdown(text + (" Train them at fewer dimensions for their curve." * bool(missing)))
        _offer_dimensions(table, missing)
        return
    metric = query_metric(table.metric).name
    with st.spinner("Measuring the first dimensions", show_time=False):
        made = [curve_of(table, entry, metric) for entry in nested + swept]
    curves = [curve for curve in made if curve is not None]
    if not curves:
        columns[0].caption(
            f"No query of the {table.part} part has both right and wrong candidates in this "
            "direction, so there is nothing to rank."
        )
        return
    nearly = f"{NEARLY:.0%} of it with".replace("%", " %")
    bands = " with 95 % bands over queries" if len(curves) <= MAX_BANDS else ""
    text = f"{escape_markdown(metric)}{bands}; the ring marks the best."
    if nested:
        text += " Methods with ordered dimensions are trained once and cut."
    if swept:
        trained = escape_markdown(", ".join(entry.label for entry in swept))
        text += f" Trained at each number of dimensions: {trained}."
    show_beside(
        columns,
        "dimensions",
        dimension_figure(curves, metric=metric, theme=state.theme()),
        lambda: dimension_records(curves),
        ["method", "best", "with", nearly],
        [[curve.label, *milestones(curve)] for curve in curves],
        text,
        _without(table, [entry.label for entry in nested + swept], "Without a curve"),
    )
    with columns[0]:
        _offer_dimensions(table, missing)


def _offer_dimensions(table: RunTable, missing: Sequence[RunEntry]) -> None:
    if not missing:
        return
    at = smaller_dimensions(missing[0].run)
    name = f"{missing[0].label} " if len(missing) == 1 else ""
    took = [entry.run.about.get("seconds", {}).get("training", 0.0) for entry in missing]
    _offer(
        "dimensions",
        {e.run.id: (e.label, partial(train_dimensions, e.run, table.pairs)) for e in missing},
        "trains at fewer dimensions",
        f"Train {escape_markdown(name)}at fewer dimensions",
        f"At {', '.join(map(str, at))}, in the background; the curve is kept with the run.",
        len(at) * sum(took),
    )


def _offer(
    kind: str,
    works: Mapping[Any, tuple[str, Callable[[ReportFraction], object]]],
    doing: str,
    text: str,
    about: str,
    seconds: float,
) -> None:
    """Offer to train more in the background, and show how far that is."""
    if state.share() is not None:
        return
    queue, labels = progress.background(kind), {key: label for key, (label, _) in works.items()}
    for key, label in labels.items():
        failed = queue.progress(key)
        if failed is not None and failed.state == "failed":
            display.problem(f"{label}: {failed.message}")
    if active := progress.show_background(kind, labels, doing):
        stops = [(queue.stop, key) for key in active]
        forms.quiet_button("Stop", f"compare-{kind}-stop", _call, stops, icon="close")
        return
    submits = [(queue.submit, key, work) for key, (_, work) in works.items()]
    label, button_key = f"{text}, at most {max(1.0, seconds):,.0f} s", f"compare-{kind}-train"
    about = f"{escape_markdown(', '.join(labels.values()))}. {about}"
    forms.button(label, button_key, _call, submits, icon="model_training", help=about)


def _call(calls: Sequence[tuple[Any, ...]]) -> None:
    for function, *arguments in calls:
        function(*arguments)


def curve_of(table: RunTable, entry: RunEntry, metric: str) -> DimensionCurve | None:
    """Quality by dimension of a run; None where it has no such curve."""
    records = _records(entry, metric, table.pairs, entry.run.has_smaller(entry.part))
    return dimension_curve(entry, table.direction, records)


@state.cached(64)
def _records(entry: RunEntry, metric: str, pairs: PairSet, is_swept: bool) -> Sequence[Any]:
    """The same until smaller models are trained."""
    return records_by_dimension(entry, metric, pairs)


# -- progress in training -------------------------------------------------------------


def show_training(table: RunTable, columns: Columns) -> None:
    """Draw what methods reported while they trained."""
    histories = {entry.run.id: history_of(entry.run.id) for entry in table.entries}
    recorded = {name for values in histories.values() for name in values}
    # Quality on the validation part compares methods; losses do not.
    metrics = sorted(recorded, key=lambda name: (name != "validation", name))
    if not metrics:
        st.caption(
            "None of these runs reported its progress: their methods are solved at once, or the "
            "record of their training is gone."
        )
        return
    with columns[1]:
        metric = _choose_metric(metrics, "compare-training-metric", "Reported")
    title = metric
    if metric == "validation":
        part = held_out(table.entries[0].run, "validation", table.pairs)
        title = f"{part.relevance.training_metric}, validation"
    curves = [
        ProgressCurve(entry.look, entry.label, *histories[entry.run.id][metric])
        for entry in table.entries
        if metric in histories[entry.run.id]
    ]
    show_beside(
        columns,
        "training",
        training_figure(curves, metric=title, theme=state.theme()),
        lambda: progress_records(curves),
        ["method", "steps", "first", "last"],
        [
            [c.label, f"{c.at[-1]:,.0f}", f"{c.values[0]:.4g}", f"{c.values[-1]:.4g}"]
            for c in curves
        ],
        "As reported in training, at most ten times a second. Losses of two methods do not "
        "compare: each minimises its own. A curve that has not levelled off at its end was "
        "stopped early.",
        _without(table, [curve.label for curve in curves], "Did not report it"),
    )


@st.cache_data(show_spinner=False, max_entries=64)
def history_of(run_id: str) -> dict[str, tuple[list[float], list[float]]]:
    """Steps and values of each metric of a run's training, by its name."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    with suppress(StoreError):  # deleted with the workspace that asked
        job_id = state.store().jobs.last(run_id)
        history = () if job_id is None else state.queue().status(job_id).history
        for event in history:
            if event.get("stage") != "training" or "step" not in event:
                continue
            for name in event.keys() - _NO_METRICS:
                steps, values = curves.setdefault(name, ([], []))
                if steps and event["step"] <= steps[-1]:  # a later part counts anew
                    steps.clear()
                    values.clear()
                if event[name] == event[name]:
                    steps.append(event["step"])
                    values.append(event[name])
    return {name: lines for name, lines in curves.items() if len(lines[0]) > 1}


def _choose_metric(options: Sequence[str], key: str, label: str) -> str:
    """The metric to draw, without a control where there is one only."""
    if len(options) > 1:
        return segments(label, options, key)
    st.session_state[key] = options[0]
    return options[0]


# -- quality by the number of pairs ---------------------------------------------------


def show_sizes(table: RunTable, columns: Columns) -> None:
    """Draw quality against the number of pairs trained on, and offer to train for it."""
    stored = {e.run.id: e.run.read_objects(f"{e.part}/learning") for e in table.entries}
    known = {run_id: objects.get("records", []) for run_id, objects in stored.items()}
    missing = [entry for entry in table.entries if not known[entry.run.id]]
    if not any(known.values()):
        st.markdown(
            "What would more pairs bring? Each method is trained anew on a sixteenth, an eighth, "
            "a quarter and half of its training pairs, and measured on the same "
            f"{table.part} part."
        )
        _offer_training(table, missing)
        return
    with columns[1]:
        metric = _choose_metric(list(METRICS), "compare-size-metric", "Metric")
    curves, lines = [], []
    for entry in table.entries:
        records = [r for r in known[entry.run.id] if r["metric"] == METRICS[metric]]
        if (band := mean_band(records, table.direction, "n_pairs")) is not None:
            curves.append(ProgressCurve(entry.look, entry.label, *band))
            half, whole = band[1][-2:]
            gain = display.signed(whole - half)
            lines.append([entry.label, f"{half:.3f}", f"{whole:.3f}", gain])
    if not curves:
        columns[1].caption(
            f"No query of the {table.part} part has both right and wrong candidates in this "
            "direction, so that no metric of ranks tells what more pairs bring."
        )
        return
    show_beside(
        columns,
        "size",
        learning_figure(curves, metric=metric, theme=state.theme()),
        lambda: progress_records(curves),
        ["method", "from half", "from all", "last doubling"],
        lines,
        "Every method is trained anew on each share of the same training pairs, the smaller "
        "within the larger, with its own settings; 95 % bands over queries. Where the last "
        "doubling still gains, more pairs would help.",
    )
    with columns[1]:
        _offer_training(table, missing)


def _offer_training(table: RunTable, missing: Sequence[RunEntry]) -> None:
    able = [entry for entry in missing if not why_no_curve(entry.run)]
    if not able:
        return
    # All shares take a little less than the whole took.
    took = [entry.run.about.get("seconds", {}) for entry in able]
    everyone = len(able) == len(table.entries)
    works = [partial(train_on_shares, e.run, table.pairs, e.part) for e in able]
    _offer(
        "size",
        {(e.run.id, e.part): (e.label, work) for e, work in zip(able, works, strict=True)},
        "trains on shares of the pairs",
        "Train on shares of the pairs" if everyone else "Train the others",
        "In the background; the curve is kept with the run.",
        sum(one.get(step, 0.0) for one in took for step in ("features", "training")),
    )
