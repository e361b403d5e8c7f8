"""A stranger's first minute: seconds from a demo's button to its figures, in a real browser.

python benchmarks/first_minute.py [--demos icons ...] [--cache DIR]

The server is started on a home of its own. With --cache the compiled kernels of that folder are
used, with "new" an empty one; without, those that lie beside the code.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
import time
from pathlib import Path

from map_frames import FLAGS, ROOT, Server
from playwright.sync_api import Page, sync_playwright

from simviz.datasets import DEMOS

#: What the page has when the first result is there, when all are, and when the best is drawn.
ROWS = "document.querySelectorAll('.sv-table tbody tr').length"
DRAWN = """() => {
  const roots = [...document.querySelectorAll("*")].map((element) => element.shadowRoot);
  const map = roots.find((root) => root && root.svView)?.svView;
  return map && map.frames > 0 && !document.querySelector(".stProgress");
}"""


def watch(page: Page, url: str, demo: str, rows: int) -> list[float]:
    """Seconds to Home, then from the button to the first row, all rows, and the drawing."""
    began = time.perf_counter()
    page.goto(url)
    button = page.get_by_role("button", name=re.compile(DEMOS[demo].title))
    button.wait_for(timeout=120_000)
    found = [time.perf_counter() - began]
    pressed = time.perf_counter()
    button.click()
    for condition in (f"{ROWS} >= 1", f"{ROWS} >= {rows}", DRAWN):
        page.wait_for_function(condition, timeout=90_000, polling=50)
        found.append(time.perf_counter() - pressed)
    return found


def main() -> None:
    """Measure each demo on a fresh home and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--demos", nargs="+", default=["icons"])
    parser.add_argument("--cache")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    changed = {}
    if chosen.cache:
        cache = folder / "cache" if chosen.cache == "new" else Path(chosen.cache).resolve()
        changed["NUMBA_CACHE_DIR"] = str(cache)
    server = Server(ROOT / "app.py", folder / "home", **changed)
    with server as url, sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for demo in chosen.demos:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            # With guessing by popularity and pure chance.
            times = watch(page, url, demo, len(DEMOS[demo].methods) + 2)
            print(demo, *(f"{t:.1f}" for t in times), flush=True)
            page.screenshot(path=folder / f"{demo}.png", full_page=True)
    print(folder)


if __name__ == "__main__":
    main()
