"""Experiments: one module a table or figure of a paper, run anew on open data.

``python -m simviz.experiments list`` shows them.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
