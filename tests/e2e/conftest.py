"""A real server, and a real browser to look at it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from server import FLAGS, Server

#: Milliseconds after which a wait of any kind takes it for a hang: a machine may be very busy.
LONG = 60_000
expect.set_options(timeout=LONG)


def patient(make):
    """Let all waits of what is made last as long as that."""

    def made(**options):
        one = make(**options)
        one.set_default_timeout(LONG)
        return one

    return made


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "install Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        launched.new_page = patient(launched.new_page)
        launched.new_context = patient(launched.new_context)
        yield launched
        launched.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Close what a test left open: a page draws on, and asks for a server that is gone."""
    browser = item.funcargs.get("browser")
    for context in browser.contexts if browser else ():
        context.close()


@pytest.fixture
def start_server(tmp_path):
    servers: list[Server] = []

    def start(name: str = "store", *, public: bool = True) -> Server:
        servers.append(Server(tmp_path / name, public=public))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def demo_server(tmp_path_factory) -> Iterator[Server]:
    """One server for all visitors: each demo is trained once."""
    server = Server(tmp_path_factory.mktemp("demos"))
    yield server
    server.close()
