"""A real server, and a real browser to look at it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from prepared import Prepared, Shared, ask
from server import Server
from settling import LONG, WATCHED, listen

expect.set_options(timeout=LONG)
#: How the browser is started.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
SHARED = pytest.StashKey[Shared]()
#: The order in which files are handed out: those that need no prepared store while it is made,
#: then those that take longest, and the short ones last, so that no process waits for the other.
ORDER = (
    *("first_minute", "wheel", "sudden_server"),
    *("accessibility", "hostile_text", "map_address", "page_address", "journey", "container"),
    *("map", "touch", "notebook", "report_file"),
)


def shared_of(config) -> Shared:
    """What the process that started the tests makes for all."""
    if SHARED not in config.stash:
        config.stash[SHARED] = Shared()
    return config.stash[SHARED]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Make what tests share while others run, and say to all processes where it will be."""
    node.workerinput["shared"] = str(shared_of(node.config).folder)


def pytest_collection_modifyitems(items):
    paths = [Path(__file__).with_name(f"test_{name}.py").resolve(strict=True) for name in ORDER]
    items.sort(key=lambda item: paths.index(item.path) if item.path in paths else len(paths))


def pytest_sessionfinish(session):
    if SHARED in session.config.stash:
        session.config.stash[SHARED].close()


@pytest.fixture(scope="session")
def _ask(request) -> Callable[[str], Prepared]:
    folder = getattr(request.config, "workerinput", {}).get("shared")
    return partial(ask, Path(folder or shared_of(request.config).folder))


@pytest.fixture(scope="session")
def prepared(_ask) -> Prepared:
    """A store with trained and drawn runs; for a test that starts a server, of a copy."""
    return _ask("prepared")


@pytest.fixture(scope="session")
def public_server(_ask) -> Prepared:
    """The public server of the whole run: each context of the browser is another visitor."""
    return _ask("public_server")


@pytest.fixture(scope="session")
def private_server(_ask) -> Prepared:
    """The server of one person, of the whole run: each context sees the same workspace."""
    return _ask("private_server")


def watched(launched: Browser) -> Browser:
    """Have the pages of a browser say what they wait for, and move only where a test asks."""
    make_context = launched.new_context

    def new_context(**options):
        context = make_context(**{"reduced_motion": "reduce"} | options)
        context.set_default_timeout(LONG)
        context.add_init_script(path=WATCHED)
        return context

    launched.new_context = new_context
    launched.new_page = lambda **options: new_context(**options).new_page()
    return launched


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "install Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        launched.lasting = set()  # contexts that several tests use
        yield watched(launched)
        launched.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Close what a test left open: a page draws on, and asks for a server that is gone."""
    browser = item.funcargs.get("browser")
    for context in browser.contexts if browser else ():
        if context not in browser.lasting:
            context.close()


@pytest.fixture
def saved_page(browser, tmp_path):
    """Opens a page that is written to a file; nobody may be asked, and nothing may fail."""
    heard: list[list[str]] = []

    def show(write: Callable[[Path], object], **options):
        path = tmp_path / "page.html"
        write(path)
        page = browser.new_page(offline=True, **options)
        heard.append(said := listen(page))
        page.on("request", lambda asked: asked.url == path.as_uri() or said.append(asked.url))
        page.goto(path.as_uri())
        return page

    yield show
    assert not [text for said in heard for text in said if not text.startswith("blob:")]


@pytest.fixture
def start_server(tmp_path):
    servers: list[Server] = []

    def start(name: str = "store", *, public: bool = True) -> Server:
        servers.append(Server(tmp_path / name, public=public))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
