"""Topics of a run as a table that can be read: terms side by side, and typical items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan

import streamlit as st
from markupsafe import Markup, escape

from simviz._types import Side
from simviz.charts.style import clean_text
from simviz.charts.tables import Cell, html_table
from simviz.data.cells import counted
from simviz.data.pairs import Items, PairSet
from simviz.evaluation.tables import csv_text
from simviz.explain.topics import RunTopics, TopicTerms, has_topics, topic_rows
from simviz.reports.run_summary import RunTable
from simviz.store.run import Run
from simviz.workbench.shell import display, forms, frame, query_params, state

#: Topics shown before all are asked for, and typical items of each.
_FEW, _N_ITEMS = 15, 3
_ITEM_CHARACTERS = 70
#: Terms up to this length stay on one line.
_UNBROKEN = 25
_ORDERS = {"weight": "Weight", "coherence": "Coherence"}


@state.cached(6, "Reading the topics")
def topics_of(run: Run, pairs: PairSet) -> RunTopics:
    """The topics of a run, kept for the next page."""
    return RunTopics.of(run.pipeline(), pairs)


def labelled(table: RunTable) -> dict[str, str]:
    """What runs that have topics are called, by their ids."""
    return {e.run.id: e.label for e in table.entries if has_topics(e.run.info.method)}


@st.fragment
@display.problems()  # a model that was deleted since, or is damaged
def show(table: RunTable) -> None:
    """Show the topics of one of several runs."""
    pairs = table.pairs
    # Run by itself, so that a search leaves the rest of the page alone.
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        run_id = forms.select("Topics of", labelled(table), "topics-run", width=220)
        run = table.by_id[run_id].run
        order = forms.segments("Order by", _ORDERS, "topics-order")
        query = st.text_input(
            "Find a term",
            key="topics-search",
            placeholder="Part of a term",
            icon=":material/search:",
            width=220,
            persist_state="session",
        )
    run_topics = topics_of(run, pairs)
    matching = search(ordered(run_topics.topics, order), query)
    if not matching:
        st.caption("No topic has such a term among its leading ones.")
        return
    shown = matching if st.session_state.get("topics-all") else matching[:_FEW]
    st.html(table_html(run_topics, shown, pairs, query))
    _show_below(run, pairs, run_topics, matching)


def _show_below(
    run: Run, pairs: PairSet, topics: RunTopics, matching: Sequence[TopicTerms]
) -> None:
    on_map = {"run": run.id} | query_params.data(run.info.dataset_id)
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(matching) > _FEW:
            st.toggle(f"All {len(matching):,} topics", key="topics-all")
        make = partial(topics_csv, topics, pairs)
        forms.download("Topics as CSV", make, "topics.csv", key="topics-csv")
        label, icon = "See them on the map", ":material/scatter_plot:"
        frame.page_link("pages/map.py", label, icon, **on_map)
    if topics.perplexities:
        first, last = topics.perplexities[0], topics.perplexities[-1]
        steps = counted(len(topics.perplexities), "step")
        st.caption(
            f"In {steps} of training, the perplexity of the validation part went from "
            f"{first:,.0f} to {last:,.0f}: the model is as uncertain as if it chose among so many "
            "equally likely terms."
        )
    pieces = any("…" in term for t in matching for term in (*t.x_terms, *t.y_terms))
    st.caption(
        "Weight is a topic's share of all tokens of the data set. Terms that tell a topic apart "
        "come first: 0.6 ln p(term in topic) + 0.4 ln of how much likelier it is there than "
        "overall. "
        + ("Pieces of words go on at “…”. " if pieces else "")
        + "NPMI says how much more often its terms occur in one item than by chance: 1 always "
        "together, 0 independent, −1 never. Below the terms: what is most about the topic."
    )


def ordered(topics: Sequence[TopicTerms], order: str) -> list[TopicTerms]:
    """Topics by "weight", or by the mean "coherence" of their sides; unknown values last."""
    if order == "weight":
        return list(topics)

    def mean_coherence(topic: TopicTerms) -> float:
        known = [v for v in (topic.x_coherence, topic.y_coherence) if not isnan(v)]
        return sum(known) / len(known) if known else float("-inf")

    return sorted(topics, key=mean_coherence, reverse=True)


def search(topics: Sequence[TopicTerms], query: str) -> list[TopicTerms]:
    """Topics that have a leading term in which something occurs, whatever its case."""
    part = query.strip().casefold()
    return [
        topic
        for topic in topics
        if any(part in term.casefold() for term in (*topic.x_terms, *topic.y_terms))
    ]


def topics_csv(topics: RunTopics, pairs: PairSet) -> str:
    """All topics of a run, for a spreadsheet."""
    return csv_text(topic_rows(topics, pairs))


def table_html(
    topics: RunTopics, shown: Sequence[TopicTerms], pairs: PairSet, query: str = ""
) -> str:
    """The table; whatever was uploaded is escaped."""
    sides: list[tuple[Side, Items, str]] = [("x", pairs.x, pairs.headings[0])]
    if not topics.one_side:
        sides.append(("y", pairs.y, pairs.headings[1]))
    largest = max((topic.share for topic in topics.topics), default=0.0) or 1.0
    tip = "Normalised pointwise mutual information of the terms, from −1 to 1"
    head: list[object] = [Cell("weight", {"title": "Share of all tokens"})]
    for _, _, name in sides:
        head += [name, Cell("NPMI", {"class": "sv-number", "title": tip})]
    rows = []
    for topic in shown:
        bar = Markup('{:.1f}\N{NO-BREAK SPACE}%<i style="width: {:.0f}px"></i>')
        weight = bar.format(100 * topic.share, 60 * topic.share / largest)
        cells = [Cell(weight, {"class": "sv-weight"})]
        for side, items, _ in sides:
            terms = topic.x_terms if side == "x" else topic.y_terms
            value = topic.x_coherence if side == "x" else topic.y_coherence
            text = _terms(terms, query)
            typical = topics.typical(side, topic.topic, _N_ITEMS)
            if len(typical):
                message = " · ".join(_item(items, int(row)) for row in typical)
                text += Markup('<span class="sv-typical">{}</span>').format(message)
            number = display.number(value, ".2f")
            cells += [Cell(text, {"dir": "auto"}), Cell(number, {"class": "sv-number"})]
        rows.append(cells)
    return html_table(head, rows, look="sv-topics", scroll="sv-scroll")


def _terms(terms: Sequence[str], query: str) -> Markup:
    """Terms in a row, the first three in bold, those that were asked for marked."""
    part = query.strip().casefold()
    texts = []
    for place, term in enumerate(terms):
        word = escape(term)
        if part and part in term.casefold():
            word = Markup("<mark>{}</mark>").format(word)
        if len(term) <= _UNBROKEN:
            word = Markup("<span>{}</span>").format(word)
        texts.append(Markup("<b>{}</b>").format(word) if place < 3 else word)
    return Markup(", ").join(texts) or Markup("–")


def _item(items: Items, row: int) -> str:
    """An item as it is written on the map: a long text by its label, where it has one."""
    text = display.item_text(items, row, _ITEM_CHARACTERS)
    glyph = display.item_glyph(items, row)
    if glyph:
        return f"{glyph}\N{NO-BREAK SPACE}{text}"
    label = items.metadata["label"][row] if "label" in items.metadata else None
    return text if label is None else clean_text(label, _ITEM_CHARACTERS)
