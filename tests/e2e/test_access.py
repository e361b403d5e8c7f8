"""Pages for those who cannot see them well or use no mouse: axe-core finds nothing serious."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from settling import settle

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
# Streamlit's formulas scroll inside themselves where a page is narrow; they are not ours.
THEIRS = (".katex",)


def serious(page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
        if not any(theirs in str(node["target"]) for theirs in THEIRS)
    ]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_no_page_has_a_serious_violation(start_server, browser, look):
    server = start_server(public=False)
    page = browser.new_context(
        viewport={"width": 1400, "height": 900}, color_scheme=look
    ).new_page()
    page.goto(f"{server.url}/?demo=emoji")
    page.locator(".sv-finding").wait_for(timeout=120_000)
    page.wait_for_function("!document.body.innerText.includes('Cancel ')", timeout=120_000)
    violations = {}
    for name, address in PAGES.items():
        page.goto(f"{server.url}{address}")
        settle(page)
        violations[name] = serious(page)
    assert not {name: found for name, found in violations.items() if found}


def test_a_demo_starts_without_a_mouse(start_server, browser):
    page = browser.new_page()
    page.goto(start_server().url)
    page.get_by_role("button", name="Try it with emoji").wait_for(timeout=60_000)
    settle(page)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText").strip() == "Try it with emoji":
            break
    else:
        pytest.fail("the button is not reached by Tab")
    page.keyboard.press("Enter")
    page.locator(".sv-finding").wait_for(timeout=120_000)
