"""Waiting for a page to be done."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

# For so many frames in a row nothing on the page changed and no script ran; where something is
# never still, as where progress is told, three times as many pass without a script.
STILL = """(frames) => new Promise((done) => {
  const find = (name) => document.querySelector(`[data-testid=${name}]`);
  let still = 0, left = 3 * frames;
  const watch = new MutationObserver(() => (still = 0));
  const parts = { subtree: true, childList: true, characterData: true, attributes: true };
  watch.observe(document.body, parts);
  const look = () => {
    const app = find("stApp"), hasRun = app?.dataset.testScriptState === "notRunning";
    const isDone = !app || (hasRun && find("stMain")?.innerText.length > 40);
    still = isDone ? still + 1 : 0;
    left -= isDone;
    if (still <= frames && left > 0) return requestAnimationFrame(look);
    watch.disconnect();
    done(true);
  };
  look();
})"""


def stand_still(page: Page, frames: int) -> None:
    """Wait until nothing moves on a page, of the app or any other."""
    page.wait_for_function(STILL, arg=frames)


def settle(page: Page) -> None:
    """Wait until the script of a page has run and what it drew stands still."""
    page.get_by_test_id("stApp").wait_for()
    page.wait_for_load_state("networkidle")
    stand_still(page, frames=60)


def press(target: Locator) -> None:
    """Click when the page stands still: a click into a redraw may be lost."""
    target.wait_for()
    settle(target.page)
    target.click()


def next_frame(page: Page) -> None:
    """Wait until the browser has drawn once more."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def until_trained(page: Page) -> None:
    """Wait until a page shows what was found, and nothing trains any more."""
    page.locator(".sv-finding").wait_for(timeout=240_000)
    settle(page)
    page.wait_for_function("!document.body.innerText.includes('Cancel ')", timeout=240_000)
    settle(page)
