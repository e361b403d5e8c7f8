"""The search page: a query, every chosen run's answers side by side, and why."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from simviz.charts.pictures import AGAINST, FOR, heat_picture, highlighted
from simviz.data import Items, PairSet
from simviz.data.splitting import is_in_part
from simviz.evaluation.differences import Answers
from simviz.explain.terms import Contributions, explain, occlude
from simviz.features.spans import character_weights
from simviz.markdown import escape_markdown
from simviz.pipeline import PairPipeline, Pipeline
from simviz.store import Run, RunInfo
from simviz.store.run import Part
from simviz.workbench.search import normalise, query as search_query, score
from simviz.workbench.search.query import Query, Side
from simviz.workbench.shell import (
    code,
    display,
    drawings,
    empty,
    forms,
    frame,
    links,
    runs,
    settings,
    state,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

TITLE = "Search"
WORDS = "Every method's answers to a query, side by side. It needs data and one trained method."
MODES = {"query": "Search", "score": "Score pairs", "column": "Normalise"}
_STYLE = Path(__file__).with_name("style.css")
#: Runs asked at first; each further one takes room from the others.
FEW = 3
#: What of a link says nothing of a run.
_OF_THE_PAGE = ("ask", "mode", "rate", settings.PART_LINK)
# In the session: the chosen runs, and the run and the answer that are explained.
_RUNS, _WHY = "search-runs", "search-why"
#: Answers of a list, pairs of terms that are drawn as bars, and characters of an answer.
_PLACES, _BARS, _LABEL = 10, 8, 110
_LEARNED = {
    "train": "The query is of the training part.",
    "validation": "The query is of the validation part.",
    "test": "The query is of the test part.",
}


@dataclass(frozen=True, slots=True)
class Answered:
    """What one run says to a query."""

    run: Run
    label: str
    look: str
    answers: Answers
    seconds: float
    knows: bool


@frame.page("Search")
def show_page() -> None:
    """Show the Search page."""
    opened = empty.data_and_runs(TITLE, WORDS, _follow_link)
    if opened is None:
        return
    pairs, infos = opened
    dataset_id = str(state.current_dataset_id())
    display.style()
    st.html(_STYLE)
    st.title(TITLE)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        mode = _choose_mode(pairs)
        part = None if mode == "score" else settings.part_switch(dataset_id)
    if part is None:
        score.show(pairs, infos)
    elif mode == "column":
        normalise.show(dataset_id, pairs, infos, part)
    else:
        _show_search(pairs, infos, part)


def _follow_link(dataset_id: str, pairs: PairSet) -> list[str]:
    """Ask the run of the link; return the jobs to wait for until it is there."""
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
    """Choose what to do, where both sides are texts."""
    if not {pairs.x.kind, pairs.y.kind} <= {"text", "keyword"}:
        return "query"
    modes = {k: v for k, v in MODES.items() if k != "column" or pairs.x is not pairs.y}
    if "search-mode" not in st.session_state:
        shared = state.share()
        view = dict(shared.view) if shared else {}
        st.session_state["search-mode"] = st.query_params.get("mode") or view.get("mode")
    if st.session_state["search-mode"] not in modes:
        st.session_state["search-mode"] = "query"
    chosen: str = forms.segmented("Mode", modes, "search-mode", persist_state="session")
    st.query_params["mode"] = chosen
    if chosen == "query":
        st.query_params.pop("mode")
    return chosen


def _show_search(pairs: PairSet, infos: Sequence[RunInfo], part: Part) -> None:
    labels, looks = runs.label_runs(infos), runs.looks(infos)
    chosen = _choose_runs(labels, looks)
    if not chosen:
        return
    query = search_query.choose(pairs, part, _examples(chosen[0], pairs, part))
    if query is None:
        return
    found = [_ask(run, labels[run.id], looks[run.id], pairs, query) for run in chosen]
    picture = display.item_picture(query.item, 0)
    image = f'<img src="{picture}" alt="">' if picture else ""
    words = escape(display.item_words(query.item, 0, 600))
    st.html(f'<div class="sv-asked">{image}<span dir="auto">{words}</span></div>')
    # The side that is asked is the x side from here on.
    asked = pairs if query.side == "x" else pairs.swap()
    _show_answers(found, asked, query.at)
    _show_known(found, pairs, asked.y_name, query)
    explained = _explained_answer(found)
    if explained is not None:
        _show_why(*explained, pairs, query)
    view = {settings.PART_LINK: str(part)}
    if query.at is not None:
        view["ask"] = f"{query.side}{query.at}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        links.show_button("search", [a.run for a in found], view)
        code.show_search(found[0].run, pairs, query)


def _choose_runs(labels: Mapping[str, str], looks: Mapping[str, str]) -> list[Run]:
    """Choose runs by pills with the colour and dash that each run has in the charts."""
    before = [i for i in st.session_state.get(_RUNS, []) if i in labels]
    if not before:
        elsewhere = [i for i in st.session_state.get("run_ids", []) if i in labels]
        before = (elsewhere or list(labels))[:FEW]
    st.session_state[_RUNS] = before
    display.mark_pills(_RUNS, [looks[run_id] for run_id in labels])
    chosen = st.pills(
        "Runs",
        list(labels),
        selection_mode="multi",
        format_func=lambda run_id: escape_markdown(labels[run_id]),
        key=_RUNS,
    )
    if not chosen:
        st.info("Choose at least one run above.")
    return [state.run(run_id) for run_id in labels if run_id in chosen]


def _examples(run: Run, pairs: PairSet, part: Part) -> dict[Side, int]:
    """Return the first item of each side in a part, in no other if there is such a one."""
    x, y = drawings.parts(run, pairs)
    return {"x": _first(x, part), "y": _first(y, part)}


def _first(labels: Any, part: Part) -> int:
    for rows in (labels == part, is_in_part(labels, part)):
        if rows.any():
            return int(rows.argmax())
    return 0


def _ask(run: Run, label: str, look: str, pairs: PairSet, query: Query) -> Answered:
    own = query.item.content[0]
    asked = f"{query.side}{query.at}" if query.at is not None else ""
    key = asked or (own if isinstance(own, str) else own.tobytes())
    scores, seconds, knows = _scores(run, pairs, query.side, key, query.item)
    pool = None
    if pairs.x is pairs.y and query.at is not None:
        # An item of a single collection is no answer to itself.
        pool = np.delete(np.arange(len(scores)), query.at)
    return Answered(run, label, look, Answers.from_scores(scores, pool), seconds, knows)


@state.cached(256)
def _scores(
    run: Run, pairs: PairSet, side: Side, key: str | bytes, _item: Items
) -> tuple[Any, float, bool]:
    """Return the similarity of an item to every item of the other side; the time it took."""
    with st.spinner("Asking", show_time=False):
        space = drawings.space(run, pairs)
        start = time.perf_counter()
        scores = space.scores(side, _item)
        return scores, time.perf_counter() - start, bool(np.ptp(scores) > 0)


def _show_answers(found: Sequence[Answered], asked: PairSet, at: int | None) -> None:
    """Show a list a run."""
    right = set() if at is None else set(asked.relevance.positives[[at]].indices.tolist())
    per_row = 1 if state.is_narrow() else 3
    for start in range(0, len(found), per_row):
        columns = st.columns(min(per_row, len(found)), gap="medium")
        row = found[start : start + per_row]
        for i, (column, answered) in enumerate(zip(columns, row, strict=False), start):
            with column:
                _show_list(i, answered, asked.y, right)


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
    if not answered.knows:
        display.quiet("Knows nothing in this query: no word or feature of it was in training.")
        return
    is_right = [int(candidate) in right for candidate in answers.candidate]
    n_top = min(_PLACES, int((answers.first <= _PLACES).sum()))
    missing = [at for at in range(n_top, len(answers)) if is_right[at]]
    with st.container(key=f"search-list-{i}"):
        for at in [*range(n_top), *missing[:2]]:
            _show_answer(i, answered, items, at, is_right[at])
        n = len(missing) - 2
        if n > 0:
            verbs = ("belongs", "stands") if n == 1 else ("belong", "stand")
            display.quiet(f"{n} more that {verbs[0]} to it {verbs[1]} further down.")


def _show_answer(i: int, answered: Answered, items: Items, at: int, is_right: bool) -> None:
    answers = answered.answers
    candidate, score = int(answers.candidate[at]), float(answers.score[at])
    first, last = int(answers.first[at]), int(answers.last[at])
    place = f"{first:,}" if first == last else f"{first:,}–{last:,}"
    gold = "gold-" if is_right else ""
    with st.container(
        horizontal=True,
        vertical_alignment="center",
        gap="small",
        key=f"search-line-{gold}{i}-{candidate}",
    ):
        st.html(f'<span class="sv-small sv-at">{place}</span>', width="content")
        picture = display.item_picture(items, candidate)
        if picture:
            st.html(f'<span class="sv-near"><img src="{picture}" alt=""></span>', width=30)
        st.button(
            escape_markdown(display.item_words(items, candidate, _LABEL)) or "·",
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


def _explained_answer(found: Sequence[Answered]) -> tuple[Answered, int] | None:
    """Return the answer that was pressed, if it still stands; else the first that there is."""
    run_id, candidate = st.session_state.get(_WHY) or ("", 0)
    for answered in found:
        if answered.run.id == run_id and answered.knows:
            return answered, int(candidate)
    for answered in found:
        if answered.knows and len(answered.answers):
            return answered, int(answered.answers.candidate[0])
    return None


def _show_known(found: Sequence[Answered], pairs: PairSet, other: str, query: Query) -> None:
    """Say whether the query was learned from, which makes good answers no surprise."""
    words = f"Answers among all {len(found[0].answers):,} {other}."
    if query.at is None:
        display.quiet(f"{words} The query is not in the data: nobody judged.")
        return
    part = str(drawings.parts(found[0].run, pairs)["xy".index(query.side)][query.at])
    display.quiet(f"{words} ✓ belongs to the query. {_LEARNED.get(part, '')}")


def _show_why(answered: Answered, candidate: int, pairs: PairSet, query: Query) -> None:
    """Explain one answer of one run."""
    others = pairs.y if query.side == "x" else pairs.x
    answer = others.take([candidate])
    x, y = (query.item, answer) if query.side == "x" else (answer, query.item)
    words = escape_markdown(display.item_text(answer, 0, 60))
    st.subheader(f"Why {escape_markdown(answered.label)} answers “{words}”", anchor=False)
    if answered.run.info.is_imported:
        display.quiet("Of another system only the scores are known.")
        return
    pipeline, names = drawings.pipeline(answered.run), (pairs.x_name, pairs.y_name)
    parts = _exact_parts(pipeline, x, y)
    if parts is not None:
        _show_exact(parts, names, answered.label)
    else:
        _show_hidden(pipeline, x, y, names, answered.label)


def _exact_parts(pipeline: Pipeline, x: Items, y: Items) -> tuple[Contributions, list[str]] | None:
    """Return the score as a sum over pairs of terms, with both texts; None where it is none."""
    if not isinstance(pipeline, PairPipeline) or {x.kind, y.kind} & {"image", "vector"}:
        return None
    try:
        parts = explain(pipeline, x, y, n=_BARS, by_word=True)
    except ValueError:
        return None
    texts = []
    for content, features, terms, totals in (
        (pipeline.x_content(x), pipeline.x_features_, parts.x_terms, parts.x_totals),
        (y.content, pipeline.y_features_, parts.y_terms, parts.y_totals),
    ):
        weighted = character_weights(features, str(content[0]), terms, totals)
        if weighted is None:  # terms that are no text
            return None
        texts.append(_text_html(*weighted))
    return parts, texts


def _show_exact(
    exact: tuple[Contributions, list[str]], names: tuple[str, str], label: str
) -> None:
    parts, texts = exact
    _show_sides(texts, names)
    bars = [(f"{p.x_term.strip()} · {p.y_term.strip()}", p.value, "") for p in parts.pairs]
    for words, value in (
        ("all other pairs", parts.remainder),
        ("what every item has (the means)", parts.offset),
    ):
        if abs(value) > 5e-4:
            bars.append((words, value, "sv-rest"))
    _show_bars(bars, parts.score)
    display.quiet(f"Exact: the score of {label} is a sum over pairs of words, one of each side.")


def _show_hidden(
    pipeline: Pipeline, x: Items, y: Items, names: tuple[str, str], label: str
) -> None:
    """Show what hiding each part changes, for methods whose score is no sum."""
    with st.spinner("Hiding one part after another", show_time=False):
        found = [occlude(pipeline, x, y, side) for side in ("x", "y")]
    blocks = []
    for item, name, hidden in zip((x, y), names, found, strict=True):
        if item.kind == "image":
            effects = None if hidden is None else (hidden.parts, hidden.effects)
            picture = heat_picture(item.content[0], effects, state.theme())
            blocks.append(f'<div class="sv-why"><img src="{picture}" alt="{escape(name)}"></div>')
            continue
        text = display.item_text(item, 0, None)
        weights = np.zeros(len(text))
        if hidden is not None:
            for part, effect in zip(hidden.parts, hidden.effects, strict=True):
                weights[slice(*part)] = effect
        blocks.append(_text_html(text, weights))
    _show_sides(blocks, names)
    display.quiet(
        f"Approximate: the more the score of {label} falls without a part, the stronger its "
        "colour. Effects need not add up."
    )


def _text_html(text: str, weights: NDArray[np.float64]) -> str:
    return f'<p class="sv-why" dir="auto">{highlighted(text, weights)}</p>'


def _show_sides(blocks: Sequence[str], names: tuple[str, str]) -> None:
    for column, block, name in zip(st.columns(2, gap="large"), blocks, names, strict=True):
        with column:
            display.quiet(name)
            st.html(block)


def _show_bars(lines: Sequence[tuple[str, float, str]], score: float) -> None:
    """Show contributions as bars to both sides of a common zero, with their sum."""
    values = [value for _, value, _ in lines]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    width = (high - low) or 1.0
    rows = []
    for words, value, kind in lines:
        start = 100 * (min(0.0, value) - low) / width
        size = 100 * abs(value) / width
        colour = FOR if value >= 0 else AGAINST
        rows.append(
            f'<tr class="{kind}"><td dir="auto">{escape(words)}</td><td class="sv-bar"><div>'
            f'<i style="margin-left:{start:.1f}%;width:{size:.1f}%;background:{colour}"></i></div>'
            f"</td><td>{display.signed(value)}</td></tr>"
        )
    rows.append(f'<tr class="sv-sum"><td>score</td><td></td><td>{display.signed(score)}</td></tr>')
    st.html(f'<table class="sv-parts"><tbody>{"".join(rows)}</tbody></table>')
