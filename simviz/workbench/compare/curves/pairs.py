"""Curves over all pairs: how well one threshold separates what belongs together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from simviz.exceptions import SimvizError
from simviz.store.run import MEASURED
from simviz.workbench.compare.choice import TABS, Choice, tested_runs
from simviz.workbench.compare.columns import part_of
from simviz.workbench.shell import drawings, marks, state
from simviz.workbench.shell.figures import draw, kept_figure, show_figures, show_rows
from simviz.workbench.shell.marks import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simviz.charts.roc import DetectionCurve
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
    from simviz.store.run import Part, Run

_LISTED = 8
#: Longest text of an item in a line.
_LONGEST = 32
_STYLE = """
<style>
[class*="st-key-compare-alarm-"] button, [class*="st-key-compare-miss-"] button {
  justify-content: flex-start; text-align: left; min-height: 1.9rem; padding: .1rem 0; }
</style>
"""


def show(
    choice: Choice,
    event: Mapping[str, Any] | None,
    traced: Sequence[Traced],
    places: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
) -> None:
    """Show the pairs behind a point, or how to get there."""
    points = (event or {}).get("selection", {}).get("points", [])
    by_look = {one.entry.look: one for one in traced}
    told = points[0].get("customdata") if points else None
    look = told[0] if isinstance(told, list | tuple) and told else told
    if not points or look not in by_look:
        st.caption("Press a point of a curve to see which pairs that threshold gets wrong.")
        return
    one = by_look[look]
    x, y = places[one.entry.run.id]
    off = np.abs(x - float(points[0]["x"])) + np.abs(y - float(points[0]["y"]))
    threshold = float(one.roc.thresholds[int(np.nanargmin(off))])
    part = part_of(one.entry, choice.pairs)
    with st.spinner("Looking for the pairs", show_time=False):
        key = one.entry.run.id, one.entry.part
        found = _errors(*key, threshold, one.entry.run, part)
    st.html(_STYLE)
    _say(one, found)
    beside = st.columns(2, gap="large")
    opens = len(choice.entries) > 1
    for column, title, pairs, kind in (
        (beside[0], "False alarms with the highest scores", found.false_alarms, "alarm"),
        (beside[1], "True pairs that miss it most narrowly", found.misses, "miss"),
    ):
        with column:
            st.markdown(f"**{title}**")
            _list(choice, one, part, pairs, kind, opens=opens)
    if opens:
        st.caption("Press a pair to see all answers to its query, by two runs side by side.")


@st.cache_resource(show_spinner=False, max_entries=40)
def _errors(
    run_id: str, part: Part, threshold: float, _run: Run, _pairs: PairSet
) -> ThresholdErrors:
    from simviz.evaluation import errors_at

    sides = _pairs.x, _pairs.y, _pairs.relevance
    return errors_at(drawings.pipeline(run_id, _run), *sides, threshold=threshold, k=_LISTED)


def _say(one: Traced, found: ThresholdErrors) -> None:
    precision = found.n_found / found.n_passing if found.n_passing else float("nan")
    at = f"at or above {found.threshold:.4g}" if np.isfinite(found.threshold) else "in all"
    sure = f", precision {100 * precision:.3g} %" if precision == precision else ""
    st.markdown(
        plain(
            f"{one.entry.label}: {found.n_passing:,} pairs score {at}. {found.n_found:,} of the "
            f"{found.n_relevant:,} true pairs are among them (recall "
            f"{100 * found.n_found / found.n_relevant:.3g} %{sure})."
        )
    )


def _list(
    choice: Choice, one: Traced, part: PairSet, pairs: ScoredPairs, kind: str, *, opens: bool
) -> None:
    if not len(pairs.x):
        st.caption("None.")
        return
    with st.container(gap=None if opens else "small", key=f"compare-{kind}-list"):
        for n, (i, j, score) in enumerate(zip(pairs.x, pairs.y, pairs.score, strict=True)):
            words = f"{_name(part.x, int(i))} ↔ {_name(part.y, int(j))} · {score:.3f}"
            if not opens:
                st.caption(plain(words))
                continue
            direction = "y2x" if choice.direction == "y2x" else "x2y"
            if st.button(
                plain(words),
                key=f"compare-{kind}-{n}",
                type="tertiary",
                on_click=_open,
                args=(one, direction, int(i) if direction == "x2y" else int(j)),
            ):
                st.rerun(scope="app")  # another tab is open now


def _name(items: Any, at: int) -> str:
    words = marks.text(items, at, _LONGEST)
    glyph = marks.glyph(items, at)
    return f"{glyph} {words}" if glyph and glyph != words else words


def _open(one: Traced, direction: str, query: int) -> None:
    """Go to both lists of answers to a query."""
    entry = one.entry
    position = int(entry.run.arrays()[f"{direction[0]}_{entry.part}"][query])
    st.session_state["compare-tab"] = st.session_state["compare-open"] = TABS["queries"]
    st.query_params["query"] = f"{direction}:{position}"


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
    show(choice, event, traced, places)


def show_precision(choice: Choice) -> None:
    """Draw precision against recall."""
    from simviz.charts.roc import detection_records, precision_recall_figure

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
    show(choice, event, traced, places)


def show_det(choice: Choice) -> None:
    """Draw misses against false alarms."""
    from simviz.charts.roc import det_figure, detection_records

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
    from simviz.charts.roc import DetectionCurve

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
    by_query = tested_runs(choice).level == "query"
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


#: Methods whose scores are drawn one above the other; more would be too flat to read.
_MOST = 6


def show_histograms(choice: Choice) -> None:
    """Draw the scores of relevant and of other pairs."""
    from simviz.charts.scores import CLASSES, ScoreHistogram, histogram_figure, histogram_records

    shown = []
    with st.spinner("Counting scores", show_time=False):
        for entry in choice.entries[:_MOST]:
            key = entry.run.id, entry.part, asking(choice)
            counts = counted(*key, entry.run, part_of(entry, choice.pairs))
            shown.append(ScoreHistogram(entry.look, entry.label, *counts.histogram()))
    left, right = st.columns([4, 3], gap="large")
    with right:
        totals = {name: int(shown[0].counts[name].sum()) for name in CLASSES}  # type: ignore[union-attr]
        show_figures(
            [f"pairs of the {choice.part} part", "number"],
            [[CLASSES[name], f"{n:,}"] for name, n in totals.items() if n],
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

    held: list[tuple[Entry, Calibration, Reliability]] = []
    with st.spinner("Asking the validation part what scores mean", show_time=False):
        for entry in choice.entries:
            sides = [part_of(entry, choice.pairs, part) for part in MEASURED]
            found = _held(entry.run.id, asking(choice), entry.run, *sides)
            if found is not None:
                held.append((entry, *found))
    if not held:
        st.caption(
            "No score can be given a meaning here: that needs a validation part, and a test part, "
            "with pairs that belong together and pairs that do not."
        )
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        show_figures(
            ["method", *(f"{100 * p:g}\N{NO-BREAK SPACE}%" for p in (0.1, 0.5, 0.9))],
            [
                [entry.label, *(_score_for(calibration, p) for p in (0.1, 0.5, 0.9))]
                for entry, calibration, _ in held
            ],
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
            + plain(_say_sizes(choice, held[0][0]))
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
        for entry, _, found in held
    ]
    with left:
        draw(reliability_figure(curves, theme=state.theme()), "reliability")
        show_rows("reliability", lambda: reliability_records(curves))


@st.cache_resource(show_spinner=False, max_entries=32)
def _held(
    run_id: str, direction: Direction, _run: Run, _validation: PairSet, _test: PairSet
) -> tuple[Calibration, Reliability] | None:
    """Probabilities of a run, and what came true of them; None where a class is missing."""
    from simviz.evaluation import Calibration, reliability, score_counts

    pipeline = drawings.pipeline(run_id, _run)
    sides = _validation.x, _validation.y, _validation.relevance
    before = score_counts(pipeline, *sides, direction=direction)
    try:
        calibration = Calibration.fit(before, odds=_odds(_run, _validation, _test))
        sides = _test.x, _test.y, _test.relevance
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
    validation, test = (part_of(entry, choice.pairs, part) for part in MEASURED)
    odds = _odds(entry.run, validation, test)
    if odds == 1:
        return ""
    return (
        f"The test part has {1 / odds:.2g} times as many candidates for a query; probabilities "
        "are lower there by those odds."
    )


def _score_for(calibration: Calibration, probability: float) -> str:
    """From which score on a pair belongs together with a probability."""
    import numpy as np

    at = int(np.searchsorted(calibration.probability, probability, side="left"))
    if at == len(calibration.probability):
        return "–"
    return "any" if at == 0 else f"{calibration.cuts[at - 1]:.3g}".replace("-", "−")
