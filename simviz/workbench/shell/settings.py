"""A choice of how a data set is looked at, kept in the link, the session and the store."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast, get_args

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.store.run import Part
from simviz.workbench.shell import state
from simviz.workbench.shell.marks import plain

if TYPE_CHECKING:
    from simviz.data.direction import WhoAsks
    from simviz.data.pairs import PairSet
    from simviz.data.splitting import SplitSuggestion
    from simviz.datasets._info import DemoInfo
    from simviz.jobs import SplitSpec
    from simviz.jobs.background import Background
    from simviz.store.run import Run, Shown

#: A click may arrive with the address of the run of the page before it, for so many seconds.
_LATE = 3.0


def kept_choice(name: Shown, dataset_id: str, known: Collection[str]) -> str | None:
    """What was chosen: as the link says, else as here before, else as published or stored."""
    chosen: dict[str, tuple[str, float]] = st.session_state.setdefault(f"{name}-chosen", {})
    before, at = chosen.get(dataset_id, (None, 0.0))
    linked = st.query_params.get(name)
    # What the page itself wrote, maybe of another data set, is no news.
    news = linked in known and linked not in (before, st.session_state.get(f"{name}-written"))
    if news and linked is not None and time.monotonic() - at > _LATE:
        keep(name, dataset_id, linked)
        return linked
    if before is not None:
        return before
    seen = state.share()
    if seen is not None:
        published = seen.view.get(name)
        return published if published in known else None
    return state.store().choices.get(dataset_id, state.workspace(), name)


def keep(name: Shown, dataset_id: str, value: str) -> None:
    """Look at it so from now on, here and in other browsers of this workspace."""
    st.session_state.setdefault(f"{name}-chosen", {})[dataset_id] = value, time.monotonic()
    put_in_link(name, value)
    if state.share() is None:
        try:
            state.store().choices.put(dataset_id, state.workspace(), name, value)
        except SimvizError:  # another's data set: the page says so
            return


def put_in_link(name: Shown, value: str) -> None:
    """Write what is shown into the address."""
    st.session_state[f"{name}-written"] = value
    if st.query_params.get(name) != value:
        st.query_params[name] = value


DIRECTION_LINK = "direction"
_SIDES = ("x2y", "y2x")
_ALL = (*_SIDES, "mean")
_DIRECTION_WIDGET = "compare-direction"


def current_direction(dataset_id: str, pairs: PairSet, measured: Sequence[str] = _SIDES) -> str:
    """The direction that figures are of: as the link says, else as was chosen before."""
    found = (
        kept_choice("direction", dataset_id, _ALL) or usual_direction(dataset_id, pairs).direction
    )
    return found if found in _offered(measured) else measured[0]


def choose_direction(dataset_id: str, pairs: PairSet, measured: Sequence[str]) -> str:
    """Let the visitor choose who asks, and keep the choice in the link."""
    x, y = plain(pairs.x_name), plain(pairs.y_name)
    words = {"x2y": f"{x} → {y}", "y2x": f"{y} → {x}", "mean": "Mean of both"}
    direction = st.session_state[_DIRECTION_WIDGET] = current_direction(
        dataset_id, pairs, measured
    )
    st.segmented_control(
        "Query side",
        _offered(measured),
        format_func=words.__getitem__,
        key=_DIRECTION_WIDGET,
        required=True,
        wrap=True,
        help="All pages show figures of these queries. "
        f"At first {plain(why_direction(dataset_id, pairs))}.",
        on_change=_take_direction,
        args=(dataset_id,),
    )
    put_in_link("direction", direction)
    return direction


def usual_direction(dataset_id: str, pairs: PairSet) -> WhoAsks:
    """Who asks where nobody has chosen, and why."""
    return _usual_direction(dataset_id, pairs.digest, (pairs.x_name, pairs.y_name), pairs)


def asking_sides(direction: str) -> tuple[str, ...]:
    """The directions behind one that is shown: both behind their mean."""
    return _SIDES if direction == "mean" else (direction,)


def direction_words(direction: str, pairs: PairSet) -> str:
    """Who asks, in words."""
    if direction == "mean":
        return "the mean of both sides asking"
    return f"{pairs.x_name if direction == 'x2y' else pairs.y_name} ask"


def why_direction(dataset_id: str, pairs: PairSet) -> str:
    """A sentence without its full stop on who asks where nobody has chosen."""
    return usual_direction(dataset_id, pairs).reason


def _offered(measured: Sequence[str]) -> list[str]:
    known = [d for d in _SIDES if d in measured]
    return [*known, "mean"] if len(known) > 1 else known


def _take_direction(dataset_id: str) -> None:
    keep("direction", dataset_id, st.session_state[_DIRECTION_WIDGET])


@st.cache_resource(show_spinner=False, max_entries=100)
def _usual_direction(
    dataset_id: str, digest: str, names: tuple[str, str], _pairs: PairSet
) -> WhoAsks:
    from simviz.store.records import usual_asking

    return usual_asking(dataset_id, _pairs)


PART_LINK = "part"
_LABELS: dict[Part, str] = {"validation": "Validation", "test": "Test"}
_PART_WIDGET = "part-shown"
_HELP = (
    "Methods, settings and weights are chosen on the validation part. The test part is for the "
    "verdict: figures on it are honest only as long as nothing is chosen by them."
)


def current_part(dataset_id: str) -> Part:
    """The part that figures are of: as the link says, else as was chosen before."""
    found = kept_choice("part", dataset_id, get_args(Part))
    return _usual_part(dataset_id) if found is None else cast(Part, found)


def part_switch(dataset_id: str) -> Part:
    """Let the visitor choose the part, and keep the choice in the link."""
    part = st.session_state[_PART_WIDGET] = current_part(dataset_id)
    st.segmented_control(
        "Part",
        list(_LABELS),
        format_func=_LABELS.__getitem__,
        key=_PART_WIDGET,
        required=True,
        help=_HELP,
        on_change=_take_part,
        args=(dataset_id,),
    )
    put_in_link("part", part)
    return part


def part_button(dataset_id: str, part: Part, label: str, key: str) -> None:
    """A button that shows the other part."""
    st.button(
        label,
        key=key,
        type="tertiary",
        icon=":material/swap_horiz:",
        on_click=keep,
        args=("part", dataset_id, part),
    )


def offer_missing_part(
    runs: Sequence[tuple[Run, str]], part: Part, pairs: PairSet, key: str
) -> None:
    """Say which runs were not measured on a part, and offer to do so."""
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


def _take_part(dataset_id: str) -> None:
    keep("part", dataset_id, st.session_state[_PART_WIDGET])


def _usual_part(dataset_id: str) -> Part:
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
        _background().submit(
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


def current_split(dataset_id: str) -> SplitSpec:
    """The split to train a data set on."""
    from simviz.jobs import SplitSpec

    chosen = st.session_state.get("split", {}).get(dataset_id)
    if chosen is not None:
        return SplitSpec(**chosen)
    return as_spec(suggested_split(dataset_id))


def demo_split(info: DemoInfo) -> SplitSpec:
    """The split of a demo: the same on every server."""
    from simviz.jobs import SplitSpec

    return SplitSpec(by=info.split_by, group_key="split" if info.split_by == "column" else None)


def as_spec(suggestion: SplitSuggestion) -> SplitSpec:
    """A suggestion with the usual shares and seed."""
    from simviz.jobs import SplitSpec

    return SplitSpec(by=suggestion.by, group_key=suggestion.group_key)


def choose_split(dataset_id: str, split: SplitSpec) -> None:
    """Train on this split of a data set from now on."""
    # One entry a data set: whoever comes back to one finds it split as before.
    st.session_state.setdefault("split", {})[dataset_id] = asdict(split)


def suggested_split(dataset_id: str) -> SplitSuggestion:
    """How a data set is best split, and why; the demos know it themselves."""
    from simviz.data.splitting import SplitSuggestion

    info = _demo(dataset_id)
    if info is None:
        return suggestion_for(dataset_id, state.dataset(dataset_id))
    if info.split_by == "column":
        return SplitSuggestion("column", "split", "The data say themselves what is for the test.")
    new, known = (info.x_name, info.y_name) if info.split_by == "x" else (info.y_name, info.x_name)
    reason = (
        "No item of the test part, on either side, is known from training."
        if info.split_by == "pair"
        else f"The test part asks for new {new} among known {known}."
    )
    return SplitSuggestion(info.split_by, None, reason)


def _demo(dataset_id: str) -> Any:
    from simviz.datasets import DEMOS

    demos: Mapping[str, Any] = DEMOS
    return demos.get(dataset_id.removeprefix("demo:")) if dataset_id[:5] == "demo:" else None


@st.cache_resource(show_spinner=False, max_entries=64)
def suggestion_for(content_id: str, _pairs: PairSet) -> SplitSuggestion:
    """How pairs are best split; found once for an id that stands for their content."""
    from simviz.data.splitting import suggest_split

    return suggest_split(_pairs)
