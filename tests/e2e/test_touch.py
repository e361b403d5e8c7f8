"""The map under fingers: real touch events of a phone, and a page that can still be scrolled."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hosted import PHONE, Fingers, cloud, drawn, host, pictures, watched, words
from settling import PLACE, SHOWN, rest

pytestmark = pytest.mark.e2e


@pytest.fixture
def phone(browser):
    with watched(browser, **PHONE) as page:
        yield page, Fingers(page)


@pytest.fixture(scope="module")
def drawing():
    n = 300
    return drawn(words(n), pictures(n), cloud(n, 0), cloud(n, 1))


def show(phone, drawing):
    """Show a drawing as on a narrow window; answers with where the map is."""
    host(phone[0], drawing, narrow=True)
    return phone[0].locator(".sv-canvas").bounding_box()


def middle(box):
    return box["x"] + box["width"] / 2, box["y"] + 0.6 * box["height"]


def test_one_finger_moves_the_map_and_not_the_page(phone, drawing):
    page, fingers = phone
    box = show(phone, drawing)
    x, y = middle(box)
    page.evaluate("map.camera.zoomBy(4)")
    before = page.evaluate("[map.camera.x, map.camera.y, map.camera.scale]")
    fingers.drag([(x, y), (x - 70, y - 90)])
    # What lies under the finger stays under it, but for the first pixels that make it no tap.
    page.wait_for_function(
        """([x, y, scale]) => Math.abs((map.camera.x - x) * scale - 70) <= 14 &&
          Math.abs((y - map.camera.y) * scale - 90) <= 14""",
        arg=before,
    )
    page.wait_for_function("() => told.at && String(told.at) === String(map.camera.told())")
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("map.selected === null && !told.picked"), "a drag is no tap"


def test_two_fingers_zoom_about_their_middle(phone, drawing):
    page, fingers = phone
    box = show(phone, drawing)
    x, y = middle(box)
    place = middle(box | {"x": 0, "y": 0})
    under = "([x, y]) => [map.camera.toMapX(x), map.camera.toMapY(y), map.camera.zoom]"
    before = page.evaluate(under, place)
    fingers.drag([(x - 25, y - 25), (x - 100, y - 100)], [(x + 25, y + 25), (x + 100, y + 100)])
    page.wait_for_function("(zoom) => map.camera.zoom / zoom > 2.4", arg=before[2])
    rest(page)
    after = page.evaluate(under, place)
    assert after[2] / before[2] == pytest.approx(4, rel=0.4)
    unit = page.evaluate("1 / map.camera.scale")
    assert after[:2] == pytest.approx(before[:2], abs=12 * unit)
    assert page.evaluate("visualViewport.scale") == 1, "the map is zoomed and not the page"
    fingers.drag([(x - 100, y), (x - 30, y)], [(x + 100, y), (x + 30, y)])
    page.wait_for_function("(zoom) => map.camera.zoom < 0.6 * zoom", arg=after[2])
    assert page.evaluate("map.selected === null && !told.picked"), "none of several taps"


def test_a_tap_selects_even_if_the_finger_strays(phone, drawing):
    page, fingers = phone
    show(phone, drawing)
    x, y, item = page.evaluate(PLACE)
    fingers.tap(x, y, stray=3)
    page.wait_for_function(SHOWN, arg=item)
    assert page.evaluate("told.picked.key") == page.evaluate("(item) => map.keyOf(item)", item)
    # One that strays farther has moved the map.
    rest(page)
    before = page.evaluate("map.camera.x")
    fingers.drag([(x, y), (x + 40, y)])
    page.wait_for_function("(x) => map.camera.x < x && !map.isMoving", arg=before)
    assert page.evaluate("map.selected.item") == item


def test_the_page_scrolls_beside_the_map(phone, drawing):
    page, fingers = phone
    box = show(phone, drawing)
    assert box["height"] < 0.65 * 900, "a thumb always finds the page beside the map"
    below = box["y"] + box["height"] + 60
    fingers.scroll("document", (200, below), (200, below - 400))
    assert page.evaluate("scrollY") > 0
    page.set_viewport_size({"width": 900, "height": 420})
    page.wait_for_function("() => map.canvas.clientHeight < 0.65 * 420")
    # A map among other things lies in nobody's way: a finger on it moves the page.
    page.set_viewport_size({"width": 420, "height": 900})
    page.evaluate("scrollTo(0, 0), change({ scrolls: true })")
    page.wait_for_function("() => scrollY === 0")
    rest(page)
    x, y = middle(page.locator(".sv-canvas").bounding_box())
    fingers.scroll("document", (x, y), (x, y - 300))
    assert page.evaluate("scrollY") > 0


def test_a_finger_draws_a_lasso(phone, drawing):
    page, fingers = phone
    box = show(phone, drawing)
    page.get_by_label("Select items by drawing around them").tap()
    x, y = middle(box)
    sides = ((-90, -90), (90, -90), (90, 90), (-90, 90), (-88, -80))
    ring = [(x + dx, y + dy) for dx, dy in sides]
    fingers.send("touchStart", ring[:1])
    for start, end in pairwise(ring):
        for share in (0.25, 0.5, 0.75, 1):
            at = [a + share * (b - a) for a, b in zip(start, end, strict=True)]
            fingers.send("touchMove", [at])
    fingers.send("touchEnd", [])
    page.wait_for_function("() => told.region?.rows && map.region")
    # Near the border a corner that was left out may decide.
    inside = """([x, y, least, most]) => map.labels.map((_, i) => i).filter((i) => {
      const across = Math.abs(map.camera.toScreenX(map.xs[i]) - x);
      const down = Math.abs(map.camera.toScreenY(map.ys[i]) - y), away = Math.max(across, down);
      return away >= least && away <= most;
    })"""
    at = middle(box | {"x": 0, "y": 0})
    enclosed = set(page.evaluate("map.labels.map((_, i) => i).filter((i) => map.enclosed[i])"))
    assert enclosed >= set(page.evaluate(inside, [*at, 0, 80])) != set()
    assert not enclosed & set(page.evaluate(inside, [*at, 95, 9999]))
