"""Map: both sides in one space, as a model sees them."""

from simviz.workbench.map import page

page.show_page()
