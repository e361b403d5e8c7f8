"""Which features fit which items and which method: the table behind the defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simviz.data.description import are_short
from simviz.data.pairs import KINDS, ItemKind
from simviz.exceptions import MissingLibraryError
from simviz.features.images import ImageDescriptor
from simviz.features.keywords import MultiHot
from simviz.features.pretrained import PretrainedText, why_unavailable
from simviz.features.sequences import Characters, Trigrams
from simviz.features.text import TextCounts, Tfidf
from simviz.features.vectors import Vectors
from simviz.registry import unknown_name

INPUTS = ("tfidf", "counts", "vectors", "pretrained", "characters", "trigrams")
_SPELT: dict[str, Callable[..., BaseEstimator]] = {"characters": Characters, "trigrams": Trigrams}

_TEXT = {"tfidf": Tfidf, "counts": TextCounts, "vectors": Tfidf, "pretrained": PretrainedText}
_TABLE: dict[str, dict[str, Callable[..., BaseEstimator]]] = {
    "text": {**_TEXT, **_SPELT},
    "keyword": {**dict.fromkeys(("tfidf", "counts", "vectors"), MultiHot), **_SPELT},
    "image": dict.fromkeys(("tfidf", "vectors"), ImageDescriptor),
    "vector": dict.fromkeys(("tfidf", "counts", "vectors", "pretrained"), Vectors),
}


def default_features(
    kind: ItemKind, input: str, *, content: Any = None, **options: Any
) -> BaseEstimator:
    """Make the transformer that turns items of a kind into what a method reads.

    Parameters
    ----------
    kind : {"text", "keyword", "image", "vector"}
        What the items are.
    input : {"tfidf", "counts", "vectors", "pretrained", "characters", "trigrams"}
        What the method reads: weights of terms, counts, any numbers, the vectors of a pretrained
        sentence encoder, or the characters of a text, one by one or three at a time.
    content : sequence of str, array or matrix, optional
        Content of the training items: short texts (a median below 6 words) get
        character 3- to 5-grams inside words; vectors may have to be positive.
    **options
        Parameters of the transformer; they win over the defaults.

    Returns
    -------
    BaseEstimator

    Raises
    ------
    ValueError
        If no features of such items suit such a method.
    MissingLibraryError
        If a pretrained encoder needs what is not installed.

    Examples
    --------
    >>> default_features("text", "tfidf", content=["red heart", "car"])
    Tfidf(analyzer='char_wb', ngram_range=(3, 5))
    """
    if (kind, input) == ("text", "pretrained"):
        if reason := why_unavailable(options.get("model", "")):
            raise MissingLibraryError(reason)
    elif reason := why_impossible(kind, input, content=content):
        raise ValueError(reason)
    # Whoever sets one of these has decided what a term is.
    decided = {"analyzer", "ngram_range", "stop_words"} & options.keys()
    ngrams = kind == "text" and input not in ("pretrained", *_SPELT)
    if ngrams and not decided and content is not None and are_short(content):
        options = {"analyzer": "char_wb", "ngram_range": (3, 5), **options}
    return _TABLE[kind][input](**options)


def why_impossible(kind: ItemKind, input: str, *, content: Any = None) -> str | None:
    """Say why items of a kind cannot feed a method, or None where they can.

    Parameters
    ----------
    kind : {"text", "keyword", "image", "vector"}
        What the items are.
    input : {"tfidf", "counts", "vectors", "pretrained", "characters", "trigrams"}
        What the method reads.
    content : array or matrix, optional
        Content of the items; vectors may be read as counts only where none is negative.

    Returns
    -------
    str or None

    Raises
    ------
    ValueError
        If there is no such kind or input.

    Examples
    --------
    >>> why_impossible("image", "vectors") is None
    True
    >>> why_impossible("image", "counts")[:46]
    'An image is not a list of things to count, and'
    """
    for what, name, known in (("kind of item", kind, KINDS), ("input", input, INPUTS)):
        if name not in known:
            raise ValueError(unknown_name(what, name, known))
    if input in _SPELT and kind not in ("text", "keyword"):
        what = "An image is" if kind == "image" else "Vectors are"
        return (
            f"{what} not written in characters, and this method reads characters. "
            "Choose a method that reads vectors, such as cca."
        )
    if (kind, input) == ("image", "counts"):
        return (
            "An image is not a list of things to count, and this method reads counts. "
            "Choose a method that reads vectors, such as cca, or bring counts of visual words "
            "as vectors."
        )
    if input == "pretrained" and kind == "text":
        return why_unavailable()
    if input == "pretrained" and kind != "vector":
        return (
            f"The pretrained encoder reads texts, and these are {kind} items. Choose a method "
            "that reads vectors, such as cca, or bring vectors of your own encoder."
        )
    if (kind, input) == ("vector", "counts") and content is not None:
        values = content.data if sp.issparse(content) else np.asarray(content)
        if (values < 0).any():
            return (
                "This method reads counts, which are never negative, but some values of the "
                "vectors are below 0. Choose a method that reads vectors, such as cca, or bring "
                "counts."
            )
    return None
