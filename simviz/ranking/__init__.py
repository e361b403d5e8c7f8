"""Ranks under ties, and the value every rank metric expects of them.

A query's candidates are sorted by score. Where scores are equal the order is open, so a metric
takes its expected value over random orders of the tied candidates [1]_. That needs two numbers a
relevant candidate: how many stand strictly above it, and how many are tied with it, itself
included. A query without a relevant candidate has no value: NaN.

References
----------
.. [1] F. McSherry and M. Najork. "Computing information retrieval performance
   measures efficiently in the presence of tied scores." ECIR 2008.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
