"""Choosing methods for a data set and training them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import augment_view, chrome, fitting, forms, plain, splits, state, train_jobs

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs import Estimate, JobSpec, SplitSpec
    from simviz.params import ParamSpec
    from simviz.pipeline import Features

STYLE = """
<style>
[class*="st-key-train-set-"] { padding-left: 1.6rem; }
/* The box that the app puts around a container, or there would be no room to stick in. */
div:has(> .st-key-train-bar) { position: sticky; bottom: 0; z-index: 2; }
.st-key-train-bar { padding: .7rem 0; }
</style>
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """What every method on the page meets.

    Parameters
    ----------
    dataset_id, digest : str
        The data set and its content.
    pairs : PairSet
        The data set.
    split : SplitSpec
        How it is split.
    one_vocabulary : bool
        Whether its sides have words in common.
    start : mapping of str to mapping
        Parameters to begin with, by method.
    marks : mapping of str to str
        What became of requests, by their digest.
    features : {"usual", "pretrained"}
        What texts become.
    augmentation : Augmentation
        What is made of the training pairs.
    """

    dataset_id: str
    digest: str
    pairs: PairSet
    split: SplitSpec
    one_vocabulary: bool
    start: Mapping[str, Mapping[str, Any]]
    marks: Mapping[str, str]
    features: Features
    augmentation: augment_view.Augmentation

    @classmethod
    def of(cls, dataset_id: str, pairs: PairSet, features: Features) -> Setting:
        """The setting of this visitor."""
        split = splits.current_split(dataset_id)
        return cls(
            dataset_id,
            _digest(dataset_id, pairs),
            pairs,
            split,
            _one_vocabulary(dataset_id, pairs),
            _demo_methods(dataset_id),
            _marks(dataset_id),
            features,
            augment_view.choose(dataset_id, pairs, split),
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """One method as it is set on the page.

    Parameters
    ----------
    title : str
        Its name.
    ticked : bool
        Whether it is wanted.
    spec : JobSpec
        The request.
    expected : Estimate
        What it will cost.
    mark : str
        "trained", "in training", or nothing.
    """

    title: str
    ticked: bool
    spec: JobSpec
    expected: Estimate
    mark: str

    @property
    def is_new(self) -> bool:
        """Whether pressing the button would train it."""
        return self.ticked and not self.mark and self.expected.reason_to_refuse is None


def show_empty() -> None:
    """No data set is chosen: lead to one."""
    st.title("Which methods?")
    st.markdown("Training needs data: bring your own pairs, or begin with a demo.")
    _show_ways_out()


def show_unknown(reason: str) -> None:
    """The data set of the link is not there for this visitor."""
    st.title("Which methods?")
    st.text(reason)
    _show_ways_out()


def show_shared() -> None:
    """A published view is for reading."""
    st.title("Which methods?")
    st.markdown("A shared view can be read, not trained on. Take your own data, or a demo.")
    _show_ways_out()


def _show_ways_out() -> None:
    from simviz.datasets import DEMOS

    with st.container(horizontal=True, vertical_alignment="center"):
        for demo, info in DEMOS.items():
            st.button(
                info.title,
                key=f"train-demo-{demo}",
                on_click=state.choose_dataset,
                args=(f"demo:{demo}",),
                icon=":material/play_arrow:",
            )
        page_link("pages/data.py", "Use my own file", ":material/upload_file:")


def page_link(path: str, label: str, icon: str, **params: str) -> None:
    """A link to a page that exists."""
    if (chrome.ROOT / path).exists():
        st.page_link(path, label=label, icon=icon, query_params=params or None)


def show_head(dataset_id: str, pairs: PairSet) -> None:
    """What is trained on, and how it is split."""
    from simviz.charts.style import get_theme

    paper = get_theme(state.theme()).paper
    st.html(STYLE + f"<style>.st-key-train-bar {{ background: {paper}; }}</style>")
    plain.style()
    st.title("Which methods?")
    n = pairs.relevance.positives.nnz
    st.html(
        f'<p class="sv-lead">{escape(pairs.name)}: {len(pairs.x):,} {escape(pairs.x_name)}, '
        f"{len(pairs.y):,} {escape(pairs.y_name)}, {n:,} matching pairs.</p>"
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        words = split_words(splits.current_split(dataset_id), pairs)
        st.html(f'<p class="sv-quiet">{escape(words)}</p>', width="content")
        page_link("pages/data.py", "Change the split", ":material/call_split:", data=dataset_id)


def split_words(split: SplitSpec, pairs: PairSet) -> str:
    """A split in a sentence."""
    train, watch, test = (f"{100 * part:.0f} %" for part in split.fractions)
    apart = {
        "pair": "no item of a test pair is known from training",
        "x": f"the test asks for new {pairs.x_name}",
        "y": f"the test asks for new {pairs.y_name}",
        "group": f"groups by {split.group_key} stay whole",
        "time": f"the test asks for the latest by {split.group_key}",
    }
    if split.by == "column":
        return f"Split as the column {split.group_key} says."
    return (
        f"Split: {train} train, {watch} watch, {test} test; {apart[split.by]}; seed {split.seed}."
    )


@st.fragment
def show_choice(dataset_id: str, pairs: PairSet) -> None:
    """Offer the methods, their parameters, and the button that trains them."""
    from simviz.methods import all_methods

    features = _choose_features(dataset_id, pairs)
    reasons = {
        method: fitting.why_not(cls, pairs, features) for method, cls in all_methods().items()
    }
    fits = [method for method, reason in reasons.items() if reason is None]
    setting = Setting.of(dataset_id, pairs, features)
    first = [m for m in setting.start if m in fits] or list(
        fitting.first_choice(fits, one_vocabulary=setting.one_vocabulary)
    )
    choices = [_show_method(m, setting, is_first=True) for m in first]
    choices += [_show_method(m, setting, is_first=False) for m in fits if m not in first]
    _show_unfit({m: reason for m, reason in reasons.items() if reason is not None})
    _show_start(choices)


def _choose_features(dataset_id: str, pairs: PairSet) -> Features:
    """What texts become; asked only where there are texts and an encoder is installed."""
    from simviz.features import why_impossible

    if "text" not in (pairs.x.kind, pairs.y.kind) or why_impossible("text", "pretrained"):
        return "usual"
    chosen: Features | None = st.segmented_control(
        "Methods read",
        list(fitting.FEATURES),
        format_func=fitting.FEATURES.__getitem__,
        default="usual",
        required=True,
        key=f"train-{dataset_id}-features",
        persist_state="session",
        help="Words and their parts, or what a sentence encoder trained on a billion English "
        "pairs makes of each text. On its vectors, every method is an adapter to your pairs.",
    )
    return chosen or "usual"


def _show_method(method: str, setting: Setting, *, is_first: bool) -> Choice:
    """One method: a box to tick with a line about it, and its parameters."""
    from simviz.jobs import JobSpec
    from simviz.methods import get_method
    from simviz.params import param_specs

    cls, dataset_id, pairs = get_method(method), setting.dataset_id, setting.pairs
    hidden = () if pairs.x.kind == pairs.y.kind else ("shared",)
    specs = forms.shown_specs(param_specs(cls), hidden)
    form: dict[str, Any] = {
        "key": f"train-{dataset_id}-{method}",
        "start": setting.start.get(method, {}),
        # Left out, this one is decided by the data: see `default_pipeline`.
        "defaults": {"shared": setting.one_vocabulary} if _has_shared(specs) else {},
    }
    params = forms.values(specs, **form)
    # What knows no pairs learns nothing from more of them.
    is_augmented = cls.tags.uses != "unsupervised" and bool(setting.augmentation.steps)
    spec = JobSpec(
        dataset_id,
        setting.digest,
        method,
        params,
        setting.split,
        workspace=state.workspace(),
        # The encoder alone reads nothing else, so its request is the same either way.
        features="usual" if cls.tags.input == "pretrained" else setting.features,
        augment=setting.augmentation.steps if is_augmented else (),
    )
    asked = json.dumps(params, sort_keys=True)
    expected = _estimate(dataset_id, method, asked, spec.features, pairs)
    if is_augmented:
        seconds = expected.seconds * setting.augmentation.growth
        expected = replace(expected, seconds=seconds)
    mark = setting.marks.get(spec.digest, "")
    shared = params.get("shared", setting.one_vocabulary)
    line = fitting.plain_line(cls, one_vocabulary=shared)
    cost = "" if expected.reason_to_refuse else f" :gray[· {fitting.duration(expected.seconds)}]"
    badge = f" :gray-badge[{mark}]" if mark else ""
    with st.container(gap="xsmall"):
        ticked = st.checkbox(
            f"**{cls.tags.title}**{cost}{badge}  \n:gray[{line}]",
            value=is_first,
            key=f"train-{dataset_id}-tick-{method}",
            persist_state="session",
            width="stretch",
        )
        if ticked:
            with st.container(key=f"train-set-{method}", gap="xsmall"):
                if expected.reason_to_refuse:
                    plain.problem(expected.reason_to_refuse)
                if specs:
                    label = "Parameters" + (f": {forms.in_words(params)}" if params else "")
                    with st.expander(label, key=f"{form['key']}:form", type="compact"):
                        forms.show(specs, **form)
    return Choice(cls.tags.title, ticked, spec, expected, mark)


def _has_shared(specs: Iterable[ParamSpec]) -> bool:
    return any(spec.name == "shared" for spec in specs)


def _show_start(choices: Iterable[Choice]) -> None:
    """What it will cost, and the one button."""
    ticked = [choice for choice in choices if choice.ticked]
    new = [choice for choice in ticked if choice.is_new]
    there = [c for c in ticked if c.mark]
    with st.container(key="train-bar", horizontal=True, vertical_alignment="center"):
        n = len(new)
        pressed = st.button(
            f"Train {n} method{'' if n == 1 else 's'}" if n else "Train",
            type="primary",
            key="train-start",
            disabled=not n,
            icon=":material/model_training:",
        )
        words = []
        if new:
            # Two run at once; the slowest sets the pace where it is alone.
            seconds = [choice.expected.seconds for choice in new]
            expected = max(max(seconds), sum(seconds) / 2)
            needed = sum(sorted(choice.expected.bytes for choice in new)[-2:])
            words.append(
                f"{fitting.duration(expected)} in all, up to {fitting.memory(needed)} of memory."
            )
        for mark in dict.fromkeys(c.mark for c in there):
            titles = [choice.title for choice in there if choice.mark == mark]
            names = " and ".join(", ".join(titles).rsplit(", ", 1))
            words.append(f"{'Already' if mark == 'trained' else 'Now'} {mark}: {names}.")
        if not ticked:
            words.append("Tick a method to train it.")
        text = " ".join(words)
        plain.quiet(text[:1].upper() + text[1:])
    if pressed:
        train_jobs.submit(choice.spec for choice in new)


def _show_unfit(reasons: Mapping[str, str]) -> None:
    """The methods that these data do not suit, and why."""
    from simviz.methods import get_method

    if not reasons:
        return
    st.markdown("##### Not for these data")
    for method, reason in reasons.items():
        st.checkbox(
            f"**{get_method(method).tags.title}**  \n:gray[{reason}]",
            key=f"train-unfit-{method}",
            disabled=True,
            width="stretch",
        )


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
def _digest(dataset_id: str, _pairs: PairSet) -> str:
    return _pairs.digest


@st.cache_data(show_spinner=False, max_entries=64)
def _one_vocabulary(dataset_id: str, _pairs: PairSet) -> bool:
    from simviz.pipeline import same_vocabulary

    return same_vocabulary(_pairs)


@st.cache_data(show_spinner=False, max_entries=2_000, ttl=3_600)
def _estimate(
    dataset_id: str, method: str, params: str, features: Features, _pairs: PairSet
) -> Estimate:
    """What training will cost; free memory, which it counts, changes with the hour."""
    from simviz.jobs import estimate

    return estimate(method, _pairs, json.loads(params), features)
