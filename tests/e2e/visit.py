"""A visit to a prepared server: one page, of which every request and every dialog is noted."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect
from prepared import Owner, Prepared
from settling import press, rest

#: What a browser answers itself.
LOCAL = ("data", "blob", "about", "file")


class Visit:
    """A page that goes through the app by its links, which takes a tenth of loading it.

    Its context stays open until `close`, however many tests use it.
    """

    def __init__(
        self, browser: Browser, server: Prepared, owner: Owner | None = None, **options: Any
    ) -> None:
        self.server, self.urls, self.n_seen, self.happened = server, [], 0, []
        self.context = server.context(browser, owner, **options)
        self.context.on("request", lambda request: self.urls.append(request.url))
        self.context.on("page", self._watch)
        browser.lasting.add(self.context)
        self.page = self.context.new_page()

    def _watch(self, page: Page) -> None:
        page.on("websocket", lambda socket: self.urls.append(socket.url))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Any) -> None:
        self.happened.append(dialog.message)
        dialog.dismiss()

    def load(self, address: str) -> None:
        """Load a page of the server, and wait until it is at rest."""
        self.page.goto(f"{self.server.url}/{address}")
        rest(self.page)

    def go(self, name: str) -> None:
        """Follow a link of the sidebar, by the name of the page in addresses; Home has none."""
        press(self.page.locator(f"[data-testid=stSidebar] a[href^='{name}?']"))
        self.page.wait_for_function("(path) => location.pathname === path", arg=f"/{name}")
        rest(self.page)

    def outside(self) -> set[str]:
        """Return what was asked of others since the last time."""
        own = urlsplit(self.server.url).netloc
        self.n_seen += len(self.urls)
        assert self.n_seen, "nothing was seen"
        found = {
            url
            for url in self.urls
            if urlsplit(url).scheme not in LOCAL and urlsplit(url).netloc != own
        }
        self.urls.clear()
        icon = self.page.locator("link[rel~=icon]").first
        if self.page.url.startswith(self.server.url):
            expect(icon).to_have_attribute("href", re.compile("^data:image/svg"))
        return found

    def close(self) -> None:
        """End it."""
        self.context.close()
