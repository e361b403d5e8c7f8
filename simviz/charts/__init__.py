"""Tidy results to Plotly figures: pure functions, in a light and a dark look."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
