"""The map in a real browser: zoom, click, search, lasso, keys, and hostile texts."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from mapping import PLACE, pick, ready, until_seen, until_told
from payloads import PAYLOADS
from playwright.sync_api import expect
from settling import press, settle

from simviz.charts.canvas import linked
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
    expect(canvas).to_have_attribute("aria-label", re.compile("Map of 618 keywords"))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(4):
        zoom = page.evaluate("map.camera.zoom")
        page.mouse.wheel(0, -200)
        page.wait_for_function("(zoom) => map.camera.zoom > 1.3 * zoom", arg=zoom)
    until_seen(page)
    settle(page)
    zoom = page.evaluate("map.camera.zoom")
    assert zoom > 2
    x, y, item = page.evaluate(PLACE)
    page.mouse.move(x, y)
    page.locator(".sv-card").wait_for()
    page.mouse.click(x, y)
    page.locator(".st-key-map-drawer").wait_for()
    shown = "(item) => map.selected?.item === item && map.selected.nearest.length === 10"
    page.wait_for_function(shown, arg=item)
    page.wait_for_function("(w) => map.camera.width < 0.8 * w", arg=box["width"])
    page.get_by_text("not on this drawing").wait_for()
    expect(page.locator(".sv-row")).to_have_count(10)
    until_told(page, sel=True)
    settle(page)
    assert page.evaluate("map.camera.zoom") == pytest.approx(zoom)
    # A row shows its item on the map, with what is nearest to that; an item shows its row.
    page.locator(".sv-row").nth(3).hover()
    near = page.evaluate("map.selected.nearest[3][0]")
    page.wait_for_function("(near) => map.hovered === near", arg=near)
    page.wait_for_function("(near) => map.nearestOf(near).length", arg=near)
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.wait_for_function("(near) => map.hovered !== near", arg=near)
    page.evaluate("map.point(map.selected.nearest[6][0])")
    expect(page.locator(".sv-row.sv-now")).to_have_attribute("aria-posinset", "7")
    # The same link elsewhere opens on the same item, seen from the same place.
    name = page.locator(".sv-read").inner_text()
    until_seen(page)
    again = browser.new_page(viewport={"width": 1000, "height": 800})
    again.goto(page.url)
    ready(again)
    expect(again.locator(".sv-read")).to_have_text(name)
    assert again.evaluate("map.camera.zoom") == pytest.approx(zoom, rel=0.01)
    again.close()
    # What was picked can be let go on the map itself.
    canvas.focus()
    page.keyboard.press("Escape")
    until_told(page, sel=False)


def test_a_map_ends_with_its_page_and_not_with_a_call_that_another_overtook(open_map):
    page = open_map("demo=icons&method=cca&k=50")
    # As Streamlit does when it is told two things at once.
    page.evaluate(
        """async (source) => {
          const file = new Blob([source], { type: "text/javascript" });
          const { default: mount } = await import(URL.createObjectURL(file));
          window.kept = map;
          mount(kept.component)();
          mount(kept.component);
        }""",
        linked("mount.js"),
    )
    expect(page.locator(".sv-canvas")).to_have_count(1)
    assert page.evaluate("map === kept && !kept.isClosed")
    press(page.get_by_test_id("stSidebar").get_by_role("link", name="Data"))
    page.wait_for_function("() => kept.isClosed")


def test_list_that_a_link_opens_shows_pictures_that_come_later(open_map):
    page = open_map("demo=icons&method=cca&k=50&sel=x0")
    page.add_init_script(
        "const make = window.createImageBitmap, come = Promise.withResolvers(); "
        "window.let_come = come.resolve; "
        "window.createImageBitmap = (blob) => come.promise.then(() => make(blob));"
    )
    page.reload()
    expect(page.locator(".sv-row")).to_have_count(10)
    page.wait_for_function("() => pending().join() === 'map: pictures'")
    assert not page.locator(".sv-row canvas").count()
    page.evaluate("let_come()")
    expect(page.locator(".sv-row canvas")).to_have_count(10)


def test_search_by_text_by_pattern_and_by_model(open_map):
    page = open_map("demo=emoji&method=cca&k=50")
    find = page.get_by_label("Find items on the map")
    find.fill("corazon rojo")
    page.get_by_text("1 found", exact=True).wait_for()
    page.wait_for_function("() => map.textOf(map.matches[0], 99) === 'corazón rojo'")
    find.press("Enter")
    page.wait_for_function("() => map.camera.zoom > 2 && !map.camera.flight")
    page.wait_for_function("() => map.selected?.nearest.length === 10")
    page.wait_for_function("() => map.textOf(map.selected.item, 99) === 'corazón rojo'")
    way = page.get_by_label("How to find")
    way.select_option("pattern")
    find.fill("^red (heart|apple)$")
    page.get_by_text("2 found", exact=True).wait_for()
    find.fill("(")
    page.get_by_text("Invalid regular expression").wait_for()
    page.evaluate(
        """() => {
          window.drawn_meanwhile = 0;
          const count = () => {
            if (map.finder?.pending) drawn_meanwhile++;
            requestAnimationFrame(count);
          };
          count();
        }"""
    )
    find.fill(CATASTROPHE)
    page.get_by_text("This pattern takes too long").wait_for()
    assert page.evaluate("drawn_meanwhile") > 2, "no pattern holds up the page"
    # What is looked for next is not overwritten by what a pattern that still runs comes to.
    both = "(pattern) => { map.find(pattern, 'pattern'); map.find('red apple', 'text'); }"
    page.evaluate(both, CATASTROPHE)
    page.wait_for_function("() => !map.finder.pending")
    said = page.locator(".sv-find-said")
    expect(said).to_have_text(re.compile("^[1-9]\\d* found$"))
    page.evaluate("map.home()")
    way.select_option("model x")
    heart, asked = "a heart that is red", page.get_by_text("Asked as English names")

    def ask(text):
        find.fill(text)
        find.press("Enter")
        until_told(page, ask=f"x:{text}")
        expect(page.locator(".sv-read")).to_have_text(text)
        expect(asked).to_be_visible()
        answered = "(text) => map.typed?.[1] === text && map.query.nearest.length === 10"
        page.wait_for_function(answered, arg=text)
        expect(said).to_have_text("Placed among what the model finds nearest.")
        return page.evaluate("[map.query.x, map.query.y]")

    first = ask(heart)
    assert ask("green") != first
    assert ask(heart) == first == ask(heart), "also where the same is asked at once again"
    for _ in range(3):
        find.fill("qqqqq")
        find.press("Enter")
        expect(said).to_have_text("The model knows nothing in this query.")
        find.press("Escape")
        page.keyboard.press("Escape")
        expect(said).to_have_text("")


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
    page.get_by_text("items enclosed").wait_for()
    page.get_by_text("MRR of").first.wait_for()
    settle(page)
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
    page.wait_for_function("() => map.region?.length === 4")
    expect(page.get_by_text(f"{n:,} items enclosed", exact=True)).to_have_count(0)
    expect(page.get_by_text("items enclosed")).to_be_visible()


def test_keys_go_from_item_to_item(open_map):
    page = open_map("demo=icons&method=cca&k=50")
    page.locator(".sv-canvas").focus()
    live = page.locator(".sv-map [aria-live]")
    page.keyboard.press("+")
    page.wait_for_function("() => map.camera.zoom > 1.4 && !map.camera.flight")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function("() => map.camera.x > map.camera.bounds.x")
    page.keyboard.press("0")
    page.wait_for_function("() => map.camera.zoom === 1 && !map.camera.flight")
    page.keyboard.press("ArrowRight")
    expect(live).to_have_text(re.compile("(train|test|validation|every part)$"))
    first = live.inner_text()
    page.keyboard.press("ArrowRight")
    expect(live).not_to_have_text(first)
    page.keyboard.press("Enter")
    page.wait_for_function("() => map.selected?.nearest.length")
    expect(live).to_contain_text("is selected")
    page.keyboard.press("/")
    page.wait_for_function("() => map.canvas.getRootNode().activeElement?.type === 'search'")


def test_items_glide_to_another_drawing(open_map):
    page = open_map("demo=icons&method=cca&k=50")
    parts = page.evaluate("map.items.header.digest")
    # A glide may be over between two looks at it.
    page.evaluate(
        """() => {
          let glide = null;
          const set = (to) => { glide = to; window.glided ||= Boolean(to); };
          Object.defineProperty(map, "glide", { get: () => glide, set });
        }"""
    )
    # However long the zoom would take yet: one looks at the new drawing as closely as meant.
    zoom = 10 / 3
    page.evaluate("(zoom) => map.camera.flyTo(0, 0, zoom, performance.now(), 1e9)", zoom)
    press(page.get_by_role("button", name="Two-sided"))
    page.get_by_text("PCA", exact=True).click()
    page.wait_for_function("() => window.glided && !map.glide", timeout=240_000)
    assert page.evaluate("map.camera.zoom") == pytest.approx(zoom)
    until_told(page, drawing="pca-2")
    assert page.evaluate("map.items.header.digest") == parts, "items are sent once"


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
        page.wait_for_function(
            "(typed) => map.matches?.every((i) => "
            "map.textOf(i, 9e9).toLowerCase().includes(typed))",
            arg=typed,
        )
        page.get_by_text("found").first.wait_for()
    page.get_by_label("Find items on the map").fill("")
    page.wait_for_function("() => !map.matches")
    for k in range(0, len(PAYLOADS), 7):
        pick(page, k)
        page.wait_for_function(
            "(word) => [...document.querySelectorAll('.sv-read')].some("
            "(region) => region.textContent.includes(word))",
            arg=PAYLOADS[k].split()[0],
        )
    page.evaluate("map.enclose([[-9e9, -9e9], [9e9, -9e9], [9e9, 9e9], [-9e9, 9e9]])")
    page.get_by_text("items enclosed").wait_for()
    settle(page)
    # A group of the histogram that is pressed lets only its items pass, on map and list.
    group = page.locator(".sv-group").first
    assert group.locator("span").text_content().rstrip("…") in "\n".join(PAYLOADS)
    n = int(group.locator("small").inner_text())
    group.click()
    page.get_by_text(f"{n} items", exact=True).wait_for()
    page.wait_for_function("(n) => map.fails?.filter((bits) => !bits).length === n", arg=n)
    page.get_by_role("button", name="Clear filter").click()
    page.get_by_role("button", name="Clear filter").wait_for(state="hidden")
    page.wait_for_function("() => !map.fails && !map.chosen.size")
    page.get_by_text(f"{len(shown)} items", exact=True).wait_for()
    page.get_by_test_id("stSelectbox").last.scroll_into_view_if_needed()
    settle(page)
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
    until_told(page, at=True)
    page.evaluate("map.home()")
    page.wait_for_function("() => map.camera.zoom === 1 && !map.camera.flight")
    until_told(page, at=False)
    page.evaluate("map.placing.prepare(0)")
    shown = "map.order.filter((i) => i >= 60 && map.placing.isShown(i, 0)).length"
    assert page.evaluate(shown) == 60
