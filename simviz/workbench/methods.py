"""The methods: a list by family, and the card of one of them."""

from __future__ import annotations

import base64
from functools import partial
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from simviz.charts.needs import needs_picture, picture_text
from simviz.charts.style import get_theme, method_style
from simviz.method_cards import FAMILIES, HAVE, MethodCard, method_card, suits
from simviz.methods import all_methods
from simviz.workbench.shell import display, forms, frame, query_params, state

_STYLE = Path(__file__).with_name("cards.css")
#: Shown where the link names none.
_DEFAULT_METHOD = "cca"


@frame.page("Methods")
def show_page() -> None:
    """Show the methods that can use what the visitor has, and the card of one."""
    st.title("Methods")
    st.html(_STYLE)
    display.style()
    have = st.pills("I have", **forms.options(HAVE), selection_mode="multi", key="methods-have")
    order = list(FAMILIES)
    fitting = [cls for cls in all_methods().values() if all(suits(cls, what) for what in have)]
    cards = sorted(
        map(method_card, fitting),
        key=lambda card: (order.index(card.tags.family), card.tags.year, card.id),
    )
    if not cards:
        display.sentence("No method can use all of that.")
        return
    ids = [card.id for card in cards]
    requested = query_params.get("method")
    at = ids.index(next((name for name in (requested, _DEFAULT_METHOD) if name in ids), ids[0]))
    listed, shown = st.columns([1, 3], gap="medium")
    with listed, st.container(key="methods-list", gap=None):
        accent = get_theme(state.theme()).accent
        shown_style = f"color: {accent}; font-weight: 600; opacity: 1;"
        st.html(f"<style>.st-key-methods-{ids[at]} button p {{ {shown_style} }}</style>")
        for family, group in groupby(cards, lambda card: card.tags.family):
            st.html(f'<p class="sv-family">{escape(FAMILIES[family])}</p>')
            for card in group:
                _choose_button(card, f"methods-{card.id}")
    with shown, st.container(key="methods-card"):
        _show_card(cards[at])
        row: Any = {"horizontal": True, "horizontal_alignment": "distribute"}
        with st.container(**row, vertical_alignment="center"):
            before, after = cards[at - 1], cards[(at + 1) % len(cards)]
            _choose_button(before, "methods-before", "arrow_back")
            dataset_id = state.current_dataset_id()
            where = {"data": dataset_id} if dataset_id else {}
            label, icon = f"Train {cards[at].tags.title}", ":material/model_training:"
            frame.page_link("pages/train.py", label, icon, **where)
            _choose_button(after, "methods-after", "arrow_forward")


def _choose_button(card: MethodCard, key: str, icon: str = "") -> None:
    choose = partial(query_params.put, method=card.id)
    forms.quiet_button(card.tags.title, key, choose, icon=icon)


def _show_card(card: MethodCard) -> None:
    tags = card.tags
    colour = method_style(card.id, state.theme()).colour
    st.subheader(tags.title, anchor=False)
    facts = FAMILIES[tags.family], str(tags.year or ""), tags.reference
    st.html(
        f'<p class="sv-meta"><span style="color:{colour}">■</span> '
        f"{escape(' · '.join(filter(None, facts)))}</p>"
    )
    st.markdown(f"**{card.summary}**")
    for piece in card.idea:
        if piece.kind == "formula":
            st.latex(piece.content)
        else:
            st.markdown(piece.content)
    needs, limits = st.columns(2, gap="large")
    svg = base64.b64encode(needs_picture(tags, state.theme()).encode()).decode("ascii")
    alt = escape(picture_text(tags), quote=True)
    needs.html(f'<img class="sv-picture" src="data:image/svg+xml;base64,{svg}" alt="{alt}">')
    related = [f"{other.title}: {other.text}" for other in card.related]
    for place, head, lines in (
        (needs, "Needs", card.needs),
        (limits, "Not suited when", card.fails),
        (limits, "Related", related),
        (limits, "Papers", card.references),
    ):
        if lines:
            place.markdown(f"**{head}**\n\n" + "\n".join(f"- {line}" for line in lines))
    with st.expander("Parameters, Python, notes", type="compact"):
        names = [*["Parameters"] * bool(card.params), "Python", *["Notes"] * bool(card.notes)]
        for name, tab in zip(names, st.tabs(names), strict=True):
            with tab:
                if name == "Parameters":
                    _show_params(card)
                elif name == "Python":
                    st.code(card.code, language="python")
                else:
                    st.markdown("\n\n".join(card.notes))


def _show_params(card: MethodCard) -> None:
    for line in card.presets:
        st.markdown(line)
    if state.is_narrow():
        # A table of four columns would have to be scrolled sideways.
        for row in card.params:
            st.markdown(f"`{row.name}` = `{row.default}`, {row.allowed}. {row.description}")
        return
    rows = ["| parameter | default | allowed | meaning |", "|---|---|---|---|"]
    for row in card.params:
        # A bar would end the cell.
        text = row.description.replace("\\|", "|").replace("|", "\\|")
        rows.append(f"| `{row.name}` | `{row.default}` | {row.allowed} | {text} |")
    st.markdown("\n".join(rows))
