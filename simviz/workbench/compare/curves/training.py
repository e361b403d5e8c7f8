"""How training went, and what more pairs would bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.exceptions import StoreError
from simviz.workbench.compare.choice import Choice
from simviz.workbench.shell import display, state
from simviz.workbench.shell.figures import draw, show_figures, show_rows
from simviz.workbench.shell.marks import plain

if TYPE_CHECKING:
    from simviz.charts.curves import ProgressCurve
    from simviz.jobs.background import Background, Tell
    from simviz.reports.summary import Entry
    from simviz.store.run import Part

#: What an event tells besides metrics.
_TOLD = {"seconds", "stage", "fraction", "step", "total"}
_METRICS = {"MRR": "MRR", "AUC": "AUC (by query)", "NDCG@3": "NDCG@3 (exponential gain)"}


@st.cache_resource(show_spinner=False)
def background() -> Background:
    """The one worker of this server; what it trains outlives every page."""
    from simviz.jobs.background import Background

    return Background()


def show_training(choice: Choice) -> None:
    """Draw what methods told while they trained."""
    from simviz.charts.curves import ProgressCurve, progress_records, training_figure

    told = {entry.run.id: _history(entry) for entry in choice.entries}
    # Quality on the validation part compares methods; losses do not.
    metrics = sorted(
        {name for values in told.values() for name in values},
        key=lambda name: (name != "validation", name),
    )
    if not metrics:
        st.caption(
            "None of these runs tells how it went: their methods are solved at once, or the "
            "record of their training is gone."
        )
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        metric = _choose(metrics, "compare-told", "What it told")
        curves = [
            ProgressCurve(entry.look, entry.label, *told[entry.run.id][metric])
            for entry in choice.entries
            if metric in told[entry.run.id]
        ]
        show_figures(
            ["method", "steps", "first", "last"],
            [
                [c.label, f"{c.at[-1]:,.0f}", f"{c.values[0]:.4g}", f"{c.values[-1]:.4g}"]  # type: ignore[index]
                for c in curves
            ],
        )
        st.caption(
            "As told while training, at most ten times a second. Losses of two methods do not "
            "compare: each minimises its own. A curve that has not levelled off at its end was "
            "stopped early."
        )
        drawn = {curve.label for curve in curves}
        without = [entry.label for entry in choice.entries if entry.label not in drawn]
        if without:
            st.caption(plain(f"Told nothing of this kind: {', '.join(without)}."))
    with left:
        draw(training_figure(curves, metric=metric, theme=state.theme()), "training")
        show_rows("training", lambda: progress_records(curves))


def show_sizes(choice: Choice) -> None:
    """Draw quality against the number of pairs trained on, and offer to train for it."""
    from simviz.charts.curves import learning_figure, progress_records

    known = {e.run.id: e.run.part(e.part).learning() for e in choice.entries}
    missing = [entry for entry in choice.entries if not known[entry.run.id]]
    if not any(known.values()):
        st.markdown(
            "What would more pairs bring? Each method is trained anew on a sixteenth, an eighth, "
            "a quarter and half of its training pairs, and measured on the same "
            f"{choice.part} part."
        )
        _offer(choice, missing)
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        metric = _choose(list(_METRICS), "compare-size-metric", "Metric")
        curves = [
            curve
            for entry in choice.entries
            if (curve := _sizes(entry, known[entry.run.id], metric, choice.direction)) is not None
        ]
        if not curves:
            st.caption(
                f"No query of the {choice.part} part has both right and wrong candidates in this "
                "direction, so that no metric of ranks tells what more pairs bring."
            )
            return
        show_figures(
            ["method", "from half", "from all", "last doubling"],
            [[curve.label, *_doubling(curve)] for curve in curves],
        )
        st.caption(
            "Every method is trained anew on each share of the same training pairs, the smaller "
            "within the larger, with its own settings; 95 % bands over queries. Where the last "
            "doubling still gains, more pairs would help."
        )
        _offer(choice, missing)
    with left:
        draw(learning_figure(curves, metric=metric, theme=state.theme()), "size")
        show_rows("size", lambda: progress_records(curves))


def _history(entry: Entry) -> Mapping[str, tuple[list[float], list[float]]]:
    """Steps and values of each metric of a run's training, by its name."""
    return _events(entry.run.id)


@st.cache_data(show_spinner=False, max_entries=64)
def _events(run_id: str) -> dict[str, tuple[list[float], list[float]]]:
    found: dict[str, tuple[list[float], list[float]]] = {}
    with suppress(StoreError):  # deleted with the workspace that asked
        job_id = state.store().jobs.last(run_id)
        history = () if job_id is None else state.queue().status(job_id).history
        for event in history:
            if event.get("stage") != "training" or "step" not in event:
                continue
            for name in event.keys() - _TOLD:
                steps, values = found.setdefault(name, ([], []))
                if steps and event["step"] <= steps[-1]:  # a later part counts anew
                    steps.clear()
                    values.clear()
                if event[name] == event[name]:
                    steps.append(event["step"])
                    values.append(event[name])
    return {name: lines for name, lines in found.items() if len(lines[0]) > 1}


def _sizes(
    entry: Entry, records: Sequence[Mapping[str, Any]], metric: str, direction: str
) -> ProgressCurve | None:
    from simviz.charts.curves import ProgressCurve
    from simviz.evaluation.differences import REACH

    wanted = ("x2y", "y2x") if direction == "mean" else (direction,)
    lines = [
        [r for r in records if r["metric"] == _METRICS[metric] and r["direction"] == d]
        for d in wanted
    ]
    if not all(lines):
        return None
    # A side on which no query can fail has no values.
    lines = [side for side in lines if not any(isnan(r["value"]) for r in side)]
    if not lines:
        return None
    points = list(zip(*lines, strict=True))
    values = [fmean(p["value"] for p in point) for point in points]
    reach = [REACH * fmean(p["standard_error"] for p in point) for point in points]
    return ProgressCurve(
        entry.look,
        entry.label,
        [point[0]["n_pairs"] for point in points],
        values,
        [v - r for v, r in zip(values, reach, strict=True)],
        [v + r for v, r in zip(values, reach, strict=True)],
    )


def _doubling(curve: ProgressCurve) -> tuple[str, str, str]:
    """Values from half and from all of the pairs, and the gain."""
    half, whole = list(curve.values)[-2:]  # type: ignore[arg-type]
    return f"{half:.3f}", f"{whole:.3f}", f"{whole - half:+.3f}".replace("-", "−")


def _offer(choice: Choice, missing: Sequence[Entry]) -> None:
    """A button that trains on shares of the pairs, and how far that is."""
    from simviz.jobs.measuring import why_no_curve

    able = [entry for entry in missing if not why_no_curve(entry.run)]
    if not able or state.share() is not None:
        return
    under_way = {e.run.id: background().progress(_key(e)) for e in able}
    active = [e for e in able if (p := under_way[e.run.id]) is not None and p.is_active]
    for entry in able:
        progress = under_way[entry.run.id]
        if progress is not None and progress.state == "failed":
            display.problem(f"{entry.label}: {progress.message}")
    if active:
        _watch([(_key(entry), entry.label) for entry in active])
        st.button(
            "Stop",
            key="compare-size-stop",
            icon=":material/close:",
            type="tertiary",
            on_click=_stop,
            args=([_key(entry) for entry in active],),
        )
        return
    seconds = sum(_seconds(entry) for entry in able)
    st.button(
        "Train on shares of the pairs" if len(able) == len(choice.entries) else "Train the others",
        key="compare-size-train",
        icon=":material/model_training:",
        on_click=_ask,
        args=(able, choice),
        help="In the background; the curve is kept with the run.",
    )
    names = ", ".join(entry.label for entry in able)
    st.caption(plain(f"{names}: about {max(1.0, seconds):,.0f} s in all."))


def _key(entry: Entry) -> tuple[str, Part]:
    return entry.run.id, entry.part


def _ask(entries: Sequence[Entry], choice: Choice) -> None:
    from simviz.jobs.measuring import learning_records

    def train(entry: Entry, tell: Tell) -> None:
        records = learning_records(entry.run, choice.pairs, entry.part, tell)
        entry.run.part(entry.part).put_learning(records)

    for entry in entries:
        background().submit(_key(entry), partial(train, entry))


def _stop(keys: Sequence[tuple[str, Part]]) -> None:
    for key in keys:
        background().stop(key)


def _seconds(entry: Entry) -> float:
    """What all shares take: a little less than the whole took."""
    took = entry.run.meta.get("seconds", {})
    return float(took.get("features", 0.0)) + float(took.get("training", 0.0))


@st.fragment(run_every=0.7)
def _watch(runs: Sequence[tuple[tuple[str, Part], str]]) -> None:
    for key, label in runs:
        progress = background().progress(key)
        if progress is None or not progress.is_active:
            st.rerun()
        waits = progress.state == "waiting"
        words = "waits for its turn" if waits else "trains on shares of the pairs"
        st.progress(min(1.0, progress.fraction), text=f"**{plain(label)}** {words}")


def _choose(options: Sequence[str], key: str, label: str) -> str:
    if st.session_state.get(key) not in options:
        st.session_state[key] = options[0]
    if len(options) == 1:
        return options[0]
    chosen: str = st.segmented_control(
        label, options, key=key, required=True, persist_state="session"
    )
    return chosen
