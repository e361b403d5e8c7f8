"""Waiting for a page, and for the map on it, to be done."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, TimeoutError as PlaywrightTimeout

#: Milliseconds after which a wait of any kind takes it for a hang: a machine may be very busy.
LONG = 240_000
#: Runs before any script of a page, and makes `pending()` there.
WATCHED = Path(__file__).with_name("pending.js")
# What arrives with the last answer is drawn within the next frames.
AT_REST = """() => {
  if (pending().length) window.drawnSince = 0;
  else window.drawnSince = (window.drawnSince ?? 0) + 1;
  return window.drawnSince > 3;
}"""
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
#: An item is selected, with what the model has nearest to it.
SHOWN = "(item) => map.selected?.item === item && map.selected.nearest.length === 10"


def rest(page: Page) -> None:
    """Wait until a page does nothing more by itself; at the limit, say what it still does."""
    page.bring_to_front()  # behind another it draws one frame a second
    page.evaluate("() => { window.drawnSince = 0; }")
    try:
        page.wait_for_function(AT_REST, timeout=LONG)
    except PlaywrightTimeout:
        raise AssertionError(f"the page is not at rest: {page.evaluate('pending()')}") from None


def listen(page: Page) -> list[str]:
    """Return what goes wrong on a page from now on: errors, dialogs, words on the console."""
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    return heard


def until_run(page: Page) -> None:
    """Wait until the script of a page has run; what is told meanwhile may go on."""
    state = "document.querySelector('[data-testid=stApp]')?.dataset.testScriptState"
    page.wait_for_function(f"{state} === 'notRunning'")


def press(target: Locator) -> None:
    """Click when the page is at rest: a click into a redraw may be lost."""
    target.wait_for()
    rest(target.page)
    target.click()


def next_frame(page: Page) -> None:
    """Wait until the browser has drawn once more."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def until_trained(page: Page) -> None:
    """Wait until a page shows what was found, and nothing trains any more."""
    page.locator(".sv-finding").wait_for()
    rest(page)


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
