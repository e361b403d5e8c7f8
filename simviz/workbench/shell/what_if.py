"""What a visitor marks or corrects is followed at once, and trained with if wished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import streamlit as st

from simviz.data.augment import Feedback
from simviz.data.cells import counted
from simviz.data.pairs import PairSet
from simviz.evaluation import WhatIf
from simviz.evaluation.differences import Differences
from simviz.evaluation.result import Asking
from simviz.evaluation.significance import Comparison
from simviz.evaluation.what_if import Revision
from simviz.exceptions import SimvizError
from simviz.jobs.training import augmented
from simviz.pipeline import Pipeline
from simviz.projection.pipeline_map import draw
from simviz.store.run import Run
from simviz.workbench.shell import display, drawings, forms, preferences, progress, runs, state

#: Ids of an x item and a y item, and whether they belong together.
Mark = tuple[str, str, bool]
# In the session: the marks of each run, the oldest first; what went wrong; the jobs that train.
_MARKS, _PROBLEM, _JOBS = "what-if-marks", "what-if-problem", "what-if-jobs"
#: Queries that lost, of which so many are named, in so many characters.
_LOST, _LABEL = 20, 60


@dataclass(frozen=True, slots=True)
class MarkedRun(Run):
    """A run that follows marks, or corrections of Normalise: of each input its verdicts."""

    marks: tuple[Any, ...] = field(kw_only=True)
    noun: str = field(kw_only=True)
    revision: Revision = field(kw_only=True)
    pairs: PairSet = field(kw_only=True)

    @property
    def cache_key(self) -> Any:
        """What stands for it in caches."""
        return self.id, self.noun, self.marks

    @property
    def spec(self) -> Mapping[str, Any]:
        """What trains it from the start, as JSON."""
        steps = [{"kind": step.kind, **asdict(step)} for step in self.revision.steps]
        return {**self.info.spec, "augment": [*self.info.spec.get("augment", ()), *steps]}

    def pipeline(self) -> Pipeline:
        """What follows the marks."""
        return self.revision.pipeline

    def read_objects(self, name: str) -> Mapping[str, Any]:
        """What is kept with the run; a drawing is carried on from there."""
        stored = Run.read_objects(self, name)
        if not name.startswith("map-") or not stored:
            return stored
        old = stored["map"]
        how = {"balance": old.balance} if old.share is None else {"share": old.share}
        how |= {"seed": old.seed, "method": old.method, "quality": False, "start": old}
        made, x, y = draw(self.pipeline(), self.pairs, **how)
        return {"map": made, "x": x, "y": y}


def with_marks(run: Run, pairs: PairSet) -> Run:
    """The run as it follows its marks; a mark that is refused is forgotten."""
    while marks := _marks(run):
        try:
            return _marked_run(run, pairs, marks, "mark")
        except (SimvizError, ValueError) as error:
            st.session_state[_PROBLEM] = str(error)
            _set(run, marks[:-1])
    return run


def with_corrections(run: Run, pairs: PairSet, verdicts: Iterable[tuple[str, str, float]]) -> Run:
    """The run as it follows corrections of Normalise; those that it must not are named."""
    of_input: dict[str, tuple[Any, ...]] = {}
    for verdict in verdicts:
        of_input[verdict[0]] = (*of_input.get(verdict[0], ()), verdict)
    refused, allowed = [], []
    for mark in of_input.values():
        try:
            _what_if(run, pairs, *_measure(run, pairs)).check(Feedback(mark))
            allowed.append(mark)
        except SimvizError as error:
            refused.append(str(error))
    if refused:
        display.problem(f"{counted(len(refused), 'correction')} not followed. {refused[0]}")
    marked = run
    if allowed:
        with display.problems(ValueError):
            marked = _marked_run(run, pairs, tuple(allowed), "correction")
    return marked


def _marked_run(run: Run, pairs: PairSet, marks: tuple[Any, ...], noun: str) -> MarkedRun:
    revision = _revision(run, pairs, *_measure(run, pairs), marks, noun)
    return MarkedRun(
        run.info,
        folder=run.folder,
        extra_metric=run.extra_metric,
        marks=marks,
        noun=noun,
        revision=revision,
        pairs=pairs,
    )


def is_marked(run: Run) -> bool:
    """Whether a run follows marks or corrections."""
    return isinstance(run, MarkedRun)


def title(run: Run, label: str) -> str:
    """What a run is called, with the number of its marks."""
    n = counted(len(run.marks), run.noun) if isinstance(run, MarkedRun) else ""
    return f"{label} with {n}" if n else label


def show(
    run: Run,
    label: str,
    pairs: PairSet,
    pair: tuple[int, int] | None,
    hold: Callable[[], object] = lambda: None,
) -> None:
    """Let a pair be marked, an x item and a y item; say what the marks so far brought.

    `hold` is called with a mark, so that the page looks at the same pair afterwards.
    """
    if state.share() is not None:
        return
    if _marks(run) != getattr(run, "marks", ()):
        st.rerun()  # of a part of a page: all of it follows
    if problem := st.session_state.pop(_PROBLEM, None):
        display.problem(problem)
    if pair is not None:
        _show_buttons(run, pairs, pair, hold)
    if isinstance(run, MarkedRun):
        show_brought(run, label, pairs)
        _show_ways_out(run)
    if job_ids := st.session_state.get(_JOBS):
        statuses = progress.show_progress(job_ids, key="what-if")
        if all(status.state in progress.ENDED for status in statuses):
            del st.session_state[_JOBS]


def trained() -> list[str]:
    """The runs that were asked for with marks, once each, as soon as they are there."""
    if not (job_ids := st.session_state.get(_JOBS)):
        return []
    statuses = [state.queue().status(job_id, state.workspace()) for job_id in job_ids]
    if any(status.state != "succeeded" for status in statuses):
        return []
    del st.session_state[_JOBS]
    return [status.run_id for status in statuses if status.run_id is not None]


def _show_buttons(
    run: Run, pairs: PairSet, pair: tuple[int, int], hold: Callable[[], object]
) -> None:
    if reason := WhatIf.why_not(drawings.pipeline(run)):
        display.quiet(f"What if this pair belonged together, or did not? {reason}")
        return
    x, y = str(pairs.x.ids[pair[0]]), str(pairs.y.ids[pair[1]])
    marks = [one for one in _marks(run) if one[:2] != (x, y)]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for text, icon, mark in (
            ("Belongs", "link", (x, y, True)),
            ("Does not belong", "link_off", (x, y, False)),
        ):
            forms.button(
                text,
                f"what-if-{icon}",
                _mark,
                run,
                (*marks, mark),
                hold,
                icon=icon,
                disabled=mark in _marks(run),
                help="What if? The method follows at once, in this tab alone, and nothing is "
                "kept until you say so.",
            )


@display.problems(ValueError)
def show_brought(run: Run, label: str, pairs: PairSet) -> None:
    """Say what it brought that a run follows marks or corrections, if it does."""
    if not isinstance(run, MarkedRun):
        return
    revision = run.revision
    metric, direction = _measure(run, pairs)
    comparison, differences = _compared(run, metric, direction)
    before, after = (
        display.number(one.value(metric, direction)) for one in (revision.before, revision.after)
    )
    verdict = comparison.describe(
        label,
        f"{runs.run_title(run.info)} without {run.noun}s",
        metric,
        higher_is_better=revision.metric.higher_is_better,
    )
    n_won, _, n_lost = differences.counts
    display.sentence(
        f"{metric} on validation {before} → {after}; {counted(n_won, 'query', 'queries')} gained, "
        f"{n_lost:,} lost. {verdict}."
    )
    if n_lost:
        _show_lost(run, pairs, differences)


def _show_ways_out(run: MarkedRun) -> None:
    """Show what can be done about the marks of a run."""
    marks = run.marks
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        forms.quiet_button("Undo", "what-if-undo", _set, run, marks[:-1], icon="undo")
        forms.quiet_button("Discard", "what-if-discard", _set, run, (), icon="close")
        forms.quiet_button(
            "Keep as a run",
            "what-if-keep",
            _keep,
            run,
            icon="bookmark_add",
            help="Trains the method with these marks from the start and measures it like any "
            "run. Of a demo, a private copy is made.",
        )


def _show_lost(run: MarkedRun, pairs: PairSet, differences: Differences) -> None:
    """Name the queries of the validation part that lost, those that lost most first."""
    order = differences.order()
    lost = order[differences.outcome[order] < 0]
    measured, rows = run.take(pairs, "validation"), []
    for at in lost[:_LOST].tolist():
        items = measured.x if differences.direction[at] == "x2y" else measured.y
        ranks = (
            display.number(rank[at], ".0f") for rank in (differences.b_rank, differences.a_rank)
        )
        rows.append((display.item_text(items, int(differences.query[at]), _LABEL), *ranks))
    with st.expander(
        f"Ranks of {counted(len(lost), 'query', 'queries')} that lost", key="what-if-lost:form"
    ):
        display.table(("query", "before", "now"), rows)


def _marks(run: Run) -> tuple[Mark, ...]:
    return cast("tuple[Mark, ...]", st.session_state.get(_MARKS, {}).get(run.id, ()))


def _set(run: Run, marks: tuple[Mark, ...]) -> None:
    st.session_state.setdefault(_MARKS, {})[run.id] = marks


def _mark(run: Run, marks: tuple[Mark, ...], hold: Callable[[], object]) -> None:
    hold()
    _set(run, marks)


def _measure(run: Run, pairs: PairSet) -> tuple[str, Asking]:
    """By what, and in which direction, figures of a run are shown."""
    dataset_id = run.info.dataset_id
    metric = runs.default_metric_of(dataset_id, pairs)
    return metric, preferences.current_direction(dataset_id, pairs)


@state.cached(3, "Making ready what follows marks")
def _what_if(run: Run, pairs: PairSet, metric: str, direction: Asking) -> WhatIf:
    """What answers to marks of a run."""
    split, steps = run.split(pairs), runs.request_of(run.info).augment
    train = augmented(steps, split.train, (split.validation, split.test))
    split = replace(split, train=train)
    return WhatIf(drawings.pipeline(run), split, metric, preferences.query_sides(direction))


@state.cached(16, "The method follows")
def _revision(
    run: Run, pairs: PairSet, metric: str, direction: Asking, marks: tuple[Any, ...], noun: str
) -> Revision:
    """What came of marks, or of corrections."""
    if noun == "correction":
        step = Feedback([verdict for verdicts in marks for verdict in verdicts])
        return _what_if(run, pairs, metric, direction).apply([step])
    together, apart = ([m[:2] for m in marks if m[2] is sign] for sign in (True, False))
    return _what_if(run, pairs, metric, direction).revise(together, apart)


@state.cached(16)
def _compared(run: MarkedRun, metric: str, direction: Asking) -> tuple[Comparison, Differences]:
    return run.revision.comparison, run.revision.differences


@display.problems(show=display.later(_PROBLEM))
def _keep(run: MarkedRun) -> None:
    """Ask for a training with the marks, which are then done with."""
    st.session_state[_JOBS] = progress.train_again(run, run.spec["augment"])
    _set(run, ())
