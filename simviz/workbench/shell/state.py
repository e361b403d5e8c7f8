"""Who is looking, at what: the server, workspace, store, queue, data set, runs, theme."""

from __future__ import annotations

import logging
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

import streamlit as st

from simviz import compilation
from simviz.data.cells import numbered
from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS, DemoInfo
from simviz.exceptions import SimvizError, StoreError
from simviz.jobs import JobStatus
from simviz.jobs.background import BackgroundTasks
from simviz.store import RunInfo, Share, Store, StoreLimits
from simviz.store.directory import LOCAL_WORKSPACE, claim, default_root
from simviz.store.run import Run
from simviz.store.store import Usage
from simviz.workbench.deployment import Deployment
from simviz.workbench.shell import log, query_params

if TYPE_CHECKING:
    from simviz.jobs import JobQueue

F = TypeVar("F", bound=Callable[..., Any])
COOKIE = "simviz_workspace"
#: Over TLS: by this name browsers take it from this very host alone, and never unencrypted.
SECURE_COOKIE = f"__Host-{COOKIE}"
_YEAR, _HOUR = 31_536_000, 3_600  # seconds
_ID = re.compile(r"[A-Za-z0-9:_-]{1,80}")
_RUN = re.compile(r"\b[0-9a-f]{32}\b")


def is_this_computer(host: str, address: str | None) -> bool:
    """Whether a visitor sits at the computer that the app runs on."""
    name = urlsplit(f"//{host}").hostname or ""
    return _is_loopback(name) and (address is None or _is_loopback(address))


def _is_loopback(name: str) -> bool:
    if name in ("", "localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    # A socket for both kinds of address tells 127.0.0.1 as ::ffff:127.0.0.1.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def cached(max_entries: int, spinner: str = "") -> Callable[[F], F]:
    """Keep what a function returns, for all visitors, by the `cache_key` of its arguments."""

    def keep(function: F) -> F:
        def call(key: Any, _args: Sequence[Any]) -> Any:
            return function(*_args)

        def by_key(*args: Any) -> Any:
            named = zip(names, args, strict=False)
            return lookup([_cache_key(value) for name, value in named if name[0] != "_"], args)

        names = function.__code__.co_varnames
        # By which Streamlit tells caches apart.
        call.__module__, call.__qualname__ = function.__module__, function.__qualname__
        keeping = st.cache_resource(show_spinner=spinner or False, max_entries=max_entries)
        lookup = keeping(call)
        by_key.clear = lookup.clear  # type: ignore[attr-defined]
        return cast(F, wraps(function)(by_key))

    return keep


def _cache_key(value: Any) -> Any:
    """What stands for an argument, or for each of several."""
    if hasattr(value, "cache_key"):
        return _cache_key(value.cache_key)
    return tuple(map(_cache_key, value)) if isinstance(value, list | tuple) else value


@st.cache_resource(show_spinner=False)
def deployment() -> Deployment:
    """How this server was set up; its log begins with it."""
    set_up = Deployment.of()
    log.start(is_json=set_up.log_is_json)
    details = {"public": set_up.public, "cluster": bool(set_up.scheduler)}
    logging.getLogger(__name__).info("server set up", details)
    return set_up


@st.cache_resource(show_spinner=False)
def claim_store() -> object:
    """Refuse to serve beside another server of the same store; have compiled what is not yet."""
    claimed = claim(default_root())
    compilation.start()
    return claimed


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """The one store of this server."""
    room = deployment()
    size, days = room.workspace_bytes, room.idle_days
    limits = StoreLimits(room.datasets, room.runs, bytes=size, idle_days=days)
    made = Store(limits=limits)
    _sweep(made)
    threading.Thread(target=_sweep_hourly, args=(made,), daemon=True).start()
    return made


def _sweep(of: Store) -> None:
    """Remove what nobody opened for long and links that ended."""
    with suppress(SimvizError, OSError):  # what cannot be removed now can be an hour later
        of.sweep()


def _sweep_hourly(of: Store) -> None:
    while True:
        time.sleep(_HOUR)
        _sweep(of)


@st.cache_resource(show_spinner=False)
def queue() -> JobQueue:
    """The one queue of this server; its threads outlive every page."""
    from simviz.jobs import JobQueue, memory

    room = deployment()
    memory.set_limit(room.memory_bytes)
    if room.scheduler:
        from simviz.jobs.cluster_queue import cluster_queue

        return cluster_queue(store(), room.scheduler, limit=room.jobs)
    return JobQueue(store(), limit=room.jobs)


@st.cache_resource(show_spinner=False)
def drawing_background() -> BackgroundTasks:
    """The one thread of this server that draws; what it draws outlives every page."""
    return BackgroundTasks(
        busy="Too many drawings wait. Ask again in a minute.",
        broken="The drawing could not be made. Take another one.",
    )


def is_warm() -> bool:
    """Whether the heavy libraries are loaded, so that asking the store is quick."""
    return "simviz.jobs.queue" in sys.modules and "sklearn.base" in sys.modules


def workspace() -> str:
    """The visitor's workspace, made at the first need."""
    # Whoever sits at the computer of a server that is not public has one and the same in every
    # browser; anybody else has one under an id that only their browser knows.
    if "workspace" not in st.session_state:
        workspaces, mine = store().workspaces, _known_workspace()
        if is_single_user():
            mine = workspaces.open(LOCAL_WORKSPACE)
        elif mine != LOCAL_WORKSPACE and _ID.fullmatch(mine) and workspaces.has(mine):
            workspaces.touch(mine)
        else:
            mine = workspaces.create()
        st.session_state.workspace = mine
    return str(st.session_state.workspace)


def has_workspace() -> bool:
    """Whether the visitor has a workspace already, so that nothing is made by asking for it."""
    known = _ID.fullmatch(_known_workspace()) is not None
    return "workspace" in st.session_state or known or is_single_user()


def _known_workspace() -> str:
    """What the browser says its workspace is."""
    cookies = st.context.cookies
    return str(cookies.get(SECURE_COOKIE) or cookies.get(COOKIE) or "")


def is_single_user() -> bool:
    """Whether the visitor needs no key: one person's server, on that person's computer."""
    host = st.context.headers.get("Host", "")
    return not deployment().public and is_this_computer(host, st.context.ip_address)


def remember_workspace() -> None:
    """Leave the workspace's id with the browser, for the visitor's next visit."""
    mine = st.session_state.get("workspace")
    is_secure = (st.context.url or "").startswith("https:")
    name, how = (SECURE_COOKIE, "; Secure") if is_secure else (COOKIE, "")
    if mine and mine != LOCAL_WORKSPACE and st.context.cookies.get(name) != mine:
        # The id is ours and of safe characters; nothing of the visitor goes into the script.
        cookie = f"{name}={mine}; path=/; max-age={_YEAR}; SameSite=Lax{how}"
        script = f'document.cookie = "{cookie}";'
        if is_secure:  # a visit without TLS left it, and would send it in the clear
            script += f' document.cookie = "{COOKIE}=; path=/; max-age=0";'
        st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def renew_workspace() -> None:
    """Begin anew where the workspace was deleted, in another tab or because nobody came."""
    mine = st.session_state.get("workspace")
    if mine and not store().workspaces.has(mine):
        st.session_state.clear()


def delete_everything() -> Usage:
    """Delete the visitor's workspace with all that is in it; the next page begins a new one."""
    mine = workspace()
    cancel_jobs()
    for info in store().datasets.find(mine):
        _dataset.clear(info.id, mine)
    gone = store().workspaces.delete(mine)
    st.session_state.clear()
    st.query_params.clear()
    return gone


def cancel_jobs(dataset_id: str | None = None) -> None:
    """Cancel the visitor's jobs, or those on one data set."""
    for job in jobs():
        on = job.spec.dataset_id if job.spec else None
        if job.is_active and dataset_id in (None, on):
            queue().cancel(job.id, workspace())


def retention_notice() -> str:
    """How long a workspace is kept, in words."""
    days = deployment().idle_days
    if math.isinf(days):
        return "Your workspace is kept until you delete it."
    return (
        "Your workspace is deleted when nobody has opened it, or a view published from it, for "
        f"{days:g} days."
    )


def theme() -> Literal["light", "dark"]:
    """The theme this visitor sees."""
    return "dark" if st.context.theme.type == "dark" else "light"


def is_narrow() -> bool:
    """Whether the page is likely read on a phone."""
    return "Mobi" in st.context.headers.get("User-Agent", "")


@st.cache_resource(show_spinner=False, max_entries=12)
def _dataset(dataset_id: str, owner: str) -> PairSet:
    return store().datasets.get(dataset_id, owner or None)


def share() -> Share | None:
    """The published view that the link opens, or None for an ordinary visit."""
    token = query_params.get("share")
    return store().shares.resolve(token) if token else None


def dataset(dataset_id: str) -> PairSet:
    """A data set the visitor may see, kept in memory for the next page."""
    seen = share()
    is_open = dataset_id.startswith("demo:") or (seen and dataset_id in seen.dataset_ids)
    return _dataset(dataset_id, "" if is_open else workspace())


def demo_of(dataset_id: str) -> DemoInfo | None:
    """The demo that a data set is, None for one's own."""
    return DEMOS.get(dataset_id.removeprefix("demo:")) if dataset_id[:5] == "demo:" else None


def current_dataset_id() -> str | None:
    """The data set being worked on, if there is one."""
    if not query_params.get("share"):
        return st.session_state.get("dataset_id")
    try:
        seen = share()
    except StoreError:  # the page says what is wrong with a dead link
        return None
    return seen.dataset_ids[0] if seen and seen.dataset_ids else None


def apply_query_params(page: str) -> None:
    """Work on what the visitor's address names: a published view, a data set, or one of runs."""
    new_params = query_params.new_params()
    seen = share() if "share" in new_params else None
    if seen is not None and st.session_state.get("share-seen") != new_params["share"]:
        # Once a visit: what a reader changes afterwards stays changed.
        names = seen.view if seen.kind == page.lower() else ("part", "direction")
        new_params |= {n: v for n, v in seen.view.items() if n in names and n not in new_params}
        st.session_state["share-seen"] = new_params["share"]
    # ``?demo=icons`` is short for ``?data=demo:icons``.
    dataset_id = (
        f"demo:{new_params['demo']}" if new_params.get("demo") else new_params.get("data", "")
    )
    for run_id in run_ids(new_params) if not dataset_id and seen is None else ():
        with suppress(SimvizError):
            dataset_id = run(run_id).info.dataset_id
            break
    if _ID.fullmatch(dataset_id):
        st.session_state.dataset_id = dataset_id
    for name in ("share", "demo", "data"):
        new_params.pop(name, None)


def run_ids(named: Mapping[str, str]) -> list[str]:
    """The runs that an address names."""
    return _RUN.findall(named.get("runs") or named.get("run", ""))


def open_last() -> str | None:
    """Work on the data set that was opened last in this workspace, if there is one."""
    if has_workspace() and (last := store().view_preferences.last(workspace())) is not None:
        st.session_state.dataset_id = last
    return st.session_state.get("dataset_id")


def remember_opened(dataset_id: str) -> None:
    """Keep which data set was opened last, for other tabs and the next visit."""
    if has_workspace() and st.session_state.get("opened") != dataset_id:
        st.session_state["opened"] = dataset_id
        with suppress(SimvizError):  # another's, or the disk is full: the page says so
            store().view_preferences.put_last(dataset_id, workspace())


def dataset_names() -> dict[str, str]:
    """What data sets are called, by their ids: one's own, the newest first, then the demos."""
    mine = workspace() if has_workspace() else ""
    infos = store().datasets.find(mine)
    names = [f"{info.name} (demo)" if info.is_demo else info.name for info in infos]
    # Counted from the oldest on: one more of the same name renames none.
    names = numbered(names[::-1])[::-1]
    return dict(zip((info.id for info in infos), names, strict=True))


def choose_dataset(dataset_id: str) -> None:
    """Work on this data set from now on."""
    if not _ID.fullmatch(dataset_id):
        raise ValueError(f"{dataset_id!r} is no id of a data set.")
    st.session_state.dataset_id = dataset_id
    st.session_state.pop("run_ids", None)
    query_params.replace({"data": dataset_id})


def rename_dataset(dataset_id: str, name: str, x_name: str, y_name: str) -> None:
    """Call a data set of one's own and its sides by other names, on all pages."""
    store().datasets.rename(dataset_id, workspace(), name, x_name, y_name)
    _dataset.clear(dataset_id, workspace())


def delete_dataset(dataset_id: str) -> None:
    """Stop what still trains on a data set, delete it, and work on it no longer."""
    cancel_jobs(dataset_id)
    store().datasets.delete(dataset_id, workspace())
    _dataset.clear(dataset_id, workspace())
    if st.session_state.get("dataset_id") == dataset_id:
        st.session_state.pop("dataset_id")
        st.session_state.pop("run_ids", None)
        query_params.replace({})


def runs(dataset_id: str) -> list[RunInfo]:
    """Finished runs on a data set that the visitor may see, newest first."""
    seen = share()
    if seen is not None:
        results = [store().runs.get(run_id).info for run_id in seen.run_ids]
        return [info for info in results if info.dataset_id == dataset_id]
    return store().runs.find(workspace(), dataset_id)


def jobs() -> list[JobStatus]:
    """The visitor's jobs, newest first; who only reads what is published needs no workspace."""
    if query_params.get("share") and "workspace" not in st.session_state:
        return []
    return queue().jobs(workspace())


def run(run_id: str) -> Run:
    """A run that the visitor may see."""
    seen = share()
    is_open = seen is not None and run_id in seen.run_ids
    return store().runs.get(run_id, None if is_open else workspace())
