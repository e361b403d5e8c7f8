"""Data sets, runs and shares on disk, with an index beside them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
