"""The pipeline that suits a method and a pair set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from simviz.base import MethodTags, PairModel
from simviz.data import guess_space
from simviz.data.pairs import ItemKind, PairSet
from simviz.data.pairs_from_tables import pairs_of
from simviz.exceptions import MissingLibraryError
from simviz.features import PretrainedImages, PretrainedText, Tfidf, Vectors, default_features
from simviz.features.pretrained import why_unavailable
from simviz.methods import get_method
from simviz.pipeline._pipelines import PairPipeline, joined_content
from simviz.registry import unknown_name

#: What methods read: "usual", parameters of terms, "pretrained", or "pretrained:" and the name or
#: folder of a model.
Features = str | Mapping[str, Any]
_PRETRAINED = "pretrained"
#: Columns for terms that training did not show: with 50 such terms in each of two texts, one
#: pair of texts in a hundred matches by chance in one of them.
N_UNSEEN = 2**18


def default_pipeline(
    method: str | PairModel | type[PairModel],
    pairs: Any,
    *,
    x: Any = None,
    y: Any = None,
    features: Features = "usual",
    max_features: int | None = None,
    preset: str | None = None,
    **params: Any,
) -> PairPipeline:
    """A pipeline that suits a method and a pair set, not fitted.

    Parameters
    ----------
    method : str, PairModel or type
        Id of a method; or a model or its class, which need not be one of ours.
    pairs : PairSet, ReadResult or frame
        Training pairs; kinds of items decide the features, lengths of texts
        decide between words and character n-grams.
    x, y : str, optional
        Columns of a frame, see `simviz.from_frame`.
    features : {"usual", "pretrained"} or str or mapping, default="usual"
        What texts and pictures become: what suits the method, or the vectors of pretrained
        encoders (`simviz.features.PretrainedText`, `simviz.features.PretrainedImages`), to which
        the method is an adapter. "pretrained:MODEL", with a name or a folder, has that model read
        both. A mapping holds parameters of `simviz.features.Tfidf`, such as ``{"tf": "log1p",
        "stop_words": "english"}``, for all that reads terms; and "x_column", see `PairPipeline`.
        Methods that learn nothing from pairs match terms that training did not show, each weighed
        as if one training text had it; ``{"n_unseen": 0}`` keeps the vocabulary of training, as
        published results have it.
    max_features : int, optional
        Terms of texts that are kept at most, those met most often. None keeps
        all, or as many as a method with a weight for every pair of them can hold.
    preset : str, optional
        Parameters that go together, of `presets` of the method: "paper" is as in the paper.
    **params
        Parameters of the method, which win over those of the preset. Where `shared`
        is left open, sides whose relevant pairs have words in common get one
        vocabulary, and vectors of one space one matrix.

    Returns
    -------
    PairPipeline

    Raises
    ------
    ValueError
        If the method or its preset is unknown, or it cannot read such items or features.
    """
    pairs = pairs_of(pairs, x, y)
    if isinstance(method, str):
        method = get_method(method)
    elif not isinstance(method, PairModel) and not (
        isinstance(method, type) and issubclass(method, PairModel)
    ):
        raise ValueError(
            f"A method is an id such as 'cca', or a model or class of simviz.base.PairModel; got "
            f"a {type(method).__name__}."
        )
    if preset is not None:
        if preset not in method.presets:
            raise ValueError(
                unknown_name(f"preset of {method.tags.title}", preset, method.presets)
            )
        params = {**method.presets[preset], **params}
    tags = method.tags
    one_space = tags.space == "one"
    if tags.space == "either":
        if isinstance(method, type):
            params.setdefault("shared", same_vocabulary(pairs))
        one_space = bool(params.get("shared", getattr(method, "shared", False)))
    x, y = pairs.x, pairs.y
    if one_space and x.kind != y.kind:
        raise ValueError(
            f"{tags.title} compares items of one kind in one feature space; this set pairs "
            f"{x.kind} items with {y.kind} items. Choose a method with two spaces, such as "
            "cca or heterogeneous_svd."
        )
    if one_space and x.kind == "vector" and x.content.shape[1] != y.content.shape[1]:
        hint = "or shared=False" if tags.space == "either" else "such as cca or heterogeneous_svd"
        raise ValueError(
            f"{tags.title} compares vectors of one width; those of x have "
            f"{x.content.shape[1]:,} numbers, those of y {y.content.shape[1]:,}. Take both from "
            f"one encoder, or choose a method with two spaces, {hint}."
        )
    model = method() if isinstance(method, type) else clone(method)
    known = model.get_params()
    if unknown := params.keys() - known:
        raise ValueError(unknown_name(f"parameter of {tags.title}", min(unknown), known))
    model.set_params(**params)

    is_encoded, encoder = encoder_of(features)
    encoder_params: dict[str, Any] = {"model": encoder} if encoder else {}
    terms = {} if isinstance(features, str) else dict(features)
    column = terms.pop("x_column", None)
    if column is not None and (pairs.x.kind != "text" or column not in pairs.x.metadata):
        known_columns = pairs.x.metadata if pairs.x.kind == "text" else ()
        raise ValueError(unknown_name("column of texts of x items", column, known_columns))

    def limited(transformer: BaseEstimator) -> BaseEstimator:
        if max_features is not None and "max_features" in transformer.get_params():
            transformer.set_params(max_features=max_features)
        return transformer

    def made(kind: ItemKind, content: Any) -> BaseEstimator:
        # A method over another one reads what that one is made for.
        needs = getattr(model, "feature_tags", tags)
        if not is_encoded:
            options: dict[str, Any] = {}
            if needs.input == "characters":
                # Characters that the method would not read need not be kept.
                options = {"max_length": model.max_length}
            elif kind == "text" and needs.input not in ("trigrams", _PRETRAINED):
                weights = {"tf", "normalize"} if needs.input == "counts" else set()
                options = {name: terms[name] for name in terms.keys() - weights}
                if needs.family == "lexical":
                    options = _lexical(options, needs.input, max_features)
            return limited(default_features(kind, needs.input, content=content, **options))
        if reason := why_no_adapter(needs):
            raise ValueError(reason)
        if kind == "image":
            if missing := why_unavailable():
                raise MissingLibraryError(missing)
            return PretrainedImages(**encoder_params)
        if kind == "text":
            return default_features(kind, _PRETRAINED, **encoder_params)
        return limited(default_features(kind, needs.input, content=content))

    x_content = joined_content(x, column)
    if one_space:
        both = x_content if y is x else np.concatenate([x_content, y.content])
        sides = [(made(x.kind, both), both)]
    else:
        sides = [(made(x.kind, x_content), x_content), (made(y.kind, y.content), y.content)]
    max_weights = getattr(model, "max_weights", None)
    if max_weights is not None and max_features is None and "max_features" not in terms:
        _keep_frequent(sides, max_weights)
    return PairPipeline(model, *(transformer for transformer, _ in sides), x_column=column)


def plain_cosine(pipeline: object, pairs: PairSet) -> PairPipeline | None:
    """Return the cosine of the vectors that a pipeline adapts; None where there is none."""
    if not isinstance(pipeline, PairPipeline) or not reads_vectors(pairs, pipeline.x_features):
        return None
    sides = [pipeline.x_features, pipeline.y_features or pipeline.x_features]
    if repr(sides[0]) != repr(sides[1]):
        return None
    return PairPipeline(get_method("cosine")(), clone(sides[0]), x_column=pipeline.x_column)


def reads_vectors(pairs: PairSet, features: object) -> bool:
    """Whether features are vectors of one space, whose plain cosine means something."""
    if isinstance(features, PretrainedText):
        return pairs.x.kind == pairs.y.kind
    return isinstance(features, Vectors) and same_vocabulary(pairs)


def _keep_frequent(sides: list[tuple[BaseEstimator, Any]], max_weights: int) -> None:
    """Limit the terms of texts where the features of both sides make more pairs than that."""
    texts = ["max_features" in transformer.get_params() for transformer, _ in sides]
    if not any(texts):
        return
    widths = [len(clone(made).fit(content).get_feature_names_out()) for made, content in sides]
    if widths[0] * widths[-1] <= max_weights:
        return
    for at, (transformer, _) in enumerate(sides):
        share = max_weights // widths[-1 - at]
        if texts[at]:
            # A narrow side leaves the other more room than each its half.
            transformer.set_params(max_features=max(share, isqrt(max_weights) * texts[-1 - at]))


def _lexical(terms: Mapping[str, Any], input: str, max_features: int | None) -> dict[str, Any]:
    """Parameters of terms for what learns nothing from pairs; those that are given win."""
    defaults: dict[str, Any] = {}
    if input == "tfidf":
        # Counts as they are let what a long text repeats drown the rest: benchmarks/README.md.
        defaults["tf"] = "log1p"
    if max_features is None and not {"min_df", "max_df", "max_features"} & terms.keys():
        defaults["n_unseen"] = N_UNSEEN  # terms that were dropped must not come back as unknown
    return {**defaults, **terms}


def encoder_of(features: Features) -> tuple[bool, str]:
    """Whether features are of pretrained encoders, and the model that was named, if any."""
    if not isinstance(features, str | Mapping):
        raise ValueError(
            f'features must be "usual", "pretrained" or a mapping, got {features!r:.80}.'
        )
    if not isinstance(features, str):
        terms = {name: value for name, value in features.items() if name != "x_column"}
        if unknown := terms.keys() - Tfidf().get_params():
            raise ValueError(
                unknown_name("parameter of Tfidf", min(unknown), Tfidf().get_params())
            )
        Tfidf(**terms)._check_parameters()
        return False, ""
    known = ("usual", _PRETRAINED)
    if features in known:
        return features == _PRETRAINED, ""
    kind, _, model = str(features).partition(":")
    if kind != _PRETRAINED or not model:
        raise ValueError(unknown_name("kind of features", features, known))
    return True, model


def why_no_adapter(tags: MethodTags) -> str | None:
    """Say why a method cannot be trained on pretrained vectors, or None where it can."""
    if tags.input in ("tfidf", "vectors", "pretrained"):
        return None
    return (
        f"{tags.title} reads {tags.input}, and pretrained vectors are none. Leave features at "
        "'usual', or choose a method that reads vectors, such as cca or s2net."
    )


def same_vocabulary(pairs: PairSet, sample: int = 1_000) -> bool:
    """Whether relevant pairs of texts tend to have words in common.

    Parameters
    ----------
    pairs : PairSet
        Pairs to look at.
    sample : int, default=1000
        Relevant pairs looked at, evenly spread.

    Returns
    -------
    bool
        True when the shorter text of a relevant pair shares a fifth of its words with the other on
        average, or both sides are one collection; for vectors of one width, as
        `simviz.data.guess_space` finds. What `pairs.space` says wins.
    """
    if pairs.space is not None:
        return pairs.space == "one"
    if pairs.x is pairs.y:
        return True
    if pairs.x.kind == pairs.y.kind == "vector":
        return guess_space(pairs).space == "one"
    if pairs.x.kind != "text" or pairs.y.kind != "text":
        return False
    positives = pairs.relevance.positives.tocoo()
    if not positives.nnz:
        return False
    sampled = np.unique(np.linspace(0, positives.nnz - 1, min(sample, positives.nnz)).astype(int))
    shares = []
    for i, j in zip(positives.row[sampled], positives.col[sampled], strict=True):
        a, b = (
            set(re.findall(r"\w{2,}", text.lower()))
            for text in (pairs.x.content[i], pairs.y.content[j])
        )
        if a and b:
            shares.append(len(a & b) / min(len(a), len(b)))
    return bool(shares) and float(np.mean(shares)) >= 0.2
