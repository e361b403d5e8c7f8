"""Data larger than memory: folders of Parquet, shards on disk, and fits that stream over them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
