"""The whole way through: train, cancel, compare, look, and send the link to somebody else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from mapping import ready
from playwright.sync_api import expect
from scipy.spatial import procrustes
from settling import press, rest

pytestmark = pytest.mark.e2e

POINTS = """() => {
  const found = {};
  for (let i = 0; i < map.xs.length; i++) found[map.keyOf(i)] = [map.xs[i], map.ys[i]];
  return found;
}"""


def go(page, name):
    press(page.get_by_test_id("stSidebar").get_by_role("link", name=name))
    page.wait_for_url(re.compile(f"/{name.lower()}"))


def drawn(page) -> dict[str, list[float]]:
    """Where every item stands on the map."""
    ready(page)
    return page.evaluate(POINTS)


def test_from_a_demo_to_a_link_that_works_elsewhere(start_server, browser):
    server = start_server("here")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{server.url}/train?demo=icons")
    press(page.get_by_text(re.compile("more fit these data")))
    press(page.get_by_text("SSI", exact=True))
    press(page.get_by_role("button", name=re.compile("^Train 3 methods")))

    # One of them would take minutes; the wish to stop is a state of its own.
    cancel = page.get_by_role("button", name="Cancel SSI")
    cancel.click()
    page.get_by_text(re.compile("SSI.*cancelled")).first.wait_for()
    page.wait_for_function("!document.body.innerText.includes('Cancel ')")

    go(page, "Compare")
    page.locator(".sv-table").first.wait_for()
    for method in ("OPCA", "S2Net"):
        expect(page.locator("body")).to_contain_text(method, use_inner_text=True)
    rest(page)
    assert "SSI" not in page.locator(".sv-table").first.inner_text()

    go(page, "Map")
    here = drawn(page)
    assert len(here) > 1_500
    seen = "(_, i) => map.pictures.has(i) && map.placing.isShown(i, 0)"
    page.wait_for_function(f"() => [...map.xs].filter({seen}).length > 50")
    press(page.get_by_role("button", name="Share"))
    link = page.locator("[data-testid=stCode] code").first.inner_text()
    assert link.startswith(f"{server.url}/map?demo=icons&method=")
    assert not page.get_by_test_id("stException").count()

    # Another server, with an empty store: it trains the same and draws the same.
    other = start_server("elsewhere")
    stranger = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    stranger.goto(link.replace(server.url, other.url))
    there = drawn(stranger)
    assert there.keys() == here.keys()
    keys = sorted(here)
    _, _, disparity = procrustes(*(np.array([d[k] for k in keys]) for d in (here, there)))
    assert np.sqrt(disparity / len(keys)) < 1e-3


def trained_on_own_data(server, browser, tmp_path):
    """A file brought and its recommended methods trained: nothing pressed but Keep and Train."""
    owner = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    table = tmp_path / "pairs.csv"
    colours = ["red", "blue", "green", "gold", "black", "white", "grey", "pink"]
    things = ["car", "house", "tree", "bird", "fish", "moon", "ship"]
    rows = [f"{c} {t},{t[::-1]} {c[::-1]}" for c in colours for t in things]
    table.write_text("left,right\n" + "\n".join(rows))
    owner.goto(f"{server.url}/data")
    owner.locator("input[type=file]").first.set_input_files(str(table))
    press(owner.get_by_role("button", name="Save and continue"))
    owner.wait_for_url(re.compile("/train"))
    press(owner.get_by_role("button", name=re.compile("^Train \\d")))
    owner.get_by_role("heading", name="Results").wait_for()
    rest(owner)
    owner.wait_for_function("!document.body.innerText.includes('Cancel ')")
    return owner


def part_shown(page):
    """What is chosen of the parts."""
    return page.get_by_role("radiogroup", name="Part").get_by_role("radio", checked=True)


def test_own_data_end_in_curves_on_validation_and_the_test_is_one_click_away(
    demo_server, browser, tmp_path
):
    owner = trained_on_own_data(demo_server, browser, tmp_path)
    owner.get_by_text("of the validation part").first.wait_for()
    for title in ("How well it separates pairs", "How many dimensions it takes"):
        owner.get_by_text(title).wait_for()
    owner.locator(".js-plotly-plot").nth(1).wait_for()
    expect(part_shown(owner)).to_have_text("Validation")
    press(owner.get_by_role("radio", name="Test"))
    owner.get_by_text("of the test part").first.wait_for()
    rest(owner)
    owner.reload()
    expect(part_shown(owner)).to_have_text("Test")
    go(owner, "Compare")
    expect(part_shown(owner)).to_have_text("Test")
    owner.locator(".sv-table").first.get_by_text("group", exact=True).wait_for()

    # Another browser of the same workspace: its cookie, and an address that names no part.
    cookies = owner.context.cookies()
    other = browser.new_context(viewport={"width": 1400, "height": 900})
    other.add_cookies(cookies)
    page = other.new_page()
    data = re.search("data=([0-9a-f]{32})", owner.url)[1]
    page.goto(f"{demo_server.url}/compare?data={data}")
    expect(part_shown(page)).to_have_text("Test")


def published(owner) -> str:
    """Publish what is shown; answers with its link."""
    press(owner.get_by_role("button", name="Share"))
    press(owner.get_by_role("button", name="Publish this view"))
    link = owner.locator("[data-testid=stCode] code").first
    expect(link).to_contain_text("share=")
    return link.inner_text()


def test_own_data_are_private_until_published(demo_server, browser, tmp_path):
    owner = trained_on_own_data(demo_server, browser, tmp_path)
    go(owner, "Map")
    here = drawn(owner)
    address = owner.url

    stranger = browser.new_context().new_page()
    stranger.goto(address)
    rest(stranger)
    assert not stranger.locator(".sv-canvas").count(), "the address shows nothing to others"

    link = published(owner)
    stranger.goto(link)
    assert drawn(stranger).keys() == here.keys()

    press(owner.get_by_role("button", name="Withdraw"))
    owner.get_by_role("button", name="Withdraw").wait_for(state="detached")
    stranger.reload()
    stranger.get_by_text("This link shows nothing any more").wait_for()
