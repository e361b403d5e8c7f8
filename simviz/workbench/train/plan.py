"""What the Train page is about to ask for: settings of the page, and a plan for each method."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.exceptions import DatasetError
from simviz.workbench.shell import display, settings, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs import Estimate, JobSpec, SplitSpec
    from simviz.pipeline import Features

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
    kinds = _kinds(dataset_id)
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
                step = _show_step(kind, dataset_id, key)
            except DatasetError as error:
                problems.append(str(error))
                continue
            if step is not None:
                steps.append(step)
        for problem in problems:
            display.problem(problem)
        if not steps:
            return Augmentation()
        asked = json.dumps(steps, sort_keys=True)
        found = _preview(dataset_id, pairs, split, asked)
        if found.problem:
            display.problem(found.problem)
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
        display.quiet("Write at least one line.")
        return None
    from_json([step])  # refuses what is wrong
    return step


def _lines(kind: str, name: str, dataset_id: str, key: str) -> list[str]:
    """Lines of a list: the demo's own, or what the visitor writes."""
    if dataset_id.startswith("demo:"):
        own = list(_lists(dataset_id)[name])
        some = ", ".join(own[:5])
        display.quiet(f"The demo's own list, {len(own):,} entries: {some}, …")
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
    display.said(f"{found.before:,} texts become {found.after:,}.")
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


@dataclass(frozen=True, slots=True)
class Setting:
    """What every method on the page meets."""

    dataset_id: str
    digest: str
    pairs: PairSet
    split: SplitSpec
    one_vocabulary: bool
    start: Mapping[str, Mapping[str, Any]]
    marks: Mapping[str, str]
    features: Features
    augmentation: Augmentation

    @classmethod
    def of(cls, dataset_id: str, pairs: PairSet, features: Features) -> Setting:
        """The setting of this visitor."""
        split = settings.current_split(dataset_id)
        return cls(
            dataset_id,
            digest_of(dataset_id, pairs),
            pairs,
            split,
            _one_vocabulary(dataset_id, pairs),
            _demo_methods(dataset_id),
            _marks(dataset_id),
            features,
            choose(dataset_id, pairs, split),
        )

    def spec(self, method: str, params: Mapping[str, Any]) -> JobSpec:
        """The request for one method."""
        from simviz.jobs import JobSpec
        from simviz.methods import get_method

        tags = get_method(method).tags
        # What knows no pairs learns nothing from more of them, and the encoder
        # alone reads nothing else: their requests are the same either way.
        steps = () if tags.uses == "unsupervised" else self.augmentation.steps
        return JobSpec(
            self.dataset_id,
            self.digest,
            method,
            dict(params),
            self.split,
            workspace=state.workspace(),
            features="usual" if tags.input == "pretrained" else self.features,
            augment=steps,
        )

    def task(self, spec: JobSpec) -> Task:
        """A request with what it costs, and whether it was made before."""
        from simviz.methods import get_method

        params = dict(spec.params)
        if get_method(spec.method).tags.space == "either":
            params.setdefault("shared", self.one_vocabulary)  # or all pairs are read to tell
        asked = json.dumps(params, sort_keys=True)
        expected = _estimate(self.digest, spec.method, asked, spec.features, self.pairs)
        if spec.augment:
            expected = replace(expected, seconds=expected.seconds * self.augmentation.growth)
        return Task(spec, expected, self.marks.get(spec.digest, ""))


@dataclass(frozen=True, slots=True)
class Task:
    """One training that may be asked for."""

    spec: JobSpec
    expected: Estimate
    mark: str

    @property
    def is_new(self) -> bool:
        """Whether asking for it would train something."""
        return not self.mark and self.expected.reason_to_refuse is None


@dataclass(frozen=True, slots=True)
class Choice:
    """One method as it is set on the page."""

    method: str
    title: str
    ticked: bool
    tasks: tuple[Task, ...]
    once: Task


def total(tasks: Sequence[Task]) -> tuple[float, float]:
    """Seconds and bytes of several trainings: two run at once."""
    seconds = [task.expected.seconds for task in tasks]
    needed = sum(sorted(task.expected.bytes for task in tasks)[-2:])
    return max(max(seconds), sum(seconds) / 2), needed


def swept(
    spec: JobSpec, lists: Mapping[str, Iterable[Any]], n_splits: int, usual: Mapping[str, Any]
) -> list[JobSpec]:
    """Every combination of values, on so many random splits."""
    from itertools import product

    made = []
    for values in product(*lists.values()):
        varied = dict(zip(lists, values, strict=True))
        params = {**spec.params, **varied}
        kept = {n: v for n, v in params.items() if n not in varied or usual.get(n, ...) != v}
        for i in range(n_splits):
            split = replace(spec.split, seed=spec.split.seed + i)
            made.append(replace(spec, params=kept, split=split))
    return made


def _marks(dataset_id: str) -> dict[str, str]:
    """What became of requests: trained, or in training."""
    marks = {
        status.id.rpartition("-")[0]: "in training"
        for status in state.queue().jobs(state.workspace())
        if status.is_active
    }
    return marks | {run.id: "trained" for run in state.runs(dataset_id)}


def _demo_methods(dataset_id: str) -> Mapping[str, Mapping[str, Any]]:
    """What a demo recommends: method to parameters."""
    from simviz.datasets import DEMOS

    demo = dataset_id.removeprefix("demo:")
    return DEMOS[demo].methods if demo != dataset_id and demo in DEMOS else {}


# The id of a data set stands for its content, which is hashed anew at every asking.
@st.cache_data(show_spinner=False, max_entries=64)
def digest_of(dataset_id: str, _pairs: PairSet) -> str:
    """Digest of a data set, taken once."""
    return _pairs.digest


@st.cache_data(show_spinner=False, max_entries=64)
def _one_vocabulary(dataset_id: str, _pairs: PairSet) -> bool:
    from simviz.pipeline import same_vocabulary

    return same_vocabulary(_pairs)


@st.cache_data(show_spinner=False, max_entries=2_000, ttl=3_600)
def _estimate(
    digest: str, method: str, params: str, features: Features, _pairs: PairSet
) -> Estimate:
    """What training will cost; free memory, which it counts, changes with the hour."""
    from simviz.jobs import estimate

    return estimate(method, _pairs, json.loads(params), features)


@st.cache_data(show_spinner=False, max_entries=500, ttl=3_600)
def search_cost(dataset_id: str, asked: str, _spec: JobSpec, _pairs: PairSet) -> Estimate:
    """What a search will cost."""
    from simviz.jobs import estimate_search

    return estimate_search(_spec, _pairs)
