"""Which is better? Finished runs side by side, then query by query."""

from simviz.workbench.compare import page

page.show_page()
