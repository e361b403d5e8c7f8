"""Sharing what is on the screen: a link for a demo, a published view for one's own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import streamlit as st

from pages._shared import links, state

if TYPE_CHECKING:
    from simviz.store.records import Share
    from simviz.store.run import Run

_PAGES = ("data", "train", "compare", "map", "search", "methods", "papers")
#: How long a published view may be seen, in days; None: until it is withdrawn.
_DAYS = {"a week": 7, "a month": 30, "a year": 365, "until I withdraw it": None}


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
    if not runs or state.share() is not None or st.context.is_embedded:
        return
    with st.popover("Share", icon=":material/share:"):
        # No link trains a blend or another system: they are of this server.
        repeatable = all(run.info.method not in ("blend", "imported") for run in runs)
        demo = links.demo_link(runs[0]) if repeatable else None
        if kind == "compare" and runs[0].info.is_demo and repeatable:
            demo_id = runs[0].info.dataset_id.removeprefix("demo:")
            st.markdown("This link works on any server: it trains this demo's methods.")
            _show_link(url("", {"demo": demo_id}))
        elif demo is not None:
            st.markdown("This link works on any server: it trains the same and shows the same.")
            _show_link(url(kind, {**demo, **(view or {})}))
        else:
            _publish(kind, runs, dict(view or {}))
        _show_published()


def url(page: str, params: Mapping[str, str]) -> str:
    """Address of a page on this server, with parameters, as others reach it."""
    return f"{_base()}/{page}?{urlencode(params)}"


def _base() -> str:
    """The address that the operator gave, else the one that this browser uses."""
    told = state.deployment().base_url
    if told:
        return told
    here = urlsplit(st.context.url or "")
    root = here.path.rsplit("/", 1)[0] if here.path.rsplit("/", 1)[-1] in _PAGES else here.path
    return f"{here.scheme}://{here.netloc}{root.rstrip('/')}" if here.netloc else ""


def _show_link(address: str) -> None:
    """A link to copy, its embedded form, and what keeps it from reaching a colleague."""
    from simviz.deployment import is_this_computer

    st.code(address, language=None, wrap_lines=True)
    if is_this_computer(urlsplit(address).netloc, None):
        st.caption(
            "It opens on this computer only. To send it, set `SIMVIZ_BASE_URL` to an address that "
            "your colleague can reach, or send *Report as one page* of Compare, which needs no "
            "server."
        )
        return
    with st.expander("Embed it in a page"):
        framed = escape(f"{address}&embed=true", quote=True)
        st.code(
            f'<iframe src="{framed}" width="100%" height="720" style="border:0"></iframe>',
            language="html",
            wrap_lines=True,
        )


def _publish(kind: str, runs: Sequence[Run], view: dict[str, str]) -> None:
    st.markdown(
        "Your runs open in your workspace only. Publishing makes a read-only view that anyone "
        "with its link can open: these runs with their models, and the data they were trained on."
    )
    how_long = st.selectbox("The link works for", list(_DAYS), index=1, key=f"{kind}-share-days")
    if st.button("Publish this view", key=f"{kind}-publish", type="primary"):
        token = state.store().publish(
            state.workspace(),
            kind,
            run_ids=[run.id for run in runs],
            dataset_ids=[runs[0].info.dataset_id],
            view=view,
            days=_DAYS[how_long],
        )
        st.session_state[f"{kind}-published"] = token
    token = st.session_state.get(f"{kind}-published")
    if token:
        _show_link(url(kind, {"share": token}))


def _show_published() -> None:
    """List what is published, each with a way to take it back."""
    published = state.store().list_shares(state.workspace())
    if not published:
        return
    st.caption(f"Published: {len(published)}")
    for share in published:
        left, right = st.columns([3, 2], vertical_alignment="center")
        left.page_link(
            f"pages/{share.kind}.py",
            label=f"{share.kind.capitalize()}, {_count(share)}{_until(share)}",
            query_params={"share": share.token},
        )
        right.button(
            "Withdraw",
            key=f"withdraw-{share.token}",
            on_click=_withdraw,
            args=(share.token,),
            type="tertiary",
        )


def _count(share: Share) -> str:
    n_runs = len(share.run_ids)
    return f"{n_runs} run{'' if n_runs == 1 else 's'}"


def _until(share: Share) -> str:
    """What is left of a share's time."""
    if share.expires is None:
        return ""
    days = (share.expires - time.time()) / 86_400
    return f", {days:.0f} days left" if days >= 2 else f", {max(1, 24 * days):.0f} h left"


def _withdraw(token: str) -> None:
    state.store().withdraw(token, state.workspace())
    for kind in _PAGES:
        if st.session_state.get(f"{kind}-published") == token:
            del st.session_state[f"{kind}-published"]
