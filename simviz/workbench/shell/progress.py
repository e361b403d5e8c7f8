"""Jobs on a page: lines that move while something runs, and buttons to stop it."""

from __future__ import annotations

import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from simviz import compilation
from simviz.datasets import DEMOS
from simviz.exceptions import SimvizError
from simviz.jobs import JobSpec, JobStatus
from simviz.jobs.background import BackgroundTasks
from simviz.jobs.spec import AuditSpec
from simviz.markdown import escape_markdown
from simviz.methods import all_methods
from simviz.store.run import Part, Run
from simviz.workbench.shell import display, forms, preferences, query_params, state

DOING = {
    "compiling": "starting",  # what it waited for has just ended
    "reading": "reading the data",
    "features": "computing features",
    "training": "training",
    "scoring": "measuring",
    "searching": "trying settings",
    "auditing": "judging pairs that models did not see",
}
#: What methods tell while they train that is worth a curve.
_WATCHED = ("loss", "perplexity", "validation")
#: Jobs up to which each has a button that cancels it, and waiting ones that are named.
_MAX_BUTTONS, _NAMED = 5, 8
#: Bars of jobs that have just ended, which the bars of others would stand beside.
_LEFT_OVER = 2
#: Seconds for which it is said that a job ended.
_NOTICE_SECONDS = 20.0
# In the session: jobs that were active when last asked, those that ended while another page was
# looked at, with the time, and those that a page shows itself.
_WERE_ACTIVE, _ENDED, _ON_PAGE = "jobs-were-active", "jobs-ended", "jobs-on-page"
ENDED = {
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
    "interrupted": ":material/power_off:",
}


def demo_specs(demo: str) -> list[JobSpec]:
    """What a demo trains when its button is pressed."""
    return [demo_spec(demo, method, params) for method, params in DEMOS[demo].methods.items()]


def demo_spec(demo: str, method: str, params: Mapping[str, Any]) -> JobSpec:
    """One method on a demo, on the demo's own split: the same request on every server."""
    dataset_id = f"demo:{demo}"
    digest, split = state.dataset(dataset_id).digest, preferences.demo_split(DEMOS[demo])
    return JobSpec(dataset_id, digest, method, dict(params), split, workspace=state.workspace())


def train_again(run: Run, *augments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Ask for the method of a run on its split, augmented in each of these ways; return the jobs.

    What is trained on a demo is everybody's: a private copy is made, and worked on from now on.
    """
    store, mine, own = state.store(), state.workspace(), run.info.dataset_id
    if run.info.is_demo:
        own = store.datasets.put(state.dataset(own), mine)
    request = replace(
        JobSpec.from_json(run.spec, mine),
        dataset_id=own,
        dataset_digest=store.datasets.info(own, mine).digest,
    )
    jobs = [state.queue().submit(replace(request, augment=tuple(steps))) for steps in augments]
    if own != run.info.dataset_id:
        state.choose_dataset(own)
    return jobs


def show_progress(job_ids: Sequence[str], *, key: str) -> list[JobStatus]:
    """Show jobs until all have ended; the page runs anew whenever one does."""
    statuses = [state.queue().status(job_id, state.workspace()) for job_id in job_ids]
    active = [s for s in statuses if s.is_active]
    names = titles(statuses)
    shown = st.session_state.setdefault(_ON_PAGE, {})
    shown.setdefault(query_params.current_page(), set()).update(job_ids)
    if active:
        _watch([s.id for s in active], names, key)
        # Of a long line, what waits is cancelled all at once, see the page.
        is_long = len(active) > _MAX_BUTTONS
        few = [s for s in active if s.state == "running"] if is_long else active
        with st.container(horizontal=True):
            for status in few:
                label, cancel = f"Cancel {names[status.id]}", f"{key}-cancel-{status.id}"
                job = status.id, state.workspace()
                forms.quiet_button(label, cancel, state.queue().cancel, *job, icon="close")
    for status in statuses:
        if status.state in ENDED:
            _show_end(status, names[status.id], job_ids, key)
    return statuses


def last_attempt(spec: JobSpec) -> JobStatus | None:
    """The last attempt at a request, if this workspace made one."""
    return next((status for status in state.jobs() if status.digest == spec.digest), None)


def title(status: JobStatus) -> str:
    """The method of a job, by its title."""
    return status.spec.title if status.spec else "job"


def titles(statuses: Sequence[JobStatus]) -> dict[str, str]:
    """Titles of jobs by their id; equal ones are told apart by what was set."""
    counts = Counter(title(status) for status in statuses)
    titles_of = {}
    for status in statuses:
        name, spec = title(status), status.spec
        if counts[name] > 1 and spec is not None and spec.method in all_methods():
            changed = dict(spec.non_default_params)
            changed |= {"seed": spec.split.seed} if spec.split.seed else {}
            name += f", {forms.describe(changed)}" if changed else ""
        titles_of[status.id] = name
    return titles_of


def _show_end(status: JobStatus, name: str, job_ids: Sequence[str], key: str) -> None:
    why = ": the app was restarted" if status.state == "interrupted" else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{ENDED[status.state]} **{name}** {status.state}{why}", width="content")
        again = f"{key}-again-{status.id}"
        forms.quiet_button("Retry", again, repeat_in_place, status.id, job_ids, icon="replay")
    if status.state == "failed":
        # The text names files and columns of the visitor: shown as text, never as markup.
        st.text(status.message)


@display.problems(show=display.toast)
def repeat_in_place(job_id: str, job_ids: Sequence[str]) -> None:
    """Start again; the new attempt takes the old one's place where the page keeps a list."""
    again = state.queue().repeat(job_id, state.workspace())
    # A second click, made before the page is drawn anew, finds the list already changed.
    if isinstance(job_ids, list) and job_id in job_ids:
        job_ids[job_ids.index(job_id)] = again


@st.fragment(run_every=0.5)
def _watch(job_ids: list[str], names: dict[str, str], key: str) -> None:
    statuses = [state.queue().status(job_id, state.workspace()) for job_id in job_ids]
    bars = st.container()
    # Before the bars, and in a place of its own: what is drawn last stays longest when it is old.
    if waiting := [s for s in statuses if s.state == "queued"]:
        _show_waiting(waiting, names)
    else:
        st.empty()
    with bars:
        for status in statuses:
            if status.state == "running":
                with st.container():
                    _show_running(status, names[status.id])
            else:
                st.empty()
        for _ in range(_LEFT_OVER):
            st.empty()
    if not all(s.is_active for s in statuses):
        st.rerun()


def _show_running(status: JobStatus, name: str) -> None:
    doing = DOING.get(status.stage, status.stage or "starting")
    if status.stage == "compiling":
        doing = compilation.progress() or doing
    texts = [f"**{name}**", doing, _time(status), *_measured(status)]
    st.progress(min(1.0, status.fraction), text=" · ".join(texts))
    curves = [
        _sparkline(name, values)
        for name in _WATCHED
        if len(values := [h[name] for h in status.history if name in h]) > 2
    ]
    if curves:
        st.html(f'<div style="display:flex;flex-wrap:wrap;gap:.2rem 2rem">{"".join(curves)}</div>')


def _measured(status: JobStatus) -> list[str]:
    """Figures that are known while the rest is still measured; of the test where it is shown."""
    if status.spec is None:
        return []
    shown = {"validation", preferences.current_part(status.spec.dataset_id)}
    figures = {name: value for event in status.history for name, value in event.items()}
    return [
        f"{escape_markdown(name)} {value:.3f}"
        for name, value in figures.items()
        if " " in name and name.partition(" ")[0] in shown
    ]


def _time(status: JobStatus) -> str:
    """What a running job may still take, else how long it has taken."""
    if (left := status.eta_seconds) is not None:
        return f"{duration(left)} left"
    return f"{max(0.0, time.time() - (status.started or time.time())):.0f} s so far"


def duration(seconds: float) -> str:
    """Return a rough time in words; of a shorter time never a longer one."""
    if seconds < 10:
        return f"about {max(1, round(seconds))} s"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 5_400:
        return f"about {round(seconds / 60)} min"
    return f"about {seconds / 3_600:.1f} h"


def _show_waiting(waiting: Sequence[JobStatus], names: Mapping[str, str]) -> None:
    places = {s.id: s.queue_position or 1 for s in waiting}
    titles = [names[i] for i in sorted(places, key=places.__getitem__)]
    if len(titles) > _NAMED:
        counts = Counter(map(title, waiting))
        titles = [f"{name} × {n}" if n > 1 else name for name, n in counts.items()]
    more = f" and {len(titles) - _NAMED} more" if len(titles) > _NAMED else ""
    ahead = min(places.values()) - 1
    before = f" after {ahead:,} {'job' if ahead == 1 else 'jobs'} of others" if ahead else ""
    st.caption(f"Next{before}: {'; '.join(titles[:_NAMED])}{more}")


def _sparkline(name: str, values: Sequence[float]) -> str:
    """A small curve; a chart drawn anew twice a second would keep the page busy."""
    low, high = min(values), max(values)
    scale = 30 / (high - low) if high > low else 0.0
    step = 300 / (len(values) - 1)
    points = " ".join(
        f"{i * step:.1f},{32 - (value - low) * scale:.1f}" for i, value in enumerate(values)
    )
    text = f"{name.capitalize()} {values[0]:.3g} at first, {values[-1]:.3g} now"
    # As an image: Streamlit takes drawings out of HTML.
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 34" width="300" height="34">'
        f'<polyline points="{points}" fill="none" stroke="#8a8a86" stroke-width="1.5"/></svg>'
    )
    source = f"data:image/svg+xml;base64,{b64encode(drawing.encode()).decode()}"
    return (
        # On a phone the curve gives way, the figure stays whole.
        f'<span style="display:flex;align-items:center;gap:.4rem;max-width:100%">'
        f'<img src="{source}" alt="{text}" style="flex:0 1 300px;min-width:0;height:34px">'
        f'<span style="opacity:.7;font-size:.85rem;white-space:nowrap">'
        f"{name} {values[-1]:.3g}</span></span>"
    )


# -- jobs that end while another page is looked at ----------------------------------------


def has_ended_elsewhere() -> bool:
    """Whether a job ended since this was asked last that the page does not show itself."""
    statuses = state.jobs()
    before = st.session_state.get(_WERE_ACTIVE, frozenset())
    active = frozenset(status.id for status in statuses if status.is_active)
    st.session_state[_WERE_ACTIVE] = active
    shown = st.session_state.get(_ON_PAGE, {}).get(query_params.current_page(), ())
    ended = [
        s.id
        for s in statuses
        if s.id in before - active and s.id not in shown and s.state != "cancelled"
    ]
    st.session_state.setdefault(_ENDED, {}).update(dict.fromkeys(ended, time.monotonic()))
    return bool(ended)


def show_ended(place: DeltaGenerator) -> None:
    """Say which jobs ended elsewhere, with the way to what they found."""
    if not (state.is_warm() and state.has_workspace()):
        return
    with suppress(SimvizError):
        has_ended_elsewhere()
        known: dict[str, float] = st.session_state[_ENDED]
        known = {i: at for i, at in known.items() if time.monotonic() - at < _NOTICE_SECONDS}
        st.session_state[_ENDED], st.session_state[_ON_PAGE] = known, {}
        if known:
            # By another key whenever there is more to say: each is in sight for its time.
            key = f"jobs-ended-{round(max(known.values()) * 1_000)}"
            with place.container(key=key, gap="xsmall"):
                _show_notices([status for status in state.jobs() if status.id in known])


def _show_notices(statuses: Sequence[JobStatus]) -> None:
    names, data = titles(statuses), state.dataset_names()
    groups: dict[tuple[str, bool], list[JobStatus]] = {}
    for status in statuses:
        on = "" if status.spec is None else status.spec.dataset_id
        groups.setdefault((on, status.state == "succeeded"), []).append(status)
    for (on, is_done), group in groups.items():
        text = ", ".join(names[status.id] for status in group[::-1])
        where = f" on {data[on]}" if on in data else ""
        text = f"{'Finished' if is_done else 'Not finished'}{where}: {text}"
        st.html(f'<p class="sv-said" role="status">{escape(text)}</p>')
        spec = group[0].spec
        page, label, query = "compare", "Compare", {"data": on} if on else {}
        if is_done and isinstance(spec, AuditSpec):
            page, label, query = "data", "See it on Data", {**query, "view": "audit"}
        elif not is_done or spec is None or not any(status.run_id for status in group):
            page, label = "train", "See it on Train"
        how: Any = {"icon": ":material/arrow_forward:", "query_params": query or None}
        st.page_link(f"pages/{page}.py", label=label, **how)
    forms.quiet_button("Close", "close-jobs-ended", st.session_state[_ENDED].clear, icon="close")


# -- work beside the queue ------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def background(kind: str) -> BackgroundTasks:
    """The one worker of this server for a kind of work, which outlives every page."""
    return BackgroundTasks()


def show_background(kind: str, labels: Mapping[Any, str], doing: str) -> list[Any]:
    """Show what of some work, by its keys, is not done yet; answers with the keys of that."""
    known = {key: background(kind).progress(key) for key in labels}
    active = [key for key, progress in known.items() if progress and progress.is_active]
    if active:
        _watch_background(kind, {key: labels[key] for key in active}, doing)
    return active


def explain_missing_part(labels: Iterable[str], part: Part) -> None:
    """Say which runs bring no scores for a part."""
    for label in labels:
        text = f"{label}: It was imported without scores for the {part} part."
        st.caption(escape_markdown(text))


@st.fragment(run_every=0.7)
def _watch_background(kind: str, labels: Mapping[Any, str], doing: str) -> None:
    for key, label in labels.items():
        progress = background(kind).progress(key)
        if progress is None or not progress.is_active:
            st.rerun()
        text = "queued" if progress.state == "waiting" else doing
        st.progress(min(1.0, progress.fraction), text=f"**{escape_markdown(label)}** {text}")
