"""The tab of random splits: the same methods on repeated random divisions of the data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import streamlit as st

from simviz.charts.tuning import DividedValues, divisions_figure, divisions_records
from simviz.evaluation import Comparisons, RepeatedSplits, parse_metric
from simviz.jobs import JobSpec, divisions_spec
from simviz.jobs.spec import DivisionsSpec
from simviz.markdown import escape_markdown
from simviz.methods import all_methods
from simviz.reports.run_summary import RunEntry, RunTable
from simviz.store.run import MEASURED
from simviz.workbench.compare.significance import current_setting, p_text
from simviz.workbench.shell import display, forms, progress, runs, state
from simviz.workbench.shell.charts import show_beside

_COUNTS = ("5", "10", "20")
_INTRODUCTION = (
    "Is the difference one of the methods, or of this one split? Each method is trained again on "
    "random splits of the same data; each split chooses settings on its own validation part and "
    "tests on its own test part."
)


@display.problems()
def show(table: RunTable) -> None:
    """Offer to repeat, show what is being repeated, or what that found."""
    repeatable = [entry for entry in table.entries if _is_repeatable(entry)]
    if not repeatable or state.share() is not None:
        st.caption("None of these runs can be trained again: they are blends, imported or shared.")
        return
    st.markdown(_INTRODUCTION)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        n = int(forms.segments("Splits", _COUNTS, "compare-n-divisions"))
        spec = request_for(repeatable, n, table)
        status = progress.last_attempt(spec)
        if status is None or not (status.is_active or status.state == "succeeded"):
            _offer(spec, table)
    if without := [entry.label for entry in table.entries if entry not in repeatable]:
        st.caption(escape_markdown(f"Not trained again: {', '.join(without)}."))
    if status is None:
        return
    if status.state != "succeeded":
        progress.show_progress([status.id], key="compare-divisions")
        return
    splits = state.queue().result(status.id, state.workspace()).value
    _show_splits(splits, spec, repeatable, table)


def _is_repeatable(entry: RunEntry) -> bool:
    """Whether a run was trained by a method on pairs as they are."""
    return entry.run.info.method in all_methods() and not runs.request_of(entry.run.info).augment


def request_for(entries: Sequence[RunEntry], n: int, table: RunTable) -> DivisionsSpec:
    """Ask for these runs; those of one method are settings to choose among."""
    tree = [entry.run.info.spec for entry in entries]
    # In an order of their own: the request is the same whichever run is best just now.
    tree.sort(key=lambda one: (one["method"], repr(one["params"]), repr(one.get("features"))))
    specs = [JobSpec.from_json(one, state.workspace()) for one in tree]
    made = divisions_spec(specs, n=n, metric=table.metric, direction=table.direction)
    assert isinstance(made, DivisionsSpec)
    return made


def _offer(spec: DivisionsSpec, table: RunTable) -> None:
    expected = spec.estimate(table.pairs)
    if expected.reason_to_refuse is not None:
        display.problem(expected.reason_to_refuse)
        return
    label = f"Repeat on {spec.params['n']} random splits"
    forms.button(label, "compare-divide", _submit, spec, icon="replay")
    st.caption(f"about {max(1.0, expected.seconds):,.0f} s, in the background", width="content")


@display.problems(show=display.toast)
def _submit(spec: JobSpec) -> None:
    state.queue().submit(spec)


def _show_splits(
    splits: RepeatedSplits, spec: DivisionsSpec, entries: Sequence[RunEntry], table: RunTable
) -> None:
    """Show the verdict over divisions beside that of the fixed test part."""
    trainings = spec.trainings()
    of_title = {
        title: [e for e in entries if runs.request_of(e.run.info).title == title]
        for title in splits.names
    }
    against = runs.request_of(current_setting(table).against.run.info).title
    base = against if against in splits.names else splits.names[0]
    compared = splits.comparisons(baseline=base) if len(splits.names) > 1 else None
    order = np.argsort(-np.nanmean(splits.values, axis=0), kind="stable").tolist()
    if compared is not None:
        order = order if compared.higher_is_better else order[::-1]
        st.html(f'<p class="sv-next">{_verdict(compared, order, base, splits.metric)}</p>')
    is_swept = any(len(settings) > 1 for settings in trainings.values())
    drawn, lines = [], []
    for j in order:
        title, values = splits.names[j], splits.values[:, j]
        fixed = _fixed(of_title[title], table)
        drawn.append(DividedValues(of_title[title][0].look, title, values, fixed))
        one = None if compared is None or title == base else compared.between(title, base)
        line = [title, f"{np.nanmean(values):.3f} ± {np.nanstd(values, ddof=1):.3f}"]
        line.append("–" if fixed is None else f"{fixed:.3f}")
        line += [display.signed(one.difference), p_text(one.p_value)] if one else ["–", "–"]
        if is_swept:
            times = np.bincount(splits.selected[:, j], minlength=len(trainings[title]))
            often = trainings[title][int(times.argmax())].set_values
            text = f"{forms.describe(often) or 'as it comes'} ({times.max()}×)"
            line.append(text if len(trainings[title]) > 1 else "–")
        lines.append(line)
    head = ["method", "random splits", "fixed test", f"Δ to {base}", "p"]
    show_beside(
        st.columns([4, 5], gap="large"),
        "divisions",
        divisions_figure(drawn, metric=splits.metric, theme=state.theme()),
        lambda: divisions_records(drawn),
        head + ["chosen most often"] * is_swept,
        lines,
        f"{escape_markdown(splits.metric)} on the test parts of {len(splits.values)} random "
        "splits, mean ± standard deviation; a thin line joins one split. Corrected "
        "resampled t (Nadeau & Bengio 2003): training parts overlap, so that its intervals are "
        "wider than those of a plain t-test; p-values by Holm. The ring is the fixed test part, "
        "another question with its own verdict above.",
    )


def _verdict(compared: Comparisons, order: Sequence[int], base: str, metric: str) -> str:
    """Say how the best fares against the baseline, or the baseline against the next."""
    best = compared.names[order[0]]
    a, b = (best, base) if best != base else (base, compared.names[order[1]])
    text = compared.between(a, b).describe(
        a, b, metric, higher_is_better=compared.higher_is_better
    )
    return f"Over random splits: {escape(text)}."


def _fixed(entries: Sequence[RunEntry], table: RunTable) -> float | None:
    """On the fixed test part, of the run that is best on the fixed validation part."""
    sign = 1.0 if parse_metric(table.metric).higher_is_better else -1.0
    whole = [entry.run for entry in entries if len(entry.run.measured) == len(MEASURED)]
    figures = [
        [run.value(table.metric, table.direction, part) for part in MEASURED] for run in whole
    ]
    return max((sign * by, value) for by, value in figures)[1] if figures else None
