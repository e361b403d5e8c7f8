"""A link of the map opens what was set on it, in another browser too."""

from __future__ import annotations

import pytest
from mapping import ready, until_told
from playwright.sync_api import expect
from settling import press, settle

pytestmark = pytest.mark.e2e


@pytest.fixture
def look(demo_server, browser):
    """Open an address in a browser that has never been here."""
    pages = []

    def start(address):
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        pages.append(page)
        page.goto(address if "//" in address else f"{demo_server.url}/map?{address}")
        ready(page)
        return page

    yield start
    for page in pages:
        assert not page.get_by_test_id("stException").count()
        page.context.close()


def test_all_that_is_set_on_the_map_is_in_its_link(look):
    page = look("demo=icons&method=cca&k=50")
    # Of the browser alone: what is looked for, and an entry of the legend.
    page.get_by_label("Find items on the map").fill("arr")
    page.get_by_text(" found").first.wait_for()
    until_told(page, find="t:arr")
    page.locator(".sv-legend button").first.click()
    until_told(page, find="t:arr", hide="s0")
    n_found = page.evaluate("map.matches.length")
    again = look(page.url)
    again.wait_for_function("(n) => map.matches?.length === n", arg=n_found)
    expect(again.get_by_label("Find items on the map")).to_have_value("arr")
    again.wait_for_function("() => [...map.closed].join() === 's0'")
    expect(again.locator(".sv-legend button").first).to_have_attribute("aria-pressed", "false")


def test_what_was_asked_of_the_model_is_in_the_link(look):
    page = look("demo=icons&method=cca&k=50")
    page.get_by_label("How to find").select_option("model x")
    find = page.get_by_label("Find items on the map")
    find.fill("smile")
    find.press("Enter")
    page.wait_for_function("() => map.query?.nearest.length === 10")
    until_told(page, ask="x:smile")
    press(page.get_by_text("Items", exact=True))
    until_told(page, ask="x:smile", table="1")
    again = look(page.url)
    again.wait_for_function("() => map.query?.nearest.length === 10")
    assert again.evaluate("[map.query.x, map.query.y]") == page.evaluate(
        "[map.query.x, map.query.y]"
    )
    expect(again.get_by_label("Find items on the map")).to_have_value("smile")
    again.get_by_text("These items as CSV").wait_for()


def test_back_selects_what_was_selected_before(look):
    page = look("demo=icons&method=cca&k=50")
    selected = "(map.data.selected ? map.keyOf(map.data.selected.item) : null)"
    keys = [None]
    for arrow in ("ArrowDown", "ArrowRight"):
        page.locator(".sv-canvas").focus()
        page.keyboard.press(arrow)
        page.keyboard.press("Enter")
        page.wait_for_function(f"(key) => ![null, key].includes({selected})", arg=keys[-1])
        keys.append(page.evaluate(selected))
        until_told(page, sel=keys[-1])
        settle(page)
    page.go_back()
    page.wait_for_function(f"(key) => {selected} === key", arg=keys[1])
    settle(page)
    until_told(page, sel=keys[1])


def test_what_was_enclosed_is_in_the_link(look):
    page = look("demo=icons&method=cca&k=50&colour=part&dims=12")
    page.get_by_label("Select items by drawing around them").click()
    box = page.locator(".sv-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 120, y - 60)
    page.mouse.down()
    for dx, dy in ((120, -60), (130, 60), (-120, 60), (-122, -55)):
        page.mouse.move(x + dx, y + dy, steps=9)
    page.mouse.up()
    enclosed = page.get_by_text("items enclosed")
    enclosed.wait_for()
    until_told(page, lasso=True)
    again = look(page.url)
    expect(again.get_by_text("items enclosed")).to_have_text(enclosed.inner_text())
    corners = page.evaluate("map.region.length")
    again.wait_for_function("(n) => map.region?.length === n", arg=corners)
    again.get_by_text("12", exact=True).first.wait_for(state="attached")
    until_told(again, colour="part")


def test_one_press_of_back_leaves_a_page_whatever_it_wrote_into_the_address(look):
    page = look("demo=icons&method=cca&k=50")
    links = page.get_by_test_id("stSidebar")
    press(links.get_by_role("link", name="Compare"))
    until_told(page, runs=True)
    settle(page)  # it writes more than once
    press(links.get_by_role("link", name="Methods"))
    page.wait_for_url("**/methods*")
    page.get_by_role("heading", name="Methods").wait_for()
    settle(page)
    page.go_back()
    page.wait_for_url("**/compare*")
    page.go_back()
    page.wait_for_url("**/map*")
