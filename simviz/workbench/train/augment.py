"""Augmenting the training pairs: what the visitor wants made, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import streamlit as st

from simviz.charts.tables import Cell, html_table
from simviz.data import split as split_pairs
from simviz.data.augment import MADE_BY, MADE_FROM, from_json
from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS
from simviz.exceptions import DatasetError
from simviz.jobs import SplitSpec
from simviz.jobs.training import augmented
from simviz.workbench.shell import display

Steps = tuple[Mapping[str, Any], ...]
#: Lines of a list; a request carries them all.
MOST_LINES = 2_000
_SHOWN = 4


class _Kind(NamedTuple):
    """A kind of step as the page offers it."""

    title: str
    help: str
    #: Its list in a request, which is also the name of the demos' list.
    field: str = ""
    #: The usual share in per cent, where texts are made of some pairs only.
    share: int = 0


_KINDS = {
    "synonyms": _Kind(
        "Synonyms from a list",
        "One a line, such as lawyer = attorney. Whole words are exchanged, one at a time.",
        "synonyms",
    ),
    "induced": _Kind(
        "Synonyms from groups",
        "Words in which two texts of a group differ, where they are one or two.",
    ),
    "mined": _Kind(
        "Inputs that contain a title",
        "What people wrote, one a line. Used where an input contains a known text word for "
        "word and an n-gram matcher finds the same one.",
        "inputs",
    ),
    "extra_words": _Kind(
        "Extra words around texts",
        "Words that do not change the meaning, one entry a line, such as senior, full time, "
        "Leeds. Up to three are put around a text.",
        "words",
        20,
    ),
    "feedback": _Kind(
        "Feedback",
        "One a line: input = text or group, and a minus before the input where it does "
        "not belong there.",
        "pairs",
    ),
    "typos": _Kind(
        "Typos",
        "One character in five replaced, one in twenty left out.",
        share=10,
    ),
}


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
        name
        for name, kind in _KINDS.items()
        if lists is None or not kind.field or lists.get(kind.field)
    ]
    wanted = [kind for kind in kinds if st.session_state.get(f"{key}-{kind}")]
    label = "Augment the training pairs"
    if wanted:
        label += ": " + ", ".join(_KINDS[kind].title.lower() for kind in wanted)
    with st.expander(label, key=f"{key}:form", type="compact"):
        display.quiet(
            "Makes more texts from those of the training part, for methods that learn from "
            "pairs. None is a text of validation or test."
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
    if not dataset_id.startswith("demo:"):
        return None
    demo = DEMOS.get(dataset_id.removeprefix("demo:"))
    return demo.word_lists() if demo is not None and demo.word_lists is not None else {}


def _choose_step(
    name: str, lists: Mapping[str, Sequence[str]] | None, key: str
) -> list[Mapping[str, Any]]:
    """Show the switch of a step and what it needs; return the step if it is wanted."""
    kind, key = _KINDS[name], f"{key}-{name}"
    if not st.toggle(kind.title, key=key, help=kind.help, persist_state="session"):
        return []
    step: dict[str, Any] = {"kind": name}
    with st.container(key=f"train-set-augment-{name}", gap="xsmall"):
        if kind.field:
            lines = _choose_lines(kind, None if lists is None else lists[kind.field], key)
            parse: Any = {"synonyms": _sides, "feedback": _verdict}.get(name, str)
            step[kind.field] = [parse(line) for line in lines]
        if kind.share:
            percent = st.slider(
                "Share of the training pairs, in per cent",
                1,
                50,
                kind.share,
                key=f"{key}-share",
                persist_state="session",
            )
            step["share"] = percent / 100
    if kind.field and not step[kind.field]:
        display.quiet("Write at least one line.")
        return []
    from_json([step])  # refuses what is wrong
    return [step]


def _choose_lines(kind: _Kind, own: Sequence[str] | None, key: str) -> list[str]:
    """Return the lines of a list: the demo's own, or what the visitor writes."""
    if own is not None:
        some = ", ".join(own[:5])
        display.quiet(f"The demo's own list, {len(own):,} entries: {some}, …")
        return list(own)
    text = st.text_area(
        "One a line",
        key=f"{key}-lines",
        height=120,
        persist_state="session",
        placeholder=kind.help.partition(".")[0],
        label_visibility="collapsed",
    )
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise DatasetError(
            f"{kind.title}: {len(lines):,} lines, more than the {MOST_LINES:,} that one "
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
        rows.append([Cell(f"{_KINDS[kind].title}: {n:,}", {"colspan": 2, "scope": "rowgroup"})])
        rows += samples
    label = "Samples: original text, made text"
    st.html(html_table([], rows, look="sv-made", label=label))
