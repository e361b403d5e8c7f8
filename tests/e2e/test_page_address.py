"""Addresses in a browser: *Back*, a shared view opened elsewhere, and one that arrives late."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from settling import press, rest, until_told
from waiting import until

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
    page.go_back()
    expect(segment(page, "compare-tab", "Where they differ")).to_be_checked()
    rest(page)
    page.go_back()
    until_told(page, part="test", tab=False, query=False)
    expect(segment(page, "compare-tab", "Where they differ")).not_to_be_checked()
    rest(page)
    page.go_back()
    until_told(page, part="validation")
    expect(segment(page, "part-shown", "Validation")).to_be_checked()
    rest(page)
    assert not page.get_by_test_id("stException").count()
    page.close()
    # Somebody else looks at the other part, until they open the link.
    other = public_server.context(browser).new_page()
    other.goto(address)
    expect(segment(other, "part-shown", "Test")).to_be_checked()
    expect(segment(other, "compare-tab", "Where they differ")).to_be_checked()
    rest(other)
    until_told(other, part="test", tab="queries")


def test_a_press_stands_though_its_address_is_one_of_before(public_server, browser):
    page = public_server.context(browser).new_page()
    held, is_held = [], False

    def connect(socket):
        server = socket.connect_to_server()
        socket.on_message(server.send)
        server.on_message(
            lambda words: held.append((socket, words)) if is_held else socket.send(words)
        )

    page.route_web_socket("**/_stcore/stream", connect)
    page.goto(f"{public_server.url}/{COMPARE}")
    until_told(page, runs=True)
    rest(page)
    # The browser does not hear that the first press is in the address when the second comes.
    is_held = True
    segment(page, "part-shown", "Test").click()
    until(lambda: page.evaluate("1") and any(b"part=test" in words for _, words in held))
    segment(page, "compare-tab", "Where they differ").click()
    n_held = len(held)
    until(
        lambda: page.evaluate("1") and any(b"tab=queries" in words for _, words in held[n_held:])
    )
    is_held = False
    for socket, words in held:
        socket.send(words)
    until_told(page, part="test", tab="queries")
    expect(segment(page, "part-shown", "Test")).to_be_checked()
    expect(segment(page, "compare-tab", "Where they differ")).to_be_checked()
    rest(page)
    until_told(page, part="test", tab="queries")
