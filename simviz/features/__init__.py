"""Features: what turns the content of items into rows of a matrix.

A transformer takes ``Items.content`` (strings, pixels or vectors), follows
scikit-learn's grammar, and learns nothing but arrays, numbers, strings, and
lists of them, so that it can be stored without pickle.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.features._defaults import default_features, why_impossible
    from simviz.features._rows import empty_share
    from simviz.features.hashed import HashedText
    from simviz.features.images import ImageDescriptor
    from simviz.features.keywords import MultiHot
    from simviz.features.pretrained import PretrainedText
    from simviz.features.pretrained_images import PretrainedImages
    from simviz.features.sequences import Characters
    from simviz.features.text import TextCounts, Tfidf
    from simviz.features.trigrams import Trigrams
    from simviz.features.vectors import Vectors

__all__ = [
    "Characters",
    "HashedText",
    "ImageDescriptor",
    "MultiHot",
    "PretrainedImages",
    "PretrainedText",
    "TextCounts",
    "Tfidf",
    "Trigrams",
    "Vectors",
    "default_features",
    "empty_share",
    "why_impossible",
]

_HOMES = {
    "Characters": "sequences",
    "HashedText": "hashed",
    "ImageDescriptor": "images",
    "MultiHot": "keywords",
    "PretrainedImages": "pretrained_images",
    "PretrainedText": "pretrained",
    "TextCounts": "text",
    "Tfidf": "text",
    "Trigrams": "trigrams",
    "Vectors": "vectors",
    "default_features": "_defaults",
    "empty_share": "_rows",
    "why_impossible": "_defaults",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
