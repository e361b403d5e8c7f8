"""The map in a real browser: zoom, click, and the zoom is still there."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.e2e
RANGES = """() => {
  const axes = document.querySelector(".js-plotly-plot")._fullLayout;
  return [...axes.xaxis.range, ...axes.yaxis.range];
}"""
# Where the dot of an x item is on the screen that is nearest to the centre of the map.
DOT = """() => {
  const plot = document.querySelector(".js-plotly-plot"), box = plot.getBoundingClientRect();
  const {xaxis, yaxis} = plot._fullLayout;
  const trace = plot._fullData.find((t) => t.customdata && t.customdata[0].startsWith("x:"));
  const dots = [...trace.x].map((x, i) => [
    box.x + xaxis._offset + xaxis.c2p(x), box.y + yaxis._offset + yaxis.c2p(trace.y[i])]);
  const far = ([x, y]) => Math.hypot(x - box.x - box.width / 3, y - box.y - box.height / 2);
  return dots.sort((a, b) => far(a) - far(b))[0];
}"""


def test_click_selects_and_keeps_the_zoom(start_server, browser):
    server = start_server()
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{server.url}/map?demo=icons&method=cca&k=50")
    plot = page.locator(".js-plotly-plot")
    plot.wait_for(timeout=90_000)
    page.wait_for_function("document.querySelector('.js-plotly-plot').dataset.listened")
    box = plot.bounding_box()
    assert box["height"] > 0.7 * 900, "the map is the page"
    whole = page.evaluate(RANGES)
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    for _ in range(4):
        page.mouse.wheel(0, -200)
        page.wait_for_timeout(150)
    page.wait_for_timeout(1_500)  # the window is told to the server
    zoomed = page.evaluate(RANGES)
    assert zoomed[3] - zoomed[2] < 0.8 * (whole[3] - whole[2])
    page.mouse.move(*page.evaluate(DOT))
    page.wait_for_timeout(300)
    page.mouse.click(*page.evaluate(DOT))
    page.locator(".st-key-map-drawer").wait_for(timeout=30_000)
    page.wait_for_function("document.querySelector('.js-plotly-plot')._fullLayout.width < 900")
    assert page.evaluate(RANGES)[2:] == pytest.approx(zoomed[2:], abs=0.02)
    assert page.get_by_text("not on this drawing").is_visible()
    assert page.locator("[class*=st-key-map-go-] button").count() == 10
    assert "sel=" in page.url
    # The same link elsewhere opens on the same item.
    name = page.locator(".sv-read").inner_text()
    again = browser.new_page()
    again.goto(page.url)
    again.locator(".sv-read").wait_for(timeout=60_000)
    assert again.locator(".sv-read").inner_text() == name
    assert not page.get_by_test_id("stException").count()
    assert not problems
