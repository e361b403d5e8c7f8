"""A card for each method: what it is, what it costs, and how it is trained."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.params import ParamSpec
from simviz.workbench.shell import display, forms, runs
from simviz.workbench.train import jobs, plan
from simviz.workbench.train.plan import Choice, Setting, Task

if TYPE_CHECKING:
    from simviz.base import PairModel
    from simviz.data.pairs import PairSet
    from simviz.pipeline import Features

if TYPE_CHECKING:
    from simviz.jobs import JobSpec

#: Parameters that are varied first, where a method has them.
_FIRST = ("n_components", "regularization")
_MOST = 30


class Values(NamedTuple):
    """What a visitor wants tried."""

    lists: Mapping[str, list[Any]]
    problem: str = ""

    @property
    def n(self) -> int:
        """How many combinations that is."""
        return math.prod(len(values) for values in self.lists.values()) if self.lists else 0


def usual_names(specs: Sequence[ParamSpec]) -> list[str]:
    """The parameters to vary where nobody says which."""
    names = [spec.name for spec in specs]
    found = [name for name in _FIRST if name in names]
    numbers = [s.name for s in specs if s.kind in ("int", "float") and s.name != "random_state"]
    return found or numbers[:1]


def suggested(spec: ParamSpec, begin: Any) -> list[Any]:
    """Values worth trying around the one that is set."""
    if spec.kind == "bool":
        return [True, False]
    if spec.kind == "choice":
        return list(spec.choices)
    low, high = (math.inf if bound is None else bound for bound in (spec.low, spec.high))
    if spec.kind == "float" and math.isfinite(low) and math.isfinite(high):
        found = [low + (high - low) / 4 * i for i in range(5)]
    elif spec.kind == "float":
        middle = begin or 1.0
        found = [middle * 10.0**i for i in (-2, -1, 0, 1)]
    elif spec.name == "random_state":
        found = [0, 1, 2]
    else:
        middle = begin or 50
        found = [round(middle * 2.0**i) for i in (-3, -2, -1, 0, 1)]
    make = int if spec.kind == "int" else lambda v: float(f"{v:.6g}")
    return list(dict.fromkeys(make(v) for v in found if _is_allowed(spec, v)))


def read(spec: ParamSpec, text: str) -> list[Any]:
    """Values written in a line, apart by commas or spaces."""
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
    if len(values) > _MOST:
        raise ValueError(f"{len(values)} values of {spec.name}; at most {_MOST} are tried.")
    return values


def ask(specs: Sequence[ParamSpec], start: Mapping[str, Any], *, key: str) -> Values:
    """Ask which parameters to vary, and over which values."""
    by_name = {spec.name: spec for spec in specs}
    names = st.multiselect(
        "Vary",
        list(by_name),
        default=usual_names(specs),
        key=f"{key}-vary",
        persist_state="session",
        help="Each combination of the values below is tried.",
    )
    lists: dict[str, list[Any]] = {}
    for name in names:
        spec = by_name[name]
        begin = start.get(name, spec.default)
        try:
            lists[name] = _ask_values(spec, begin, f"{key}-{name}")
        except ValueError as error:
            display.problem(error)
            return Values({}, str(error))
    return Values(lists, "" if lists else "Choose at least one parameter to vary.")


def _ask_values(spec: ParamSpec, begin: Any, key: str) -> list[Any]:
    usual = suggested(spec, begin)
    if spec.kind in ("int", "float"):
        text = st.text_input(
            f"Values of {spec.name}",
            value=", ".join(f"{value:g}" for value in usual),
            key=key,
            max_chars=400,
            persist_state="session",
        )
        return read(spec, text)
    chosen = st.multiselect(
        f"Values of {spec.name}",
        usual,
        default=usual,
        format_func=lambda value: forms.in_words({"": value}).strip(),
        key=key,
        persist_state="session",
    )
    if not chosen:
        raise ValueError(f"Choose at least one value of {spec.name}.")
    return list(chosen)


def _is_allowed(spec: ParamSpec, value: float) -> bool:
    if not math.isfinite(value):
        return False
    open_low, open_high = spec.closed in ("right", "neither"), spec.closed in ("left", "neither")
    above = spec.low is None or value > spec.low or (value == spec.low and not open_low)
    below = spec.high is None or value < spec.high or (value == spec.high and not open_high)
    return above and below


#: Cards side by side where there is room.
_COLUMNS = 3
#: How a ticked method is trained, as the page asks for it.
ONCE, SWEEP, SEARCH = "once", "sweep", "search"
WAYS = {ONCE: "Once", SWEEP: "Several values", SEARCH: "Best values"}
_FOLDS = {1: "the validation part", 3: "3 folds", 5: "5 folds", 10: "10 folds"}
_MOST_SPLITS = 10


def show_cards(methods: Sequence[str], setting: Setting, *, ticked: bool) -> list[Choice]:
    """Cards in rows."""
    choices = []
    for start in range(0, len(methods), _COLUMNS):
        row = methods[start : start + _COLUMNS]
        for column, method in zip(st.columns(_COLUMNS, gap="small"), row, strict=False):
            with column.container(
                border=True, height="stretch", key=f"train-card-{method}", gap="xsmall"
            ):
                choices.append(_show_card(method, setting, ticked=ticked))
    return choices


def show_unfit(reasons: Iterable[tuple[str, str]]) -> None:
    """Methods that the data do not suit, each with the reason."""
    from simviz.methods import get_method

    for method, reason in reasons:
        st.checkbox(
            f"**{get_method(method).tags.title}**  \n:gray[{reason}]",
            key=f"train-unfit-{method}",
            disabled=True,
            width="stretch",
        )


def tick_key(dataset_id: str, method: str) -> str:
    """Key of the box that wants a method."""
    return f"train-{dataset_id}-tick-{method}"


def _show_card(method: str, setting: Setting, *, ticked: bool) -> Choice:
    from simviz.methods import get_method
    from simviz.params import param_specs

    cls, pairs = get_method(method), setting.pairs
    hidden = () if pairs.x.kind == pairs.y.kind else ("shared",)
    specs = forms.shown_specs(param_specs(cls), hidden)
    form: dict[str, Any] = {
        "key": f"train-{setting.dataset_id}-{method}",
        "start": setting.start.get(method, {}),
        # Left out, this one is decided by the data: see `default_pipeline`.
        "defaults": {"shared": setting.one_vocabulary} if _has_shared(specs) else {},
    }
    params = forms.values(specs, **form)
    once = setting.task(setting.spec(method, params))
    tasks: tuple[Task, ...] = (once,)
    shared = params.get("shared", setting.one_vocabulary)
    line = plain_line(cls, one_vocabulary=shared)
    refused = once.expected.reason_to_refuse
    cost = "" if refused else f" :gray[· {duration(once.expected.seconds)}]"
    badge = f" :gray-badge[{once.mark}]" if once.mark else ""
    key = tick_key(setting.dataset_id, method)
    # Not as the box's own default: the button that ticks all of them sets it, too.
    st.session_state.setdefault(key, ticked)
    wanted = st.checkbox(
        f"**{cls.tags.title}**{cost}{badge}  \n:gray[{line}]",
        key=key,
        persist_state="session",
        width="stretch",
    )
    if wanted:
        if refused:
            display.problem(refused)
        if specs:
            way = st.session_state.get(f"{form['key']}-way", ONCE)
            with st.popover(
                _label(way, params),
                # Another key is another popover, a closed one: what was asked for is in sight.
                key=f"{form['key']}:form-{st.session_state.get(jobs.TURN, 0)}",
                icon=":material/tune:",
                type="tertiary",
                wrap=True,
            ):
                tasks = _show_settings(specs, form, once, setting)
    return Choice(method, cls.tags.title, wanted, tasks, once)


def _label(way: str, params: dict[str, Any]) -> str:
    words = f": {forms.in_words(params)}" if params else ""
    return {SWEEP: "Several values", SEARCH: "Best values by validation"}.get(
        way, f"Parameters{words}"
    )


def _show_settings(
    specs: Sequence[ParamSpec], form: dict[str, Any], once: Task, setting: Setting
) -> tuple[Task, ...]:
    """The parameters, and how often and with which values the method is trained."""
    key = form["key"]
    way = st.segmented_control(
        "Train it",
        list(WAYS),
        format_func=WAYS.__getitem__,
        default=ONCE,
        required=True,
        key=f"{key}-way",
        persist_state="session",
        help="Once, with the parameters below. With several values of some of them, a run for "
        "each. Or let pairs that are held out choose the best values first.",
    )
    if way == ONCE:
        forms.show(specs, **form, columns=2)
        return (once,)
    begin = {s.name: s.default for s in specs} | form["defaults"] | form["start"]
    start = begin | dict(once.spec.params)
    varied = [spec for spec in specs if way == SWEEP or spec.name != "shared"]
    asked = ask(varied, start, key=f"{key}-{way}")
    if asked.problem:
        return ()
    if way == SWEEP:
        return _show_sweep(asked, once, setting, form)
    _show_search(asked, once, setting, form)
    return ()


def _show_sweep(
    asked: Values, once: Task, setting: Setting, form: dict[str, Any]
) -> tuple[Task, ...]:
    from simviz.methods import get_method
    from simviz.params import param_specs

    cls = get_method(once.spec.method)
    n_splits = 1
    if setting.split.by not in ("column", "time"):
        n_splits = st.number_input(
            "Random splits",
            1,
            _MOST_SPLITS,
            1,
            key=f"{form['key']}-splits",
            persist_state="session",
            help="Trains each on several splits of the data, whose seeds follow one another: "
            "how much of a difference is the luck of the split?",
        )
    usual = {spec.name: spec.default for spec in param_specs(cls)} | form["defaults"]
    specs = plan.swept(once.spec, asked.lists, int(n_splits), usual)
    if len(specs) > jobs.MOST:
        display.problem(f"{len(specs)} runs at once; at most {jobs.MOST} are. Vary less.")
        return ()
    if cls.tags.nested and "n_components" in asked.lists:
        most = max(asked.lists["n_components"])
        display.quiet(
            f"One run of {most:,} dimensions measures the smaller ones, too: Compare draws the "
            "curve. Separate runs make each of them a model to keep."
        )
    return tuple(setting.task(spec) for spec in specs)


def _show_search(asked: Values, once: Task, setting: Setting, form: dict[str, Any]) -> None:
    """Folds, what it will cost, and the button."""
    from simviz.jobs import search_spec

    key = f"{form['key']}-search"
    folds = st.selectbox(
        "Measured on",
        list(_FOLDS),
        format_func=_FOLDS.__getitem__,
        key=f"{key}-folds",
        persist_state="session",
        help="The test part takes no part in it. Folds cut train and validation together into "
        "parts, each of which is left out once: slower, and less a matter of luck.",
    )
    if asked.n > 40:
        display.quiet(f"{asked.n:,} combinations; 40 of them are drawn at random.")
    metric = runs.usual_metric(setting.dataset_id, setting.pairs)
    try:
        if once.spec.augment:
            display.quiet("Tried on the pairs as they are, without what augments them.")
        spec = search_spec(
            _bare(once.spec),
            asked.lists,
            folds=folds,
            metric=metric,
            n_iter=40 if asked.n > 40 else None,
        )
    except SimvizError as error:
        display.problem(error)
        return
    told = json.dumps(spec.to_json(), sort_keys=True)
    cost = plan.search_cost(setting.dataset_id, told, spec, setting.pairs)
    if cost.reason_to_refuse:
        display.problem(cost.reason_to_refuse)
        return
    n = min(asked.n, 40)
    display.quiet(
        f"{n} setting{'' if n == 1 else 's'} by {metric}, {duration(cost.seconds)}, up "
        f"to {memory(cost.bytes)} of memory."
    )
    if st.button(
        "Find the best values",
        key=f"{key}-start",
        icon=":material/target:",
        disabled=setting.marks.get(spec.digest) == "in training",
    ):
        jobs.submit([spec])


def _bare(spec: JobSpec) -> JobSpec:
    from dataclasses import replace

    return replace(spec, augment=())


def _has_shared(specs: Iterable[ParamSpec]) -> bool:
    return any(spec.name == "shared" for spec in specs)


#: Ticked at first where they fit: one of each line, the first that fits.
FIRST_CHOICES = (
    ("tfidf_cosine", "bm25"),
    ("cca",),
    ("s2net", "opca", "heterogeneous_svd", "cl_lsi"),
)


NEEDS = {
    "unsupervised": "needs no pairs",
    "paired": "needs only matching pairs",
    "discriminative": "sets matching pairs against others",
}


#: What texts become, as the page asks for it, and what pictures and texts do.
FEATURES = {"usual": "Words and characters", "pretrained": "Pretrained sentence vectors"}


OF_PICTURES = {"usual": "Edges, light and colour", "pretrained": "Pretrained vectors"}


INPUTS = {"trigrams": "groups of three characters"}


SPACES = {"one": "One space for both sides", "two": "One map a side"}


def why_not(cls: type[PairModel], pairs: PairSet, features: Features = "usual") -> str | None:
    """Why a method does not fit a data set, in one sentence; None where it fits."""
    from simviz.features import why_impossible
    from simviz.pipeline import why_no_adapter

    tags = cls.tags
    if features != "usual" and why_no_adapter(tags):
        return f"Reads {INPUTS.get(tags.input, tags.input)}, and an encoder's vectors are none."
    for side in (pairs.x, pairs.y):
        content = side.content if side.kind == "vector" else None
        reason = why_impossible(side.kind, tags.input, content=content)
        if reason:
            return reason
    if tags.space == "one" and pairs.x.kind != pairs.y.kind:
        return (
            f"Compares items of one kind; here {pairs.x.kind} items meet {pairs.y.kind} items. "
            "Methods with a map for each side can do that."
        )
    relevance = pairs.relevance
    if tags.uses != "unsupervised" and not relevance.positives.nnz:
        return "Learns from matching pairs, and there is none in these data."
    explicit = relevance.unjudged == "ignore"
    if tags.uses == "discriminative" and explicit and not relevance.negatives.nnz:
        return (
            "Sets matching pairs against others; none was judged not to match, and pairs "
            "without a judgment do not count in these data."
        )
    return None


def first_choice(fitting: Sequence[str], *, one_vocabulary: bool) -> tuple[str, ...]:
    """Methods worth a first try: a quick baseline, CCA, and one more."""
    lines = FIRST_CHOICES if one_vocabulary else FIRST_CHOICES[1:]
    firsts = (next((m for m in line if m in fitting), None) for line in lines)
    return tuple(m for m in firsts if m is not None)


def plain_line(cls: type[PairModel], *, one_vocabulary: bool) -> str:
    """What a method learns and needs, from its docstring and tags."""
    summary = (inspect.getdoc(cls) or "").partition("\n")[0].rstrip(".")
    # "CCA: directions on which …" says the name again, which stands beside it.
    learns = summary.rpartition(": ")[2]
    tags = cls.tags
    space = tags.space
    if space == "either":
        space = "one" if one_vocabulary else "two"
    return f"{learns[:1].upper()}{learns[1:]}. {SPACES[space]}; {NEEDS[tags.uses]}."


def duration(seconds: float) -> str:
    """A rough time in words."""
    if seconds < 10:
        return f"about {max(1, round(seconds))} s"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 5_400:
        return f"about {round(seconds / 60)} min"
    return f"about {seconds / 3_600:.1f} h"


def memory(n_bytes: float) -> str:
    """A rough size in words."""
    return f"{max(0.1, n_bytes / 1e9):.1f} GB"
