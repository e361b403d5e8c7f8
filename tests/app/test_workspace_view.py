"""What a visitor is told about their workspace, and how they delete it; pages on a full disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections import namedtuple
from pathlib import Path

import pytest
from on_page import go, html, run, said
from streamlit.runtime.context import ContextProxy
from waiting import LONG

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.store.directory import LOCAL_WORKSPACE, SPARE_BYTES
from simviz.store.store import Workspaces

PAGE = "data"
APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture(scope="module")
def home(make_home):
    texts = [f"word {a}{b}" for a in "abcde" for b in "fghi"]
    pairs = PairSet.from_texts(texts, [t[::-1] for t in texts], name="words")
    home = make_home({"own": pairs}, {"cca": ("own", "cca", {"n_components": 3})})
    home.store.shares.publish(home.mine, "map", run_ids=[home.runs["cca"]])
    return home


@pytest.fixture
def public(monkeypatch, tmp_path, home, serve, open_page):
    """Opens pages of a public server on a copy of the store."""
    monkeypatch.setenv("SIMVIZ_PUBLIC", "1")
    copy = home.copy(tmp_path / "store")
    serve(copy.root)

    def opened(page=PAGE, workspace=home.mine, url=None, **params):
        app = open_page(page, workspace)
        if url:
            app.context["url"] = url
        return go(app, **params)

    opened.store = copy.store
    return opened


def test_the_page_says_what_is_used_and_until_when(public, home):
    app = public()
    shown = html(app)
    assert "1 of 30 data sets, 1 of 300 runs" in shown and "of 500 MB" in shown
    assert shown.count("14 days") >= 2, "beside the upload, and beside what is kept"
    fresh = public(workspace=None)
    assert "14 days" in html(fresh) and "Delete my workspace" not in str(fresh._tree)
    assert fresh.session_state.workspace not in (home.mine, LOCAL_WORKSPACE)
    assert fresh.session_state.workspace != public(workspace=None).session_state.workspace


def test_a_refusal_names_the_quota_and_what_to_do(public, home, monkeypatch, capsys):
    monkeypatch.setenv("SIMVIZ_WORKSPACE_DATASETS", "1")
    app = public()
    app.file_uploader[0].upload("secret.csv", b"query,document\nxylophone,b\nc,d\n").run()
    run(app.button(key="data-keep").click())
    assert "holds 1 data sets, as many as it may. Delete some first" in html(app)
    assert "2 pairs" in html(app), "the file still waits"
    told = capsys.readouterr().err
    assert "upload read" in told and "files=1 bytes=31 " in told
    assert not any(text in told for text in ("xylophone", "secret", home.mine))


def test_everything_is_deleted_and_the_page_says_so(public, home):
    app = public(data=home.data["own"], view="other")
    assert "1 data set, 1 run, 1 published view and 1 job go" in said(app)
    run(app.button(key="workspace-delete").click())
    assert "Deleted: 1 data set, 1 run, 1 published view and 1 job" in html(app)
    assert not public.store.workspaces.has(home.mine)
    assert app.session_state.workspace != home.mine
    assert not any((public.store.root / "datasets").iterdir())
    app.run()
    assert not app.exception and "Deleted:" not in html(app)
    # Another tab of the same browser goes on in a workspace that exists.
    other = public("train", data=home.data["own"])
    assert public.store.workspaces.has(other.session_state.workspace)


def cookies_set(app):
    return [e.proto.body for e in app.get("html") if "document.cookie" in e.proto.body]


def test_the_cookie_is_bound_to_the_host_where_there_is_tls(public, home):
    [plain] = cookies_set(public(url="http://example.org/data"))
    assert f'"simviz_workspace={home.mine}; path=/;' in plain and "Secure" not in plain
    [secure] = cookies_set(public(url="https://example.org/data"))
    assert f'"__Host-simviz_workspace={home.mine}; path=/;' in secure and "; Secure" in secure
    assert '"simviz_workspace=; path=/; max-age=0"' in secure, "that of a visit without TLS goes"


def test_at_home_all_browsers_see_the_same_workspace_and_keep_no_key(
    serve, open_page, tmp_path, monkeypatch
):
    serve(tmp_path / "store")
    monkeypatch.setattr(ContextProxy, "headers", property(lambda self: {"Host": "localhost:8501"}))
    monkeypatch.setattr(ContextProxy, "ip_address", property(lambda self: None))
    for browser in (open_page(PAGE), open_page(PAGE)):
        browser.run()
        assert not browser.exception and not cookies_set(browser)
        assert browser.session_state.workspace == LOCAL_WORKSPACE
    monkeypatch.setattr(ContextProxy, "ip_address", property(lambda self: "10.0.0.2"))
    [key] = cookies_set(other := open_page(PAGE).run())
    assert other.session_state.workspace in key


@pytest.mark.parametrize("name", ["simviz_workspace", "__Host-simviz_workspace"])
def test_cookies_of_both_names_are_read_and_keep_the_workspace(public, home, monkeypatch, name):
    with public.store._directory.index.writing() as db:
        db.execute("UPDATE workspaces SET touched=touched - 13 * 86400")
    cookies = {name: home.mine}
    if name.startswith("__Host-"):  # what another host of the domain may have set
        cookies["simviz_workspace"] = public.store.workspaces.create()
    monkeypatch.setattr(ContextProxy, "cookies", property(lambda self: cookies))
    assert public(workspace=None).session_state.workspace == home.mine
    with public.store._directory.index.reading() as db:
        query = "SELECT touched - created FROM workspaces WHERE id=?"
        (age,) = db.execute(query, (home.mine,)).fetchone()
    assert age > -3_600, "a visit keeps a workspace, even one that trains nothing"


# Pages are looked at twice: with room on the disk, so that all is compiled, then in another run of
# the server, where no byte can be written to any file.
WITHOUT_ROOM = """
    import resource, signal, sys
    from functools import cache
    import streamlit as st
    from streamlit.components.v2 import manifest_scanner
    from streamlit.testing.v1 import AppTest
    from simviz.workbench.shell import state

    # As in the other tests of pages: what is installed stays the same.
    scan = manifest_scanner.scan_component_manifests
    manifest_scanner.scan_component_manifests = cache(scan)
    app, mine, token, data = sys.argv[1:]

    def look():
        told = []
        for page in ("data", "train", "compare", "map", "search", "methods", "papers"):
            for who, params in ((mine, {"data": data}), (None, {"share": token})):
                seen = AppTest.from_file(app, default_timeout=600).switch_page(f"pages/{page}.py")
                if who:
                    seen.session_state["workspace"] = who
                seen.query_params.update(params)
                seen.run()
                assert not seen.exception, (page, params, seen.exception)
                bodies = [e.proto.body for e in seen.get("html")]
                assert not [body for body in bodies if 'role="alert"' in body], (page, params)
                assert who or "workspace" not in seen.session_state, page
                told.append(bodies)
        return told

    before = look()
    state.queue().close()
    st.cache_resource.clear()
    st.cache_data.clear()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    after = look()
    assert [len(page) for page in before] == [len(page) for page in after]
    try:
        state.store().workspaces.create()
    except Exception as error:
        sys.stdout.write(type(error).__name__)
"""


def test_pages_and_published_views_are_read_where_nothing_can_be_written(home, tmp_path):
    copy = home.copy(tmp_path / "store")
    with copy.store._directory.index.writing() as db:
        db.execute("UPDATE workspaces SET touched=touched - 1000")
        (token,) = db.execute("SELECT token FROM shares").fetchone()
    code = textwrap.dedent(WITHOUT_ROOM)
    done = subprocess.run(
        [sys.executable, "-c", code, str(APP), home.mine, token, home.data["own"]],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
        cwd=APP.parent,
        env=os.environ | {"SIMVIZ_HOME": str(copy.root), "SIMVIZ_PUBLIC": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "StoreError"


def test_a_full_disk_is_named_on_every_page_but_those_of_published_views(
    public, home, monkeypatch
):
    public()  # imports what says that the server is warm
    [token] = [share.token for share in public.store.shares.find(home.mine)]
    disk = namedtuple("Disk", "total used free")(10**9, 10**9 - SPARE_BYTES, SPARE_BYTES)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: disk)
    for page in ("data", "train", "methods"):
        shown = html(public(page, data=home.data["own"]))
        assert shown.count("is full: 4.2 of 1,000 MB are free") == 1, page
    assert "is full" not in html(public("map", share=token))

    def refuse(workspaces):
        raise StoreError("There is no room.")

    monkeypatch.setattr(Workspaces, "create", refuse)
    assert html(public(workspace=None)).count("There is no room.") == 1
