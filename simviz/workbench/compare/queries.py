"""Where two runs differ: every query, and both lists of answers to one of them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from markupsafe import Markup, escape
from numpy.typing import NDArray

from simviz.charts import method_style
from simviz.charts.tables import Cell, html_table
from simviz.data.cells import counted, items_named
from simviz.data.pairs import Items, PairSet
from simviz.evaluation.differences import Answers, Differences, TermGroup, shared_terms
from simviz.evaluation.tables import csv_text
from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.reports.run_summary import RunEntry, RunTable
from simviz.workbench.compare import significance
from simviz.workbench.compare.choice import choose_two, part_of
from simviz.workbench.shell import display, drawings, forms, query_params, state
from simviz.workbench.shell.display import mark, mark_pills

#: Most lines that are sent to the browser; with pictures each weighs more.
_MAX_LINES, _MAX_PICTURES = 2_000, 500
_WINNERS = {"a": 1, "level": 0, "b": -1}
#: A column with more values than this names items rather than groups.
_MAX_VALUES = 60
#: A word is in so many queries, and in one of a hundred.
_FEWEST = 4
#: Answers listed, and relevant ones that are listed wherever they stand.
_PLACES, _ALWAYS = 10, 5
#: Right answers that the ideal order names.
_IDEAL = 8
#: Heights and width in pixels, as in style.css. Every line is as high as any other, so that what
#: is drawn between two lists meets them.
_ROW, _HEAD, _BETWEEN = 46, 34, 84
_GOLD = "#c9941a"


class Line(NamedTuple):
    """A query, as the table and the link name it."""

    direction: str
    query: int


class Both(NamedTuple):
    """The two runs, the part that they share, and how they differ."""

    table: RunTable
    a: RunEntry
    b: RunEntry
    part: PairSet
    differences: Differences

    @property
    def sides(self) -> dict[str, Items]:
        """The items that ask, by direction."""
        return {"x2y": self.part.x, "y2x": self.part.y}

    def lines(self, rows: NDArray[Any]) -> list[Line]:
        """The queries of some rows."""
        differences = self.differences
        return [Line(str(differences.direction[i]), int(differences.query[i])) for i in rows]

    def position(self, line: Line) -> str:
        """Where a query stands in the whole data set, as links name it."""
        return f"{line.direction}:{_positions(self.a)[line.direction][line.query]}"


@state.cached(8)
def _positions(entry: RunEntry) -> dict[str, NDArray[Any]]:
    """Where the held-out items of the asking side stand in the data set, by direction."""
    arrays = entry.run.arrays()
    return {"x2y": arrays[f"x_{entry.part}"], "y2x": arrays[f"y_{entry.part}"]}


# -- the tab --------------------------------------------------------------------------


@st.fragment
def show(table: RunTable) -> None:
    """Choose two of the runs and show for which queries they differ; a click runs only this."""
    if len(table.entries) < 2:
        st.info("Choose a second run above to see for which queries the two differ.")
        return
    first_two = [entry.run.id for entry in table.entries[:2]]
    a, b = choose_two(table, {"a": "Run A", "b": "Run B"}, first_two)
    query_params.put(a=a.run.id, b=b.run.id)
    both = compare_two(table, a, b)
    if not len(both.differences):
        st.caption(_why_none(table))
        return
    metric = both.differences.metric.name
    if metric != table.metric:
        text = f"{table.metric} pools all pairs; query by query, {metric} stands for it."
        st.caption(escape_markdown(text))
    # Part of a style's selector too, which knows letters and digits only.
    key = re.sub(r"\W+", "-", f"{table.part}-{a.run.id}-{b.run.id}-{metric}-{table.direction}")
    name, queries = _choose_group(both, key)
    group = both._replace(differences=both.differences.take(queries))
    if name:
        text = f"{name}: {counted(len(queries), 'query', 'queries')}"
        if len(queries):
            text += f", mean difference {display.signed(group.differences.mean())} (A − B)"
        st.caption(escape_markdown(f"{text}."))
    rows = _choose_outcome(group)
    if not len(rows):
        st.caption("No query of this kind.")
        return
    line = _choose_line(both, group, rows, f"{key}-{name}")
    query = st.session_state["compare-query"] = both.position(line)
    query_params.put(query=query)
    st.space("small")
    try:
        _show_answers(both, line)
    except SimvizError as error:  # a model that was deleted since, or is damaged
        st.error(escape_markdown(str(error)))


def compare_two(table: RunTable, a: RunEntry, b: RunEntry) -> Both:
    """Two runs query by query, with the part of the split that they share."""
    part = part_of(a, table.pairs)
    return Both(table, a, b, part, significance.differences(table, a, b))


def _why_none(table: RunTable) -> str:
    of = f"No query of the {table.part} part has"
    if table.entries[0].measured.pool != "judged":
        return f"{of} a relevant answer in this direction."
    text = f"{of} both right and wrong judged candidates in this direction, so none can differ."
    if not significance.is_by_query(table):
        text += " The runs are compared by their judged pairs, above."
    return text


# -- groups of queries ----------------------------------------------------------------


def _choose_group(both: Both, key: str) -> tuple[str, NDArray[Any]]:
    """Let the visitor narrow the queries down; answers with a name and their places."""
    name, queries = "", np.arange(len(both.differences))
    if groups := _groups(key, both):
        sizes = {name: f"{name} ({len(at):,})" for name, at in groups.items()}
        value = st.selectbox(
            "Only queries with",
            **forms.session_options(sizes, f"compare-column-{key}"),
            index=None,
            placeholder="All queries",
            width=320,
        )
        if value is not None:
            name, queries = value, groups[value]
    if (term := _choose_term(both, key)) is not None:
        queries = np.intersect1d(queries, term.queries)
        name = f"{name}, “{term.term}”".removeprefix(", ")
    return name, queries


def _choose_term(both: Both, key: str) -> TermGroup | None:
    """Words as pills, each with the mark of the run that gains on its queries."""
    a_terms, b_terms = _terms(key, both)
    groups = {group.term: group for group in (*a_terms, *b_terms)}
    if not groups:
        return None
    widget = f"compare-terms-{key}"
    mark_pills(widget, [both.a.look] * len(a_terms) + [both.b.look] * len(b_terms))
    labels = {
        term: f"{escape_markdown(term)}  {display.number(of.difference, '+.2f')} · {len(of):,}"
        for term, of in groups.items()
    }
    picked = st.pills(
        "Query words where one run wins",
        **forms.session_options(labels, widget),
        help="Each with the mean difference (A − B) and the number of queries that hold it. They "
        "stand here because they stand out among all words: a description of these queries, no "
        "test.",
    )
    return None if picked is None else groups[picked]


@st.cache_resource(show_spinner=False, max_entries=40)
def _terms(key: str, _both: Both) -> tuple[list[TermGroup], list[TermGroup]]:
    lines = _both.lines(np.arange(len(_both.differences)))
    texts = [display.item_text(_both.sides[line.direction], line.query, None) for line in lines]
    least = max(_FEWEST, len(texts) // 100)
    return shared_terms(_both.differences.difference, texts, least=least)


@st.cache_resource(show_spinner=False, max_entries=40)
def _groups(key: str, _both: Both) -> dict[str, NDArray[np.int64]]:
    """Queries by "column: value", for columns that divide them into a few groups."""
    differences = _both.differences
    values: dict[str, dict[str, list[int]]] = {}
    for direction in dict.fromkeys(differences.direction.tolist()):
        at = np.flatnonzero(differences.direction == direction)
        for column, cells in _both.sides[direction].metadata.items():
            of_queries: Any = cells[differences.query[at]]
            for position, cell in zip(at.tolist(), of_queries.tolist(), strict=True):
                values.setdefault(column, {}).setdefault(str(cell), []).append(position)
    return {
        f"{column}: {value}": np.array(positions, dtype=np.int64)
        for column, groups in values.items()
        if 2 <= len(groups) <= _MAX_VALUES and column != "label"
        for value, positions in sorted(groups.items(), key=lambda item: -len(item[1]))
    }


def _choose_outcome(both: Both) -> NDArray[Any]:
    """Wins, ties and losses, which also choose the queries to list."""
    differences = both.differences
    n_won, n_level, n_lost = differences.counts
    counts = {
        "a": (f"{escape_markdown(both.a.label)} better", n_won),
        "level": ("same", n_level),
        "b": (f"{escape_markdown(both.b.label)} better", n_lost),
    }
    colours = [method_style(entry.look, state.theme()).colour for entry in (both.a, both.b)]
    colours.insert(1, "color-mix(in srgb, currentColor 18%, transparent)")
    shares = "".join(
        f'<i style="flex: {n} 1 0; background: {colour}"></i>'
        for colour, (_, n) in zip(colours, counts.values(), strict=True)
    )
    st.html(f'<div class="sv-bar" aria-hidden="true">{shares}</div>')
    labels = {name: f"{text}  **{n:,}**" for name, (text, n) in counts.items()}
    kind = st.segmented_control(
        "Queries",
        **forms.session_options(labels, "compare-outcome"),
        wrap=True,
        label_visibility="collapsed",
        help="Press one to list only these queries, and again to list all.",
    )
    order = differences.order()
    return order if kind is None else order[differences.outcome[order] == _WINNERS[kind]]


# -- the table of queries -------------------------------------------------------------


def _choose_line(every: Both, group: Both, rows: NDArray[Any], shown_as: str) -> Line:
    """The table of queries; answers with the one to look at."""
    # The file holds every query, the table those of the group and kind that were chosen.
    directions = dict.fromkeys(group.differences.direction.tolist())
    pictured = any(group.sides[direction].kind == "image" for direction in directions)
    limit = _MAX_PICTURES if pictured else _MAX_LINES
    lines = group.lines(rows[:limit])
    names = [group.position(line) for line in lines]
    requested = st.session_state.get("compare-query")
    start = names.index(requested) if requested in names else 0
    frame, config = _frame(group, rows[:limit], lines)
    # Rows are known by their place, so other lines must not inherit the selection.
    kind = st.session_state.get("compare-outcome")
    event: Any = st.dataframe(
        frame,
        key=f"compare-lines-{shown_as}-{kind}-{st.session_state.get('compare-opened', 0)}",
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [start]}},
        hide_index=True,
        column_config=config,
        row_height=40 if pictured else None,
        height=390,
        alt=f"Queries by how much {group.a.label} and {group.b.label} differ",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        text = "Select a row to see both lists of answers."
        if len(rows) > limit:
            text = f"The {limit:,} of {len(rows):,} queries that differ most. " + text
        st.caption(text)
        key = "compare-queries-csv"
        forms.download("All queries as CSV", lambda: queries_csv(every), "queries.csv", key=key)
    picked = [row for row in event.selection.rows if row < len(lines)]
    return lines[picked[0] if picked else start]


def _frame(both: Both, shown: NDArray[Any], lines: Sequence[Line]) -> tuple[Any, dict[str, Any]]:
    """The table, and how its columns look."""
    import pandas as pd

    differences, sides, make = both.differences, both.sides, st.column_config
    metric, width = differences.metric, 120 if state.is_narrow() else 300
    items = [(sides[line.direction], line.query) for line in lines]
    pictures, glyphs, texts = (
        [read(*item) for item in items]
        for read in (display.item_picture, display.item_glyph, display.item_text)
    )
    columns: list[tuple[str, Any, Any]] = []
    if any(pictures):
        columns.append(("picture", pictures, make.ImageColumn("", width=50)))
    if any(glyphs):
        columns.append(("glyph", glyphs, make.TextColumn("", width=40)))
    columns.append(("text", texts, make.TextColumn("query", width=width)))
    for name, entry, values, ranks in (
        ("a", both.a, differences.a, differences.a_rank),
        ("b", both.b, differences.b, differences.b_rank),
    ):
        by = escape_markdown(entry.label)
        rank = make.NumberColumn(
            f"{name.upper()}: rank of first correct",
            format="%.4g",
            help=f"Rank of the first relevant answer by {by}; among ties, the expected one.",
            width=165,
        )
        value = make.NumberColumn(
            f"{name.upper()}: {metric}",
            format="%.3f",
            help=f"{metric.description} By {by}.",
            width=40 + 8 * max(5, len(metric.name)),
        )
        columns += [(f"{name}_rank", ranks[shown], rank), (name, values[shown], value)]
    delta = make.NumberColumn("Δ", help="Above 0 where run A is better.", width="small")
    columns.append(("difference", differences.difference[shown], delta))
    if both.table.direction == "mean":
        names = [_side_name(both, line.direction) for line in lines]
        columns.append(("side", names, make.TextColumn("one of", width=130)))
    data = pd.DataFrame({name: cells for name, cells, _ in columns})
    # A format of the column would write a hyphen; pictures are no text, which is sent as well.
    formats = {"difference": display.signed} | ({"picture": "".format} if any(pictures) else {})
    return data.style.format(formats), {name: column for name, _, column in columns}


def queries_csv(both: Both) -> str:
    """Every query that counts, in the table's order."""
    found = both.differences
    head = ["side", "id", "query"]
    for entry in (both.a, both.b):
        head += [f"{entry.label}: {found.metric.name}", f"{entry.label}: first rank"]
    rows: list[list[object]] = [[*head, "difference"]]
    figures = np.stack([found.a, found.a_rank, found.b, found.b_rank, found.difference], axis=1)
    order = found.order()
    for numbers, line in zip(figures[order].round(12).tolist(), both.lines(order), strict=True):
        items = both.sides[line.direction]
        text = display.item_text(items, line.query, None)
        rows.append([_side_name(both, line.direction), str(items.ids[line.query]), text, *numbers])
    return csv_text(rows)


def _side_name(both: Both, direction: str) -> str:
    return both.table.pairs.headings[direction == "y2x"]


# -- both lists of answers ------------------------------------------------------------


def _show_answers(both: Both, line: Line) -> None:
    # Seen from the side that asks.
    seen = both.part if line.direction == "x2y" else both.part.swap()
    relevance = seen.relevance
    row = relevance.matrix[[line.query]]
    grades = {int(i): float(g) for i, g in zip(row.indices, row.data, strict=True)}
    pool = np.sort(row.indices) if relevance.unjudged == "ignore" else None
    with st.spinner("Ranking by both runs", show_time=False):
        a, b = (
            Listed.of(entry, _scores(entry, line.direction, line.query, both.part), pool, grades)
            for entry in (both.a, both.b)
        )
    left, right = (_answers_table(*pair, seen.y, grades) for pair in ((a, b), (b, a)))
    between = _lines_between(a, b, {c for c, grade in grades.items() if grade > 0})
    st.html(
        f'<div class="sv-asked">{_item_html(seen.x, line.query)}</div>'
        f'<div class="sv-two">{left}<div class="sv-lines">{between}</div>{right}</div>'
    )
    st.html(_ideal_order(seen.y, grades) + _travelled(a, b, seen.y))
    n_right = sum(grade > 0 for grade in grades.values())
    among = "the judged" if relevance.unjudged == "ignore" else "all"
    wrong = ", ✗ what was judged wrong" if any(grade <= 0 for grade in grades.values()) else ""
    items = escape_markdown(items_named(seen.y_name))
    st.caption(
        f"Answers among {among} {len(a.answers):,} {items} of the {both.a.part} part, with their "
        "similarity. "
        f"✓ marks what is right ({n_right:,} in all){wrong}; ▲ and ▼ say how many places "
        "higher or lower an answer stands here than in the other list."
    )


@state.cached(128)
def _scores(entry: RunEntry, direction: str, query: int, part: PairSet) -> NDArray[Any]:
    pipeline = drawings.pipeline(entry.run)
    if not pipeline.looks_at_queries:
        part = part.take([query]) if direction == "x2y" else part.take(None, [query])
        query = 0
    table = pipeline.similarity(part.x, part.y)
    return table[query] if direction == "x2y" else table[:, query]


class Listed(NamedTuple):
    """Answers of a run, and which places are listed: single ones, and gaps as ranges."""

    entry: RunEntry
    answers: Answers
    places: Sequence[int | tuple[int, int]]

    @classmethod
    def of(
        cls, entry: RunEntry, scores: NDArray[Any], pool: Any, grades: Mapping[int, float]
    ) -> Listed:
        """List the first answers, and right ones wherever they stand."""
        answers = Answers.from_scores(scores, pool)
        right = [c for c in answers.candidate.tolist() if grades.get(c, 0) > 0][:_ALWAYS]
        places: list[int | tuple[int, int]] = []
        before = 0
        for at in answers.shown(_PLACES, always=right).tolist():
            if at > before:
                places.append((before, at))
            places.append(at)
            before = at + 1
        if before < min(_PLACES, len(answers)):
            places.append((before, len(answers)))
        return cls(entry, answers, places)

    @property
    def lines(self) -> dict[int, int]:
        """The line in which each listed candidate stands."""
        candidate = self.answers.candidate
        return {int(candidate[p]): i for i, p in enumerate(self.places) if isinstance(p, int)}


def _answers_table(mine: Listed, other: Listed, items: Items, grades: Mapping[int, float]) -> str:
    graded = len({g for g in grades.values() if g > 0}) > 1
    entry, answers, places = mine
    moved = answers.moved_from(other.answers)
    rows: list[list[Cell]] = []
    looks = []
    for place in places:
        if isinstance(place, tuple):
            start, stop = place
            n = stop - start
            is_tied = answers.first[start] == answers.first[stop - 1] and n > 1
            text = f"{n:,} more{' with the same score' if is_tied else ''}"
            rows.append([Cell("⋮", {"class": "sv-place"}), Cell(text, {"colspan": 4})])
            looks.append("sv-gap")
            continue
        candidate = int(answers.candidate[place])
        grade, tick = grades.get(candidate, 0), ""
        if grade > 0:
            tick = f"✓ {grade:.3g}" if graded else "✓"
        elif candidate in grades:
            tick = Markup('<span class="sv-wrong" title="judged not relevant">✗</span>')
        cells = {
            "sv-place": answers.rank_text(place),
            "sv-item": _item_html(items, candidate),
            "sv-tick": tick,
            "sv-move": _move(moved[place], other.entry.label),
            "sv-score": display.number(answers.score[place]),
        }
        rows.append([Cell(content, {"class": look}) for look, content in cells.items()])
        looks.append("sv-gold" if grade > 0 else "")
    look = f"sv-list-{entry.run.id[:8]}"
    caption = Markup('<span class="sv-mark {}"></span>{}').format(look, entry.label)
    table = html_table([], rows, look="sv-answers", row_looks=looks, caption=caption)
    style = f"<style>.{look} {{ background-image: {mark(entry.look)}; }}</style>"
    return f'<div class="sv-scroll">{style}{table}</div>'


def _move(places: float, other: str) -> str:
    if not places:
        return ""
    sign, word = ("▲", "higher") if places > 0 else ("▼", "lower")
    size = f"{abs(places):,.1f}".removesuffix(".0")
    title = f"{size} place{'' if size == '1' else 's'} {word} than by {other}"
    return Markup('<span title="{}">{}{}</span>').format(title, sign, size)


def _item_html(items: Items, at: int) -> Markup:
    """An item as HTML; its text is escaped."""
    picture, text = display.item_picture(items, at), display.item_label(items, at)
    image = Markup('<img src="{}" alt="">').format(picture) if picture else Markup()
    return image + Markup('<span dir="auto">{}</span>').format(text)


def _lines_between(left: Listed, right: Listed, gold: set[int]) -> str:
    """Lines from where each answer stands in one list to where it stands in the other."""
    places = left.lines, right.lines
    height = _HEAD + _ROW * max(len(left.places), len(right.places))

    def y(place: int) -> float:
        return _HEAD + (place + 0.5) * _ROW

    paths = []
    # What is right lies on top.
    for candidate in sorted(places[0].keys() | places[1].keys(), key=lambda c: (c in gold, c)):
        look = 'stroke="#8b8f96" stroke-width="1.3" stroke-opacity="0.55"'
        if candidate in gold:
            look = f'stroke="{_GOLD}" stroke-width="2.6"'
        a, b = (side.get(candidate) for side in places)
        if a is not None and b is not None:
            middle = _BETWEEN / 2
            path = f"M0 {y(a)}C{middle} {y(a)} {middle} {y(b)} {_BETWEEN} {y(b)}"
        elif a is not None:
            path = f"M0 {y(a)}q10 0 16 9"
        elif b is not None:
            path = f"M{_BETWEEN} {y(b)}q-10 0 -16 9"
        paths.append(f'<path d="{path}" fill="none" {look}/>')
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_BETWEEN}" height="{height}" '
        f'viewBox="0 0 {_BETWEEN} {height}">{"".join(paths)}</svg>'
    )
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    alt = "Lines from the place of each answer in the left list to its place in the right one"
    return f'<img src="{source}" alt="{alt}" width="{_BETWEEN}" height="{height}">'


def _ideal_order(items: Items, grades: Mapping[int, float]) -> str:
    """The right answers as a perfect list would begin."""
    right = sorted((c for c, g in grades.items() if g > 0), key=lambda c: (-grades[c], c))
    if not right:
        return ""
    graded = len({grades[c] for c in right}) > 1
    chips = "".join(
        f"<li>{_item_html(items, c)}{f' <i>grade {grades[c]:.3g}</i>' if graded else ''}</li>"
        for c in right[:_IDEAL]
    )
    more = f"<em>and {len(right) - _IDEAL:,} more</em>" if len(right) > _IDEAL else ""
    name = "Ideal order" if graded else "Ideal: these first, in any order"
    name = "Ideal: this one first" if len(right) == 1 else name
    return f'<div class="sv-ideal"><b>{name}</b><ol>{chips}</ol>{more}</div>'


def _travelled(a: Listed, b: Listed, items: Items) -> str:
    """Which answer of either list's top stands furthest away in the other one."""
    mine, theirs = a.answers, b.answers
    moved = mine.moved_from(theirs)
    there = dict(zip(theirs.candidate.tolist(), range(len(theirs)), strict=True))
    at_b = np.array([there[c] for c in mine.candidate.tolist()], dtype=np.int64)
    top = (mine.first <= _PLACES) | (theirs.first[at_b] <= _PLACES)
    at = int(np.argmax(np.where(top, np.abs(moved), 0.0))) if len(mine) else 0
    if not len(mine) or not moved[at]:
        return ""
    return (
        '<div class="sv-ideal"><b>Biggest rank change</b>'
        f"<ol><li>{_item_html(items, int(mine.candidate[at]))}</li></ol>"
        f"<span>place {mine.rank_text(at)} by {escape(a.entry.label)} to "
        f"{theirs.rank_text(at_b[at])} by {escape(b.entry.label)}</span></div>"
    )
