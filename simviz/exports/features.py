"""Features as JSON, as far as they can be computed without simviz."""

from __future__ import annotations

from typing import Any

from simviz.features import MultiHot, TextCounts, Tfidf, Vectors


def described(features: object) -> dict[str, Any] | None:
    """What `simviz.exports.standalone` needs to know of a fitted transformer.

    Parameters
    ----------
    features : estimator
        Fitted features of one side.

    Returns
    -------
    dict or None
        Of JSON's types; None where simviz itself is needed.
    """
    if isinstance(features, TextCounts):
        told = {
            "kind": "text",
            "analyzer": features.analyzer,
            "ngram_range": list(features.ngram_range),
            "lowercase": bool(features.lowercase),
            "stop_words": sorted(features.dropped_words()),
            "vocabulary": list(features.vocabulary_),
        }
        if isinstance(features, Tfidf):
            told |= {"idf": features.idf_.tolist(), "tf": features.tf}
            told["normalize"] = bool(features.normalize)
        return told
    if isinstance(features, MultiHot):
        return {
            "kind": "keywords",
            "delimiter": features.delimiter,
            "vocabulary": list(features.vocabulary_),
        }
    if isinstance(features, Vectors):
        return {
            "kind": "vectors",
            "width": features.n_features_in_,
            "normalize": bool(features.normalize),
        }
    return None
