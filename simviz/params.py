"""Parameters of a method, read from its class: name, range, default, meaning.

The class is the single source. Its signature gives names and defaults, its
``_parameter_constraints`` the allowed values, its numpydoc section the words; forms, tables and
validation are derived from them. This module alone touches scikit-learn's private functions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from numbers import Integral
from typing import Any, Literal, TypeVar

T = TypeVar("T")
ParamKind = Literal["int", "float", "bool", "choice", "other"]


def interval(
    type_: type, low: float | None, high: float | None, *, closed: str = "both"
) -> object:
    """An allowed range of numbers, for ``_parameter_constraints``."""
    from sklearn.utils._param_validation import Interval

    if low is None and high is None:
        closed = "neither"
    elif low is None:
        closed = {"both": "right", "left": "neither"}.get(closed, closed)
    elif high is None:
        closed = {"both": "left", "right": "neither"}.get(closed, closed)
    return Interval(type_, low, high, closed=closed)


def options(*values: str) -> object:
    """The allowed strings, for ``_parameter_constraints``."""
    from sklearn.utils._param_validation import StrOptions

    return StrOptions(dict.fromkeys(values).keys())


@cache
def parameter_constraints(cls: type) -> Mapping[str, list[Any]]:
    """Allowed values of the parameters of a class, those that its bases say among them."""
    constraints: dict[str, list[Any]] = {}
    for base in reversed(cls.__mro__):
        constraints |= vars(base).get("_parameter_constraints", {})
    return constraints


def validate_params(estimator: Any) -> None:
    """Check an estimator's parameters against its constraints."""
    from sklearn.utils._param_validation import validate_parameter_constraints

    owner: type = type(estimator)
    constraints = parameter_constraints(owner)
    # Signatures, which get_params reads, take longer than the checks.
    values = {name: value for name, value in vars(estimator).items() if name in constraints}
    validate_parameter_constraints(constraints, values, caller_name=owner.__name__)


def as_set_output(estimator: Any, vectors: T, items: object) -> T:
    """Vectors of the y side as ``set_output`` asks; scikit-learn does it for `transform` alone."""
    from sklearn.utils._set_output import _wrap_data_with_container

    wrapped: T = _wrap_data_with_container("transform", vectors, items, estimator)
    return wrapped


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """One parameter as a form needs it."""

    name: str
    kind: ParamKind
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    closed: str = "both"
    choices: tuple[str, ...] = ()
    optional: bool = False


@lru_cache(maxsize=256)
def param_specs(method: type) -> tuple[ParamSpec, ...]:
    """Parameters of a method in the order of its signature."""
    constraints, descriptions = parameter_constraints(method), parameter_descriptions(method)
    signature = inspect.signature(method)
    return tuple(
        _spec(name, parameter.default, constraints.get(name, []), descriptions.get(name, ""))
        for name, parameter in signature.parameters.items()
    )


def _spec(name: str, default: Any, constraints: list[Any], description: str) -> ParamSpec:
    from sklearn.utils._param_validation import Interval, StrOptions

    optional = any(c is None for c in constraints)
    strings = next((c for c in constraints if isinstance(c, StrOptions)), None)
    if strings is not None:
        choices = tuple(strings.options)
        return ParamSpec(name, "choice", default, description, choices=choices, optional=optional)
    if "boolean" in constraints:
        return ParamSpec(name, "bool", default, description, optional=optional)
    if "random_state" in constraints:
        return ParamSpec(name, "int", default, description, low=0, optional=True)
    span = next((c for c in constraints if isinstance(c, Interval)), None)
    if span is not None:
        return ParamSpec(
            name,
            "int" if span.type is Integral else "float",
            default,
            description,
            low=span.left,
            high=span.right,
            closed=span.closed,
            optional=optional,
        )
    return ParamSpec(name, "other", default, description, optional=optional)


def parameter_descriptions(method: type) -> dict[str, str]:
    """The words on each parameter in a numpydoc docstring, white space folded.

    Where they are "As of `package.module.Class`.", they are those of that class.
    """
    doc = inspect.getdoc(method) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", doc, re.M | re.S)
    if not section:
        return {}
    descriptions: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section.group(1).splitlines():
        head = re.match(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)\s*(?::.*)?$", line)
        if head and not line.startswith(" "):
            names = [n.strip("* ") for n in head.group(1).split(",")]
            descriptions.update({n: [] for n in names})
        elif line.strip():
            for n in names:
                descriptions[n].append(line.strip())
    texts = {n: " ".join(lines) for n, lines in descriptions.items()}
    for n, text in texts.items():
        if other := re.fullmatch(r"As of `([\w.]+)\.(\w+)`\.", text):
            texts[n] = parameter_descriptions(getattr(import_module(other[1]), other[2]))[n]
    return texts
