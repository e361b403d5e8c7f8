"""Every page as a picture; with a folder in SIMVIZ_SCREENS, those of the docs are written there.

``SIMVIZ_SCREENS=docs python -m pytest -m e2e tests/e2e/test_screens.py`` takes them again.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from settling import press, rest

from simviz.datasets import DEMOS, load_demo

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.soak("pictures of the docs: a demo and an experiment, trained cold"),
]

DEMO, WIDTH, HEIGHT = "icons", 1400, 900
#: The keyword that is asked and selected.
ASKED = "weather"
#: What is opened where, and what has to be there before the picture is taken.
PAGES = {
    "home": ("/", ".st-key-tour-begin, [data-testid=stButton]"),
    "demo": ("/?demo=icons", ".sv-table"),
    "data": ("/data?data=demo:icons", ".sv-find, .sv-quiet"),
    "train": ("/train?data=demo:icons", "[data-testid=stDataFrame]"),
    "compare": ("/compare?data=demo:icons", ".js-plotly-plot"),
    "map": ("/map?demo=icons&method=cca&sel=x{row}", ".st-key-map-drawer"),
    "search": ("/search?data=demo:icons&ask=x{row}", "h1"),
    "methods": ("/methods?data=demo:icons", "h1"),
    "papers": ("/papers?experiment=keyword_map", ".sv-table"),
}
#: All of them together, in bytes.
MAX_BYTES = 1_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    asked = os.environ.get("SIMVIZ_SCREENS")
    return Path(asked) if asked else tmp_path_factory.mktemp("screens")


def test_every_page_makes_a_picture(start_server, browser, folder):
    server = start_server("screens", public=False)
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    row = int((load_demo(DEMO).x.content == ASKED).nonzero()[0][0])
    for name, (path, awaited) in PAGES.items():
        page.goto(server.url + path.format(row=row))
        rest(page)
        if name == "home":
            shot = page.screenshot()
            _write(shot, folder / "screen-home.png")
            _train(page)
            continue
        if name == "papers":
            press(page.get_by_role("button", name="Run on the demo"))
        page.locator(awaited).first.wait_for()
        _still(page)
        assert not page.get_by_test_id("stException").count(), name
        _write(page.screenshot(), folder / f"screen-{name}.png")
        if name == "train":
            page.set_viewport_size({"width": 420, "height": HEIGHT})
            rest(page)
            link = ".st-key-results-links [data-testid=stPageLink] a > :first-child"
            begins = [page.locator(at).first.bounding_box()["x"] for at in (".sv-lead", link)]
            assert begins[0] == pytest.approx(begins[1], abs=1), "on a phone links stand in line"
            page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    written = [folder / f"screen-{name}.png" for name in PAGES]
    assert sum(file.stat().st_size for file in written) < MAX_BYTES
    pictures = [np.asarray(Image.open(file).convert("RGB")) for file in written]
    for name, picture in zip(PAGES, pictures, strict=True):
        assert picture.shape == (HEIGHT, WIDTH, 3)
        _, counts = np.unique(picture @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
        assert len(counts) > 50 and counts.max() < 0.95 * counts.sum(), f"{name} is blank"


def _train(page):
    press(page.get_by_role("button", name=DEMOS[DEMO].title))
    page.wait_for_function(
        "n => document.querySelectorAll('.sv-table tbody tr:not(.sv-base)').length === n",
        arg=len(DEMOS[DEMO].methods),
    )


def _still(page):
    """Wait until nothing trains or draws any more."""
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    page.mouse.move(WIDTH - 5, HEIGHT - 5)
    rest(page)


def _write(shot, path):
    """Keep a picture in few colours, which a page of text and lines can do with."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    # Rare colours, such as those of single lines, are kept too.
    few = picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
