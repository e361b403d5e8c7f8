"""Where two runs differ: every query, and both lists of answers to one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from pages._shared import (
    compare_groups,
    compare_items,
    compare_lists,
    compare_table,
    compare_tests,
    state,
)
from pages._shared.compare_choice import Choice
from pages._shared.compare_curves import part_of
from pages._shared.compare_evaluated import tested
from pages._shared.compare_link import linked_query, put_in_link
from pages._shared.compare_marks import plain
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pages._shared.compare_runs import Entry
    from simviz.data.pairs import PairSet
    from simviz.evaluation.differences import Differences
    from simviz.store.run import Part, Run

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
    group = compare_groups.choose(a, b, both.found, sides, key)
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
        compare_lists.show(both.a, both.b, both.pairs, line.direction, line.query)
    except SimvizError as error:  # a model that was deleted since, or is damaged
        st.error(plain(str(error)))


def _nothing(choice: Choice) -> str:
    """Why no query can be compared."""
    of = f"No query of the {choice.part} part has"
    if choice.entries[0].measured.pool != "judged":
        return f"{of} a relevant answer in this direction."
    words = f"{of} both right and wrong judged candidates in this direction, so none can differ."
    if tested(choice).level != "query":
        words += " The runs are compared by their judged pairs, above."
    return words


def compare_two(choice: Choice, a: Entry, b: Entry) -> Both:
    """Two runs query by query, with the part of the split that they share."""
    positions = _positions(a.run.id, a.part, a.run)
    pairs = part_of(a, choice.pairs)
    return Both(a, b, pairs, compare_tests.differences(choice, a, b), positions)


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


def _show_group(part: Both, group: compare_groups.Group) -> None:
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
    """The table of queries; answers with the one to look at.

    The file holds every query, the table those of the group and kind that were chosen.
    """
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
    pictures = [compare_items.picture(sides[line.direction], line.query) for line in lines]
    glyphs = [compare_items.glyph(sides[line.direction], line.query) for line in lines]
    if any(pictures):
        data["picture"] = pictures
        config["picture"] = column.ImageColumn("", width=50)
    if any(glyphs):
        data["glyph"] = glyphs
        config["glyph"] = column.TextColumn("", width=40)
    data["text"] = [compare_items.text(sides[line.direction], line.query) for line in lines]
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
            [names[direction], str(items.ids[query]), compare_items.text(items, query, None)]
            + [float(np.round(values[i], 12)) for values in figures]
        )
    return csv_text(lines)


_STYLE = """
<style>
.sv-bar { display: flex; gap: 2px; height: 8px; border-radius: 4px;
  overflow: hidden; margin: .2rem 0; }
</style>
"""
