"""The canvas on a page of its own, held as the app holds it; what the app would answer is made up.

The page has a map and a list beside it, each in a shadow root. In the page `map` is the view,
`told` what was said to the server last, by name, `change` gives the map other data, `send` other
parts, and `list` the list.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from settling import listen, next_frame, rest

from simviz import Drawing
from simviz.charts.canvas import CSS, Part, bundle, pack_all, pack_items, pack_places, unpack
from simviz.data import Items, PairSet
from simviz.projection import joint_map
from simviz.relevance import Relevance

#: Neighbours of an item that the model knows.
NEAREST = 10
#: A browser of a phone.
PHONE = {
    "viewport": {"width": 420, "height": 900},
    "user_agent": (
        "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 "
        "Mobile Safari/537.36"
    ),
    "has_touch": True,
    "is_mobile": True,
}
PAGE = """<!DOCTYPE html><meta name="viewport" content="width=device-width">
<body style="margin: 0"><header style="height: 5rem"></header>
<div style="display: flex"><div id="map" style="flex: 7; min-width: 0"></div>
<div id="list" style="flex: 3; min-width: 0"></div></div><footer style="height: 40rem"></footer>
<div id="items"></div><div id="places"></div><div id="nearest"></div><div id="camera"></div>"""
HOST = """async ({ sources, css, parts, data }) => {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const load = async (source) => {
    const file = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    return (await import(file)).default;
  };
  const root = (id) => {
    const place = document.getElementById(id);
    const style = `<style>${css}</style>`;
    if (!place.shadowRoot) place.attachShadow({ mode: "open" }).innerHTML = style;
    return place.shadowRoot;
  };
  const [keep, mount, hear] = await Promise.all(sources.map(load));
  const hearing = (name, value) => {
    told[name] = value;
    if (name === "picked") {
      const item = map.labels.findIndex((_, i) => map.keyOf(i) === value.key);
      const nearest = () => map.nearestOf(item).map((i) => [i, 0.5, i === map.nearestOf(item)[0]]);
      const selected = value.key && { item, nearest: nearest(), partners: [] };
      change({ selected, query: null, typed: null, region: value.key ? data.region : null });
    } else if (name === "region") change({ region: value.corners });
  };
  Object.assign(window, {
    told: {},
    mount,
    send: (id, text) => keep({ data: bytes(text), parentElement: root(id) }),
    list: (listed) => mount({ data: listed, parentElement: root("list") }),
    change: (said) => {
      Object.assign(data, said);
      const component = { data: { ...data }, parentElement: root("map"), setStateValue: hearing };
      return (window.leave = mount((window.component = component)));
    },
  });
  Object.defineProperty(window, "map", { get: () => root("map").svView, configurable: true });
  hear({ parentElement: root("camera"), setStateValue: (name, value) => (told[name] = value) });
  Object.entries(parts).forEach(([id, text]) => send(id, text));
  change({});
}"""


class Fingers:
    """Fingers on a page: what the browser makes of them is its own."""

    def __init__(self, page):
        self.page, self.session = page, page.context.new_cdp_session(page)

    def send(self, kind, points):
        touches = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def tap(self, x, y, stray=0):
        self.send("touchStart", [(x, y)])
        if stray:
            self.send("touchMove", [(x + stray, y + stray)])
        self.send("touchEnd", [])

    def drag(self, *paths, steps=8):
        """Each path is where one finger begins and ends."""
        self.send("touchStart", [path[0] for path in paths])
        for step in range(1, steps + 1):
            share = step / steps
            self.send(
                "touchMove",
                [(x0 + share * (x1 - x0), y0 + share * (y1 - y0)) for (x0, y0), (x1, y1) in paths],
            )
            next_frame(self.page)
        self.send("touchEnd", [])

    def scroll(self, scroller, start, end):
        """Drag one finger, and wait until what scrolls has come to its end: it may glide on."""
        self.page.evaluate(
            f"""() => {{
              window.scrolled = false;
              const done = () => {{ window.scrolled = true; }};
              ({scroller}).addEventListener("scrollend", done, {{ once: true }});
            }}"""
        )
        self.drag((start, end), steps=12)
        self.page.wait_for_function("() => scrolled")


@contextmanager
def watched(browser: Browser, **options: Any) -> Iterator[Page]:
    """Open a page on which nothing may go wrong: no error, no dialog, no word on the console."""
    page = browser.new_page(**{"reduced_motion": "reduce"} | options)
    heard = listen(page)
    yield page
    assert not heard
    page.context.close()


def drawn(x: Items, y: Items, x_points: Any, y_points: Any) -> Drawing:
    """Items that stand where they are told to, and have those of the other side nearest."""
    x_points, y_points = np.asarray(x_points, float), np.asarray(y_points, float)
    made = replace(joint_map(x_points, y_points, "pca"), x=x_points, y=y_points)
    apart = np.linalg.norm(x_points[:, None] - y_points[None], axis=2)
    near_x, near_y = apart.argsort(axis=1)[:, :NEAREST], apart.T.argsort(axis=1)[:, :NEAREST]
    nearest = np.vstack([len(x_points) + near_x, near_y])
    return Drawing(made, PairSet(x, y, Relevance.identity(len(x))), nearest)


def pictures(n: int, ids: str = "y") -> Items:
    """Drawings in one ink, each another."""
    shades = np.zeros((n, 16, 16), dtype=np.uint8)
    for k in range(n):
        shades[k, 2 : 4 + k % 12, 2 : 4 + k // 12 % 12] = 255
    return Items([f"{ids}{k}" for k in range(n)], shades, "image")


def words(n: int, form: str = "word {}", kind: str = "keyword", ids: str = "x") -> Items:
    """Items that say which they are."""
    return Items([f"{ids}{k}" for k in range(n)], [form.format(k) for k in range(n)], kind)


def cloud(n: int, seed: int) -> np.ndarray:
    """Places in some groups."""
    rng = np.random.default_rng(seed)
    return rng.normal(scale=3, size=(7, 2))[rng.integers(0, 7, n)] + rng.normal(size=(n, 2))


def packed_places(x_points: Any, y_points: Any) -> dict[str, str]:
    """Other places of the same items: base64 to send, and the digest to show them by."""
    part = pack_places(x_points, y_points, np.arange(len(x_points) + len(y_points)))
    return {"part": base64.b64encode(part.data).decode(), "digest": part.digest}


def host(
    page: Page,
    drawing: Drawing,
    columns: Mapping[str, Any] | None = None,
    *,
    is_whole: bool = True,
    **said: Any,
) -> None:
    """Show a drawing on a page, and wait until all of it is drawn unless told otherwise."""
    packed = pack_all(drawing.map, drawing.pairs, nearest=drawing.nearest)
    pairs, scene = drawing.pairs, packed["scene"]
    parts = {name: packed[name] for name in ("places", "nearest")}
    parts["items"] = pack_items(
        pairs.x, pairs.y, (pairs.x_name, pairs.y_name), columns=columns
    ).data
    look = scene["looks"]["light"]
    data = {
        **{name: unpack(Part("", parts[name]))[0]["digest"] for name in ("items", "places")},
        **{name: look[name] for name in ("look", "colours", "legend")},
        **dict.fromkeys(("groups", "hidden", "halos", "selected", "query", "region", "typed")),
        "regions": [],
        "camera": {"at": None, "n": 0},
        "set": {"find": None, "closed": [], "filter": "", "n": 0},
        "asked": [{"side": "x", "name": pairs.x_name}],
        "answered": 0,
        "narrow": False,
        "scrolls": False,
        "alt": scene["alts"][0],
    }
    page.set_content(PAGE)
    told = {
        "sources": [bundle(name) for name in ("engine.js", "mount.js", "camera_told.js")],
        "css": CSS,
        "parts": {name: base64.b64encode(part).decode() for name, part in parts.items()},
        "data": data | said,
    }
    page.evaluate(HOST, told)
    if is_whole:
        rest(page)


def assert_inert_and_usable(page: Page, texts: str) -> None:
    """No payload became an element or ran, and everybody can use the page, on a phone too."""
    assert page.evaluate("window.__xss") is None
    made = "[src=x], [onerror], [onload], [href^=javascript], marquee, iframe"
    assert not page.locator(made).count()
    assert "onerror" in page.locator(texts).inner_text(), "the texts are there, as texts"
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert not [one["id"] for one in found if one["impact"] in ("serious", "critical")]
