"""The query parameters of a page: what they say, and whether the visitor or a page wrote them.

A browser sends the address that it shows with all that is done on a page. What a page writes
reaches the browser in order, but later: what is done meanwhile comes with an address of before.
So an address is news of the visitor if it comes with another page, by *Back*, or if this session
did not write it; any other is late, and what the page wrote last stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

#: What each page puts into its link beside its data and run, with the value that goes unsaid in
#: the address; None where each is said. A shared link says all of them.
PAGES: Mapping[str, Mapping[str, str | None]] = {
    "Compare": {
        **dict.fromkeys(("runs", "part", "direction", "metric", "against", "test")),
        **{"correction": "holm", "tab": "roc", "a": "", "b": "", "query": ""},
    },
    "Map": {
        **dict.fromkeys(("part", "direction")),
        **{"drawing": "two-sided-2", "colour": "side", "side": "", "only": "", "gap": "center"},
        **{"halos": "0", "table": "0", "regions": "", "dims": "", "beside": "", "at": "0,0,1"},
        **{"sel": "", "ask": "", "lasso": "", "find": "", "hide": "", "filter": ""},
    },
    "Search": {**dict.fromkeys(("runs", "part")), "mode": "query", "ask": "", "rate": "1"},
    "Methods": {"method": ""},
    "Papers": {"experiment": ""},
}
#: In links of a page to itself: a number of its own, so that each press is news.
_AGAIN = "again"
#: Addresses that are remembered: far more than can be on their way to a browser.
_MAX_WRITTEN = 200


@dataclass(slots=True)
class _Address:
    """What a session knows of its address."""

    page: str = ""
    shown: dict[str, str] = field(default_factory=dict)
    written: list[dict[str, str]] = field(default_factory=list)
    new_params: dict[str, str] = field(default_factory=dict)
    n_pages: int = 0


def _own() -> _Address:
    known: _Address = st.session_state.setdefault("address", _Address())
    return known


def begin_page(title: str) -> None:
    """Begin a page: take what the visitor brought, or put back what was written last."""
    own, brought = _own(), st.query_params.to_dict()
    run = get_script_run_ctx()
    is_back = run is not None and run.is_history_navigation
    if own.page == title and not is_back and brought in own.written:
        _write(own, own.shown)
        return
    # What a page wrote is whole, so that Back takes back also what has become unusual since.
    defaults = {n: v for n, v in PAGES.get(title, {}).items() if v is not None} if is_back else {}
    # What was written last may still be on its way.
    own.written, own.n_pages = [*own.written[-1:], brought], own.n_pages + 1
    followed = {name: value for name, value in brought.items() if name != _AGAIN}
    own.page, own.new_params = title, defaults | followed
    _write(own, followed)


def current_page() -> str:
    """The page that is shown, by its title."""
    return _own().page


def new_params() -> dict[str, str]:
    """What the visitor brought; whoever follows a part of it takes it out."""
    return _own().new_params


def current() -> dict[str, str]:
    """What the address says."""
    return _own().shown


def get(name: str) -> str:
    """What the address says of a name; nothing if it says nothing."""
    return current().get(name, "")


def data(dataset_id: str) -> dict[str, str]:
    """What a link to another page says of the data, within a published view of that view."""
    share = get("share")
    return {"share": share} if share else {"data": dataset_id}


def nonce() -> dict[str, str]:
    """What a link to the page on which it stands says beside, to be news at each press."""
    return {_AGAIN: str(_own().n_pages)}


def put(**values: str | None) -> None:
    """Say these values in the address beside what it says, or nothing of a name."""
    own = _own()
    _write(own, own.shown | values)


def replace(values: Mapping[str, str]) -> None:
    """Say these values in the address and nothing else."""
    own = _own()
    own.new_params = {}
    _write(own, values)


def view_params() -> dict[str, str]:
    """All that a link to this view says of it."""
    own = _own()
    defaults = {n: v for n, v in PAGES[own.page].items() if n in own.shown or v is not None}
    return {name: own.shown.get(name, value or "") for name, value in defaults.items()}


def _write(own: _Address, values: Mapping[str, str | None]) -> None:
    defaults = PAGES.get(own.page, {})
    own.shown = {n: v for n, v in values.items() if v is not None and v != defaults.get(n)}
    if own.shown != st.query_params.to_dict():
        own.written = [*own.written[-_MAX_WRITTEN:], own.shown]
        st.query_params.from_dict(own.shown)
