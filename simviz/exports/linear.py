"""What a linear model is to other programs: one matrix and one offset a side."""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.features import MultiHot, TextCounts, Tfidf, Vectors

if TYPE_CHECKING:
    from simviz.pipeline import BlendPipeline, PairPipeline

Form = Literal["numpy", "onnx", "dense"]
#: Files carry this date, so that the same model gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class LinearSide:
    """One side of a linear model."""

    projection: NDArray[np.float32]
    offset: NDArray[np.float32]
    is_unit: bool


def why_not(pipeline: PairPipeline | BlendPipeline, form: Form) -> str | None:
    """Why a pipeline cannot leave in a form.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        A fitted pipeline.
    form : {"numpy", "onnx", "dense"}
        Arrays; ONNX graphs; modules of sentence-transformers.

    Returns
    -------
    str or None
        A sentence that says why, or None where it can.
    """
    from simviz.base import LinearPairModel

    pass
    from simviz.features import PretrainedText

    model = getattr(pipeline, "model_", None)
    if model is None:
        return "A blend mixes the scores of two models; export each of them."
    title = model.tags.title
    if not isinstance(model, LinearPairModel):
        return f"{title} is more than one matrix a side. Take the whole model instead."
    if getattr(model, "activation", None) is not None:
        return f"{title} bends its vectors by {model.activation}; that is no longer linear."
    features = (pipeline.x_features_, pipeline.y_features_)
    if form == "numpy" and any(described(part) is None for part in features):
        return "The features of this model need simviz. Take the whole model instead."
    if form == "onnx" and importlib.util.find_spec("onnx") is None:
        return 'Writing ONNX needs a further library: pip install "simviz[onnx]".'
    if form == "dense" and not all(isinstance(part, PretrainedText) for part in features):
        return "This form continues a pretrained sentence encoder, and this model does not."
    return None


def linear_sides(pipeline: PairPipeline | BlendPipeline, form: Form) -> dict[str, LinearSide]:
    """Both sides of a linear pipeline."""
    reason = why_not(pipeline, form)
    if reason is not None:
        raise ValueError(reason)
    model: Any = pipeline.model_
    sides = {}
    for name in ("x", "y"):
        A, offset = getattr(model, f"{name}_projection_"), getattr(model, f"{name}_offset_")
        A = np.ascontiguousarray(A, dtype=np.float32)
        offset = np.zeros(A.shape[1]) if offset is None else offset
        is_unit = model.similarity_kind == "cosine"
        sides[name] = LinearSide(A, np.asarray(offset, dtype=np.float32), is_unit)
    return sides


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Files as one zip, the same bytes for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _DATE)
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 6)
    return buffer.getvalue()


def array_bytes(array: NDArray[Any]) -> bytes:
    """An array as an ``.npy`` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def described(features: object) -> dict[str, Any] | None:
    """What `simviz.exports.standalone` needs to know of a fitted transformer."""
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


_README = """{title}, exported from simviz

embed.py and analysis.py need Python 3.11, numpy and scipy; simviz is not needed.

    from embed import Model
    model = Model(".")
    model.embed(items, "x"), model.embed(items, "y"), model.similarity(x_items, y_items)

x_projection.npy is a matrix of {d_x} features by {k} dimensions, y_projection.npy one of
{d_y} by {k}. An item with the features v is embedded as v @ projection - offset, an item
without any known feature as zeros; similarities are {kind}. The features are described in
model.json: terms stand in the order of the rows of the projection.
"""


def numpy_files(pipeline: PairPipeline | BlendPipeline) -> bytes:
    """Write a linear pipeline as arrays, JSON and a few lines of Python.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        A fitted pipeline with a linear method on texts, keywords or vectors.

    Returns
    -------
    bytes
        A zip: ``{x,y}_{projection,offset}.npy`` in float32, ``model.json``
        with the features of both sides, and ``embed.py``, which needs numpy
        and scipy only and gives the same similarities up to rounding.

    Raises
    ------
    ValueError
        If the pipeline cannot leave so; see `why_not`.

    Examples
    --------
    >>> from simviz.data import PairSet
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["corazón rojo", "coche azul"])
    >>> content = numpy_files(default_pipeline("cca", pairs, n_components=1).fit(pairs))
    >>> content[:2]
    b'PK'
    """
    sides = linear_sides(pipeline, "numpy")
    told = {
        "similarity": "cosine" if sides["x"].is_unit else "dot",
        "x": described(pipeline.x_features_),
        "y": described(pipeline.y_features_),
    }
    (d_x, k), (d_y, _) = sides["x"].projection.shape, sides["y"].projection.shape
    kind = "products of vectors of length 1" if sides["x"].is_unit else "products of the vectors"
    title = pipeline.model_.tags.title
    found = {
        "README.txt": _README.format(title=title, d_x=d_x, d_y=d_y, k=k, kind=kind).encode(),
        "model.json": json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"),
        "embed.py": (files("simviz.exports") / "standalone.py").read_bytes(),
        "analysis.py": (files("simviz.features") / "_analysis.py").read_bytes(),
    }
    for name, side in sides.items():
        found[f"{name}_projection.npy"] = array_bytes(side.projection)
        found[f"{name}_offset.npy"] = array_bytes(side.offset)
    return zipped(found)
