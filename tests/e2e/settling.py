"""Waiting for a page to be done."""

from __future__ import annotations

from playwright.sync_api import Page


def settle(page: Page) -> None:
    """Wait until the script of a page has run and what it drew stands still."""
    page.wait_for_function(
        """() => {
            const app = document.querySelector('[data-testid=stApp]');
            const main = document.querySelector('[data-testid=stMain]');
            return app?.dataset.testScriptState === 'notRunning' && main?.innerText.length > 40;
        }""",
        timeout=60_000,
    )
    page.wait_for_timeout(1_500)
