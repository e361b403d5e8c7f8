"""Do the papers hold? Their tables and figures, run again on open data."""

from simviz.workbench import papers as page

page.show_page()
