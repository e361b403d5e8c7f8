"""Methods: a reading page, a card for each."""

from pages._shared import chrome, methods_view

chrome.begin("Methods")
methods_view.show()
chrome.end()
