"""Pages for those who cannot see them well or use no mouse: axe-core finds nothing serious."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from mapping import ready
from server import Server
from settling import rest, until_trained
from tabbing import go_through_rows, walk

pytestmark = pytest.mark.e2e

PAGES = {
    "Home": "/",
    "a demo": "/?demo=emoji",
    "Data": "/data?data=demo:emoji",
    "Train": "/train?data=demo:emoji",
    "Compare": "/compare?data=demo:emoji",
    "Map": "/map?data=demo:emoji",
    "Search": "/search?data=demo:emoji",
    "Methods": "/methods",
    "Papers": "/papers",
}
# Formulas scroll inside themselves where a page is narrow. Streamlit lets nothing be said of their
# elements, so they cannot be made stops of Tab; browsers make stops of such regions by themselves
# (tested below), which this one rule does not know. All other rules hold for formulas too.
THEIRS = ("scrollable-region-focusable", ".katex-display")


def serious(page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
        if not (violation["id"] == THEIRS[0] and str(node["target"][-1]).endswith(THEIRS[1]))
    ]


def test_wide_formulas_are_scrolled_by_keys(demo_server, browser):
    page = browser.new_page(viewport={"width": 420, "height": 900})
    page.goto(f"{demo_server.url}/methods?method=kernel_cca")
    page.wait_for_function(
        """() => {
          window.wide = [...document.querySelectorAll(".katex-display")]
            .filter((e) => e.scrollWidth > e.clientWidth + 10);
          return wide.length;
        }"""
    )
    rest(page)
    focused = "wide.map((e) => { e.focus(); return document.activeElement === e; })"
    assert all(page.evaluate(focused))
    page.evaluate("wide[0].focus()")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => wide[0].scrollLeft > 0")
    page.close()


@pytest.fixture(scope="module")
def trained(tmp_path_factory, browser):
    """A server of one's own, on which a demo has been trained."""
    server = Server(tmp_path_factory.mktemp("own"), public=False)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{server.url}/?demo=emoji")
    until_trained(page)
    page.close()
    yield server
    server.close()


@pytest.mark.parametrize("look", ["light", "dark"])
def test_no_page_has_a_serious_violation(trained, browser, look):
    page = browser.new_context(
        viewport={"width": 1400, "height": 900}, color_scheme=look
    ).new_page()
    violations = {}
    for name, address in PAGES.items():
        page.goto(f"{trained.url}{address}")
        rest(page)
        violations[name] = serious(page)
    assert not {name: found for name, found in violations.items() if found}


# The grid of a table draws on a canvas which of its cells has the focus; no style tells of it.
DRAWN = ("canvas",)


def test_tab_reaches_every_control_and_shows_where_it_is(trained, browser):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    wrong = {}
    for name, address in PAGES.items():
        page.goto(f"{trained.url}{address}")
        rest(page)
        walked = walk(page)
        assert len(walked.names) > 20, name
        found = {
            "caught": [] if walked.came_back else walked.order[-5:],
            "missed": walked.missed,
            "out of order": walked.jumps,
            "unseen": [told for told in walked.unseen if not told.startswith(DRAWN)],
            "beyond arrows": go_through_rows(page, walked),
        }
        wrong[name] = {kind: told for kind, told in found.items() if told}
    assert not {name: told for name, told in wrong.items() if told}


def test_the_map_is_used_and_left_by_keys_alone(demo_server, browser):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{demo_server.url}/map?demo=icons&method=cca&k=50")
    ready(page)
    focused = "() => map.canvas.getRootNode().activeElement === map.canvas"
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(focused):
            break
    else:
        pytest.fail("the map is not reached by Tab")
    page.wait_for_function("() => getComputedStyle(map.canvas).boxShadow.includes('inset')")
    still = "() => !map.camera.flight"
    for key, changed in (
        ("+", "map.camera.zoom > 1.4"),
        ("Shift+ArrowRight", "map.camera.x > map.camera.bounds.x"),
        ("Shift+ArrowUp", "map.camera.y > map.camera.bounds.y"),
        ("-", "map.camera.zoom < 1.1"),
    ):
        page.keyboard.press(key)
        page.wait_for_function(still)
        page.wait_for_function(f"() => {changed}")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => map.selected?.nearest.length === 10")
    page.locator(".st-key-map-drawer").wait_for()
    rest(page)
    assert page.evaluate(focused), "the list beside it takes no focus"
    page.keyboard.press("Escape")
    page.locator(".st-key-map-drawer").wait_for(state="detached")
    page.wait_for_function("() => map.selected === null")
    rest(page)
    page.keyboard.press("Tab")
    assert not page.evaluate(focused), "and it is left by Tab"

    page.locator(".sv-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => map.selected?.nearest.length === 10")
    key = page.evaluate("map.keyOf(map.selected.item)")
    rest(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Search").press("Enter")
    asked = "(key) => location.pathname === '/search' && location.search.includes(`ask=${key}`)"
    page.wait_for_function(asked, arg=key)
    page.close()


def test_a_demo_starts_without_a_mouse(demo_server, browser):
    page = browser.new_page()
    page.goto(demo_server.url)
    page.get_by_role("button", name="Two languages").wait_for()
    rest(page)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText").startswith("Two languages"):
            break
    else:
        pytest.fail("the button is not reached by Tab")
    page.keyboard.press("Enter")
    page.locator(".sv-finding").wait_for()
