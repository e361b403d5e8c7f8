"""A stranger's first minute: one button, and words and pictures are on one map."""

from __future__ import annotations

import re
import subprocess

import pytest
from mapping import PLACE, ready
from playwright.sync_api import expect
from server import Server
from settling import press, rest

from simviz.store import Store

pytestmark = pytest.mark.e2e


def test_one_button_shows_findings_curves_and_map(start_server, browser):
    server = start_server()
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(server.url)
    press(page.get_by_role("button", name="Words and pictures"))
    page.locator(".sv-finding").wait_for()
    rows = page.locator(".sv-table tbody tr")
    expect(rows).to_have_count(4)
    expect(page.locator(".sv-finding")).to_contain_text("queries (icons) of the test part")
    for verdict in ("S2Net is ahead of guessing by popularity: P@5 +0.", "p < 0.001"):
        expect(page.locator(".sv-next")).to_contain_text(verdict)
    expect(rows.first).to_have_text(re.compile(r"^\s*S2Net"))
    page.get_by_text("Without ordered dimensions: S2Net.").wait_for()
    for name in ("How well it separates pairs", "How many dimensions it takes"):
        expect(page.get_by_text(name).first).to_be_visible()
    ready(page)
    assert page.evaluate("map.xs.length") > 1_900
    page.evaluate("map.canvas.scrollIntoView({block: 'center'})")
    rest(page)
    left, top, row = page.evaluate(PLACE)
    page.mouse.move(left, top)
    words = page.evaluate("(i) => map.textOf(i, 220)", row)
    expect(page.locator(".sv-card b")).to_have_text(words)
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    before = page.evaluate(scrolled)
    page.mouse.wheel(0, 120)
    page.wait_for_function(f"(before) => {scrolled} > before", arg=before)
    rest(page)
    assert page.evaluate("map.camera.zoom") == 1, "the wheel moves the page"
    assert not page.get_by_test_id("stException").count()
    assert not problems
    # The same link, opened elsewhere on this server, is answered from what is there.
    again = browser.new_page()
    again.goto(f"{server.url}/?demo=icons")
    found = page.locator(".sv-finding").inner_text()
    expect(again.locator(".sv-finding")).to_have_text(found, use_inner_text=True)


def workspace_of(page, name="simviz_workspace") -> str:
    page.wait_for_function(f"document.cookie.includes('{name}=')")
    return page.evaluate(f"document.cookie.match(/{name}=([^;]*)/)[1]")


def test_visitors_keep_their_workspace(demo_server, browser):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{demo_server.url}/?demo=emoji")
    page.locator(".sv-finding").wait_for()
    first = workspace_of(page)
    page.reload()
    page.locator(".sv-finding").wait_for()
    assert workspace_of(page) == first
    stranger = browser.new_context().new_page()
    stranger.goto(f"{demo_server.url}/?demo=emoji")
    assert workspace_of(stranger) != first


def test_over_https_the_key_is_bound_to_the_host_and_an_old_one_is_taken_over(tmp_path, browser):
    names = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    request = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=127.0.0.1",
    ]
    subprocess.run([*request, *names], check=True, capture_output=True)
    mine = Store(tmp_path / "store").workspaces.create()
    server = Server(tmp_path / "store", tls=tmp_path)
    try:
        context = browser.new_context(ignore_https_errors=True)
        context.add_cookies([{"name": "simviz_workspace", "value": mine, "url": server.url}])
        page = context.new_page()
        page.goto(f"{server.url}/data")
        assert workspace_of(page, "__Host-simviz_workspace") == mine
        page.wait_for_function("!/(^|; )simviz_workspace=/.test(document.cookie)")
        cookies = {c["name"]: c for c in context.cookies() if "workspace" in c["name"]}
        assert cookies.keys() == {"__Host-simviz_workspace"}
        cookie = cookies["__Host-simviz_workspace"]
        assert cookie["secure"] and cookie["path"] == "/" and cookie["sameSite"] == "Lax"
        page.reload()
        page.get_by_text("Your own data").wait_for()
        assert workspace_of(page, "__Host-simviz_workspace") == mine
    finally:
        server.close()


def test_at_home_all_browsers_see_the_same_workspace(start_server, browser):
    server = start_server(public=False)
    first, second = (browser.new_context().new_page() for _ in range(2))
    first.goto(f"{server.url}/?demo=emoji")
    first.locator(".sv-finding").wait_for()
    assert "simviz_workspace" not in first.evaluate("document.cookie")
    second.goto(f"{server.url}/train?data=demo:emoji")
    second.get_by_text("Finished runs").first.wait_for()
