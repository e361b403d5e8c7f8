"""Normalise: a column of messy texts, the group of each, corrections, training with them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from simviz.data.cells import counted, items_named, percent
from simviz.data.limits import progress_listener, reading_limits
from simviz.data.pairs import Items, PairSet
from simviz.data.tables import Table, read_table
from simviz.evaluation.assignment import Assignment, assign, group_names, keeping_threshold
from simviz.evaluation.tables import csv_text
from simviz.exceptions import DatasetError, SimvizError
from simviz.jobs.training import texts_of
from simviz.markdown import escape_markdown
from simviz.methods import all_methods
from simviz.store import Run, RunInfo
from simviz.store.run import Part
from simviz.workbench.shell import (
    code,
    display,
    drawings,
    forms,
    preferences,
    progress,
    runs,
    state,
    what_if,
)

ENDINGS = ["csv", "tsv", "txt", "xlsx", "parquet", "gz"]
#: The most that a file may hold, and the seconds in which it has to be read.
MEGABYTES, MAX_ROWS, _SECONDS = 20, 100_000, 30
MAX_LINES = 2_000
LONGEST = 500  # characters of a line
#: Share of further right answers that the first threshold is expected to keep.
RECALL = 0.95
NOWHERE = "no group"
# In the session: the column, the chosen run, the run before corrections, the
# jobs that train with them, what went wrong, and whether corrections are followed at once.
_TEXT, _RUN, _BEFORE = "normalise-text", "normalise-run", "normalise-before"
_JOBS, _PROBLEM, _FOLLOWS = "normalise-jobs", "normalise-problem", "normalise-follows"
_FILE, _TABLE = "normalise-file", "normalise-file-read"
#: Words that head a column of texts in a file that has no other.
_HEADINGS = {"name", "names", "text", "texts", "title", "titles", "label", "input"}
#: Columns as they stand, with their widths: together those of a page of 1280 pixels.
_WIDTHS = {
    "text": 170,
    "group": 165,
    "score": 64,
    "known": 116,
    "right group": 115,
    "runner-up": 118,
    "runner-up is right": 70,
}
#: The same on a phone, with what corrects a group.
_NARROW = {"text": 130, "group": 130, "right group": 105}
_WHOLE = 25  # lines that are shown without a scroll bar
#: Input, group, and 1 where it belongs there or −1 where it does not.
GroupJudgment = tuple[str, str, float]


@dataclass(frozen=True, slots=True)
class Normalised:
    """A column of texts, put into groups."""

    lines: tuple[str, ...]
    assigned: Assignment
    known: tuple[tuple[str, ...], ...]
    parts: tuple[str, ...]


def show(dataset_id: str, pairs: PairSet, infos: Sequence[RunInfo], part: Part) -> None:
    """Draw the mode, given data and at least one run, the best by validation first."""
    _follow_jobs()
    display.quiet(
        f"Each text is put into the group of the {items_named(pairs.y_name)} that score highest, "
        "or into none where their score is below the threshold."
    )
    run = choose_run(infos)
    lines = _choose_lines(run, pairs, part)
    if not lines:
        return
    if _follows(run):
        judgments = state.store().feedback.find(dataset_id, state.workspace())
        run = what_if.with_corrections(run, pairs, judgments)
    assigned = normalise(run, pairs, lines)
    limit = _choose_threshold(run, pairs, assigned)
    corrected = _show_table(run, pairs, assigned, limit)
    if state.share() is not None:
        return
    if _keep(dataset_id, corrected) and _follows(run):
        st.rerun()
    _show_feedback(dataset_id, run, pairs)
    _show_changes(run, pairs, assigned, part)


def _follows(run: Run) -> bool:
    """Whether a run is asked to follow corrections at once, and can."""
    follows = st.session_state.get(_FOLLOWS) and state.share() is None
    return bool(follows) and not _why_not(run)


def _why_not(run: Run) -> str | None:
    from simviz.evaluation import WhatIf

    return WhatIf.why_not(drawings.pipeline(run))


def choose_run(infos: Sequence[RunInfo]) -> Run:
    """Choose one run: at first one that Search or Compare shows, else the best."""
    labels = runs.label_runs(infos)
    if st.session_state.get(_RUN) not in labels:
        seen = [*st.session_state.get("search-runs", []), *st.session_state.get("run_ids", [])]
        st.session_state[_RUN] = next(i for i in (*seen, *labels) if i in labels)
    width: Any = "stretch" if state.is_narrow() else 420
    st.selectbox("Run", **forms.options(labels), key=_RUN, width=width)
    return state.run(st.session_state[_RUN])


def _choose_lines(run: Run, pairs: PairSet, part: Part) -> tuple[str, ...]:
    """Let a column be pasted or brought as a file, and offer one where there is none."""
    name = escape_markdown(items_named(pairs.x_name))
    is_file = st.session_state.get(_FILE) is not None
    lines = () if is_file else _paste(name)
    label = "Or a file: text with one entry per line, or a table"
    file = ask_for_file(f"A file with {name}" if is_file else label, _FILE, _TABLE)
    if file is not None:
        lines = _of_file(file, pairs)
    if not lines and not is_file:
        pasted = {_TEXT: "\n".join(examples(run, pairs, part))}
        label, key = f"Examples of the {part} part", "normalise-examples"
        forms.button(label, key, st.session_state.update, pasted, icon="content_paste")
    return lines


def ask_for_file(label: str, key: str, table_key: str) -> Any:
    """Ask for a file; without one, none that was read is kept."""
    file = st.file_uploader(label, ENDINGS, key=key, max_upload_size=MEGABYTES)
    if file is None:
        st.session_state.pop(table_key, None)
    return file


def read_file(file: Any, key: str, n_columns: int = 2) -> Table:
    """Read an upload once a session, which keeps it under a key."""
    held = st.session_state.get(key)
    if held is not None and held[0] == file.file_id:
        return held[1]
    began = time.monotonic()

    def watch(_: float) -> None:
        if time.monotonic() - began > _SECONDS:
            raise DatasetError(
                f"{file.name[-60:]} was not read within {_SECONDS} seconds. Bring a part of it."
            )

    size = MEGABYTES * 2**20
    with (
        st.spinner("Reading the file"),
        progress_listener(watch),
        reading_limits(
            rows=MAX_ROWS, cells=20 * MAX_ROWS, file_bytes=2 * size, unpacked_bytes=4 * size
        ),
    ):
        table = read_table(file.getvalue(), file.name, n_columns=n_columns)
    st.session_state[key] = (file.file_id, table)
    return table


def _paste(name: str) -> tuple[str, ...]:
    last = _last(state.workspace())
    st.session_state.setdefault(_TEXT, last.get("text", ""))
    text = st.text_area(
        f"{name.capitalize()}, one per line",
        key=_TEXT,
        height=150,
        placeholder="Paste a column of a table",
        max_chars=200_000,
        persist_state="session",
    )
    last["text"] = text or ""
    return _shown_lines(*parse(text or ""))


def _of_file(file: Any, pairs: PairSet) -> tuple[str, ...]:
    """Return the lines of a column of a file; what is wrong with it is said."""
    try:
        table = read_file(file, _TABLE, n_columns=1)
    except (SimvizError, ValueError) as error:
        display.problem(error)
        return ()
    names = [name for name in table.frame if name not in table.vectors]
    if not names:
        display.problem(f"{table.name} has no column of text.")
        return ()
    cells: list[str] = []
    heading = pairs.headings[0].casefold()
    if table.frame.shape[1] == 1:
        # Whether its first line is a heading only its words can tell.
        cells = [] if names[0].casefold() in _HEADINGS | {heading} else names[:1]
        column = names[0]
    else:
        headed = [n for n in names if n.casefold() == heading]
        guess = [*headed, *(n for n in names if table.kinds[n] == "text"), *names][0]
        label = f"Column with {escape_markdown(items_named(pairs.x_name))}"
        key = f"normalise-column-{file.file_id}"
        column = st.selectbox(label, names, names.index(guess), key=key)
    cells += table[column].tolist()
    return _shown_lines(*parse("\n".join(" ".join(cell.split()) for cell in cells)))


def _shown_lines(lines: tuple[str, ...], problem: str) -> tuple[str, ...]:
    """Return lines, and say what was left out."""
    if problem:
        display.problem(problem)
    return lines


@st.cache_resource(show_spinner=False, max_entries=200)
def _last(workspace: str) -> dict[str, str]:
    """The column that a workspace pasted last, which a reload would lose."""
    return {}


def parse(text: str) -> tuple[tuple[str, ...], str]:
    """Return the lines of what was pasted, and what was left out."""
    every = [" ".join(line.split())[:LONGEST] for line in text.splitlines()]
    distinct = tuple(dict.fromkeys(filter(None, every)))
    n_left = len(distinct) - MAX_LINES
    problem = f"{n_left:,} lines beyond the first {MAX_LINES:,} are left out."
    return distinct[:MAX_LINES], f"{problem} Normalise them separately." if n_left > 0 else ""


def examples(run: Run, pairs: PairSet, part: Part, n: int = 20) -> list[str]:
    """Return texts of a part that are no texts of the other side, evenly taken."""
    rows = run.arrays().get(f"x_{part}", np.arange(len(pairs.x)))
    there = set(pairs.y.content.tolist())
    texts = [str(pairs.x.content[i]) for i in rows if pairs.x.content[i] not in there]
    texts = texts or [str(pairs.x.content[i]) for i in rows]
    return texts[:: max(1, len(texts) // n)][:n]


def normalise(run: Run, pairs: PairSet, lines: Sequence[str]) -> Normalised:
    """Put lines into the groups of the y side, as a run sees them."""
    groups, positives = group_names(pairs), pairs.relevance.positives
    place = {str(text): i for i, text in enumerate(pairs.x.content)}
    labels = drawings.parts(run, pairs)[0]
    rows = [place.get(line) for line in lines]
    known = [() if row is None else _known(positives, row, groups) for row in rows]
    parts = ["" if row is None else str(labels[row]) for row in rows]
    assigned = _assigned(run, pairs, tuple(lines))
    return Normalised(tuple(lines), assigned, tuple(known), tuple(parts))


def _known(positives: Any, row: int, groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the groups of what belongs to an item of the x side, each once."""
    relevant = positives[[row]].indices.tolist()
    return tuple(dict.fromkeys(name for j in relevant for name in groups[j]))


@state.cached(32, "Looking for the group of each")
def _assigned(run: Run, pairs: PairSet, lines: tuple[str, ...]) -> Assignment:
    items = Items([str(i) for i in range(len(lines))], lines, pairs.x.kind)
    return assign(drawings.pipeline(run), items, pairs.y, group_names(pairs))


def _choose_threshold(run: Run, pairs: PairSet, normalised: Normalised) -> float:
    scores = normalised.assigned.score[np.isfinite(normalised.assigned.score)]
    if not len(scores):
        return -np.inf
    start, text = _threshold(run, pairs)
    if not np.isfinite(start):
        start = float(scores.min())
    low, high = min(float(scores.min()), start), max(float(scores.max()), start)
    if not low < high:
        return -np.inf
    about = f"A line whose best score is lower gets no group. {text}"
    how: dict[str, Any] = {"key": f"normalise-threshold-{_token(run)}", "format": "%.3g"}
    step = (high - low) / 100
    limit: float = st.slider("Threshold", low, high, start, step=step, help=about, **how)
    return limit


def _token(run: Run, lines: tuple[str, ...] = ()) -> str:
    """Stands for a run with what it follows, so that no widget outlives what it was set for."""
    return f"{run.id}-{hash((run.cache_key, lines)) & 0xFFFFFFFF:x}"


@state.cached(64, "Looking for a threshold")
def _threshold(run: Run, pairs: PairSet) -> tuple[float, str]:
    """Return the score above which most right answers are expected, and what to expect of it."""
    rows = run.arrays().get("x_validation", np.empty(0, dtype=np.intp))
    if not len(rows):
        return float("nan"), ""
    groups, positives = group_names(pairs), pairs.relevance.positives
    assigned = assign(drawings.pipeline(run), pairs.x.take(rows), pairs.y, groups)
    right = np.array(
        [
            group >= 0 and assigned.names[group] in _known(positives, row, groups)
            for row, group in zip(rows, assigned.group, strict=True)
        ]
    )
    start = keeping_threshold(assigned.score, right, RECALL)
    answers = counted(right.sum(), "right answer")
    if not np.isfinite(start):
        return start, f"The validation part has {answers}: too few to suggest one."
    wrong = assigned.score[~right & np.isfinite(assigned.score)]
    return start, (
        f"It starts where {percent(RECALL)} of right answers are expected above it, judging by "
        f"the {answers} of the validation part; {(wrong >= start).sum():,} of its {len(wrong):,} "
        "wrong ones lie above it, too."
    )


def _show_table(
    run: Run, pairs: PairSet, normalised: Normalised, limit: float
) -> list[GroupJudgment]:
    import pandas as pd

    assigned = normalised.assigned
    inside = np.isfinite(assigned.score) & (assigned.score >= limit)
    best = [_name(assigned, g) for g in assigned.group]
    second = [_name(assigned, g) for g in assigned.runner_up]
    group = [name if ok else NOWHERE for name, ok in zip(best, inside, strict=True)]
    columns = {"text": normalised.lines, "group": group, "score": assigned.score}
    columns |= {"runner-up": second, "its score": assigned.runner_up_score}
    table = pd.DataFrame(columns)
    if any(normalised.known):
        table["known"] = [
            "" if not names else "✓" if g in names else "✗ " + ", ".join(names)
            for g, names in zip(group, normalised.known, strict=True)
        ]
    _show_summary(group, normalised)
    # What corrects a group stands beside it, however long both are.
    widths = _NARROW if state.is_narrow() else _WIDTHS
    shown = table.assign(**{"runner-up is right": False, "right group": ""})
    edited = st.data_editor(
        shown,
        key=f"normalise-table-{_token(run, normalised.lines)}",
        hide_index=True,
        height="content" if len(table) <= _WHOLE else 640,
        column_order=[name for name in widths if name in shown],
        placeholder="",
        disabled=list(table.columns) if state.share() is None else True,
        column_config={
            **{name: st.column_config.Column(width=width) for name, width in widths.items()},
            "score": st.column_config.NumberColumn(format="%.3f", width=64),
            "runner-up is right": st.column_config.CheckboxColumn(
                "right", width=70, help="The group is wrong, and the runner-up is the right one."
            ),
            "right group": st.column_config.SelectboxColumn(
                width=widths["right group"],
                options=["", *sorted(assigned.names)],
                help="The group is wrong, and this is the right one.",
            ),
        },
    )
    rows = [list(table.columns), *table.astype(object).where(table.notna(), "").values.tolist()]
    file = csv_text(rows), f"{pairs.name}-normalised.csv", "text/csv"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        icon = ":material/download:"
        st.download_button("Download the table", *file, "normalise-download", icon=icon)
        code.show_normalise(run, normalised.lines, limit)
    corrected = []
    answers = zip(edited["right group"], edited["runner-up is right"], strict=True)
    for i, (answer, is_runner_up) in enumerate(answers):
        runner_up = second[i] if is_runner_up else ""
        if right := answer if isinstance(answer, str) and answer else runner_up:
            corrected.append((normalised.lines[i], right, 1.0))
            if best[i] not in ("", right):
                corrected.append((normalised.lines[i], best[i], -1.0))
    return corrected


def _name(assigned: Assignment, group: int) -> str:
    return str(assigned.names[group]) if group >= 0 else ""


def _show_summary(group: Sequence[str], normalised: Normalised) -> None:
    """Say how many found a group, and how many of the known ones the right one."""
    n_out = sum(name == NOWHERE for name in group)
    text = f"{len(group) - n_out:,} of {len(group):,} lines have a group."
    by_part: dict[str, list[bool]] = {}
    for name, names, part in zip(group, normalised.known, normalised.parts, strict=True):
        if names:
            by_part.setdefault(part, []).append(name in names)
    if by_part:
        counts = [f"{sum(right):,} of {len(right):,} ({p})" for p, right in by_part.items()]
        text += f" Right where the group is known: {', '.join(counts)}."
    display.sentence(text)


def _keep(dataset_id: str, corrected: Sequence[GroupJudgment]) -> bool:
    """Keep what was corrected and is not kept yet; return whether there was such."""
    feedback, mine = state.store().feedback, state.workspace()
    there = set(feedback.find(dataset_id, mine))
    new = [verdict for verdict in corrected if verdict not in there]
    with display.problems():
        if new:
            feedback.put(dataset_id, mine, new)
            return True
    return False


def _show_feedback(dataset_id: str, run: Run, pairs: PairSet) -> None:
    """Show what was corrected so far, what following it brought, and what trains with it."""
    judgments = state.store().feedback.find(dataset_id, state.workspace())
    if not judgments:
        display.quiet(
            "Correct a wrong group in the table. A method can be trained again with corrections."
        )
        return
    inputs = list(dict.fromkeys(x for x, _, _ in judgments))
    lines = []
    for text in inputs:
        right = ", ".join(y for x, y, sign in judgments if x == text and sign > 0) or "?"
        wrong = ", ".join(y for x, y, sign in judgments if x == text and sign < 0)
        drop = partial(state.store().feedback.drop, dataset_id, state.workspace(), text)
        lines.append((f"{text} → {right}" + (f", not {wrong}" if wrong else ""), drop))
    display.undoable(f"{counted(len(inputs), 'correction')} kept", lines, "normalise")
    cls = all_methods().get(run.info.method)
    if cls is None or cls.tags.uses == "unsupervised":
        display.quiet(
            f"{runs.run_title(run.info)} does not learn from pairs. Choose a run that does, such "
            "as SSI or a Siamese BLSTM."
        )
        return
    if reason := _why_not(run):
        display.quiet(f"Corrections are not followed at once here. {reason}")
    else:
        st.toggle(
            "Follow at once",
            key=_FOLLOWS,
            persist_state="session",
            help="The method follows the corrections, in this tab alone, and the table with it. "
            "Nothing is kept until it is trained again.",
        )
    what_if.show_brought(run, what_if.title(run, runs.run_title(run.info)), pairs)
    held_out = texts_of(run.take(pairs, part) for part in ("validation", "test"))
    shut = {text.casefold() for text in held_out}
    if n_shut := sum(text.casefold() in shut for text in inputs):
        is_one = n_shut == 1
        display.quiet(
            f"{counted(n_shut, 'correction')} {'is' if is_one else 'are'} of the validation or "
            f"test part. Training leaves {'it' if is_one else 'them'} out: what a method is "
            "measured on is not learned from."
        )
    if dataset_id.startswith("demo:"):
        display.quiet("Training with corrections makes a private copy of the demo.")
    train = partial(_train_again, dataset_id, run.id, tuple(judgments))
    label, key = "Train again with corrections", "normalise-train"
    forms.button(label, key, train, icon="model_training", type="primary")


@display.problems(show=display.later(_PROBLEM))
def _train_again(dataset_id: str, run_id: str, judgments: tuple[GroupJudgment, ...]) -> None:
    """Ask for the same method on the same split, with the corrections among its pairs."""
    run = state.run(run_id)
    steps = [step for step in run.spec.get("augment", ()) if step.get("kind") != "feedback"]
    step = {"kind": "feedback", "pairs": [list(verdict) for verdict in judgments]}
    st.session_state[_JOBS] = progress.train_again(run, (*steps, step))
    st.session_state.update({_BEFORE: run_id, _FOLLOWS: False})
    own = state.current_dataset_id()
    if own is not None and own != dataset_id:
        state.store().feedback.put(own, state.workspace(), judgments)
        st.session_state["search-mode"] = "column"


def _follow_jobs() -> None:
    """Show the training that was asked for; its run is looked at as soon as it is there."""
    if problem := st.session_state.pop(_PROBLEM, None):
        display.problem(problem)
    job_ids = st.session_state.get(_JOBS)
    if not job_ids:
        return
    statuses = progress.show_progress(job_ids, key="normalise")
    if done := [s.run_id for s in statuses if s.state == "succeeded" and s.run_id]:
        st.session_state[_RUN] = done[0]
    if not any(status.is_active for status in statuses):
        del st.session_state[_JOBS]


def _show_changes(run: Run, pairs: PairSet, normalised: Normalised, part: Part) -> None:
    """Show what corrections have changed, for these lines and for a part of the split."""
    is_marked = what_if.is_marked(run)
    before_id = run.id if is_marked else st.session_state.get(_BEFORE)
    if not before_id or (before_id == run.id and not is_marked):
        return
    try:
        before = state.run(before_id)
        old = normalise(before, pairs, normalised.lines).assigned
    except SimvizError:
        st.session_state.pop(_BEFORE, None)
        return
    old_names, names = (
        [_name(assigned, group) or NOWHERE for group in assigned.group]
        for assigned in (old, normalised.assigned)
    )
    every = zip(normalised.lines, old_names, names, strict=True)
    rows = [(line, before, now) for line, before, now in every if before != now]
    st.subheader("What the corrections changed", anchor=False)
    n_lines = counted(len(normalised.lines), "line")
    display.sentence(f"Now in another group: {len(rows):,} of {n_lines}.")
    if rows:
        display.table(("text", "before", "now"), rows[:200], look="sv-tight sv-wraps")
    if not is_marked:
        _show_figures(before, run, part, pairs)


def _show_figures(before: Run, now: Run, part: Part, pairs: PairSet) -> None:
    """Show how both runs do on a part, where it holds the same items for both."""
    labels = runs.label_runs([before.info, now.info])
    missing = [labels[run.id] for run in (before, now) if part not in run.measured]
    if missing:
        progress.explain_missing_part(missing, part)
        return
    old_at, at, names = before.arrays(), now.arrays(), (f"x_{part}", f"y_{part}")
    if not all(np.array_equal(old_at[name], at[name]) for name in names):
        return
    direction = preferences.current_direction(now.info.dataset_id, pairs)
    old_values, values = (_values(run, part, direction) for run in (before, now))
    figures = [
        f"{m} {old_values[m]:.3f} → {values[m]:.3f}"
        for m in dict.fromkeys(["top-1", "MRR", *list(values)[:1]])
        if m in values and m in old_values
    ]
    n_x, n_y = (len(at[name]) for name in names)
    if figures:
        size = f"{n_x:,} {pairs.nouns[0]}, {n_y:,} {pairs.nouns[1]}"
        direction_text = preferences.direction_label(direction, pairs)
        display.quiet(f"On the {part} part ({size}; {direction_text}): {'; '.join(figures)}.")


def _values(run: Run, part: Part, direction: str) -> dict[str, float]:
    records, directions = run.part(part).records["run"], (direction, "pairs")
    return {r["metric"]: float(r["value"]) for r in records if r["direction"] in directions}
