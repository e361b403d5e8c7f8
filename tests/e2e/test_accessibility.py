"""All pages in one visit: for those who see badly or use no mouse, and asking nobody."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from settling import next_frame, press, ready, rest
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
# Everything on the page that can be tabbed to, in the order of the document, through the roots of
# components. Of radio buttons with one name only the chosen one is a stop.
PREPARE = """() => {
  const found = [];
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) walk(e.shadowRoot);
      const can = e.matches("a[href], button, input, select, textarea, summary, [tabindex]");
      if (!can || e.tabIndex < 0 || e.disabled) continue;
      if (e.closest("[inert], [aria-hidden='true']")) continue;
      if (!e.checkVisibility({visibilityProperty: true}) || e.type === "hidden") continue;
      if (e.type === "radio" && !e.checked) {
        const radios = [...root.querySelectorAll("input[type=radio]")];
        const peers = radios.filter((peer) => peer.name === e.name);
        if (peers.some((p) => p.checked) || peers[0] !== e) continue;
      }
      found.push(e);
    }
  };
  walk(document);
  const look = (e) => {
    // As it will look: a border that has only begun to change its colour looks like none.
    for (const change of e.getRootNode().getAnimations()) {
      if (change instanceof CSSTransition) change.finish();
    }
    const around = [e];
    for (let up = e.parentElement; up && around.length < 5; up = up.parentElement) around.push(up);
    for (const near of [e.parentElement, e]) {
      around.push(...[...(near?.children ?? [])].slice(0, 8));
    }
    const styles = (part) => [null, "::before", "::after"].map((pseudo) => {
      const s = getComputedStyle(part, pseudo);
      const lines = [s.outline, s.boxShadow, s.borderColor, s.textDecoration];
      return [...lines, s.backgroundColor, s.opacity].join();
    });
    return JSON.stringify(around.map(styles));
  };
  const name = (e) => {
    const key = e.closest("[class*=st-key-]")?.className.match(/st-key-[^ ]+/)?.[0] ?? "";
    const said = e.getAttribute("aria-label") ?? (e.innerText ?? "").trim().slice(0, 30);
    // What a canvas draws itself: its own element, or a cell that stands in it for readers.
    const kind = e.closest("canvas") ? "canvas" : e.tagName.toLowerCase();
    return `${kind} ${said} ${key}`;
  };
  // Choices that stand as a row are one stop; the browser's arrow keys go through them.
  const rows = found.map((e) => e.closest("[role=radiogroup], [role=toolbar], [role=tablist]"));
  window.tabbing = {found, look, name, rows, unseen: [], last: null};
  // The next Tab goes on from here, though nothing is here any more.
  const top = document.createElement("span");
  top.tabIndex = -1;
  document.body.prepend(top);
  top.focus();
  top.remove();
  return found.map(name);
}"""
# What has the focus now, by its place among them; and how the last one looks without it.
STEP = """() => {
  const {found, look, name, unseen, last} = window.tabbing;
  let e = document.activeElement;
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  const hasLeft = last && last.e !== e && last.e.isConnected;
  if (hasLeft && look(last.e) === last.look) unseen.push(name(last.e));
  const isNone = !e || e === document.body;
  window.tabbing.last = isNone ? null : {e, look: look(e)};
  return isNone ? null : [found.indexOf(e), name(e)];
}"""
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


def walk(page) -> dict[str, list]:
    """Press Tab from the top of a page until it leaves the page or has begun anew; its faults."""
    names = page.evaluate(PREPARE)
    in_rows = {*page.evaluate("[...tabbing.rows.keys()].filter((i) => tabbing.rows[i])")}
    assert len(names) > 20
    order: list[int] = []
    came_back = False
    for _ in range(2 * len(names) + 40):
        page.keyboard.press("Tab")
        next_frame(page)
        step = page.evaluate(STEP)
        if step is None and not order:
            continue
        came_back = step is None or bool(order and step[0] >= 0 and step[0] == order[0])
        if came_back:
            break
        order.append(step[0])
    known = [i for i in order if i >= 0]  # -1 is anything else
    unseen = page.evaluate("tabbing.unseen")  # what looks the same with the focus as without it
    return {
        "caught": [] if came_back else order[-5:],
        "missed": [name for i, name in enumerate(names) if i not in {*order} | in_rows],
        "out of order": [names[b] for a, b in pairwise(known) if b < a],
        "unseen": [name for name in unseen if not name.startswith(DRAWN)],
    }


def tab_to(page, is_there: str) -> None:
    """Press Tab until what has the focus meets a condition."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(f"() => Boolean({is_there})"):
            return
    raise AssertionError("it is not reached by Tab")


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "home")
def test_every_page_serves_eyes_and_keys_and_asks_nobody(visit, name):
    page, found = visit.page, {}
    for look, paper in PAPER.items():
        page.emulate_media(color_scheme=look)
        expect(page.locator(".stApp")).to_have_css("background-color", paper)
        enter(visit, name)  # what the server draws is in the colours that the browser now has
        found[f"violations in the {look}"] = serious(page)
    found |= walk(page)
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
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => map.selected?.nearest.length === 10")
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
    page.wait_for_function("() => map.selected")
    rest(page)
    key = page.evaluate("map.keyOf(map.selected.item)")
    page.locator("[data-testid=stSidebar] a[href^='search?']").press("Enter")
    page.wait_for_url(f"**/search?*ask={key}*")
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
    of_chart = '.modebar-btn[data-title^="Download"]'
    for button in (*page.locator(DOWNLOADS).all(), page.locator(of_chart).first):
        with page.expect_download() as file:
            button.dispatch_event("click")
        file.value.save_as(tmp_path / file.value.suggested_filename)
    ends = {path.suffix for path in tmp_path.iterdir()}
    assert ends >= {".html", ".svg", ".csv", ".tex", ".md", ".zip", ".simviz"}
    assert not visit.outside()
    opened = visit.context.new_page()
    for path in (path for path in tmp_path.iterdir() if path.suffix in (".html", ".svg")):
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


def test_a_notice_stays_while_it_is_pointed_at_or_used_by_keys(browser):
    style = (ROOT / "simviz" / "workbench" / "shell" / "style.css").read_text(encoding="utf-8")
    page = browser.new_page()
    notice = '<div class="st-key-jobs-ended-1"><p>Finished</p><a href="#">Compare</a></div>'
    page.set_content(f"<style>{style}</style><div id=place>{notice}</div>")
    place, leaves = page.locator("#place"), ("animation-name", "sv-leave")
    expect(place).to_have_css(*leaves)
    page.get_by_text("Finished").hover()
    expect(place).to_have_css("animation-name", "none")
    page.mouse.move(0, 0)
    expect(place).to_have_css(*leaves)
    page.get_by_role("link").focus()
    expect(place).to_have_css("animation-name", "none")
