"""A card for each method: what it is, what it costs, and how it is trained."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import fitting, forms, plain, runs_metric, train_jobs, train_plan, train_values
from pages._shared.train_plan import Choice, Setting, Task
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.jobs import JobSpec
    from simviz.params import ParamSpec

#: Cards side by side where there is room.
_COLUMNS = 3
#: How a ticked method is trained, as the page asks for it.
ONCE, SWEEP, SEARCH = "once", "sweep", "search"
WAYS = {ONCE: "Once", SWEEP: "Several values", SEARCH: "Best values"}
_FOLDS = {1: "the validation part", 3: "3 folds", 5: "5 folds", 10: "10 folds"}
_MOST_SPLITS = 10


def show_cards(methods: Sequence[str], setting: Setting, *, ticked: bool) -> list[Choice]:
    """Cards in rows.

    Parameters
    ----------
    methods : sequence of str
        Their ids.
    setting : Setting
        What they meet.
    ticked : bool
        Whether they are wanted at first.

    Returns
    -------
    list of Choice
        What is set, one a method.
    """
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
    """Methods that the data do not suit, each with the reason.

    Parameters
    ----------
    reasons : iterable of (str, str)
        Id and reason.
    """
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
    line = fitting.plain_line(cls, one_vocabulary=shared)
    refused = once.expected.reason_to_refuse
    cost = "" if refused else f" :gray[· {fitting.duration(once.expected.seconds)}]"
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
            plain.problem(refused)
        if specs:
            way = st.session_state.get(f"{form['key']}-way", ONCE)
            with st.popover(
                _label(way, params),
                # Another key is another popover, a closed one: what was asked for is in sight.
                key=f"{form['key']}:form-{st.session_state.get(train_jobs.TURN, 0)}",
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
    asked = train_values.ask(varied, start, key=f"{key}-{way}")
    if asked.problem:
        return ()
    if way == SWEEP:
        return _show_sweep(asked, once, setting, form)
    _show_search(asked, once, setting, form)
    return ()


def _show_sweep(
    asked: train_values.Values, once: Task, setting: Setting, form: dict[str, Any]
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
    specs = train_plan.swept(once.spec, asked.lists, int(n_splits), usual)
    if len(specs) > train_jobs.MOST:
        plain.problem(f"{len(specs)} runs at once; at most {train_jobs.MOST} are. Vary less.")
        return ()
    if cls.tags.nested and "n_components" in asked.lists:
        most = max(asked.lists["n_components"])
        plain.quiet(
            f"One run of {most:,} dimensions measures the smaller ones, too: Compare draws the "
            "curve. Separate runs make each of them a model to keep."
        )
    return tuple(setting.task(spec) for spec in specs)


def _show_search(
    asked: train_values.Values, once: Task, setting: Setting, form: dict[str, Any]
) -> None:
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
        plain.quiet(f"{asked.n:,} combinations; 40 of them are drawn at random.")
    metric = runs_metric.usual_metric(setting.dataset_id, setting.pairs)
    try:
        if once.spec.augment:
            plain.quiet("Tried on the pairs as they are, without what augments them.")
        spec = search_spec(
            _bare(once.spec),
            asked.lists,
            folds=folds,
            metric=metric,
            n_iter=40 if asked.n > 40 else None,
        )
    except SimvizError as error:
        plain.problem(error)
        return
    told = json.dumps(spec.to_json(), sort_keys=True)
    cost = train_plan.search_cost(setting.dataset_id, told, spec, setting.pairs)
    if cost.reason_to_refuse:
        plain.problem(cost.reason_to_refuse)
        return
    n = min(asked.n, 40)
    plain.quiet(
        f"{n} setting{'' if n == 1 else 's'} by {metric}, {fitting.duration(cost.seconds)}, up "
        f"to {fitting.memory(cost.bytes)} of memory."
    )
    if st.button(
        "Find the best values",
        key=f"{key}-start",
        icon=":material/target:",
        disabled=setting.marks.get(spec.digest) == "in training",
    ):
        train_jobs.submit([spec])


def _bare(spec: JobSpec) -> JobSpec:
    from dataclasses import replace

    return replace(spec, augment=())


def _has_shared(specs: Iterable[ParamSpec]) -> bool:
    return any(spec.name == "shared" for spec in specs)
