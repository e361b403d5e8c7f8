"""The map in the app: what is done on it reaches the server, which answers, and its link."""

from __future__ import annotations

import csv
import re

import pytest
from hosted import PHONE, Fingers
from playwright.sync_api import expect
from settling import PLACE, SHOWN, press, ready, rest, until_seen, until_told

from simviz.workbench.shell.frame import HISTORY

pytestmark = pytest.mark.e2e
MAP = "demo=icons&method=cca&k=50"
#: The key of what is selected, as the server said.
SELECTED = "(key) => map.data.selected && map.keyOf(map.data.selected.item) === key"
#: The model has placed what was asked.
ANSWERED = "(text) => map.typed?.[1] === text && map.query?.nearest.length === 10"


@pytest.fixture
def look(public_server, browser):
    """Open an address in a browser, or in that of another page; nothing may go wrong in it."""
    pages, problems = [], []

    def start(address=MAP, *, beside=None, size=None, **options):
        context = beside.context if beside else public_server.context(browser, **options)
        page = context.new_page()
        if size:
            page.set_viewport_size(size)
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(address if "//" in address else f"{public_server.url}/map?{address}")
        ready(page)
        return page

    yield start
    for page in pages:
        assert not page.get_by_test_id("stException").count()
    assert not problems


def enclosed(page):
    """Wait until the server has listed as many items as are enclosed on the map; answers so."""
    n = page.evaluate("map.enclosed.reduce((sum, one) => sum + one, 0)")
    expect(page.get_by_text(f"{n:,} items enclosed", exact=True)).to_be_visible()
    rest(page)
    return n


def drag(page, *corners):
    """Press the mouse, go from corner to corner about the middle of the map, and let go."""
    box = page.locator(".sv-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    (dx, dy), *others = corners
    page.mouse.move(x + dx, y + dy)
    page.mouse.down()
    for dx, dy in others:
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()


def test_a_click_selects_and_its_link_and_the_way_back_show_the_same(look):
    page = look()
    canvas = page.locator(".sv-canvas")
    box = canvas.bounding_box()
    assert box["height"] > 0.7 * 900, "the map is the page"
    expect(canvas).to_have_attribute("aria-label", re.compile("Map of 618 keywords"))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -800)
    page.wait_for_function("() => map.camera.zoom > 2")
    until_seen(page)
    rest(page)
    zoom = page.evaluate("map.camera.zoom")
    x, y, item = page.evaluate(PLACE)
    page.mouse.click(x, y)
    page.wait_for_function(SHOWN, arg=item)
    key = page.evaluate("(item) => map.keyOf(item)", item)
    until_told(page, sel=key)
    # The answer stands beside the map, which makes room and is as close as before.
    page.locator(".st-key-map-drawer").wait_for()
    page.wait_for_function("(w) => map.camera.width < 0.8 * w", arg=box["width"])
    expect(page.locator(".sv-row")).to_have_count(10)
    until_seen(page)
    rest(page)
    assert page.evaluate("map.camera.zoom") == pytest.approx(zoom)
    # The same link elsewhere opens on the same item, seen from the same place.
    name = page.locator(".sv-read").inner_text()
    again = look(page.url, beside=page, size={"width": 1000, "height": 800})
    expect(again.locator(".sv-read")).to_have_text(name)
    again.wait_for_function(SHOWN, arg=item)
    assert again.evaluate("map.camera.zoom") == pytest.approx(zoom, rel=0.01)
    # What was picked can be let go on the map itself, and a map ends with its page.
    canvas.focus()
    page.keyboard.press("Escape")
    until_told(page, sel=False)
    page.locator(".st-key-map-drawer").wait_for(state="hidden")
    page.evaluate("window.kept = map")
    links = page.get_by_test_id("stSidebar")
    press(links.get_by_role("link", name="Compare"))
    until_told(page, runs=True)
    page.wait_for_function("() => kept.isClosed")
    # A page is left by one press, whatever it wrote into the address and was done on it.
    press(links.get_by_role("link", name="Map"))
    ready(page)
    x, y, item = page.evaluate(PLACE)
    page.mouse.click(x, y)
    page.wait_for_function(SHOWN, arg=item)
    row = page.evaluate("map.keyOf(map.selected.nearest[2][0])")
    press(page.locator(".sv-row").nth(2))
    page.wait_for_function(SELECTED, arg=row)
    until_told(page, sel=row)
    for address in ("**/compare*", "**/map*"):
        rest(page)
        page.go_back()
        page.wait_for_url(address)


def test_what_is_enclosed_found_and_hidden_is_in_the_link_and_the_model_answers(look, tmp_path):
    page = look(f"{MAP}&colour=part&dims=12")
    press(page.get_by_label("Select items by drawing around them"))
    drag(page, (-120, -90), (120, -90), (120, 90), (-120, 90), (-118, -85))
    n = enclosed(page)
    with page.expect_download() as started:
        page.locator(".st-key-map-items-csv button").click()
    path = tmp_path / "items.csv"
    started.value.save_as(path)
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert len(lines) == n > 20
    assert {"side", "id", "text", "part"} <= set(lines[0])
    assert {line["side"] for line in lines} == {"keywords", "icons"}
    # Of the browser alone: an entry of the legend, and what is looked for.
    press(page.locator(".sv-legend button").first)
    until_told(page, hide=True)
    rest(page)
    page.keyboard.down("Shift")
    drag(page, (-60, -60), (60, 60))
    page.keyboard.up("Shift")
    page.wait_for_function("() => map.data.region?.length === 4")
    n = enclosed(page)
    page.get_by_label("Find items on the map").fill("arr")
    until_told(page, find="t:arr", hide=True, lasso=True)
    rest(page)
    found = page.evaluate("[map.matches.length, [...map.closed].join()]")
    again = look(page.url, beside=page)
    again.wait_for_function(
        "([n, closed]) => map.matches?.length === n && [...map.closed].join() === closed",
        arg=found,
    )
    find, said = again.get_by_label("Find items on the map"), again.locator(".sv-find-said")
    expect(find).to_have_value("arr")
    expect(again.locator(".sv-legend button").first).to_have_attribute("aria-pressed", "false")
    again.wait_for_function("() => map.region?.length === 4")
    assert enclosed(again) == n
    until_told(again, colour="part", dims="12")

    # The model is asked, again and again, also for what it does not know.
    def ask(text):
        find.fill(text)
        find.press("Enter")
        until_told(again, ask=f"x:{text}")
        expect(again.locator(".sv-read")).to_have_text(text)
        again.wait_for_function(ANSWERED, arg=text)
        rest(again)
        assert "ask" not in said.inner_text().lower(), "it no longer says that it asks"
        return again.evaluate("[map.query.x, map.query.y]")

    again.get_by_label("How to find").select_option("model x")
    rest(again)
    smile = ask("smile")
    assert ask("green") != smile
    assert ask("smile") == smile == ask("smile"), "also where the same is asked at once again"
    find.fill("qqqqq")
    find.press("Enter")
    again.wait_for_function("() => map.typed?.[1] === 'qqqqq' && !map.query")
    expect(said).not_to_have_text(re.compile("^$|…$"))
    rest(again)
    find.press("Escape")
    again.keyboard.press("Escape")
    expect(said).to_have_text("")
    until_told(again, ask=False)
    rest(again)
    again.get_by_label("How to find").select_option("model x")
    rest(again)
    assert ask("smile") == smile


def test_a_finger_selects_on_a_phone_and_finds_the_page_beside_the_map(look):
    page = look(**PHONE)
    fingers = Fingers(page)
    box = page.locator(".sv-canvas").bounding_box()
    assert box["height"] < 0.65 * 900
    below = box["y"] + box["height"] + 20
    main = "document.querySelector('[data-testid=stMain]')"
    fingers.scroll(main, (200, below), (200, below - 400))
    assert page.evaluate(f"{main}.scrollTop") > 0
    page.evaluate(f"{main}.scrollTop = 0")
    rest(page)
    x, y, item = page.evaluate(PLACE)
    fingers.tap(x, y, stray=3)
    page.wait_for_function(SHOWN, arg=item)
    until_told(page, sel=page.evaluate("(item) => map.keyOf(item)", item))
    page.locator(".st-key-map-drawer").wait_for()


@pytest.mark.parametrize(("late", "added"), [("/map?data=a&sel=x1", 1), ("/map?data=b", 2)])
def test_a_late_word_of_the_map_takes_no_press_on_a_link(browser, late, added):
    page = browser.new_page()
    page.route("**/*", lambda route: route.fulfill(content_type="text/html", body=HISTORY))
    page.goto("http://localhost/map?data=a")
    before = page.evaluate("history.length")
    page.mouse.click(5, 5)
    page.evaluate("(late) => history.pushState(null, '', late)", late)
    if added == 2:  # another data set is another page
        page.mouse.click(5, 5)
    page.evaluate("history.pushState(null, '', '/compare?data=a')")
    page.evaluate("history.pushState(null, '', '/compare?data=a&runs=b')")
    assert page.evaluate("history.length") == before + added
