"""Curves over all pairs: how well one threshold separates what belongs together."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from pages._shared import compare_errors, drawings, state
from pages._shared.compare_choice import Choice
from pages._shared.compare_curves import (
    draw,
    kept_figure,
    part_of,
    show_figures,
    show_rows,
)
from pages._shared.compare_evaluated import tested
from pages._shared.compare_marks import plain
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.charts.detection import DetectionCurve
    from simviz.data.pairs import PairSet
    from simviz.evaluation import CurveBands, Direction, Roc, ScoreCounts
    from simviz.store.run import Part, Run

_RATES = (0.001, 0.01, 0.1)
_AXES = {"all": "All", "low": "0–25 %", "log": "Logarithmic"}
_LOW = 0.25
#: More pairs than this are only drawn again and again where somebody asks for bands.
_LIGHT = 25_000_000


class Traced(NamedTuple):
    """A run with its ROC curve, and how far it would move with other queries."""

    entry: Entry
    roc: Roc
    bands: CurveBands | None


@st.cache_resource(show_spinner=False, max_entries=64)
def _roc(run_id: str, part: Part, _run: Run) -> Roc | None:
    from simviz.evaluation.roc import Roc

    arrays = _run.part(part).roc()
    return None if arrays is None else Roc(**arrays)


@st.cache_resource(show_spinner=False, max_entries=32)
def counted(
    run_id: str, part: Part, direction: Direction, _run: Run, _pairs: PairSet
) -> ScoreCounts:
    """Pairs of a part by class, query and score; runs never change."""
    from simviz.evaluation import score_counts

    sides = _pairs.x, _pairs.y, _pairs.relevance
    return score_counts(drawings.pipeline(run_id, _run), *sides, direction=direction)


@st.cache_resource(show_spinner=False, max_entries=64)
def _bands(
    run_id: str, part: Part, direction: Direction, _counts: ScoreCounts, _roc: Roc
) -> CurveBands | None:
    from simviz.evaluation import curve_bands

    if not _roc.n_positive or not _roc.n_negative:
        return None
    return curve_bands(_counts, _roc)


def asking(choice: Choice) -> Direction:
    """Whose queries are drawn again: those of the chosen direction, else of the x side."""
    return "y2x" if choice.direction == "y2x" else "x2y"


def show_roc(choice: Choice) -> None:
    """Draw true against false positive rates."""
    from simviz.charts import RocCurve, roc_figure, roc_records

    traced, banded = _traced(choice)
    if not traced:
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        axis = _choose_axis()
        banded = _choose_bands(banded)
        show_figures(
            ["method", f"pAUC {100 * _LOW:g}\N{NO-BREAK SPACE}%", *map(_rate, _RATES)],
            [
                [
                    one.entry.label,
                    f"{one.roc.partial_auc(_LOW):.3f}",
                    *(f"{100 * one.roc.tpr_at(rate):.0f} %" for rate in _RATES),
                ]
                for one in traced
            ],
        )
        first = traced[0].roc
        st.caption(
            "Share of true pairs found by the share of false alarms allowed: on average up to "
            f"{100 * _LOW:g} % (pAUC; chance is {_LOW / 2:g}), and at single shares. A false "
            "alarm is a pair that does not belong together and still scores above the threshold. "
            f"Over all {first.n_positive + first.n_negative:,} pairs of the {choice.part} part, "
            f"of which {first.n_positive:,} belong together; both directions are the same."
        )
        _say_bands(choice, traced)
    curves = [
        RocCurve(
            one.entry.look,
            one.entry.label,
            one.roc.fpr,
            one.roc.tpr,
            one.roc.auc,
            None if one.bands is None else one.bands.auc,
            one.roc.thresholds,
            one.roc.precision,
            one.bands.tpr if banded and one.bands is not None else None,
        )
        for one in traced
    ]
    with left:
        figure = kept_figure(
            "roc",
            curves,
            [axis, *_followed(choice, traced, banded)],
            lambda: roc_figure(
                curves,
                log_fpr=axis == "log",
                max_fpr=_LOW if axis == "low" else 1.0,
                theme=state.theme(),
            ),
        )
        event = draw(figure, "roc", pressed=True)
        show_rows("roc", lambda: roc_records(curves))
    places = {one.entry.run.id: (one.roc.fpr, one.roc.tpr) for one in traced}
    compare_errors.show(choice, event, traced, places)


def show_precision(choice: Choice) -> None:
    """Draw precision against recall."""
    from simviz.charts.detection import detection_records, precision_recall_figure

    traced, banded = _traced(choice)
    if not traced:
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        banded = _choose_bands(banded)
        recalls = (0.2, 0.5, 0.8)
        show_figures(
            ["method", *(f"at {_rate(recall)}" for recall in recalls)],
            [
                [one.entry.label, *(_percent(_precision_at(one.roc, r)) for r in recalls)]
                for one in traced
            ],
        )
        first = traced[0].roc
        chance = 100 * first.n_positive / (first.n_positive + first.n_negative)
        st.caption(
            "Of the pairs above a threshold, the share that belongs together (precision), by the "
            "share of all true pairs that are above it (recall). One threshold serves all "
            f"queries. Chance has {chance:.2g} %, the dotted line: among that many pairs few "
            "belong together, so precision is the harder test."
        )
        _say_bands(choice, traced)
    curves = [
        _detection(
            one,
            one.roc.average_precision,
            None if one.bands is None else one.bands.average_precision,
            one.bands.precision if banded and one.bands is not None else None,
        )
        for one in traced
    ]
    with left:
        figure = kept_figure(
            "precision",
            curves,
            _followed(choice, traced, banded),
            lambda: precision_recall_figure(curves, theme=state.theme()),
        )
        event = draw(figure, "precision", pressed=True)
        show_rows("precision", lambda: detection_records(curves))
    places = {one.entry.run.id: (one.roc.tpr, one.roc.precision) for one in traced}
    compare_errors.show(choice, event, traced, places)


def show_det(choice: Choice) -> None:
    """Draw misses against false alarms."""
    from simviz.charts.detection import det_figure, detection_records

    traced, banded = _traced(choice)
    if not traced:
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        banded = _choose_bands(banded)
        show_figures(
            ["method", *map(_rate, _RATES)],
            [
                [one.entry.label, *(_percent(1 - one.roc.tpr_at(rate)) for rate in _RATES)]
                for one in traced
            ],
        )
        st.caption(
            "Share of true pairs missed, by the share of false alarms allowed (detection error "
            "trade-off). It is the ROC curve turned over and stretched: lower is better, and both "
            "axes follow the normal distribution, so that small rates are told apart. A straight "
            "line means that the scores of both classes are bell-shaped. The ring marks the "
            "equal error rate: as large a share of true pairs is missed as of others let through."
        )
        _say_bands(choice, traced)
    curves = [
        _detection(
            one,
            one.roc.equal_error_rate,
            None if one.bands is None else one.bands.equal_error_rate,
            one.bands.tpr if banded and one.bands is not None else None,
        )
        for one in traced
    ]
    with left:
        figure = kept_figure(
            "det",
            curves,
            _followed(choice, traced, banded),
            lambda: det_figure(curves, theme=state.theme()),
        )
        draw(figure, "det")
        show_rows("det", lambda: detection_records(curves))


def _traced(choice: Choice) -> tuple[list[Traced], bool]:
    """All runs with a curve, and whether bands are wanted."""
    traces = [(e, _roc(e.run.id, e.part, e.run)) for e in choice.entries]
    found = [(entry, roc) for entry, roc in traces if roc is not None]
    usable = [(e, roc) for e, roc in found if roc.n_positive and roc.n_negative]
    if not usable:
        st.caption(
            "These runs were measured without a ROC curve."
            if not found
            else "A curve needs pairs that belong together and pairs that do not; the "
            f"{choice.part} part has only one kind."
        )
        return [], False
    wanted = bool(st.session_state.get("compare-bands"))
    part = part_of(usable[0][0], choice.pairs)
    light = len(part.x) * len(part.y) <= _LIGHT
    direction = asking(choice)
    traced = []
    with st.spinner("Drawing the queries again and again", show_time=False):
        for entry, roc in usable:
            bands = None
            if light or wanted:
                # The curve came with the run; bands need its model, which may be gone.
                with suppress(SimvizError):
                    key = entry.run.id, entry.part, direction
                    bands = _bands(*key, counted(*key, entry.run, part), roc)
            traced.append(Traced(entry, roc, bands))
    return traced, wanted


def _followed(choice: Choice, traced: list[Traced], banded: bool) -> list[object]:
    """What curves follow from besides what they are called."""
    has_bands = [one.bands is not None for one in traced]
    return [choice.part, asking(choice), banded, has_bands, [one.entry.run.id for one in traced]]


def _detection(
    one: Traced,
    value: float,
    ci: tuple[float, float] | None,
    band: tuple[object, object, object] | None,
) -> DetectionCurve:
    from simviz.charts.detection import DetectionCurve

    roc = one.roc
    return DetectionCurve(
        one.entry.look,
        one.entry.label,
        roc.false_positives,
        roc.true_positives,
        roc.thresholds,
        value,
        ci,
        band,  # type: ignore[arg-type]
    )


def _choose_axis() -> str:
    if st.session_state.get("compare-axis") not in _AXES:
        st.session_state["compare-axis"] = "all"
    chosen: str = st.segmented_control(
        "False alarms",
        list(_AXES),
        format_func=_AXES.__getitem__,
        key="compare-axis",
        required=True,
        persist_state="session",
        help="Where a score is used as a filter, only the far left of the curve matters.",
    )
    return chosen


def _choose_bands(wanted: bool) -> bool:
    return st.toggle(
        "95 % bands",
        value=wanted,
        key="compare-bands",
        persist_state="session",
        help="Where the curve would run for 95 of 100 other draws of the queries.",
    )


def _say_bands(choice: Choice, traced: list[Traced]) -> None:
    """Where the intervals come from."""
    bands = next((one.bands for one in traced if one.bands is not None), None)
    if bands is None:
        if not st.session_state.get("compare-bands"):
            st.caption("Switch bands on for intervals too: with so many pairs they take a while.")
        return
    side = choice.names[asking(choice) == "y2x"]
    by_query = tested(choice).level == "query"
    how = "query by query" if by_query else "on the same judged pairs"
    st.caption(
        f"Intervals and bands: 95 %, from 1,000 draws of the {bands.n_queries:,} {plain(side)}, "
        "each with all of its pairs. Bands of two runs may overlap although one is surely "
        f"better: the test above compares them {how}."
    )


def _precision_at(roc: Roc, recall: float) -> float:
    """Precision where a share of the relevant pairs is found."""
    import numpy as np

    fp = float(-np.interp(-recall, -roc.tpr[::-1], -roc.false_positives[::-1].astype(float)))
    found = recall * roc.n_positive
    return found / (found + fp)


def _rate(rate: float) -> str:
    return f"{100 * rate:g}\N{NO-BREAK SPACE}%"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"
