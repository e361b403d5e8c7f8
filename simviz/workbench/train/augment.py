"""Augmenting the training pairs: what the visitor wants made, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.charts.tables import Cell, html_table
from simviz.exceptions import DatasetError
from simviz.workbench.shell import display

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs import SplitSpec

Steps = tuple[Mapping[str, Any], ...]
#: Lines of a list; a request carries them all.
MOST_LINES = 2_000
_SHOWN = 4
_TITLES = {
    "synonyms": "Synonyms from a list",
    "induced": "Synonyms found in groups",
    "mined": "Real inputs that hold a title",
    "extra_words": "Extra words around texts",
    "feedback": "Feedback",
    "typos": "Typing errors",
}
_HELP = {
    "synonyms": "One a line, such as lawyer = attorney. Whole words are exchanged, one at a time.",
    "induced": "Where two texts of a group differ in one or two words only, those are taken for "
    "synonyms within that group.",
    "mined": "What people wrote, one a line. Taken are those that hold a known text word for "
    "word, where an n-gram matcher finds the same one.",
    "extra_words": "Words that change nothing, one entry a line, such as senior, full time, "
    "Leeds. Up to three of them are put around a text.",
    "feedback": "One a line: input = text or group, and a minus before the input where it does "
    "not belong there.",
    "typos": "One character in five replaced, one in twenty left out.",
}
#: For each step with a list: its field in a request, which is also the name of the demos' list.
_LISTS = {
    "synonyms": "synonyms",
    "mined": "inputs",
    "extra_words": "words",
    "feedback": "pairs",
}
#: For each step that makes texts of some pairs only: the usual share in per cent.
_SHARES = {"typos": 10, "extra_words": 20}


@dataclass(frozen=True, slots=True)
class Augmentation:
    """What the visitor wants, and how much it adds."""

    steps: Steps = ()
    growth: float = 1.0


@dataclass(frozen=True, slots=True)
class Preview:
    """What steps made of the training pairs."""

    before: int = 0
    after: int = 0
    samples: Mapping[str, tuple[int, Sequence[tuple[str, str]]]] | None = None
    problem: str = ""


def choose(dataset_id: str, pairs: PairSet, split: SplitSpec) -> Augmentation:
    """Offer augmentations where both sides are texts, and show what they make."""
    if pairs.x.kind != "text" or pairs.y.kind != "text":
        return Augmentation()
    key = f"train-{dataset_id}-augment"
    lists = _demo_lists(dataset_id)
    # Runs on a demo are everybody's, so they hold no text of a visitor.
    kinds = [
        kind for kind in _TITLES if lists is None or kind not in _LISTS or lists.get(_LISTS[kind])
    ]
    wanted = [kind for kind in kinds if st.session_state.get(f"{key}-{kind}")]
    label = "Augment the training pairs"
    if wanted:
        label += ": " + ", ".join(_TITLES[kind].lower() for kind in wanted)
    with st.expander(label, key=f"{key}:form", type="compact"):
        display.quiet(
            "More texts are made from those of the training part; none of them is a text of "
            "validation or test. Methods that learn from pairs are trained on them, too."
        )
        steps, problems = [], []
        for kind in kinds:
            try:
                steps += _choose_step(kind, lists, key)
            except DatasetError as error:
                problems.append(error)
        for problem in problems:
            display.problem(problem)
        if not steps:
            return Augmentation()
        preview = _preview(dataset_id, pairs, split, json.dumps(steps, sort_keys=True))
        if preview.problem:
            display.problem(preview.problem)
            return Augmentation()
        _show_preview(preview)
    return Augmentation(tuple(steps), preview.after / max(1, preview.before))


def _demo_lists(dataset_id: str) -> Mapping[str, Sequence[str]] | None:
    """Return the lists that a demo brings; None for data of the visitor's own."""
    from simviz.datasets import DEMOS

    if not dataset_id.startswith("demo:"):
        return None
    demo = DEMOS.get(dataset_id.removeprefix("demo:"))
    return demo.word_lists() if demo is not None and demo.word_lists is not None else {}


def _choose_step(
    kind: str, lists: Mapping[str, Sequence[str]] | None, key: str
) -> list[Mapping[str, Any]]:
    """Show the switch of a step and what it needs; return the step if it is wanted."""
    from simviz.data.augment import from_json

    is_on = st.toggle(
        _TITLES[kind], key=f"{key}-{kind}", help=_HELP[kind], persist_state="session"
    )
    if not is_on:
        return []
    step: dict[str, Any] = {"kind": kind}
    with st.container(key=f"train-set-augment-{kind}", gap="xsmall"):
        if kind in _LISTS:
            name = _LISTS[kind]
            lines = _choose_lines(kind, None if lists is None else lists[name], key)
            parse = {"synonyms": _sides, "feedback": _verdict}.get(kind)
            step[name] = lines if parse is None else [parse(line) for line in lines]
        if kind in _SHARES:
            percent = st.slider(
                "Share of the training pairs, in per cent",
                1,
                50,
                _SHARES[kind],
                key=f"{key}-{kind}-share",
                persist_state="session",
            )
            step["share"] = percent / 100
    if not step.get(_LISTS.get(kind, "kind")):
        display.quiet("Write at least one line.")
        return []
    from_json([step])  # refuses what is wrong
    return [step]


def _choose_lines(kind: str, own: Sequence[str] | None, key: str) -> list[str]:
    """Return the lines of a list: the demo's own, or what the visitor writes."""
    if own is not None:
        some = ", ".join(own[:5])
        display.quiet(f"The demo's own list, {len(own):,} entries: {some}, …")
        return list(own)
    text = st.text_area(
        "One a line",
        key=f"{key}-{kind}-lines",
        height=120,
        persist_state="session",
        placeholder=_HELP[kind].partition(".")[0],
        label_visibility="collapsed",
    )
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise DatasetError(
            f"{_TITLES[kind]}: {len(lines):,} lines, more than the {MOST_LINES:,} that one "
            "request can carry. Keep the most frequent ones."
        )
    return lines


def _sides(line: str) -> list[str]:
    """Return both sides of a line with an equals sign."""
    left, sign, right = line.partition("=")
    if not sign or not left.strip() or not right.strip():
        raise DatasetError(f"“{line}” needs an equals sign between two things: lawyer = attorney.")
    return [left.strip(), right.strip()]


def _verdict(line: str) -> list[Any]:
    """Return input, text or group, and whether they belong together."""
    sign = -1 if line.startswith(("-", "−")) else 1
    return [*_sides(line.lstrip("-− ") if sign < 0 else line), sign]


@st.cache_data(show_spinner="Making texts", max_entries=64)
def _preview(dataset_id: str, _pairs: PairSet, split: SplitSpec, steps: str) -> Preview:
    """Return what steps make; the id of a data set stands for its content."""
    from simviz.data import split as split_pairs
    from simviz.data.augment import MADE_BY, MADE_FROM
    from simviz.jobs.training import augmented

    try:
        parts = split_pairs(_pairs, split.by, split.fractions, split.seed, split.group_key)
        more = augmented(json.loads(steps), parts.train, (parts.validation, parts.test)).x
    except DatasetError as error:
        return Preview(problem=str(error))
    samples: dict[str, tuple[int, Sequence[tuple[str, str]]]] = {}
    if MADE_BY in more.metadata:
        by, source = more.metadata[MADE_BY], more.metadata[MADE_FROM]
        for step in json.loads(steps):
            rows = [i for i, kind in enumerate(by) if kind == step["kind"]]
            chosen = rows[:: max(1, len(rows) // _SHOWN)][:_SHOWN]
            samples[step["kind"]] = (
                len(rows),
                [(str(source[i]), str(more.content[i])) for i in chosen],
            )
    return Preview(len(parts.train.x), len(more), samples)


def _show_preview(preview: Preview) -> None:
    """Show how many texts were made, and some of them."""
    display.said(f"{preview.before:,} texts become {preview.after:,}.")
    rows: list[Sequence[object]] = []
    for kind, (n, samples) in (preview.samples or {}).items():
        rows.append([Cell(f"{_TITLES[kind]}: {n:,}", {"colspan": 2, "scope": "rowgroup"})])
        rows += samples
    label = "Some of the texts that were made: from, and what"
    st.html(html_table([], rows, look="sv-made", label=label))
