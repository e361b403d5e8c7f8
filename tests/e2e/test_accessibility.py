"""All pages in one visit: for those who see badly or use no mouse, and asking nobody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from mapping import ready
from playwright.sync_api import expect
from settling import press, rest
from tabbing import go_through_rows, tab_to, walk
from visit import Visit

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
DEMO = "a demo"
#: By their names in addresses.
PAGES = (DEMO, "", "data", "train", "compare", "map", "search", "methods", "papers")
#: What stands behind all others, as the browser has it, in each look.
PAPER = {"dark": "rgb(20, 23, 28)", "light": "rgb(252, 251, 248)"}
# Formulas scroll inside themselves where a page is narrow. Streamlit lets nothing be said of their
# elements, so they cannot be made stops of Tab; browsers make stops of such regions by themselves
# (tested below), which this one rule does not know. All other rules hold for formulas too.
THEIRS = ("scrollable-region-focusable", ".katex-display")
# The grid of a table draws on a canvas which of its cells has the focus; no style tells of it.
DRAWN = ("canvas",)
DOWNLOADS = "[data-testid=stDownloadButton] button:enabled:visible"
FOCUSED = "() => map.canvas.getRootNode().activeElement === map.canvas"


@pytest.fixture(scope="module")
def visit(private_server, browser):
    """A visitor to whom a demo is shown."""
    visit = Visit(browser, private_server, color_scheme="light")
    visit.load("?demo=icons")
    yield visit
    visit.close()


def enter(visit, name):
    """Go to a page from any other, and wait for all of it."""
    if name == DEMO:
        visit.go("")
        press(visit.page.locator(".st-key-try-icons button:visible"))
        visit.page.locator(".sv-finding").wait_for()
        rest(visit.page)
    else:
        visit.go(name)
    if name in (DEMO, "map"):
        ready(visit.page)


def serious(page) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
        if not (violation["id"] == THEIRS[0] and str(node["target"][-1]).endswith(THEIRS[1]))
    ]


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "home")
def test_every_page_serves_eyes_and_keys_and_asks_nobody(visit, name):
    page, found = visit.page, {}
    for look, paper in PAPER.items():
        page.emulate_media(color_scheme=look)
        expect(page.locator(".stApp")).to_have_css("background-color", paper)
        enter(visit, name)  # what the server draws is in the colours that the browser now has
        found[f"violations in the {look}"] = serious(page)
    walked = walk(page)
    assert len(walked.names) > 20
    found |= {
        "caught": [] if walked.came_back else walked.order[-5:],
        "missed": walked.missed,
        "out of order": walked.jumps,
        "unseen": [told for told in walked.unseen if not told.startswith(DRAWN)],
        "beyond arrows": go_through_rows(page, walked),
    }
    page.evaluate("document.querySelectorAll('summary').forEach((e) => e.click())")
    rest(page)
    found["asked of others"] = visit.outside()
    assert not {kind: told for kind, told in found.items() if told}


def test_a_demo_starts_without_a_mouse(visit):
    visit.go("")
    tab_to(visit.page, "document.activeElement.closest('.st-key-try-icons')")
    visit.page.keyboard.press("Enter")
    visit.page.locator(".sv-finding").wait_for()
    rest(visit.page)


def test_the_map_is_used_and_left_by_keys_alone(visit):
    page = visit.page
    enter(visit, "map")
    page.evaluate("document.activeElement?.blur()")
    tab_to(page, f"({FOCUSED})()")
    page.wait_for_function("() => getComputedStyle(map.canvas).boxShadow.includes('inset')")
    selected = "() => map.selected?.nearest.length === 10"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function(selected)
    page.locator(".st-key-map-drawer").wait_for()
    rest(page)
    assert page.evaluate(FOCUSED), "the list beside it takes no focus"
    page.keyboard.press("Escape")
    page.locator(".st-key-map-drawer").wait_for(state="detached")
    page.wait_for_function("() => map.selected === null")
    rest(page)
    page.keyboard.press("Tab")
    page.wait_for_function(f"() => !({FOCUSED})()")  # it is left by Tab

    page.locator(".sv-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function(selected)
    key = page.evaluate("map.keyOf(map.selected.item)")
    rest(page)
    page.locator("[data-testid=stSidebar] a[href^='search?']").press("Enter")
    asked = "(key) => location.pathname === '/search' && location.search.includes(`ask=${key}`)"
    page.wait_for_function(asked, arg=key)
    rest(page)


def test_wide_formulas_are_scrolled_by_keys(visit):
    page = visit.page
    visit.go("methods")
    press(page.locator(".st-key-methods-kernel_cca button:visible"))
    expect(page).to_have_url(re.compile("method=kernel_cca"))
    rest(page)
    # As wide as on a phone.
    page.evaluate("document.querySelector('.st-key-methods-card').style.width = '330px'")
    page.wait_for_function(
        """() => {
          window.wide = [...document.querySelectorAll(".katex-display")]
            .filter((e) => e.scrollWidth > e.clientWidth + 10);
          return wide.length;
        }"""
    )
    focused = "wide.map((e) => { e.focus(); return document.activeElement === e; })"
    assert all(page.evaluate(focused))
    page.evaluate("wide[0].focus()")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => wide[0].scrollLeft > 0")


def test_no_exported_file_asks_others(visit, tmp_path):
    page = visit.page
    visit.load(f"compare?data={visit.server.local.data}")  # of few pairs, files are made at once
    press(page.locator("[data-testid=stPopover] button").filter(has_text="Export"))
    press(page.locator("[class*=st-key-take-forms-] label"))
    page.locator(".st-key-take-numpy button:visible").wait_for()
    rest(page)
    saved = []
    for button in page.locator(DOWNLOADS).all():
        with page.expect_download() as file:
            button.click()
        saved.append(file.value)
    with page.expect_download() as file:
        page.locator('.modebar-btn[data-title^="Download"]').first.dispatch_event("click")
    saved.append(file.value)
    ends = set()
    for file in saved:
        path = tmp_path / file.suggested_filename
        file.save_as(path)
        ends.add(path.suffix)
    assert ends >= {".html", ".svg", ".csv", ".tex", ".md", ".zip", ".simviz"}
    assert not visit.outside()
    opened = visit.context.new_page()
    for path in tmp_path.iterdir():
        if path.suffix in (".html", ".svg"):
            opened.goto(path.as_uri())
            rest(opened)
            assert not visit.outside(), path.name
    opened.close()


def test_a_request_to_others_is_seen(visit):
    visit.page.evaluate(
        """document.head.insertAdjacentHTML('beforeend',
          '<link rel="shortcut icon" href="http://icons.invalid/a.svg">')"""
    )
    rest(visit.page)
    assert visit.outside() == {"http://icons.invalid/a.svg"}


def kept(server):
    """Runs and their drawings, as a store keeps them."""
    root = Path(server.root, "runs")
    return {str(path.relative_to(root)) for at in ("*", "*/map-*") for path in root.glob(at)}


def test_pages_ask_for_nothing_that_was_not_prepared(visit, prepared):
    enter(visit, "map")
    enter(visit, DEMO)
    assert kept(visit.server) == kept(prepared)


def test_a_notice_stays_while_it_is_pointed_at_or_used_by_keys(browser):
    style = (ROOT / "simviz" / "workbench" / "shell" / "style.css").read_text(encoding="utf-8")
    page = browser.new_page()
    notice = '<div class="st-key-jobs-ended-1"><p>Finished</p><a href="#">Compare</a></div>'
    page.set_content(f"<style>{style}</style><div id=place>{notice}</div>")
    leaving = "getComputedStyle(document.querySelector('#place')).animationName"
    assert page.evaluate(leaving) == "sv-leave"
    page.get_by_text("Finished").hover()
    assert page.evaluate(leaving) == "none"
    page.mouse.move(0, 0)
    assert page.evaluate(leaving) == "sv-leave"
    page.get_by_role("link").focus()
    assert page.evaluate(leaving) == "none"
