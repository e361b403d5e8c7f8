"""Both runs' answers to one query, side by side."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from pages._shared import compare_items, compare_moves, drawings
from pages._shared.compare_marks import mark, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pages._shared.compare_runs import Entry
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.evaluation.answers import Answers
    from simviz.store.run import Part, Run

_PLACES = 10
#: Relevant answers that are listed wherever they stand.
_ALWAYS = 5


@st.cache_data(show_spinner=False, max_entries=128)
def _scores(
    run_id: str, part: Part, direction: str, query: int, _run: Run, _pairs: PairSet
) -> NDArray[np.floating[Any]]:
    """Similarity of every candidate of a part to one query."""
    pipeline = drawings.pipeline(run_id, _run)
    if direction == "x2y":
        return pipeline.similarity(_pairs.x.take([query]), _pairs.y)[0]
    return pipeline.similarity(_pairs.x, _pairs.y.take([query]))[:, 0]


def show(a: Entry, b: Entry, pairs: PairSet, direction: str, query: int) -> None:
    """Show what two runs answer to a query.

    Parameters
    ----------
    a, b : Entry
        The runs.
    pairs : PairSet
        The part of the split that both are looked at by.
    direction : {"x2y", "y2x"}
        Which side asks.
    query : int
        The query's position on its side of that part.
    """
    from simviz.evaluation.answers import Answers

    # Seen from the side that asks.
    seen = pairs if direction == "x2y" else pairs.swap()
    relevance = seen.relevance
    row = relevance.matrix[[query]]
    grades = {int(i): float(g) for i, g in zip(row.indices, row.data, strict=True)}
    pool = np.sort(row.indices) if relevance.unjudged == "ignore" else None
    with st.spinner("Asking both", show_time=False):
        answers = [
            Answers.from_scores(_scores(e.run.id, e.part, direction, query, e.run, pairs), pool)
            for e in (a, b)
        ]
    lists = [_lines(one, grades) for one in answers]
    tables = [
        _table(entry, other, lines, mine, theirs, seen.y, grades)
        for entry, other, lines, mine, theirs in (
            (a, b, lists[0], answers[0], answers[1]),
            (b, a, lists[1], answers[1], answers[0]),
        )
    ]
    between = compare_moves.lines(
        *(
            [None if line.at is None else int(one.candidate[line.at]) for line in lines]
            for lines, one in zip(lists, answers, strict=True)
        ),
        {candidate for candidate, grade in grades.items() if grade > 0},
    )
    st.html(
        compare_moves.STYLE + f'<div class="sv-asked">{item_html(seen.x, query)}</div>'
        f'<div class="sv-two">{tables[0]}<div class="sv-lines">{between}</div>{tables[1]}</div>'
    )
    st.html(compare_moves.ideal(_right(seen.y, grades)) + _travelled((a, b), answers, seen.y))
    n_right = sum(grade > 0 for grade in grades.values())
    among = "the judged" if relevance.unjudged == "ignore" else "all"
    wrong = ", ✗ what was judged wrong" if any(grade <= 0 for grade in grades.values()) else ""
    st.caption(
        f"Answers among {among} {len(answers[0]):,} {plain(seen.y_name)} of the {a.part} part, "
        f"with their similarity. ✓ marks what is right ({n_right:,} in all){wrong}; ▲ and ▼ say "
        "how many places higher or lower an answer stands here than in the other list."
    )


class Line(NamedTuple):
    """A line of a list: an answer, or how many stand between two."""

    at: int | None
    gap: tuple[int, int] = (0, 0)


def _lines(answers: Answers, grades: dict[int, float]) -> list[Line]:
    """The first answers, and right ones wherever they stand."""
    right = [c for c in answers.candidate.tolist() if grades.get(c, 0) > 0][:_ALWAYS]
    lines, before = [], 0
    for at in answers.shown(_PLACES, always=right).tolist():
        if at > before:
            lines.append(Line(None, (before, at)))
        lines.append(Line(at))
        before = at + 1
    if before < min(_PLACES, len(answers)):
        lines.append(Line(None, (before, len(answers))))
    return lines


def _table(
    entry: Entry,
    other: Entry,
    lines: list[Line],
    mine: Answers,
    theirs: Answers,
    items: Items,
    grades: dict[int, float],
) -> str:
    """One run's answers as a table."""
    graded = len({g for g in grades.values() if g > 0}) > 1
    moved = mine.moved_from(theirs)
    rows = []
    for line in lines:
        if line.at is None:
            rows.append(_gap(mine, *line.gap))
            continue
        candidate = int(mine.candidate[line.at])
        grade = grades.get(candidate, 0)
        tick = ""
        if grade > 0:
            tick = f"✓{f' {grade:.3g}' if graded else ''}"
        elif candidate in grades:
            tick = '<span class=sv-wrong title="judged not relevant">✗</span>'
        rows.append(
            f"<tr{' class=sv-gold' if grade > 0 else ''}>"
            f"<td class=sv-place>{place_told(mine, line.at)}</td>"
            f"<td class=sv-item>{item_html(items, candidate)}</td><td class=sv-tick>{tick}</td>"
            f"<td class=sv-move>{_move(moved[line.at], other.label)}</td>"
            f"<td class=sv-score>{_score(mine.score[line.at])}</td></tr>"
        )
    name = f'<span class="sv-mark sv-list-{entry.run.id[:8]}"></span>{escape(entry.label)}'
    style = f".sv-list-{entry.run.id[:8]} {{ background-image: {mark(entry.look)}; }}"
    return (
        f'<div class="sv-scroll"><style>{style}</style>'
        f'<table class="sv-answers"><caption>{name}</caption>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _right(items: Items, grades: dict[int, float]) -> list[tuple[str, float]]:
    """What is right as HTML, and its grade, the best first."""
    right = sorted((c for c, g in grades.items() if g > 0), key=lambda c: (-grades[c], c))
    return [(item_html(items, c), grades[c]) for c in right]


def _travelled(entries: tuple[Entry, Entry], answers: list[Answers], items: Items) -> str:
    """Which answer of either list's top stands furthest away in the other one."""
    a, b = answers
    moved = a.moved_from(b)
    there = dict(zip(b.candidate.tolist(), range(len(b)), strict=True))
    at_b = np.array([there[c] for c in a.candidate.tolist()], dtype=np.int64)
    top = (a.first <= _PLACES) | (b.first[at_b] <= _PLACES)
    at = int(np.argmax(np.where(top, np.abs(moved), 0.0))) if len(a) else 0
    if not len(a) or not moved[at]:
        return ""
    places = place_told(a, at), place_told(b, int(at_b[at]))
    told = " to ".join(
        f"{place} by {escape(entry.label)}" for place, entry in zip(places, entries, strict=True)
    )
    return compare_moves.travelled(item_html(items, int(a.candidate[at])), f"place {told}")


def _gap(answers: Answers, start: int, stop: int) -> str:
    """What stands between two lines of a list."""
    n = stop - start
    level = answers.first[start] == answers.first[stop - 1] and n > 1
    words = f"{n:,} more{' with the same score' if level else ''}"
    return f"<tr class=sv-gap><td class=sv-place>⋮</td><td colspan=4>{words}</td></tr>"


def place_told(answers: Answers, at: int) -> str:
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


def item_html(items: Items, at: int) -> str:
    """An item as HTML; its text is escaped."""
    picture, glyph = compare_items.picture(items, at), compare_items.glyph(items, at)
    before = f'<img src="{picture}" alt="">' if picture else ""
    words = f"{glyph}  {compare_items.text(items, at)}" if glyph else compare_items.text(items, at)
    return f'{before}<span dir="auto">{escape(words)}</span>'
