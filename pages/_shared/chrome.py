"""The frame around every page: its title, the sidebar, a little style."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages._shared import state, tour, warm

ROOT = Path(__file__).parents[2]
# Path, label, icon: the order of work, then what is read about it.
PAGES = (
    ("app.py", "Home", ":material/home:"),
    ("pages/data.py", "Data", ":material/table:"),
    ("pages/train.py", "Train", ":material/model_training:"),
    ("pages/compare.py", "Compare", ":material/leaderboard:"),
    ("pages/map.py", "Map", ":material/scatter_plot:"),
    ("pages/search.py", "Search", ":material/search:"),
    ("pages/methods.py", "Methods", ":material/menu_book:"),
    ("pages/papers.py", "Papers", ":material/science:"),
)
# A published view is for reading; Home is outside of it.
_NOT_SHARED = "pages/train.py"

# Only what the theme cannot say: figures in columns align, tables and findings have a look.
STYLE = """
<style>
.stMarkdown, .sv-table { font-variant-numeric: tabular-nums; }
.sv-lead { font-size: 1.15rem; line-height: 1.6; max-width: 44rem; opacity: .85; margin: 0; }
.sv-finding { font-family: 'Iowan Old Style', 'Palatino Linotype', Palatino, Georgia, serif;
  font-size: 1.35rem; line-height: 1.5; max-width: 56rem; margin: .4rem 0 .2rem; }
.sv-table { border-collapse: collapse; width: 100%; font-size: .95rem; }
.sv-table th { text-align: right; font-weight: 500; opacity: .65; padding: .35rem .7rem;
  border-bottom: 1px solid color-mix(in srgb, currentColor 22%, transparent); }
.sv-table td { text-align: right; padding: .45rem .7rem; white-space: nowrap;
  border-bottom: 1px solid color-mix(in srgb, currentColor 9%, transparent); }
.sv-table th:first-child, .sv-table td:first-child { text-align: left; padding-left: 0; }
.sv-table .sv-base td { opacity: .6; }
.sv-table .sv-best { font-weight: 650; }
.sv-table .sv-se { opacity: .6; font-size: .85em; font-weight: 400; }
.sv-scroll { overflow-x: auto; }
[data-testid="stCaptionContainer"] a { color: inherit; }
/* The link to the page itself has its colour already: only a ring tells that it has the focus. */
[data-testid="stPageLink"] a:focus-visible { outline: 2px solid #2f7ba3; outline-offset: -2px; }
/* A heading beside a button: without room of its own it would hang below the line. */
.stHorizontalBlock > .stElementContainer :is(h4, h5) { padding: 0; }
.stHorizontalBlock > .stElementContainer div:has(> div > :is(h4, h5)) { margin-bottom: 0; }
.stMainBlockContainer { padding-top: 3.9rem; padding-bottom: 4rem; }
[data-testid="stSidebarHeader"] { margin-bottom: 0; }
/* Without a pointer to hover with, a chart's tools would always lie on it. */
@media (hover: none) {
  .modebar-btn:not([data-title^="Download"]):not([data-title="Fullscreen"]) {
    display: none !important; }
}
/* Choices that do not fit beside one another stand as chips, not as a torn row. */
@media (max-width: 40rem) {
  [role="radiogroup"]:has(> [data-variant="segmented_control"]) { gap: .35rem; }
  button[data-variant="segmented_control"] { margin: 0; border-radius: .4rem; }
  button[data-variant="segmented_control"]:not([data-selected="true"]) {
    border: 1px solid color-mix(in srgb, currentColor 25%, transparent) !important; }
}
</style>
"""
# Within a page of somebody else's there is no bar at the top to stay clear of.
EMBEDDED_STYLE = """
<style>.stApp .stMainBlockContainer { padding: .75rem 1rem 1rem; }</style>
"""
# On dark ground the main colour can carry white text, or be text, but not both.
DARK_STYLE = """
<style>
button[kind="tertiary"]:is(:hover, :focus-visible, :active),
button[data-variant][data-selected="true"], button[data-variant][data-selected="true"] p {
  color: #6cc0e5; }
</style>
"""


def begin(title: str) -> None:
    """Start a page: to be called before anything else is drawn.

    Parameters
    ----------
    title : str
        Name of the page, for the tab of the browser.
    """
    st.set_page_config(
        page_title=f"{title} · simviz" if title != "Home" else "simviz",
        page_icon=":material/hub:",
        layout="wide",
        initial_sidebar_state="auto",
    )
    st.html(STYLE + (DARK_STYLE if state.theme() == "dark" else ""))
    if "share" in st.query_params:
        _open_share()
    if st.context.is_embedded:
        st.html(EMBEDDED_STYLE)
        return  # within another page there is one view, and no way through the app
    tour.follow_link(title)
    dataset_id = state.current_dataset_id()
    with st.sidebar:
        st.markdown("### simviz")
        _show_current(dataset_id)
        carried = {"data": dataset_id} if dataset_id else None
        is_shared = "share" in st.query_params
        if is_shared:
            carried = {"share": st.query_params["share"]}
        for path, label, icon in PAGES:
            if (ROOT / path).exists() and not (is_shared and path == _NOT_SHARED):
                params = None if is_shared and path == "app.py" else carried
                st.page_link(path, label=label, icon=icon, query_params=params)
    if not is_shared:
        tour.show(title)


def _open_share() -> None:
    """Check a published view's link; a dead one gets a page that leads on."""
    from simviz.exceptions import StoreError

    try:
        state.share()
    except StoreError as error:
        st.title("This link shows nothing any more")
        st.text(str(error))
        st.page_link("app.py", label="See what simviz does", icon=":material/home:")
        st.stop()


def end() -> None:
    """Finish a page: what may wait until it is painted starts now."""
    state.remember_workspace()
    warm.start()


def _show_current(dataset_id: str | None) -> None:
    """The data set and how many runs it has; nothing heavy is loaded to say so."""
    if "share" in st.query_params:
        st.caption("A published view, read only")
        return
    if dataset_id is None:
        st.caption("Learned similarity, measured honestly")
        return
    from simviz.datasets import DEMOS

    name = "Your data"
    if dataset_id.removeprefix("demo:") in DEMOS:
        name = DEMOS[dataset_id.removeprefix("demo:")].title
    if not state.is_warm():
        st.text(name)
        st.caption("\N{NO-BREAK SPACE}")  # the links below keep their place
        return
    from simviz.exceptions import StoreError

    try:
        info = state.store().get_dataset_info(dataset_id, state.workspace())
        n_runs = len(state.runs(dataset_id))
        running = sum(s.is_active for s in state.queue().jobs(state.workspace()))
    except StoreError:
        return
    words = f"{n_runs} run{'' if n_runs == 1 else 's'}" + (f" · {running} ▶" if running else "")
    st.text(name if info.is_demo else info.name)
    st.caption(words)
