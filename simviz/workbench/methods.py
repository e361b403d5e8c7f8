"""The cards of the methods, and what chooses among them."""

from __future__ import annotations

import base64
from collections.abc import Sequence, Set
from html import escape

import streamlit as st

from simviz.cards import FAMILIES, HAVE, MethodCard, method_card, suits
from simviz.charts.needs import needs_picture, picture_words
from simviz.charts.style import method_style
from simviz.methods import all_methods
from simviz.workbench.shell import display, frame, state

STYLE = """
<style>
.sv-meta { opacity: .7; font-size: .9rem; margin: 0; }
.sv-needs { margin: .25rem 0; font-size: .9rem; line-height: 1.5; opacity: .85; }
.sv-picture { width: 260px; max-width: 100%; height: auto; }
[class*="st-key-methods-card-"] { padding: 1.2rem 0 .4rem; max-width: 64rem;
  border-top: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
[class*="st-key-methods-card-"] table { font-size: .9rem; }
</style>
"""


def show_page() -> None:
    """Show the Methods page."""
    frame.begin("Methods")
    show()
    frame.end()


def show() -> None:
    """Show the cards that fit what was chosen, or the one that a link asks for."""
    st.title("What are these?")
    st.html(STYLE)
    display.style()
    methods = all_methods()
    wanted = st.query_params.get("method", "")
    if wanted in methods:
        st.button(
            "All methods",
            key="methods-all",
            icon=":material/arrow_back:",
            type="tertiary",
            on_click=_show_all,
        )
        _show_card(method_card(methods[wanted]), {wanted}, is_open=True)
        return
    st.html(
        f'<p class="sv-lead">{len(methods)} ways to learn which things belong together. Say what '
        "you have, and those that can use it stay.</p>"
    )
    chosen = _choose()
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


def _choose() -> list[str]:
    """The ids of the methods that suit what the visitor has, and are of a chosen family."""
    methods = all_methods()
    families = {cls.tags.family for cls in methods.values()}
    have = st.pills(
        "I have",
        list(HAVE),
        format_func=HAVE.__getitem__,
        selection_mode="multi",
        key="methods-have",
    )
    family = st.pills(
        "Kind of method",
        [name for name in FAMILIES if name in families],
        format_func=FAMILIES.__getitem__,
        selection_mode="multi",
        key="methods-family",
    )
    return [
        method
        for method, cls in methods.items()
        if all(suits(cls, what) for what in have) and (not family or cls.tags.family in family)
    ]


def _show_all() -> None:
    del st.query_params["method"]


def _show_card(card: MethodCard, on_page: Set[str], *, is_open: bool = False) -> None:
    """One card; its kin are links where they are on the page too."""
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
        st.page_link(
            "pages/train.py",
            label=f"Train {tags.title}",
            icon=":material/model_training:",
            query_params={"data": dataset_id} if dataset_id else None,
        )


def _show_needs(card: MethodCard) -> None:
    svg = base64.b64encode(needs_picture(card.tags, state.theme()).encode()).decode("ascii")
    alt = escape(picture_words(card.tags), quote=True)
    sentences = "".join(f'<p class="sv-needs">{escape(need)}</p>' for need in card.needs)
    st.html(
        '<p class="sv-meta">What it needs</p>'
        f'<img class="sv-picture" src="data:image/svg+xml;base64,{svg}" alt="{alt}">{sentences}'
    )


def _show_use(card: MethodCard, on_page: Set[str]) -> None:
    """When to take it, when not, and what to compare it with."""
    related = [
        (f"[{kin.title}](#{kin.id})" if kin.id in on_page else kin.title) + f": {kin.words}"
        for kin in card.related
    ]
    columns = [
        ("Take it when", card.fits),
        ("Rather not when", card.fails),
        ("Its kin", related),
    ]
    shown = [(head, lines) for head, lines in columns if lines]
    for place, (head, lines) in zip(st.columns(len(shown), gap="large"), shown, strict=True):
        with place:
            st.markdown(f"**{head}**\n\n{_listed(lines)}")


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _show_details(card: MethodCard) -> None:
    tabs = {"Parameters": _show_params, "In Python": _show_code, "Papers": _show_papers}
    if card.notes:
        tabs["Worth knowing"] = _show_notes
    for tab, show_tab in zip(st.tabs(list(tabs)), tabs.values(), strict=True):
        with tab:
            show_tab(card)


def _show_code(card: MethodCard) -> None:
    st.code(card.code, language="python")


def _show_papers(card: MethodCard) -> None:
    for reference in card.references:
        st.markdown(reference)


def _show_notes(card: MethodCard) -> None:
    for note in card.notes:
        st.markdown(note)


def _show_params(card: MethodCard) -> None:
    if not card.params:
        display.said("It has none: there is nothing to tune.")
    elif state.is_narrow():
        # A table of four columns would have to be scrolled sideways.
        for row in card.params:
            st.markdown(f"`{row.name}` = `{row.default}`, {row.allowed}. {row.words}")
    else:
        rows = [
            f"| `{row.name}` | `{row.default}` | {row.allowed} | {_cell(row.words)} |"
            for row in card.params
        ]
        head = "| parameter | default | may be | meaning |\n|---|---|---|---|"
        st.markdown("\n".join([head, *rows]))


def _cell(markdown: str) -> str:
    """Text for a cell of a table, which a bar would end."""
    return markdown.replace("\\|", "|").replace("|", "\\|")
