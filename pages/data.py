"""Data: what there is, whether it was understood, and how it is split."""

from simviz.workbench.data import page

page.show_page()
