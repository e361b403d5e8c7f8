"""The curves beside the table: one kind at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from simviz.charts import dimension_figure, dimension_records
from simviz.charts.curves import (
    ProgressCurve,
    learning_figure,
    progress_records,
    training_figure,
)
from simviz.data.pairs import PairSet
from simviz.evaluation import dimension_curve as measure_dimensions
from simviz.evaluation.differences import query_metric
from simviz.exceptions import SimvizError, StoreError
from simviz.jobs.background import (
    Background,
    Report,
    learning_records,
    smaller_dimensions,
    train_dimensions,
    why_no_curve,
)
from simviz.markdown import escape_markdown
from simviz.reports.summary import (
    NEARLY,
    Entry,
    dimension_curve,
    mean_band,
    milestones,
    swept_records,
)
from simviz.store.run import Part
from simviz.workbench.compare import pair_curves
from simviz.workbench.compare.choice import CURVES, Choice, part_of, put_in_link
from simviz.workbench.shell import display, drawings, forms, progress, state
from simviz.workbench.shell.figures import show_beside
from simviz.workbench.shell.forms import segments

#: Where the chart stands, and where what it means.
Columns = Sequence[DeltaGenerator]
#: Metrics of a curve by training size, by what the page calls them.
METRICS = {"MRR": "MRR", "AUC": "AUC (by query)", "NDCG@3": "NDCG@3 (exponential gain)"}
#: What an event of a training holds besides metrics.
_NO_METRICS = {"seconds", "stage", "fraction", "step", "total"}


def show(choice: Choice) -> None:
    """Choose a kind of curve and show it for all runs."""
    if st.session_state.get("compare-curve") not in CURVES:
        st.session_state["compare-curve"] = "roc"
    _show_curve(choice)


@st.fragment
def _show_curve(choice: Choice) -> None:
    """Run by itself, so that what is changed about a curve leaves the rest of the page alone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        kind = st.selectbox(
            "Curve",
            **forms.options(CURVES),
            key="compare-curve",
            label_visibility="collapsed",
            persist_state="session",
            width=190,
        )
        about = st.popover("Figures", icon=":material/info:", type="tertiary", key="compare-told")
    if st.session_state.get("compare-tab") is None:
        put_in_link(tab=kind)
    columns = st.container(), about
    show_kind = {
        "scores": pair_curves.show_histograms,
        "reliability": pair_curves.show_reliability,
        "dimensions": show_dimensions,
        "training": show_training,
        "size": show_sizes,
    }
    try:
        if kind in pair_curves.KINDS:
            pair_curves.show(choice, kind, columns)
        else:
            show_kind[kind](choice, columns)
    except SimvizError as error:  # a model that was deleted since, or is damaged
        display.problem(error)


def _without(choice: Choice, drawn: Sequence[str], words: str) -> str:
    """Name the runs that are not drawn."""
    without = [entry.label for entry in choice.entries if entry.label not in drawn]
    return escape_markdown(f"{words}: {', '.join(without)}.") if without else ""


# -- quality by dimension -------------------------------------------------------------


def show_dimensions(choice: Choice, columns: Columns) -> None:
    """Draw the metric, or what stands for it by query, against the number of dimensions."""
    nested = [entry for entry in choice.entries if entry.measured.curve]
    swept = [entry for entry in choice.entries if entry.run.part(choice.part).dimensions()]
    missing = [e for e in choice.entries if e not in swept and smaller_dimensions(e.run)]
    if not nested and not swept:
        words = "These methods learn no smaller model with a larger one."
        st.markdown(words + (" Train them at fewer dimensions for their curve." * bool(missing)))
        _offer_dimensions(choice, missing)
        return
    metric = query_metric(choice.metric).name
    curves = []
    with st.spinner("Measuring the first dimensions", show_time=False):
        for entry in nested + swept:
            records = _records(entry, metric, choice) if entry in nested else _swept(entry, metric)
            if (curve := dimension_curve(entry, choice.direction, records)) is not None:
                curves.append(curve)
    if not curves:
        columns[0].caption(
            f"No query of the {choice.part} part has both right and wrong candidates in this "
            "direction, so that there is nothing to rank with few dimensions or many."
        )
        return
    nearly = f"{NEARLY:.0%} of it with".replace("%", " %")
    trained = ", ".join(entry.label for entry in swept)
    words = f"{escape_markdown(metric)} with 95 % bands over queries; the ring marks the best."
    if nested:
        words += " Methods with ordered dimensions are trained once and cut."
    if swept:
        words += f" Trained at each number of dimensions: {escape_markdown(trained)}."
    show_beside(
        columns,
        "dimensions",
        dimension_figure(curves, metric=metric, theme=state.theme()),
        lambda: dimension_records(curves),
        ["method", "best", "with", nearly],
        [[curve.label, *milestones(curve)] for curve in curves],
        words,
        _without(choice, [entry.label for entry in nested + swept], "Without a curve"),
    )
    with columns[0]:
        _offer_dimensions(choice, missing)


def _offer_dimensions(choice: Choice, missing: Sequence[Entry]) -> None:
    """Offer to train smaller models, and show how far that is."""
    if not missing or state.share() is not None:
        return
    kind = "dimensions"
    labels = {entry.run.id: entry.label for entry in missing}
    for key, label in labels.items():
        failed = progress.background(kind).progress(key)
        if failed is not None and failed.state == "failed":
            display.problem(f"{label}: {failed.message}")
    if active := progress.show_background(kind, labels, "trains at fewer dimensions"):
        stop = progress.background(kind).stop
        forms.quiet_button("Stop", "close", "compare-dimensions-stop", _stop_all, stop, active)
        return
    at = ", ".join(map(str, smaller_dimensions(missing[0].run)))
    names = escape_markdown(", ".join(labels.values()))
    took = [entry.run.meta.get("seconds", {}).get("training", 0.0) for entry in missing]
    n = len(smaller_dimensions(missing[0].run))
    st.button(
        f"Train {names} at fewer dimensions" if len(missing) < 3 else "Train at fewer dimensions",
        key="compare-dimensions-train",
        icon=":material/model_training:",
        on_click=_train_smaller,
        args=(missing, choice.pairs),
        help=f"At {at}, in the background; the curve is kept with the run.",
    )
    st.caption(f"{names}: at most about {max(1.0, n * sum(took)):,.0f} s in all.")


def _train_smaller(entries: Sequence[Entry], pairs: PairSet) -> None:
    for entry in entries:
        work = partial(train_dimensions, entry.run, pairs)
        progress.background("dimensions").submit(entry.run.id, work)


def _stop_all(stop: Callable[[Any], object], keys: Sequence[Any]) -> None:
    for key in keys:
        stop(key)


@state.cached(64)
def _swept(entry: Entry, metric: str) -> list[dict[str, Any]]:
    return swept_records(entry, metric)


def _records(entry: Entry, metric: str, choice: Choice) -> Sequence[Mapping[str, Any]]:
    """The curve that came with the run, or one of another metric, measured now."""
    stored = entry.measured.curve
    if stored[0]["metric"] == metric:
        return stored
    dimensions = sorted({int(record["dimension"]) for record in stored})
    return _measured(entry, metric, dimensions, part_of(entry, choice.pairs))


@state.cached(64)
def _measured(
    entry: Entry, metric: str, dimensions: Sequence[int], part: PairSet
) -> list[Mapping[str, Any]]:
    pipeline: Any = drawings.pipeline(entry.run)
    curve = measure_dimensions(
        pipeline.transform(part.x),
        pipeline.transform_y(part.y),
        part.relevance,
        dimensions,
        similarity="dot" if pipeline.model_.similarity_kind == "dot" else "cosine",
        metric=metric,
    )
    return list(curve.to_records())


# -- progress in training -------------------------------------------------------------


def show_training(choice: Choice, columns: Columns) -> None:
    """Draw what methods reported while they trained."""
    histories = {entry.run.id: _history(entry.run.id) for entry in choice.entries}
    # Quality on the validation part compares methods; losses do not.
    metrics = sorted(
        {name for values in histories.values() for name in values},
        key=lambda name: (name != "validation", name),
    )
    if not metrics:
        st.caption(
            "None of these runs tells how it went: their methods are solved at once, or the "
            "record of their training is gone."
        )
        return
    with columns[1]:
        metric = _choose_metric(metrics, "compare-training-metric", "What it told")
    curves = [
        ProgressCurve(entry.look, entry.label, *histories[entry.run.id][metric])
        for entry in choice.entries
        if metric in histories[entry.run.id]
    ]
    show_beside(
        columns,
        "training",
        training_figure(curves, metric=metric, theme=state.theme()),
        lambda: progress_records(curves),
        ["method", "steps", "first", "last"],
        [
            [c.label, f"{c.at[-1]:,.0f}", f"{c.values[0]:.4g}", f"{c.values[-1]:.4g}"]  # type: ignore[index]
            for c in curves
        ],
        "As told while training, at most ten times a second. Losses of two methods do not "
        "compare: each minimises its own. A curve that has not levelled off at its end was "
        "stopped early.",
        _without(choice, [curve.label for curve in curves], "Told nothing of this kind"),
    )


@st.cache_data(show_spinner=False, max_entries=64)
def _history(run_id: str) -> dict[str, tuple[list[float], list[float]]]:
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


def background() -> Background:
    """The worker that trains on shares of the pairs; what it trains outlives every page."""
    return progress.background("sizes")


def show_sizes(choice: Choice, columns: Columns) -> None:
    """Draw quality against the number of pairs trained on, and offer to train for it."""
    known = {entry.run.id: entry.run.part(entry.part).learning() for entry in choice.entries}
    missing = [entry for entry in choice.entries if not known[entry.run.id]]
    if not any(known.values()):
        st.markdown(
            "What would more pairs bring? Each method is trained anew on a sixteenth, an eighth, "
            "a quarter and half of its training pairs, and measured on the same "
            f"{choice.part} part."
        )
        _offer_training(choice, missing)
        return
    with columns[1]:
        metric = _choose_metric(list(METRICS), "compare-size-metric", "Metric")
        curves, lines = [], []
        for entry in choice.entries:
            records = [r for r in known[entry.run.id] if r["metric"] == METRICS[metric]]
            if (band := mean_band(records, choice.direction, "n_pairs")) is not None:
                curves.append(ProgressCurve(entry.look, entry.label, *band))
                half, whole = band[1][-2:]
                gain = display.signed(whole - half)
                lines.append([entry.label, f"{half:.3f}", f"{whole:.3f}", gain])
        if not curves:
            st.caption(
                f"No query of the {choice.part} part has both right and wrong candidates in this "
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
        _offer_training(choice, missing)


def _offer_training(choice: Choice, missing: Sequence[Entry]) -> None:
    """A button that trains on shares of the pairs, and how far that is."""
    able = [entry for entry in missing if not why_no_curve(entry.run)]
    if not able or state.share() is not None:
        return
    labels = {_key(entry): entry.label for entry in able}
    for key, label in labels.items():
        failed = background().progress(key)
        if failed is not None and failed.state == "failed":
            display.problem(f"{label}: {failed.message}")
    if active := progress.show_background("sizes", labels, "trains on shares of the pairs"):
        stop = background().stop
        forms.quiet_button("Stop", "close", "compare-size-stop", _stop_all, stop, active)
        return
    st.button(
        "Train on shares of the pairs" if len(able) == len(choice.entries) else "Train the others",
        key="compare-size-train",
        icon=":material/model_training:",
        on_click=_train,
        args=(able, choice),
        help="In the background; the curve is kept with the run.",
    )
    # All shares take a little less than the whole took.
    took = [entry.run.meta.get("seconds", {}) for entry in able]
    seconds = sum(one.get(step, 0.0) for one in took for step in ("features", "training"))
    names = ", ".join(labels.values())
    st.caption(escape_markdown(f"{names}: about {max(1.0, seconds):,.0f} s in all."))


def _key(entry: Entry) -> tuple[str, Part]:
    return entry.run.id, entry.part


def _train(entries: Sequence[Entry], choice: Choice) -> None:
    def train(entry: Entry, report: Report) -> None:
        records = learning_records(entry.run, choice.pairs, entry.part, report)
        entry.run.part(entry.part).put_learning(records)

    for entry in entries:
        background().submit(_key(entry), partial(train, entry))
