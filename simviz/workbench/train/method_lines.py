"""A line for each method: what it is, what it costs, and how it is trained."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from numbers import Real
from typing import Any

import streamlit as st

from simviz.base import PairModel
from simviz.data.cells import counted
from simviz.data.pairs import PairSet
from simviz.features import why_impossible
from simviz.jobs import Cost, JobSpec, search_spec
from simviz.method_cards import FAMILIES
from simviz.methods import get_method
from simviz.params import ParamSpec, interval, param_specs
from simviz.pipeline import Features, encoder_of, same_vocabulary, why_no_adapter
from simviz.workbench.data import split
from simviz.workbench.shell import display, forms, preferences, progress, runs, state
from simviz.workbench.train import augment, jobs

#: Ticked at first where they fit: one of each line, the first that fits.
FIRST_CHOICES: tuple[tuple[str, ...], ...] = (
    ("tfidf_cosine", "bm25"),
    ("cca",),
    ("s2net", "opca", "heterogeneous_svd", "cl_lsi"),
)
#: The same where vectors of one space are read: what they are worth alone, a map that stays near
#: that, and CCA.
FIRST_ON_VECTORS = (("cosine",), ("ridge_identity",), ("cca",))
#: Compared by their numbers of dimensions: those of Yih et al. (2011), and PLTM.
BY_DIMENSIONS = ("cl_lsi", "cca", "opca", "cplsa", "jplsa", "pltm", "s2net")
#: What a line adds where a method learns from something else than relevant pairs.
NEEDS = {
    "unsupervised": "; needs no pairs",
    "paired": "",
    "discriminative": "; learns from other pairs too",
}
INPUTS = {"trigrams": "groups of three characters"}
PRESETS = {"": "Default", "paper": "As in the paper"}
#: How a ticked method is trained, as the page asks for it.
ONCE, SWEEP, SEARCH = "once", "sweep", "search"
WAYS = {ONCE: "Once", SWEEP: "Several values", SEARCH: "Find best values"}
_WAY_LABELS = {SWEEP: "Several values", SEARCH: "Best values by validation"}
_FOLDS = {1: "the validation part", 3: "3 folds", 5: "5 folds", 10: "10 folds"}
#: Pixels of a method's title; what tells it apart begins behind it, in line with that of others.
_TITLE = 215
#: Parameters that are varied first, where a method has them.
_VARIED_FIRST = ("n_components", "regularization")
#: Values of a parameter, settings of a search and splits of a sweep, at most.
_MAX_VALUES, _MAX_SETTINGS, _MAX_SPLITS = 30, 40, 10
#: Values to try of each parameter.
Lists = Mapping[str, list[Any]]


class Setting:
    """What every method on the page meets."""

    def __init__(self, dataset_id: str, pairs: PairSet, features: Features) -> None:
        self.dataset_id, self.pairs = dataset_id, pairs
        self.split = preferences.current_split(dataset_id)
        #: Why nothing can be trained on it; empty where something can.
        self.problem = split.parts_of(pairs, self.split).problem
        self.one_vocabulary = _one_vocabulary(pairs)
        demo = state.demo_of(dataset_id)
        #: What a demo recommends: method to parameters.
        self.start: Mapping[str, Mapping[str, Any]] = demo.methods if demo else {}
        #: What became of requests, by their digests.
        self.marks = {job.digest: "in training" for job in state.jobs() if job.is_active}
        self.marks |= {run.id: "trained" for run in state.runs(dataset_id)}
        is_encoded = encoder_of(features)[0] and pairs.x.kind == pairs.y.kind == "text"
        are_vectors = pairs.x.kind == pairs.y.kind == "vector" and self.one_vocabulary
        #: Whether methods adapt vectors of one space.
        self.on_vectors = is_encoded or are_vectors
        self.features, self.augmentation = augment.choose(dataset_id, pairs, self.split, features)

    def spec(self, method: str, params: Mapping[str, Any]) -> JobSpec:
        """The request for one method."""
        tags = get_method(method).tags
        # What knows no pairs learns nothing from more of them, and what is made for an
        # encoder's vectors reads nothing else: their requests are the same either way.
        steps = () if tags.uses == "unsupervised" else self.augmentation.steps
        # So are those of what reads neither an encoder's vectors nor terms, but for a column
        # that is read with the texts.
        features = self.features
        if tags.input == "pretrained" and not encoder_of(features)[1]:
            features = "usual"
        if tags.input in ("characters", "trigrams"):
            column = None if isinstance(features, str) else features.get("x_column")
            features = {"x_column": column} if column else "usual"
        return JobSpec(
            self.dataset_id,
            self.pairs.digest,
            method,
            dict(params),
            self.split,
            workspace=state.workspace(),
            features=features,
            augment=steps,
        )

    def task(self, spec: JobSpec) -> Task:
        """A request with what it costs, and whether it was made before."""
        params = dict(spec.params)
        if get_method(spec.method).tags.space == "either":
            params.setdefault("shared", self.one_vocabulary)  # or all pairs are read to decide it
        key = json.dumps([self.pairs.digest, spec.method, params, spec.features], sort_keys=True)
        expected = _cost(key, replace(spec, params=params), self.pairs)
        if spec.augment:
            expected = replace(expected, seconds=expected.seconds * self.augmentation.growth)
        return Task(spec, expected, self.marks.get(spec.digest, ""))


@dataclass(frozen=True, slots=True)
class Task:
    """One training that may be asked for."""

    spec: JobSpec
    expected: Cost
    mark: str

    @property
    def is_new(self) -> bool:
        """Whether asking for it would train something."""
        return not self.mark and self.expected.reason_to_refuse is None


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """One method as it is set on the page."""

    method: str
    title: str
    ticked: bool
    tasks: tuple[Task, ...]
    once: Task


def show_families(methods: Sequence[str], setting: Setting) -> list[MethodChoice]:
    """Lines of methods below the names of their families."""
    choices = []
    for family, name in FAMILIES.items():
        if members := [method for method in methods if get_method(method).tags.family == family]:
            st.html(f'<p class="sv-family">{escape(name)}</p>')
            choices += show_lines(members, setting, ticked=False)
    return choices


def show_lines(methods: Sequence[str], setting: Setting, *, ticked: bool) -> list[MethodChoice]:
    """A line for each method."""
    choices = []
    how: Any = {"horizontal": True, "vertical_alignment": "center", "gap": "small"}
    for method in methods:
        with st.container(**how, wrap=False, key=f"train-line-{method}"):
            choices.append(_show_line(method, setting, ticked=ticked))
    return choices


def tick_key(dataset_id: str, method: str) -> str:
    """Return the key of the box that wants a method."""
    return f"train-{dataset_id}-tick-{method}"


def _show_line(method: str, setting: Setting, *, ticked: bool) -> MethodChoice:
    cls, pairs = get_method(method), setting.pairs
    hidden = () if pairs.x.kind == pairs.y.kind else ("shared",)
    specs = forms.shown_specs(param_specs(cls), hidden)
    has_shared = any(spec.name == "shared" for spec in specs)
    own = f"train-{setting.dataset_id}-{method}"
    preset_name = st.session_state.get(f"{own}-preset", "")
    preset, start = cls.presets.get(preset_name, {}), setting.start.get(method, {})
    form: dict[str, Any] = {
        "key": f"{own}-{preset_name}" if preset_name else own,  # each preset has inputs of its own
        # What a demo recommends was found for the usual values, but for the size.
        "start": {n: v for n, v in start.items() if not preset or n == "n_components"}
        | dict(preset),
        # Left out, this one is decided by the data: see `default_pipeline`.
        "defaults": {"shared": setting.one_vocabulary} if has_shared else {},
    }
    params = forms.values(specs, **form)
    once = setting.task(setting.spec(method, params))
    tasks: tuple[Task, ...] = (once,)
    refused = once.expected.reason_to_refuse
    text = [once.mark.capitalize()] * bool(once.mark) + [summary_line(cls)]
    if not refused:
        text.append(progress.duration(once.expected.seconds))
    key = tick_key(setting.dataset_id, method)
    # Not as the box's own default: the button that ticks all of them sets it, too.
    st.session_state.setdefault(key, ticked)
    # The whole label is the accessible name, marks and all.
    is_ticked = st.checkbox(cls.tags.title, key=key, persist_state="session", width=_TITLE)
    st.caption(" · ".join(text), width="stretch")
    if is_ticked:
        if refused:
            display.problem(refused)
        if specs:
            label = _WAY_LABELS.get(st.session_state.get(f"{own}-way", ONCE), "Parameters")
            if label == "Parameters" and params:
                is_preset = bool(preset) and preset.items() <= params.items()
                others = {n: v for n, v in params.items() if not (is_preset and n in preset)}
                said = ["as in the paper"] * is_preset + [forms.describe(others)] * bool(others)
                label += f": {', '.join(said)}"
            with st.popover(
                label,
                # Another key is another popover, a closed one: what was asked for is in sight.
                key=f"{own}:form-{st.session_state.get(jobs.N_SUBMITTED, 0)}",
                icon=":material/tune:",
                type="tertiary",
                wrap=True,
            ):
                if cls.presets:
                    about = f"Values that do well here, or those of {cls.tags.reference}."
                    forms.segments("Values", PRESETS, f"{own}-preset", help=about)
                tasks = _show_settings(specs, form, once, setting)
    return MethodChoice(method, cls.tags.title, is_ticked, tasks, once)


def _show_settings(
    specs: Sequence[ParamSpec], form: dict[str, Any], once: Task, setting: Setting
) -> tuple[Task, ...]:
    key = f"train-{setting.dataset_id}-{once.spec.method}"
    text = (
        "Once with the parameters below; a run for each of several values; or the best values by "
        "held-out pairs."
    )
    way = forms.segments("Train", WAYS, f"{key}-way", help=text)
    if way == ONCE:
        forms.show(specs, **form, columns=2)
        return (once,)
    begin = {s.name: s.default for s in specs} | form["defaults"] | form["start"]
    start = begin | dict(once.spec.params)
    varied = [spec for spec in specs if way == SWEEP or spec.name != "shared"]
    values = _choose_values(varied, start, f"{form['key']}-{way}")
    if values and way == SWEEP:
        return _show_sweep(values, once, setting, form)
    if values:
        _show_search(values, once, setting, f"{form['key']}-search")
    return ()


def _choose_values(specs: Sequence[ParamSpec], start: Mapping[str, Any], key: str) -> Lists:
    by_name = {spec.name: spec for spec in specs}
    names = st.multiselect(
        "Vary",
        **forms.session_options(list(by_name), f"{key}-vary"),
        default=default_names(specs),
        help="Each combination of the values below is tried.",
    )
    try:
        return {n: _choose_values_of(by_name[n], start[n], f"{key}-{n}") for n in names}
    except ValueError as error:
        display.problem(error)
        return {}


def _choose_values_of(spec: ParamSpec, begin: Any, key: str) -> list[Any]:
    suggestion = suggested(spec, begin)
    if spec.kind in ("int", "float"):
        text = st.text_input(
            f"Values of {spec.name}",
            value=", ".join(f"{value:g}" for value in suggestion),
            key=key,
            max_chars=400,
            persist_state="session",
        )
        return read_values(spec, text)
    labels = {value: forms.describe({"": value}).strip() for value in suggestion}
    how = forms.session_options(labels, key)
    values = st.multiselect(f"Values of {spec.name}", **how, default=suggestion)
    if not values:
        raise ValueError(f"Choose at least one value of {spec.name}.")
    return list(values)


def _show_sweep(
    values: Lists, once: Task, setting: Setting, form: dict[str, Any]
) -> tuple[Task, ...]:
    """Return a task for every combination, on as many splits as are wanted."""
    cls = get_method(once.spec.method)
    n_splits = 1
    if setting.split.by not in ("column", "time"):
        n_splits = st.number_input(
            "Random splits",
            min_value=1,
            max_value=_MAX_SPLITS,
            value=1,
            key=f"{form['key']}-splits",
            persist_state="session",
            help="Trains each on several random splits, with consecutive seeds.",
        )
    default_values = {spec.name: spec.default for spec in param_specs(cls)} | form["defaults"]
    specs = swept(once.spec, values, int(n_splits), default_values)
    if len(specs) > jobs.MAX_RUNS:
        display.problem(
            f"{len(specs)} runs at once; at most {jobs.MAX_RUNS} are. Choose fewer values."
        )
        return ()
    if cls.tags.nested and "n_components" in values:
        largest = max(values["n_components"])
        display.quiet(
            f"One run of {largest:,} dimensions also measures the smaller ones (curve in Compare)."
        )
    return tuple(setting.task(spec) for spec in specs)


@display.problems()
def _show_search(values: Lists, once: Task, setting: Setting, key: str) -> None:
    folds = st.selectbox(
        "Measured on",
        **forms.session_options(_FOLDS, f"{key}-folds"),
        help="Never the test part. Folds are of train and validation together: slower, less "
        "random.",
    )
    n_all = math.prod(map(len, values.values()))
    n = min(n_all, _MAX_SETTINGS)
    if n < n_all:
        display.quiet(f"{n_all:,} combinations; {n} of them are drawn at random.")
    metric = runs.default_metric_of(setting.dataset_id, setting.pairs)
    if once.spec.augment:
        display.quiet("Searched without augmentation.")
    plain, n_iter = replace(once.spec, augment=()), n if n < n_all else None
    spec = search_spec(plain, values, folds=folds, metric=metric, n_iter=n_iter)
    cost = _cost(json.dumps(spec.to_json(), sort_keys=True), spec, setting.pairs)
    if cost.reason_to_refuse:
        display.problem(cost.reason_to_refuse)
        return
    display.quiet(
        f"{counted(n, 'setting')} by {metric}, {progress.duration(cost.seconds)}, up "
        f"to {memory(cost.bytes)} of memory."
    )
    off = setting.problem != "" or setting.marks.get(spec.digest) == "in training"
    if forms.button("Find the best values", f"{key}-start", icon="target", disabled=off):
        jobs.submit([spec])


def why_not(
    cls: type[PairModel],
    pairs: PairSet,
    features: Features = "usual",
    n_rejected: int | None = None,
) -> str | None:
    """Return why a method does not fit a data set, in one sentence; None where it fits."""
    # What training has of the pairs judged not relevant, if that is known.
    tags = cls.tags
    if reason := tags.why_missing():
        return reason
    if features != "usual" and why_no_adapter(tags):
        return f"Reads {INPUTS.get(tags.input, tags.input)}, not an encoder's vectors."
    for side in (pairs.x, pairs.y):
        content = side.content if side.kind == "vector" else None
        if reason := why_impossible(side.kind, tags.input, content=content):
            return reason
    if tags.space == "one" and pairs.x.kind != pairs.y.kind:
        return f"Compares items of one kind, not {pairs.x.kind} with {pairs.y.kind} items."
    relevance = pairs.relevance
    if tags.uses != "unsupervised" and not relevance.positives.nnz:
        return "Needs relevant pairs; these data have none."
    if tags.uses == "discriminative" and relevance.unjudged == "ignore":
        if not relevance.negatives.nnz:
            return "Needs pairs judged not relevant; these data have none."
        if n_rejected == 0:
            return "Needs pairs judged not relevant; this split leaves none for training."
    return None


def first_choice(
    fitting: Sequence[str], *, one_vocabulary: bool, on_vectors: bool = False
) -> tuple[str, ...]:
    """Return the methods recommended: a quick baseline, CCA, and one more."""
    lines = FIRST_CHOICES if one_vocabulary else FIRST_CHOICES[1:]
    if on_vectors:
        lines = FIRST_ON_VECTORS
    firsts = (next((m for m in line if m in fitting), "") for line in lines)
    return tuple(filter(None, firsts))


def summary_line(cls: type[PairModel]) -> str:
    """Return what tells a method apart, from its docstring and tags."""
    summary = (inspect.getdoc(cls) or "").partition("\n")[0].rstrip(".")
    # "CCA: directions on which …" says the name again, which stands beside it.
    learns = summary.rpartition(": ")[2]
    return f"{learns[:1].upper()}{learns[1:]}{NEEDS[cls.tags.uses]}"


def total(tasks: Sequence[Task]) -> tuple[float, float]:
    """Return seconds and bytes of several trainings: two run at once."""
    seconds = [task.expected.seconds for task in tasks]
    needed = sum(sorted(task.expected.bytes for task in tasks)[-2:])
    return max(max(seconds), sum(seconds) / 2), needed


def memory(n_bytes: float) -> str:
    """Return a rough size in words."""
    return f"{max(0.1, n_bytes / 1e9):.1f} GB"


def default_names(specs: Sequence[ParamSpec]) -> list[str]:
    """Return the parameters to vary where nobody says which."""
    names = [spec.name for spec in specs]
    first = [name for name in _VARIED_FIRST if name in names]
    numbers = [s.name for s in specs if s.kind in ("int", "float") and s.name != "random_state"]
    return first or numbers[:1]


def suggested(spec: ParamSpec, begin: Any) -> list[Any]:
    """Return values worth trying around the one that is set."""
    if spec.kind == "bool":
        return [True, False]
    if spec.kind == "choice":
        return list(spec.choices)
    low, high = (math.inf if bound is None else bound for bound in (spec.low, spec.high))
    if spec.kind == "float" and math.isfinite(low) and math.isfinite(high):
        values = [low + (high - low) / 4 * i for i in range(5)]
    elif spec.name == "learning_rate":
        values = [(begin or 0.1) * factor for factor in (0.1, 0.3, 1, 3)]
    elif spec.kind == "float":
        values = [(begin or 1.0) * 10.0**i for i in (-2, -1, 0, 1)]
    elif spec.name == "random_state":
        values = [0, 1, 2]
    else:
        values = [round((begin or 50) * 2.0**i) for i in (-3, -2, -1, 0, 1)]
    make = int if spec.kind == "int" else lambda v: float(f"{v:.6g}")
    return list(dict.fromkeys(make(v) for v in values if _is_allowed(spec, v)))


def read_values(spec: ParamSpec, text: str) -> list[Any]:
    """Return values written in a line, apart by commas or spaces."""
    make: Any = int if spec.kind == "int" else float
    values = []
    for word in text.replace(",", " ").replace(";", " ").split():
        try:
            value = make(word)
        except ValueError:
            kind = "whole number" if spec.kind == "int" else "number"
            raise ValueError(f"“{word}” is no {kind}. Write such as 25, 50, 100.") from None
        if not _is_allowed(spec, value):
            raise ValueError(f"{spec.name} cannot be {word}.")
        values.append(value)
    values = list(dict.fromkeys(values))
    if not values:
        raise ValueError(f"Write at least one value of {spec.name}.")
    if len(values) > _MAX_VALUES:
        raise ValueError(f"{len(values)} values of {spec.name}; at most {_MAX_VALUES} are tried.")
    return values


def _is_allowed(spec: ParamSpec, value: float) -> bool:
    allowed: Any = interval(Real, spec.low, spec.high, closed=spec.closed)
    return math.isfinite(value) and value in allowed


def swept(
    spec: JobSpec, lists: Mapping[str, Iterable[Any]], n_splits: int, defaults: Mapping[str, Any]
) -> list[JobSpec]:
    """Return every combination of values, on so many random splits."""
    specs = []
    for values in product(*lists.values()):
        varied = dict(zip(lists, values, strict=True))
        params = {**spec.params, **varied}
        fixed = {n: v for n, v in params.items() if n not in varied or defaults.get(n, ...) != v}
        for i in range(n_splits):
            split = replace(spec.split, seed=spec.split.seed + i)
            specs.append(replace(spec, params=fixed, split=split))
    return specs


@state.cached(64)
def _one_vocabulary(pairs: PairSet) -> bool:
    return same_vocabulary(pairs)


@st.cache_data(show_spinner=False, max_entries=2_500, ttl=3_600)
def _cost(key: str, _spec: JobSpec, _pairs: PairSet) -> Cost:
    return _spec.estimate(_pairs)
