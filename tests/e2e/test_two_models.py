"""Two models as one page: items glide, what changed is listed, and no text runs."""

from __future__ import annotations

import numpy as np
import pytest
from hosted import PHONE, assert_inert_and_usable
from playwright.sync_api import expect
from prepared import hostile_pairs, own_pairs

import simviz
from simviz.charts.canvas import map_alt

pytestmark = pytest.mark.e2e
VIEW = "[...globalThis[Symbol.for('simviz.maps')]][0]"
REST = f"() => {VIEW}?.pending.length === 0"


def drawn(pairs):
    first, second = (simviz.default_pipeline(m, pairs).fit(pairs) for m in ("cl_lsi", "cca"))
    return simviz.draw(first, pairs, then=second, method="mds")


@pytest.fixture
def shown(saved_page):
    """Opens such a page and waits until it can be used."""

    def show(drawing, **options):
        page = saved_page(drawing.save, **options)
        page.wait_for_function(REST)
        return page

    return show


def places(page):
    xs, ys = page.evaluate(f"(() => {{ const v = {VIEW}; return [[...v.xs], [...v.ys]]; }})()")
    return np.column_stack([xs, ys])


def test_items_glide_between_both_and_what_changed_is_selected(shown):
    drawing = drawn(pairs := own_pairs(4))
    page = shown(drawing, viewport={"width": 1280, "height": 800}, reduced_motion="no-preference")
    np.testing.assert_allclose(places(page), np.vstack([drawing.x, drawing.y]), atol=1e-5)
    then = drawing.then
    page.get_by_text(then.name).click()
    page.wait_for_function(f"() => {VIEW}.glide")
    page.wait_for_function(REST)
    np.testing.assert_allclose(places(page), np.vstack([then.x, then.y]), atol=1e-5)
    alt = map_alt(then.map, ("left", "right"))
    expect(page.locator(".sv-canvas")).to_have_attribute("aria-label", alt)
    # What is nearest is what the model says that draws.
    one = int(np.flatnonzero((drawing.nearest != then.nearest).any(axis=1))[0])
    near = f"{VIEW}.nearestOf({one})"
    assert page.evaluate(near) == then.nearest[one].tolist()
    listed = page.locator("#changed").get_by_role("option")
    most = drawing.changed.max()
    expect(listed.first).to_contain_text(f"{100 * most:.0f} %")
    name = listed.first.locator("span").inner_text()
    listed.first.click()
    expect(listed.first).to_have_attribute("aria-selected", "true")
    item = page.evaluate(f"{VIEW}.selected.item")
    assert [*pairs.x.content, *pairs.y.content][item] == name and drawing.changed[item] == most > 0
    # Back to the first by keys.
    page.get_by_role("radio").last.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(REST)
    np.testing.assert_allclose(places(page), np.vstack([drawing.x, drawing.y]), atol=1e-5)
    assert page.evaluate(near) == drawing.nearest[one].tolist()


@pytest.mark.parametrize("look", ["light", "dark"])
def test_hostile_texts_are_inert_and_everybody_can_use_it(shown, look):
    page = shown(drawn(hostile_pairs()), **PHONE, color_scheme=look, reduced_motion="reduce")
    page.locator("label").last.click()
    page.locator("#changed").get_by_role("option").first.click()
    page.wait_for_function(REST)
    assert_inert_and_usable(page, "#changed")
