"""The map in a real browser: zoom, click, search, lasso, keys, and hostile texts."""

from __future__ import annotations

import csv
import time
from dataclasses import replace

import numpy as np
import pytest
from mapping import PLACE, pick, ready, told
from payloads import PAYLOADS

from simviz.data import Items, PairSet
from simviz.jobs import JobQueue, JobSpec
from simviz.jobs.background import FIRST, draw_now, kept_name
from simviz.projection.drawing import DRAWING
from simviz.relevance import Relevance
from simviz.store import Store, load_map

pytestmark = pytest.mark.e2e
# Each way to split a text in parts is tried before it is told that none ends in this way.
CATASTROPHE = "^(.+.+)+!$"


@pytest.fixture
def open_map(demo_server, browser):
    """Open a map in a page of its own; what goes wrong in the browser fails the test."""
    problems: list[str] = []
    pages = []

    def start(query, server=None, **options):
        server = server or demo_server
        page = browser.new_page(viewport={"width": 1400, "height": 900}, **options)
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{server.url}/map?{query}")
        ready(page)
        return page

    yield start
    for page in pages:
        assert not page.get_by_test_id("stException").count()
        page.close()
    assert not problems


def test_click_selects_and_keeps_the_zoom(open_map, browser):
    page = open_map("demo=icons&method=cca&k=50")
    canvas = page.locator(".sv-canvas")
    box = canvas.bounding_box()
    assert box["height"] > 0.7 * 900, "the map is the page"
    assert "Map of 618 keywords" in canvas.get_attribute("aria-label")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(4):
        page.mouse.wheel(0, -200)
        page.wait_for_timeout(100)
    page.wait_for_function("() => new URL(location).searchParams.has('at')", timeout=60_000)
    zoom = page.evaluate("map.camera.zoom")
    assert zoom > 2
    x, y, item = page.evaluate(PLACE)
    page.mouse.move(x, y)
    page.locator(".sv-card").wait_for()
    page.mouse.click(x, y)
    page.locator(".st-key-map-drawer").wait_for(timeout=60_000)
    page.wait_for_function("() => map.selected?.nearest.length === 10")
    assert page.evaluate("map.selected.item") == item
    assert page.evaluate("map.camera.zoom") == pytest.approx(zoom)
    page.wait_for_function("(w) => map.camera.width < 0.8 * w", arg=box["width"])
    page.get_by_text("not on this drawing").wait_for()
    assert page.locator(".sv-row").count() == 10
    # A row shows its item on the map, with what is nearest to that; an item shows its row.
    page.locator(".sv-row").nth(3).hover()
    near = page.evaluate("map.selected.nearest[3][0]")
    assert page.evaluate("map.hovered") == near
    page.wait_for_function(f"() => map.nearestOf({near}).length")
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.evaluate("map.point(map.selected.nearest[6][0])")
    marked = page.locator(".sv-row.sv-now")
    assert marked.get_attribute("aria-posinset") == "7"
    page.wait_for_function("() => new URL(location).searchParams.has('sel')")
    # The same link elsewhere opens on the same item, seen from the same place.
    name = page.locator(".sv-read").inner_text()
    again = browser.new_page(viewport={"width": 1000, "height": 800})
    again.goto(page.url)
    again.locator(".sv-read").wait_for(timeout=60_000)
    ready(again)
    assert again.locator(".sv-read").inner_text() == name
    assert again.evaluate("map.camera.zoom") == pytest.approx(zoom, rel=0.01)
    again.close()
    # What was picked can be let go on the map itself.
    canvas.focus()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !new URL(location).searchParams.has('sel')")


def test_search_by_text_by_pattern_and_by_model(open_map):
    page = open_map("demo=emoji&method=cca&k=50")
    find = page.get_by_label("Find items on the map")
    find.fill("corazon rojo")
    page.get_by_text("1 found").wait_for()
    assert page.evaluate("map.textOf(map.matches[0], 99)") == "corazón rojo"
    find.press("Enter")
    page.wait_for_function("() => map.camera.zoom > 2 && !map.camera.flight")
    page.wait_for_function("() => map.selected?.nearest.length === 10", timeout=60_000)
    assert page.evaluate("map.textOf(map.selected.item, 99)") == "corazón rojo"
    way = page.get_by_label("How to find")
    way.select_option("pattern")
    find.fill("^red (heart|apple)$")
    page.get_by_text("2 found").wait_for()
    find.fill("(")
    page.get_by_text("Invalid regular expression").wait_for()
    began = time.monotonic()
    find.fill(CATASTROPHE)
    page.get_by_text("This pattern takes too long").wait_for(timeout=10_000)
    assert time.monotonic() - began < 5, "no pattern holds up the page"
    page.evaluate("map.home()")
    way.select_option("model x")
    find.fill("a heart that is red")
    find.press("Enter")
    page.wait_for_function("() => map.query?.nearest.length === 10", timeout=60_000)
    first = page.evaluate("[map.query.x, map.query.y]")
    assert page.get_by_text("Asked as English names").is_visible()
    page.wait_for_function("() => new URL(location).searchParams.has('ask')")
    assert told(page)["ask"] == "x:a heart that is red"
    find.press("Enter")
    page.wait_for_timeout(1_500)
    assert page.evaluate("[map.query.x, map.query.y]") == first


def test_lasso_makes_a_table_that_can_be_taken_away(open_map, tmp_path):
    page = open_map("demo=icons&method=cca&k=50")
    page.get_by_label("Select items by drawing around them").click()
    box = page.locator(".sv-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 120, y - 90)
    page.mouse.down()
    for dx, dy in ((120, -90), (120, 90), (-120, 90), (-118, -85)):
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    page.get_by_text("items enclosed").wait_for(timeout=60_000)
    page.get_by_text("MRR of").first.wait_for()
    with page.expect_download() as started:
        page.get_by_text("These items as CSV").click()
    path = tmp_path / "items.csv"
    started.value.save_as(path)
    lines = list(csv.DictReader(path.read_text().splitlines()))
    n = int(page.get_by_text("items enclosed").inner_text().split()[0].replace(",", ""))
    assert len(lines) == n > 20
    assert {"side", "id", "text", "part"} <= set(lines[0])
    assert {line["side"] for line in lines} == {"keywords", "icons"}
    # With Shift a box is drawn, whatever the tool.
    page.get_by_label("Move the map (drag)").click()
    page.keyboard.down("Shift")
    page.mouse.move(x - 40, y - 40)
    page.mouse.down()
    page.mouse.move(x + 40, y + 40, steps=5)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function(
        f"() => !document.body.innerText.includes('{n:,} items enclosed')", timeout=60_000
    )
    assert page.evaluate("map.region.length") == 4


def test_keys_go_from_item_to_item(open_map):
    page = open_map("demo=icons&method=cca&k=50")
    page.locator(".sv-canvas").focus()
    live = page.locator(".sv-map [aria-live]")
    page.keyboard.press("+")
    page.wait_for_function("() => map.camera.zoom > 1.4")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("map.camera.x > map.camera.bounds.x")
    page.keyboard.press("0")
    page.wait_for_function("() => map.camera.zoom === 1")
    page.keyboard.press("ArrowRight")
    first = live.inner_text()
    assert first.endswith(("train", "test", "validation", "every part")), first
    page.keyboard.press("ArrowRight")
    assert live.inner_text() != first
    page.keyboard.press("Enter")
    page.wait_for_function("() => map.selected?.nearest.length", timeout=60_000)
    assert "is selected" in live.inner_text()
    page.keyboard.press("/")
    assert page.evaluate("map.canvas.getRootNode().activeElement.type") == "search"


def test_items_glide_to_another_drawing(open_map):
    page = open_map("demo=icons&method=cca&k=50")
    parts = page.evaluate("map.items.header.digest")
    page.get_by_role("button", name="Two-sided").click()
    page.get_by_text("PCA", exact=True).click()
    page.wait_for_function("() => map.glide", timeout=240_000, polling="raf")
    page.wait_for_function("() => !map.glide")
    assert page.evaluate("map.items.header.digest") == parts, "items are sent once"
    page.wait_for_function("() => new URL(location).searchParams.get('drawing') === 'pca-2'")


@pytest.fixture
def hostile(tmp_path):
    """The store of a server, and in it a trained data set whose every text is a payload."""
    n = len(PAYLOADS)
    store = Store(tmp_path / "hostile")
    mine = store.workspaces.open("local")
    sides = [
        Items(
            [f"{i} {text}" for i, text in enumerate(PAYLOADS)],
            [f"{text} {word}{i % 9}" for i, text in enumerate(PAYLOADS)],
            "text",
            {"label": PAYLOADS[::-1], PAYLOADS[0]: PAYLOADS, "kind": (PAYLOADS[:3] * n)[:n]},
        )
        for word in ("a", "b")
    ]
    pairs = PairSet(
        *sides, Relevance.identity(n), name=PAYLOADS[9], x_name=PAYLOADS[10], y_name=PAYLOADS[3]
    )
    data = store.datasets.put(pairs, mine)
    with JobQueue(store) as queue:
        spec = JobSpec(data, pairs.digest, "cca", {"n_components": 5}, workspace=mine)
        assert queue.wait(queue.submit(spec), 120).state == "succeeded"
    return f"data={data}"


def test_hostile_texts_are_inert(start_server, open_map, hostile):
    page = open_map(hostile, start_server("hostile", public=False))
    happened = []
    page.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
    shown = page.evaluate("map.items.header.texts")
    assert len(shown) == 2 * len(PAYLOADS) >= 120
    # Every text on the card, in the list of the search, as a selection and in the table.
    for i, text in enumerate(shown):
        page.evaluate("(i) => map.panel.showCard(i, 200, 200)", i)
        card = page.locator(".sv-card b").text_content()
        assert card.rstrip("…") in text and len(card) > 5
    for typed in ("<", "javascript", "onerror", "]("):
        page.get_by_label("Find items on the map").fill(typed)
        page.get_by_text("found").first.wait_for()
    page.get_by_label("Find items on the map").fill("")
    for k in range(0, len(PAYLOADS), 7):
        pick(page, k)
        page.wait_for_function(
            "(word) => [...document.querySelectorAll('.sv-read')].some("
            "(region) => region.textContent.includes(word))",
            arg=PAYLOADS[k].split()[0],
        )
    page.evaluate("map.enclose([[-9e9, -9e9], [9e9, -9e9], [9e9, 9e9], [-9e9, 9e9]])")
    page.get_by_text("items enclosed").wait_for(timeout=60_000)
    # A group of the histogram that is pressed lets only its items pass, on map and list.
    group = page.locator(".sv-group").first
    assert group.locator("span").text_content().rstrip("…") in "\n".join(PAYLOADS)
    n = int(group.locator("small").inner_text())
    group.click()
    page.get_by_text(f"{n} items", exact=True).wait_for()
    assert page.evaluate("map.fails.filter((bits) => !bits).length") == n
    page.get_by_test_id("stSelectbox").last.scroll_into_view_if_needed()
    page.wait_for_timeout(800)
    assert page.evaluate("window.__xss") is None and not happened
    for spot in (".sv-map", ".st-key-map-stage", ".st-key-map-bar"):
        live = "script, iframe, object, embed, [onerror], [onload], [onfocus]"
        assert page.locator(spot).locator(live).count() == 0


@pytest.fixture
def scattered(tmp_path):
    """A store with few pictures, some of which lie far from all others on the drawing."""
    n = 60
    rng = np.random.default_rng(0)
    shades = rng.integers(0, 255, size=(n, 16, 16, 3), dtype=np.uint8)
    store = Store(tmp_path / "scattered")
    mine = store.workspaces.open("local")
    x = Items([f"x{i}" for i in range(n)], [f"word{i} word{i % 7}" for i in range(n)], "text")
    y = Items([f"y{i}" for i in range(n)], shades, "image")
    data = store.datasets.put(PairSet(x, y, Relevance.identity(n)), mine)
    with JobQueue(store) as queue:
        digest = store.datasets.get(data, mine).digest
        spec = JobSpec(data, digest, "cca", {"n_components": 5}, workspace=mine)
        run_id = queue.wait(queue.submit(spec), 120).run_id
    run = store.runs.get(run_id)
    draw_now(run, store.datasets.get(data, mine), FIRST)
    drawing, *rows = load_map(run, DRAWING)
    far, near = rng.normal(size=(2, n, 2))
    far[0] = [900.0, 0.0]
    name = kept_name("two-sided-2")
    run.put_map(name, replace(drawing, method="two-sided", share=0.7, x=far, y=near), *rows)
    return f"data={data}"


def test_outliers_do_not_rule_the_frame_and_few_pictures_are_all_shown(
    start_server, open_map, scattered
):
    page = open_map(scattered, start_server("scattered", public=False))
    across = "(i) => map.camera.toScreenX(map.xs[i]) / map.camera.width"
    seen = [page.evaluate(across, i) for i in range(1, 59)]
    assert max(seen) - min(seen) > 0.4, "the others have the window"
    assert page.evaluate(across, 0) > 2
    page.evaluate("map.focus(0)")
    page.wait_for_function(
        "() => Math.abs(map.camera.toScreenX(map.xs[0]) - map.camera.width / 2) < 2"
    )
    page.wait_for_function("() => new URL(location).searchParams.has('at')")
    page.evaluate("map.home()")
    page.wait_for_function("() => map.camera.zoom === 1 && !map.camera.flight")
    page.wait_for_function("() => !new URL(location).searchParams.has('at')")
    page.evaluate("map.placing.prepare(0)")
    shown = "map.order.filter((i) => i >= 60 && map.placing.isShown(i, 0)).length"
    assert page.evaluate(shown) == 60
