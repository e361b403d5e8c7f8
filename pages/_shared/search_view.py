"""The search page: a query, every chosen run's answers side by side, and why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import (
    code_view,
    compare_runs,
    drawings,
    links,
    map_empty,
    normalise_view,
    parts,
    plain,
    runs_metric,
    search_answers,
    search_query,
    search_why,
    sharing,
    state,
)
from pages._shared.compare_marks import mark_pills
from pages._shared.compare_marks import plain as one_line
from pages._shared.search_query import Query, Side
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.evaluation.answers import Answers
    from simviz.store import RunInfo
    from simviz.store.run import Part, Run

#: Runs asked at first; each further one takes room from the others.
FEW = 3
_RUNS = "search-runs"
#: What of a link says nothing of a run.
_OF_THE_PAGE = ("ask", "mode", parts.LINK)
TITLE = "What does it answer?"
WORDS = (
    "Type a query, or take one of the data: every method's answers stand side by side, with "
    "what speaks for each. It needs data and one trained method."
)


@dataclass(frozen=True, slots=True)
class Answered:
    """What one run says to a query.

    Parameters
    ----------
    run : Run
        Which.
    label, look : str
        What it is called, and its style.
    answers : Answers
        All items of the other side in its order.
    seconds : float
        It took to find them.
    knows : bool
        Whether anything in the query is known to it.
    """

    run: Run
    label: str
    look: str
    answers: Answers
    seconds: float
    knows: bool


def show() -> None:
    """Draw the page, whatever there is to draw."""
    dataset_id = state.current_dataset_id()
    if dataset_id is None:
        map_empty.show_no_data(TITLE, WORDS)
        return
    try:
        with st.spinner("Reading the data"):
            pairs = state.dataset(dataset_id)
        awaited = _follow_link(dataset_id)
        infos = runs_metric.best_first(dataset_id, pairs, state.runs(dataset_id))
    except SimvizError as error:
        map_empty.show_unknown(str(error), TITLE)
        return
    if awaited or not infos:
        map_empty.show_untrained(dataset_id, awaited, title=TITLE, verb="ask")
        return
    plain.style()
    st.title(TITLE)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        mode = _choose_mode(pairs)
        part = parts.switch(dataset_id)
    if mode == "column":
        normalise_view.show(dataset_id, pairs, infos, part)
        return
    _show_search(pairs, infos, part)


def _follow_link(dataset_id: str) -> list[str]:
    """Ask the run of the link; answers with the jobs to wait for until it is there."""
    asked = {k: v for k, v in st.query_params.to_dict().items() if k not in _OF_THE_PAGE}
    if not {"run", "method"} & set(asked) or asked == st.session_state.get("search-link"):
        return []
    wanted = links.wanted_run(dataset_id)
    if wanted is None and (jobs := links.wanted_jobs()):
        return jobs
    st.session_state["search-link"] = asked
    if wanted is not None:
        st.session_state[_RUNS] = [wanted.id]
    return []


def _choose_mode(pairs: PairSet) -> str:
    """One query, or a whole column where the x side is made of texts."""
    written = {"text", "keyword"}
    if not {pairs.x.kind, pairs.y.kind} <= written or pairs.x is pairs.y:
        return "query"
    modes = {"query": "One query", "column": "Normalise a column"}
    if st.query_params.get("mode") in modes and "search-mode" not in st.session_state:
        st.session_state["search-mode"] = st.query_params["mode"]
    st.session_state.setdefault("search-mode", "query")
    chosen: str = st.segmented_control(
        "What to ask",
        list(modes),
        format_func=modes.__getitem__,
        key="search-mode",
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    st.query_params["mode"] = chosen
    if chosen == "query":
        st.query_params.pop("mode")
    return chosen


def _show_search(pairs: PairSet, infos: Sequence[RunInfo], part: Part) -> None:
    chosen = _choose_runs(infos)
    if not chosen:
        return
    query = search_query.choose(pairs, part, _examples(chosen[0], pairs, part))
    if query is None:
        return
    labels, looks = compare_runs.label_runs(infos), compare_runs.looks(infos)
    found = [_ask(run, labels[run.id], looks[run.id], pairs, query) for run in chosen]
    told = search_answers.show(found, pairs, query)
    _say_what_is_known(found, pairs, query)
    if told is not None:
        search_why.show(found[told[0]], pairs, query, told[1])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        sharing.show_button("search", [a.run for a in found], {parts.LINK: part, **_view(query)})
        code_view.show_search(found[0].run, pairs, query)


def _examples(run: Run, pairs: PairSet, part: Part) -> dict[Side, int]:
    """The first item of each side in a part, in no other if there is such a one."""
    x, y = drawings.parts(run.id, run, pairs)
    return {"x": _first(x, part), "y": _first(y, part)}


def _first(labels: Any, part: Part) -> int:
    from simviz.jobs.parts import is_in_part

    for rows in (labels == part, is_in_part(labels, part)):
        if rows.any():
            return int(rows.argmax())
    return 0


def _view(query: Query) -> dict[str, str]:
    return {} if query.at is None else {"ask": f"{query.side}{query.at}"}


def _choose_runs(infos: Sequence[RunInfo]) -> list[Run]:
    """Pills with the colour and dash that each run has in the charts."""
    ids = [info.id for info in infos]
    labels, looks = compare_runs.label_runs(infos), compare_runs.looks(infos)
    before = [i for i in st.session_state.get(_RUNS, []) if i in ids]
    if not before:
        elsewhere = [i for i in st.session_state.get("run_ids", []) if i in ids]
        before = (elsewhere or ids)[:FEW]
    st.session_state[_RUNS] = before
    mark_pills(_RUNS, [looks[run_id] for run_id in ids])
    chosen = st.pills(
        "Who answers",
        ids,
        selection_mode="multi",
        format_func=lambda run_id: one_line(labels[run_id]),
        key=_RUNS,
    )
    if not chosen:
        st.info("Choose at least one run above.")
    return [state.run(run_id) for run_id in ids if run_id in chosen]


def _ask(run: Run, label: str, look: str, pairs: PairSet, query: Query) -> Answered:
    from simviz.evaluation.answers import Answers

    own = query.item.content[0]
    told = f"{query.side}{query.at}" if query.at is not None else ""
    key = told or (own if isinstance(own, str) else own.tobytes())
    scores, seconds, knows = _scores(run.id, query.side, key, run, pairs, query)
    pool = None
    if pairs.x is pairs.y and query.at is not None:
        # An item of a single collection is no answer to itself.
        pool = np.delete(np.arange(len(scores)), query.at)
    return Answered(run, label, look, Answers.from_scores(scores, pool), seconds, knows)


@st.cache_data(show_spinner=False, max_entries=256)
def _scores(
    run_id: str, side: str, key: str | bytes, _run: Run, _pairs: PairSet, _query: Query
) -> tuple[Any, float, bool]:
    """Similarity of the query to every item of the other side; the time it took."""
    with st.spinner("Asking", show_time=False):
        ask = drawings.space(run_id, _run, _pairs)
        start = time.perf_counter()
        scores = ask.scores(_query.side, _query.item)
        return scores, time.perf_counter() - start, bool(np.ptp(scores) > 0)


def _say_what_is_known(found: Sequence[Answered], pairs: PairSet, query: Query) -> None:
    """Whether the query was learned from, which makes good answers no surprise."""
    other = pairs.y_name if query.side == "x" else pairs.x_name
    words = f"Answers among all {len(found[0].answers):,} {other}."
    if query.at is None:
        plain.quiet(f"{words} The query is not in the data, so nobody judged what is right.")
        return
    run = found[0].run
    part = str(drawings.parts(run.id, run, pairs)["xy".index(query.side)][query.at])
    learned = {
        "train": "It was in the training part: good answers are remembered, not found.",
        "validation": "It was in the part that training watched.",
        "test": "It was in the test part: no run has learned from it.",
    }
    plain.quiet(f"{words} ✓ belongs to the query. {learned.get(part, '')}")
