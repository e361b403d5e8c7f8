"""Features: what turns the content of items into rows of a matrix.

A transformer takes ``Items.content`` (strings, pixels or vectors), follows
scikit-learn's grammar, and learns nothing but arrays, numbers, strings, and
lists of them, so that it can be stored without pickle.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
