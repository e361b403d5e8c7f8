"""From a file of two texts to quality against dimensions for seven methods, in few presses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from settling import press as click, rest
from test_journey import part_shown

pytestmark = pytest.mark.e2e

METHODS = {"S2Net", "OPCA", "CCA", "CL-LSI", "CPLSA", "JPLSA", "PLTM"}
CURVES = """() => {
  const chart = document.querySelector('.st-key-compare-dimensions .js-plotly-plot');
  const curves = (chart?._fullData ?? []).filter((trace) => trace.showlegend);
  return curves.map((curve) => [curve.name, curve.x.length, curve.y.join()]);
}"""


@pytest.fixture
def aligned(tmp_path):
    """A file of short texts and what they are in another language."""
    rng = np.random.default_rng(0)
    lines = ["one,other"]
    for _ in range(90):
        about = rng.choice(30, 3, replace=False)
        left, right = ([*about[:n], *rng.choice(30, 2)] for n in (3, 2))
        lines.append(
            ",".join(
                " ".join(f"{s}{w}" for w in words)
                for s, words in zip("az", (left, right), strict=True)
            )
        )
    path = tmp_path / "aligned.csv"
    path.write_text("\n".join(lines))
    return path


def test_seven_methods_by_dimensions_take_six_presses_from_the_preview(
    demo_server, browser, aligned
):
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.goto(f"{demo_server.url}/data")
    page.locator("input[type=file]").first.set_input_files(str(aligned))
    pressed = []

    def press(role, name):
        click(page.get_by_role(role, name=re.compile(name)).first)
        pressed.append(name)

    def curves(before=""):
        told = f"JSON.stringify(({CURVES})())"
        some = f"({CURVES})().filter(([, n]) => n > 2).length === {len(METHODS)}"
        page.wait_for_function(f"(before) => {some} && {told} !== before", arg=before)
        expect(page.get_by_test_id("stProgress")).to_have_count(0)
        rest(page)
        found = page.evaluate(CURVES)
        assert {re.sub(r" [\d.]+ at .*", "", name) for name, _, _ in found} == METHODS
        return page.evaluate(told)

    press("button", "^Save and continue")
    press("button", "^Select 7 for curves by dimension")
    press("button", "^Train 7 methods")
    press("button", "^Compare 7 runs")
    page.wait_for_url(re.compile("/compare"))
    press("button", "^Train at fewer dimensions")
    of_one_part = curves()
    press("radio", "^Test$" if part_shown(page).inner_text() == "Validation" else "^Validation$")
    curves(before=of_one_part)
    assert len(pressed) <= 6
    rest(page)
    assert not page.get_by_test_id("stException").count()
