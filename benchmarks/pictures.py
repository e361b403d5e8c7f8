"""Draw the pictures of README and Home: the icons demo on one map, light and dark.

Run ``python benchmarks/pictures.py``; it needs Playwright and a Chromium (``--chromium PATH``).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from simviz.charts import draw
from simviz.data import split
from simviz.datasets import load_demo
from simviz.pipeline import default_pipeline

DOCS = Path(__file__).parents[1] / "docs"
README, HOME = {"width": 1240, "height": 760}, {"width": 680, "height": 620}
HIDDEN = ".sv-find, .sv-tools { visibility: hidden }"


def main() -> None:
    """Write ``docs/map-*.png``, with a word selected, and ``docs/home-*.png``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    chromium = parser.parse_args().chromium
    pairs = load_demo("icons")
    train = split(pairs, by="y").train
    pipeline = default_pipeline("cca", train).fit(train)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        page_file = Path(folder) / "map.html"
        draw(pipeline, pairs).save(page_file)
        for theme in ("light", "dark"):
            page = browser.new_page(viewport=HOME, color_scheme=theme, device_scale_factor=1.5)
            page.goto(page_file.as_uri())
            page.add_style_tag(content=HIDDEN)
            page.wait_for_timeout(1500)
            page.screenshot(path=DOCS / f"home-{theme}.png")
            page = browser.new_page(viewport=README, color_scheme=theme)
            page.goto(page_file.as_uri())
            page.get_by_label("Find items on the map").fill("weather")
            page.keyboard.press("Enter")
            page.get_by_text("its match in the data").wait_for()
            page.get_by_title("Show the whole map (0)").click()
            page.add_style_tag(content=HIDDEN)
            page.wait_for_timeout(1500)
            page.screenshot(path=DOCS / f"map-{theme}.png")
        browser.close()


if __name__ == "__main__":
    main()
