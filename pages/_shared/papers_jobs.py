"""Which experiments have been run, where they can be, and how one is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from pages._shared import state
from simviz.exceptions import SimvizError
from simviz.jobs.spec import EXPERIMENT
from simviz.markdown import escape_markdown

if TYPE_CHECKING:
    from simviz.experiments import Experiment
    from simviz.jobs import JobStatus

#: The newest job of each experiment and data set.
Known = Mapping[tuple[str, str], "JobStatus"]


class Target(NamedTuple):
    """Data that an experiment can be run on.

    Parameters
    ----------
    dataset_id : str
        Of the store.
    words : str
        On the button.
    place : str
        "demo" or "own".
    """

    dataset_id: str
    words: str
    place: str


def known_jobs() -> Known:
    """What this visitor has asked for, the newest of each kind."""
    found: dict[tuple[str, str], JobStatus] = {}
    for status in state.queue().jobs(state.workspace()):
        if status.spec and status.spec.method == EXPERIMENT:
            key = str(status.spec.params.get("name")), status.spec.dataset_id
            found.setdefault(key, status)
    return found


def demo_title(experiment: Experiment[Any]) -> str:
    """What the experiment's demo is called."""
    from simviz.datasets import DEMOS

    info = DEMOS.get(experiment.demo)
    return info.title if info else experiment.demo


def targets(experiment: Experiment[Any]) -> list[Target]:
    """The demo, and the current data set where its kinds fit.

    Parameters
    ----------
    experiment : Experiment
        What would be run.

    Returns
    -------
    list of Target
        The demo first.
    """
    demo_id = f"demo:{experiment.demo}"
    found = [Target(demo_id, "Run on the demo", "demo")]
    own = state.current_dataset_id()
    if own and own != demo_id and "share" not in st.query_params:
        try:
            pairs = state.dataset(own)
        except SimvizError:
            return found
        if not experiment.refusal(pairs):
            name = escape_markdown(pairs.name)
            found.append(Target(own, f"Run on {name}", "own"))
    return found


def start(name: str, dataset_id: str) -> None:
    """Ask for an experiment; an answer that is known comes at once."""
    from simviz.jobs.experiments import experiment_spec

    try:
        digest = state.dataset(dataset_id).digest
        spec = experiment_spec(name, dataset_id, digest, workspace=state.workspace())
        state.queue().submit(spec)
    except SimvizError as error:
        st.toast(escape_markdown(str(error)))
