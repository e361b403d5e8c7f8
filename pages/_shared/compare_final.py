"""The test part is for the end: validation figures until it is asked for, and a count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import compare_choice, plain, state
from pages._shared.compare_runs import Entry, describe_split, estimate, find_record
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from pages._shared.compare_choice import Choice
    from simviz.evaluation.tables import Estimate
    from simviz.store.run import Run

#: In the session: by data set and test part, the runs whose test figures were asked for.
_OPENED = "compare-final"
_COLUMNS = 3


def is_open(dataset_id: str, choice: Choice) -> bool:
    """Whether figures on the test part are to be shown; says what there is instead.

    Parameters
    ----------
    dataset_id : str
        The data set.
    choice : Choice
        What is compared.

    Returns
    -------
    bool
        Always for a demo and a published view, where nothing is chosen any
        more; else once the switch is on, for the runs there were then.
    """
    if state.share() is not None:
        return True
    if dataset_id.startswith("demo:"):
        st.caption("A demo: its test part is open, and all figures are of it.")
        return True
    plain.style()
    part = choice.entries[0].measured.part
    opened = st.session_state.get(_OPENED, {}).get((dataset_id, part), frozenset())
    # A blend is made here, of runs whose test figures are seen already.
    trained = {entry.run.id for entry in choice.entries if entry.run.info.method != "blend"}
    if opened and opened >= trained:
        _show_open(dataset_id, part)
        return True
    _show_validation(choice)
    _show_switch(dataset_id, choice, part)
    return False


def was_opened(dataset_id: str, runs: Sequence[Run]) -> bool:
    """Whether what these runs do on their test parts may be looked at on other pages.

    Parameters
    ----------
    dataset_id : str
        The data set.
    runs : sequence of Run
        Runs on it, blends and runs of other systems among them.

    Returns
    -------
    bool
        As `is_open`, which it never changes.
    """
    if state.share() is not None or dataset_id.startswith("demo:"):
        return True
    for run in runs:
        try:
            part = compare_choice.read_measured(run.id).part
        except SimvizError:  # no results: nothing of them can have been looked at
            return False
        opened = st.session_state.get(_OPENED, {}).get((dataset_id, part), frozenset())
        if run.id not in opened and not (opened and run.info.method == "blend"):
            return False
    return True


def _show_validation(choice: Choice) -> None:
    """A table of what is known without the test part, the best first."""
    metrics = choice.metrics[:_COLUMNS]
    split = choice.entries[0].run.info.spec["split"]
    st.markdown("#### On the validation part")
    plain.quiet(
        "Choose among methods and settings here: figures on the test part "
        f"({describe_split(split, choice.names)}) are honest only as long as nothing is chosen by "
        "them."
    )
    rows = [
        (entry, [_value(entry, m, choice.direction) for m in metrics]) for entry in choice.entries
    ]
    if all(found is None for _, values in rows for found in values):
        plain.said(
            "Nothing is known of these runs on the validation part: they were imported, or "
            "trained before it was measured. Train them again to compare them without the test."
        )
        return
    rows.sort(key=lambda row: _rank(row[1][0]), reverse=True)
    plain.table(
        ["run", *metrics],
        [(entry.label, *(map(_told, values))) for entry, values in rows],
    )
    plain.quiet("± is half of the 95 % interval: wide, for the validation part is small.")


def _value(entry: Entry, metric: str, direction: str) -> Estimate | None:
    """What a run reaches on the validation part."""
    records = entry.measured.told.get("validation")
    record = None if records is None else find_record(records, metric, direction)
    return None if record is None else estimate(record)


def _rank(found: Estimate | None) -> float:
    """Sorts what is not known last."""
    return float("-inf") if found is None or found.value != found.value else found.value


def _told(found: Estimate | None) -> str:
    if found is None or found.value != found.value:
        return "–"
    return f"{found.value:.3f}" + (f" ± {found.reach:.3f}" if found.reach == found.reach else "")


def _show_switch(dataset_id: str, choice: Choice, part: str) -> None:
    times, last = state.store().looks(dataset_id, state.workspace(), part)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.button(
            "Show the final test",
            key="compare-final-show",
            icon=":material/visibility:",
            on_click=_open,
            args=(dataset_id, part),
        )
        if last is None:
            plain.quiet("Nobody has looked at this test part yet.")
        else:
            when = datetime.fromtimestamp(last).strftime("%-d %B %Y, %H:%M")
            plain.quiet(f"Looked at {_times(times)} so far, last on {when}.")


def _show_open(dataset_id: str, part: str) -> None:
    """Say that this is the test, and how often it was looked at."""
    times, _ = state.store().looks(dataset_id, state.workspace(), part)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        plain.quiet(f"The final test, looked at {_times(times)}.")
        st.button(
            "Back to validation",
            key="compare-final-hide",
            type="tertiary",
            icon=":material/visibility_off:",
            on_click=_close,
            args=(dataset_id, part),
        )


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def _open(dataset_id: str, part: str) -> None:
    """Count one more look; what is trained later needs another one."""
    state.store().count_look(dataset_id, state.workspace(), part)
    known = frozenset(info.id for info in state.runs(dataset_id))
    st.session_state.setdefault(_OPENED, {})[dataset_id, part] = known


def _close(dataset_id: str, part: str) -> None:
    st.session_state.get(_OPENED, {}).pop((dataset_id, part), None)
