"""Augmenting training pairs: variants of texts that keep their meaning.

Every augmenter takes a `PairSet` and answers a larger one: the same y side,
and on the x side what was there plus what it made. After Neculoiu, Versteegh
and Rotaru (2016), "Learning Text Similarity with Siamese Recurrent Networks",
section 4.2.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.data.augment.base import Augmenter
    from simviz.data.augment.extra_words import MinedWords, SampledWords
    from simviz.data.augment.feedback import Feedback
    from simviz.data.augment.groups import GROUP_SEPARATOR
    from simviz.data.augment.steps import augment, from_json, to_json
    from simviz.data.augment.synonyms import InducedSynonyms, ListedSynonyms
    from simviz.data.augment.typos import Typos

_WHERE = {
    "GROUP_SEPARATOR": "groups",
    "Augmenter": "base",
    "Feedback": "feedback",
    "InducedSynonyms": "synonyms",
    "ListedSynonyms": "synonyms",
    "MinedWords": "extra_words",
    "SampledWords": "extra_words",
    "Typos": "typos",
    "augment": "steps",
    "from_json": "steps",
    "to_json": "steps",
}

__all__ = [
    "GROUP_SEPARATOR",
    "Augmenter",
    "Feedback",
    "InducedSynonyms",
    "ListedSynonyms",
    "MinedWords",
    "SampledWords",
    "Typos",
    "augment",
    "from_json",
    "to_json",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"simviz.data.augment.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
