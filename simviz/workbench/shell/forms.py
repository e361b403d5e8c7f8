"""Forms from parameters: what a class says of itself, as inputs on a page.

`values` tells what is set, whether the inputs are on the page or not; `show` draws them. Both
answer only with what differs from the defaults, so that a default that is set by hand is the
same request.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from simviz.params import ParamSpec

_KINDS = ("int", "float", "bool", "choice")
_LARGEST = (1 << 53) - 1  # beyond it, a browser's numbers have gaps


def options(labels: Collection[Any]) -> dict[str, Any]:
    """Return the options of a widget as its arguments, and what a mapping calls each."""
    names = labels.__getitem__ if isinstance(labels, Mapping) else str
    return {"options": list(labels), "format_func": names}


def session_options(labels: Collection[Any], key: str) -> dict[str, Any]:
    """Return the options of a widget whose choice is kept for other pages, with its key."""
    return {**options(labels), "key": key, "persist_state": "session"}


def segmented(
    label: str, labels: Collection[Any], key: str, *, is_labelled: bool = False, **more: Any
) -> Any:
    """Show options side by side, of which one is always chosen; return it."""
    return st.segmented_control(
        label,
        **options(labels),
        key=key,
        required=True,
        label_visibility="visible" if is_labelled else "collapsed",
        **more,
    )


def _begin(labels: Collection[str], key: str) -> None:
    if st.session_state.get(key) not in labels:
        st.session_state[key] = next(iter(labels))


def select(label: str, labels: Collection[str], key: str, **more: Any) -> Any:
    """Show options in a list whose choice is kept for other pages, at first the first of them."""
    _begin(labels, key)
    return st.selectbox(label, **session_options(labels, key), **more)


def segments(label: str, labels: Collection[str], key: str, **more: Any) -> Any:
    """Show options as `segmented` does, labelled, the first of them chosen at first."""
    _begin(labels, key)
    return segmented(label, labels, key, persist_state="session", **{"is_labelled": True} | more)


def button(
    label: str,
    key: str,
    on_click: Callable[..., Any] | None = None,
    *args: Any,
    icon: str = "",
    **more: Any,
) -> bool:
    """Show a button, with an icon of Material's by its name; return whether it was pressed."""
    icon_name = f":material/{icon}:" if icon else None
    return st.button(label, key=key, on_click=on_click, args=args, icon=icon_name, **more)


def quiet_button(
    label: str, key: str, on_click: Callable[..., Any] | None = None, *args: Any, **more: Any
) -> bool:
    """Show a button without a frame; return whether it was pressed."""
    return button(label, key, on_click, *args, type="tertiary", **more)


def download(
    label: str,
    make: Callable[[], str | bytes],
    file_name: str,
    *,
    key: str,
    mime: str = "text/csv",
    icon: str | None = ":material/download:",
) -> None:
    """Show a quiet button for a file, which is made when it is pressed."""
    st.download_button(
        label, make, file_name, mime, key=key, on_click="ignore", icon=icon, type="tertiary"
    )


def shown_specs(specs: Sequence[ParamSpec], hidden: Sequence[str] = ()) -> tuple[ParamSpec, ...]:
    """The parameters that a form can ask for."""
    return tuple(s for s in specs if s.kind in _KINDS and s.name not in hidden)


def values(
    specs: Sequence[ParamSpec],
    *,
    key: str,
    start: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What the form of this key is set to, as far as it differs from the defaults."""
    defaults_of = {spec.name: spec.default for spec in specs} | dict(defaults or {})
    begin = defaults_of | dict(start or {})
    results = {s.name: st.session_state.get(f"{key}-{s.name}", begin[s.name]) for s in specs}
    return {name: value for name, value in results.items() if value != defaults_of[name]}


def show(
    specs: Sequence[ParamSpec],
    *,
    key: str,
    start: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    columns: int = 3,
) -> dict[str, Any]:
    """Draw an input for each parameter."""
    begin = {spec.name: spec.default for spec in specs} | dict(defaults or {}) | dict(start or {})
    for first in range(0, len(specs), columns):
        places = st.columns(columns, vertical_alignment="bottom")
        for place, spec in zip(places, specs[first : first + columns], strict=False):
            with place:
                _input(spec, begin[spec.name], f"{key}-{spec.name}")
    return values(specs, key=key, start=start, defaults=defaults)


def describe(params: Mapping[str, Any]) -> str:
    """Parameters as a line of text."""
    return ", ".join(f"{name} {_value(value)}" for name, value in params.items())


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _input(spec: ParamSpec, begin: Any, key: str) -> None:
    """One input; its value is read from the session."""
    common: dict[str, Any] = {"key": key, "help": _help(spec), "persist_state": "session"}
    if spec.kind in ("int", "float"):
        _number(spec, begin, common)
    elif spec.kind == "bool" and not spec.optional:
        st.toggle(spec.name, value=bool(begin), **common)
    else:
        choices: list[Any] = [True, False] if spec.kind == "bool" else list(spec.choices)
        if spec.optional:
            choices.insert(0, None)
        if begin not in choices:  # a value that code may give, such as a number
            choices.append(begin)
        st.selectbox(spec.name, choices, index=choices.index(begin), format_func=_value, **common)


def _number(spec: ParamSpec, begin: Any, common: dict[str, Any]) -> None:
    """A number; where None is allowed, an empty field stands for it."""
    make: Any = int if spec.kind == "int" else float
    low, high = (None if b is None or math.isinf(b) else make(b) for b in (spec.low, spec.high))
    if make is int:
        # An open bound is no allowed value; of a real one the method itself says so.
        low = -_LARGEST if low is None else low + (spec.closed in ("right", "neither"))
        high = _LARGEST if high is None else high - (spec.closed in ("left", "neither"))
    if begin is not None:
        begin = make(begin)
    if spec.optional:
        # A field that starts with a number could not be emptied.
        st.session_state.setdefault(common["key"], begin)
    st.number_input(
        spec.name,
        min_value=low,
        max_value=high,
        value=None if spec.optional else begin,
        step=1 if make is int else _step(begin),
        format="%d" if make is int else "%g",
        placeholder="left open" if spec.optional else None,
        **common,
    )


def _step(value: float | None) -> float:
    """A tenth of a number, rounded to a power of ten."""
    return 10.0 ** (math.floor(math.log10(abs(value))) - 1) if value else 0.1


def _help(spec: ParamSpec) -> str:
    """The words of the docstring as markdown, with the range behind them."""
    labels = re.sub(r":math:`([^`]*)`", r"$\1$", spec.description)
    if spec.kind not in ("int", "float") or spec.low is spec.high is None:
        return labels
    at_least = "at least" if spec.closed in ("left", "both") else "above"
    at_most = "at most" if spec.closed in ("right", "both") else "below"
    bounds = {at_least: spec.low, at_most: spec.high}
    allowed = [f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None]
    return f"{labels} Allowed: {', '.join(allowed)}."
