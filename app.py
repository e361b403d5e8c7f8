"""Home: what simviz is, and demos that train on the spot."""

import os

# OpenBLAS reads it when numpy is first imported: see simviz/__init__.py.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

from simviz.workbench import home

home.show_page()
