"""The search page: a query, every chosen run's answers side by side, and why."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from simviz._types import Side
from simviz.data import Items, PairSet
from simviz.data.cells import counted, items_named
from simviz.data.images import ImageError, make_sprite, resize_like
from simviz.data.splitting import is_in_part
from simviz.evaluation.differences import Answers
from simviz.markdown import escape_markdown
from simviz.store import Run, RunInfo
from simviz.store.run import Part
from simviz.workbench.search import normalise, score, why
from simviz.workbench.shell import (
    code,
    display,
    drawings,
    empty,
    forms,
    frame,
    links,
    preferences,
    query_params,
    runs,
    sharing,
    state,
    what_if,
)

TITLE = "Search"
INTRODUCTION = (
    "Every method's answers to a query, side by side. It needs data and one trained method."
)
MODES = {"query": "Search", "score": "Score pairs", "column": "Normalise"}
_STYLE = Path(__file__).with_name("style.css")
#: Runs asked at first; each further one takes room from the others.
FEW = 3
# In the session: the chosen runs, and the run and the answer that are explained.
_RUNS, _WHY = "search-runs", "search-why"
#: Answers of a list, and characters of an answer.
_PLACES, _LABEL = 10, 110
_LEARNED = {
    "train": "It is in the training part: right answers were learned.",
    "validation": "It is in the validation part.",
    "test": "It is in the test part.",
}
#: Items offered in a list; more would make every answer of the page heavy.
MAX_OFFERED = 3_000
_OWN, _ITEM, _SIDE = "search-own", "search-item", "search-side"
_OF = "search-of"


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked."""

    side: Side
    item: Items
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What one run says to a query."""

    run: Run
    label: str
    look: str
    answers: Answers
    seconds: float
    is_known: bool


@frame.page("Search")
def show_page() -> None:
    """Show the Search page."""
    opened = empty.data_and_runs(TITLE, INTRODUCTION, _follow_link)
    if opened is None:
        return
    pairs, infos = opened
    dataset_id = str(state.current_dataset_id())
    display.style()
    st.html(_STYLE)
    st.title(TITLE)
    if not query_params.get("demo"):
        query_params.put(**query_params.data(dataset_id))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        mode = _choose_mode(pairs)
        part = None if mode == "score" else preferences.part_switch(dataset_id)
    if part is None:
        score.show(pairs, infos)
    elif mode == "column":
        normalise.show(dataset_id, pairs, infos, part)
    else:
        _show_search(pairs, infos, part)


def _follow_link(dataset_id: str, pairs: PairSet) -> list[str]:
    """Ask the run of the link; return the jobs to wait for until it is there."""
    new_params, requested = query_params.new_params(), None
    if new_params.keys() & {"run", "method"}:
        requested = links.requested_run(dataset_id)
        if requested is None and (jobs := links.requested_jobs()):
            return jobs
    if ids := state.run_ids(new_params) or [run.id for run in (requested,) if run is not None]:
        st.session_state[_RUNS] = ids
    for name in {"run", "runs", "method"} & new_params.keys():
        del new_params[name]
    return []


def _choose_mode(pairs: PairSet) -> str:
    if not {pairs.x.kind, pairs.y.kind} <= {"text", "keyword"}:
        return "query"
    modes = {k: v for k, v in MODES.items() if k != "column" or pairs.x is not pairs.y}
    if "mode" in query_params.new_params():
        st.session_state["search-mode"] = query_params.new_params().pop("mode")
    if st.session_state.get("search-mode") not in modes:
        st.session_state["search-mode"] = "query"
    mode: str = forms.segmented("Mode", modes, "search-mode", persist_state="session")
    query_params.put(mode=mode)
    return mode


def _show_search(pairs: PairSet, infos: Sequence[RunInfo], part: Part) -> None:
    labels, looks = runs.label_runs(infos), runs.looks(infos)
    selected = [what_if.with_marks(run, pairs) for run in _choose_runs(labels, looks)]
    if not selected:
        return
    query = _choose_query(pairs, part, _examples(selected[0], pairs, part))
    if query is None:
        return
    answers = [
        answers_of(run, what_if.title(run, labels[run.id]), looks[run.id], pairs, query)
        for run in selected
    ]
    picture = display.item_picture(query.item, 0)
    image = f'<img src="{picture}" alt="">' if picture else ""
    text = escape(display.item_label(query.item, 0, 600))
    st.html(f'<div class="sv-asked">{image}<span dir="auto">{text}</span></div>')
    # The side that is asked is the x side from here on.
    queries = pairs if query.side == "x" else pairs.swap()
    explained = _explained_answer(answers)
    _show_answers(answers, queries, query.at)
    _mark_open(answers, explained)
    _show_known(answers, pairs, items_named(queries.y_name), query)
    if explained is not None:
        _show_why(*explained, pairs, query)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        sharing.show_button("search", [a.run for a in answers])
        code.show_search(answers[0].run, pairs, query)


def _choose_runs(labels: Mapping[str, str], looks: Mapping[str, str]) -> list[Run]:
    """Choose runs by pills with the colour and dash that each run has in the charts."""
    offered = dict.fromkeys((*st.session_state.get(_RUNS, []), *what_if.trained()))
    before = [i for i in offered if i in labels]
    if not before:
        elsewhere = [i for i in st.session_state.get("run_ids", []) if i in labels]
        before = (elsewhere or list(labels))[:FEW]
    st.session_state[_RUNS] = before
    pressed = runs.choose_by_pills(labels, looks, _RUNS)
    if not pressed:
        st.info("Choose at least one run above.")
    run_ids = [run_id for run_id in labels if run_id in pressed]
    query_params.put(run=None, runs=",".join(run_ids))
    return [state.run(run_id) for run_id in run_ids]


def _examples(run: Run, pairs: PairSet, part: Part) -> dict[Side, int]:
    """Return the first item of each side in a part, in no other if there is such a one."""
    x, y = drawings.parts(run, pairs)
    return {"x": _first(x, part), "y": _first(y, part)}


def _first(labels: Any, part: Part) -> int:
    only = labels == part
    return int((only if only.any() else is_in_part(labels, part)).argmax())


# -- what is asked --------------------------------------------------------------------


def _choose_query(pairs: PairSet, part: Part, examples: Mapping[Side, int]) -> Query | None:
    """Let the visitor ask."""
    _follow_query(pairs, part, examples)
    side = _choose_side(pairs)
    items, name = (pairs.x, pairs.x_name) if side == "x" else (pairs.y, pairs.y_name)
    name = items_named(name)
    # Side by side they would be too narrow on a phone to read what they hold.
    is_row = not state.is_narrow()
    with st.container(horizontal=is_row, vertical_alignment="bottom", gap="small"):
        own = _own_query(items, side, name)
        at = _pick(items, side, name, labels_of(pairs.digest, side))
    # An item goes by its number; words of the visitor's own never are in the address.
    query_params.put(ask=None if own is not None or at is None else f"{side}{at}")
    if own is not None:
        same: Any = () if own.kind == "image" else np.flatnonzero(items.content == own.content[0])
        return Query(side, own, int(same[0]) if len(same) else None)
    if at is None:
        display.quiet("Type a query, or choose one from the data.")
        return None
    return Query(side, items.take([at]), at)


def _follow_query(pairs: PairSet, part: Part, examples: Mapping[Side, int]) -> None:
    """Ask what a new link asks, else what was selected on the map; an example at first."""
    selected = st.session_state.pop("map-selected", {}).get(state.current_dataset_id(), "")
    of, before = (pairs.digest[:12], part), st.session_state.get(_OF, ("", ""))
    st.session_state[_OF] = of
    if of[0] != before[0]:
        for key in [k for k in st.session_state if str(k).startswith((_OWN, _ITEM))]:
            st.session_state.pop(key, None)
    if of != before:
        for side, at in examples.items():
            st.session_state[f"{_ITEM}-{side}"] = at
    requested = query_params.new_params().pop("ask", "") or selected
    side, _, text = selected.partition(":")
    if requested == selected and text and side in ("x", "y"):
        # Typed on the map: there the address says it.
        st.session_state[_SIDE], st.session_state[f"{_OWN}-{side}"] = side, text
        return
    if (linked := links.linked_item(requested, pairs)) is not None:
        side, at = linked
        st.session_state[_SIDE] = side
        st.session_state[f"{_ITEM}-{side}"] = at
        st.session_state.pop(f"{_OWN}-{side}", None)


def _choose_side(pairs: PairSet) -> Side:
    if pairs.x is pairs.y:
        return "x"
    x, y = map(escape_markdown, pairs.headings)
    labels = {"x": f"{x} → {y}", "y": f"{y} → {x}"}
    st.session_state.setdefault(_SIDE, "x")
    side: Side = forms.segmented("Query side", labels, _SIDE, persist_state="session")
    return side


def _own_query(items: Items, side: Side, name: str) -> Items | None:
    """Take something that need not be in the data."""
    key = f"{_OWN}-{side}"
    if items.kind in ("text", "keyword"):
        written: str = st.text_input(
            f"{escape_markdown(name).capitalize()} of your own",
            key=key,
            placeholder="Type and press Enter",
            max_chars=score.LONGEST,
            width="stretch",
            persist_state="session",
        )
        text = " ".join(written.split())
        return Items(["query"], [text], items.kind) if text else None
    if items.kind == "image":
        file = st.file_uploader(
            "A picture of your own", type=["png", "jpg", "jpeg", "webp", "bmp"], key=key
        )
        return None if file is None else _picture(file.getvalue(), items)
    return None


def _picture(data: bytes, like: Items) -> Items | None:
    try:
        pixels = resize_like(make_sprite(data), like.content)
    except ImageError as error:
        display.problem(f"The file {error}. Take a PNG, JPEG, WebP or BMP picture.")
        return None
    return Items(["query"], pixels[None], "image")


def _pick(items: Items, side: Side, name: str, labels: dict[int, str]) -> int | None:
    key = f"{_ITEM}-{side}"
    offered = list(range(min(len(items), MAX_OFFERED)))
    at = st.session_state.get(key)
    if at is not None and at not in offered:
        offered.append(at)

    def label(i: int) -> str:
        if i not in labels:
            labels[i] = display.item_label(items, i, 80)
        return labels[i]

    # What was typed stands before what was picked, until something is picked anew.
    position: int | None = st.selectbox(
        f"or one of the {len(items):,} {escape_markdown(name)}",
        offered,
        index=None,
        format_func=label,
        key=key,
        on_change=_clear_own,
        args=(side,),
        placeholder="Choose",
        width="stretch" if state.is_narrow() else 320,
        persist_state="session",
    )
    return position


def _clear_own(side: Side) -> None:
    if isinstance(st.session_state.get(f"{_OWN}-{side}"), str):
        st.session_state[f"{_OWN}-{side}"] = ""


@st.cache_resource(show_spinner=False, max_entries=12)
def labels_of(digest: str, side: Side) -> dict[int, str]:
    """Return what items are called in the list, as far as it was asked for."""
    return {}


# -- what is answered -----------------------------------------------------------------


def answers_of(run: Run, label: str, look: str, pairs: PairSet, query: Query) -> Answered:
    """What a run answers."""
    content = query.item.content[0]
    key = int(query.at) if query.at is not None else content
    key = key if isinstance(key, int | str) else content.tobytes()
    scores, seconds, is_known = _scores(run, pairs, query.side, key, query.item)
    pool = None
    if pairs.x is pairs.y and query.at is not None:
        # An item of a single collection is no answer to itself.
        pool = np.delete(np.arange(len(scores)), query.at)
    return Answered(run, label, look, Answers.from_scores(scores, pool), seconds, is_known)


@state.cached(256)
def _scores(
    run: Run, pairs: PairSet, side: Side, key: int | str | bytes, _item: Items
) -> tuple[Any, float, bool]:
    """Return the similarity of an item to every item of the other side; the time it took."""
    with st.spinner("Asking", show_time=False):
        space = drawings.space(run, pairs)
        start = time.perf_counter()
        scores = space.scores(side, _item)
        return scores, time.perf_counter() - start, bool(np.ptp(scores) > 0)


def _show_answers(answers: Sequence[Answered], queries: PairSet, at: int | None) -> None:
    right = set() if at is None else set(queries.relevance.positives[[at]].indices.tolist())
    per_row = 1 if state.is_narrow() else 3
    for start in range(0, len(answers), per_row):
        columns = st.columns(min(per_row, len(answers)), gap="medium")
        row = answers[start : start + per_row]
        for i, (column, answered) in enumerate(zip(columns, row, strict=False), start):
            with column:
                _show_list(i, answered, queries.y, right)


def _show_list(i: int, answered: Answered, items: Items, right: set[int]) -> None:
    answers = answered.answers
    name = f"sv-list-{answered.run.id[:8]}"
    seconds = answered.seconds
    took = f"{seconds * 1_000:.0f} ms" if seconds >= 0.001 else "under 1 ms"
    st.html(
        f"<style>.{name} {{ background-image: {display.mark(answered.look)}; }}</style>"
        f'<p class="sv-by"><span class="sv-line {name}"></span>'
        f"{escape(answered.label)}<small>{took}</small></p>"
    )
    if not answered.is_known:
        display.quiet("No answer: no word or feature of this query occurs in training.")
        return
    is_right = [int(candidate) in right for candidate in answers.candidate]
    n_top = min(_PLACES, int((answers.first <= _PLACES).sum()))
    missing = [at for at in range(n_top, len(answers)) if is_right[at]]
    with st.container(key=f"search-list-{i}"):
        for at in [*range(n_top), *missing[:2]]:
            _show_answer(i, answered, items, at, is_right[at])
        n = len(missing) - 2
        if n > 0:
            display.quiet(f"{counted(n, 'right answer')} more further down.")


def _show_answer(i: int, answered: Answered, items: Items, at: int, is_right: bool) -> None:
    answers = answered.answers
    candidate, score = int(answers.candidate[at]), float(answers.score[at])
    key = f"search-line-{'gold-' if is_right else ''}{i}-{candidate}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=key):
        place = answers.rank_text(at)
        st.html(f'<span class="sv-small sv-at">{place}</span>', width="content")
        if picture := display.item_picture(items, candidate):
            st.html(f'<span class="sv-near"><img src="{picture}" alt=""></span>', width=30)
        st.button(
            escape_markdown(display.item_label(items, candidate, _LABEL)) or "·",
            key=f"search-go-{i}-{candidate}",
            on_click=st.session_state.__setitem__,
            args=(_WHY, (answered.run.id, candidate)),
            type="tertiary",
            width="stretch",
            help="Why this answer?",
        )
        number = display.number(score, ".3f" if abs(score) < 10 else ".1f")
        tick = " ✓" if is_right else ""
        st.html(f'<span class="sv-small">{number}{tick}</span>', width="content")


def _mark_open(answers: Sequence[Answered], explained: tuple[Answered, int] | None) -> None:
    """Mark the answer that is explained below."""
    if explained is None:
        return
    at, candidate = next(i for i, one in enumerate(answers) if one is explained[0]), explained[1]
    row = f'[class*="st-key-search-line-"]:has(.st-key-search-go-{at}-{candidate})'
    # A style and not another key: the button that was pressed keeps the focus.
    st.html(
        f"<style>{row} {{ box-shadow: inset 3px 0 #2f7ba3; }} "
        f"{row} button::after {{ transform: rotate(90deg); opacity: 1; }} "
        f"{row} button p {{ font-weight: 600; }}</style>"
    )


def _explained_answer(answers: Sequence[Answered]) -> tuple[Answered, int] | None:
    """Return the answer that was pressed, if it still stands; else the first that there is."""
    run_id, candidate = st.session_state.get(_WHY) or ("", 0)
    known = [answered for answered in answers if answered.is_known]
    pressed = [(one, int(candidate)) for one in known if one.run.id == run_id]
    first = [(one, int(one.answers.candidate[0])) for one in known if len(one.answers)]
    return next(iter([*pressed, *first]), None)


def _show_known(answers: Sequence[Answered], pairs: PairSet, other: str, query: Query) -> None:
    """Say whether the query was learned from, which makes good answers no surprise."""
    text = f"Answers among all {len(answers[0].answers):,} {other}; press one to see why."
    if query.at is None:
        display.quiet(f"{text} The query is not in the data, so none is marked as right.")
        return
    part = str(drawings.parts(answers[0].run, pairs)["xy".index(query.side)][query.at])
    display.quiet(f"{text} ✓ marks what matches the query in the data. {_LEARNED.get(part, '')}")


def _show_why(answered: Answered, candidate: int, pairs: PairSet, query: Query) -> None:
    others = pairs.y if query.side == "x" else pairs.x
    text = escape_markdown(display.item_text(others, candidate, 60))
    st.subheader(f"Why {escape_markdown(answered.label)} answers “{text}”", anchor=False)
    pair = None
    if query.at is not None:
        pair = (query.at, candidate) if query.side == "x" else (candidate, query.at)
    hold = partial(st.session_state.__setitem__, _WHY, (answered.run.id, candidate))
    what_if.show(answered.run, answered.label, pairs, pair, hold)
    why.show(answered.run, answered.label, pairs, query.side, query.item, candidate)
