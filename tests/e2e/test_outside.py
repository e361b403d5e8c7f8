"""Nothing that the app shows or writes asks another computer for anything."""

from __future__ import annotations

import re
import socket
import urllib.error
import urllib.request
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from mapping import ready
from playwright.sync_api import expect
from server import Server
from settling import press, rest, until_trained
from test_access import PAGES
from test_journey import go, published, trained_on_own_data
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

pytestmark = pytest.mark.e2e

#: What a browser answers itself.
LOCAL = ("data", "blob", "about", "file")
DOWNLOADS = "[data-testid=stDownloadButton] button:enabled:visible"
SHARED = ("data", "compare", "map", "search", "methods", "papers")


class Asked:
    """All that a context of the browser asks for; a stranger's answer never comes."""

    def __init__(self, browser, server, **options):
        self.own, self.urls = urlsplit(server.url).netloc, []
        self.context = browser.new_context(viewport={"width": 1400, "height": 900}, **options)
        self.context.on("request", lambda request: self.urls.append(request.url))
        self.context.on("page", lambda page: page.on("websocket", self._on_socket))
        self.page = self.context.new_page()

    def _on_socket(self, socket):
        self.urls.append(socket.url)

    def outside(self):
        """What was asked of others since the last time."""
        found = {
            url
            for url in self.urls
            if urlsplit(url).scheme not in LOCAL and urlsplit(url).netloc != self.own
        }
        assert self.urls, "nothing was seen"
        self.urls.clear()
        return found


def test_only_this_computer_is_served_unless_asked_for(demo_server, start_server, monkeypatch):
    def answers(server):
        try:  # another address of this computer stands for another computer's way in
            socket.create_connection(("127.0.0.2", server.port), timeout=5).close()
        except ConnectionRefusedError:
            return False
        return True

    assert not answers(demo_server)
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")
    assert answers(start_server())


#: Python reads it first: names and addresses of other computers are noted, none is reached.
FORBIDDEN = """
import socket
from pathlib import Path

def refused(call, at):
    def asked(*arguments, **named):
        where = arguments[at]
        host = str(where[0] if isinstance(where, tuple) else where)
        if host not in ("localhost", "::1") and not host.startswith("127."):
            with Path(__file__).with_name("asked").open("a") as file:
                print(host, file=file)
            raise OSError("forbidden")
        return call(*arguments, **named)
    return asked

socket.socket.connect = refused(socket.socket.connect, 1)
socket.getaddrinfo = refused(socket.getaddrinfo, 0)
"""


@contextmanager
def watched(tmp_path, **options):
    """A server, and the file of what it asked of other computers."""
    (tmp_path / "sitecustomize.py").write_text(FORBIDDEN)
    server = Server(tmp_path / "store", path=tmp_path, **options)
    try:
        yield server, tmp_path / "asked"
    finally:
        server.close()


def opens(server, origin):
    """Whether a page of that origin may talk to a server."""
    stream = f"{server.url.replace('http', 'ws', 1)}/_stcore/stream"
    try:
        connect(stream, origin=origin, subprotocols=["streamlit"]).__enter__().close()
    except InvalidStatus as error:
        assert error.response.status_code == 403
        return False
    return True


def test_a_page_of_another_site_is_refused_and_nobody_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMVIZ_BASE_URL", "https://app.invalid/simviz")
    monkeypatch.setenv("STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS", "https://other.invalid")
    with watched(tmp_path) as (server, asked):
        strangers = (
            "https://site.invalid",
            f"https://site.invalid:{server.port}",
            "null",
            "http://[",
        )
        assert not any(opens(server, origin) for origin in strangers)
        known = server.url, "https://app.invalid", "https://other.invalid:444", "http://localhost"
        assert all(opens(server, origin) for origin in (None, *known))
        assert not asked.exists() or asked.read_text() == ""


def test_figures_of_the_process_are_nobodys_on_a_public_server(tmp_path):
    for public in (True, False):
        with watched(tmp_path, public=public) as (server, _):
            try:
                status = urllib.request.urlopen(f"{server.url}/_stcore/metrics").status
            except urllib.error.HTTPError as error:
                status = error.code
            assert status == (404 if public else 200)


@pytest.fixture(scope="module")
def trained(demo_server, browser):
    """The server, on which a demo has been trained."""
    asked = Asked(browser, demo_server)
    asked.page.goto(f"{demo_server.url}/?demo=emoji")
    until_trained(asked.page)
    asked.context.close()
    return demo_server


def test_a_request_to_others_is_seen(demo_server, browser):
    asked = Asked(browser, demo_server)
    asked.page.goto(demo_server.url)
    asked.page.evaluate(
        """document.head.insertAdjacentHTML('beforeend',
          '<link rel="shortcut icon" href="http://icons.invalid/a.svg">')"""
    )
    rest(asked.page)
    assert asked.outside() == {"http://icons.invalid/a.svg"}
    asked.context.close()


# A look is colours alone: they are in the page.
@pytest.mark.parametrize("look", ["dark"])
def test_no_page_asks_others(trained, browser, look):
    asked = Asked(browser, trained, color_scheme=look)
    found = {}
    for name, address in PAGES.items():
        asked.page.goto(f"{trained.url}{address}")
        rest(asked.page)
        if name == "Map":
            ready(asked.page)
        asked.page.evaluate("document.querySelectorAll('summary').forEach((e) => e.click())")
        rest(asked.page)
        found[name] = asked.outside()
        icon = asked.page.locator("link[rel~=icon]").first
        expect(icon).to_have_attribute("href", re.compile("^data:image/svg"))
    assert not {name: urls for name, urls in found.items() if urls}
    asked.context.close()


def test_no_exported_file_asks_others(trained, browser, tmp_path):
    asked = Asked(browser, trained)
    asked.page.goto(f"{trained.url}{PAGES['Compare']}")
    rest(asked.page)
    press(asked.page.get_by_role("button", name="Export"))
    press(asked.page.get_by_text("For other programs"))
    asked.page.get_by_role("button", name="NumPy").wait_for()
    rest(asked.page)
    saved = []
    for i in range(asked.page.locator(DOWNLOADS).count()):
        with asked.page.expect_download() as file:
            asked.page.locator(DOWNLOADS).nth(i).click()
        saved.append(file.value)
    with asked.page.expect_download() as file:
        asked.page.locator('.modebar-btn[data-title^="Download"]').first.dispatch_event("click")
    saved.append(file.value)
    assert not asked.outside()
    ends = set()
    for file in saved:
        path = tmp_path / file.suggested_filename
        file.save_as(path)
        ends.add(path.suffix)
        if path.suffix in (".html", ".svg"):
            asked.page.goto(path.as_uri(), wait_until="networkidle")
            assert not asked.outside(), path.name
    assert ends >= {".html", ".svg", ".csv", ".tex", ".md", ".zip", ".simviz"}
    asked.context.close()


def test_no_published_view_asks_others(demo_server, browser, tmp_path):
    owner = trained_on_own_data(demo_server, browser, tmp_path)
    go(owner, "Map")
    ready(owner)
    token = re.search(r"share=([\w-]+)", published(owner))[1]
    asked = Asked(browser, demo_server)
    for page in (*SHARED, "map?embed=true"):
        asked.page.goto(f"{demo_server.url}/{page}{'&' if '?' in page else '?'}share={token}")
        rest(asked.page)
        if page.startswith("map"):
            ready(asked.page)
        assert not asked.page.get_by_test_id("stException").count()
        assert not asked.outside(), page
    asked.context.close()
    owner.context.close()
