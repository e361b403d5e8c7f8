"""Methods: a reading page, a card for each."""

from simviz.workbench import methods as page

page.show_page()
