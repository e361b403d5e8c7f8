"""The two faces of Home: cards to choose from, and what a demo found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from simviz.workbench import results
from simviz.workbench.shell import frame, progress, settings, state

if TYPE_CHECKING:
    from simviz.datasets._info import DemoInfo

PICTURES = frame.ROOT / "docs"
CAPTION = (
    "Icons and the words people look for them by, as CCA sees them after training on seven "
    "tenths of the icons. Press a button above to train it here."
)
PICTURED = "A map on which icons and words that belong together lie side by side."
PROMISE = "Bring pairs that belong together. Train every method. See which one is right, and why."


def demos() -> Mapping[str, DemoInfo]:
    """The demos by their id."""
    from simviz.datasets import DEMOS

    return DEMOS


def show_cards() -> None:
    """Say what this is and offer a first try."""
    st.title("Learned similarity, measured honestly")
    st.html(f'<p class="sv-lead">{PROMISE}</p>')
    st.space("small")
    cards = [info for info in demos().values() if info.variant_of is None]
    # Two rows of two look better than a row of three and one alone.
    a_row = 2 if len(cards) in (2, 4) else 3
    for start in range(0, len(cards), a_row):
        columns = st.columns(a_row, gap="medium")
        for column, info in zip(columns, cards[start : start + a_row], strict=False):
            with column.container(border=True, height="stretch"):
                _show_card(info)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.page_link(
            "pages/data.py",
            label="Use my own file",
            icon=":material/upload_file:",
            query_params={"view": "other"},
            width="content",
        )
        st.button(
            "Show me around, in three minutes",
            key="home-tour",
            icon=":material/explore:",
            type="tertiary",
            on_click=frame.begin_tour,
        )
    picture = PICTURES / f"map-{state.theme()}.png"
    if picture.exists():
        st.image(str(picture), caption=CAPTION, width="stretch", alt=PICTURED)


def _show_card(info: DemoInfo) -> None:
    """What a demo is, its button, and those of its variants."""
    st.markdown(f"#### {info.title}")
    st.markdown(info.description)
    st.caption(f"{info.size} · about 10\N{NO-BREAK SPACE}s")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Try it with {info.id.replace('_', ' ')}",
            key=f"try-{info.id}",
            type="primary",
            on_click=_choose,
            args=(info.id,),
        )
        for variant in demos().values():
            if variant.variant_of == info.id:
                st.button(
                    f"Or: {variant.title.lower()}",
                    key=f"try-{variant.id}",
                    type="tertiary",
                    help=variant.description,
                    on_click=_choose,
                    args=(variant.id,),
                )
    st.caption(f"Data: {info.source}. {info.licence}.")


def _choose(demo: str) -> None:
    st.session_state.dataset_id = f"demo:{demo}"
    st.query_params["demo"] = demo


def show_demo(demo: str) -> None:
    """Train the demo's methods and show what they found, as it arrives."""
    info = demos()[demo]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title(info.title)
        st.button("Other demos", on_click=st.query_params.clear, type="tertiary")
    st.caption(f"{info.description} {info.size}. Data: {info.source}. {info.licence}.")
    # Asked for once a session: what the visitor cancelled does not start by itself again.
    key = f"home-jobs-{demo}"
    if key not in st.session_state:
        with st.spinner("Reading the data"):
            specs = progress.demo_specs(demo)
            st.session_state[key] = [state.queue().submit(spec) for spec in specs]
    job_ids = st.session_state[key]
    statuses = progress.show_progress(job_ids, key="home")
    finished = [state.run(s.run_id) for s in statuses if s.run_id is not None]
    if not finished:
        return
    dataset_id = f"demo:{demo}"
    pairs = state.dataset(dataset_id)
    direction = settings.current_direction(dataset_id, pairs)
    named = results.show(dataset_id, pairs, finished, info.metric, direction, key="home")
    # Figures first: a drawing would take the processor from what is still trained.
    if named is not None and not any(s.is_active for s in statuses):
        results.show_map(named, pairs)


@frame.page("Home")
def show_page() -> None:
    """Show Home: the demo that the link names, else the cards."""
    demo = st.query_params.get("demo")
    if demo in demos():
        show_demo(demo)
    else:
        show_cards()
