"""Topics of a run as a table that can be read: terms side by side, and typical items."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Literal

import streamlit as st

from simviz.charts.style import clean_text
from simviz.exceptions import SimvizError
from simviz.workbench.shell import display, marks

if TYPE_CHECKING:
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.explain.topics import RunTopics, TopicTerms
    from simviz.store.run import Run
    from simviz.workbench.compare.choice import Choice

Side = Literal["x", "y"]
#: Topics shown before all are asked for, and typical items of each.
_FEW, _N_ITEMS = 15, 3
_ITEM_CHARACTERS = 70
#: Terms up to this length stay on one line.
_UNBROKEN = 25
_ORDERS = {"weight": "Weight", "coherence": "Coherence"}
_STYLE = """
<style>
.sv-topics { border-collapse: collapse; width: 100%; font-size: .95rem;
  font-variant-numeric: tabular-nums; }
.sv-topics th { text-align: left; font-weight: 500; opacity: .65; padding: .35rem .7rem;
  border-bottom: 1px solid color-mix(in srgb, currentColor 22%, transparent); }
.sv-topics th[title] { cursor: help; }
.sv-topics td { padding: .55rem .7rem; vertical-align: top; overflow-wrap: anywhere;
  border-bottom: 1px solid color-mix(in srgb, currentColor 9%, transparent); }
.sv-topics th:first-child, .sv-topics td:first-child { padding-left: 0; }
.sv-topics .sv-number { text-align: right; white-space: nowrap; }
.sv-topics td.sv-number { opacity: .75; }
.sv-topics b { font-weight: 600; }
.sv-topics td > span:not([class]), .sv-topics b > span { white-space: nowrap; }
.sv-topics mark { color: inherit; padding: 0 .1rem; border-radius: .15rem;
  background: color-mix(in srgb, #c9941a 35%, transparent); }
.sv-topics .sv-typical { display: block; font-size: .85rem; line-height: 1.5; opacity: .68;
  margin-top: .15rem; }
.sv-weight { white-space: nowrap; }
.sv-weight i { display: block; height: 4px; border-radius: 2px; margin-top: .3rem;
  background: color-mix(in srgb, currentColor 35%, transparent); }
@media (max-width: 640px) {
  .sv-topics thead { position: absolute; left: -9999px; }
  .sv-topics tr { display: block; padding: .5rem 0 .6rem;
    border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
  .sv-topics td { display: block; border: 0; padding: .15rem 0; }
  .sv-topics td.sv-number { text-align: left; font-size: .85rem; padding-bottom: .35rem; }
  .sv-topics td.sv-number::before { content: "NPMI "; }
}
</style>
"""


@st.cache_resource(show_spinner="Reading the topics", max_entries=6)
def topics_of(run_id: str, _run: Run, _pairs: PairSet) -> RunTopics:
    """The topics of a run, kept for the next page."""
    from simviz.explain.topics import RunTopics

    return RunTopics.of(_run.pipeline(), _pairs)


def runs_with_topics(choice: Choice) -> list[tuple[str, Run]]:
    """The compared runs that have topics, each with what to call it."""
    from simviz.explain.topics import has_topics

    return [(e.label, e.run) for e in choice.entries if has_topics(e.run.info.method)]


@st.fragment
def show(labelled: Sequence[tuple[str, Run]], pairs: PairSet) -> None:
    """Show the topics of one of several runs."""
    # Run by itself, so that a search leaves the rest of the page alone.
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        run = _choose_run(labelled)
        order = st.segmented_control(
            "Order by", list(_ORDERS), format_func=_ORDERS.__getitem__, default="weight",
            required=True, key="topics-order", persist_state="session",
        )  # fmt: skip
        asked = st.text_input(
            "Find a term",
            key="topics-search",
            placeholder="Part of a term",
            icon=":material/search:",
            width=220,
        )
    try:
        found = topics_of(run.id, run, pairs)
    except SimvizError as error:  # a model that was deleted since, or is damaged
        display.problem(error)
        return
    matching = search(ordered(found.topics, order), asked)
    if not matching:
        st.caption("No topic has such a term among its leading ones.")
        return
    everything = len(matching) <= _FEW or st.session_state.get("topics-all", False)
    shown = matching if everything else matching[:_FEW]
    st.html(_STYLE + table_html(found, shown, pairs, asked))
    _show_below(run, pairs, found, matching)


def _choose_run(labelled: Sequence[tuple[str, Run]]) -> Run:
    names = {run.id: name for name, run in labelled}
    if st.session_state.get("topics-run") not in names:
        st.session_state["topics-run"] = labelled[0][1].id
    chosen = st.selectbox(
        "Topics of", list(names), format_func=names.__getitem__, key="topics-run", width=220
    )
    return next(run for _, run in labelled if run.id == chosen)


def _show_below(
    run: Run, pairs: PairSet, found: RunTopics, matching: Sequence[TopicTerms]
) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(matching) > _FEW:
            st.toggle(f"All {len(matching):,} topics", key="topics-all")
        st.download_button(
            "Topics as CSV",
            lambda: topics_csv(found, pairs),
            "topics.csv",
            "text/csv",
            key="topics-csv",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )
        st.page_link(
            "pages/map.py",
            label="See them on the map",
            icon=":material/scatter_plot:",
            query_params=_map_link(run),
        )
    if found.perplexities:
        first, last = found.perplexities[0], found.perplexities[-1]
        n_steps = len(found.perplexities)
        st.caption(
            f"In {n_steps:,} step{'' if n_steps == 1 else 's'} of training, the perplexity of the "
            f"validation part went from {first:,.0f} to {last:,.0f}: the model wavers as if "
            "between so many equally likely terms."
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


def _map_link(run: Run) -> dict[str, str]:
    if "share" in st.query_params:
        return {"share": st.query_params["share"]}
    return {"data": run.info.dataset_id, "run": run.id}


def ordered(topics: Sequence[TopicTerms], order: str) -> list[TopicTerms]:
    """Topics by "weight", or by the mean "coherence" of their sides; unknown values last."""
    if order == "weight":
        return list(topics)

    def mean_coherence(topic: TopicTerms) -> float:
        known = [v for v in (topic.x_coherence, topic.y_coherence) if not isnan(v)]
        return sum(known) / len(known) if known else float("-inf")

    return sorted(topics, key=mean_coherence, reverse=True)


def search(topics: Sequence[TopicTerms], asked: str) -> list[TopicTerms]:
    """Topics that have a leading term in which something occurs, whatever its case."""
    wanted = asked.strip().casefold()
    return [
        topic
        for topic in topics
        if any(wanted in term.casefold() for term in (*topic.x_terms, *topic.y_terms))
    ]


def topics_csv(found: RunTopics, pairs: PairSet) -> str:
    """All topics of a run, for a spreadsheet."""
    from simviz.evaluation.tables import csv_text
    from simviz.explain.topics import topic_rows

    return csv_text(topic_rows(found, pairs))


def table_html(
    found: RunTopics, shown: Sequence[TopicTerms], pairs: PairSet, asked: str = ""
) -> str:
    """The table; whatever was uploaded is escaped."""
    sides: list[tuple[Side, Items, str]] = [
        ("x", pairs.x, pairs.x_name),
        ("y", pairs.y, pairs.y_name),
    ]
    sides = sides[:1] if found.one_side else sides
    most = max((topic.share for topic in found.topics), default=0.0) or 1.0
    tip = "Normalised pointwise mutual information of the terms, from −1 to 1"
    head = "".join(
        f'<th>{escape(name)}</th><th class="sv-number" title="{tip}">NPMI</th>'
        for _, _, name in sides
    )
    lines = []
    for topic in shown:
        cells = [
            f'<td class="sv-weight">{100 * topic.share:.1f}\N{NO-BREAK SPACE}%'
            f'<i style="width: {60 * topic.share / most:.0f}px"></i></td>'
        ]
        for side, items, _ in sides:
            terms = topic.x_terms if side == "x" else topic.y_terms
            value = topic.x_coherence if side == "x" else topic.y_coherence
            typical = " · ".join(
                _item(items, int(row)) for row in found.typical(side, topic.topic, _N_ITEMS)
            )
            below = f'<span class="sv-typical">{typical}</span>' if typical else ""
            cells.append(
                f'<td dir="auto">{_terms(terms, asked)}{below}</td>'
                f'<td class="sv-number">{_number(value)}</td>'
            )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        '<div class="sv-scroll" tabindex="0"><table class="sv-topics"><thead><tr>'
        f'<th title="Share of all tokens">weight</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _terms(terms: Sequence[str], asked: str) -> str:
    """Terms in a row, the first three in bold, those that were asked for marked."""
    wanted = asked.strip().casefold()
    told = []
    for place, term in enumerate(terms):
        word = escape(term)
        if wanted and wanted in term.casefold():
            word = f"<mark>{word}</mark>"
        if len(term) <= _UNBROKEN:
            word = f"<span>{word}</span>"
        told.append(f"<b>{word}</b>" if place < 3 else word)
    return ", ".join(told) or "–"


def _item(items: Items, row: int) -> str:
    """An item as it is written on the map: a long text by its label, where it has one."""
    words = marks.text(items, row, _ITEM_CHARACTERS)
    glyph = marks.glyph(items, row)
    if glyph:
        return escape(f"{glyph}\N{NO-BREAK SPACE}{words}")
    label = items.metadata["label"][row] if "label" in items.metadata else None
    return escape(words if label is None else clean_text(label, _ITEM_CHARACTERS))


def _number(value: float) -> str:
    return "–" if isnan(value) else f"{value:.2f}".replace("-", "−")
