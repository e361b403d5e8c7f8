"""Share: a link to what is shown, a published view of it, and the model as a file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from urllib.parse import urlencode, urlsplit

import streamlit as st

from simviz.charts.drawing import Drawing
from simviz.data.cells import counted
from simviz.data.pairs import PairSet
from simviz.exceptions import SimvizError
from simviz.exports import model_page, why_not
from simviz.exports.html import page_contents
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now, map_name
from simviz.markdown import escape_markdown
from simviz.projection.pipeline_map import Placed, nearest_of_all
from simviz.store import Share, load_map
from simviz.store.run import Run
from simviz.workbench.shell import display, drawings, forms, query_params, state
from simviz.workbench.shell.links import demo_link

_PAGES = ("data", "train", "compare", "map", "search", "methods", "papers")
#: How long a published view may be seen, in days; None: until it is withdrawn.
_DAYS = {"in a week": 7, "in a month": 30, "in a year": 365, "never": None}

#: Where what is shared works, and for how long.
_KINDS = (
    "A link to a demo works on every simviz server, a published view on this one until it "
    "expires or is withdrawn, {} in every browser for good."
)


@st.fragment
def show_button(kind: str, runs: Sequence[Run]) -> None:
    """Offer a link to this screen, as it is when the offer is opened."""
    if not runs or state.share() is not None or st.context.is_embedded:
        return
    runs = [state.run(run.id) for run in runs]  # as they are kept, whatever marks they follow
    box = st.popover("Share", icon=":material/share:", key=f"{kind}-share", on_change="rerun")
    if not box.open:
        return
    view = query_params.view_params()
    with box:
        st.caption(_KINDS.format("*Report as one page*" if kind == "compare" else "a file"))
        # No link trains a blend or another system: they are of this server.
        repeatable = not any(run.info.is_derived or run.info.is_imported for run in runs)
        demo = demo_link(runs[0]) if repeatable else None
        if kind == "compare" and runs[0].info.is_demo and repeatable:
            st.markdown(
                "Opens this comparison. On another server it first offers to train the demo's "
                "methods; runs with other settings are on this one only."
            )
            _show_link(url(kind, {"data": runs[0].info.dataset_id} | view))
        elif demo is not None:
            st.markdown("Trains the same run wherever it is opened.")
            _show_link(url(kind, demo | view))
        else:
            _publish(kind, runs)
        if kind != "compare":
            _show_file(kind, runs[0])
        _show_published()


def url(page: str, params: Mapping[str, str]) -> str:
    """Address of a page on this server, with parameters, as others reach it."""
    return f"{_base()}/{page}?{urlencode({n: v for n, v in params.items() if v})}"


def _base() -> str:
    """The address that the operator gave, else the one that this browser uses."""
    if base_url := state.deployment().base_url:
        return base_url
    here = urlsplit(st.context.url or "")
    folder, _, last = here.path.rpartition("/")
    root = folder if last in _PAGES else here.path
    return f"{here.scheme}://{here.netloc}{root.rstrip('/')}" if here.netloc else ""


def _show_link(link: str) -> None:
    """A link to copy, its embedded form, and what keeps it from reaching a colleague."""
    st.code(link, language=None, wrap_lines=True)
    if state.is_this_computer(urlsplit(link).netloc, None):
        st.caption(
            "Opens on this computer only. For others, set `SIMVIZ_BASE_URL` to this server's "
            "address, or send a file."
        )
        return
    with st.expander("Embed"):
        framed = escape(f"{link}&embed=true", quote=True)
        st.code(
            f'<iframe src="{framed}" width="100%" height="720" style="border:0"></iframe>',
            language="html",
            wrap_lines=True,
        )


def _show_file(kind: str, run: Run) -> None:
    """Offer the model with its map as one file."""
    pairs = state.dataset(run.info.dataset_id)
    try:
        reason = why_not(drawings.pipeline(run), "page")
    except SimvizError as error:
        reason = str(error)
    st.download_button(
        "As a file",
        partial(_page, run, pairs),
        f"{run.info.method}.html",
        "text/html",
        key=f"{kind}-file",
        on_click="ignore",
        disabled=bool(reason),
        icon=":material/draft:",
    )
    text = f"Answers, says why and draws the map by itself. {page_contents(pairs)}"
    st.caption(escape_markdown(reason or text))


def _page(run: Run, pairs: PairSet) -> bytes:
    """A model as a page, with the best drawing that is kept, or the one that is made first."""
    if (name := drawings.best_stored(run)) is None:
        draw_now(run, pairs, name := QUICK_LAYOUT)
    pipeline, placed = run.pipeline(), Placed(*load_map(run, map_name(name)))
    nearest = nearest_of_all(pipeline, pairs, placed)
    drawing = Drawing(placed.drawing, pairs.take(placed.x_rows, placed.y_rows), nearest)
    return model_page(pipeline, pairs, drawing=drawing).encode()


def _publish(kind: str, runs: Sequence[Run]) -> None:
    st.markdown(
        "Publishes a read-only view of these runs, their models and their data for anyone with "
        "its link, on this server and until it expires."
    )
    st.selectbox("Expires", list(_DAYS), index=1, key=f"{kind}-share-days")
    if state.deployment().public:
        st.caption(f"{state.retention_notice()} Its links stop working with it.")
    # By a callback: a page that is drawn anew on the way would publish once more.
    key = f"{kind}-publish"
    forms.button("Publish this view", key, _put_share, kind, runs, type="primary")
    if problem := st.session_state.pop(f"{kind}-publish-problem", ""):
        st.text(problem)
    if token := st.session_state.get(f"{kind}-published"):
        _show_link(url(kind, {"share": token}))


def _put_share(kind: str, runs: Sequence[Run]) -> None:
    with display.problems(show=display.later(f"{kind}-publish-problem")):
        st.session_state[f"{kind}-published"] = state.store().shares.publish(
            state.workspace(),
            kind,
            run_ids=[run.id for run in runs],
            dataset_ids=[runs[0].info.dataset_id],
            view=query_params.view_params(),
            days=_DAYS[st.session_state[f"{kind}-share-days"]],
        )


def _show_published() -> None:
    published = state.store().shares.find(state.workspace())
    if not published:
        return
    st.caption(f"Published: {len(published)}")
    for share in published:
        runs = counted(len(share.run_ids), "run")
        left, right = st.columns([3, 2], vertical_alignment="center")
        label = f"{share.kind.capitalize()}, {runs}{_until(share)}"
        to = {"share": share.token} | query_params.nonce()
        left.page_link(f"pages/{share.kind}.py", label=label, query_params=to)
        with right:
            key = f"withdraw-{share.token}"
            forms.button("Withdraw", key, _withdraw, share.token, type="tertiary")


def _until(share: Share) -> str:
    if share.expires is None:
        return ""
    days = (share.expires - time.time()) / 86_400
    return f", {days:.0f} days left" if days >= 2 else f", {max(1, 24 * days):.0f} h left"


@display.problems(show=display.toast)
def _withdraw(token: str) -> None:
    state.store().shares.withdraw(token, state.workspace())
    for kind in _PAGES:
        if st.session_state.get(f"{kind}-published") == token:
            del st.session_state[f"{kind}-published"]
