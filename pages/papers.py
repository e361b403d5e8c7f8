"""Do the papers hold? Their tables and figures, run again on open data."""

from pages._shared import chrome, papers_view

chrome.begin("Papers")
papers_view.show()
chrome.end()
