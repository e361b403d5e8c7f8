"""Texts: what their terms are, and what the visitor wants made of those to train on."""

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
from simviz.exceptions import DatasetError
from simviz.jobs import SplitSpec
from simviz.jobs.training import augmented
from simviz.markdown import escape_markdown
from simviz.pipeline import Features
from simviz.workbench.shell import display, forms, state

Steps = tuple[Mapping[str, Any], ...]
#: Lines of a list; a request carries them all.
MAX_LINES = 2_000
_SHOWN = 4


class _Kind(NamedTuple):
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
    "typos": _Kind("Typos", "One character in five replaced, one in twenty left out.", share=10),
}


#: Parameters of terms by what they are called, the usual first; stop words are words.
_TERMS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "Terms": {
        "words or characters": {},
        "words": {"analyzer": "word"},
        "words and pairs of words": {"analyzer": "word", "ngram_range": [1, 2]},
        "characters": {"analyzer": "char_wb", "ngram_range": [3, 5]},
    },
    "Weights": {
        "default weights": {},
        "tf · idf": {"tf": "raw"},
        "ln(1 + tf) · idf": {"tf": "log1p"},
        "(1 + log₂ tf) · idf": {"tf": "log2"},
    },
    "Stop words": {"kept": {}, "no English stop words": {"stop_words": "english"}},
}
_TERMS_HELP = {
    "Terms": "Words, but for short texts 3 to 5 characters of a word; or the same for all.",
    "Weights": "For methods that use weights of terms; others use counts. By default ln(1 + tf) · "
    "idf for TF-IDF and query expansion, tf · idf for methods that learn.",
    "Stop words": "For terms that are words.",
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


def choose(
    dataset_id: str, pairs: PairSet, split: SplitSpec, features: Features
) -> tuple[Features, Augmentation]:
    """Offer what terms of texts are and, where both sides are texts, to augment them."""
    sides = {pairs.x.kind, pairs.y.kind}
    of_terms = features == "usual" and "text" in sides
    if not of_terms and sides != {"text"}:
        return features, Augmentation()
    key = f"train-{dataset_id}-augment"
    # Runs on a demo are everybody's, so they hold no text of a visitor.
    lists = _demo_lists(dataset_id)
    kinds = [
        name
        for name, kind in _KINDS.items()
        if sides == {"text"} and (lists is None or not kind.field or lists.get(kind.field))
    ]
    enabled = [_KINDS[n].title.lower() for n in kinds if st.session_state.get(f"{key}-{n}")]
    terms, text = term_settings(f"{key}-terms")
    if of_terms:
        steps = enabled or ["not augmented"] * bool(kinds)
        label = f"Texts: {', '.join([*text, *steps])}"
    else:
        label = ": ".join(["Augment the training pairs", *[", ".join(enabled)] * bool(enabled)])
    with st.expander(label, key=f"{key}:form", type="compact"):
        if of_terms:
            _show_terms(f"{key}-terms", pairs)
        return (terms or features) if of_terms else features, (
            _augment(dataset_id, pairs, split, kinds) if kinds else Augmentation()
        )


def term_settings(key: str) -> tuple[dict[str, Any], list[str]]:
    """Return what terms are set to be, as parameters and in words."""
    kept = st.session_state
    titles = {n: kept.get(f"{key}-{n}", next(iter(options))) for n, options in _TERMS.items()}
    parts = [_TERMS[name][title] for name, title in titles.items()]
    if parts[0].get("analyzer") != "word":
        titles.pop("Stop words")
        parts.pop()
    texts = [title for title in titles.values() if title != "kept"]
    if max_terms := kept.get(f"{key}-most"):
        parts.append({"max_features": max_terms})
        texts.append(f"{max_terms:,} at most")
    if column := kept.get(f"{key}-column"):
        parts.append({"x_column": column})
        texts.append(f"with {escape_markdown(column)}")
    return {name: value for part in parts for name, value in part.items()}, texts


def _show_terms(key: str, pairs: PairSet) -> None:
    places = st.columns(2) + st.columns(2)
    for place, (name, options) in zip(places, _TERMS.items(), strict=False):
        off = name == "Stop words" and term_settings(key)[0].get("analyzer") != "word"
        how = forms.session_options(list(options), f"{key}-{name}")
        place.selectbox(name, **how, help=_TERMS_HELP[name], disabled=off)
    places[-1].number_input(
        "Maximum terms",
        min_value=1,
        value=None,
        step=1_000,
        key=f"{key}-most",
        placeholder="all",
        help="Keeps the most frequent terms.",
        persist_state="session",
    )
    known = ("label", "group", "split", "date", MADE_BY, MADE_FROM)
    columns = [n for n, c in pairs.x.metadata.items() if c.dtype.kind in "OU" and n not in known]
    if pairs.x.kind == "text" and columns:
        st.selectbox(
            f"Add a column to {escape_markdown(pairs.nouns[0])}",
            **forms.session_options(columns, f"{key}-column"),
            index=None,
            placeholder="nothing",
            help="A column whose text is added to the end of each item's own, such as what a "
            "search engine found for a query.",
        )


def _augment(
    dataset_id: str, pairs: PairSet, split: SplitSpec, kinds: Sequence[str]
) -> Augmentation:
    key, lists = f"train-{dataset_id}-augment", _demo_lists(dataset_id)
    display.quiet(
        "More texts can be made from those of the training part, for methods that learn from "
        "pairs. No text of validation or test is added."
    )
    steps: list[Mapping[str, Any]] = []
    problems: list[str] = []
    for kind in kinds:
        with display.problems(show=problems.append):
            steps += _choose_step(kind, lists, key)
    for problem in problems:
        display.problem(problem)
    if not steps:
        return Augmentation()
    preview = _preview(pairs, split, json.dumps(steps, sort_keys=True))
    if preview.problem:
        display.problem(preview.problem)
        return Augmentation()
    display.sentence(f"{preview.before:,} texts become {preview.after:,}.")
    rows: list[Sequence[object]] = []
    for kind, (n, samples) in (preview.samples or {}).items():
        rows.append([Cell(f"{_KINDS[kind].title}: {n:,}", {"colspan": 2, "scope": "rowgroup"})])
        rows += samples
    label = "Samples: original text, made text"
    st.html(html_table([], rows, look="sv-made", label=label))
    return Augmentation(tuple(steps), preview.after / max(1, preview.before))


def _demo_lists(dataset_id: str) -> Mapping[str, Sequence[str]] | None:
    if (demo := state.demo_of(dataset_id)) is None:
        return None
    return demo.word_lists() if demo.word_lists is not None else {}


def _choose_step(
    name: str, lists: Mapping[str, Sequence[str]] | None, key: str
) -> list[Mapping[str, Any]]:
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
            label, of = "Share of the training pairs, in per cent", (1, 50, kind.share)
            share = st.slider(label, *of, key=f"{key}-share", persist_state="session")
            step["share"] = share / 100
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
    if len(lines) > MAX_LINES:
        raise DatasetError(
            f"{kind.title}: {len(lines):,} lines, more than the {MAX_LINES:,} that one "
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


@state.cached(64, "Making texts")
def _preview(pairs: PairSet, split: SplitSpec, steps: str) -> Preview:
    """Return what steps make."""
    try:
        parts = split_pairs(pairs, split.by, split.fractions, split.seed, split.group_key)
        more = augmented(json.loads(steps), parts.train, (parts.validation, parts.test)).x
    except DatasetError as error:
        return Preview(problem=str(error))
    samples: dict[str, tuple[int, Sequence[tuple[str, str]]]] = {}
    if MADE_BY in more.metadata:
        by, source = more.metadata[MADE_BY], more.metadata[MADE_FROM]
        for step in json.loads(steps):
            rows = [i for i, kind in enumerate(by) if kind == step["kind"]]
            shown = rows[:: max(1, len(rows) // _SHOWN)][:_SHOWN]
            made = [(str(source[i]), str(more.content[i])) for i in shown]
            samples[step["kind"]] = len(rows), made
    return Preview(len(parts.train.x), len(more), samples)
