"""Whatever people upload is shown as text, wherever it is shown, and asks nobody for anything."""

from __future__ import annotations

import csv

import pytest
from payloads import PAYLOADS
from playwright.sync_api import expect
from settling import press, ready, rest
from visit import Visit

pytestmark = pytest.mark.e2e

PAGES = ("search", "", "data", "train", "compare", "map", "methods", "papers")
#: What a published view shows; the link to Home leads out of it.
SHARED = ("data", "compare", "map", "search", "methods", "papers")
#: What payloads would leave, were they taken for markup and only cleaned of what runs.
MADE = "[src=x], [onerror], [onload], [href^=javascript], marquee"
#: Openers that are pressed on a page, of each kind.
MAX_OPENED = 6


@pytest.fixture(scope="module")
def visit(public_server, browser):
    """Whose every text is a payload; what the address asks is one too."""
    owner = public_server.hostile
    size = {"width": 1400, "height": 1200}
    visit = Visit(browser, public_server, owner, viewport=size, color_scheme="dark")
    visit.load(f"search?data={owner.data}&ask={PAYLOADS[9]}")
    yield visit
    visit.close()


def stir(page):
    """Move over the page, and open and close what opens."""
    for x in range(350, 1380, 115):
        for y in range(150, 1150, 125):
            page.mouse.move(x, y)
    page.mouse.move(0, 0)
    rest(page)
    for opener in page.locator("summary").all()[:MAX_OPENED]:
        if opener.is_visible():
            press(opener)
            rest(page)
    bodies = page.get_by_test_id("stPopoverBody")
    for opener in page.locator("[data-testid=stPopover] button").all()[:MAX_OPENED]:
        if opener.is_visible():
            press(opener)
            bodies.first.wait_for()
            rest(page)
            page.keyboard.press("Escape")
            expect(bodies).to_have_count(0)
    rest(page)


def assert_inert(visit):
    """Nothing ran or was made, nothing failed, and nobody was asked."""
    page = visit.page
    stir(page)
    assert not page.locator(MADE).count()
    assert page.evaluate("window.__xss") is None and not visit.happened
    assert not page.get_by_test_id("stException").count()
    assert not visit.outside()


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "home")
def test_stored_texts_are_inert_on_every_page(visit, name):
    page = visit.page
    visit.go(name)
    if name == "map":
        ready(page)
    assert_inert(visit)
    if name == "compare":  # and on the other part
        press(page.get_by_role("radio", name="Test", exact=True))
        expect(page.locator("body")).to_contain_text("of the test part", use_inner_text=True)
        assert_inert(visit)
    if name == "search":  # and what is asked
        asked = page.locator(".st-key-search-own-x input")
        asked.fill(PAYLOADS[9])
        asked.press("Enter")
        expect(page.locator(".sv-asked")).to_have_text(PAYLOADS[9])
        assert_inert(visit)


def test_an_upload_is_inert_before_it_is_kept(visit, tmp_path):
    table = tmp_path / "a<img src=x onerror=window.__xss=1>.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([PAYLOADS[9], PAYLOADS[0], PAYLOADS[54]])
        writer.writerows(zip(PAYLOADS, PAYLOADS[::-1], PAYLOADS, strict=True))
    page = visit.page
    visit.go("")
    press(page.locator(".st-key-home-upload button:visible"))
    page.locator("input[type=file]").first.set_input_files(str(table))
    page.locator(".st-key-data-keep button:visible").wait_for()
    rest(page)
    assert_inert(visit)
    press(page.locator(".st-key-data-discard button:visible"))
    page.locator(".st-key-data-keep").wait_for(state="detached")


def test_a_published_view_is_inert(visit):
    page, token = visit.page, visit.server.hostile.token
    visit.load(f"data?share={token}")
    for name in SHARED:
        visit.go(name)
        if name == "map":
            ready(page)
        expect(page.get_by_test_id("stSidebar")).to_contain_text("A published view")
        assert_inert(visit)
    visit.load(f"map?embed=true&share={token}")
    ready(page)
    assert_inert(visit)
