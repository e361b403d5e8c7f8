"""The cards of the methods, and what chooses among them."""

from __future__ import annotations

import base64
from collections.abc import Set
from html import escape
from pathlib import Path

import streamlit as st

from simviz.cards import FAMILIES, HAVE, MethodCard, method_card, suits
from simviz.charts.needs import needs_picture, picture_words
from simviz.charts.style import method_style
from simviz.methods import all_methods
from simviz.workbench.shell import display, forms, frame, state

_STYLE = Path(__file__).with_name("cards.css")


@frame.page("Methods")
def show_page() -> None:
    """Show the cards that fit what was chosen, or the one that a link asks for."""
    st.title("Methods")
    st.html(_STYLE)
    display.style()
    methods = all_methods()
    wanted = st.query_params.get("method", "")
    if wanted in methods:
        forms.quiet_button(
            "All methods", "arrow_back", "methods-all", st.query_params.pop, "method"
        )
        _show_card(method_card(methods[wanted]), {wanted}, is_open=True)
        return
    st.html(
        f'<p class="sv-lead">{len(methods)} ways to learn which things belong together. Say what '
        "you have, and those that can use it stay.</p>"
    )
    chosen = _choose_methods()
    order = list(FAMILIES)
    cards = sorted(
        (method_card(methods[method]) for method in chosen),
        key=lambda card: (order.index(card.tags.family), card.tags.year, card.id),
    )
    if not cards:
        display.said("No method does all of that. Take one of the marks back.")
        return
    links = " · ".join(f"[{card.tags.title}](#{card.id})" for card in cards)
    st.markdown(f"{len(cards)} of {len(methods)}: {links}")
    for card in cards:
        _show_card(card, {card.id for card in cards})


def _choose_methods() -> list[str]:
    """Return the ids of the methods that suit what the visitor has, and are of a chosen family."""
    methods = all_methods()
    families = {cls.tags.family for cls in methods.values()}
    have = st.pills(
        "I have",
        **forms.options(HAVE),
        selection_mode="multi",
        key="methods-have",
    )
    family = st.pills(
        "Kind of method",
        **forms.options({name: words for name, words in FAMILIES.items() if name in families}),
        selection_mode="multi",
        key="methods-family",
    )
    return [
        method
        for method, cls in methods.items()
        if all(suits(cls, what) for what in have) and (not family or cls.tags.family in family)
    ]


def _show_card(card: MethodCard, on_page: Set[str], *, is_open: bool = False) -> None:
    """Show one card; its kin are links where they are on the page too."""
    tags = card.tags
    colour = method_style(card.id, state.theme()).colour
    with st.container(key=f"methods-card-{card.id}"):
        text, needs = st.columns([5, 3], gap="large")
        with text:
            st.subheader(tags.title, anchor=card.id)
            st.html(
                f'<p class="sv-meta"><span style="color:{colour}">■</span> '
                f"{escape(FAMILIES[tags.family])} · {tags.year} · {escape(tags.reference)}</p>"
            )
            st.markdown(f"**{card.summary}**")
            for piece in card.idea:
                if piece.kind == "formula":
                    st.latex(piece.content)
                else:
                    st.markdown(piece.content)
        with needs:
            _show_needs(card)
        _show_use(card, on_page)
        with st.expander("Parameters, Python, papers", expanded=is_open):
            _show_details(card)
        dataset_id = state.current_dataset_id()
        where = {"data": dataset_id} if dataset_id else {}
        label, icon = f"Train {tags.title}", ":material/model_training:"
        frame.page_link("pages/train.py", label, icon, **where)


def _show_needs(card: MethodCard) -> None:
    svg = base64.b64encode(needs_picture(card.tags, state.theme()).encode()).decode("ascii")
    alt = escape(picture_words(card.tags), quote=True)
    sentences = "".join(f'<p class="sv-needs">{escape(need)}</p>' for need in card.needs)
    st.html(
        '<p class="sv-meta">What it needs</p>'
        f'<img class="sv-picture" src="data:image/svg+xml;base64,{svg}" alt="{alt}">{sentences}'
    )


def _show_use(card: MethodCard, on_page: Set[str]) -> None:
    """Show when to take it, when not, and what to compare it with."""
    related = [
        (f"[{kin.title}](#{kin.id})" if kin.id in on_page else kin.title) + f": {kin.words}"
        for kin in card.related
    ]
    columns = [
        ("Take it when", card.fits),
        ("Rather not when", card.fails),
        ("Its kin", related),
    ]
    columns = [(head, lines) for head, lines in columns if lines]
    places = st.columns(len(columns), gap="large")
    for place, (head, lines) in zip(places, columns, strict=True):
        with place:
            entries = "\n".join(f"- {line}" for line in lines)
            st.markdown(f"**{head}**\n\n{entries}")


def _show_details(card: MethodCard) -> None:
    names = ["Parameters", "In Python", "Papers"]
    params, python, papers, *notes = st.tabs([*names, "Worth knowing"] if card.notes else names)
    with params:
        _show_params(card)
    python.code(card.code, language="python")
    for reference in card.references:
        papers.markdown(reference)
    for note in card.notes:
        notes[0].markdown(note)


def _show_params(card: MethodCard) -> None:
    if not card.params:
        display.said("It has none: there is nothing to tune.")
    elif state.is_narrow():
        # A table of four columns would have to be scrolled sideways.
        for row in card.params:
            st.markdown(f"`{row.name}` = `{row.default}`, {row.allowed}. {row.words}")
    else:
        rows = ["| parameter | default | may be | meaning |", "|---|---|---|---|"]
        for row in card.params:
            # A bar would end the cell.
            words = row.words.replace("\\|", "|").replace("|", "\\|")
            rows.append(f"| `{row.name}` | `{row.default}` | {row.allowed} | {words} |")
        st.markdown("\n".join(rows))
