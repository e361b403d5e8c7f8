"""Photograph pages of the app: the icons demo on Home, on Compare and on Map.

Run ``python benchmarks/screens.py``; it starts the app on an empty store and needs
Playwright and a Chromium (``--chromium PATH``).
"""

from __future__ import annotations

import argparse
import io
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
DEMO = "icons"
WIDTH, HEIGHT = 1400, 900
PATIENCE = 300  # seconds for the demo to be trained
#: What is shown where, and what has to be there before.
PAGES = {
    "home": (f"/?demo={DEMO}", ".sv-table"),
    "compare": (f"/compare?data=demo:{DEMO}", ".js-plotly-plot"),
    "map": (
        f"/map?demo={DEMO}&method=cca&drawing=umap-2&sel=x{{row}}",
        ".st-key-map-drawer",
    ),
}
#: The keyword that is selected on the map.
SELECTED = "weather"


def main() -> None:
    """Write ``docs/screen-*.png``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    chromium = parser.parse_args().chromium
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        process, address = _serve(folder)
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=flags)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            _train(page, address)
            for name, (path, awaited) in PAGES.items():
                page.goto(address + path.format(row=_row()))
                page.locator(awaited).first.wait_for(timeout=120_000)
                _settle(page)
                _write(page.screenshot(), ROOT / "docs" / f"screen-{name}.png")
            browser.close()
        finally:
            process.terminate()
            process.wait(20)


def _serve(folder: str) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    options = ["--server.port", str(port), "--server.headless", "true"]
    environment = os.environ | {"SIMVIZ_HOME": folder}
    process = subprocess.Popen(command + options, cwd=ROOT, env=environment)
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=2)
            return process, address
        except OSError:
            time.sleep(0.2)
    process.terminate()
    raise RuntimeError("The app did not start within a minute.")


def _train(page: Page, address: str) -> None:
    """Press the demo's button, and wait for the last of its methods."""
    from simviz.datasets import DEMOS

    page.goto(address)
    page.locator(f"button:has-text('Try it with {DEMO}')").click()
    rows = page.locator(".sv-table tbody tr:not(.sv-base)")
    deadline = time.monotonic() + PATIENCE
    while rows.count() < len(DEMOS[DEMO].methods):
        if time.monotonic() > deadline:
            raise RuntimeError(f"The demo was not trained within {PATIENCE} s.")
        page.wait_for_timeout(500)


def _row() -> int:
    from simviz.datasets import load_demo

    return int((load_demo(DEMO).x.content == SELECTED).nonzero()[0][0])


def _settle(page: Page) -> None:
    """Wait until nothing runs any more, and charts stand still."""
    for waits in ("[data-test-script-state='running']", "[data-testid='stProgress']"):
        page.locator(waits).first.wait_for(state="detached", timeout=180_000)
    page.mouse.move(WIDTH - 5, HEIGHT - 5)
    page.wait_for_timeout(2500)


def _write(shot: bytes, path: Path) -> None:
    """Keep a picture in few colours, which a page of text and lines can do with."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    # Rare colours, such as those of single lines, are kept too.
    few = picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
