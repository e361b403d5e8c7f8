"""Validation or test: one choice for all pages, kept with the data set and in the link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast, get_args

import streamlit as st

from pages._shared import kept, state
from pages._shared.compare_marks import plain
from simviz.store.run import Part

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs.background import Background
    from simviz.store.run import Run

LINK = "part"
_LABELS: dict[Part, str] = {"validation": "Validation", "test": "Test"}
_WIDGET = "part-shown"
_HELP = (
    "Methods, settings and weights are chosen on the validation part. The test part is for the "
    "verdict: figures on it are honest only as long as nothing is chosen by them."
)


def current(dataset_id: str) -> Part:
    """The part that figures are of: as the link says, else as was chosen before.

    Parameters
    ----------
    dataset_id : str
        A data set that the visitor may see.

    Returns
    -------
    {"validation", "test"}
        Where nobody has chosen: the test part of a demo, the validation part
        of one's own data, and of a published view what its owner saw.
    """
    found = kept.current("part", dataset_id, get_args(Part))
    return _usual(dataset_id) if found is None else cast(Part, found)


def switch(dataset_id: str) -> Part:
    """Let the visitor choose the part, and keep the choice in the link.

    Parameters
    ----------
    dataset_id : str
        A data set that the visitor may see.

    Returns
    -------
    {"validation", "test"}
        The part to show.
    """
    part = st.session_state[_WIDGET] = current(dataset_id)
    st.segmented_control(
        "Part",
        list(_LABELS),
        format_func=_LABELS.__getitem__,
        key=_WIDGET,
        required=True,
        help=_HELP,
        on_change=_take,
        args=(dataset_id,),
    )
    kept.put_in_link("part", part)
    return part


def button(dataset_id: str, part: Part, label: str, key: str) -> None:
    """A button that shows the other part."""
    st.button(
        label,
        key=key,
        type="tertiary",
        icon=":material/swap_horiz:",
        on_click=kept.keep,
        args=("part", dataset_id, part),
    )


def offer_missing(runs: Sequence[tuple[Run, str]], part: Part, pairs: PairSet, key: str) -> None:
    """Say which runs were not measured on a part, and offer to do so.

    Parameters
    ----------
    runs : sequence of (Run, str)
        Runs without that part, each with its label.
    part : {"validation", "test"}
        The part.
    pairs : PairSet
        Their data set.
    key : str
        Sets the widgets apart from those of other places.
    """
    able, names = [], []
    for run, label in runs:
        if reason := _why_not(run.id, part, run, pairs):
            st.caption(plain(f"{label}: {reason}"))
        else:
            able.append((run.id, label))
            names.append(label)
    if not able:
        return
    if state.share() is not None:  # a published view is for reading
        st.caption(plain(f"Not measured on the {part} part: {', '.join(names)}."))
        return
    asked = [(run_id, label) for run_id, label in able if _is_active((run_id, part))]
    for run_id, label in able:
        progress = _background().progress((run_id, part))
        if progress is not None and progress.state == "failed":
            st.text(f"{label}: {progress.message}")
    if asked:
        _watch(asked, part)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            plain(f"Not measured on the {part} part yet: {', '.join(names)}."), width="content"
        )
        st.button(
            "Measure now",
            key=f"{key}-measure",
            icon=":material/speed:",
            on_click=_measure,
            args=([run for run, label in runs if (run.id, label) in able], part, pairs),
        )


def _take(dataset_id: str) -> None:
    kept.keep("part", dataset_id, st.session_state[_WIDGET])


def _usual(dataset_id: str) -> Part:
    seen = state.share()
    # Views published before there was a choice: Compare showed the test, others where opened.
    opened = seen is not None and (seen.kind == "compare" or seen.view.get("test") == "open")
    return "test" if opened or dataset_id.startswith("demo:") else "validation"


@st.cache_resource(show_spinner=False)
def _background() -> Background:
    from simviz.jobs.background import Background

    return Background()


@st.cache_resource(show_spinner=False, max_entries=200)
def _why_not(run_id: str, part: Part, _run: Run, _pairs: PairSet) -> str:
    from simviz.jobs.measuring import why_not_measured

    return why_not_measured(_run, part, _pairs)


def _is_active(key: tuple[str, Part]) -> bool:
    progress = _background().progress(key)
    return progress is not None and progress.is_active


def _measure(runs: Sequence[Run], part: Part, pairs: PairSet) -> None:
    from simviz.jobs.measuring import measure_run

    store = state.store()
    for run in runs:
        _background().ask(
            (run.id, part), lambda tell, run=run: measure_run(store, run, pairs, part, tell)
        )


@st.fragment(run_every=0.7)
def _watch(runs: Sequence[tuple[str, str]], part: Part) -> None:
    for run_id, label in runs:
        progress = _background().progress((run_id, part))
        if progress is None or not progress.is_active:
            st.rerun()
        words = "waits for its turn" if progress.state == "waiting" else f"measured on {part}"
        st.progress(min(1.0, progress.fraction), text=f"**{plain(label)}** {words}")
