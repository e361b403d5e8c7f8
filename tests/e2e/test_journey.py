"""The whole way through: train, cancel, compare, look, and publish what was found."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from prepared import own_pairs
from settling import PLACE, press, ready, rest
from visitor import Tab, visit

pytestmark = pytest.mark.e2e


def go(page, name):
    press(page.get_by_test_id("stSidebar").get_by_role("link", name=name))
    page.wait_for_url(re.compile(f"/{name.lower()}"))


def keyed(page, key, inside="button:visible"):
    """What stands under a key of the page, or under all that begin with it."""
    return page.locator(f'[class*="st-key-{key}"] {inside}')


def test_from_a_demo_to_a_link_that_works_elsewhere(public_server, browser):
    page = public_server.context(browser).new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(public_server.url)
    # Others have trained it: all is there at once.
    press(keyed(page, "try-icons"))
    rows = page.locator(".sv-table tbody tr")
    expect(rows).to_have_count(4)
    expect(page.locator(".sv-finding")).to_contain_text("queries (icons) of the validation part")
    expect(rows.first).to_have_text(re.compile(r"^\s*S2Net"))
    for name in ("ROC: matching pairs against others", "Quality by number of dimensions"):
        expect(page.get_by_text(name).first).to_be_visible()
    ready(page)
    page.evaluate("map.canvas.scrollIntoView({block: 'center'})")
    rest(page)
    page.mouse.move(*page.evaluate(PLACE)[:2])
    page.locator(".sv-card b").wait_for()
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    before = page.evaluate(scrolled)
    page.mouse.wheel(0, 120)
    page.wait_for_function(f"(before) => {scrolled} > before", arg=before)
    rest(page)
    assert page.evaluate("map.camera.zoom") == 1, "the wheel moves the page"

    # One method more, which would take minutes; the wish to stop is a state of its own.
    go(page, "Train")
    press(keyed(page, "train-demo-icons-more", "summary"))
    press(keyed(page, "train-demo-icons-tick-ssi", "label"))
    press(keyed(page, "train-start"))
    cancel = keyed(page, "train-cancel-")
    cancel.wait_for()
    cancel.dispatch_event("click")  # found and pressed at once: the page is drawn again and again
    keyed(page.locator(".st-key-train-jobs"), "train-again-").wait_for()
    expect(cancel).to_have_count(0)

    go(page, "Compare")
    table = page.locator(".sv-table").first
    expect(table).to_contain_text("S2Net")
    rest(page)
    expect(table).not_to_contain_text("SSI")
    plot, named = page.locator("rect.nsewdrag").first, page.locator("ul.sv-key")
    assert plot.bounding_box()["width"] >= 600, "the chart is as wide as the page allows"
    expect(named).to_be_hidden()
    wide = page.viewport_size
    page.set_viewport_size({"width": 420, "height": 900})
    expect(named).to_be_visible()
    rest(page)
    assert 290 < plot.bounding_box()["width"] < 420, "on a phone names leave the curves room"
    page.set_viewport_size(wide)

    go(page, "Map")
    ready(page)
    seen = "(_, i) => map.pictures.has(i) && map.placing.isShown(i, 0)"
    page.wait_for_function(f"() => [...map.xs].filter({seen}).length > 50")
    press(page.get_by_role("button", name="Share"))
    with page.expect_download() as saved:
        press(keyed(page, "map-file"))
    assert "model-state" in Path(saved.value.path()).read_text(encoding="utf-8")
    assert not page.get_by_test_id("stException").count()
    assert not problems


def trained_on_own_data(server, browser, tmp_path):
    """A file brought and its recommended methods trained: nothing pressed but Keep and Train."""
    owner = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    table = tmp_path / "pairs.csv"
    pairs = own_pairs()
    rows = map(",".join, zip(pairs.x.content, pairs.y.content, strict=True))
    table.write_text("left,right\n" + "\n".join(rows))
    owner.goto(f"{server.url}/data")
    owner.locator("input[type=file]").first.set_input_files(str(table))
    press(keyed(owner, "data-keep"))
    owner.wait_for_url(re.compile("/train"))
    press(keyed(owner, "train-start"))
    keyed(owner, "train-next").wait_for()  # takes its place when all is trained
    owner.locator(".sv-finding").wait_for()
    rest(owner)
    return owner


def key(page):
    """What a browser keeps of its workspace."""
    return {c["value"] for c in page.context.cookies() if c["name"] == "simviz_workspace"}


def seen_by_a_stranger(address: str) -> tuple[list[str], str]:
    """What somebody else who opens an address is shown: the title, and the items of a map."""

    async def look() -> tuple[list[str], str]:
        where = urlsplit(address)
        async with Tab(where.port) as tab:
            await tab.open(where.path.strip("/"), where.query)
            assert not tab.errors
            told = [json.loads(part.json or "{}") for part in tab.drawn("bidi_component")]
            items = (data["items"] for data in told if "camera" in data)
            return [heading.body for heading in tab.drawn("heading")][:1], next(items, "")

    return visit(look())


def test_own_data_end_in_curves_and_are_private_until_published(public_server, browser, tmp_path):
    owner = trained_on_own_data(public_server, browser, tmp_path)
    finding = owner.locator(".sv-finding")
    expect(finding).to_contain_text("of the validation part")
    expect(owner.locator(".js-plotly-plot")).to_have_count(2)
    press(owner.locator(".st-key-part-shown").get_by_role("radio", checked=False))
    expect(finding).to_contain_text("of the test part")
    rest(owner)
    # All is there after a reload, in the same workspace.
    kept = key(owner)
    owner.reload()
    expect(finding).to_contain_text("of the test part")
    rest(owner)
    assert kept == key(owner) != set()
    go(owner, "Map")
    ready(owner)
    items = owner.evaluate("map.items.header.digest")
    assert not seen_by_a_stranger(owner.url)[1], "the address shows nothing to others"
    press(owner.get_by_role("button", name="Share"))
    press(keyed(owner, "map-publish"))
    shown = owner.locator("[data-testid=stCode] code").first
    expect(shown).to_contain_text("share=")
    link = shown.inner_text()
    assert seen_by_a_stranger(link)[1] == items
    withdraw = keyed(owner, "withdraw-")
    press(withdraw)
    expect(withdraw).to_have_count(0)
    assert seen_by_a_stranger(link) == (["This link no longer works"], "")
    assert not owner.get_by_test_id("stException").count()
