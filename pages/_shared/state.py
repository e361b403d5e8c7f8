"""Who is looking, at what: workspace, store, queue, theme, parameters of the link."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import streamlit as st

if TYPE_CHECKING:
    from simviz.jobs import JobQueue
    from simviz.store import Store

WORKSPACE_COOKIE = "simviz_workspace"


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """The one store of this server."""
    from simviz.store import Store

    return Store()


@st.cache_resource(show_spinner=False)
def queue() -> JobQueue:
    """The one queue of this server; its threads outlive every page."""
    from simviz.jobs import JobQueue

    return JobQueue(store())


def is_warm() -> bool:
    """Whether the heavy libraries are loaded, so that asking the store is instant."""
    return "simviz.jobs" in sys.modules and "sklearn" in sys.modules


def theme() -> Literal["light", "dark"]:
    """The theme this visitor sees."""
    return "dark" if st.context.theme.type == "dark" else "light"


def link_value(name: str, allowed: object = None) -> str | None:
    """A parameter of the link, or None; values that are not allowed count as missing.

    Parameters
    ----------
    name : str
        Its key.
    allowed : container of str, optional
        Values it may have.
    """
    value = st.query_params.get(name)
    if value is None or (allowed is not None and value not in allowed):  # type: ignore[operator]
        return None
    return value
