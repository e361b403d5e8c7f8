"""Map: both sides in one space, as a model sees them."""

from pages._shared import chrome, map_view

chrome.begin("Map")
map_view.show()
chrome.end()
