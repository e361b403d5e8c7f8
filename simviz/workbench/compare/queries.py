"""Where two runs differ: every query, and both lists of answers to one of them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from simviz.exceptions import SimvizError
from simviz.workbench.compare import columns, table as compare_table
from simviz.workbench.compare.choice import Choice, linked_query, put_in_link, tested_runs
from simviz.workbench.compare.columns import part_of
from simviz.workbench.shell import drawings, marks, state
from simviz.workbench.shell.marks import mark, mark_pills, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.evaluation.differences import Answers, Differences, TermGroup
    from simviz.reports.summary import Entry
    from simviz.store.run import Part, Run

#: A column with more values than this names items rather than groups.
_MOST_VALUES = 60
#: A word is in so many queries, and in one of a hundred.
_FEWEST = 4


class Group(NamedTuple):
    """Some of the queries."""

    name: str
    queries: NDArray[np.int64]


def choose_group(
    a: Entry, b: Entry, found: Differences, sides: Mapping[str, Items], key: str
) -> Group:
    """Let the visitor narrow the queries down."""
    name, index = "", np.arange(len(found))
    columns = _columns(key, found, sides)
    if columns:
        value = st.selectbox(
            "Only queries with",
            list(columns),
            index=None,
            format_func=lambda option: f"{option} ({len(columns[option]):,})",
            placeholder="All queries",
            key=f"compare-column-{key}",
            width=320,
        )
        if value is not None:
            name, index = value, columns[value]
    term = _choose_term(a, b, _terms(key, found, sides), key)
    if term is not None:
        index = np.intersect1d(index, term.queries)
        name = f"{name}, “{term.term}”".removeprefix(", ")
    return Group(name, index)


def _choose_term(
    a: Entry, b: Entry, sides: tuple[Sequence[TermGroup], Sequence[TermGroup]], key: str
) -> TermGroup | None:
    """Words as pills, each with the mark of the run that gains on its queries."""
    groups = {group.term: group for side in sides for group in side}
    if not groups:
        return None
    widget = f"compare-terms-{key}"
    mark_pills(widget, [a.look] * len(sides[0]) + [b.look] * len(sides[1]))
    chosen = st.pills(
        "Words of queries on which one gains",
        list(groups),
        format_func=lambda term: (
            f"{plain(term)}  {_signed(groups[term].difference)} · {len(groups[term]):,}"
        ),
        key=widget,
        help="Each with the mean difference (A − B) and the number of queries that hold it. They "
        "stand here because they stand out among all words: a description of these queries, no "
        "test.",
    )
    return None if chosen is None else groups[chosen]


@st.cache_resource(show_spinner=False, max_entries=40)
def _terms(
    key: str, _found: Differences, _sides: Mapping[str, Items]
) -> tuple[list[TermGroup], list[TermGroup]]:
    from simviz.evaluation.differences import shared_terms

    lines = zip(_found.direction.tolist(), _found.query.tolist(), strict=True)
    texts = [marks.text(_sides[direction], query, None) for direction, query in lines]
    least = max(_FEWEST, len(texts) // 100)
    return shared_terms(_found.difference, texts, least=least)


@st.cache_resource(show_spinner=False, max_entries=40)
def _columns(
    key: str, _found: Differences, _sides: Mapping[str, Items]
) -> dict[str, NDArray[np.int64]]:
    """Queries by "column: value", for columns that divide them into a few groups."""
    values: dict[str, dict[str, list[int]]] = {}
    for direction in dict.fromkeys(_found.direction.tolist()):
        at = np.flatnonzero(_found.direction == direction)
        for column, known in _sides[direction].metadata.items():
            cells: Any = known[_found.query[at]]
            for position, cell in zip(at.tolist(), cells.tolist(), strict=True):
                values.setdefault(column, {}).setdefault(str(cell), []).append(position)
    return {
        f"{column}: {value}": np.array(positions, dtype=np.int64)
        for column, groups in values.items()
        if 2 <= len(groups) <= _MOST_VALUES and column != "label"
        for value, positions in sorted(groups.items(), key=lambda item: -len(item[1]))
    }


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


#: Right answers that the ideal order names.
_IDEAL = 8
#: Heights and width in pixels. Every line is as high as any other, so that what is drawn
#: between two lists meets them.
_ROW, _HEAD, _BETWEEN = 46, 34, 84
_GOLD = "#c9941a"
MOVES_STYLE = f"""
<style>
.sv-two {{ display: grid; grid-template-columns: minmax(0, 1fr) {_BETWEEN}px minmax(0, 1fr); }}
.sv-lines img {{ display: block; max-width: none; }}
@media (max-width: 1000px) {{
  .sv-two {{ grid-template-columns: minmax(0, 1fr); gap: 1.2rem; }}
  .sv-lines {{ display: none; }}
}}
.sv-answers {{ border-collapse: collapse; width: 100%; font-size: .95rem;
  font-variant-numeric: tabular-nums; }}
.sv-answers caption {{ text-align: left; font-weight: 600; height: {_HEAD}px; padding: 0;
  line-height: {_HEAD}px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }}
.sv-answers td {{ padding: 0 .5rem; vertical-align: middle; height: {_ROW}px;
  box-sizing: border-box; line-height: 1.25;
  border-bottom: 1px solid color-mix(in srgb, currentColor 8%, transparent); }}
.sv-answers .sv-place, .sv-answers .sv-score, .sv-answers .sv-move, .sv-answers .sv-tick {{
  width: 1%; white-space: nowrap; text-align: right;
  color: color-mix(in srgb, currentColor 65%, transparent); }}
.sv-answers .sv-place {{ padding-left: .3rem; }}
.sv-answers .sv-move {{ font-size: .85em; }}
.sv-answers .sv-tick {{ padding: 0; }}
.sv-answers .sv-item {{ overflow-wrap: anywhere; }}
.sv-answers .sv-item span {{ display: -webkit-box; -webkit-line-clamp: 2;
  -webkit-box-orient: vertical; overflow: hidden; }}
.sv-answers .sv-gold td {{ font-weight: 650;
  background: color-mix(in srgb, {_GOLD} 15%, transparent); }}
.sv-answers .sv-gold .sv-tick {{ color: inherit; }}
.sv-answers .sv-gap td {{ font-size: .9em;
  color: color-mix(in srgb, currentColor 65%, transparent); }}
.sv-answers img {{ width: 28px; height: 28px; object-fit: contain; vertical-align: middle;
  margin-right: .5rem; float: left; }}
.sv-asked {{ display: flex; align-items: center; gap: .7rem; font-size: 1.25rem;
  margin: .2rem 0 .4rem; overflow-wrap: anywhere; }}
.sv-asked img {{ width: 40px; height: 40px; object-fit: contain; }}
.sv-ideal {{ display: flex; flex-wrap: wrap; align-items: center; gap: .35rem .8rem;
  font-size: .95rem; margin: .5rem 0; overflow-wrap: anywhere; }}
.sv-ideal b {{ font-weight: 600; }}
.sv-ideal ol {{ display: flex; flex-wrap: wrap; gap: .35rem .5rem; list-style: none;
  margin: 0; padding: 0; }}
.sv-ideal li {{ display: flex; align-items: center; gap: .4rem; margin: 0; padding: .1rem .6rem;
  border-radius: .4rem; background: color-mix(in srgb, currentColor 7%, transparent); }}
.sv-ideal li i, .sv-ideal em, .sv-ideal > span {{ font-style: normal; opacity: .7; }}
.sv-ideal img {{ width: 22px; height: 22px; object-fit: contain; }}
</style>
"""


def lines_between(left: list[int | None], right: list[int | None], gold: set[int]) -> str:
    """Lines from where each answer stands in one list to where it stands in the other."""
    places = [{c: i for i, c in enumerate(side) if c is not None} for side in (left, right)]
    height = _HEAD + _ROW * max(len(left), len(right))

    def y(place: int) -> float:
        return _HEAD + (place + 0.5) * _ROW

    drawn = []
    # What is right lies on top.
    for candidate in sorted(places[0].keys() | places[1].keys(), key=lambda c: (c in gold, c)):
        if candidate in gold:
            look = f'stroke="{_GOLD}" stroke-width="2.6"'
        else:
            look = 'stroke="#8b8f96" stroke-width="1.3" stroke-opacity="0.55"'
        a, b = (side.get(candidate) for side in places)
        if a is not None and b is not None:
            middle = _BETWEEN / 2
            path = f"M0 {y(a)}C{middle} {y(a)} {middle} {y(b)} {_BETWEEN} {y(b)}"
        elif a is not None:
            path = f"M0 {y(a)}q10 0 16 9"
        elif b is not None:
            path = f"M{_BETWEEN} {y(b)}q-10 0 -16 9"
        drawn.append(f'<path d="{path}" fill="none" {look}/>')
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_BETWEEN}" height="{height}" '
        f'viewBox="0 0 {_BETWEEN} {height}">{"".join(drawn)}</svg>'
    )
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    alt = "Lines from the place of each answer in the left list to its place in the right one"
    return f'<img src="{source}" alt="{alt}" width="{_BETWEEN}" height="{height}">'


def ideal_order(right: Sequence[tuple[str, float]]) -> str:
    """The right answers as a perfect list would begin."""
    if not right:
        return ""
    graded = len({grade for _, grade in right}) > 1
    chips = "".join(
        f"<li>{item}{f' <i>grade {grade:.3g}</i>' if graded else ''}</li>"
        for item, grade in right[:_IDEAL]
    )
    more = f"<em>and {len(right) - _IDEAL:,} more</em>" if len(right) > _IDEAL else ""
    name = "Ideal order" if graded else "Ideal: these first, in any order"
    name = "Ideal: this one first" if len(right) == 1 else name
    return f'<div class="sv-ideal"><b>{name}</b><ol>{chips}</ol>{more}</div>'


def travelled(item: str, told: str) -> str:
    """The answer that stands furthest away in the other list, both parts as HTML."""
    return (
        f'<div class="sv-ideal"><b>Travelled most</b><ol><li>{item}</li></ol>'
        f"<span>{told}</span></div>"
    )


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


def show_lists(a: Entry, b: Entry, pairs: PairSet, direction: str, query: int) -> None:
    """Show what two runs answer to a query."""
    from simviz.evaluation.differences import Answers

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
        _answers_table(entry, other, lines, mine, theirs, seen.y, grades)
        for entry, other, lines, mine, theirs in (
            (a, b, lists[0], answers[0], answers[1]),
            (b, a, lists[1], answers[1], answers[0]),
        )
    ]
    left, right = (
        [None if line.at is None else int(one.candidate[line.at]) for line in lines]
        for lines, one in zip(lists, answers, strict=True)
    )
    gold = {candidate for candidate, grade in grades.items() if grade > 0}
    between = lines_between(left, right, gold)
    st.html(
        MOVES_STYLE + f'<div class="sv-asked">{item_html(seen.x, query)}</div>'
        f'<div class="sv-two">{tables[0]}<div class="sv-lines">{between}</div>{tables[1]}</div>'
    )
    st.html(ideal_order(_right(seen.y, grades)) + _travelled((a, b), answers, seen.y))
    n_right = sum(grade > 0 for grade in grades.values())
    among = "the judged" if relevance.unjudged == "ignore" else "all"
    wrong = ", ✗ what was judged wrong" if any(grade <= 0 for grade in grades.values()) else ""
    st.caption(
        f"Answers among {among} {len(answers[0]):,} {plain(seen.y_name)} of the {a.part} part, "
        f"with their similarity. ✓ marks what is right ({n_right:,} in all){wrong}; ▲ and ▼ say "
        "how many places higher or lower an answer stands here than in the other list."
    )


class AnswerLine(NamedTuple):
    """A line of a list: an answer, or how many stand between two."""

    at: int | None
    gap: tuple[int, int] = (0, 0)


def _lines(answers: Answers, grades: dict[int, float]) -> list[AnswerLine]:
    """The first answers, and right ones wherever they stand."""
    right = [c for c in answers.candidate.tolist() if grades.get(c, 0) > 0][:_ALWAYS]
    lines, before = [], 0
    for at in answers.shown(_PLACES, always=right).tolist():
        if at > before:
            lines.append(AnswerLine(None, (before, at)))
        lines.append(AnswerLine(at))
        before = at + 1
    if before < min(_PLACES, len(answers)):
        lines.append(AnswerLine(None, (before, len(answers))))
    return lines


def _answers_table(
    entry: Entry,
    other: Entry,
    lines: list[AnswerLine],
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
    return travelled(item_html(items, int(a.candidate[at])), f"place {told}")


def _gap(answers: Answers, start: int, stop: int) -> str:
    """What stands between two lines of a list."""
    n = stop - start
    level = answers.first[start] == answers.first[stop - 1] and n > 1
    words = f"{n:,} more{' with the same score' if level else ''}"
    return f"<tr class=sv-gap><td class=sv-place>⋮</td><td colspan=4>{words}</td></tr>"


def place_told(answers: Answers, at: int) -> str:
    """Return the rank of an answer, as a range where answers tie."""
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
    picture, glyph = marks.picture(items, at), marks.glyph(items, at)
    before = f'<img src="{picture}" alt="">' if picture else ""
    words = f"{glyph}  {marks.text(items, at)}" if glyph else marks.text(items, at)
    return f'{before}<span dir="auto">{escape(words)}</span>'


#: Most lines that are sent to the browser; with pictures each weighs more.
_LINES, _LINES_WITH_PICTURES = 5_000, 500
_WINNERS = {"a": 1, "level": 0, "b": -1}


class Line(NamedTuple):
    """A query, as the table and the link name it."""

    direction: str
    query: int


class Both(NamedTuple):
    """The two runs, what they share, and how they differ."""

    a: Entry
    b: Entry
    pairs: PairSet
    found: Differences
    positions: Mapping[str, NDArray[Any]]

    def position(self, line: Line) -> tuple[str, int]:
        """Where a query stands in the whole data set, as links name it."""
        return line.direction, int(self.positions[line.direction][line.query])


def show(choice: Choice) -> None:
    """Choose two of the runs and show for which queries they differ."""
    if len(choice.entries) < 2:
        st.info("Choose a second run above to see for which queries the two differ.")
        return
    _show_pair(choice)


@st.fragment
def _show_pair(choice: Choice) -> None:
    """Run by itself, so that a click on a query leaves the rest of the page alone."""
    a, b = _choose_two(choice)
    put_in_link(a=a.run.id, b=b.run.id)
    both = compare_two(choice, a, b)
    if not len(both.found):
        st.caption(_nothing(choice))
        return
    _show_lead(choice, both)
    sides = {"x2y": both.pairs.x, "y2x": both.pairs.y}
    # Part of a style's selector too, which knows letters and digits only.
    key = re.sub(
        r"\W+", "-", f"{choice.part}-{a.run.id}-{b.run.id}-{both.found.metric}-{choice.direction}"
    )
    group = choose_group(a, b, both.found, sides, key)
    part = both._replace(found=both.found.take(group.queries))
    if group.name:
        _show_group(part, group)
    rows = _show_counts(part)
    if not len(rows):
        st.caption("No query of this kind.")
        return
    line = _show_lines(choice, both, part, rows, f"{key}-{group.name}")
    direction, position = both.position(line)
    put_in_link(query=f"{direction}:{position}")
    st.space("small")
    try:
        show_lists(both.a, both.b, both.pairs, line.direction, line.query)
    except SimvizError as error:  # a model that was deleted since, or is damaged
        st.error(plain(str(error)))


def _nothing(choice: Choice) -> str:
    """Why no query can be compared."""
    of = f"No query of the {choice.part} part has"
    if choice.entries[0].measured.pool != "judged":
        return f"{of} a relevant answer in this direction."
    words = f"{of} both right and wrong judged candidates in this direction, so none can differ."
    if tested_runs(choice).level != "query":
        words += " The runs are compared by their judged pairs, above."
    return words


def compare_two(choice: Choice, a: Entry, b: Entry) -> Both:
    """Two runs query by query, with the part of the split that they share."""
    positions = _positions(a.run.id, a.part, a.run)
    pairs = part_of(a, choice.pairs)
    return Both(a, b, pairs, columns.differences(choice, a, b), positions)


@st.cache_resource(show_spinner=False, max_entries=8)
def _positions(run_id: str, part: Part, _run: Run) -> dict[str, NDArray[Any]]:
    """Where the held-out items of the asking side stand in the data set, by direction."""
    arrays = _run.arrays()
    return {"x2y": arrays[f"x_{part}"], "y2x": arrays[f"y_{part}"]}


def _choose_two(choice: Choice) -> tuple[Entry, Entry]:
    by_id = {entry.run.id: entry for entry in choice.entries}
    ids = list(by_id)
    for name, usual in (("a", ids[0]), ("b", ids[1])):
        if st.session_state.get(f"compare-{name}") not in by_id:
            st.session_state[f"compare-{name}"] = usual
    if st.session_state["compare-a"] == st.session_state["compare-b"]:
        other = next(i for i in ids if i != st.session_state["compare-a"])
        st.session_state["compare-b"] = other
    columns = st.columns(2, gap="medium")
    chosen = []
    for column, name, label in zip(columns, "ab", ("Run A", "Run B"), strict=True):
        others = ids if name == "a" else [i for i in ids if i != chosen[0]]
        chosen.append(
            column.selectbox(
                label,
                others,
                format_func=lambda run_id: by_id[run_id].label,
                key=f"compare-{name}",
                persist_state="session",
            )
        )
    return by_id[chosen[0]], by_id[chosen[1]]


def _show_lead(choice: Choice, both: Both) -> None:
    """Which of the two is ahead, and by which metric they are compared."""
    found = both.found
    if {both.a.run.id, both.b.run.id} != {entry.run.id for entry in choice.entries[:2]}:
        compare_table.show_lead(choice, both.a, both.b)  # of those two the page has said it
    if found.metric.name != choice.metric:
        st.caption(
            f"{plain(choice.metric)} pools all pairs; query by query, "
            f"{plain(found.metric.name)} stands for it."
        )


def _show_group(part: Both, group: Group) -> None:
    """How the two compare on the queries that were chosen."""
    n = len(part.found)
    words = f"{group.name}: {n:,} quer{'y' if n == 1 else 'ies'}"
    if n:
        mean = f"{part.found.mean():+.3f}".replace("-", "−")
        words += f", mean difference {mean} (A − B)"
    st.caption(plain(f"{words}."))


def _show_counts(both: Both) -> NDArray[Any]:
    """Wins, ties and losses, which also choose the queries to list."""
    found = both.found
    counts = {
        "a": (f"{plain(both.a.label)} better", found.n_wins),
        "level": ("level", found.n_ties),
        "b": (f"{plain(both.b.label)} better", found.n_losses),
    }
    _draw_bar(both)
    kind = st.segmented_control(
        "Queries",
        list(counts),
        format_func=lambda name: f"{counts[name][0]}  **{counts[name][1]:,}**",
        key="compare-outcome",
        wrap=True,
        label_visibility="collapsed",
        help="Press one to list only these queries, and again to list all.",
    )
    order = found.order()
    return order if kind is None else order[found.outcome[order] == _WINNERS[kind]]


def _draw_bar(both: Both) -> None:
    """Shares of wins, ties and losses as one line."""
    from simviz.charts import method_style

    found, parts = both.found, []
    for entry, n in ((both.a, found.n_wins), (None, found.n_ties), (both.b, found.n_losses)):
        colour = (
            "color-mix(in srgb, currentColor 18%, transparent)"
            if entry is None
            else method_style(entry.look, state.theme()).colour
        )
        parts.append(f'<i style="flex: {n} 1 0; background: {colour}"></i>')
    st.html(f'<div class="sv-bar" aria-hidden="true">{"".join(parts)}</div>{_STYLE}')


def _show_lines(
    choice: Choice, every: Both, both: Both, rows: NDArray[Any], shown_as: str
) -> Line:
    """The table of queries; answers with the one to look at."""
    # The file holds every query, the table those of the group and kind that were chosen.
    found = both.found
    sides = {"x2y": both.pairs.x, "y2x": both.pairs.y}
    pictured = any(sides[d].kind == "image" for d in dict.fromkeys(found.direction.tolist()))
    limit = _LINES_WITH_PICTURES if pictured else _LINES
    shown = rows[:limit]
    lines = [Line(str(found.direction[i]), int(found.query[i])) for i in shown]
    linked, start = linked_query(), 0
    for at, line in enumerate(lines):
        if linked == both.position(line):
            start = at
    table, config = _table(choice, both, shown, lines)
    # Rows are told by their place, so other lines must not inherit the selection.
    kind = st.session_state.get("compare-outcome")
    key = f"compare-lines-{shown_as}-{kind}"
    event: Any = st.dataframe(
        table,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [start]}},
        hide_index=True,
        column_config=config,
        row_height=40 if pictured else None,
        height=390,
        alt=f"Queries by how much {both.a.label} and {both.b.label} differ",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        words = "Select a row to see both lists of answers."
        if len(rows) > limit:
            words = f"The {limit:,} biggest movers of {len(rows):,} queries. " + words
        st.caption(words)
        st.download_button(
            "All queries as CSV",
            lambda: queries_csv(choice, every),
            "queries.csv",
            "text/csv",
            key="compare-queries-csv",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )
    picked = [row for row in event.selection.rows if row < len(lines)]
    return lines[picked[0] if picked else start]


def _table(
    choice: Choice, both: Both, shown: NDArray[Any], lines: Sequence[Line]
) -> tuple[Any, dict[str, Any]]:
    import pandas as pd

    found, column = both.found, st.column_config
    sides = {"x2y": both.pairs.x, "y2x": both.pairs.y}
    names = {"x2y": choice.names[0], "y2x": choice.names[1]}
    metric = found.metric
    data: dict[str, Any] = {}
    config: dict[str, Any] = {}
    pictures = [marks.picture(sides[line.direction], line.query) for line in lines]
    glyphs = [marks.glyph(sides[line.direction], line.query) for line in lines]
    if any(pictures):
        data["picture"] = pictures
        config["picture"] = column.ImageColumn("", width=50)
    if any(glyphs):
        data["glyph"] = glyphs
        config["glyph"] = column.TextColumn("", width=40)
    data["text"] = [marks.text(sides[line.direction], line.query) for line in lines]
    config["text"] = column.TextColumn("query", width=120 if state.is_narrow() else 300)
    for name, entry, values, ranks in (
        ("a", both.a, found.a, found.a_rank),
        ("b", both.b, found.b, found.b_rank),
    ):
        data[f"{name}_rank"] = ranks[shown]
        config[f"{name}_rank"] = column.NumberColumn(
            f"{name.upper()}: first right",
            format="%.4g",
            help=f"Rank of the first relevant answer by {plain(entry.label)}; among ties, the "
            "expected one.",
            width=105,
        )
        data[name] = values[shown]
        config[name] = column.NumberColumn(
            f"{name.upper()}: {metric}",
            format="%.3f",
            help=f"{metric.description} By {plain(entry.label)}.",
            width=40 + 8 * max(5, len(metric.name)),
        )
    data["difference"] = found.difference[shown]
    config["difference"] = column.NumberColumn(
        "Δ", format="%+.3f", help="Above 0 where run A is better.", width="small"
    )
    if choice.direction == "mean":
        data["side"] = [names[line.direction] for line in lines]
        config["side"] = column.TextColumn("one of", width=130)
    return pd.DataFrame(data), config


def queries_csv(choice: Choice, both: Both) -> str:
    """Every query that counts, in the table's order."""
    from simviz.evaluation.tables import csv_text

    found, metric = both.found, both.found.metric.name
    sides = {"x2y": both.pairs.x, "y2x": both.pairs.y}
    names = {"x2y": choice.names[0], "y2x": choice.names[1]}
    head = ["side", "id", "query"]
    head += [f"{e.label}: {what}" for e in (both.a, both.b) for what in (metric, "first rank")]
    lines: list[list[object]] = [[*head, "difference"]]
    for i in found.order():
        direction, query = str(found.direction[i]), int(found.query[i])
        items = sides[direction]
        figures = (found.a, found.a_rank, found.b, found.b_rank, found.difference)
        lines.append(
            [names[direction], str(items.ids[query]), marks.text(items, query, None)]
            + [float(np.round(values[i], 12)) for values in figures]
        )
    return csv_text(lines)


_STYLE = """
<style>
.sv-bar { display: flex; gap: 2px; height: 8px; border-radius: 4px;
  overflow: hidden; margin: .2rem 0; }
</style>
"""
