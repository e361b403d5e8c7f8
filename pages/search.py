"""A query of one's own, every chosen run's answers, and why."""

from simviz.workbench.search import page

page.show_page()
