"""The Data page: the data set being worked on, and the choice of another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from simviz.data import PairSet, dump_pairs, guess_space
from simviz.data.cells import counted, items_named, spread
from simviz.data.description import Description, SideDescription, Spread, describe
from simviz.datasets import DEMOS
from simviz.exceptions import StoreError
from simviz.jobs import JobSpec, SplitSpec
from simviz.store import DatasetInfo
from simviz.store.store import Usage
from simviz.workbench.data import audit, health, review, split, upload
from simviz.workbench.shell import code, display, forms, frame, preferences, query_params, state

VIEWS = {"this": "This data set", "audit": "Audit", "other": "Other data"}
ROWS = 200
_FORMATS = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSONL", ".parquet": "Parquet"}
_SHOWN_SCRIPTS = 3
_MIN_SCRIPT = 0.01  # of the items
_STYLE = Path(__file__).with_name("style.css")
# In the session: why something could not be deleted, what was, and how often names were changed.
_REFUSED, _GONE, _RENAMED = "data-refused", "data-gone", "data-renamed"


@frame.page("Data")
def show_page() -> None:
    """Show the Data page: what there is, whether it was understood, how it is split."""
    display.style()
    st.html(_STYLE)
    if state.share() is None:
        upload.restore()
    info, problem = None, ""
    dataset_id = state.current_dataset_id()
    if dataset_id is not None:
        try:
            owner = None if state.share() else state.workspace()
            info = state.store().datasets.info(dataset_id, owner)
        except StoreError as error:
            problem = str(error)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        st.title("Data", width="content")
        view = _choose_view() if info is not None else "other"
    if problem:
        display.problem(f"{problem} Choose one of the demos below, or bring a file of your own.")
    if info is not None and view == "this":
        _show_dataset(info)
    elif info is not None and view == "audit":
        audit.show(info, state.dataset(info.id))
    else:
        _show_choice()


def _choose_view() -> str:
    """Choose between the data set, its audit and other data; a published view has only its own."""
    if state.share() is not None:
        return "this"
    if (requested := query_params.new_params().pop("view", "")) in VIEWS:
        st.session_state["data-view"] = requested
    first = "other" if upload.waiting() or upload.is_reading() else "this"
    st.session_state.setdefault("data-view", first)
    view: str = forms.segmented("Show", VIEWS, "data-view")
    query_params.put(view=view if view == "audit" else None)  # what a reload shows
    return view


def _show_dataset(info: DatasetInfo) -> None:
    with st.spinner("Reading the data"):
        pairs = state.dataset(info.id)
    is_shared = state.share() is not None
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        display.name(info.name)
        if not is_shared and not info.is_demo:
            _show_rename(info, pairs)
        label, icon = "Train on it", "arrow_forward"
        if not is_shared and forms.button(label, "data-train", icon=icon, type="primary"):
            st.switch_page("pages/train.py", query_params={"data": info.id})
    if demo := state.demo_of(info.id):
        display.quiet(f"{demo.description} Data: {demo.source}. {demo.licence}.")
    review.show_counts(pairs)
    display.quiet(_meaning(pairs))
    if pairs.x.kind == pairs.y.kind == "vector":
        space, reason = guess_space(pairs)
        if pairs.space not in (None, space):
            space, reason = pairs.space, f"So it was said. {reason}"
        display.quiet(f"Both sides are of {space} space{'s' * (space == 'two')}. {reason}")
    left, right = st.columns([3, 2], gap="large")
    with right:
        st.markdown("#### How it is split")
        if is_shared:
            spec = _shared_split(info.id)
            split.show(pairs, spec)
        else:
            current = preferences.current_split(info.id)
            table = st.container()
            with st.expander("Advanced"):
                spec = split.choose(info.id, pairs, current)
            with table:
                split.show(pairs, spec, preferences.suggested_split(info.id))
                if problem := split.parts_of(pairs, spec).problem:
                    display.problem(problem)
            if spec != current:
                preferences.choose_split(info.id, spec)
        if info.notes:
            with st.expander(f"How the file was read ({len(info.notes)})"):
                display.notes(info.notes)
    with left:
        st.markdown("#### What is in it")
        _show_rows(info.id, pairs, spec)
        _show_description(pairs)
    health.show(info, pairs, spec)
    if not is_shared:
        audit.show_line(info, pairs)


def _show_rename(info: DatasetInfo, pairs: PairSet) -> None:
    names = {"name": info.name, "left": pairs.x_name, "right": pairs.y_name}
    labels = {"name": "Name", "left": "Left items", "right": "Right items"}
    key = f"data-rename-{info.id}-{st.session_state.get(_RENAMED, 0)}"
    # Another key is another popover, a closed one.
    with st.popover("Rename", icon=":material/edit:", type="tertiary", key=key):
        for part, label in labels.items():
            longest = max(40 if part != "name" else 80, len(names[part]))
            st.text_input(label, names[part], longest, key=f"{key}-{part}")
        forms.button("Save", f"{key}-save", _rename, info.id, key, names)


def _rename(dataset_id: str, key: str, names: Mapping[str, str]) -> None:
    new_names = [st.session_state[f"{key}-{part}"].strip() or old for part, old in names.items()]
    with display.problems(show=display.later(_REFUSED)):  # deleted meanwhile, in another tab
        state.rename_dataset(dataset_id, *new_names)
    st.session_state[_RENAMED] = st.session_state.get(_RENAMED, 0) + 1


def _shared_split(dataset_id: str) -> SplitSpec:
    """Return the split that the runs of a published view were trained on."""
    runs = state.runs(dataset_id)
    return JobSpec.from_json(runs[0].spec).split if runs else preferences.current_split(dataset_id)


def _meaning(pairs: PairSet) -> str:
    relevance = pairs.relevance
    if relevance.unjudged == "negative":
        return "A pair that is not listed counts as not relevant."
    judged = "scored" if relevance.kind == "score" else "judged"
    return f"A pair that is not listed is unknown: only {judged} pairs count."


def _show_rows(dataset_id: str, pairs: PairSet, spec: SplitSpec) -> None:
    """Show some rows of the pairs or of a side, and the way out as a file."""
    ways = {"pairs": "pairs", "x": pairs.x_name, "y": pairs.y_name}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # Not a segmented control: its labels are markdown, and names may be the visitor's.
        way = st.selectbox(
            "Some of",
            **forms.options(ways),
            key="data-rows",
            label_visibility="collapsed",
            width=170,
        )
        _show_download(pairs)
        code.show_data(dataset_id, spec)
    if way == "pairs":
        review.show_pairs(pairs, f"data-frame-{dataset_id}-{way}", ROWS // 4, 4)
        return
    items = pairs.x if way == "x" else pairs.y
    heading, index = pairs.headings[way == "y"], spread(len(items), ROWS)
    columns: dict[str, Any] = {"content": review.cells(items, index)}
    columns["id"] = review.short(items.ids[index])
    config = {"content": review.column(items, heading, review.column_width(2))}
    for i, (label, values) in enumerate(items.metadata.items()):
        is_text = values.dtype.kind in "OUS"
        columns[f"m{i}"] = review.short(values[index]) if is_text else values[index]
        config[f"m{i}"] = st.column_config.Column(label)
    review.show_frame(columns, config, [items.kind], 360, f"data-frame-{dataset_id}-{way}")
    if len(items) > len(index):
        display.quiet(f"{len(index):,} of {len(items):,}, evenly spaced.")


def _show_download(pairs: PairSet) -> None:
    if not {pairs.x.kind, pairs.y.kind} <= {"text", "keyword"}:
        return
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in pairs.name)
    name = name[:60].strip("_") or "pairs"
    with st.popover("Download", type="tertiary", icon=":material/download:"):
        for suffix, label in _FORMATS.items():
            make, key = partial(dump_pairs, pairs, suffix), f"data-download-{suffix[1:]}"
            forms.download(label, make, f"{name}{suffix}", key=key, mime=upload.BYTES, icon=None)
        st.caption(
            "One judgment per row, with ids and all columns; simviz reads it back unchanged."
        )


def _show_description(pairs: PairSet) -> None:
    facts = _description(pairs)
    sides = (facts.x, facts.y)
    rows = [
        ("with a relevant pair", [f"{s.n_linked:,} of {s.n:,}" for s in sides]),
        ("pairs per item", [_spread_of(s.answers) for s in sides]),
        ("characters", [_spread_of(s.characters) for s in sides]),
        ("words", [_spread_of(s.words) for s in sides]),
        ("distinct words", [f"{s.n_words:,}" if s.words else "" for s in sides]),
        ("script", [_scripts(s) for s in sides]),
        ("size", [_size(s) for s in sides]),
    ]
    if facts.n_shared_words is not None:
        both = f"{facts.n_shared_words:,}"
        rows.insert(5, ("distinct words on both sides", [both, both]))
    with st.container(key="data-facts"):
        display.table(
            ["", facts.x.name, facts.y.name],
            [(name, *(cell or "–" for cell in cells)) for name, cells in rows if any(cells)],
        )
    if any("(" in cell for _, cells in rows for cell in cells):
        display.quiet("Median, and in brackets the 5th to 95th percentile.")
    for side in sides:
        if 0 < side.n_read < side.n:
            display.quiet(
                f"Words of “{side.name}” are counted in {side.n_read:,} of {side.n:,} texts, "
                "spread evenly."
            )
    if len(facts.grades) > 1:
        what = "Scores" if facts.is_score else "Grades"
        grades = " · ".join(
            f"{'not relevant' if not facts.is_score and grade.startswith('-') else grade}: {n:,}"
            for grade, n in facts.grades
        )
        display.quiet(f"{what}, the highest first: {grades}.")


@state.cached(32)
def _description(pairs: PairSet) -> Description:
    """Return the facts, found once for a content."""
    return describe(pairs)


def _spread_of(spread: Spread | None) -> str:
    if spread is None:
        return ""
    low, median, high = (f"{value:,.0f}" for value in (spread.low, spread.median, spread.high))
    # All alike but for a few: an interval from a number to itself says nothing.
    return median if low == high else f"{median} ({low} – {high})"


def _scripts(side: SideDescription) -> str:
    scripts = [(name, share) for name, share in side.scripts if share >= _MIN_SCRIPT]
    if len(scripts) < 2:
        return "".join(name for name, _ in scripts)
    texts = [f"{name} {_percent(share)}" for name, share in scripts[:_SHOWN_SCRIPTS]]
    return ", ".join(texts) + (" …" if len(scripts) > _SHOWN_SCRIPTS else "")


def _percent(share: float) -> str:
    return "< 1 %" if share < 0.005 else f"{100 * share:.0f} %"


def _size(side: SideDescription) -> str:
    if side.size is None:
        return ""
    if side.kind == "vector":
        return f"{side.size[0]:,} numbers, {_percent(side.filled)} not 0"
    height, width, *channels = side.size
    return f"{width} × {height} pixels, {'colour' if channels else 'grey'}"


def _show_choice() -> None:
    """Offer all there is; a file that waits comes first and alone."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("#### Your own data", width="content")
        upload.show_templates()
    upload.show_uploader()
    if upload.is_reading():
        return
    file = upload.waiting()
    if file is not None:
        review.show_waiting(file)
    if file is not None or upload.has_failed():
        return
    display.quiet(
        "Columns are guessed and can be corrected. What you save is seen in your workspace only. "
        f"{state.retention_notice()}"
    )
    _show_own()
    st.space("small")
    st.markdown("#### Demos")
    _show_demos()
    _show_workspace()


def _show_demos() -> None:
    for position, (demo, info) in enumerate(DEMOS.items()):
        if position % 2 == 0:  # row by row, so that their order stays on a narrow screen
            columns = st.columns(2, gap="medium")
        with columns[position % 2].container(border=True):
            st.markdown(f"**{info.title}**")
            st.markdown(info.description)
            st.caption(info.size)
            forms.button(f"Open {demo}", f"data-demo-{demo}", _choose, f"demo:{demo}")
            st.caption(f"Data: {info.source}. {info.licence}.")


def _show_own() -> None:
    own = [info for info in state.store().datasets.find(state.workspace()) if not info.is_demo]
    names = state.dataset_names()
    if refused := st.session_state.pop(_REFUSED, ""):
        display.problem(refused)
    if not own:
        return
    st.space("small")
    st.markdown("#### Your data sets")
    for info in own:
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            with st.container(width="stretch", gap=None):
                display.sentence(names[info.id])
                display.quiet(_summary(info))
            forms.button("Open", f"data-use-{info.id}", _choose, info.id)
            with st.popover("Delete", type="tertiary", key=f"data-ask-{info.id}"):
                n_runs = len(state.runs(info.id))
                runs = f"and {counted(n_runs, 'run')} trained on it go" if n_runs else "goes"
                st.write(f"The data set {runs}. This cannot be undone.")
                key = f"data-delete-{info.id}"
                delete = display.problems(show=display.later(_REFUSED))(state.delete_dataset)
                forms.button("Delete for good", key, delete, info.id, type="primary")


def _show_workspace() -> None:
    """Show what the workspace holds and how long, and the button that deletes all of it."""
    if gone := st.session_state.pop(_GONE, ""):
        display.sentence(gone)
    used, room = state.store().workspaces.usage(state.workspace()), state.deployment()
    if not any((used.datasets, used.runs, used.shares, used.jobs)):
        return
    st.space("small")
    st.markdown("#### Your workspace")
    display.quiet(
        f"{used.datasets:,} of {counted(room.datasets, 'data set')}, {used.runs:,} of "
        f"{counted(room.runs, 'run')}, {used.bytes / 1e6:,.1f} of "
        f"{room.workspace_bytes / 1e6:,.0f} MB; {counted(used.shares, 'published view')}, "
        f"{counted(used.jobs, 'job')}. {state.retention_notice()}"
    )
    with st.popover("Delete my workspace", type="tertiary", icon=":material/delete_forever:"):
        st.write(
            f"{_describe(used)} go from this server, with all corrections. Links to published "
            "views end. Runs on demos belong to all and stay. This cannot be undone."
        )
        text, key = "Delete all of it for good", "workspace-delete"
        forms.button(text, key, _delete_everything, type="primary")


def _describe(used: Usage) -> str:
    named = {"data set": used.datasets, "run": used.runs}
    named |= {"published view": used.shares, "job": used.jobs}
    counts = (counted(n, what) for what, n in named.items() if n)
    return " and ".join(", ".join(counts).rsplit(", ", 1))


@display.problems(show=display.later(_REFUSED))
def _delete_everything() -> None:
    upload.drop()
    gone = state.delete_everything()
    st.session_state[_GONE] = f"Deleted: {_describe(gone)}. Nothing of yours is on this server."


def _summary(info: DatasetInfo) -> str:
    stored_on = datetime.fromtimestamp(info.created).strftime("%-d %B %Y, %H:%M")
    x, y = items_named(info.x_name, "x"), items_named(info.y_name, "y")
    judged = "" if info.n_judged == info.n_relevant else f" of {info.n_judged:,} judged"
    return (
        f"{info.n_x:,} {x} × {info.n_y:,} {y}, {info.n_relevant:,} relevant"
        f"{judged} pairs · {info.n_bytes / 1e6:.1f} MB · {stored_on}"
    )


def _choose(dataset_id: str) -> None:
    upload.drop()
    state.choose_dataset(dataset_id)
    st.session_state["data-view"] = "this"
