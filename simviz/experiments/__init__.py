"""Experiments: one module a table or figure of a paper, run anew on open data.

`all_experiments` finds them by their files, as methods are found. Each can be
run from the command line: ``python -m simviz.experiments list``.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
