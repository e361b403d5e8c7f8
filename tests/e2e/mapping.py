"""The map in a browser: finding it on a page, and waiting until it is drawn."""

from __future__ import annotations

from playwright.sync_api import Page
from settling import rest

# A redraw may put another map in its place: `map` is the one that is there, else was last there.
NAME = """() => {
  let last;
  const get = () => {
    const parts = [...document.querySelectorAll(".stBidiComponent *")];
    return last = parts.map((e) => e.shadowRoot?.svView).find(Boolean) ?? last;
  };
  Object.defineProperty(window, "map", { get, configurable: true });
}"""
DRAWN = "() => map?.frames > 0 && !map.pending.length"
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
    # What is drawn meanwhile gives way to the drawing asked for, until the page is at rest.
    page.evaluate(NAME)
    page.wait_for_function(DRAWN)
    rest(page)
    page.wait_for_function(DRAWN)


def until_told(page: Page, **said: str | bool) -> None:
    """Wait until the address says these values, or whether it says anything of a name."""
    page.wait_for_function(
        """(said) => Object.entries(said).every(([name, value]) => {
          const found = new URL(location).searchParams.get(name);
          return value === (typeof value === "boolean" ? found !== null : found);
        })""",
        arg=said,
    )


def until_seen(page: Page) -> None:
    """Wait until the address says where on the map one looks now."""
    page.wait_for_function(
        """() => {
          const at = new URL(location).searchParams.get("at"), now = map.camera.told();
          return !map.camera.flight && at?.split(",").every((part, k) => Number(part) === now[k]);
        }"""
    )


def pick(page: Page, item: int) -> None:
    """Select an item and wait for its nearest, on the map that is there now."""
    page.evaluate("(item) => map.pick(item)", item)
    shown = "(item) => map.data.selected?.item === item && map.selected?.nearest.length"
    page.wait_for_function(shown, arg=item)
