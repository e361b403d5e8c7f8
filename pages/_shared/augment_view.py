"""Augmenting the training pairs: which steps, and a look at what they make."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import plain
from simviz.exceptions import DatasetError

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
_VERDICTS = "feedback"


@dataclass(frozen=True, slots=True)
class Augmentation:
    """What the visitor wants, and how much it adds.

    Parameters
    ----------
    steps : tuple of mapping
        As `simviz.jobs.JobSpec` takes them.
    growth : float
        Texts to train on, as a multiple of what there is without.
    """

    steps: Steps = ()
    growth: float = 1.0


@dataclass(frozen=True, slots=True)
class Preview:
    """What steps made of the training pairs.

    Parameters
    ----------
    before, after : int
        Texts on the x side.
    samples : mapping of str to tuple
        By kind, how many were made, and some of them: source and text.
    problem : str
        What is wrong, where nothing could be made.
    """

    before: int = 0
    after: int = 0
    samples: Mapping[str, tuple[int, Sequence[tuple[str, str]]]] | None = None
    problem: str = ""


def choose(dataset_id: str, pairs: PairSet, split: SplitSpec) -> Augmentation:
    """Offer augmentations where both sides are texts, and show what they make.

    Parameters
    ----------
    dataset_id : str
        A data set the visitor may see.
    pairs : PairSet
        The data set.
    split : SplitSpec
        How it is split; only its training part is augmented.

    Returns
    -------
    Augmentation
        No steps where none are wanted, or where they cannot be applied.
    """
    if pairs.x.kind != "text" or pairs.y.kind != "text":
        return Augmentation()
    key = f"train-{dataset_id}-augment"
    kinds = _kinds(dataset_id)
    wanted = [kind for kind in kinds if st.session_state.get(f"{key}-{kind}")]
    label = "Augment the training pairs"
    if wanted:
        label += ": " + ", ".join(_TITLES[kind].lower() for kind in wanted)
    with st.expander(label, key=f"{key}:form", type="compact"):
        plain.quiet(
            "More texts are made from those of the training part; none of them is a text of "
            "validation or test. Methods that learn from pairs are trained on them, too."
        )
        steps, problems = [], []
        for kind in kinds:
            try:
                step = _show_step(kind, dataset_id, key)
            except DatasetError as error:
                problems.append(str(error))
                continue
            if step is not None:
                steps.append(step)
        for problem in problems:
            plain.problem(problem)
        if not steps:
            return Augmentation()
        asked = json.dumps(steps, sort_keys=True)
        found = _preview(dataset_id, pairs, split, asked)
        if found.problem:
            plain.problem(found.problem)
            return Augmentation()
        _show_preview(found)
    return Augmentation(tuple(steps), found.after / max(1, found.before))


def _kinds(dataset_id: str) -> list[str]:
    """Steps to offer. Runs on a demo are everybody's, so they hold no text of a visitor."""
    if not dataset_id.startswith("demo:"):
        return list(_TITLES)
    lists = _lists(dataset_id)
    there = {"synonyms": "synonyms", "mined": "inputs", "extra_words": "words"}
    return [
        kind
        for kind in _TITLES
        if kind in ("induced", "typos") or (kind in there and lists.get(there[kind]))
    ]


def _show_step(kind: str, dataset_id: str, key: str) -> Mapping[str, Any] | None:
    """One step: a switch and what it needs."""
    from simviz.data.augment import from_json

    is_on = st.toggle(
        _TITLES[kind], key=f"{key}-{kind}", help=_HELP[kind], persist_state="session"
    )
    if not is_on:
        return None
    step: dict[str, Any] = {"kind": kind}
    with st.container(key=f"train-set-augment-{kind}", gap="xsmall"):
        if kind == "synonyms":
            lines = _lines(kind, "synonyms", dataset_id, key)
            step["synonyms"] = [_parted(line) for line in lines]
        elif kind == "mined":
            step["inputs"] = _lines(kind, "inputs", dataset_id, key)
        elif kind == "extra_words":
            step["words"] = _lines(kind, "words", dataset_id, key)
        elif kind == _VERDICTS:
            lines = _lines(kind, "feedback", dataset_id, key)
            step["pairs"] = [_verdict(line) for line in lines]
        if kind in ("typos", "extra_words"):
            usual = 10 if kind == "typos" else 20
            percent = st.slider(
                "Share of the training pairs, in per cent",
                1,
                50,
                usual,
                key=f"{key}-{kind}-share",
                persist_state="session",
            )
            step["share"] = percent / 100
    if any(isinstance(value, list) and not value for value in step.values()):
        plain.quiet("Write at least one line.")
        return None
    from_json([step])  # refuses what is wrong
    return step


def _lines(kind: str, name: str, dataset_id: str, key: str) -> list[str]:
    """Lines of a list: the demo's own, or what the visitor writes."""
    if dataset_id.startswith("demo:"):
        own = list(_lists(dataset_id)[name])
        some = ", ".join(own[:5])
        plain.quiet(f"The demo's own list, {len(own):,} entries: {some}, …")
        return own
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


def _lists(dataset_id: str) -> Mapping[str, Sequence[str]]:
    """Lists that a demo brings."""
    from simviz.datasets import DEMOS

    demo = DEMOS.get(dataset_id.removeprefix("demo:"))
    return demo.word_lists() if demo is not None and demo.word_lists is not None else {}


def _parted(line: str) -> list[str]:
    """Both sides of a line with an equals sign."""
    left, sign, right = line.partition("=")
    if not sign or not left.strip() or not right.strip():
        raise DatasetError(f"“{line}” needs an equals sign between two things: lawyer = attorney.")
    return [left.strip(), right.strip()]


def _verdict(line: str) -> list[Any]:
    """Input, text or group, and whether they belong together."""
    sign = -1 if line.startswith(("-", "−")) else 1
    return [*_parted(line.lstrip("-− ") if sign < 0 else line), sign]


@st.cache_data(show_spinner="Making texts", max_entries=64)
def _preview(dataset_id: str, _pairs: PairSet, split: SplitSpec, asked: str) -> Preview:
    """What steps make; the id of a data set stands for its content."""
    from simviz.data import split as split_pairs
    from simviz.data.augment.base import MADE_BY, MADE_FROM
    from simviz.jobs.training import augmented

    try:
        parts = split_pairs(_pairs, split.by, split.fractions, split.seed, split.group_key)
        more = augmented(json.loads(asked), parts).x
    except DatasetError as error:
        return Preview(problem=str(error))
    samples: dict[str, tuple[int, Sequence[tuple[str, str]]]] = {}
    if MADE_BY in more.metadata:
        by, source = more.metadata[MADE_BY], more.metadata[MADE_FROM]
        for step in json.loads(asked):
            rows = [i for i, kind in enumerate(by) if kind == step["kind"]]
            chosen = rows[:: max(1, len(rows) // _SHOWN)][:_SHOWN]
            samples[step["kind"]] = (
                len(rows),
                [(str(source[i]), str(more.content[i])) for i in chosen],
            )
    return Preview(len(parts.train.x), len(more), samples)


def _show_preview(found: Preview) -> None:
    """How many texts were made, and some of them."""
    plain.said(f"{found.before:,} texts become {found.after:,}.")
    rows = []
    for kind, (n, samples) in (found.samples or {}).items():
        rows.append(
            f'<tr><th colspan="2" scope="rowgroup">{escape(_TITLES[kind])}: {n:,}</th></tr>'
        )
        rows += [
            f"<tr><td>{escape(source)}</td><td>{escape(text)}</td></tr>"
            for source, text in samples
        ]
    st.html(
        "<style>.sv-made{border-collapse:collapse;font-size:.9rem;line-height:1.5}"
        ".sv-made th{text-align:left;font-weight:500;padding:.5rem 0 .1rem}"
        ".sv-made td{padding:.05rem 1.4rem .05rem 0;overflow-wrap:anywhere;vertical-align:top}"
        ".sv-made td:first-child{opacity:.65}</style>"
        '<table class="sv-made" aria-label="Some of the texts that were made: from, and what">'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
