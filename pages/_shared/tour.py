"""A first look around: a slim line above each page says what is seen and leads to the next."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import streamlit as st

#: The demo that is shown around, and the parameter that begins it.
DEMO, PARAMETER = "emoji", "tour"
_ON = "tour-on"
_STYLE = """
<style>
.st-key-tour { border-left: 3px solid #2f7ba3;
  background: color-mix(in srgb, #2f7ba3 9%, transparent); padding: .35rem .9rem;
  margin-bottom: .6rem; border-radius: 0 .4rem .4rem 0; row-gap: 0; }
.sv-tour { margin: 0; line-height: 1.5; }
.sv-tour i { font-style: normal; opacity: .6; margin-right: .5rem; white-space: nowrap; }
@media (max-width: 48rem) {
  .st-key-tour { flex-wrap: wrap; }
  .st-key-tour > :first-child { flex-basis: 100%; }
}
</style>
"""


class Step(NamedTuple):
    """A page of the tour.

    Parameters
    ----------
    words : str
        What is seen there, in a sentence or two.
    page, label : str
        Where it goes on, and what that page is called; empty at the end.
    """

    words: str
    page: str
    label: str


#: By the title of the page: whoever leaves the way still reads what belongs there.
STEPS = {
    "Home": Step(
        "Each method learns from the same pairs and is then asked about pairs it never saw: the "
        "sentence below says what the best one finds.",
        "pages/compare.py",
        "Is it really the best?",
    ),
    "Compare": Step(
        "Methods that share a letter cannot be told apart; “Where they differ” shows single "
        "queries.",
        "pages/map.py",
        "What does it see?",
    ),
    "Map": Step(
        "Press a word on the map: lines lead to its nearest of the other side.",
        "pages/search.py",
        "Ask it something",
    ),
    "Search": Step(
        "Type words of your own: all methods answer side by side, and below stands why.",
        "pages/data.py",
        "Now your own file",
    ),
    "Data": Step(
        "A table with two columns that belong together is enough: drop it below, and train on it.",
        "",
        "",
    ),
}


def begin() -> None:
    """Show around from now on, beginning with what the demo found."""
    st.session_state[_ON] = True
    st.session_state.dataset_id = f"demo:{DEMO}"
    st.query_params.from_dict({"demo": DEMO})


def follow_link(title: str) -> None:
    """Begin where the link says so; on Home with a demo, which the others need too.

    Parameters
    ----------
    title : str
        Of the page.
    """
    if not st.query_params.pop(PARAMETER, ""):
        return
    st.session_state[_ON] = True
    if title == "Home" and "demo" not in st.query_params:
        begin()


def show(title: str) -> None:
    """Draw the line of a page, if the visitor is shown around.

    Parameters
    ----------
    title : str
        Of the page, as its tab of the browser says.
    """
    step = STEPS.get(title)
    if step is None or not st.session_state.get(_ON):
        return
    st.html(_STYLE)
    at = list(STEPS).index(title) + 1
    bar = st.container(
        horizontal=True, vertical_alignment="center", gap="small", wrap=False, key="tour"
    )
    with bar:
        st.html(
            f'<p class="sv-tour"><i>{at} of {len(STEPS)}</i> {escape(step.words)}</p>',
            width="stretch",
        )
        if step.page:
            carried = {"view": "other"} if step.page == "pages/data.py" else None
            carried = carried or {"data": f"demo:{DEMO}"}
            st.page_link(
                step.page,
                label=step.label,
                icon=":material/arrow_forward:",
                query_params=carried,
                width="content",
            )
        st.button(
            "Done" if not step.page else "End the tour",
            key="tour-end",
            type="tertiary",
            icon=":material/close:",
            on_click=_end,
            width="content",
        )


def _end() -> None:
    st.session_state[_ON] = False
