"""A stranger's first minute: one button, and all is trained and drawn; their key is kept."""

from __future__ import annotations

import subprocess

import pytest
from playwright.sync_api import expect
from server import Server
from settling import press, ready, rest

from simviz.store import Store

pytestmark = pytest.mark.e2e
KEY, OLD_KEY = "__Host-simviz_workspace", "simviz_workspace"


@pytest.fixture
def server(tmp_path):
    """A server that speaks HTTPS, on a store where nothing was trained."""
    names = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*key, *names], check=True, capture_output=True)
    server = Server(tmp_path / "store", tls=tmp_path)
    yield server
    server.close()


def keys(context):
    return {c["name"]: c for c in context.cookies() if "workspace" in c["name"]}


def test_one_button_trains_and_the_key_is_bound_to_the_host_over_https(server, browser):
    mine = Store(server.home).workspaces.create()
    options = {"viewport": {"width": 1400, "height": 900}, "ignore_https_errors": True}
    context = browser.new_context(**options)
    context.add_cookies([{"name": OLD_KEY, "value": mine, "url": server.url}])
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(server.url)
    press(page.locator(".st-key-try-icons button:visible"))  # the other is for fingers
    # The page goes on by itself until all is there: two methods, two baselines, curve and map.
    page.locator(".sv-table tbody tr").nth(2).wait_for()  # another limit for each method
    expect(page.locator(".sv-table tbody tr")).to_have_count(4)
    expect(page.locator(".sv-finding")).to_contain_text("of the validation part")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    ready(page)
    found = page.locator(".sv-finding").inner_text()
    # The key that a browser had is taken over, and from now on bound to the host.
    held = keys(context)
    assert held.keys() == {KEY}
    assert held[KEY]["value"] == mine and held[KEY]["secure"]
    assert held[KEY]["path"] == "/" and held[KEY]["sameSite"] == "Lax"
    page.reload()
    expect(page.locator(".sv-finding")).to_have_text(found, use_inner_text=True)
    rest(page)
    assert {name: one["value"] for name, one in keys(context).items()} == {KEY: mine}
    assert not page.get_by_test_id("stException").count()
    assert not problems
