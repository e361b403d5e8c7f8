"""Several values of parameters: what to suggest, and how a line of them is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from pages._shared import forms, plain
from simviz.params import ParamSpec

#: Parameters that are varied first, where a method has them.
_FIRST = ("n_components", "regularization")
_MOST = 30


class Values(NamedTuple):
    """What a visitor wants tried.

    Parameters
    ----------
    lists : mapping of str to list
        Values by the name of their parameter.
    problem : str
        What cannot be read; empty where all can.
    """

    lists: Mapping[str, list[Any]]
    problem: str = ""

    @property
    def n(self) -> int:
        """How many combinations that is."""
        return math.prod(len(values) for values in self.lists.values()) if self.lists else 0


def usual_names(specs: Sequence[ParamSpec]) -> list[str]:
    """The parameters to vary where nobody says which.

    Parameters
    ----------
    specs : sequence of ParamSpec
        Of a method.

    Returns
    -------
    list of str
        Dimensions and ridge where there are such; else the first number.

    Examples
    --------
    >>> from simviz.methods import get_method
    >>> from simviz.params import param_specs
    >>> usual_names(param_specs(get_method("cca"))), usual_names(param_specs(get_method("bm25")))
    (['n_components', 'regularization'], ['k1'])
    """
    names = [spec.name for spec in specs]
    found = [name for name in _FIRST if name in names]
    numbers = [s.name for s in specs if s.kind in ("int", "float") and s.name != "random_state"]
    return found or numbers[:1]


def suggested(spec: ParamSpec, begin: Any) -> list[Any]:
    """Values worth trying around the one that is set.

    Parameters
    ----------
    spec : ParamSpec
        The parameter.
    begin : object
        Its value now.

    Returns
    -------
    list
        Of values that it allows.

    Examples
    --------
    >>> from simviz.methods import get_method
    >>> from simviz.params import param_specs
    >>> specs = {spec.name: spec for spec in param_specs(get_method("cca"))}
    >>> suggested(specs["n_components"], 200)
    [25, 50, 100, 200, 400]
    >>> suggested(specs["regularization"], 1.0)
    [0.01, 0.1, 1.0, 10.0]
    >>> suggested(specs["correlation_power"], 0.5)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
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
    """Values written in a line, apart by commas or spaces.

    Parameters
    ----------
    spec : ParamSpec
        A number.
    text : str
        Such as "25, 50, 100".

    Returns
    -------
    list of int or float
        Without repetition, in their order.

    Raises
    ------
    ValueError
        Saying which word is no value of it.

    Examples
    --------
    >>> from simviz.methods import get_method
    >>> from simviz.params import param_specs
    >>> read(param_specs(get_method("cca"))[0], "25, 50; 50 100")
    [25, 50, 100]
    """
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
    """Ask which parameters to vary, and over which values.

    Parameters
    ----------
    specs : sequence of ParamSpec
        What may be varied.
    start : mapping
        Values that are set now.
    key : str
        Tells the inputs apart.

    Returns
    -------
    Values
        What to try, or what is wrong.
    """
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
            plain.problem(error)
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
