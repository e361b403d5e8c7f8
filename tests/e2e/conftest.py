"""A real server, and a real browser to look at it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from server import FLAGS, Server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "install Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


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
    """One server for tests that only look at demos: each is trained once."""
    server = Server(tmp_path_factory.mktemp("demos"))
    yield server
    server.close()
