"""The audit: the pairs that are most probably wrong, one after another, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from simviz.data import Items, PairSet
from simviz.data.augment import Corrections
from simviz.data.cells import counted, percent
from simviz.data.health.findings import Remedy
from simviz.evaluation.auditing import LISTED, LITTLE, why_no_audit
from simviz.evaluation.differences import query_metric
from simviz.evaluation.significance import paired_randomization
from simviz.evaluation.tables import csv_text
from simviz.jobs import JobSpec
from simviz.jobs.spec import AuditSpec
from simviz.methods import all_methods
from simviz.store import DatasetInfo, Run, RunInfo
from simviz.store.run import AUDIT
from simviz.workbench.data import health
from simviz.workbench.shell import display, forms, preferences, progress, runs, state

#: What was decided on pairs, by the ids of their items: a word, or a word and the id of what is
#: taken in place of one of them; the last one last.
Decisions = Mapping[tuple[str, str], str]
#: What decisions come to: ids of both items and their grade, none for what is left out.
Corrected = Sequence[tuple[str, str, float]]
_INTRODUCTION = (
    "Models judge the pairs that they did not learn from; what a wrong pair looks like they learn "
    "from pairs that are swapped on purpose. A person decides, the most suspicious pair first; "
    "these data stay as they are."
)
_CAUTIOUS = (
    "Where few pairs are wrong, probabilities are cautious, while the order is good: look below "
    "one half, too."
)
#: What a decision comes to, in the list of decisions and in its file.
_DECIDED = {
    "right": "right",
    "wrong": "wrong",
    "later": "later",
    "y": "takes another partner",
    "x": "belongs to another one",
    "add": "right, and a further partner",
}
_LATER = "later"
_LONGEST = 2_000  # characters of a text
_SHOWN = 50  # decisions in the list
# In the session: which pairs are gone through, and what went wrong.
_KIND, _PROBLEM = "data-audit-kind", "data-audit-problem"


@dataclass(frozen=True, slots=True, eq=False)
class Audited:
    """What an audit found: a column a property, a row a pair, the most suspicious first."""

    columns: Mapping[str, Any]
    share_wrong: float
    precision: float
    notes: Sequence[str]
    #: Positions of the items of each side by their ids.
    places: Mapping[str, Mapping[str, int]]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The ids of each pair."""
        return list(zip(self.columns["x_id"], self.columns["y_id"], strict=True))

    @property
    def is_listed(self) -> Any:
        """Which pairs are probably wrong."""
        return self.columns["probability_wrong"] > LISTED

    def place(self, row: int, column: str) -> int:
        """Return the position of the item that a column names; -1 where it names none."""
        return self.places[column.split("_")[-2]].get(self.columns[column][row], -1)


def show_line(info: DatasetInfo, pairs: PairSet) -> None:
    """Say beside the health of the data what their audit found, or that there is one."""
    if reason := why_no_audit(pairs):
        display.quiet(f"Which pairs are wrong? {reason}")
        return
    status, label = progress.last_attempt(_request(info.id, pairs.digest)), "Audit the pairs"
    text = "Which pairs are wrong? Models can judge those that they did not learn from."
    if status is not None and status.is_active:
        text, label = "The pairs are being audited.", "See it"
    elif status is not None and status.state == "succeeded":
        with display.problems():
            audited = load_audit(status.id, state.workspace(), pairs)
            text, label = _summary(audited, _decisions(info.id)), "See them"
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        display.quiet(text)
        choose = st.session_state.__setitem__
        forms.button(label, "data-audit-open", choose, "data-view", "audit")


def show(info: DatasetInfo, pairs: PairSet) -> None:
    """Show the audit of a data set: what it found, what is to be decided, what comes of that."""
    display.name(info.name)
    health.offer_undo(info)
    if problem := st.session_state.pop(_PROBLEM, ""):
        display.problem(problem)
    display.quiet(_INTRODUCTION)
    spec = _request(info.id, pairs.digest)
    status = progress.last_attempt(spec)
    audited = None
    if status is not None and status.state == "succeeded":
        with display.problems():
            audited = load_audit(status.id, state.workspace(), pairs)
    elif status is not None:
        progress.show_progress([status.id], key="data-audit")
        return
    if audited is None:
        _offer(spec, pairs)
        return
    decided = _decisions(info.id)
    display.sentence(_summary(audited, decided))
    display.quiet(audited.notes[0] if audited.precision < LITTLE else _CAUTIOUS)
    with st.expander("What an audit of these data cannot know", type="compact"):
        display.notes(audited.notes)
    _show_queue(info, pairs, audited, decided)
    if decided:
        _show_decided(info, pairs, audited, decided)
        _show_cleaned(info, pairs, audited, decided)
        _show_training(info, pairs, decided)


def _request(dataset_id: str, digest: str) -> AuditSpec:
    return AuditSpec(dataset_id, digest, AUDIT, workspace=state.workspace())


def _sides(pairs: PairSet) -> tuple[tuple[str, Items], tuple[str, Items]]:
    return ("x", pairs.x), ("y", pairs.y)


def _offer(spec: AuditSpec, pairs: PairSet) -> None:
    expected = spec.estimate(pairs)
    if expected.reason_to_refuse is not None:
        display.problem(expected.reason_to_refuse)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        n = counted(pairs.relevance.positives.nnz, "pair")
        forms.button(f"Audit {n}", "data-audit", _submit, spec, type="primary")
        display.quiet(f"{progress.duration(expected.seconds)}, in the background")


@display.problems(show=display.later(_PROBLEM))
def _submit(spec: AuditSpec) -> None:
    state.queue().submit(spec)


# A finished audit never changes; the workspace keeps one visitor's from another.
@st.cache_resource(show_spinner=False, max_entries=16)
def load_audit(job_id: str, workspace: str, _pairs: PairSet) -> Audited:
    """What the job found."""
    result = state.queue().result(job_id, workspace).value
    return Audited(**result, places={side: _places(items) for side, items in _sides(_pairs)})


def _places(items: Items) -> dict[str, int]:
    return {str(i): at for at, i in enumerate(items.ids)}


def _decisions(dataset_id: str) -> Decisions:
    """Return what was decided on the pairs of a data set, the last one last."""
    stored = state.store().decisions.find(dataset_id, state.workspace())
    return {(x, y): verdict for x, y, verdict in stored}


def _summary(audited: Audited, decided: Decisions) -> str:
    keys, listed = audited.keys, np.flatnonzero(audited.is_listed)
    n_open = sum(decided.get(keys[row], "later") == "later" for row in listed)
    text = f"{counted(len(listed), 'pair')} of {len(keys):,} "
    text += "is probably wrong" if len(listed) == 1 else "are probably wrong"
    if n_open < len(listed):
        text += f", {n_open:,} still to be decided" if n_open else ", all decided"
    is_seen = audited.share_wrong >= 0.005
    share = f"about {percent(audited.share_wrong)}" if is_seen else "fewer than 1 %"
    return f"{text}; models take {share} of all pairs for wrong."


# -- one pair after another -----------------------------------------------------------


def _show_queue(info: DatasetInfo, pairs: PairSet, audited: Audited, decided: Decisions) -> None:
    """Show the pair that is to be decided next, and what can be said of it."""
    kinds, counts = np.unique(audited.columns["kind"].astype(str), return_counts=True)
    labels = {"": "All, the most suspicious first"}
    labels |= {k: f"{k}: {n:,}" for k, n in zip(kinds.tolist(), counts.tolist(), strict=True) if k}
    if n_later := list(decided.values()).count(_LATER):
        labels[_LATER] = f"left for later: {n_later:,}"
    if st.session_state.get(_KIND) not in labels:
        st.session_state[_KIND] = ""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox("Pairs", **forms.options(labels), key=_KIND, width=330)
        if decided:
            x, y = list(decided)[-1]
            forms.quiet_button(
                "Undo",
                "data-audit-undo",
                _undo,
                info.id,
                x,
                y,
                icon="undo",
                shortcut="U",
                help="Takes the last decision back.",
            )
    row = _next(audited, decided, kind)
    if row is None:
        display.sentence("All of these pairs are decided.")
        return
    _show_pair(info, pairs, audited, row)


def _next(audited: Audited, decided: Decisions, kind: str) -> int | None:
    """Return the pair that comes next; what was left for later comes after all others."""
    verdicts = np.array([decided.get(key, "") for key in audited.keys])
    is_later = verdicts == _LATER
    is_open = is_later if kind == _LATER else (verdicts == "") | is_later
    if kind not in ("", _LATER):
        is_open &= audited.columns["kind"] == kind
    rows = np.flatnonzero(is_open)
    if not len(rows):
        return None
    return int(rows[np.lexsort((~audited.is_listed[rows], is_later[rows]))[0]])


def _show_pair(info: DatasetInfo, pairs: PairSet, audited: Audited, row: int) -> None:
    columns, (x_id, y_id) = audited.columns, audited.keys[row]
    kind, probability = columns["kind"][row], columns["probability_wrong"][row]
    decide = partial(_decide_button, info.id, x_id, y_id, row)
    chip = f'<i class="sv-look">{escape(kind)}</i>' if kind else ""
    number = f"of {probability:.2f}" if probability >= 0.005 else "below 0.01"
    text = f"Wrong with a probability {number}"
    if len(set(columns["grade"].tolist())) > 1:
        text += f", grade {columns['grade'][row]:g}"
    st.html(f'<p class="sv-said sv-doubted">{chip}{text}.</p>')
    sides = {"x": (pairs.x, pairs.headings[0]), "y": (pairs.y, pairs.headings[1])}
    for place, (side, (items, heading)) in zip(st.columns(2), sides.items(), strict=True):
        with place:
            display.quiet(heading)
            st.html(_item_html(items, audited.place(row, f"{side}_id")))
    with st.container(horizontal=True, gap="small"):
        decide("right", "Right", "check", "Y")
        decide("wrong", "Wrong", "close", "N")
        decide("later", "Later", "schedule", "L")
    is_missing = kind == "missing positive"
    for place, (side, (items, _)) in zip(st.columns(2), sides.items(), strict=True):
        better = audited.place(row, f"better_{side}_id")
        if better < 0 or (is_missing and side == "x"):
            continue
        with place:
            display.quiet("May belong here, too:" if is_missing else "Would suit better:")
            st.html(_item_html(items, better))
            word, label = ("add", "Add this one") if is_missing else (side, "Take this one")
            decide(f"{word} {items.ids[better]}", label, "swap_horiz", "XT"[side == "y"])
            if side == "y" and (why := columns["why"][row]):
                display.quiet(f"What speaks for it: {why}.")


def _item_html(items: Items, at: int) -> str:
    picture = display.item_picture(items, at, 96)
    image = f'<img src="{picture}" alt="">' if picture else ""
    text = escape(display.item_label(items, at, _LONGEST))
    return f'<div class="sv-audited">{image}<p dir="auto">{text}</p></div>'


def _decide_button(
    dataset_id: str, x: str, y: str, row: int, verdict: str, label: str, icon: str, key: str
) -> None:
    # By another key for each pair: what is pressed twice decides no pair that nobody saw.
    name, pressed = f"data-audit-{verdict.partition(' ')[0]}-{row}", (dataset_id, x, y, verdict)
    forms.button(label, name, _decide, *pressed, icon=icon, shortcut=key)


@display.problems(show=display.later(_PROBLEM))
def _decide(dataset_id: str, x: str, y: str, verdict: str) -> None:
    state.store().decisions.put(dataset_id, state.workspace(), [(x, y, verdict)])


@display.problems(show=display.later(_PROBLEM))
def _undo(dataset_id: str, x: str, y: str) -> None:
    state.store().decisions.drop(dataset_id, state.workspace(), x, y)


# -- what was decided -----------------------------------------------------------------


def _show_decided(info: DatasetInfo, pairs: PairSet, audited: Audited, decided: Decisions) -> None:
    more = f", the last {_SHOWN} here" if len(decided) > _SHOWN else ""
    lines = [
        (_decision_text(pairs, audited, *key, verdict), partial(_undo, info.id, *key))
        for key, verdict in list(decided.items())[: -_SHOWN - 1 : -1]
    ]
    display.undoable(f"{counted(len(decided), 'decision')} kept{more}", lines, "data-audit")


def _decision_text(pairs: PairSet, audited: Audited, x: str, y: str, verdict: str) -> str:
    what, _, other = verdict.partition(" ")
    ids = {"x": x, "y": y, "other": other}
    sides = {"x": pairs.x, "y": pairs.y, "other": pairs.x if what == "x" else pairs.y}
    texts = {}
    for name, items in sides.items():
        at = audited.places["y" if items is pairs.y else "x"].get(ids[name])
        texts[name] = ids[name] if at is None else display.item_label(items, at, 80)
    text = f"{texts['x']} – {texts['y']}: {_DECIDED.get(what, what)}"
    return f"{text}, {texts['other']}" if other else text


def _show_cleaned(info: DatasetInfo, pairs: PairSet, audited: Audited, decided: Decisions) -> None:
    """Offer the decisions as a file, and what the pairs are by them as another data set."""
    corrections = _corrections(pairs, decided)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        make, name = partial(list_text, pairs, audited, decided), f"{pairs.name}-audit.csv"
        forms.download("Download the list", make, name, key="data-audit-list")
        if not corrections:
            return
        n_out = sum(grade <= 0 for _, _, grade in corrections)
        label = f"Leave out {counted(n_out, 'pair')}, put in {len(corrections) - n_out:,}"
        remedy = Remedy(label, Corrections(corrections).transform, pairs.shape)
        split = preferences.current_split(info.id)
        forms.button(
            "Keep the cleaned pairs as a data set",
            "data-audit-keep",
            health.mend,
            info,
            pairs,
            split,
            "decisions of an audit",
            remedy,
            help=f"{label}. This data set is kept.",
        )


def list_text(pairs: PairSet, audited: Audited, decided: Decisions) -> str:
    """Return all pairs in the order of the audit, with what was decided, as a CSV file."""
    names = ("x_id", "y_id", "probability_wrong", "kind", "better_x_id", "better_y_id", "why")
    head = [pairs.x_name, pairs.y_name, *names, "decision", "taken_id"]
    lines = []
    for row, key in enumerate(audited.keys):
        what, _, other = decided.get(key, "").partition(" ")
        texts = (
            display.item_text(items, audited.place(row, f"{side}_id"), None)
            for side, items in _sides(pairs)
        )
        values = [audited.columns[name][row] for name in names]
        lines.append([*texts, *values, _DECIDED.get(what, ""), other])
    return csv_text([head, *lines])


def _corrections(pairs: PairSet, decided: Decisions) -> list[tuple[str, str, float]]:
    """Return what decisions come to, as pairs of ids with their grades; what is put in, last."""
    relevance = pairs.relevance
    # Where what is not listed is unknown, a pair that is wrong is known to be.
    ignores_unjudged = relevance.unjudged == "ignore" and relevance.kind != "score"
    x_at, y_at = _places(pairs.x), _places(pairs.y)
    out, put = [], []
    for (x, y), verdict in decided.items():
        what, _, other = verdict.partition(" ")
        if what in ("right", "later") or x not in x_at or y not in y_at:
            continue
        if what != "add":
            out.append((x, y, -1.0 if ignores_unjudged else 0.0))
        if other:
            grade = float(relevance.matrix[x_at[x], y_at[y]])
            put.append((other, y, grade) if what == "x" else (x, other, grade))
    return out + list(dict.fromkeys(put))


# -- both models ----------------------------------------------------------------------


def _show_training(info: DatasetInfo, pairs: PairSet, decided: Decisions) -> None:
    """Offer to train a method on the cleaned pairs, and compare both models."""
    corrections = _corrections(pairs, decided)
    infos = [run for run in state.runs(info.id) if _learns(run)]
    if not corrections:
        return
    st.markdown("#### Train again on the cleaned pairs")
    if not infos:
        display.quiet("Train a method that learns from pairs first; this trains it once more.")
        return
    labels = runs.label_runs(infos)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        run_id = st.selectbox("Run", **forms.options(labels), key="data-audit-run", width=330)
        run = state.run(run_id)
        n_learned = _n_learned(run, pairs, corrections)
        cleaned = _cleaned_request(run, corrections)
        is_there = state.store().runs.has(cleaned.digest)
        status = None if is_there else progress.last_attempt(cleaned)
        if n_learned and not is_there and not (status and status.is_active):
            forms.button(
                "Train again on the cleaned pairs",
                "data-audit-train",
                _train_again,
                info.id,
                run_id,
                corrections,
                icon="model_training",
            )
    text = f"{n_learned:,} of {counted(len(corrections), 'change')}"
    display.quiet(
        f"{text} {'is' if n_learned == 1 else 'are'} among the pairs that this run learned from."
    )
    if status is not None and status.state != "succeeded":
        progress.show_progress([status.id], key="data-audit-train")
    if is_there:
        with display.problems():
            _compare(run, state.run(cleaned.digest), pairs, corrections)


def _learns(run: RunInfo) -> bool:
    cls = all_methods().get(run.method)
    kinds = [step.get("kind") for step in run.spec.get("augment", ())]
    return cls is not None and cls.tags.uses != "unsupervised" and Corrections.kind not in kinds


def _n_learned(run: Run, pairs: PairSet, corrections: Corrected) -> int:
    """Count the changes that are within the training part of a run."""
    parts = run.arrays()
    x, y = (set(items.ids[parts[f"{side}_train"]]) for side, items in _sides(pairs))
    return sum(a in x and b in y for a, b, _ in corrections)


def _cleaned_request(run: Run, corrections: Corrected) -> JobSpec:
    request = JobSpec.from_json(run.spec, state.workspace())
    step = {"kind": Corrections.kind, "pairs": [list(one) for one in corrections]}
    return replace(request, augment=(step, *request.augment))


@display.problems(show=display.later(_PROBLEM))
def _train_again(dataset_id: str, run_id: str, corrections: Corrected) -> None:
    """Ask for the same method on the same split, its training pairs cleaned."""
    run = state.run(run_id)
    cleaned = _cleaned_request(run, corrections)
    if not run.info.is_demo:
        progress.train_again(run, cleaned.augment)
        return
    # The runs of a demo belong to all; its copy gets what this page shows of the demo.
    progress.train_again(run, cleaned.augment[1:], cleaned.augment)
    store, mine, own = state.store(), state.workspace(), str(state.current_dataset_id())
    store.decisions.put(own, mine, store.decisions.find(dataset_id, mine))
    state.queue().submit(_request(own, cleaned.dataset_digest))


def _compare(before: Run, now: Run, pairs: PairSet, corrections: Corrected) -> None:
    """Show how both models do on held-out queries of which no pair was changed."""
    part = preferences.current_part(before.info.dataset_id)
    if part not in before.measured or part not in now.measured:
        progress.explain_missing_part([runs.run_title(before.info)], part)
        return
    direction = preferences.current_direction(before.info.dataset_id, pairs)
    old, new = (run.part(part).evaluation for run in (before, now))
    query_direction = direction if direction in old.directions else old.directions[0]
    metric = query_metric(runs.default_metric_of(before.info.dataset_id, pairs))
    side, at = ("x", 0) if query_direction == "x2y" else ("y", 1)
    queries = dict(_sides(pairs))[side].ids[before.arrays()[f"{side}_{part}"]]
    a, b = (one.per_query(metric, query_direction) for one in (old, new))
    counts = ~np.isnan(a)
    is_unchanged = counts & ~np.isin(queries.astype(str), [one[at] for one in corrections])
    if not is_unchanged.any():
        display.quiet(f"Every query of the {part} part has a pair that was decided.")
        return
    n_same, n_all, name = int(is_unchanged.sum()), int(counts.sum()), metric.name
    here, everywhere = a[is_unchanged].mean(), a[counts].mean()
    verdict = paired_randomization(b[is_unchanged], a[is_unchanged]).describe(
        "The model of the cleaned pairs",
        "that of the pairs as given",
        name,
        higher_is_better=metric.higher_is_better,
    )
    display.sentence(f"{verdict}.")
    text = f"{name} {here:.3f} before, {b[is_unchanged].mean():.3f} now"
    if n_same == n_all:
        display.quiet(f"{text}. No decision is about the {part} part: these are all its queries.")
        return
    harder = (here < everywhere) == metric.higher_is_better
    display.quiet(
        f"{text}, on the {n_same:,} of {n_all:,} {part} queries of which no pair was changed; as "
        f"given, they are the same for both. They are {'harder' if harder else 'easier'} than all "
        f"({name} {everywhere:.3f} before): an audit doubts what models rank low, and what was "
        "doubted and changed is left out."
    )
