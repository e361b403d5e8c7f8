"""What does it answer? A query of one's own, every chosen run's answers, and why."""

from pages._shared import chrome, search_view

chrome.begin("Search")
search_view.show()
chrome.end()
