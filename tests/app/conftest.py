"""Fixtures of the page tests: stores with trained runs, and pages opened on them.

A module of tests names its page (``PAGE = "compare"``, none for Home) and may
define its own `home`; `app` is the page on an empty store, `visit` opens pages
on `home`.
"""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from waiting import LONG

from simviz.data import PairSet
from simviz.jobs import JobQueue, JobSpec, spec
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now
from simviz.store import Store
from simviz.store.datasets import Datasets
from simviz.workbench import home
from simviz.workbench.shell import empty, progress, state

APP = Path(__file__).parents[2] / "app.py"


@dataclass(frozen=True)
class Home:
    """A store with one workspace, its data sets and its finished runs, by their names."""

    root: Path
    mine: str
    pairs: dict
    data: dict
    runs: dict
    jobs: dict

    @property
    def store(self):
        return Store(self.root)

    def run(self, name):
        return self.store.runs.get(self.runs[name], self.mine)

    def copy(self, root):
        """The same at another place, for a test that writes."""
        shutil.copytree(self.root, root)
        return replace(self, root=root)


@pytest.fixture(scope="session", autouse=True)
def known_components():
    """Each new AppTest asks all installed packages for components, which takes longer than to
    run a page; what is installed stays the same. Streamlit has no option for it."""
    with pytest.MonkeyPatch.context() as patch:
        scan = manifest_scanner.scan_component_manifests
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(scan))
        yield


@pytest.fixture(scope="session", autouse=True)
def known_costs():
    """Train asks what each of 26 methods would cost, on data that many tests have in common."""
    with pytest.MonkeyPatch.context() as patch:
        estimate, known = spec.estimate, {}

        def remembered(method, pairs, params, features):
            key = json.dumps([method, pairs.digest, params, features], sort_keys=True, default=str)
            if key not in known:
                known[key] = estimate(method, pairs, params, features)
            return known[key]

        patch.setattr(spec, "estimate", remembered)
        yield


@pytest.fixture(scope="session")
def give_demos():
    """Has stores give these pairs for demos, by their ids, and pages know others of these.

    Until a patch is undone.
    """

    def give(patch, demos, **known):
        for module in (empty, home, progress, state):
            patch.setattr(module, "DEMOS", module.DEMOS | known)
        get = Datasets.get

        def given(self, dataset_id, workspace=None):
            found = demos.get(dataset_id.removeprefix("demo:"))
            return get(self, dataset_id, workspace) if found is None else found

        patch.setattr(Datasets, "get", given)

    return give


@pytest.fixture(scope="session")
def make_home(tmp_path_factory):
    """Makes a store of data sets by name, and of runs: (data, method[, params[, split]]).

    Drawn are runs on data sets of one's own, and those on demos that `drawn` names.
    """

    def make(pairs, runs, drawn=()):
        store = Store(tmp_path_factory.mktemp("home"))
        mine = store.workspaces.create()
        data = {name: store.datasets.put(one, mine) for name, one in pairs.items()}
        trained, jobs = {}, {}
        with JobQueue(store, limit=40) as queue:
            for name, (on, *how) in runs.items():  # one by one: equal runs stand by their age
                is_drawn = on in pairs or name in drawn
                on = data.setdefault(on, on)  # a demo by its own name
                digest = store.datasets.get(on, mine).digest
                jobs[name] = queue.submit(JobSpec(on, digest, *how, workspace=mine))
                status = queue.wait(jobs[name], LONG)
                assert status.run_id, f"{name}: {status.message}"
                trained[name] = status.run_id
                if is_drawn:  # as if it had been opened on the map once
                    drawn_on = store.datasets.get(on, mine)
                    draw_now(store.runs.get(status.run_id), drawn_on, QUICK_LAYOUT)
        return Home(store.root, mine, pairs, data, trained, jobs)

    return make


@pytest.fixture(scope="session")
def letters():
    """Pairs of texts of a few letters, some of which both sides share."""
    triples = list(itertools.product("abcd", "efgh", "ijkl"))
    left = [f"{a}{b} {b}{c} {c}{a}" for a, b, c in triples]
    right = [f"{c}{a} {a}{b} seen" for a, b, c in triples]
    return PairSet.from_texts(left, right, name="<img src=x onerror=alert(1)> **b** $c$")


@pytest.fixture(scope="session")
def _server():
    """What the pages of this process serve: one store at a time."""
    served = {}

    def stop():
        if served:
            state.queue().close()
            state.claim_store().close()
            served.clear()
        # Also where a test that serves none has made a store by what it asked.
        st.cache_resource.clear()
        st.cache_data.clear()

    def start(root):
        if served.get("root") != root:  # else the caches stay, as they do between visitors
            stop()
            served["root"] = root

    yield start, stop
    stop()


@pytest.fixture
def serve(_server, monkeypatch):
    """Lets the pages of this process serve a store."""
    started = []

    def start(root):
        _server[0](root)
        monkeypatch.setenv("SIMVIZ_HOME", str(root))
        started.append(root)

    yield start
    if started:
        with state.store()._directory.index.writing() as db:
            db.execute("DELETE FROM shown")  # what a test chose is not kept for the next


@pytest.fixture(scope="session")
def open_page():
    """Opens a page in a new browser, of this workspace if one is given; not run yet."""

    def opened(page=None, workspace=None):
        app = AppTest.from_file(APP, default_timeout=LONG)
        if page:
            app.switch_page(f"pages/{page}.py")
        if workspace:
            app.session_state["workspace"] = workspace
        return app

    return opened


@pytest.fixture
def app(request, tmp_path, serve, open_page):
    """The page of this module on an empty store, not run yet."""
    serve(tmp_path / "store")
    return open_page(getattr(request.module, "PAGE", None))


@pytest.fixture
def visit(request, home, serve, open_page):
    """Opens a page on `home`, as another browser of the same workspace would."""
    serve(home.root)

    def opened(page=None, *, workspace=home.mine, session=None, **params):
        seen = open_page(page or getattr(request.module, "PAGE", None), workspace)
        for name, value in (session or {}).items():
            seen.session_state[name] = value
        for name, value in params.items():
            seen.query_params[name] = value
        seen.run()
        assert not seen.exception, seen.exception
        return seen

    return opened
