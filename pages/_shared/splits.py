"""How the current data are split: what was chosen, else a good guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.data.suggestion import SplitSuggestion
    from simviz.datasets._info import DemoInfo
    from simviz.jobs import SplitSpec


def current_split(dataset_id: str) -> SplitSpec:
    """The split to train a data set on.

    Parameters
    ----------
    dataset_id : str
        A data set the visitor may see.

    Returns
    -------
    SplitSpec
        As chosen on the Data page in this session; else as suggested.

    Raises
    ------
    StoreError
        If there is no such data set for this visitor.
    """
    from simviz.jobs import SplitSpec

    chosen = st.session_state.get("split", {}).get(dataset_id)
    if chosen is not None:
        return SplitSpec(**chosen)
    return as_spec(suggested_split(dataset_id))


def demo_split(info: DemoInfo) -> SplitSpec:
    """The split of a demo: the same on every server."""
    from simviz.jobs import SplitSpec

    return SplitSpec(by=info.split_by, group_key="split" if info.split_by == "column" else None)


def as_spec(suggestion: SplitSuggestion) -> SplitSpec:
    """A suggestion with the usual shares and seed."""
    from simviz.jobs import SplitSpec

    return SplitSpec(by=suggestion.by, group_key=suggestion.group_key)


def choose_split(dataset_id: str, split: SplitSpec) -> None:
    """Train on this split of a data set from now on.

    Parameters
    ----------
    dataset_id : str
        A data set the visitor may see.
    split : SplitSpec
        How to split it.
    """
    # One entry a data set: whoever comes back to one finds it split as before.
    st.session_state.setdefault("split", {})[dataset_id] = asdict(split)


def suggested_split(dataset_id: str) -> SplitSuggestion:
    """How a data set is best split, and why; the demos know it themselves.

    Raises
    ------
    StoreError
        If there is no such data set for this visitor.
    """
    from simviz.data.suggestion import SplitSuggestion

    info = _demo(dataset_id)
    if info is None:
        return suggestion_for(dataset_id, state.dataset(dataset_id))
    if info.split_by == "column":
        return SplitSuggestion("column", "split", "The data say themselves what is for the test.")
    new, known = (info.x_name, info.y_name) if info.split_by == "x" else (info.y_name, info.x_name)
    reason = (
        "No item of the test part, on either side, is known from training."
        if info.split_by == "pair"
        else f"The test part asks for new {new} among known {known}."
    )
    return SplitSuggestion(info.split_by, None, reason)


def _demo(dataset_id: str) -> Any:
    from simviz.datasets import DEMOS

    demos: Mapping[str, Any] = DEMOS
    return demos.get(dataset_id.removeprefix("demo:")) if dataset_id[:5] == "demo:" else None


@st.cache_resource(show_spinner=False, max_entries=64)
def suggestion_for(content_id: str, _pairs: PairSet) -> SplitSuggestion:
    """How pairs are best split; found once for an id that stands for their content."""
    from simviz.data.suggestion import suggest_split

    return suggest_split(_pairs)
