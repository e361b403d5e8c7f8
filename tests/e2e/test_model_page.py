"""A model as a file: opened from the disk, without a network, it answers while one types."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hosted import PHONE, assert_inert_and_usable
from payloads import PAYLOADS
from playwright.sync_api import expect
from prepared import hostile_pairs, own_pairs

import simviz

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def trained():
    pairs = own_pairs(4)
    return simviz.default_pipeline("cca", pairs, n_components=6).fit(pairs), pairs


@pytest.fixture
def shown(saved_page):
    """Opens such a page and waits until it can be used."""

    def show(pipeline, pairs, **options):
        page = saved_page(
            lambda path: path.write_text(simviz.model_page(pipeline, pairs), "utf-8"), **options
        )
        page.locator("body[data-ready]").wait_for()
        return page

    return show


def test_what_is_typed_is_answered_and_explained(shown, trained):
    pipeline, pairs = trained
    page = shown(pipeline, pairs, viewport={"width": 1280, "height": 800})
    box = page.get_by_label("Search by words")
    expect(box).to_be_focused()
    page.keyboard.type("a gold tree")
    scores = pipeline.similarity(["a gold tree"], pairs.y)[0]
    best = np.argsort(-scores, kind="stable")
    expect(page.locator("#said")).to_have_text("Nearest of 16 right")
    answers = page.locator("#answers .words")
    expect(answers).to_have_text([pairs.y.content[i] for i in best[:8]])
    expect(page.locator(".score").first).to_have_text(f"{scores[best[0]]:.2f}")
    page.keyboard.press("Enter")
    why = page.locator(".why")
    expect(why).to_contain_text("is the sum of")
    expect(why.locator("dt").first).to_have_text(re.compile("gold·dlog|tree·eert"))
    page.get_by_role("button", name="More").click()
    expect(answers).to_have_count(16)
    # By the other side, then by an item: what belongs to it is marked.
    page.get_by_text("by right").click()
    expect(box).to_have_value("")
    page.locator("#examples button").first.click()
    expect(page.locator(".words small")).to_have_text("its match in the data")
    box.fill("~~~")
    expect(page.locator("#said")).to_contain_text("Nothing of this is known")
    expect(answers).to_have_count(0)


def test_what_is_selected_on_the_map_is_asked(shown, trained):
    page = shown(*trained)
    canvas = page.locator("canvas.sv-canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".words small")).to_have_count(1)
    asked = page.get_by_label("Search by words").input_value()
    assert asked in [*trained[1].x.content, *trained[1].y.content]
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search by words")).to_have_value("")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_hostile_texts_are_inert_and_everybody_can_use_it(shown, look):
    pairs = hostile_pairs()
    pipeline = simviz.default_pipeline("cca", pairs, n_components=4).fit(pairs)
    page = shown(pipeline, pairs, **PHONE, color_scheme=look)
    page.get_by_label("Search by words").fill(PAYLOADS[9])
    page.locator("#answers button").first.click()
    page.locator(".why").wait_for()
    assert_inert_and_usable(page, "#answers")
