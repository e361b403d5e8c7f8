"""The map in a browser: finding it on a page, and waiting until it is drawn."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page

FIND = """() => {
  const roots = [...document.querySelectorAll(".stBidiComponent *")].map((e) => e.shadowRoot);
  window.map = roots.find((root) => root && root.svView)?.svView;
  return Boolean(window.map && window.map.frames > 0 &&
    (!window.map.items.header.sheet || window.map.pictures.sheet));
}"""
# Where an item is on the screen, far from the border, that a click there would hit.
PLACE = """() => {
  const {camera, xs, ys, canvas} = map, box = canvas.getBoundingClientRect();
  for (let i = 0; i < xs.length; i++) {
    const x = camera.toScreenX(xs[i]), y = camera.toScreenY(ys[i]);
    if (x > 80 && y > 120 && x < camera.width - 90 && y < camera.height - 80 &&
        map.itemAt(x, y) === i) return [box.x + x, box.y + y, i];
  }
}"""


def ready(page: Page) -> None:
    """Wait until the map is drawn; it is `map` in the page from then on."""
    page.wait_for_function(FIND, timeout=240_000)
    page.wait_for_timeout(700)


def told(page: Page) -> dict[str, str]:
    """What the address says, one value a name."""
    return {name: value[0] for name, value in parse_qs(urlsplit(page.url).query).items()}


def pick(page: Page, item: int) -> None:
    """Select an item and wait for its nearest, on the map that is there now."""
    page.wait_for_function(FIND)  # a redraw may have put another map in its place
    page.evaluate("(item) => map.pick(item)", item)
    shown = "(item) => map.data.selected?.item === item && map.selected.nearest.length"
    page.wait_for_function(shown, arg=item, timeout=60_000)
