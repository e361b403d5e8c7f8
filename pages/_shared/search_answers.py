"""Every chosen run's answers to a query, side by side; each can be asked why."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages._shared import compare_items, plain, state
from pages._shared.compare_marks import mark
from simviz.markdown import escape_markdown

if TYPE_CHECKING:
    from pages._shared.search_query import Query
    from pages._shared.search_view import Answered
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.evaluation.answers import Answers

_PLACES = 10
_LABEL = 110  # characters of an answer
_WHY = "search-why"
_STYLE = """
<style>
[class*="st-key-search-list-"] { gap: 0; }
[class*="st-key-search-line-"] { border-bottom: 1px solid
  color-mix(in srgb, currentColor 8%, transparent); padding: .1rem .35rem; min-height: 2.1rem;
  flex-wrap: nowrap; }
[class*="st-key-search-line-"] > div { min-width: 0; }
[class*="st-key-search-list-"] .sv-quiet { padding-top: .4rem; }
[class*="st-key-search-line-gold"] { background: color-mix(in srgb, #c9941a 15%, transparent); }
[class*="st-key-search-go-"] button { padding: .1rem 0; min-height: 0; text-align: left;
  justify-content: flex-start; }
[class*="st-key-search-go-"] button > div { justify-content: flex-start; width: 100%; }
[class*="st-key-search-go-"] button p { overflow-wrap: anywhere; white-space: normal; }
.sv-near img { width: 26px; height: 26px; object-fit: contain; vertical-align: middle; }
.sv-asked { display: flex; align-items: center; gap: .7rem; font-size: 1.25rem;
  margin: .2rem 0 .2rem; overflow-wrap: anywhere; max-height: 9rem; overflow-y: auto; }
.sv-asked img { width: 40px; height: 40px; object-fit: contain; }
.sv-by { font-weight: 600; margin: 0; display: flex; align-items: baseline; gap: .5rem; }
.sv-by small { font-weight: 400; opacity: .65; margin-left: auto; white-space: nowrap; }
.sv-line { flex: none; width: 20px; height: 10px; background-repeat: no-repeat; }
.sv-at { display: inline-block; min-width: 1.6em; }
.sv-small { font-variant-numeric: tabular-nums; font-size: .875rem; opacity: .7;
  white-space: nowrap; }
</style>
"""


def show(found: Sequence[Answered], pairs: PairSet, query: Query) -> tuple[int, int] | None:
    """Show the query, then a list a run.

    Parameters
    ----------
    found : sequence of Answered
        What each run says.
    pairs : PairSet
        The data set.
    query : Query
        What is asked.

    Returns
    -------
    tuple of int or None
        The answer that is to be explained: which run of `found`, and which
        item of the other side. None where no run gave any answer.
    """
    st.html(_STYLE)
    picture = compare_items.picture(query.item, 0)
    before = f'<img src="{picture}" alt="">' if picture else ""
    glyph = compare_items.glyph(query.item, 0)
    said = f"{glyph}  " * bool(glyph) + compare_items.text(query.item, 0, 600)
    st.html(f'<div class="sv-asked">{before}<span dir="auto">{escape(said)}</span></div>')
    others = pairs.y if query.side == "x" else pairs.x
    relevance = pairs.relevance if query.side == "x" else pairs.relevance.T
    right: set[int] = set()
    if query.at is not None:
        right = set(relevance.positives[[query.at]].indices.tolist())
    per_row = 1 if state.is_narrow() else 3
    for start in range(0, len(found), per_row):
        columns = st.columns(min(per_row, len(found)), gap="medium")
        for i, (column, answered) in enumerate(
            zip(columns, found[start : start + per_row], strict=False), start
        ):
            with column:
                _list(i, answered, others, right)
    return _asked_why(found)


def _asked_why(found: Sequence[Answered]) -> tuple[int, int] | None:
    """What was pressed, if it still stands; else the first answer that there is."""
    told = st.session_state.get(_WHY)
    for i, answered in enumerate(found):
        if told and answered.run.id == told[0] and answered.knows:
            return i, int(told[1])
    for i, answered in enumerate(found):
        if answered.knows and len(answered.answers):
            return i, int(answered.answers.candidate[0])
    return None


def _list(i: int, answered: Answered, items: Items, right: set[int]) -> None:
    answers = answered.answers
    name = f"sv-list-{answered.run.id[:8]}"
    st.html(
        f"<style>.{name} {{ background-image: {mark(answered.look)}; }}</style>"
        f'<p class="sv-by"><span class="sv-line {name}"></span>'
        f"{escape(answered.label)}<small>{_milliseconds(answered.seconds)}</small></p>"
    )
    if not answered.knows:
        plain.quiet(
            "Knows nothing in this query: no word or feature of it was in the training part, so "
            "everything scores the same."
        )
        return
    with st.container(key=f"search-list-{i}"):
        top = np.flatnonzero(answers.first <= _PLACES)[:_PLACES]
        for at in top.tolist():
            _line(i, answered, items, at, int(answers.candidate[at]) in right)
        missing = [
            at for at in range(len(top), len(answers)) if int(answers.candidate[at]) in right
        ]
        for at in missing[:2]:
            _line(i, answered, items, at, True)
        if len(missing) > 2:
            n = len(missing) - 2
            verbs = ("belongs", "stands") if n == 1 else ("belong", "stand")
            plain.quiet(f"{n} more that {verbs[0]} to it {verbs[1]} further down.")


def _line(i: int, answered: Answered, items: Items, at: int, is_right: bool) -> None:
    answers = answered.answers
    candidate, run_id = int(answers.candidate[at]), answered.run.id
    gold = "gold-" if is_right else ""
    with st.container(
        horizontal=True,
        vertical_alignment="center",
        gap="small",
        key=f"search-line-{gold}{i}-{candidate}",
    ):
        st.html(f'<span class="sv-small sv-at">{_place(answers, at)}</span>', width="content")
        picture = compare_items.picture(items, candidate)
        if picture:
            st.html(f'<span class="sv-near"><img src="{picture}" alt=""></span>', width=30)
        st.button(
            _label(items, candidate),
            key=f"search-go-{i}-{candidate}",
            on_click=_ask_why,
            args=(run_id, candidate),
            type="tertiary",
            width="stretch",
            help="Why this answer?",
        )
        tick = " ✓" if is_right else ""
        score = _number(float(answers.score[at]))
        st.html(f'<span class="sv-small">{score}{tick}</span>', width="content")


def _label(items: Items, at: int) -> str:
    glyph, text = compare_items.glyph(items, at), compare_items.text(items, at, _LABEL)
    return escape_markdown(f"{glyph} {text}" if glyph else text) or "·"


def _ask_why(run_id: str, candidate: int) -> None:
    st.session_state[_WHY] = (run_id, candidate)


def _place(answers: Answers, at: int) -> str:
    first, last = int(answers.first[at]), int(answers.last[at])
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _number(score: float) -> str:
    return (f"{score:.3f}" if abs(score) < 10 else f"{score:.1f}").replace("-", "−")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1_000:.0f} ms" if seconds >= 0.001 else "under 1 ms"
