"""Comparisons that leave: one page that opens anywhere, and files for other programs."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
