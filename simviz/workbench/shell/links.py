"""Links: which run a link means, and the link that means a run.

A link to a run of a demo says how it is trained (``?demo=icons&method=cca&k=50``) and so works on
a server that has never seen it: the job is asked for, and the same request gives the same run. Own
runs are named by their id, which only their owner can open; a share opens them for others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st

from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS
from simviz.exceptions import SimvizError
from simviz.jobs import JobSpec
from simviz.methods import all_methods
from simviz.params import ParamSpec, param_specs, validate_params
from simviz.store.run import Run
from simviz.workbench.shell import preferences, progress, query_params, state

SHORT = {"n_components": "k"}  # parameters with a short name in links
_ITEM = re.compile(r"([xy])(\d{1,9})")


def demo_link(run: Run) -> dict[str, str] | None:
    """Parameters of the link that trains a demo's run anew, or None where there is none."""
    # Own runs have none, and neither have blends: they are of two runs that no link can mean.
    # Nor have runs on augmented pairs, whose lists are too long for a link.
    # And a link can mean no split but the demo's own.
    spec, demo = run.spec, state.demo_of(run.spec["dataset_id"])
    if demo is None or run.info.is_derived or spec.get("augment"):
        return None
    if spec.get("features", "usual") != "usual":  # chosen terms, or an encoder's vectors
        return None
    if JobSpec.from_json(spec).split != preferences.demo_split(demo):
        return None
    params = {SHORT.get(name, name): _text(value) for name, value in spec["params"].items()}
    return {"demo": spec["dataset_id"].removeprefix("demo:"), "method": run.info.method, **params}


def requested_spec() -> JobSpec | None:
    """The request that a demo link describes, or None where it describes none."""
    # Only parameters that the method declares, with values it allows, are taken.
    demo, method = query_params.get("demo"), query_params.get("method")
    if demo not in DEMOS or method not in all_methods():
        return None
    params = _params(all_methods()[method], query_params.current())
    return progress.demo_spec(demo, method, params)


def requested_run(dataset_id: str) -> Run | None:
    """The run that the link asks for, if it is there and may be seen."""
    # A demo link whose run is not there yet starts its job; show `requested_jobs` meanwhile.
    try:
        spec = requested_spec()
        if spec is not None:
            if state.store().runs.has(spec.digest):
                return state.run(spec.digest)
            started = st.session_state.setdefault("link-jobs", {})
            if spec.digest not in started:
                started[spec.digest] = [state.queue().submit(spec)]
            return None
        run_id = query_params.get("run")
        run = state.run(run_id) if run_id else None
    except SimvizError:
        return None
    return run if run is not None and run.info.dataset_id == dataset_id else None


def requested_jobs() -> list[str]:
    """Jobs that were started because a link asked for their run."""
    spec = requested_spec()
    started: dict[str, list[str]] = st.session_state.get("link-jobs", {})
    return [] if spec is None else started.get(spec.digest, [])


def linked_item(text: str, pairs: PairSet) -> tuple[Literal["x", "y"], int] | None:
    """Return the side and the row that a short id such as "x7" means; None if there is none."""
    match = _ITEM.fullmatch(text)
    if not match:
        return None
    side: Literal["x", "y"] = "x" if match[1] == "x" else "y"
    row = int(match[2])
    return (side, row) if row < len(pairs.x if side == "x" else pairs.y) else None


def _params(method: type, link: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of a method out of a link; what does not fit is left out."""
    texts = {spec: link.get(SHORT.get(spec.name, spec.name), "") for spec in param_specs(method)}
    read = {spec.name: _value(spec, text) for spec, text in texts.items()}
    values = {name: value for name, value in read.items() if value is not None}
    try:
        validate_params(method(**values))
    except ValueError:
        return {}
    return values


def _value(spec: ParamSpec, text: str) -> Any:
    """A parameter's value out of its text, or None if it is not one."""
    if text in spec.choices:
        return text
    if text in ("true", "false"):
        return text == "true" if spec.kind == "bool" else None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
