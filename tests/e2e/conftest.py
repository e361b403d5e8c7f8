"""A real server, and a real browser to look at it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from xmlrpc.client import ServerProxy

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from prepared import Prepared, Shared, ask
from server import FLAGS, Server
from settling import LONG, WATCHED

expect.set_options(timeout=LONG)
SHARED = pytest.StashKey[Shared]()
#: The order in which files are handed out: those that need no prepared store while it is made,
#: then those that take longest, and the short ones last, so that no process waits for the other.
ORDER = (
    *("first_minute", "wheel", "sudden_server"),
    *("access", "hostile_text", "map_address", "page_address", "journey", "container", "outside"),
    *("map", "touch", "notebook", "report_file"),
)
#: What is shared, by the fixtures that ask for it.
KINDS = {"prepared": "store", "public_server": "public", "private_server": "private"}


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell the processes of xdist where to ask for what they share."""
    stash = node.config.stash
    if SHARED not in stash:
        stash[SHARED] = Shared()
    node.workerinput["shared"] = stash[SHARED].address


def pytest_collection_modifyitems(items):
    places = {Path(__file__).with_name(f"test_{name}.py"): k for k, name in enumerate(ORDER)}
    items.sort(key=lambda item: places.get(item.path, len(ORDER)))


def pytest_collection_finish(session):
    """Have what the tests share made while those run that do not ask for it."""
    address = getattr(session.config, "workerinput", {}).get("shared")
    asked = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    if address:
        with ServerProxy(address) as shared:
            shared.begin([kind for name, kind in KINDS.items() if name in asked])


def pytest_sessionfinish(session):
    if SHARED in session.config.stash:
        session.config.stash[SHARED].close()


@pytest.fixture(scope="session")
def _ask(request) -> Iterator[Callable[[str], Prepared]]:
    address = getattr(request.config, "workerinput", {}).get("shared")
    if address:
        yield lambda kind: ask(address, kind)
        return
    shared = Shared()
    yield lambda kind: ask(shared.address, kind)
    shared.close()


@pytest.fixture(scope="session")
def prepared(_ask) -> Prepared:
    """A store with trained and drawn runs; for a test that starts a server, of a copy."""
    return _ask("store")


@pytest.fixture(scope="session")
def public_server(_ask) -> Prepared:
    """The public server of the whole run: each context of the browser is another visitor."""
    return _ask("public")


@pytest.fixture(scope="session")
def private_server(_ask) -> Prepared:
    """The server of one person, of the whole run: each context sees the same workspace."""
    return _ask("private")


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
    heard: list[str] = []

    def show(write: Callable[[Path], object], **options):
        path = tmp_path / "page.html"
        write(path)
        page = browser.new_page(offline=True, **options)
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: asked.url == path.as_uri() or heard.append(asked.url))
        page.goto(path.as_uri())
        return page

    yield show
    assert not [text for text in heard if not text.startswith("blob:")]


@pytest.fixture
def start_server(tmp_path):
    servers: list[Server] = []

    def start(name: str = "store", *, public: bool = True) -> Server:
        servers.append(Server(tmp_path / name, public=public))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
