"""Curves over all pairs: how well one threshold separates what belongs together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from simviz.charts import RocCurve, roc_figure, roc_records, scores
from simviz.charts.roc import PrecisionCurve, precision_recall_figure, precision_records
from simviz.data.pairs import PairSet
from simviz.evaluation import (
    Calibration,
    CurveBands,
    Direction,
    Reliability,
    Roc,
    ScoreCounts,
    ThresholdErrors,
    curve_bands,
    errors_at,
    reliability,
    score_counts,
)
from simviz.evaluation.thresholds import ScoredPairs
from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.reports.run_summary import RunEntry, RunTable
from simviz.store.run import MEASURED, Run
from simviz.workbench.compare.choice import held_out, open_query, part_of
from simviz.workbench.compare.significance import is_by_query
from simviz.workbench.shell import display, drawings, state
from simviz.workbench.shell.charts import cached_figure, show_beside
from simviz.workbench.shell.forms import button, segments

#: Pairs listed on each side of a threshold, and the longest text of an item in a line.
_LISTED, _LONGEST = 8, 60
_RATES, _RECALLS = (0.001, 0.01, 0.1), (0.2, 0.5, 0.8)
_AXES = {"all": "All", "low": "0–25 %", "log": "Logarithmic"}
_LOW = 0.25
#: More pairs than this are only drawn again and again where somebody asks for bands.
_LIGHT = 25_000_000
#: Methods whose scores are drawn one above the other; more would be too flat to read.
_MAX_CURVES = 6


class Kind(NamedTuple):
    """A kind of curve: the figure and the band of a method, as `CurveBands` names them."""

    value: str
    title: str
    band: str
    caption: str


KINDS = {
    "roc": Kind(
        "auc",
        "AUC",
        "tpr",
        "Share of true pairs found by the share of false alarms allowed: on average up to "
        f"{100 * _LOW:g} % (pAUC; chance is {_LOW / 2:g}), and at single shares. A false "
        "alarm is a pair that does not belong together and still scores above the threshold. "
        "Over all {n_pairs:,} pairs of the {part} part, of which {n_true:,} belong together; "
        "both directions are the same.",
    ),
    "precision": Kind(
        "average_precision",
        "average precision",
        "precision",
        "Of the pairs above a threshold, the share that belongs together (precision), by the "
        "share of all true pairs that are above it (recall). One threshold serves all queries. "
        "Chance has {chance:.2g} %, the dotted line: among that many pairs few belong together, "
        "so precision is the harder test.",
    ),
}


class Traced(NamedTuple):
    """A run with its ROC curve, and how far it would move with other queries."""

    entry: RunEntry
    roc: Roc
    bands: CurveBands | None


# -- ROC, precision and recall --------------------------------------------------------


def show(table: RunTable, kind: str, columns: Sequence[DeltaGenerator]) -> None:
    """Show a kind of curve of all runs; a press on a point shows the pairs behind it."""
    traced = _traced(table)
    if not traced:
        return
    axis = "all"
    with columns[1]:
        if kind == "roc":
            text = "Where a score is used as a filter, only the far left of the curve matters."
            axis = segments("False alarms", _AXES, "compare-axis", help=text)
        banded = st.toggle(
            "95 % bands",
            value=bool(st.session_state.get("compare-bands")),
            key="compare-bands",
            persist_state="session",
            help="Where the curve would run for 95 of 100 other draws of the queries.",
        )
    roc = traced[0].roc
    n_pairs = roc.n_positive + roc.n_negative
    chance = 100 * roc.n_positive / n_pairs
    caption = KINDS[kind].caption.format(
        n_pairs=n_pairs, n_true=roc.n_positive, chance=chance, part=table.part
    )
    curves = [_curve(kind, one, banded=banded) for one in traced]
    has_bands = [one.bands is not None for one in traced]
    ids = [one.entry.run.id for one in traced]
    drawn_by = [axis, table.part, query_side(table), banded, has_bands, ids]
    lines = [
        [one.entry.label, _estimate(curve), *_cells(kind, one.roc).values()]
        for one, curve in zip(traced, curves, strict=True)
    ]
    event = show_beside(
        columns,
        kind,
        cached_figure(kind, curves, drawn_by, lambda: _figure(kind, curves, axis)),
        lambda: (roc_records if kind == "roc" else precision_records)(curves),
        ["method", KINDS[kind].title, *_cells(kind, roc)],
        lines,
        caption,
        _say_bands(table, traced),
        pressed=True,
    )
    _show_errors(table, event, traced, kind)


def _cells(kind: str, roc: Roc) -> dict[str, str]:
    """Figures of a run, by the headings of their columns."""
    if kind == "precision":
        return {f"at {_rate(x)}": _percent(_precision_at(roc, x)) for x in _RECALLS}
    results = {_rate(rate): f"{100 * roc.tpr_at(rate):.0f} %" for rate in _RATES}
    return {f"pAUC {_rate(_LOW)}": f"{roc.partial_auc(_LOW):.3f}"} | results


def _curve(kind: str, one: Traced, *, banded: bool) -> Any:
    """A run's curve for the figure."""
    (entry, roc, bands), (value, _, band, _) = one, KINDS[kind]
    figure = getattr(roc, value)
    interval = getattr(bands, value, None)
    drawn = getattr(bands, band, None) if banded else None
    named = entry.look, entry.label
    if kind == "roc":
        ends = roc.thresholds, roc.precision
        return RocCurve(*named, roc.fpr, roc.tpr, figure, interval, *ends, drawn)
    return PrecisionCurve(*named, roc, figure, interval, drawn)


def _estimate(curve: Any) -> str:
    """What stands for a whole curve, with its 95 % interval where that is known."""
    value = curve.auc if isinstance(curve, RocCurve) else curve.value
    bounds = "" if curve.ci is None else f" [{curve.ci[0]:.3f}, {curve.ci[1]:.3f}]"
    return f"{value:.3f}{bounds}"


def _figure(kind: str, curves: Sequence[Any], axis: str) -> Any:
    theme = state.theme()
    if kind == "roc":
        end = _LOW if axis == "low" else 1.0
        return roc_figure(curves, log_fpr=axis == "log", max_fpr=end, theme=theme)
    return precision_recall_figure(curves, theme=theme)


def _traced(table: RunTable) -> list[Traced]:
    """All runs with a curve."""
    rocs = [(entry, entry.evaluation.roc) for entry in table.entries]
    known = [Traced(entry, roc, None) for entry, roc in rocs if roc is not None]
    traced = [one for one in known if one.roc.n_positive and one.roc.n_negative]
    if not traced:
        st.caption(
            "These runs were measured without a ROC curve."
            if not known
            else "A curve needs pairs that belong together and pairs that do not; the "
            f"{table.part} part has only one kind."
        )
        return []
    part = part_of(traced[0].entry, table.pairs)
    is_light = len(part.x) * len(part.y) <= _LIGHT and len(traced) <= _MAX_CURVES
    with st.spinner("Resampling the queries", show_time=False):
        for i, (entry, roc, _) in enumerate(traced):
            # The curve came with the run; bands need its model, which may be gone.
            with suppress(SimvizError):
                if is_light or st.session_state.get("compare-bands"):
                    traced[i] = Traced(entry, roc, _bands(entry, query_side(table), part))
    return traced


def query_side(table: RunTable) -> Direction:
    """Whose queries are drawn again: those of the chosen direction, else of the x side."""
    return "y2x" if table.direction == "y2x" else "x2y"


@state.cached(32)
def _score_counts(run: Run, direction: Direction, part: PairSet) -> ScoreCounts:
    """Pairs of a part by class, query and score."""
    pipeline = drawings.pipeline(run)
    return score_counts(pipeline, part.x, part.y, part.relevance, direction=direction)


@state.cached(64)
def _bands(entry: RunEntry, direction: Direction, part: PairSet) -> CurveBands | None:
    roc = entry.evaluation.roc
    return None if roc is None else curve_bands(_score_counts(entry.run, direction, part), roc)


def _say_bands(table: RunTable, traced: Sequence[Traced]) -> str:
    """Where the intervals come from."""
    bands = next((one.bands for one in traced if one.bands is not None), None)
    if bands is None:
        if st.session_state.get("compare-bands"):
            return ""
        return "Switch bands on for intervals too: of so many pairs or runs they take a while."
    side = table.names[query_side(table) == "y2x"]
    how = "query by query" if is_by_query(table) else "on the same judged pairs"
    return (
        f"Intervals and bands: 95 %, from 1,000 draws of the {bands.n_queries:,} "
        f"{escape_markdown(side)}, each with all of its pairs. Bands of two runs may overlap "
        f"although one is surely better: the test above compares them {how}."
    )


def _precision_at(roc: Roc, recall: float) -> float:
    fp = float(-np.interp(-recall, -roc.tpr[::-1], -roc.false_positives[::-1].astype(float)))
    n_true = recall * roc.n_positive
    return n_true / (n_true + fp)


def _rate(rate: float) -> str:
    return f"{100 * rate:g}\N{NO-BREAK SPACE}%"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


# -- the pairs behind a point of a curve ----------------------------------------------


def _show_errors(
    table: RunTable, event: Mapping[str, Any] | None, traced: Sequence[Traced], kind: str
) -> None:
    """Show the pairs behind a point, or how to get there."""
    points = (event or {}).get("selection", {}).get("points", [])
    by_look = {one.entry.look: one for one in traced}
    look = points[0].get("customdata") if points else None
    look = look[0] if isinstance(look, list | tuple) and look else look
    if not points or look not in by_look:
        st.caption("Press a point to see which pairs it gets wrong.")
        return
    entry, roc, _ = by_look[look]
    x, y = (roc.fpr, roc.tpr) if kind == "roc" else (roc.tpr, roc.precision)
    off = np.abs(x - float(points[0]["x"])) + np.abs(y - float(points[0]["y"]))
    threshold = float(roc.thresholds[int(np.nanargmin(off))])
    part = part_of(entry, table.pairs)
    with st.spinner("Looking for the pairs", show_time=False):
        errors = _errors(entry.run, threshold, part)
    n_right, n_passing, n_relevant = errors.n_true_positives, errors.n_passing, errors.n_relevant
    at = f"at or above {errors.threshold:.4g}" if np.isfinite(errors.threshold) else "in all"
    precision = f", precision {100 * (n_right / n_passing):.3g} %" if n_passing else ""
    text = (
        f"{entry.label}: {n_passing:,} pairs score {at}. {n_right:,} of the {n_relevant:,} true "
        f"pairs are among them (recall {100 * (n_right / n_relevant):.3g} %{precision})."
    )
    st.markdown(escape_markdown(text))
    with st.container(key="compare-pairs"):
        left, right = st.columns(2)
    with left:
        st.markdown("**False alarms with the highest scores**")
        _list_pairs(table, entry, part, errors.false_alarms, "alarm")
    with right:
        st.markdown("**True pairs that miss it most narrowly**")
        _list_pairs(table, entry, part, errors.misses, "miss")
    if len(table.entries) > 1:
        st.caption("Press a pair to see all answers to its query, by two runs side by side.")


@state.cached(40)
def _errors(run: Run, threshold: float, part: PairSet) -> ThresholdErrors:
    pipeline = drawings.pipeline(run)
    return errors_at(pipeline, part.x, part.y, part.relevance, threshold=threshold, k=_LISTED)


def _list_pairs(
    table: RunTable, entry: RunEntry, part: PairSet, pairs: ScoredPairs, kind: str
) -> None:
    """List pairs; where there are two runs, each opens the answers to its query."""
    if not len(pairs.x):
        st.caption("None.")
        return
    opens, direction = len(table.entries) > 1, query_side(table)
    with st.container(gap=None if opens else "small", key=f"compare-{kind}-list"):
        for n, (i, j, score) in enumerate(zip(pairs.x, pairs.y, pairs.score, strict=True)):
            names = (display.item_label(*item, _LONGEST) for item in ((part.x, i), (part.y, j)))
            text = escape_markdown(f"{' ↔ '.join(names)} · {score:.3f}")
            query = int(i) if direction == "x2y" else int(j)
            if not opens:
                st.caption(text)
                continue
            asked = entry, direction, query
            if button(text, f"compare-{kind}-{n}", _open_query, *asked, type="tertiary"):
                st.rerun(scope="app")  # another tab is open now


def _open_query(entry: RunEntry, direction: str, query: int) -> None:
    position = int(entry.run.arrays()[f"{direction[0]}_{entry.part}"][query])
    st.session_state["compare-tab"] = "queries"
    open_query(f"{direction}:{position}")


# -- scores, and what they mean -------------------------------------------------------


def show_histograms(table: RunTable, columns: Sequence[DeltaGenerator]) -> None:
    """Draw the scores of relevant and of other pairs."""
    shown = []
    with st.spinner("Counting scores", show_time=False):
        for entry in table.entries[:_MAX_CURVES]:
            part = part_of(entry, table.pairs)
            counts = _score_counts(entry.run, query_side(table), part)
            shown.append(scores.ScoreHistogram(entry.look, entry.label, *counts.histogram()))
    totals = {text: int(shown[0].counts[name].sum()) for name, text in scores.CLASSES.items()}
    n_runs = len(table.entries)
    show_beside(
        columns,
        "scores",
        scores.histogram_figure(shown, theme=state.theme()),
        lambda: scores.histogram_records(shown),
        [f"pairs of the {table.part} part", "number"],
        [[text, f"{n:,}"] for text, n in totals.items() if n],
        "Each class adds up to 100 %. The less the outlines overlap, the better one "
        "threshold separates them. Scores of two methods do not compare with one another: "
        "each has a scale of its own.",
        f"The first {_MAX_CURVES} of {n_runs} runs." if n_runs > _MAX_CURVES else "",
        height=130 + (150 if state.is_narrow() else 165) * len(shown),
    )


def show_reliability(table: RunTable, columns: Sequence[DeltaGenerator]) -> None:
    """Draw probabilities, learned on the validation part, against what came true on the test."""
    if table.part == "validation":
        st.caption(
            "What a score means is learned on the validation part and held against the test "
            "part: switch to *Test* to see it."
        )
        return
    measured: list[tuple[RunEntry, Calibration, Reliability]] = []
    with st.spinner("Computing what scores mean", show_time=False):
        for entry in table.entries:
            parts = [held_out(entry.run, part, table.pairs) for part in MEASURED]
            if (found := _reliability(entry.run, query_side(table), *parts)) is not None:
                measured.append((entry, *found))
    if not measured:
        st.caption(
            "No score can be given a meaning here: that needs a validation part, and a test part, "
            "with pairs that belong together and pairs that do not."
        )
        return
    shares = (0.1, 0.5, 0.9)
    run = measured[0][0].run
    odds = _odds(run, *(held_out(run, part, table.pairs) for part in MEASURED))
    more = (
        f"The test part has {1 / odds:.2g} times as many candidates for a query; probabilities "
        "are lower there by those odds."
    )
    curves = [scores.ReliabilityCurve(e.look, e.label, found) for e, _, found in measured]
    lines = [
        [e.label, f"{found.gap:.3f}", *(_score_for(calibration, share) for share in shares)]
        for e, calibration, found in measured
    ]
    show_beside(
        columns,
        "reliability",
        scores.reliability_figure(curves, theme=state.theme()),
        lambda: scores.reliability_records(curves),
        ["method", "mean gap", *map(_rate, shares)],
        lines,
        "A similarity is no probability. What share of the pairs with such a score belongs "
        "together is learned on the validation part (isotonic regression: it only rises with "
        "the score) and held against the test part. The table says from which score on a pair "
        "belongs together with that probability.",
        "On the dotted line the probabilities came true. Each point stands for about as many "
        "true pairs; bars are 95 % intervals over queries drawn again. "
        + (escape_markdown(more) if odds != 1 else ""),
    )


@state.cached(32)
def _reliability(
    run: Run, direction: Direction, validation: PairSet, test: PairSet
) -> tuple[Calibration, Reliability] | None:
    """Probabilities of a run, and what came true of them; None where a class is missing."""
    pipeline = drawings.pipeline(run)
    sides = validation.x, validation.y, validation.relevance
    before = score_counts(pipeline, *sides, direction=direction)
    try:
        calibration = Calibration.fit(before, odds=_odds(run, validation, test))
        sides = test.x, test.y, test.relevance
        counts = score_counts(pipeline, *sides, direction=direction, cuts=calibration.cuts)
        return calibration, reliability(calibration, counts)
    except ValueError:  # pairs of one class only
        return None


def _odds(run: Run, validation: PairSet, test: PairSet) -> float:
    """By what the odds change from the candidates of one part to those of the other."""
    # A query has as many relevant candidates in both, among more in the larger one.
    if test.relevance.unjudged == "ignore":
        return 1.0
    if run.spec["split"]["by"] == "y":
        return len(validation.x) / len(test.x)
    return len(validation.y) / len(test.y)


def _score_for(calibration: Calibration, probability: float) -> str:
    at = int(np.searchsorted(calibration.probability, probability, side="left"))
    if at == len(calibration.probability):
        return "–"
    return "any" if at == 0 else display.number(calibration.cuts[at - 1], ".3g")
