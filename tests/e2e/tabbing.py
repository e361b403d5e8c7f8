"""Going through a page by Tab: what is reached, in which order, and whether it shows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from playwright.sync_api import Page
from settling import next_frame

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
  // Choices that stand as a row are one stop; the arrow keys go through them.
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
# One of each row of choices that Tab has not gone through whole, and how many there are in it.
ROWS = """(order) => {
  const {found, rows} = window.tabbing, reached = new Set(order), told = [];
  for (const row of new Set(rows.filter(Boolean))) {
    const own = found.map((e, i) => i).filter((i) => rows[i] === row);
    if (own.every((i) => reached.has(i))) continue;
    told.push([own.find((i) => reached.has(i)) ?? -1, own]);
  }
  return told;
}"""


@dataclass(frozen=True)
class Walk:
    """What Tab did on a page.

    Parameters
    ----------
    names : list of str
        All that can be reached, in the order of the document.
    order : list of int
        Their places in the order in which they were reached, -1 for anything else.
    unseen : list of str
        Those that look the same with the focus as without it.
    came_back : bool
        Whether Tab left the page at its end.
    in_rows : set of int
        Places of those that are in rows of choices.
    """

    names: list[str]
    order: list[int]
    unseen: list[str]
    came_back: bool
    in_rows: frozenset[int]

    @property
    def missed(self) -> list[str]:
        """What was never reached, and is in no row of choices."""
        left_out = (i for i in range(len(self.names)) if i not in self.order)
        return [self.names[i] for i in left_out if i not in self.in_rows]

    @property
    def jumps(self) -> list[str]:
        """What was reached after something that stands behind it."""
        known = [i for i in self.order if i >= 0]
        return [self.names[b] for a, b in pairwise(known) if b < a]


def go_through_rows(page: Page, walked: Walk) -> list[str]:
    """Press the arrow keys in rows of choices; answers with those that they do not reach."""
    missed = []
    for start, own in page.evaluate(ROWS, walked.order):
        seen = set()
        if start >= 0:
            page.evaluate("(i) => tabbing.found[i].focus()", start)
            for key in ["ArrowRight"] * len(own) + ["ArrowLeft"] * len(own):
                seen.add((page.evaluate(STEP) or [-1])[0])
                page.keyboard.press(key)
        missed += [walked.names[i] for i in own if i not in seen]
    return missed


def tab_to(page: Page, is_there: str) -> None:
    """Press Tab until what has the focus meets a condition."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(f"() => Boolean({is_there})"):
            return
    raise AssertionError("it is not reached by Tab")


def walk(page: Page) -> Walk:
    """Press Tab from the top of a page until it leaves the page or has begun anew."""
    names = page.evaluate(PREPARE)
    rows = page.evaluate("tabbing.rows.map(Boolean)")
    in_rows = frozenset(i for i, is_in_row in enumerate(rows) if is_in_row)
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
    return Walk(names, order, page.evaluate("tabbing.unseen"), came_back, in_rows)
