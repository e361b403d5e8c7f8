"""The map under fingers: real touch events of a phone, and a page that can still be scrolled."""

from __future__ import annotations

from itertools import pairwise

import pytest
from mapping import PLACE, ready, until_told
from settling import next_frame, settle

pytestmark = pytest.mark.e2e
PHONE = (
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 "
    "Mobile Safari/537.36"
)


class Fingers:
    """Fingers on a page: what the browser makes of them is its own."""

    def __init__(self, page):
        self.page, self.session = page, page.context.new_cdp_session(page)

    def send(self, kind, points):
        touches = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def tap(self, x, y, stray=0):
        self.send("touchStart", [(x, y)])
        if stray:
            self.send("touchMove", [(x + stray, y + stray)])
        self.send("touchEnd", [])

    def drag(self, *paths, steps=8):
        """Each path is where one finger begins and ends."""
        self.send("touchStart", [path[0] for path in paths])
        for step in range(1, steps + 1):
            share = step / steps
            self.send(
                "touchMove",
                [(x0 + share * (x1 - x0), y0 + share * (y1 - y0)) for (x0, y0), (x1, y1) in paths],
            )
            next_frame(self.page)
        self.send("touchEnd", [])


@pytest.fixture
def phone(demo_server, browser):
    context = browser.new_context(
        viewport={"width": 420, "height": 900}, user_agent=PHONE, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{demo_server.url}/map?demo=icons&method=cca&k=50")
    ready(page)
    yield page, Fingers(page), page.locator(".sv-canvas").bounding_box()
    context.close()
    assert not problems


def middle(box):
    return box["x"] + box["width"] / 2, box["y"] + 0.6 * box["height"]


SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"


def test_one_finger_moves_the_map_and_not_the_page(phone):
    page, fingers, box = phone
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
    until_told(page, at=True)
    assert page.evaluate(SCROLLED) == 0
    assert page.evaluate("map.selected") is None, "a drag is no tap"


def test_two_fingers_zoom_about_their_middle(phone):
    page, fingers, box = phone
    x, y = middle(box)
    place = [x - box["x"], y - box["y"]]
    under = "([x, y]) => [map.camera.toMapX(x), map.camera.toMapY(y), map.camera.zoom]"
    before = page.evaluate(under, place)
    fingers.drag([(x - 25, y - 25), (x - 100, y - 100)], [(x + 25, y + 25), (x + 100, y + 100)])
    page.wait_for_function("(zoom) => map.camera.zoom / zoom > 2.4", arg=before[2])
    settle(page)
    after = page.evaluate(under, place)
    assert after[2] / before[2] == pytest.approx(4, rel=0.4)
    unit = page.evaluate("1 / map.camera.scale")
    assert after[:2] == pytest.approx(before[:2], abs=12 * unit)
    assert page.evaluate("visualViewport.scale") == 1, "the map is zoomed and not the page"
    fingers.drag([(x - 100, y), (x - 30, y)], [(x + 100, y), (x + 30, y)])
    page.wait_for_function("(zoom) => map.camera.zoom < 0.6 * zoom", arg=after[2])
    assert page.evaluate("map.selected") is None, "no finger of several has tapped"


def test_a_tap_selects_even_if_the_finger_strays(phone):
    page, fingers, _ = phone
    x, y, item = page.evaluate(PLACE)
    fingers.tap(x, y, stray=3)
    shown = "(item) => map.selected?.item === item && map.selected.nearest.length === 10"
    page.wait_for_function(shown, arg=item)
    until_told(page, sel=True)
    page.locator(".st-key-map-drawer").wait_for()


def test_the_page_scrolls_beside_the_map(phone):
    page, fingers, box = phone
    assert box["height"] < 0.65 * 900, "a thumb always finds the page beside the map"
    below = box["y"] + box["height"] + 20
    fingers.drag([(200, below), (200, below - 400)], steps=12)
    page.wait_for_function(f"() => {SCROLLED} > 0")
    page.set_viewport_size({"width": 900, "height": 420})
    page.wait_for_function("() => map.canvas.clientHeight < 0.65 * 420")


def test_a_finger_draws_a_lasso(phone):
    page, fingers, box = phone
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
    page.get_by_text("items enclosed").wait_for()


# The left and right border of each label that was put down, in pixels of the window.
BOXES = """() => map.lettered.boxes.slice(map.lettered.controls).map((b) => b.slice(0, 4))"""


@pytest.mark.parametrize("zoom", [1, 2.2, 6])
def test_no_label_is_cut_by_the_border_while_the_map_moves(phone, zoom):
    page, _, box = phone
    page.evaluate(f"map.camera.zoomBy({zoom}); map.moved()")
    page.wait_for_function("() => !map.isMoving && !map.asked")
    seen = 0
    for dx, dy in ((0, 0), (37, 20), (61, -90), (-150, 45), (-190, 160)):
        frames = page.evaluate("map.frames")
        page.evaluate(f"map.camera.panBy({dx}, {dy}); map.moved()")
        page.wait_for_function("(frames) => map.frames > frames", arg=frames)
        found = page.evaluate(BOXES)
        seen += len(found)
        for k, (left, top, right, bottom) in enumerate(found):
            assert left >= -0.5 and right <= box["width"] + 0.5, (left, right)
            assert top >= -0.5 and bottom <= box["height"] + 0.5, (top, bottom)
            for a, b, c, d in found[:k]:
                assert left >= c or right <= a or top >= d or bottom <= b, "labels overlap"
    assert seen > 10
