"""The map in the app: what is done on it reaches the server, which answers, and its link."""

from __future__ import annotations

import csv
import re

import pytest
from hosted import PHONE, Fingers
from mapping import PLACE, ready, until_seen, until_told
from playwright.sync_api import expect
from settling import press, rest

pytestmark = pytest.mark.e2e
MAP = "demo=icons&method=cca&k=50"
#: The model has placed what was asked.
ANSWERED = "(text) => map.typed?.[1] === text && map.query?.nearest.length === 10"


@pytest.fixture
def look(demo_server, browser):
    """Open an address in a browser that has never been here; nothing may go wrong in it."""
    pages, problems = [], []

    def start(address=MAP, **options):
        page = browser.new_page(**{"viewport": {"width": 1400, "height": 900}} | options)
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(address if "//" in address else f"{demo_server.url}/map?{address}")
        ready(page)
        return page

    yield start
    for page in pages:
        assert not page.get_by_test_id("stException").count()
        page.context.close()
    assert not problems


def enclosed(page):
    """Wait until the server has listed as many items as are enclosed on the map; answers so."""
    n = page.evaluate("map.enclosed.reduce((sum, one) => sum + one, 0)")
    expect(page.get_by_text(f"{n:,} items enclosed", exact=True)).to_be_visible()
    return n


def test_a_click_selects_and_its_link_opens_the_same(look):
    page = look()
    canvas = page.locator(".sv-canvas")
    box = canvas.bounding_box()
    assert box["height"] > 0.7 * 900, "the map is the page"
    expect(canvas).to_have_attribute("aria-label", re.compile("Map of 618 keywords"))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(4):
        zoom = page.evaluate("map.camera.zoom")
        page.mouse.wheel(0, -200)
        page.wait_for_function("(zoom) => map.camera.zoom > 1.3 * zoom", arg=zoom)
    until_seen(page)
    rest(page)
    zoom = page.evaluate("map.camera.zoom")
    x, y, item = page.evaluate(PLACE)
    page.mouse.move(x, y)
    page.locator(".sv-card").wait_for()
    page.mouse.click(x, y)
    shown = "(item) => map.selected?.item === item && map.selected.nearest.length === 10"
    page.wait_for_function(shown, arg=item)
    until_told(page, sel=page.evaluate("(item) => map.keyOf(item)", item))
    # The answer stands beside the map, which makes room and is as close as before.
    page.locator(".st-key-map-drawer").wait_for()
    page.wait_for_function("(w) => map.camera.width < 0.8 * w", arg=box["width"])
    expect(page.locator(".sv-row")).to_have_count(10)
    rest(page)
    assert page.evaluate("map.camera.zoom") == pytest.approx(zoom)
    # The same link elsewhere opens on the same item, seen from the same place.
    name = page.locator(".sv-read").inner_text()
    until_seen(page)
    again = look(page.url, viewport={"width": 1000, "height": 800})
    expect(again.locator(".sv-read")).to_have_text(name)
    again.wait_for_function(shown, arg=item)
    assert again.evaluate("map.camera.zoom") == pytest.approx(zoom, rel=0.01)
    # A row of the list selects its item.
    row = page.evaluate("map.keyOf(map.selected.nearest[2][0])")
    page.locator(".sv-row").nth(2).click()
    until_told(page, sel=row)
    page.wait_for_function("(key) => map.keyOf(map.data.selected.item) === key", arg=row)
    # What was picked can be let go on the map itself, and a map ends with its page.
    canvas.focus()
    page.keyboard.press("Escape")
    until_told(page, sel=False)
    page.locator(".st-key-map-drawer").wait_for(state="hidden")
    page.evaluate("window.kept = map")
    press(page.get_by_test_id("stSidebar").get_by_role("link", name="Data"))
    page.wait_for_function("() => kept.isClosed")


def test_what_is_enclosed_found_and_hidden_is_in_the_link(look, tmp_path):
    page = look(f"{MAP}&colour=part&dims=12")
    page.get_by_label("Select items by drawing around them").click()
    box = page.locator(".sv-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 120, y - 90)
    page.mouse.down()
    for dx, dy in ((120, -90), (120, 90), (-120, 90), (-118, -85)):
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    until_told(page, lasso=True)
    n = enclosed(page)
    rest(page)
    with page.expect_download() as started:
        page.locator(".st-key-map-items-csv button").click()
    path = tmp_path / "items.csv"
    started.value.save_as(path)
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert len(lines) == n > 20
    assert {"side", "id", "text", "part"} <= set(lines[0])
    assert {line["side"] for line in lines} == {"keywords", "icons"}
    # Of the browser alone: an entry of the legend, and what is looked for.
    page.locator(".sv-legend button").first.click()
    until_told(page, hide=True)
    page.keyboard.down("Shift")
    box = page.locator(".sv-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 60, y - 60)
    page.mouse.down()
    page.mouse.move(x + 60, y + 60, steps=5)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function("() => map.data.region?.length === 4")
    n_enclosed = enclosed(page)
    page.get_by_label("Find items on the map").fill("arr")
    until_told(page, find="t:arr", hide=True, lasso=True)
    rest(page)
    found = page.evaluate("[map.matches.length, [...map.closed].join()]")
    again = look(page.url)
    again.wait_for_function(
        "([n, closed]) => map.matches?.length === n && [...map.closed].join() === closed",
        arg=found,
    )
    expect(again.get_by_label("Find items on the map")).to_have_value("arr")
    expect(again.locator(".sv-legend button").first).to_have_attribute("aria-pressed", "false")
    again.wait_for_function("() => map.region?.length === 4")
    assert enclosed(again) == n_enclosed
    again.get_by_text("12", exact=True).first.wait_for(state="attached")
    until_told(again, colour="part")


def test_what_was_asked_of_the_model_is_answered_and_in_the_link(look):
    page = look()
    page.get_by_label("How to find").select_option("model x")
    find, said = page.get_by_label("Find items on the map"), page.locator(".sv-find-said")

    def ask(text):
        find.fill(text)
        find.press("Enter")
        until_told(page, ask=f"x:{text}")
        expect(page.locator(".sv-read")).to_have_text(text)
        page.wait_for_function(ANSWERED, arg=text)
        rest(page)
        assert "ask" not in said.inner_text().lower(), "it no longer says that it asks"
        return page.evaluate("[map.query.x, map.query.y]")

    smile = ask("smile")
    assert ask("green") != smile
    assert ask("smile") == smile == ask("smile"), "also where the same is asked at once again"
    for _ in range(3):
        find.fill("qqqqq")
        find.press("Enter")
        page.wait_for_function("() => map.typed?.[1] === 'qqqqq' && !map.query")
        expect(said).not_to_have_text(re.compile("^$|…$"))
        find.press("Escape")
        page.keyboard.press("Escape")
        expect(said).to_have_text("")
        until_told(page, ask=False)
    page.get_by_label("How to find").select_option("model x")
    assert ask("smile") == smile
    press(page.get_by_text("Items", exact=True))
    until_told(page, ask="x:smile", table="1")
    again = look(page.url)
    again.wait_for_function(ANSWERED, arg="smile")
    assert again.evaluate("[map.query.x, map.query.y]") == smile
    expect(again.get_by_label("Find items on the map")).to_have_value("smile")
    expect(again.locator(".st-key-map-items-csv")).to_be_visible()


def test_back_selects_what_was_selected_and_leaves_a_page_by_one_press(look):
    page = look()
    selected = "(map.data.selected ? map.keyOf(map.data.selected.item) : null)"
    keys = [None]
    for arrow in ("ArrowDown", "ArrowRight"):
        page.locator(".sv-canvas").focus()
        page.keyboard.press(arrow)
        page.keyboard.press("Enter")
        page.wait_for_function(f"(key) => ![null, key].includes({selected})", arg=keys[-1])
        keys.append(page.evaluate(selected))
        until_told(page, sel=keys[-1])
        rest(page)
    page.go_back()
    page.wait_for_function(f"(key) => {selected} === key", arg=keys[1])
    rest(page)
    until_told(page, sel=keys[1])
    # A page is left by one press, whatever it wrote into the address.
    links = page.get_by_test_id("stSidebar")
    press(links.get_by_role("link", name="Compare"))
    until_told(page, runs=True)
    rest(page)  # it writes more than once
    press(links.get_by_role("link", name="Methods"))
    page.wait_for_url("**/methods*")
    page.get_by_role("heading", name="Methods").wait_for()
    rest(page)
    page.go_back()
    page.wait_for_url("**/compare*")
    page.go_back()
    page.wait_for_url("**/map*")


def test_items_glide_to_another_drawing_of_the_server(look):
    page = look(reduced_motion="no-preference")
    parts = page.evaluate("map.items.header.digest")
    # A glide may be over between two looks at it.
    page.evaluate(
        """() => {
          let glide = null;
          const set = (to) => { glide = to; window.glided ||= Boolean(to); };
          Object.defineProperty(map, "glide", { get: () => glide, set });
        }"""
    )
    press(page.get_by_role("button", name="Cross-side neighbours"))
    page.get_by_text("PCA", exact=True).click()
    page.wait_for_function("() => window.glided && !map.glide")
    until_told(page, drawing="pca-2")
    assert page.evaluate("map.items.header.digest") == parts, "items are sent once"


def test_a_finger_selects_on_a_phone_and_finds_the_page_beside_the_map(look):
    page = look(**PHONE)
    fingers = Fingers(page)
    box = page.locator(".sv-canvas").bounding_box()
    assert box["height"] < 0.65 * 900
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    below = box["y"] + box["height"] + 20
    fingers.drag([(200, below), (200, below - 400)], steps=12)
    page.wait_for_function(f"() => {scrolled} > 0")
    page.evaluate(f"{scrolled} = 0")
    rest(page)
    x, y, item = page.evaluate(PLACE)
    fingers.tap(x, y, stray=3)
    shown = "(item) => map.selected?.item === item && map.selected.nearest.length === 10"
    page.wait_for_function(shown, arg=item)
    until_told(page, sel=page.evaluate("(item) => map.keyOf(item)", item))
    page.locator(".st-key-map-drawer").wait_for()
