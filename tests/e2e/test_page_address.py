"""Addresses in a browser: *Back*, and a shared view opened elsewhere."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from settling import press, rest, until_told

pytestmark = pytest.mark.e2e
COMPARE = "compare?data=demo:icons&part=validation"


def segment(page, key, name):
    """An option of a row of segments."""
    return page.locator(f".st-key-{key}").get_by_role("radio", name=name)


def test_back_shows_what_was_left_and_a_shared_view_shows_it_elsewhere(public_server, browser):
    page = public_server.context(browser).new_page()
    page.goto(f"{public_server.url}/{COMPARE}")
    press(segment(page, "part-shown", "Test"))
    until_told(page, part="test", query=False)
    press(segment(page, "compare-tab", "Where they differ"))
    until_told(page, part="test", tab="queries", query=True)
    press(page.get_by_role("button", name="Share"))
    link = page.locator("[data-testid=stCode] code").first
    expect(link).to_contain_text("correction=holm")
    address = link.inner_text()
    page.keyboard.press("Escape")
    press(page.get_by_test_id("stSidebar").get_by_role("link", name="Methods"))
    page.wait_for_url("**/methods*")
    rest(page)
    queries = segment(page, "compare-tab", "Where they differ")
    page.go_back()
    expect(queries).to_be_checked()
    rest(page)
    page.go_back()
    until_told(page, part="test", tab=False, query=False)
    expect(queries).not_to_be_checked()
    rest(page)
    page.go_back()
    until_told(page, part="validation")
    expect(segment(page, "part-shown", "Validation")).to_be_checked()
    page.close()
    # Somebody else looks at the other part, until they open the link.
    other = public_server.context(browser).new_page()
    other.goto(address)
    expect(segment(other, "part-shown", "Test")).to_be_checked()
    expect(segment(other, "compare-tab", "Where they differ")).to_be_checked()
    rest(other)
    until_told(other, part="test", tab="queries")
