"""What scores look like by class, and what a score means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import drawings, state
from pages._shared.compare_choice import Choice
from pages._shared.compare_curves import draw, part_of, show_figures, show_rows
from pages._shared.compare_marks import plain
from pages._shared.compare_pairs import asking, counted
from simviz.store.run import MEASURED

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.data.pairs import PairSet
    from simviz.evaluation import Calibration, Direction, Reliability
    from simviz.store.run import Run

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
    """By what the odds change from the candidates of one part to those of the other.

    A query has as many relevant candidates in both, among more in the larger one.
    """
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
