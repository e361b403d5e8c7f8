"""Finished runs as a table whose rows can be opened, named and deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from statistics import mean, stdev
from typing import Any

import streamlit as st

from simviz.charts import method_style
from simviz.data.pairs import PairSet
from simviz.evaluation.trec import read_run
from simviz.exceptions import SimvizError
from simviz.explain.topics import has_topics
from simviz.jobs import JobSpec, SplitSpec
from simviz.jobs.spec import import_run
from simviz.methods import get_method
from simviz.params import ParamSpec, param_specs
from simviz.reports.run_summary import ranked
from simviz.store import RunInfo
from simviz.workbench import results
from simviz.workbench.shell import display, drawings, forms, preferences, runs as run_names, state
from simviz.workbench.shell.frame import page_link
from simviz.workbench.train import jobs

#: Endings of files with the scores of another system.
_ENDINGS = "run txt trec res csv tsv jsonl parquet arrow xlsx gz npy npz mtx".split()
_PART = "On the validation part, by which methods and settings are chosen"
_SEED_TEXT = "Another random split of the data."
# In the session: what could not be done with a run, what was noted while one
# was imported, and how often the uploader was emptied.
_PROBLEM, _NOTES, _N_IMPORTED = "train-run-problem", "import-said", "import-turn"


def show_runs(dataset_id: str, pairs: PairSet) -> None:
    """Show the runs on a data set, newest first."""
    runs = state.runs(dataset_id)
    if runs:
        _show_results(dataset_id, pairs, runs)
    st.markdown("#### Finished runs")
    if runs:
        metric = run_names.main_metric(dataset_id, pairs, runs)
        direction = preferences.current_direction(dataset_id, pairs)
        selected = _show_table(runs, dataset_id, metric, direction)
        _show_deleted(dataset_id)
        if selected:
            _show_actions(selected)
        else:
            st.caption(
                "Select a row to rename, retrain or delete it; two or more to see how their "
                "settings differ."
            )
        _show_splits(runs, metric, direction)
    else:
        st.caption("None yet.")
        _show_deleted(dataset_id)
    if not dataset_id.startswith("demo:"):
        _show_import(dataset_id, pairs)


def _show_results(dataset_id: str, pairs: PairSet, infos: Sequence[RunInfo]) -> None:
    runs = [state.run(info.id) for info in infos]
    groups = run_names.group(runs).values()  # of the damaged, Compare says so
    group = next((g for run in runs for g in groups if run in g), None)
    if group is not None:
        metric = run_names.main_metric(dataset_id, pairs, [run.info for run in group])
        part = preferences.current_part(dataset_id)
        known = group[0].part(group[0].measured[0]).directions
        direction = preferences.current_direction(dataset_id, pairs, known)
        ordered = ranked(group, metric, direction, part)
        best = run_names.first_shown(ordered)
        st.markdown("#### Results")
        named = results.show(dataset_id, pairs, best, metric, direction, key="train")
        if named is not None and not jobs.jobs_on(dataset_id)[0]:
            drawings.draw_ahead(named, pairs)


def _show_table(
    runs: Sequence[RunInfo], dataset_id: str, metric: str, direction: str
) -> list[RunInfo]:
    import pandas as pd

    figure = f"{metric}, validation"
    split = preferences.current_split(dataset_id)
    noted = any(run.note for run in runs)
    rows = [
        {
            "": "■",
            "run": run_names.run_title(run),
            figure: _value(run.id, metric, direction),
            "parameters": differences(run, split),
            **({"note": run.note} if noted else {}),
            "time": run.seconds,
            "trained": datetime.fromtimestamp(run.created, UTC),
        }
        for run in runs
    ]
    colours = [f"color: {method_style(run.method, state.theme()).colour}" for run in runs]
    table = pd.DataFrame(rows)
    # A row is known by its place: another list of runs must not inherit what was ticked.
    ids = hashlib.blake2b("".join(run.id for run in runs).encode(), digest_size=6).hexdigest()
    event: Any = st.dataframe(
        table.style.apply(lambda _: colours, subset=[""]),
        key=f"train-runs-{ids}",
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
        column_config={
            "": st.column_config.TextColumn(width=30),
            # On a phone a cut column tells that there are more.
            "run": st.column_config.TextColumn(width=140),
            "parameters": st.column_config.TextColumn(
                help="Where they differ from the defaults", width=260
            ),
            figure: st.column_config.NumberColumn(format="%.3f", help=_PART),
            "time": st.column_config.NumberColumn(format="%.1f s"),
            "trained": st.column_config.DatetimeColumn(format="distance"),
        },
        alt="Finished runs: method, parameters, quality on the validation part, time",
    )
    return [runs[row] for row in event.selection.rows if row < len(runs)]


def _value(run_id: str, metric: str, direction: str) -> float | None:
    value = state.run(run_id).value(metric, direction)
    return value if value == value else None


def differences(run: RunInfo, split: SplitSpec) -> str:
    """Return what sets a run apart: terms and parameters off their defaults, another split."""
    request = run_names.request_of(run)
    text, other = forms.describe(request.set_values), request.split
    if other == split:
        return text
    return (f"{text}; " if text else "") + f"other split: by {other.by}, seed {other.seed}"


def _show_actions(selected: Sequence[RunInfo]) -> None:
    own = [run for run in selected if not run.is_demo]
    with st.container(horizontal=True, vertical_alignment="center"):
        data, ids = selected[0].dataset_id, ",".join(run.id for run in selected)
        page_link("pages/compare.py", "Compare", ":material/leaderboard:", data=data, runs=ids)
        if len(selected) == 1:
            page_link("pages/map.py", "Map", ":material/scatter_plot:", data=data, run=ids)
            if has_topics(selected[0].method):
                to = {"data": data, "runs": ids, "tab": "topics"}
                page_link("pages/compare.py", "Topics", ":material/list:", **to)
            if not (selected[0].is_derived or selected[0].is_imported):
                with st.popover("Retrain with a change", icon=":material/content_copy:"):
                    _show_again(selected[0])
            if own:
                with st.popover("Name and note", icon=":material/edit:"):
                    _show_name_and_note(selected[0])
        if own:
            label = "Delete" if len(own) == 1 else f"Delete {len(own)} runs"
            ids_of_own = [run.id for run in own]
            forms.button(label, "train-delete", _delete, ids_of_own, icon="delete")
    if not own:
        display.quiet("Runs of a demo are shared: they cannot be renamed or deleted.")
    if len(selected) > 1:
        _show_differences(selected)
    elif selected[0].note:
        display.sentence(selected[0].note)


def _show_name_and_note(run: RunInfo) -> None:
    for field, label, longest, hint in (
        ("name", "Name", 80, "the name of its method"),
        ("note", "Note", 2_000, "what it was for, what you saw"),
    ):
        make: Any = st.text_input if field == "name" else st.text_area
        key = f"train-{field}-{run.id}"
        how = {"max_chars": longest, "placeholder": hint, "on_change": _write}
        make(label, getattr(run, field), key=key, args=(run.id, field, key), **how)


def _write(run_id: str, field: str, key: str) -> None:
    text = {field: st.session_state[key].strip()}
    with display.problems(show=display.later(_PROBLEM)):  # deleted meanwhile, in another tab
        state.store().runs.rename(run_id, state.workspace(), **text)


def _show_again(run: RunInfo) -> None:
    spec = JobSpec.from_json(run.spec, state.workspace())
    specs = {s.name: s for s in forms.shown_specs(param_specs(get_method(run.method)))}
    seed = spec.split.seed
    if spec.split.by not in ("column", "time"):
        specs["split seed"] = ParamSpec("split seed", "int", seed, _SEED_TEXT, low=0)
    name = st.selectbox("Change", list(specs), key=f"train-again-{run.id}")
    default_values = {**spec.default_params, "split seed": seed, **spec.params}
    key = f"train-again-{run.id}-form"
    varied = forms.show([specs[name]], key=key, defaults=default_values, columns=1)
    if name == "split seed":
        changed = replace(spec, split=replace(spec.split, seed=int(varied.get(name, seed))))
    else:
        changed = replace(spec, params={**spec.params, **varied})
        changed = replace(changed, params=changed.non_default_params)
    is_same = changed.digest == spec.digest
    if not is_same and state.store().runs.has(changed.digest):
        display.quiet("This run exists already.")
        is_same = True
    label, start, icon = "Train with this change", f"train-again-{run.id}-start", "model_training"
    if forms.button(label, start, icon=icon, type="primary", disabled=is_same):
        jobs.submit([changed])


def _show_differences(runs: Sequence[RunInfo]) -> None:
    names = run_names.label_runs(runs).values()
    set_names = {n for run in runs for n in run_names.request_of(run).set_values}
    known = [run_settings(run) for run in runs]
    rows = []
    for name in dict.fromkeys(name for run in known for name in run):
        values = {run[name] for run in known if name in run}
        if len(values) > 1 or (name in set_names and not all(name in run for run in known)):
            rows.append([name, *(run.get(name, "–") for run in known)])
    if not rows:
        display.quiet("These runs have the same settings.")
        return
    display.table(["setting", *names], rows)


def run_settings(run: RunInfo) -> dict[str, str]:
    """Return all that was set for a run, in words."""
    request = run_names.request_of(run)
    split, defaults, features = request.split, request.default_params, request.features
    if "shared" in defaults:
        defaults["shared"] = "automatic"
    augmented = [str(step.get("kind", "")) for step in request.augment]
    settings: dict[str, Any] = {
        "method": request.method_title,
        **(features if isinstance(features, Mapping) else {"features": features}),
        "augmented by": ", ".join(augmented) or "nothing",
        "split by": split.by + (f" {split.group_key}" if split.group_key else ""),
        "split shares": " / ".join(f"{100 * part:.0f}" for part in split.fractions),
        "split seed": split.seed,
        **defaults,
        **request.params,
    }
    return {name: forms.describe({"": value}).strip() for name, value in settings.items()}


def _delete(run_ids: Sequence[str]) -> None:
    """Delete runs, which can be brought back for an hour."""
    for run_id in run_ids:
        with suppress(SimvizError):  # gone already, in another tab
            state.store().runs.delete(run_id, state.workspace())


def _show_deleted(dataset_id: str) -> None:
    """Show what was deleted within the hour, with a button to undo it."""
    if problem := st.session_state.pop(_PROBLEM, None):
        display.problem(problem)
    deleted = state.store().runs.deleted(state.workspace(), dataset_id)
    if not deleted:
        return
    names = [run_names.run_title(run) for run in deleted]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<p class="sv-quiet">Deleted: {escape(shown)}.</p>', width="content")
        label = "Undo" if len(deleted) == 1 else f"Undo all {len(deleted)}"
        forms.quiet_button(
            label,
            "train-undo",
            _restore,
            [run.id for run in deleted],
            icon="undo",
            help="For an hour after they were deleted.",
        )


def _restore(run_ids: Sequence[str]) -> None:
    for run_id in run_ids:
        with display.problems(show=display.later(_PROBLEM)):
            state.store().runs.restore(run_id, state.workspace())


def _show_splits(runs: Sequence[RunInfo], metric: str, direction: str) -> None:
    rows = []
    for group in repeated(runs):
        values = [v for run in group if (v := _value(run.id, metric, direction)) is not None]
        if len(values) > 1:
            request = run_names.request_of(group[0])
            label = ", ".join(filter(None, (request.title, forms.describe(request.set_values))))
            figures = f"{mean(values):.3f}", f"{stdev(values):.3f}"
            rows.append([label, *figures, str(len(values))])
    if not rows:
        return
    with st.expander("Across random splits", type="compact", key="train-splits"):
        rows.sort(key=lambda row: row[1], reverse=True)
        display.table(["trained", f"mean {metric}", "standard deviation", "splits"], rows)


def repeated(runs: Sequence[RunInfo]) -> list[list[RunInfo]]:
    """Return runs that are equal but for the seed of their split, where there are several."""
    groups: dict[str, list[RunInfo]] = {}
    for run in runs:
        split = {**run.spec["split"], "seed": None}
        groups.setdefault(json.dumps({**run.spec, "split": split}, sort_keys=True), []).append(run)
    return [group for group in groups.values() if len(group) > 1]


def _show_import(dataset_id: str, pairs: PairSet) -> None:
    if notes := st.session_state.pop(_NOTES, ""):
        display.quiet(notes)
    with st.expander("Import run", icon=":material/upload_file:"):
        display.quiet(
            "Scores of another system, measured on the current split: a TREC run, a table of two "
            "ids and a score, or a matrix. Whether it was trained on the test part is unknown."
        )
        key = f"import-file-{st.session_state.get(_N_IMPORTED, 0)}"
        file = st.file_uploader("Scores", _ENDINGS, key=key)
        if file is None:
            return
        name = st.text_input("Name", file.name.split(".")[0], 80, key="import-name", width=260)
        if not st.button("Import", key="import-keep"):
            return
        with display.problems(ValueError):
            with st.spinner("Reading and measuring"):
                run = read_run(file.getvalue(), pairs, file.name)
                run = replace(run, name=name.strip() or run.name)
                split = preferences.current_split(dataset_id)
                import_run(state.store(), dataset_id, pairs, run, split, state.workspace())
            st.session_state[_NOTES] = " ".join(run.notes)
            st.session_state[_N_IMPORTED] = st.session_state.get(_N_IMPORTED, 0) + 1
            st.rerun()
