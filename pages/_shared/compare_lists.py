"""Both runs' answers to one query, side by side."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import compare_items
from pages._shared.compare_marks import mark, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pages._shared.compare_runs import Entry
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.evaluation.answers import Answers
    from simviz.pipeline import PairPipeline
    from simviz.store.run import Run

_PLACES = 10
#: Relevant answers that are listed wherever they stand.
_ALWAYS = 5
_STYLE = """
<style>
.sv-answers { border-collapse: collapse; width: 100%; font-size: .95rem;
  font-variant-numeric: tabular-nums; }
.sv-answers caption { text-align: left; font-weight: 600; padding: .1rem 0 .45rem; }
.sv-answers td { padding: .28rem .5rem; vertical-align: middle;
  border-bottom: 1px solid color-mix(in srgb, currentColor 8%, transparent); }
.sv-answers .sv-place, .sv-answers .sv-score, .sv-answers .sv-move { width: 1%;
  white-space: nowrap; text-align: right;
  color: color-mix(in srgb, currentColor 65%, transparent); }
.sv-answers .sv-place { padding-left: .3rem; }
.sv-answers .sv-move { font-size: .85em; }
.sv-answers .sv-item { overflow-wrap: anywhere; }
.sv-answers .sv-item span { display: -webkit-box; -webkit-line-clamp: 2;
  -webkit-box-orient: vertical; overflow: hidden; }
.sv-answers .sv-gold td { font-weight: 650;
  background: color-mix(in srgb, #c9941a 15%, transparent); }
.sv-answers .sv-gap td { font-size: .9em;
  color: color-mix(in srgb, currentColor 65%, transparent); }
.sv-answers img { width: 28px; height: 28px; object-fit: contain; vertical-align: middle;
  margin-right: .5rem; float: left; }
.sv-asked { display: flex; align-items: center; gap: .7rem; font-size: 1.25rem;
  margin: .2rem 0 .4rem; overflow-wrap: anywhere; }
.sv-asked img { width: 40px; height: 40px; object-fit: contain; }
</style>
"""


@st.cache_resource(show_spinner=False, max_entries=6)
def _pipeline(run_id: str, _run: Run) -> PairPipeline:
    return _run.pipeline()


@st.cache_data(show_spinner=False, max_entries=128)
def _scores(
    run_id: str, direction: str, query: int, _run: Run, _test: PairSet
) -> NDArray[np.floating[Any]]:
    """Similarity of every candidate of the test part to one query."""
    pipeline = _pipeline(run_id, _run)
    if direction == "x2y":
        return pipeline.similarity(_test.x.take([query]), _test.y)[0]
    return pipeline.similarity(_test.x, _test.y.take([query]))[:, 0]


def show(a: Entry, b: Entry, test: PairSet, direction: str, query: int) -> None:
    """Show what two runs answer to a query.

    Parameters
    ----------
    a, b : Entry
        The runs.
    test : PairSet
        The test part of both.
    direction : {"x2y", "y2x"}
        Which side asks.
    query : int
        The query's position on its side of the test part.
    """
    from simviz.evaluation.answers import Answers

    # Seen from the side that asks.
    seen = test if direction == "x2y" else test.swap()
    relevance = seen.relevance
    row = relevance.matrix[[query]]
    grades = {int(i): float(g) for i, g in zip(row.indices, row.data, strict=True)}
    pool = np.sort(row.indices) if relevance.unjudged == "ignore" else None
    with st.spinner("Asking both", show_time=False):
        answers = [
            Answers.from_scores(_scores(e.run.id, direction, query, e.run, test), pool)
            for e in (a, b)
        ]
    st.html(_STYLE + f'<div class="sv-asked">{_item(seen.x, query)}</div>')
    columns = st.columns(2, gap="large")
    for i, (column, entry) in enumerate(zip(columns, (a, b), strict=True)):
        table = _list(entry, (a, b)[1 - i], answers[i], answers[1 - i], seen.y, grades)
        column.html(table)
    n_right = sum(grade > 0 for grade in grades.values())
    among = "the judged" if relevance.unjudged == "ignore" else "all"
    st.caption(
        f"Answers among {among} {len(answers[0]):,} {plain(seen.y_name)} of the test part, with "
        f"their similarity. ✓ marks what is right ({n_right:,} in all); ▲ and ▼ say how many "
        "places higher or lower an answer stands here than in the other list."
    )


def _list(
    entry: Entry,
    other: Entry,
    mine: Answers,
    theirs: Answers,
    items: Items,
    grades: dict[int, float],
) -> str:
    """One run's answers as a table."""
    right = [c for c in mine.candidate.tolist() if grades.get(c, 0) > 0][:_ALWAYS]
    graded = len({g for g in grades.values() if g > 0}) > 1
    moved = mine.moved_from(theirs)
    lines, before = [], 0
    for at in mine.shown(_PLACES, always=right).tolist():
        if at > before:
            lines.append(_gap(mine, before, at))
        before = at + 1
        candidate = int(mine.candidate[at])
        grade = grades.get(candidate, 0)
        is_right = grade > 0
        tick = f"✓{f' {grade:.3g}' if graded else ''}" if is_right else ""
        lines.append(
            f"<tr{' class=sv-gold' if is_right else ''}><td class=sv-place>{_place(mine, at)}</td>"
            f"<td class=sv-item>{_item(items, candidate)}</td><td>{tick}</td>"
            f"<td class=sv-move>{_move(moved[at], other.label)}</td>"
            f"<td class=sv-score>{_score(mine.score[at])}</td></tr>"
        )
    if before < min(_PLACES, len(mine)):
        lines.append(_gap(mine, before, len(mine)))
    name = f'<span class="sv-mark sv-list-{entry.run.id[:8]}"></span>{escape(entry.label)}'
    style = f".sv-list-{entry.run.id[:8]} {{ background-image: {mark(entry.look)}; }}"
    return (
        f"<style>{style}</style>"
        f'<div class="sv-scroll"><table class="sv-answers"><caption>{name}</caption>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _gap(answers: Answers, start: int, stop: int) -> str:
    """What stands between two lines of a list."""
    n = stop - start
    level = answers.first[start] == answers.first[stop - 1] and n > 1
    words = f"{n:,} more{' with the same score' if level else ''}"
    return f"<tr class=sv-gap><td class=sv-place>⋮</td><td colspan=4>{words}</td></tr>"


def _place(answers: Answers, at: int) -> str:
    first, last = int(answers.first[at]), int(answers.last[at])
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _score(score: float) -> str:
    return f"{score:.3f}".replace("-", "−")


def _move(places: float, other: str) -> str:
    if not places:
        return ""
    sign, word = ("▲", "higher") if places > 0 else ("▼", "lower")
    size = f"{abs(places):,.1f}".removesuffix(".0")
    title = escape(f"{size} place{'' if size == '1' else 's'} {word} than by {other}")
    return f'<span title="{title}">{sign}{size}</span>'


def _item(items: Items, at: int) -> str:
    """An item as HTML; its text is escaped."""
    picture, glyph = compare_items.picture(items, at), compare_items.glyph(items, at)
    before = f'<img src="{picture}" alt="">' if picture else ""
    words = f"{glyph}  {compare_items.text(items, at)}" if glyph else compare_items.text(items, at)
    return f'{before}<span dir="auto">{escape(words)}</span>'
