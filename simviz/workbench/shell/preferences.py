"""How a data set is looked at, kept in the link, the session and the store; and its split."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, cast, get_args

import streamlit as st

from simviz.data.description import QuerySide
from simviz.data.pairs import PairSet
from simviz.data.splitting import SplitSuggestion, suggest_split
from simviz.datasets import DemoInfo
from simviz.evaluation.result import DIRECTIONS, Asking, Direction
from simviz.exceptions import SimvizError
from simviz.jobs import SplitSpec
from simviz.markdown import escape_markdown
from simviz.store.datasets import default_query_side
from simviz.store.run import Part, Preference
from simviz.workbench.shell import forms, query_params, state

_PARTS: dict[Part, str] = {"validation": "Validation", "test": "Test"}
_PART_HELP = (
    "Methods, settings and weights are chosen on the validation part. The test part is for the "
    "verdict: figures on it are honest only as long as nothing is chosen by them."
)


# -- part and direction ---------------------------------------------------------------


def current_part(dataset_id: str) -> Part:
    """The part that figures are of: as the link says, else as was chosen before."""
    return cast(Part, _preference("part", dataset_id, get_args(Part)) or "validation")


def part_switch(dataset_id: str) -> Part:
    """Let the visitor choose the part, and keep the choice in the link."""
    part = current_part(dataset_id)
    _switch("part", "part-shown", dataset_id, part, "Measured on", _PARTS, help=_PART_HELP)
    return part


def current_direction(
    dataset_id: str, pairs: PairSet, measured: Sequence[str] = DIRECTIONS
) -> Asking:
    """The direction that figures are of: as the link says, else as was chosen before."""
    preferred = cast(Asking | None, _preference("direction", dataset_id, get_args(Asking)))
    direction = preferred or default_direction_of(dataset_id, pairs).direction
    offered = _offered(measured)
    return direction if direction in offered else offered[0]


def choose_direction(dataset_id: str, pairs: PairSet, measured: Sequence[str]) -> Asking:
    """Let the visitor choose who asks, and keep the choice in the link."""
    x, y = map(escape_markdown, pairs.headings)
    labels = {"x2y": f"{x} → {y}", "y2x": f"{y} → {x}", "mean": "Mean of both"}
    direction = current_direction(dataset_id, pairs, measured)
    reason = escape_markdown(default_direction_of(dataset_id, pairs).reason)
    offered = {name: labels[name] for name in _offered(measured)}
    help_text = f"Applies to all pages. Default: {reason}."
    key, label = "compare-direction", "Query side"
    _switch("direction", key, dataset_id, direction, label, offered, wrap=True, help=help_text)
    return direction


@state.cached(100)
def default_direction_of(dataset_id: str, pairs: PairSet) -> QuerySide:
    """Who asks where nobody has chosen, and why."""
    return default_query_side(dataset_id, pairs)


def query_sides(direction: Asking) -> tuple[Direction, ...]:
    """The directions behind one that is shown: both behind their mean."""
    return DIRECTIONS if direction == "mean" else (direction,)


def direction_label(direction: str, pairs: PairSet) -> str:
    """Return a direction in words that stand in a sentence."""
    if direction == "mean":
        return "mean of both directions"
    x, y = pairs.nouns
    return f"{x} → {y}" if direction == "x2y" else f"{y} → {x}"


def _offered(measured: Sequence[str]) -> list[Asking]:
    known: list[Asking] = [side for side in DIRECTIONS if side in measured]
    return [*known, "mean"] if len(known) > 1 else known


def _preference(name: Preference, dataset_id: str, known: Collection[str]) -> str | None:
    """What was chosen: as the link says, else as here before, else as stored."""
    linked = query_params.new_params().get(name)
    if linked is not None and linked in known:
        _keep(name, dataset_id, linked)
        del query_params.new_params()[name]
    here: str | None = st.session_state.get(f"{name}-chosen", {}).get(dataset_id)
    if here is not None or state.share() is not None:
        return here
    return state.store().view_preferences.get(dataset_id, state.workspace(), name)


def _keep(name: Preference, dataset_id: str, value: str) -> None:
    """Look at it so from now on, here and in other browsers of this workspace."""
    st.session_state.setdefault(f"{name}-chosen", {})[dataset_id] = value
    query_params.put(**{name: value})
    if state.share() is None:
        with suppress(SimvizError):  # another's data set: the page says so
            state.store().view_preferences.put(dataset_id, state.workspace(), name, value)


def _switch(
    name: Preference,
    key: str,
    dataset_id: str,
    value: str,
    label: str,
    options: Mapping[Any, str],
    **how: Any,
) -> None:
    """A control of what is shown; what is chosen stands in the link."""
    st.session_state[key] = value

    def keep() -> None:
        _keep(name, dataset_id, st.session_state[key])

    forms.segmented(label, options, key, is_labelled=True, on_change=keep, **how)
    query_params.put(**{name: value})


# -- the split ------------------------------------------------------------------------


def current_split(dataset_id: str) -> SplitSpec:
    """The split to train a data set on."""
    stored = st.session_state.get("split", {}).get(dataset_id)
    return SplitSpec(**stored) if stored else as_spec(suggested_split(dataset_id))


def demo_split(info: DemoInfo) -> SplitSpec:
    """The split of a demo: the same on every server."""
    return SplitSpec(by=info.split_by, group_key="split" if info.split_by == "column" else None)


def as_spec(suggestion: SplitSuggestion) -> SplitSpec:
    """A suggestion with the usual shares and seed."""
    return SplitSpec(by=suggestion.by, group_key=suggestion.group_key)


def choose_split(dataset_id: str, split: SplitSpec) -> None:
    """Train on this split of a data set from now on."""
    # One entry a data set: whoever comes back to one finds it split as before.
    st.session_state.setdefault("split", {})[dataset_id] = asdict(split)


def suggested_split(dataset_id: str) -> SplitSuggestion:
    """How a data set is best split, and why; the demos know it themselves."""
    info = state.demo_of(dataset_id)
    if info is None:
        return suggestion_for(state.dataset(dataset_id))
    if info.split_by == "column":
        return SplitSuggestion("column", "split", "The data name the test part.")
    new, known = (info.x_name, info.y_name) if info.split_by == "x" else (info.y_name, info.x_name)
    reason = (
        "No item of the test part, on either side, stands in training."
        if info.split_by == "pair"
        else f"The test part asks for new {new} among known {known}."
    )
    return SplitSuggestion(info.split_by, None, reason)


@state.cached(64)
def suggestion_for(pairs: PairSet) -> SplitSuggestion:
    """How pairs are best split."""
    return suggest_split(pairs)
