"""What can be done with finished runs: name, note, train again, delete, bring back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import forms, naming, plain, state, train_jobs
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.params import ParamSpec
    from simviz.store import RunInfo

_PROBLEM = "train-run-problem"


def show_name_and_note(run: RunInfo) -> None:
    """Inputs for the name and the note of a run.

    Parameters
    ----------
    run : RunInfo
        One of the visitor's own.
    """
    for field, label, longest, hint in (
        ("name", "Name", 80, "the name of its method"),
        ("note", "Note", 2_000, "what it was for, what you saw"),
    ):
        make: Any = st.text_input if field == "name" else st.text_area
        key = f"train-{field}-{run.id}"
        make(
            label,
            value=getattr(run, field),
            key=key,
            max_chars=longest,
            placeholder=hint,
            on_change=_write,
            args=(run.id, field, key),
        )


def show_again(run: RunInfo) -> None:
    """Train the same again with one parameter changed.

    Parameters
    ----------
    run : RunInfo
        Any run of a method.
    """
    from dataclasses import replace

    from simviz.jobs import JobSpec
    from simviz.methods import get_method
    from simviz.params import param_specs

    spec = JobSpec.from_json(run.spec, state.workspace())
    specs = {s.name: s for s in forms.shown_specs(param_specs(get_method(run.method)))}
    if spec.split.by not in ("column", "time"):
        specs["split seed"] = _seed_spec(spec.split.seed)
    name = st.selectbox("Change", list(specs), key=f"train-again-{run.id}")
    change = specs[name]
    usual = {**naming.usual_params(run.method), "split seed": spec.split.seed}
    begin = {**usual, **spec.params}
    form: dict[str, Any] = {"key": f"train-again-{run.id}-form", "defaults": begin}
    varied = forms.show([change], **form, columns=1)
    if change.name == "split seed":
        seed = int(varied.get(name, spec.split.seed))
        asked = replace(spec, split=replace(spec.split, seed=seed))
    else:
        asked = replace(spec, params=naming.differing(run.method, {**spec.params, **varied}))
    is_same = asked.digest == spec.digest
    if not is_same and state.store().has_run(asked.digest):
        plain.quiet("There is such a run already.")
        is_same = True
    if st.button(
        "Train with this change",
        key=f"train-again-{run.id}-start",
        type="primary",
        disabled=is_same,
        icon=":material/model_training:",
    ):
        train_jobs.submit([asked])


def _seed_spec(seed: int) -> ParamSpec:
    from simviz.params import ParamSpec

    words = "Another seed splits the data anew: how much of a figure is the luck of the split?"
    return ParamSpec("split seed", "int", seed, words, low=0)


def show_differences(runs: Sequence[RunInfo], names: Sequence[str]) -> None:
    """A table of the settings in which some runs differ.

    Parameters
    ----------
    runs : sequence of RunInfo
        Two or more.
    names : sequence of str
        What the table calls them.
    """
    chosen = {name for run in runs for name in naming.differing(run.method, run.spec["params"])}
    rows = differing_rows([settings(run) for run in runs], chosen)
    if not rows:
        plain.quiet("These runs were trained alike; they differ in nothing that was set.")
        return
    plain.table(["differs in", *names], [[name, *values] for name, values in rows])


def settings(run: RunInfo) -> dict[str, str]:
    """All that was set for a run, in words.

    Parameters
    ----------
    run : RunInfo
        A run.

    Returns
    -------
    dict of str to str
        Setting to value: method, features, augmentation, split, parameters.
    """
    spec = run.spec
    split = spec["split"]
    augmented = [str(step.get("kind", "")) for step in spec.get("augment", ())]
    told: dict[str, Any] = {
        "method": naming.trained_title(run.method, {**spec, "features": "", "augment": ()}),
        "features": spec.get("features", "usual"),
        "augmented by": ", ".join(augmented) or "nothing",
        "split by": split["by"] + (f" {split['group_key']}" if split.get("group_key") else ""),
        "split shares": " / ".join(f"{100 * part:.0f}" for part in split["fractions"]),
        "split seed": split["seed"],
    }
    usual = naming.usual_params(run.method)
    if "shared" in usual:
        usual["shared"] = "as the data say"
    params = {**usual, **spec.get("params", {})}
    return {
        name: forms.in_words({"": value}).strip() for name, value in {**told, **params}.items()
    }


def differing_rows(
    told: Sequence[Mapping[str, str]], chosen: Set[str] = frozenset()
) -> list[tuple[str, list[str]]]:
    """Settings that are not the same everywhere.

    Parameters
    ----------
    told : sequence of mapping
        Settings of each run.
    chosen : set of str
        Settings that somebody changed: shown even where only one run has such
        a setting. What one method alone has, at its default, is no difference
        that was made.

    Returns
    -------
    list of (str, list of str)
        Name and a value a run; a dash where a run has no such setting.

    Examples
    --------
    >>> told = [{"method": "CCA", "k": "5", "rank": "none"}, {"method": "LSA", "k": "9"}]
    >>> differing_rows(told)
    [('method', ['CCA', 'LSA']), ('k', ['5', '9'])]
    >>> differing_rows(told, {"rank"})[-1]
    ('rank', ['none', '–'])
    """
    names = list(dict.fromkeys(name for one in told for name in one))
    rows = []
    for name in names:
        have = {one[name] for one in told if name in one}
        if len(have) > 1 or (name in chosen and not all(name in one for one in told)):
            rows.append((name, [one.get(name, "–") for one in told]))
    return rows


def delete(run_ids: Sequence[str]) -> None:
    """Delete runs, which can be brought back for an hour.

    Parameters
    ----------
    run_ids : sequence of str
        Which ones.
    """
    for run_id in run_ids:
        try:
            state.store().delete_run(run_id, state.workspace())
        except SimvizError:
            continue  # gone already, in another tab


def show_deleted(dataset_id: str) -> None:
    """What was deleted within the hour, with a button to undo it.

    Parameters
    ----------
    dataset_id : str
        The data set.
    """
    if problem := st.session_state.pop(_PROBLEM, None):
        plain.problem(problem)
    deleted = state.store().deleted_runs(state.workspace(), dataset_id)
    if not deleted:
        return
    names = [naming.run_title(run) for run in deleted]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<p class="sv-quiet">Deleted: {escape(shown)}.</p>', width="content")
        st.button(
            "Undo" if len(deleted) == 1 else f"Undo all {len(deleted)}",
            key="train-undo",
            type="tertiary",
            icon=":material/undo:",
            help="For an hour after they were deleted.",
            on_click=_restore,
            args=([run.id for run in deleted],),
        )


def _restore(run_ids: Sequence[str]) -> None:
    for run_id in run_ids:
        try:
            state.store().restore_run(run_id, state.workspace())
        except SimvizError as error:
            st.session_state[_PROBLEM] = str(error)


def _write(run_id: str, field: str, key: str) -> None:
    text = {field: st.session_state[key].strip()}
    try:
        state.store().rename_run(run_id, state.workspace(), **text)
    except SimvizError as error:  # deleted meanwhile, in another tab
        st.session_state[_PROBLEM] = str(error)
