"""The frame around every page: its title, the sidebar, a little style."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from simviz.workbench.shell import state

if TYPE_CHECKING:
    pass

_DELAY = 1.0  # seconds; the page is painted first, imports would compete with it
#: Seconds after which a thread that waits may have the interpreter. Every element that a page
#: sends lets go of it for a moment; beside jobs in pure Python each would cost the usual 5 ms.
_TURN = 0.001
_WORDS = ["red heart", "blue car", "green tree", "small bird", "big whale", "old moon"]


@st.cache_resource(show_spinner=False)
def start() -> threading.Thread:
    """Begin once a server, in the background."""
    sys.setswitchinterval(_TURN)
    thread = threading.Timer(_DELAY, _load)
    thread.daemon = True
    thread.start()
    return thread


@st.cache_resource(show_spinner=False)
def start_topics() -> threading.Thread:
    """Begin once a server what only topic models need, where methods are chosen."""
    # Their loops take the longest to compile, and most visitors of the first page never train
    # one.
    first = start()

    def load() -> None:
        first.join()
        _load_topics()

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    return thread


def _load() -> None:
    """Import what training needs and compile its kernels on a handful of pairs."""
    for module in ("simviz.jobs.queue", "simviz.charts.map", "plotly.graph_objects"):
        importlib.import_module(module)
    _try("cca")
    from simviz.data.pairs import PairSet
    from simviz.evaluation import evaluate
    from simviz.evaluation.baselines import ChanceScorer

    # Baselines score in double precision, for which the kernels are others.
    pairs = PairSet.from_texts(_WORDS, _WORDS)
    evaluate(ChanceScorer(), pairs.x, pairs.y, pairs.relevance)
    _set_aside()


def _load_topics() -> None:
    """Compile the loops of topic models; kin share most of them."""
    for method in ("jplsa", "cplsa"):
        _try(method)
    _set_aside()


def _set_aside() -> None:
    """Let the garbage collector pass over what the libraries hold for good."""
    # A full collection looks through some 400,000 objects of libraries otherwise: 0.2 s in which
    # no visitor is answered.
    gc.collect()
    gc.freeze()


def _try(method: str) -> None:
    """Train a method on a handful of pairs and measure it."""
    from simviz.data.pairs import PairSet
    from simviz.evaluation import evaluate
    from simviz.pipeline import default_pipeline

    pairs = PairSet.from_texts(_WORDS, [word[::-1] for word in _WORDS])
    pipeline = default_pipeline(method, pairs, n_components=2, shared=False)
    # With pairs to watch, as in every job: what measures them is compiled too.
    pipeline.fit(pairs, pairs)
    evaluate(pipeline, pairs.x, pairs.y, pairs.relevance)


#: The demo that is shown around, and the parameter that begins it.
DEMO, PARAMETER = "emoji", "tour"
_ON = "tour-on"
_STYLE = """
<style>
.st-key-tour { border-left: 3px solid #2f7ba3;
  background: color-mix(in srgb, #2f7ba3 9%, transparent); padding: .35rem .9rem;
  margin-bottom: .6rem; border-radius: 0 .4rem .4rem 0; row-gap: 0; }
.sv-tour { margin: 0; line-height: 1.5; }
.sv-tour i { font-style: normal; opacity: .6; margin-right: .5rem; white-space: nowrap; }
@media (max-width: 48rem) {
  .st-key-tour { flex-wrap: wrap; }
  .st-key-tour > :first-child { flex-basis: 100%; }
}
</style>
"""


class Step(NamedTuple):
    """A page of the tour."""

    words: str
    page: str
    label: str


#: By the title of the page: whoever leaves the way still reads what belongs there.
STEPS = {
    "Home": Step(
        "Each method learns from the same pairs and is then asked about pairs it never saw: the "
        "sentence below says what the best one finds.",
        "pages/compare.py",
        "Is it really the best?",
    ),
    "Compare": Step(
        "Methods that share a letter cannot be told apart; “Where they differ” shows single "
        "queries.",
        "pages/map.py",
        "What does it see?",
    ),
    "Map": Step(
        "Press a word on the map: lines lead to its nearest of the other side.",
        "pages/search.py",
        "Ask it something",
    ),
    "Search": Step(
        "Type words of your own: all methods answer side by side, and below stands why.",
        "pages/data.py",
        "Now your own file",
    ),
    "Data": Step(
        "A table with two columns that belong together is enough: drop it below, and train on it.",
        "",
        "",
    ),
}


def begin_tour() -> None:
    """Show around from now on, beginning with what the demo found."""
    st.session_state[_ON] = True
    st.session_state.dataset_id = f"demo:{DEMO}"
    st.query_params.from_dict({"demo": DEMO})


def follow_tour_link(title: str) -> None:
    """Begin where the link says so; on Home with a demo, which the others need too."""
    if not st.query_params.pop(PARAMETER, ""):
        return
    st.session_state[_ON] = True
    if title == "Home" and "demo" not in st.query_params:
        begin_tour()


def show_tour(title: str) -> None:
    """Draw the line of a page, if the visitor is shown around."""
    step = STEPS.get(title)
    if step is None or not st.session_state.get(_ON):
        return
    st.html(_STYLE)
    at = list(STEPS).index(title) + 1
    bar = st.container(
        horizontal=True, vertical_alignment="center", gap="small", wrap=False, key="tour"
    )
    with bar:
        st.html(
            f'<p class="sv-tour"><i>{at} of {len(STEPS)}</i> {escape(step.words)}</p>',
            width="stretch",
        )
        if step.page:
            carried = {"view": "other"} if step.page == "pages/data.py" else None
            carried = carried or {"data": f"demo:{DEMO}"}
            st.page_link(
                step.page,
                label=step.label,
                icon=":material/arrow_forward:",
                query_params=carried,
                width="content",
            )
        st.button(
            "Done" if not step.page else "End the tour",
            key="tour-end",
            type="tertiary",
            icon=":material/close:",
            on_click=_end,
            width="content",
        )


def _end() -> None:
    st.session_state[_ON] = False


_SITE = Path(__file__).parents[1] / "site"
#: Where `app.py` and `pages/` stand: in an installed copy a folder of this package.
ROOT = _SITE if _SITE.is_dir() else Path(__file__).parents[3]
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


@contextmanager
def page(title: str) -> Iterator[None]:
    """Frame what a page shows; also a decorator."""
    begin(title)
    yield
    end()


def begin(title: str) -> None:
    """Start a page: to be called before anything else is drawn."""
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
    follow_tour_link(title)
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
        show_tour(title)


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
    start()


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
        info = state.store().datasets.info(dataset_id, state.workspace())
        n_runs = len(state.runs(dataset_id))
        running = sum(s.is_active for s in state.queue().jobs(state.workspace()))
    except StoreError:
        return
    words = f"{n_runs} run{'' if n_runs == 1 else 's'}" + (f" · {running} ▶" if running else "")
    st.text(name if info.is_demo else info.name)
    st.caption(words)


def page_link(path: str, label: str, icon: str, **params: str) -> None:
    """Link to a page of the app, if it exists."""
    if (ROOT / path).exists():
        st.page_link(path, label=label, icon=icon, query_params=params or None)
