"""How the site is built: `make docs`, or `make pages` without executing the tutorials."""

import sys
from pathlib import Path

import simviz

sys.path.insert(0, str(Path(__file__).parent))

project = html_title = "simviz"
author = project_copyright = "The simviz developers"
version = release = simviz.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "site_pages"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"
autodoc_typehints = "none"  # the sections of numpydoc tell them in words
numpydoc_show_class_members = False
toc_object_entries = False
html_theme = "furo"
html_math_renderer = "mathml"
html_favicon = "../simviz/workbench/shell/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
