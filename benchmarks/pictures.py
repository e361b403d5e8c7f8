"""Draw the pictures of README and Home: the icons demo on one map, light and dark.

Run ``python benchmarks/pictures.py``; it needs Playwright and a Chromium (``--chromium PATH``).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from simviz.charts import DARK, LIGHT, map_figure
from simviz.data import split
from simviz.datasets import load_demo
from simviz.pipeline import default_pipeline
from simviz.projection import joint_map

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, HEIGHT = 1240, 760


def main() -> None:
    """Write ``docs/map-light.png`` and ``docs/map-dark.png``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    chromium = parser.parse_args().chromium
    pairs = load_demo("icons")
    train = split(pairs, by="y").train
    pipeline = default_pipeline("cca", train).fit(train)
    drawing = joint_map(*pipeline.coordinates(pairs.x, pairs.y), method="two-sided")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        for theme in (LIGHT, DARK):
            figure = map_figure(
                drawing,
                pairs.x,
                pairs.y,
                pairs.relevance,
                theme=theme,
                x_name=pairs.x_name,
                y_name=pairs.y_name,
                width=WIDTH,
                height=HEIGHT,
            )
            figure.update_layout(paper_bgcolor=theme.paper, width=WIDTH, height=HEIGHT)
            page_file = Path(folder) / "map.html"
            figure.write_html(page_file, include_plotlyjs=True)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(page_file.as_uri())
            page.add_style_tag(content="body { margin: 0 }")
            page.wait_for_timeout(1500)
            page.screenshot(path=DOCS / f"map-{theme.name}.png")
        browser.close()


if __name__ == "__main__":
    main()
