"""Curves over all pairs: how well one threshold separates what belongs together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.store.run import MEASURED
from simviz.workbench.compare.choice import TABS, Choice, held_out, part_of
from simviz.workbench.compare.significance import is_by_query
from simviz.workbench.shell import display, drawings, state
from simviz.workbench.shell.figures import draw, kept_figure, segments, show_rows

if TYPE_CHECKING:
    from simviz.charts.roc import DetectionCurve
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.evaluation import (
        Calibration,
        CurveBands,
        Direction,
        Reliability,
        Roc,
        ScoreCounts,
        ThresholdErrors,
    )
    from simviz.evaluation.scores import ScoredPairs
    from simviz.reports.summary import Entry
    from simviz.store.run import Run

#: Pairs listed on each side of a threshold, and the longest text of an item in a line.
_LISTED, _LONGEST = 8, 32
_RATES = (0.001, 0.01, 0.1)
_AXES = {"all": "All", "low": "0–25 %", "log": "Logarithmic"}
_LOW = 0.25
#: More pairs than this are only drawn again and again where somebody asks for bands.
_LIGHT = 25_000_000
#: Methods whose scores are drawn one above the other; more would be too flat to read.
_MOST = 6


class Traced(NamedTuple):
    """A run with its ROC curve, and how far it would move with other queries."""

    entry: Entry
    roc: Roc
    bands: CurveBands | None


# -- ROC, precision and recall, misses and false alarms -------------------------------


def show_roc(choice: Choice) -> None:
    """Draw true against false positive rates."""
    from simviz.charts import RocCurve, roc_figure, roc_records

    def curve(one: Traced, *, banded: bool) -> RocCurve:
        bands, roc = one.bands, one.roc
        return RocCurve(
            one.entry.look,
            one.entry.label,
            roc.fpr,
            roc.tpr,
            roc.auc,
            None if bands is None else bands.auc,
            roc.thresholds,
            roc.precision,
            bands.tpr if banded and bands is not None else None,
        )

    def figure(curves: Sequence[RocCurve]) -> Any:
        axis = st.session_state["compare-axis"]
        end = _LOW if axis == "low" else 1.0
        return roc_figure(curves, log_fpr=axis == "log", max_fpr=end, theme=state.theme())

    def caption(roc: Roc) -> str:
        return (
            "Share of true pairs found by the share of false alarms allowed: on average up to "
            f"{100 * _LOW:g} % (pAUC; chance is {_LOW / 2:g}), and at single shares. A false "
            "alarm is a pair that does not belong together and still scores above the threshold. "
            f"Over all {roc.n_positive + roc.n_negative:,} pairs of the {choice.part} part, "
            f"of which {roc.n_positive:,} belong together; both directions are the same."
        )

    _show(
        choice,
        "roc",
        {
            f"pAUC {_rate(_LOW)}": lambda roc: f"{roc.partial_auc(_LOW):.3f}",
            **{
                _rate(rate): lambda roc, rate=rate: f"{100 * roc.tpr_at(rate):.0f} %"
                for rate in _RATES
            },
        },
        caption,
        curve,
        figure,
        roc_records,
        lambda roc: (roc.fpr, roc.tpr),
    )


def show_precision(choice: Choice) -> None:
    """Draw precision against recall."""
    from simviz.charts.roc import detection_records, precision_recall_figure

    def curve(one: Traced, *, banded: bool) -> DetectionCurve:
        bands = one.bands
        if bands is None:
            return _detection(one, one.roc.average_precision)
        band = bands.precision if banded else None
        return _detection(one, one.roc.average_precision, bands.average_precision, band)

    def caption(roc: Roc) -> str:
        chance = 100 * roc.n_positive / (roc.n_positive + roc.n_negative)
        return (
            "Of the pairs above a threshold, the share that belongs together (precision), by the "
            "share of all true pairs that are above it (recall). One threshold serves all "
            f"queries. Chance has {chance:.2g} %, the dotted line: among that many pairs few "
            "belong together, so precision is the harder test."
        )

    _show(
        choice,
        "precision",
        {
            f"at {_rate(recall)}": lambda roc, recall=recall: _percent(_precision_at(roc, recall))
            for recall in (0.2, 0.5, 0.8)
        },
        caption,
        curve,
        lambda curves: precision_recall_figure(curves, theme=state.theme()),
        detection_records,
        lambda roc: (roc.tpr, roc.precision),
    )


def show_det(choice: Choice) -> None:
    """Draw misses against false alarms."""
    from simviz.charts.roc import det_figure, detection_records

    def curve(one: Traced, *, banded: bool) -> DetectionCurve:
        bands = one.bands
        if bands is None:
            return _detection(one, one.roc.equal_error_rate)
        band = bands.tpr if banded else None
        return _detection(one, one.roc.equal_error_rate, bands.equal_error_rate, band)

    _show(
        choice,
        "det",
        {_rate(rate): lambda roc, rate=rate: _percent(1 - roc.tpr_at(rate)) for rate in _RATES},
        lambda _: (
            "Share of true pairs missed, by the share of false alarms allowed (detection error "
            "trade-off). It is the ROC curve turned over and stretched: lower is better, and both "
            "axes follow the normal distribution, so that small rates are told apart. A straight "
            "line means that the scores of both classes are bell-shaped. The ring marks the "
            "equal error rate: as large a share of true pairs is missed as of others let through."
        ),
        curve,
        lambda curves: det_figure(curves, theme=state.theme()),
        detection_records,
    )


def _show(
    choice: Choice,
    kind: str,
    columns: Mapping[str, Callable[[Roc], str]],
    caption: Callable[[Roc], str],
    curve: Callable[..., Any],
    figure: Callable[[Sequence[Any]], Any],
    records: Callable[[Sequence[Any]], Sequence[dict[str, Any]]],
    places: Callable[[Roc], tuple[Any, Any]] | None = None,
) -> None:
    """Show a kind of curve of all runs; where it has places, a press on one shows its pairs."""
    traced = _traced(choice)
    if not traced:
        return
    left, right = st.columns([4, 3], gap="large")
    axis = []
    with right:
        if kind == "roc":
            axis = [
                segments(
                    "False alarms",
                    _AXES,
                    "compare-axis",
                    help="Where a score is used as a filter, only the far left of the curve "
                    "matters.",
                )
            ]
        banded = st.toggle(
            "95 % bands",
            value=bool(st.session_state.get("compare-bands")),
            key="compare-bands",
            persist_state="session",
            help="Where the curve would run for 95 of 100 other draws of the queries.",
        )
        rows = [[one.entry.label, *(cell(one.roc) for cell in columns.values())] for one in traced]
        display.table(["method", *columns], rows, look="sv-slim")
        st.caption(caption(traced[0].roc))
        _say_bands(choice, traced)
    curves = [curve(one, banded=banded) for one in traced]
    with left:
        has_bands = [one.bands is not None for one in traced]
        ids = [one.entry.run.id for one in traced]
        drawn_by = [*axis, choice.part, asking_side(choice), banded, has_bands, ids]
        kept = kept_figure(kind, curves, drawn_by, lambda: figure(curves))
        event = draw(kept, kind, pressed=places is not None)
        show_rows(kind, lambda: records(curves))
    if places is not None:
        _show_errors(choice, event, traced, places)


def _traced(choice: Choice) -> list[Traced]:
    """All runs with a curve."""
    rocs = [(entry, _roc(entry)) for entry in choice.entries]
    known = [(entry, roc) for entry, roc in rocs if roc is not None]
    usable = [(entry, roc) for entry, roc in known if roc.n_positive and roc.n_negative]
    if not usable:
        st.caption(
            "These runs were measured without a ROC curve."
            if not known
            else "A curve needs pairs that belong together and pairs that do not; the "
            f"{choice.part} part has only one kind."
        )
        return []
    part = part_of(usable[0][0], choice.pairs)
    wanted = len(part.x) * len(part.y) <= _LIGHT or st.session_state.get("compare-bands")
    traced = []
    with st.spinner("Drawing the queries again and again", show_time=False):
        for entry, roc in usable:
            bands = None
            if wanted:
                # The curve came with the run; bands need its model, which may be gone.
                with suppress(SimvizError):
                    bands = _bands(entry, asking_side(choice), part)
            traced.append(Traced(entry, roc, bands))
    return traced


def asking_side(choice: Choice) -> Direction:
    """Whose queries are drawn again: those of the chosen direction, else of the x side."""
    return "y2x" if choice.direction == "y2x" else "x2y"


@state.cached(64)
def _roc(entry: Entry) -> Roc | None:
    from simviz.evaluation.roc import Roc

    arrays = entry.run.part(entry.part).roc()
    return None if arrays is None else Roc(**arrays)


@state.cached(32)
def _score_counts(run: Run, direction: Direction, part: PairSet) -> ScoreCounts:
    """Pairs of a part by class, query and score."""
    from simviz.evaluation import score_counts

    pipeline = drawings.pipeline(run)
    return score_counts(pipeline, part.x, part.y, part.relevance, direction=direction)


@state.cached(64)
def _bands(entry: Entry, direction: Direction, part: PairSet) -> CurveBands | None:
    from simviz.evaluation import curve_bands

    return curve_bands(_score_counts(entry.run, direction, part), _roc(entry))


def _detection(
    one: Traced,
    value: float,
    interval: tuple[float, float] | None = None,
    band: tuple[Any, Any, Any] | None = None,
) -> DetectionCurve:
    from simviz.charts.roc import DetectionCurve

    roc = one.roc
    return DetectionCurve(
        one.entry.look,
        one.entry.label,
        roc.false_positives,
        roc.true_positives,
        roc.thresholds,
        value,
        interval,
        band,
    )


def _say_bands(choice: Choice, traced: Sequence[Traced]) -> None:
    """Where the intervals come from."""
    bands = next((one.bands for one in traced if one.bands is not None), None)
    if bands is None:
        if not st.session_state.get("compare-bands"):
            st.caption("Switch bands on for intervals too: with so many pairs they take a while.")
        return
    side = choice.names[asking_side(choice) == "y2x"]
    how = "query by query" if is_by_query(choice) else "on the same judged pairs"
    st.caption(
        f"Intervals and bands: 95 %, from 1,000 draws of the {bands.n_queries:,} "
        f"{escape_markdown(side)}, each with all of its pairs. Bands of two runs may overlap "
        f"although one is surely better: the test above compares them {how}."
    )


def _precision_at(roc: Roc, recall: float) -> float:
    """Precision where a share of the relevant pairs is found."""
    fp = float(-np.interp(-recall, -roc.tpr[::-1], -roc.false_positives[::-1].astype(float)))
    found = recall * roc.n_positive
    return found / (found + fp)


def _rate(rate: float) -> str:
    return f"{100 * rate:g}\N{NO-BREAK SPACE}%"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


# -- the pairs behind a point of a curve ----------------------------------------------


def _show_errors(
    choice: Choice,
    event: Mapping[str, Any] | None,
    traced: Sequence[Traced],
    places: Callable[[Roc], tuple[Any, Any]],
) -> None:
    """Show the pairs behind a point, or how to get there."""
    points = (event or {}).get("selection", {}).get("points", [])
    by_look = {one.entry.look: one for one in traced}
    look = points[0].get("customdata") if points else None
    look = look[0] if isinstance(look, list | tuple) and look else look
    if not points or look not in by_look:
        st.caption("Press a point of a curve to see which pairs that threshold gets wrong.")
        return
    one = by_look[look]
    x, y = places(one.roc)
    off = np.abs(x - float(points[0]["x"])) + np.abs(y - float(points[0]["y"]))
    threshold = float(one.roc.thresholds[int(np.nanargmin(off))])
    part = part_of(one.entry, choice.pairs)
    with st.spinner("Looking for the pairs", show_time=False):
        errors = _errors(one.entry.run, threshold, part)
    precision = errors.n_found / errors.n_passing if errors.n_passing else float("nan")
    at = f"at or above {errors.threshold:.4g}" if np.isfinite(errors.threshold) else "in all"
    sure = f", precision {100 * precision:.3g} %" if precision == precision else ""
    st.markdown(
        escape_markdown(
            f"{one.entry.label}: {errors.n_passing:,} pairs score {at}. {errors.n_found:,} of the "
            f"{errors.n_relevant:,} true pairs are among them (recall "
            f"{100 * errors.n_found / errors.n_relevant:.3g} %{sure})."
        )
    )
    opens = len(choice.entries) > 1
    for column, title, pairs, kind in zip(
        st.columns(2, gap="large"),
        ("False alarms with the highest scores", "True pairs that miss it most narrowly"),
        (errors.false_alarms, errors.misses),
        ("alarm", "miss"),
        strict=True,
    ):
        with column:
            st.markdown(f"**{title}**")
            _list_pairs(choice, one.entry, part, pairs, kind, opens=opens)
    if opens:
        st.caption("Press a pair to see all answers to its query, by two runs side by side.")


@state.cached(40)
def _errors(run: Run, threshold: float, part: PairSet) -> ThresholdErrors:
    from simviz.evaluation import errors_at

    pipeline = drawings.pipeline(run)
    return errors_at(pipeline, part.x, part.y, part.relevance, threshold=threshold, k=_LISTED)


def _list_pairs(
    choice: Choice, entry: Entry, part: PairSet, pairs: ScoredPairs, kind: str, *, opens: bool
) -> None:
    if not len(pairs.x):
        st.caption("None.")
        return
    direction = asking_side(choice)
    with st.container(gap=None if opens else "small", key=f"compare-{kind}-list"):
        for n, (i, j, score) in enumerate(zip(pairs.x, pairs.y, pairs.score, strict=True)):
            words = escape_markdown(f"{_name(part.x, i)} ↔ {_name(part.y, j)} · {score:.3f}")
            if not opens:
                st.caption(words)
            elif st.button(
                words,
                key=f"compare-{kind}-{n}",
                type="tertiary",
                on_click=_open_query,
                args=(entry, direction, int(i) if direction == "x2y" else int(j)),
            ):
                st.rerun(scope="app")  # another tab is open now


def _name(items: Items, at: int) -> str:
    words, glyph = display.item_text(items, int(at), _LONGEST), display.item_glyph(items, int(at))
    return f"{glyph} {words}" if glyph and glyph != words else words


def _open_query(entry: Entry, direction: str, query: int) -> None:
    """Go to both lists of answers to a query."""
    position = int(entry.run.arrays()[f"{direction[0]}_{entry.part}"][query])
    st.session_state["compare-tab"] = st.session_state["compare-open"] = TABS["queries"]
    st.query_params["query"] = f"{direction}:{position}"


# -- scores, and what they mean -------------------------------------------------------


def show_histograms(choice: Choice) -> None:
    """Draw the scores of relevant and of other pairs."""
    from simviz.charts.scores import CLASSES, ScoreHistogram, histogram_figure, histogram_records

    shown = []
    with st.spinner("Counting scores", show_time=False):
        for entry in choice.entries[:_MOST]:
            part = part_of(entry, choice.pairs)
            counts = _score_counts(entry.run, asking_side(choice), part)
            shown.append(ScoreHistogram(entry.look, entry.label, *counts.histogram()))
    left, right = st.columns([4, 3], gap="large")
    with right:
        totals = {name: int(shown[0].counts[name].sum()) for name in CLASSES}
        display.table(
            [f"pairs of the {choice.part} part", "number"],
            [[CLASSES[name], f"{n:,}"] for name, n in totals.items() if n],
            look="sv-slim",
        )
        st.caption(
            "Each class adds up to 100 %. The less the outlines overlap, the better one "
            "threshold separates them. Scores of two methods do not compare with one another: "
            "each has a scale of its own."
        )
        if len(choice.entries) > _MOST:
            st.caption(f"The first {_MOST} of {len(choice.entries)} runs.")
    with left:
        figure = histogram_figure(shown, theme=state.theme())
        draw(figure, "scores", height=130 + (150 if state.is_narrow() else 165) * len(shown))
        show_rows("scores", lambda: histogram_records(shown))


def show_reliability(choice: Choice) -> None:
    """Draw probabilities, learned on the validation part, against what came true on the test."""
    if choice.part == "validation":
        st.caption(
            "What a score means is learned on the validation part and held against the test "
            "part: switch to *Test* to see it."
        )
        return
    from simviz.charts.scores import ReliabilityCurve, reliability_figure, reliability_records

    measured: list[tuple[Entry, Calibration, Reliability]] = []
    with st.spinner("Asking the validation part what scores mean", show_time=False):
        for entry in choice.entries:
            parts = [held_out(entry.run, part, choice.pairs) for part in MEASURED]
            found = _reliability(entry.run, asking_side(choice), *parts)
            if found is not None:
                measured.append((entry, *found))
    if not measured:
        st.caption(
            "No score can be given a meaning here: that needs a validation part, and a test part, "
            "with pairs that belong together and pairs that do not."
        )
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        shares = (0.1, 0.5, 0.9)
        display.table(
            ["method", *map(_rate, shares)],
            [
                [entry.label, *(_score_for(calibration, share) for share in shares)]
                for entry, calibration, _ in measured
            ],
            look="sv-slim",
        )
        st.caption(
            "A similarity is no probability. What share of the pairs with such a score belongs "
            "together is learned on the validation part (isotonic regression: it only rises with "
            "the score) and held against the test part. The table says from which score on a pair "
            "belongs together with that probability."
        )
        st.caption(
            "On the dotted line the probabilities came true. Each point stands for about as many "
            "true pairs; bars are 95 % intervals over queries drawn again. "
            + escape_markdown(_say_sizes(choice, measured[0][0]))
        )
    curves = [
        ReliabilityCurve(
            entry.look,
            entry.label,
            found.predicted,
            found.observed,
            found.low,
            found.high,
            found.n_pairs,
            found.n_relevant,
            found.from_score,
            found.to_score,
            found.gap,
        )
        for entry, _, found in measured
    ]
    with left:
        draw(reliability_figure(curves, theme=state.theme()), "reliability")
        show_rows("reliability", lambda: reliability_records(curves))


@state.cached(32)
def _reliability(
    run: Run, direction: Direction, validation: PairSet, test: PairSet
) -> tuple[Calibration, Reliability] | None:
    """Probabilities of a run, and what came true of them; None where a class is missing."""
    from simviz.evaluation import Calibration, reliability, score_counts

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


def _say_sizes(choice: Choice, entry: Entry) -> str:
    validation, test = (held_out(entry.run, part, choice.pairs) for part in MEASURED)
    odds = _odds(entry.run, validation, test)
    if odds == 1:
        return ""
    return (
        f"The test part has {1 / odds:.2g} times as many candidates for a query; probabilities "
        "are lower there by those odds."
    )


def _score_for(calibration: Calibration, probability: float) -> str:
    """From which score on a pair belongs together with a probability."""
    at = int(np.searchsorted(calibration.probability, probability, side="left"))
    if at == len(calibration.probability):
        return "–"
    return "any" if at == 0 else f"{calibration.cuts[at - 1]:.3g}".replace("-", "−")
