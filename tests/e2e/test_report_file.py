"""The report in a real browser: from the disk, without a network, hostile texts and all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from payloads import PAYLOADS
from playwright.sync_api import expect
from settling import listen

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("look", ["light", "dark"])
def test_opens_from_the_disk_without_a_network(browser, prepared, look):
    context = browser.new_context(offline=True, color_scheme=look)
    page = context.new_page()
    said, asked = listen(page), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(Path(prepared.report).as_uri())
    for chart in ("roc", "dimensions"):
        page.locator(f"#{chart} .main-svg").first.wait_for()
    expect(page.locator("#roc .scatterlayer .trace")).to_have_count(3)  # chance is a line too
    drawn = page.locator("#map .sv-map")
    expect(drawn).to_have_attribute("data-n", re.compile(r"^(4[1-9]|[5-9]\d|\d{3})$"))
    expect(drawn).to_have_css("--sv-paper", {"light": "#fcfbf8", "dark": "#14171c"}[look])
    # Found by a pattern, in a thread of its own, and selected.
    drawn.get_by_label("How to find").select_option("pattern")
    drawn.get_by_label("Find items on the map").fill("[ab]\\d+$")
    drawn.get_by_text("found", exact=False).wait_for()
    drawn.get_by_label("Find items on the map").press("Enter")
    drawn.locator("[role=status]", has_text="is selected").wait_for(state="attached")
    colour = {"light": "rgb(252, 251, 248)", "dark": "rgb(20, 23, 28)"}[look]
    expect(page.locator("body")).to_have_css("background-color", colour)
    # What stands in the data is read, and nothing of it became an element.
    expect(page.locator("h1")).to_contain_text(PAYLOADS[9])
    for opener in page.locator("summary").all():
        opener.click()
    assert page.evaluate("window.__xss") is None
    assert not page.locator("img, [onerror], [onload], [href^=javascript], marquee").count()
    page.locator("#map").hover()
    with page.expect_download() as saved:
        page.locator('#roc [data-title="Save as SVG"]').dispatch_event("click")
    assert saved.value.suggested_filename == "roc.svg"
    # Nothing that gets in could run: not even with an element of its own.
    refused = "inline event handler"
    with page.expect_console_message(lambda message: refused in message.text):
        page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(2)>')"
        )
    assert not [text for text in said if "Content Security Policy" not in text], said
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    context.close()
