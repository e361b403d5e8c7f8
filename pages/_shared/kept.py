"""A choice of how a data set is looked at, kept in the link, the session and the store."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import state
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.store.run import Shown

#: A click may arrive with the address of the run of the page before it, for so many seconds.
_LATE = 3.0


def current(name: Shown, dataset_id: str, known: Collection[str]) -> str | None:
    """What was chosen: as the link says, else as here before, else as published or stored.

    Parameters
    ----------
    name : {"part", "direction"}
        The choice, and its parameter of the link.
    dataset_id : str
        A data set that the visitor may see.
    known : collection of str
        What can be chosen.

    Returns
    -------
    str or None
        None where nobody has chosen.
    """
    chosen: dict[str, tuple[str, float]] = st.session_state.setdefault(f"{name}-chosen", {})
    before, at = chosen.get(dataset_id, (None, 0.0))
    linked = st.query_params.get(name)
    # What the page itself wrote, maybe of another data set, is no news.
    news = linked in known and linked not in (before, st.session_state.get(f"{name}-written"))
    if news and linked is not None and time.monotonic() - at > _LATE:
        keep(name, dataset_id, linked)
        return linked
    if before is not None:
        return before
    seen = state.share()
    if seen is not None:
        published = seen.view.get(name)
        return published if published in known else None
    return state.store().shown(dataset_id, state.workspace(), name)


def keep(name: Shown, dataset_id: str, value: str) -> None:
    """Look at it so from now on, here and in other browsers of this workspace.

    Parameters
    ----------
    name : {"part", "direction"}
        The choice.
    dataset_id : str
        A data set that the visitor may see.
    value : str
        What was chosen.
    """
    st.session_state.setdefault(f"{name}-chosen", {})[dataset_id] = value, time.monotonic()
    put_in_link(name, value)
    if state.share() is None:
        try:
            state.store().keep_shown(dataset_id, state.workspace(), name, value)
        except SimvizError:  # another's data set: the page says so
            return


def put_in_link(name: Shown, value: str) -> None:
    """Write what is shown into the address.

    Parameters
    ----------
    name : {"part", "direction"}
        The choice.
    value : str
        What is shown.
    """
    st.session_state[f"{name}-written"] = value
    if st.query_params.get(name) != value:
        st.query_params[name] = value
