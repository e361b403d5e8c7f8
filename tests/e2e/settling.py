"""Waiting for a page to be done."""

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


def rest(page: Page) -> None:
    """Wait until a page does nothing more by itself; at the limit, say what it still does."""
    page.bring_to_front()  # behind another it draws one frame a second
    page.evaluate("() => { window.drawnSince = 0; }")
    try:
        page.wait_for_function(AT_REST, timeout=LONG)
    except PlaywrightTimeout:
        raise AssertionError(f"the page is not at rest: {page.evaluate('pending()')}") from None


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
