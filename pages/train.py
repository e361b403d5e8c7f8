"""Which methods? Choose, configure, train, cancel; what was trained before."""

from simviz.workbench.train import page

page.show_page()
