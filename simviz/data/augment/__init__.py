"""Augmenting training pairs: variants of texts that keep their meaning.

Every augmenter takes a `PairSet` and answers a larger one: the same y side,
and on the x side what was there plus what it made. After Neculoiu, Versteegh
and Rotaru (2016), "Learning Text Similarity with Siamese Recurrent Networks",
section 4.2.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
