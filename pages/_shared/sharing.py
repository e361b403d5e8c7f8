"""Sharing what is on the screen: a link for a demo, a published view for one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import streamlit as st

from pages._shared import links, state

if TYPE_CHECKING:
    from simviz.store.run import Run


def show_button(kind: str, runs: Sequence[Run], view: Mapping[str, str] | None = None) -> None:
    """Offer a link to this screen.

    Parameters
    ----------
    kind : {"compare", "map", "search"}
        The page.
    runs : sequence of Run
        What it shows; a demo link means the first.
    view : mapping of str to str, optional
        Further parameters of the page, such as the drawing or the selection.
    """
    if not runs or state.share() is not None:
        return
    with st.popover("Share", icon=":material/share:"):
        # No link trains a blend: it is of two runs of this server.
        repeatable = all(run.info.method != "blend" for run in runs)
        demo = links.demo_link(runs[0]) if repeatable else None
        if kind == "compare" and runs[0].info.is_demo and repeatable:
            demo_id = runs[0].info.dataset_id.removeprefix("demo:")
            st.markdown("This link works on any server: it trains this demo's methods.")
            st.code(url("", {"demo": demo_id}), language=None, wrap_lines=True)
        elif demo is not None:
            st.markdown("This link works on any server: it trains the same and shows the same.")
            st.code(url(kind, {**demo, **(view or {})}), language=None, wrap_lines=True)
        else:
            _publish(kind, runs, dict(view or {}))
        _show_published()


def url(page: str, params: Mapping[str, str]) -> str:
    """Address of a page on this server, with parameters."""
    here = urlsplit(st.context.url or "")
    root = here.path.rsplit("/", 1)[0] if here.path.rsplit("/", 1)[-1] in _PAGES else here.path
    base = f"{here.scheme}://{here.netloc}{root.rstrip('/')}" if here.netloc else ""
    return f"{base}/{page}?{urlencode(params)}"


_PAGES = ("data", "train", "compare", "map", "search", "methods")


def _publish(kind: str, runs: Sequence[Run], view: dict[str, str]) -> None:
    st.markdown(
        "Your runs open in your workspace only. Publishing makes a read-only view that anyone "
        "with its link can open, until you withdraw it."
    )
    if st.button("Publish this view", key=f"{kind}-publish", type="primary"):
        token = state.store().publish(
            state.workspace(),
            kind,
            run_ids=[run.id for run in runs],
            dataset_ids=[runs[0].info.dataset_id],
            view=view,
        )
        st.session_state[f"{kind}-published"] = token
    token = st.session_state.get(f"{kind}-published")
    if token:
        st.code(url(kind, {"share": token}), language=None, wrap_lines=True)


def _show_published() -> None:
    """List what is published, each with a way to take it back."""
    published = state.store().list_shares(state.workspace())
    if not published:
        return
    st.caption(f"Published: {len(published)}")
    for share in published:
        left, right = st.columns([3, 2], vertical_alignment="center")
        left.text(f"{share.kind}, {len(share.run_ids)} runs")
        right.button(
            "Withdraw",
            key=f"withdraw-{share.token}",
            on_click=_withdraw,
            args=(share.token,),
            type="tertiary",
        )


def _withdraw(token: str) -> None:
    state.store().withdraw(token, state.workspace())
    for kind in _PAGES:
        if st.session_state.get(f"{kind}-published") == token:
            del st.session_state[f"{kind}-published"]
