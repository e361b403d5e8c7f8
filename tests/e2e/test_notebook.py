"""The widget in a page that holds it as a notebook does, and a drawing that shows itself."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hosted import drawn, watched
from playwright.sync_api import expect
from settling import rest

from simviz.data import Items

pytestmark = pytest.mark.e2e
#: A cross of items, so that the eye and the test know where each one is.
PLACES = np.array([[0, 0], [4, 0], [0, 3], [-4, 0], [0, -3]], dtype=float)
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
#: What anywidget does with a widget, and a model that keeps what it is told.
HOST = """
async (state) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  for (const name of ["items", "places", "nearest"]) state[name] = bytes(state[name]);
  const heard = {};
  window.model = {
    saved: 0, state, heard,
    get: (name) => state[name],
    set(name, value) {
      if (JSON.stringify(state[name]) === JSON.stringify(value)) return;
      state[name] = value;
      heard[`change:${name}`]?.forEach((hear) => hear());
    },
    save_changes() { this.saved++; },
    on: (name, hear) => (heard[name] ??= new Set()).add(hear),
    off: (name, hear) => heard[name].delete(hear),
  };
  const style = document.createElement("style");
  style.textContent = state._css;
  document.head.append(style);
  const made = new Blob([state._esm], { type: "text/javascript" });
  const { default: widget } = await import(URL.createObjectURL(made));
  const el = document.createElement("div");
  window.close_widget = await widget.render({ model: window.model, el });
  document.body.append(el);
}
"""
#: Keeps what is written on any canvas from now on.
WRITTEN = """
() => {
  window.written = new Set();
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
    written.add(text.trim());
    fillText.call(this, text, ...where);
  };
}
"""


@pytest.fixture(scope="module")
def drawing():
    names = ["middle", "right", "top", "left", "bottom"]
    x = Items(names, [HOSTILE, *names[1:]], "keyword", {"group": np.array(list("abbab"))})
    y = Items("01234", [f"{name} answer that is longer" for name in names], "text")
    return drawn(x, y, PLACES, np.vstack([[1, 1], 0.5 * PLACES[1:]]))


@pytest.fixture
def page(browser):
    with watched(browser, viewport={"width": 1000, "height": 760}) as page:
        yield page


def show(page, widget):
    """Show a widget, and wait until the map is drawn."""
    sent = json.dumps(widget.get_state(), default=lambda value: base64.b64encode(value).decode())
    page.evaluate(HOST, json.loads(sent))
    rest(page)


def until_selected(page, rows):
    same = "(rows) => JSON.stringify(model.state.selected) === JSON.stringify(rows)"
    page.wait_for_function(same, arg=rows)


def test_what_is_selected_reaches_the_model_and_comes_from_it(page, drawing):
    widget = drawing.widget(color_by="group")
    show(page, widget)
    canvas = page.locator("canvas.sv-canvas")
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.click(*middle)
    until_selected(page, [0])
    assert page.evaluate("model.saved") == 1
    page.keyboard.press("Escape")
    until_selected(page, [])
    # Around everything.
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] - 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 2, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    until_selected(page, list(range(10)))
    # What the model got is a frame again.
    widget.set_state({"selected": [6, 0]})
    assert widget.frame()["id"].tolist() == ["1", "middle"]
    # And what the notebook selects is shown, and not sent back.
    saved = page.evaluate("model.saved")
    page.evaluate("model.set('selected', [7])")
    said = page.locator("[role=status]", has_text="top answer that is longer is selected")
    said.wait_for(state="attached")
    # Several are named wherever the reader looks, and whatever was searched for.
    page.get_by_label("Find items").fill("img")
    found = page.locator(".sv-find-list button")
    side, entry = found.locator("span").bounding_box(), found.bounding_box()
    assert side["x"] + side["width"] <= entry["x"] + entry["width"]
    page.get_by_label("Zoom in").click(click_count=3)
    rest(page)
    page.evaluate(WRITTEN)
    page.evaluate("model.set('selected', [1, 8])")
    page.wait_for_function("written.has('right') && written.has('left answer that is longer')")
    expect(page.get_by_label("Find items")).to_have_value("")
    assert page.evaluate("model.saved") == saved
    assert not page.locator("img, script").count(), "no text became an element"
    page.evaluate("close_widget()")
    assert not page.locator(".sv-map").count()
    assert page.evaluate("model.heard['change:selected'].size") == 0


def test_only_keys_of_the_map_are_kept_from_the_notebook(page, drawing):
    show(page, drawing.widget())
    # JupyterLab looks for the mark on the way down, others hear what comes up.
    page.evaluate(
        """() => {
          window.down = [], window.up = [];
          document.addEventListener("keydown", (event) => {
            if (!event.target.closest("[data-lm-suppress-shortcuts]")) down.push(event.key);
          }, true);
          document.addEventListener("keydown", (event) => up.push(event.key));
        }"""
    )
    page.locator("canvas.sv-canvas").click()
    for key in ("0", "d", "Control+s", "Enter", "Alt+s", "/", "d"):
        page.keyboard.press(key)
    assert page.evaluate("down") == page.evaluate("up") == ["Control", "s", "Alt", "s"]


def test_what_lies_under_the_picture_that_is_selected_is_named_beside_it(page):
    x = Items("01234", [f"answer {i}, at some length" for i in range(5)], "text")
    y = Items("abcde", np.full((5, 16, 16), np.eye(16) * 255, dtype=np.uint8), "image")
    show(page, drawn(x, y, PLACES, PLACES).widget())
    page.evaluate(WRITTEN)
    page.evaluate("model.set('selected', [6])")
    page.wait_for_function("written.has('answer 1, at some length')")


@pytest.mark.parametrize("behind", ["#ffffff", "oklch(0.2 0 0)"])
def test_the_map_follows_the_page_behind_it(page, drawing, behind):
    show(page, drawing.widget())
    page.evaluate("(colour) => { document.body.style.background = colour; }", behind)
    looks = drawing.widget().scene["looks"]
    wanted = looks["light" if behind == "#ffffff" else "dark"]["look"]["paper"]
    expect(page.locator(".sv-map")).to_have_css("--sv-paper", wanted)


@pytest.mark.parametrize("is_dark", [False, True])
def test_a_drawing_shows_itself_in_a_frame(page, drawing, is_dark):
    ink = f"oklch({0.9 if is_dark else 0.2} 0 0)"
    page.set_content(f'<div style="color: {ink}">{drawing._repr_html_()}</div>')
    frame = page.frame_locator("iframe")
    frame.locator("canvas.sv-canvas").click()
    frame.locator("[role=status]", has_text="is selected").wait_for(state="attached")
    wanted = drawing.widget().scene["looks"]["dark" if is_dark else "light"]["look"]["paper"]
    expect(frame.locator(".sv-map")).to_have_css("--sv-paper", wanted)
    # Where a notebook is not trusted, the frame goes and the words stay.
    assert page.locator("iframe").text_content() == repr(drawing)
