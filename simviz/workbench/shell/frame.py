"""The frame around every page: its title, the sidebar, a little style."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from simviz import compilation
from simviz.data.cells import counted
from simviz.data.pairs import PairSet
from simviz.evaluation import evaluate
from simviz.evaluation.scoring import ChanceScorer
from simviz.exceptions import StoreError
from simviz.pipeline import default_pipeline
from simviz.store.directory import why_not_written
from simviz.workbench.server import ROOT as ROOT
from simviz.workbench.shell import display, forms, progress, query_params, state

_FOLDER = Path(__file__).parent
#: Path, label, icon: the order of work, then what is read about it.
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
#: A published view is for reading; Home is outside of it.
_NOT_SHARED = "pages/train.py"
#: Pages that show one data set, the one opened last where the address does not name another; and
#: pages that show none.
_WORK = ("Train", "Compare", "Map", "Search")
_OF_NO_DATA = ("Methods", "Papers")
# In the session: the data set of the sidebar, and whether Home is left for it.
_SWITCH, _LEAVE = "data-switch", "data-leave"
#: The demo that is shown around, and the parameter that begins it.
DEMO, PARAMETER = "emoji", "tour"
_ON = "tour-on"
_DELAY = 1.0  # seconds; the page is painted first, imports would compete with it
#: Seconds after which a thread that waits may have the interpreter. Every element that a page
#: sends lets go of it for a moment; beside jobs in pure Python each would cost the usual 5 ms.
SWITCH_SECONDS = 0.001
#: Seconds between two counts of a visitor's runs while jobs are active.
_COUNTING = 1.0
#: Streamlit adds an entry to the browser's history for each parameter that a page writes into the
#: address. Here what the visitor does adds at most one: Back then leads to where they were. What
#: is done on the map of a data set adds none: it is one page, and Back leaves it.
HISTORY = """<script>
if (!window.svHistory) {
  let done = false;
  window.svHistory = history.pushState;
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => done = true, true);
  const data = ({searchParams}) => searchParams.get("data") ?? `demo:${searchParams.get("demo")}`;
  const isMapSame = (now, next) => next.pathname === now.pathname &&
    /\\/map\\/?$/.test(now.pathname) && data(next) === data(now);
  addEventListener("popstate", () => done = false, true);
  history.pushState = (state, title, url) => {
    // A late word of the map must not take the press on a link that leaves it.
    const isSame = isMapSame(new URL(location), new URL(url ?? "", location));
    const go = done && !isSame ? window.svHistory : history.replaceState;
    done &&= isSame;
    go.call(history, state, title, url);
  };
}
</script>"""
_SAMPLE_TEXTS = ["red heart", "blue car", "green tree", "small bird", "big whale", "old moon"]


class Step(NamedTuple):
    """A page of the tour."""

    text: str
    page: str = ""
    label: str = ""


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
        "See it on the map",
    ),
    "Map": Step(
        "Press a word on the map: lines lead to the nearest items of the other side.",
        "pages/search.py",
        "Ask it something",
    ),
    "Search": Step(
        "Type words of your own: all methods answer side by side; below them you read why.",
        "pages/data.py",
        "Now your own file",
    ),
    "Data": Step(
        "A table with two columns that belong together is enough: drop it below, and train on it."
    ),
}


def begin(title: str) -> Callable[[], None]:
    """Start a page, before anything else is drawn; return what brings its count up to date."""
    st.set_page_config(
        page_title=f"{title} · simviz" if title != "Home" else "simviz",
        # An icon of Streamlit's would be loaded from a font server on the internet.
        page_icon=str(_FOLDER / "icon.svg"),
        layout="wide",
        initial_sidebar_state="auto",
    )
    st.html(_FOLDER / "style.css")
    try:
        state.claim_store()
    except StoreError as error:
        st.title("The store cannot be used")
        st.text(str(error))
        st.stop()
    if state.is_warm():
        state.renew_workspace()
    query_params.begin_page(title)
    is_shared = query_params.get("share") != ""
    if is_shared:
        _open_share()
    state.apply_query_params(title)
    if st.context.is_embedded:
        # There is no bar at the top to stay clear of.
        st.html("<style>.stApp .stMainBlockContainer { padding: .75rem 1rem 1rem; }</style>")
        return lambda: None  # within another page there is one view, and no way through the app
    follow_tour_link(title)
    dataset_id = _open_dataset(title)
    notices = st.empty()
    with st.sidebar:
        st.markdown("### simviz")
        if is_shared:
            st.caption("A published view, read only")
        else:
            _show_switch(title, dataset_id)
        place = st.empty()
        was_active = _show_counts(place, dataset_id)
        params = query_params.data(dataset_id or "") if is_shared or dataset_id else {}
        for path, label, icon in PAGES:
            if not (is_shared and path == _NOT_SHARED):
                to = {} if is_shared and path == "app.py" else params
                again = query_params.nonce() if label == title else {}
                page_link(path, label, icon, **to, **again)
        st.html(HISTORY, unsafe_allow_javascript=True)
    if not is_shared:
        progress.show_ended(notices)
        show_tour(title)

    def count_again() -> None:
        # The page may have asked for jobs itself.
        if not was_active and not is_shared and count_active():
            _show_counts(place, state.current_dataset_id())

    return count_again


def _open_share() -> None:
    """Check a published view's link; a dead one gets a page that leads on."""
    try:
        state.share()
    except StoreError as error:
        st.title("This link no longer works")
        st.text(str(error))
        st.page_link("app.py", label="See what simviz does", icon=":material/home:")
        st.stop()


@contextmanager
def page(title: str) -> Iterator[None]:
    """Frame what a page shows; also a decorator."""
    notice = ""
    try:
        count_again = begin(title)
        if state.is_warm() and state.store().is_full and not query_params.get("share"):
            notice = why_not_written(state.store().root)
            display.style()
            display.problem(notice)
    except StoreError as error:  # nothing can be read: its index is gone
        st.title(title)
        display.style()
        display.problem(error)
        st.stop()
    try:
        yield
        count_again()
    except StoreError as error:
        if str(error) != notice:
            display.style()
            display.problem(error)
    state.remember_workspace()
    start()  # what may wait until the page is painted


def _open_dataset(title: str) -> str | None:
    """The data set being worked on; where the address names none, the one opened last."""
    dataset_id = state.current_dataset_id()
    if query_params.get("share"):
        return dataset_id
    run_ids = state.run_ids(query_params.current())  # which name their data
    if dataset_id is None and title in _WORK and not run_ids:
        with suppress(StoreError):
            dataset_id = state.open_last()
    if dataset_id is not None and state.is_warm():
        state.remember_opened(dataset_id)
    return dataset_id


def _show_switch(title: str, dataset_id: str | None) -> None:
    """Show the data set being worked on; another can take its place, one's own come first."""
    if not state.is_warm():
        if dataset_id is not None:
            demo = state.demo_of(dataset_id)
            st.text("Your data" if demo is None else demo.title)
        return
    names: dict[str, str] = {}
    with suppress(StoreError):
        names = state.dataset_names()
    if dataset_id is None and all(one.startswith("demo:") for one in names):
        return  # Home and Data show the demos
    st.session_state[_SWITCH] = dataset_id if dataset_id in names else None
    st.selectbox(
        "Data set",
        **forms.options(names),
        key=_SWITCH,
        on_change=_switch,
        args=(title,),
        placeholder="Choose a data set",
        label_visibility="collapsed",
    )
    if st.session_state.pop(_LEAVE, False):
        st.switch_page("pages/train.py", query_params={"data": st.session_state.dataset_id})


def _switch(title: str) -> None:
    dataset_id = st.session_state[_SWITCH]
    if dataset_id is None:
        return
    shown = query_params.current() if title in _OF_NO_DATA else {}
    state.choose_dataset(dataset_id)
    query_params.put(**shown | {"data": dataset_id})
    st.session_state["data-view"] = "this"
    if title == "Home":
        is_demo = dataset_id.startswith("demo:")
        query_params.replace({"demo": dataset_id.removeprefix("demo:")} if is_demo else {})
        st.session_state[_LEAVE] = not is_demo


def _show_counts(place: DeltaGenerator, dataset_id: str | None) -> bool:
    """Show how many runs the data set has; whether jobs run, so that the count moves."""
    is_shared = query_params.get("share") != ""
    is_active = not is_shared and count_active() > 0
    if not is_shared and (dataset_id is not None or is_active):
        with place.container():
            # Without jobs nothing moves, and nobody is asked.
            st.fragment(_count, run_every=_COUNTING if is_active else None)(dataset_id, is_active)
    return is_active


def count_active() -> int:
    """How many jobs of the visitor wait or run."""
    if not (state.is_warm() and state.has_workspace()):
        return 0
    with suppress(StoreError):
        return sum(status.is_active for status in state.jobs())
    return 0


def _count(dataset_id: str | None, was_active: bool) -> None:
    """How many runs a data set has; nothing heavy is loaded to say so."""
    if not state.is_warm():
        st.caption("\N{NO-BREAK SPACE}")  # the links below keep their place
        return
    texts = []
    with suppress(StoreError):
        if dataset_id is not None:
            state.store().datasets.info(dataset_id, state.workspace())
            texts.append(counted(len(state.runs(dataset_id)), "run"))
    running = count_active()
    if was_active and (not running or progress.has_ended_elsewhere()):
        st.rerun()  # what is there now belongs on the page
    if running:
        texts.append(f"{running} training")
    st.caption(" · ".join(texts))


def page_link(path: str, label: str, icon: str | None, **params: str) -> None:
    """Link to a page of the app, with what its address says."""
    st.page_link(path, label=label, icon=icon, query_params=params or None)


# -- the tour -------------------------------------------------------------------------


def begin_tour() -> None:
    """Show around from now on, beginning with what the demo found."""
    st.session_state[_ON] = True
    st.session_state.dataset_id = f"demo:{DEMO}"
    query_params.replace({"demo": DEMO})


def follow_tour_link(title: str) -> None:
    """Begin where the link says so; on Home with a demo, which the others need too."""
    if not query_params.get(PARAMETER):
        return
    query_params.put(**{PARAMETER: None})
    st.session_state[_ON] = True
    if title == "Home" and not query_params.get("demo"):
        begin_tour()


def show_tour(title: str) -> None:
    """Draw the line of a page, if the visitor is shown around."""
    step = STEPS.get(title)
    if step is None or not st.session_state.get(_ON):
        return
    at = list(STEPS).index(title) + 1
    how: Any = {"horizontal": True, "vertical_alignment": "center", "gap": "small"}
    with st.container(**how, wrap=False, key="tour"):
        text = f"<i>{at} of {len(STEPS)}</i> {escape(step.text)}"
        st.html(f'<p class="sv-tour">{text}</p>', width="stretch")
        if step.page:
            own_file = step.page == "pages/data.py"
            to = {"view": "other"} if own_file else {"data": f"demo:{DEMO}"}
            page_link(step.page, step.label, ":material/arrow_forward:", **to)
        end, forget = "End the tour" if step.page else "Done", st.session_state.pop
        forms.quiet_button(end, "tour-end", forget, _ON, None, icon="close")


# -- what is loaded in the background ---------------------------------------------------


@st.cache_resource(show_spinner=False)
def start() -> threading.Thread:
    """Begin once a server, in the background."""
    sys.setswitchinterval(SWITCH_SECONDS)
    thread = threading.Timer(_DELAY, _load)
    thread.daemon = True
    thread.start()
    return thread


def _load() -> None:
    """Import what training needs, and load its kernels by training on a handful of pairs."""
    for module in ("simviz.jobs.queue", "simviz.charts.canvas", "plotly.graph_objects"):
        importlib.import_module(module)
    compilation.wait("cca", lambda: False)  # a server compiles nothing itself
    pairs = PairSet.from_texts(_SAMPLE_TEXTS, [word[::-1] for word in _SAMPLE_TEXTS])
    pipeline = default_pipeline("cca", pairs, n_components=2, shared=False)
    # Baselines score in double precision, for which the kernels are others.
    for scorer in (pipeline.fit(pairs, pairs), ChanceScorer()):
        evaluate(scorer, pairs.x, pairs.y, pairs.relevance)
    # A full collection looks through some 400,000 objects of libraries otherwise: 0.2 s in which
    # no visitor is answered.
    gc.collect()
    gc.freeze()
