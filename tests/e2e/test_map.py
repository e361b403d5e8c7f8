"""The map under mouse and keys: zoom, click, search, lasso, glide, list, and hostile texts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hosted import cloud, drawn, host, packed_places, pictures, watched, words
from payloads import PAYLOADS
from playwright.sync_api import expect
from settling import PLACE, SHOWN, rest

from simviz.data import Items

pytestmark = pytest.mark.e2e
# Each way to split a text in parts is tried before it is told that none ends in this way.
CATASTROPHE = "^(.+.+)+!$"
N = 60


@pytest.fixture
def page(browser):
    with watched(browser, viewport={"width": 1400, "height": 900}) as page:
        yield page


@pytest.fixture(scope="module")
def drawing():
    """Words and pictures in some groups."""
    return drawn(words(N), pictures(N), cloud(N, 0), cloud(N, 1))


def until_picked(page, key):
    """Wait until the server was told of a selection, or of none."""
    page.wait_for_function("(key) => told.picked && told.picked.key === key", arg=key)


def test_wheel_zooms_and_click_selects(page, drawing):
    host(page, drawing)
    canvas = page.locator(".sv-canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile(f"^Map of {N} x and {N} y, "))
    box = canvas.bounding_box()
    x, y = box["x"] + 500, box["y"] + 300
    page.mouse.move(x, y)
    under = "([x, y]) => [map.camera.toMapX(x), map.camera.toMapY(y)]"
    place = page.evaluate(under, [500, 300])
    for n in range(1, 5):
        page.mouse.wheel(0, -200)
        page.wait_for_function(
            "(n) => Math.abs(map.camera.zoom - Math.exp(n * 0.32)) < 1e-6", arg=n
        )
    assert page.evaluate(under, [500, 300]) == pytest.approx(place, abs=1e-6)
    rest(page)
    page.wait_for_function("() => String(told.at) === String(map.camera.told())")
    zoom = page.evaluate("map.camera.zoom")
    x, y, item = page.evaluate(PLACE)
    page.mouse.move(x, y)
    text = page.evaluate("(item) => map.items.header.texts[item]", item)
    expect(page.locator(".sv-card b")).to_have_text(text)
    page.mouse.click(x, y)
    until_picked(page, page.evaluate("(item) => map.keyOf(item)", item))
    page.wait_for_function(SHOWN, arg=item)
    expect(page.locator(".sv-card")).to_be_hidden()
    assert page.evaluate("map.camera.zoom") == zoom
    # Whoever drags moves the map by as much, and selects nothing.
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 30, y + 40)
    before = page.evaluate("[map.camera.toScreenX(0), map.camera.toScreenY(0)]")
    page.mouse.move(x - 80, y + 110)
    after = page.evaluate("[map.camera.toScreenX(0), map.camera.toScreenY(0)]")
    page.mouse.up()
    assert np.subtract(after, before) == pytest.approx([-50, 70], abs=1e-6)
    assert page.evaluate("map.data.selected.item") == item
    page.keyboard.press("Escape")
    until_picked(page, None)
    assert page.evaluate("map.selected") is None
    # The buttons do what the wheel does.
    is_at = "(zoom) => Math.abs(map.camera.zoom - zoom) < 1e-6 && !map.camera.flight"
    for label, factor in (("Zoom in", 1.6), ("Zoom out", 1)):
        page.get_by_label(label).click()
        page.wait_for_function(is_at, arg=factor * zoom)
    page.get_by_label("Show the whole map").click()
    page.wait_for_function("() => map.camera.zoom === 1 && String(told.at) === '0,0,1'")


def test_keys_go_from_item_to_item(page, drawing):
    host(page, drawing)
    page.locator(".sv-canvas").focus()
    live = page.locator(".sv-map [aria-live]")
    for key, is_done in (
        ("+", "map.camera.zoom === 1.5"),
        ("Shift+ArrowRight", "map.camera.x > map.camera.bounds.x"),
        ("Shift+ArrowUp", "map.camera.y > map.camera.bounds.y"),
        ("-", "map.camera.zoom === 1"),
        ("0", "map.camera.x === map.camera.bounds.x"),
    ):
        page.keyboard.press(key)
        page.wait_for_function(f"() => {is_done}")
    page.keyboard.press("ArrowRight")
    first = page.evaluate("map.focused")
    text = "(item) => map.items.header.texts[item]"
    expect(live).to_contain_text(page.evaluate(text, first))
    page.keyboard.press("ArrowRight")
    second = page.evaluate("map.focused")
    assert page.evaluate("([a, b]) => map.xs[b] > map.xs[a]", [first, second])
    expect(live).to_contain_text(page.evaluate(text, second))
    page.keyboard.press("Enter")
    until_picked(page, page.evaluate("(item) => map.keyOf(item)", second))
    page.wait_for_function("(item) => map.data.selected?.item === item", arg=second)
    expect(live).to_contain_text("is selected")
    page.keyboard.press("/")
    page.wait_for_function("() => map.canvas.getRootNode().activeElement?.type === 'search'")


def test_list_and_map_point_at_each_other(page, drawing):
    # Pictures that come only when the list has long been there.
    page.add_init_script(
        "const make = window.createImageBitmap, come = Promise.withResolvers(); "
        "window.let_come = come.resolve; "
        "window.createImageBitmap = (blob) => come.promise.then(() => make(blob));"
    )
    page.goto("about:blank")
    host(page, drawing, is_whole=False)
    near = page.evaluate("map.pick(0), map.data.selected.nearest.map(([i]) => i)")
    entries = [[i, f"y{i - N}", f"picture {i - N}", "0.50"] for i in near]
    page.evaluate("list", {"title": "Nearest pictures", "entries": entries, "filters": False})
    expect(page.locator(".sv-row")).to_have_count(10)
    assert not page.locator(".sv-row canvas").count()
    page.evaluate("let_come()")
    expect(page.locator(".sv-row canvas")).to_have_count(10)
    rest(page)
    # A row shows its item on the map, with what is nearest to that; an item shows its row.
    page.locator(".sv-row").nth(3).hover()
    page.wait_for_function("(item) => map.hovered === item", arg=near[3])
    assert page.evaluate("map.nearestOf(map.hovered).length") == 10
    page.mouse.move(0, 0)
    page.wait_for_function("() => map.hovered === -1")
    page.evaluate("(item) => map.point(item)", near[6])
    expect(page.locator(".sv-row.sv-now")).to_have_attribute("aria-posinset", "7")
    # What is pressed is still there when it is let go.
    pressed = page.locator(".sv-row").nth(4)
    row = pressed.element_handle()
    pressed.hover()
    assert row.evaluate("(row) => row.isConnected && row.classList.contains('sv-now')")
    pressed.click()
    until_picked(page, f"y{near[4] - N}")
    assert page.evaluate("map.data.selected.item") == near[4]
    # By keys, through all of them.
    page.evaluate("list", {"title": "Items on the map", "rows": None, "filters": True})
    expect(page.get_by_text(f"{2 * N} items")).to_be_visible()
    page.locator(".sv-rows").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".sv-row.sv-now")).to_have_attribute("aria-posinset", str(2 * N - 1))
    page.keyboard.press("Enter")
    until_picked(page, page.evaluate("map.keyOf(map.hovered)"))


def test_a_map_ends_with_its_page_and_not_with_a_call_that_another_overtook(page, drawing):
    host(page, drawing)
    # As Streamlit does when it is told two things at once.
    page.evaluate("window.kept = map, mount(component)(), window.leave = mount(component)")
    expect(page.locator(".sv-canvas")).to_have_count(1)
    assert page.evaluate("map === kept && !kept.isClosed")
    page.evaluate("document.getElementById('map').remove(), leave()")
    assert page.evaluate("kept.isClosed")


def test_search_by_text_and_by_pattern(page):
    names = ["corazón rojo", "red heart", "red apple", "un corazón", "a red apple tree"]
    x = Items([*"abcde"], names, "text")
    host(page, drawn(x, words(5, "name {}", ids="y"), cloud(5, 0), cloud(5, 1)))
    find, way = page.get_by_label("Find items on the map"), page.get_by_label("How to find")
    said = page.locator(".sv-find-said")
    find.fill("corazon rojo")
    expect(said).to_have_text("1 found")
    page.wait_for_function("() => told.set?.find?.join() === 'text,corazon rojo'")
    find.press("Enter")
    until_picked(page, "x0")
    page.wait_for_function("() => map.camera.zoom === 2.5 && map.selected?.item === 0")
    # What was found is listed, and gone through by Enter.
    find.fill("red")
    expect(page.locator(".sv-find-list bdi")).to_have_text([names[1], names[2], names[4]])
    for key, picked in (("Enter", "x1"), ("Enter", "x2"), ("Shift+Enter", "x1")):
        find.press(key)
        until_picked(page, picked)
    way.select_option("pattern")
    find.fill("^red (heart|apple)$")
    expect(said).to_have_text("2 found")
    find.fill("(")
    expect(said).to_contain_text("Invalid regular expression")
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
    # Long enough that no machine comes to an end with it.
    page.evaluate("map.items.header.texts.push('a'.repeat(60)), map.finder.close()")
    find.fill(CATASTROPHE)
    expect(said).to_contain_text("This pattern takes too long")
    assert page.evaluate("drawn_meanwhile") > 2, "no pattern holds up the page"
    # What is looked for next is not overwritten by what a pattern that still runs comes to.
    page.evaluate(
        "(pattern) => { map.find(pattern, 'pattern'); map.find('red apple', 'text'); }",
        CATASTROPHE,
    )
    page.wait_for_function("() => !map.finder.pending")
    expect(said).to_have_text("2 found")
    way.select_option("model x")
    find.fill("  green  ")
    find.press("Enter")
    page.wait_for_function("() => told.asked?.text === 'green' && told.asked.side === 'x'")


def test_lasso_and_box_enclose_what_is_inside(page, drawing):
    host(page, drawing)
    # Which items stand in a box of the window, and which were enclosed on the map and told.
    inside = """([left, top, right, bottom]) => map.labels.map((_, i) => i).filter((i) => {
      const x = map.camera.toScreenX(map.xs[i]), y = map.camera.toScreenY(map.ys[i]);
      return x > left && x < right && y > top && y < bottom;
    })"""
    enclosed = "map.labels.map((_, i) => i).filter((i) => map.enclosed[i])"
    said = """() => { const bits = Uint8Array.from(atob(told.region.rows), (c) => c.charCodeAt(0));
      return map.labels.map((_, i) => i).filter((i) => bits[i >> 3] >> (i & 7) & 1); }"""
    page.get_by_label("Select items by drawing around them").click()
    box = page.locator(".sv-canvas").bounding_box()

    def drag(*corners):
        (x, y), *others = [(box["x"] + x, box["y"] + y) for x, y in corners]
        page.mouse.move(x, y)
        page.mouse.down()
        for x, y in others:
            page.mouse.move(x, y, steps=4)
        page.mouse.up()

    drag((200, 150), (700, 150), (700, 450), (200, 450), (202, 160))
    page.wait_for_function("() => told.region?.rows && map.region")
    wanted = page.evaluate(inside, [200, 150, 700, 450])
    assert page.evaluate(enclosed) == page.evaluate(said) == wanted
    assert 10 < len(wanted) < 2 * N and min(wanted) < N < max(wanted)
    assert page.evaluate("told.region.corners.length") <= 32
    # With Shift a box is drawn, whatever the tool.
    page.get_by_label("Move the map (drag)").click()
    page.keyboard.down("Shift")
    drag((300, 400), (600, 200))
    page.keyboard.up("Shift")
    page.wait_for_function("() => map.region?.length === 4")
    wanted = page.evaluate(inside, [300, 200, 600, 400])
    assert page.evaluate(enclosed) == page.evaluate(said) == wanted != []
    # An entry of the legend hides what it stands for, also from what is enclosed next.
    first = page.locator(".sv-legend button").first
    first.click()
    expect(first).to_have_attribute("aria-pressed", "false")
    page.wait_for_function("() => told.set?.closed.join() === 's0'")
    page.get_by_label("Select items in a box").click()
    drag((300, 400), (600, 200))
    page.wait_for_function("(n) => map.data.region && map.enclosed?.[n]", arg=max(wanted))
    assert page.evaluate(enclosed) == page.evaluate(said) == [i for i in wanted if i >= N]
    # So it does where a link brings both at once.
    link = page.evaluate("({ region: told.region.corners, set: { closed: ['s0'], n: 1 } })")
    again = page.context.new_page()
    host(again, drawing, **link)
    assert again.evaluate(enclosed) == [i for i in wanted if i >= N]
    again.close()
    page.locator(".sv-canvas").focus()
    page.keyboard.press("Escape")
    page.wait_for_function("() => map.region === null && map.enclosed === null")


def test_items_glide_to_another_drawing(browser, drawing):
    with watched(browser, reduced_motion="no-preference") as page:
        host(page, drawing)
        # However long the zoom would take yet: one looks at the new drawing as closely as meant.
        zoom = 10 / 3
        page.evaluate("(zoom) => map.camera.flyTo(0, 0, zoom, performance.now(), 1e9)", zoom)
        other = packed_places(cloud(N, 2), cloud(N, 3))
        # On its way each item is between where it stood on the screen and where it will.
        page.evaluate(
            """({ part, digest }) => {
              send("places", part);
              change({ places: digest });
              const { glide } = map, start = glide.start;
              window.glided = [0, 0.5, 0.999].map((done) => {
                map.paint(start + 650 * done);
                return [map.xs[0], map.ys[0]];
              });
              window.ends = [[glide.fromX[0], glide.fromY[0]], [glide.xs[0], glide.ys[0]]];
            }""",
            other,
        )
        (begin, middle, late), ends = page.evaluate("glided"), page.evaluate("ends")
        assert begin == pytest.approx(ends[0], abs=1e-5) != pytest.approx(ends[1], abs=0.1)
        assert middle == pytest.approx(np.mean(ends, axis=0), abs=1e-5)
        assert late == pytest.approx(ends[1], abs=1e-2)
        page.wait_for_function("() => !map.glide")
        rest(page)
        assert page.evaluate("[map.xs[0], map.ys[0]]") == ends[1]
        assert page.evaluate("map.camera.zoom") == pytest.approx(zoom)


def test_hostile_texts_are_inert(page):
    n = len(PAYLOADS)
    sides = [
        Items(
            [f"{i} {text}" for i, text in enumerate(PAYLOADS)],
            [f"{text} {word}{i % 9}" for i, text in enumerate(PAYLOADS)],
            "text",
            {"label": PAYLOADS[::-1], PAYLOADS[0]: PAYLOADS, "kind": (PAYLOADS[:3] * n)[:n]},
        )
        for word in ("a", "b")
    ]
    drawing = drawn(*sides, cloud(n, 0), cloud(n, 1))
    kinds = np.array((PAYLOADS[:3] * n)[:n] * 2)
    names = [[0, 0, 24, 0.0, 0.0, [PAYLOADS[9], PAYLOADS[0]]]]
    legend = [{"shape": "circle", "key": "s0", "colour": "#112233", "name": PAYLOADS[9]}]
    asked = [{"side": "x", "name": PAYLOADS[10]}, {"side": "y", "name": PAYLOADS[9]}]
    said = {"alt": PAYLOADS[46], "legend": legend, "asked": asked, "regions": names}
    host(page, drawing, {PAYLOADS[10]: kinds}, **said)
    shown = page.evaluate("map.items.header.texts")
    assert len(shown) == 2 * n >= 120
    # Every text on the card, with all that is known of the item, and some where they are found
    # and told to those who hear.
    for i, text in enumerate(shown):
        page.evaluate("(i) => map.panel.showCard(i)", i)
        card = page.evaluate("[...map.panel.card.querySelectorAll('b')].map((b) => b.textContent)")
        assert card[0].rstrip("…") in text and len(card[0]) > 5
    find, found = page.get_by_label("Find items on the map"), page.locator(".sv-find-list bdi")
    for typed in ("<", "javascript", "onerror", "]("):
        find.fill(typed)
        expect(found.first).to_contain_text(typed, ignore_case=True)
        for entry in found.all_text_contents():
            assert any(entry.rstrip("…") in text for text in shown)
    find.fill("")
    page.wait_for_function("() => !map.matches")
    for k in range(0, n, 7):
        page.evaluate("(item) => map.pick(item)", k)
        told = "(k) => map.panel.live.textContent.startsWith(`${map.textOf(k, 80)} is selected`)"
        page.wait_for_function(told, arg=k)
    page.evaluate("list", {"title": PAYLOADS[1], "rows": None, "filters": True})
    expect(page.get_by_text(f"{2 * n} items", exact=True)).to_be_visible()
    for row in page.locator(".sv-row > span").all_text_contents():
        assert row in shown
    # A group of the histogram that is pressed lets only its items pass, on map and list.
    group = page.locator(".sv-group").first
    assert group.locator("span").text_content().rstrip("…") in "\n".join(PAYLOADS)
    passing = int(group.locator("small").inner_text())
    group.click()
    expect(page.get_by_text(f"{passing} items", exact=True)).to_be_visible()
    assert page.evaluate("map.fails.filter((bits) => !bits).length") == passing
    page.wait_for_function("() => told.set?.filter === '0:0'")
    page.get_by_role("button", name="Clear filter").click()
    expect(page.get_by_text(f"{2 * n} items", exact=True)).to_be_visible()
    assert page.evaluate("!map.fails && !map.chosen.size")
    rest(page)
    assert page.evaluate("window.__xss") is None
    live = "script, iframe, object, embed, img, [onerror], [onload], [onfocus]"
    assert page.locator(live).count() == 0
