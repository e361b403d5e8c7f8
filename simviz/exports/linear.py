"""A linear model for other programs: one matrix and one offset a side, in three forms."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz._extras import require, why_missing
from simviz.base import LinearPairModel, PairModel
from simviz.features import MultiHot, PretrainedText, TextCounts, Tfidf, Vectors
from simviz.methods.bm25 import BM25
from simviz.methods.tfidf_cosine import TfidfCosine
from simviz.pipeline import BlendPipeline

if TYPE_CHECKING:
    from simviz.pipeline import Pipeline

Form = Literal["numpy", "onnx", "dense", "page"]
#: Files carry this date, so that the same model gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
#: Of ONNX; 18 brought the reductions in the form used here, and runtimes know it since 2023.
_OPSET, _IR_VERSION = 18, 8

_FORMULA = """An item with the features v is embedded as v @ projection - offset{unit}, an item
without any known feature as zeros; similarities are products of embeddings."""

_NUMPY_README = """{title}, exported from simviz

embed.py and analysis.py need Python 3.11, numpy and scipy; simviz is not needed.

    from embed import Model
    model = Model(".")
    model.embed(items, "x"), model.embed(items, "y"), model.similarity(x_items, y_items)

x_projection.npy is a matrix of {d_x} features by {k} dimensions, y_projection.npy one of
{d_y} by {k}. {formula} The
features are described in model.json: terms stand in the order of the rows of the projection.
"""

_ONNX_README = """{title}, exported from simviz

x.onnx takes a float32 matrix "features" of n by {d_x} and gives "embedding" of n by {k};
y.onnx likewise from n by {d_y}. {formula}
features.json says what the columns are, where simviz could tell; then embed.py makes them:

    import json, onnxruntime
    from embed import features
    told = json.load(open("features.json"))
    x = onnxruntime.InferenceSession("x.onnx")
    (embedding,) = x.run(None, {{"features": features(items, told["x"]).toarray()}})

Vectors are an array already: leave out .toarray(). embed.py and analysis.py need Python 3.11,
numpy and scipy.
"""

_DENSE_README = """{title} on {encoder}, exported from simviz

    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize

    def side(folder):
        encoder = SentenceTransformer("{encoder}")
        modules = [*encoder, Normalize(), Dense.load(folder){end}]
        return SentenceTransformer(modules=modules)

    x, y = side("x"), side("y")
    scores = x.encode(queries) @ y.encode(documents).T

A text without any visible character has zeros in simviz and scores 0; the encoder gives it a
vector like any other text.
"""


def why_not(pipeline: Pipeline, form: Form) -> str | None:
    """Why a pipeline cannot leave in a form.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        A fitted pipeline.
    form : {"numpy", "onnx", "dense", "page"}
        Arrays; ONNX graphs; modules of sentence-transformers; a page that answers.

    Returns
    -------
    str or None
        A sentence that says why, or None where it can.
    """
    model = getattr(pipeline, "model_", None)
    if model is None:
        what = "A blend" if isinstance(pipeline, BlendPipeline) else "CSLS"
        return f"{what} mixes scores; export the models that they come from."
    title = model.tags.title
    features = (pipeline.x_features_, pipeline.y_features_)
    if form == "page":
        return _why_no_page(model, [described(part) for part in features])
    if model.tags.family == "lexical":
        return (
            f"{title} compares terms themselves, those that training did not show among them: "
            "there is no matrix to write. Take the whole model instead."
        )
    if not isinstance(model, LinearPairModel):
        return f"{title} has not one matrix a side. Take the whole model instead."
    if getattr(model, "activation", None) is not None:
        return f"{title} bends its vectors by {model.activation}; that is no longer linear."
    if form == "numpy" and any(described(part) is None for part in features):
        return "The features of this model need simviz. Take the whole model instead."
    if form == "onnx" and (reason := why_missing("onnx", "Writing ONNX")):
        return reason
    if form == "dense" and not all(isinstance(part, PretrainedText) for part in features):
        return "This form continues a pretrained sentence encoder, and this model does not."
    return why_missing("pretrained", "A Dense module") if form == "dense" else None


def _why_no_page(model: PairModel, sides: Sequence[dict[str, Any] | None]) -> str | None:
    """Why a model cannot answer in a page, or None where it can."""
    title = model.tags.title
    if getattr(model, "activation", None) is not None:
        return f"{title} bends its vectors by {model.activation}; a page multiplies matrices only."
    if not isinstance(model, LinearPairModel | TfidfCosine | BM25):
        return (
            f"{title} cannot be computed in a page: that takes TF-IDF, BM25 or one matrix a side. "
            "Save the drawing of its map instead."
        )
    typed = [side is not None and side["kind"] != "vectors" for side in sides]
    if not (any(typed) if isinstance(model, LinearPairModel) else all(typed)):
        return (
            "In a page one types, and it makes features of words only; those of this model take "
            "an encoder or are vectors. Save the drawing of its map instead."
        )
    return None


def numpy_files(pipeline: Pipeline) -> bytes:
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
    settings = {"similarity": "cosine" if sides["x"].is_unit else "dot", **_features(pipeline)}
    files = {
        "README.txt": _readme(_NUMPY_README, pipeline, sides),
        "model.json": _json(settings),
        **_standalone(),
    }
    for name, side in sides.items():
        for part in ("projection", "offset"):
            buffer = io.BytesIO()
            np.save(buffer, getattr(side, part), allow_pickle=False)
            files[f"{name}_{part}.npy"] = buffer.getvalue()
    return zipped(files)


def onnx_graphs(pipeline: Pipeline) -> bytes:
    """Write both sides of a linear pipeline as ONNX graphs from features to vectors.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        A fitted pipeline with a linear method.

    Returns
    -------
    bytes
        A zip of ``x.onnx``, ``y.onnx`` (opset 18, float32, any number of rows),
        ``features.json``, and ``embed.py``, which makes features where it can.

    Raises
    ------
    ValueError
        If the pipeline cannot leave so, or `onnx` is not installed; see `why_not`.
    """
    require("onnx", "Writing ONNX")
    sides = linear_sides(pipeline, "onnx")
    files = {
        "README.txt": _readme(_ONNX_README, pipeline, sides),
        "features.json": _json(_features(pipeline)),
        **_standalone(),
    }
    files |= {f"{name}.onnx": _graph(name, side) for name, side in sides.items()}
    return zipped(files)


def dense_modules(pipeline: Pipeline) -> bytes:
    """Write a linear adapter of a pretrained encoder as sentence-transformers modules.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        A fitted pipeline with a linear method on `PretrainedText`.

    Returns
    -------
    bytes
        A zip of two folders, ``x`` and ``y``, each a ``Dense`` module with its weights as
        safetensors, and the lines that put it behind the encoder.

    Raises
    ------
    ValueError
        If the pipeline cannot leave so; see `why_not`.
    """
    sides = linear_sides(pipeline, "dense")
    end = ", Normalize()" if sides["x"].is_unit else ""
    encoder = pipeline.x_features_.model
    files = {"README.txt": _readme(_DENSE_README, pipeline, sides, encoder=encoder, end=end)}
    for name, side in sides.items():
        files |= {f"{name}/{path}": content for path, content in _dense(side).items()}
    return zipped(files)


@dataclass(frozen=True, slots=True)
class LinearSide:
    """One side of a linear model."""

    projection: NDArray[np.float32]
    offset: NDArray[np.float32]
    is_unit: bool


def linear_sides(pipeline: Pipeline, form: Form) -> dict[str, LinearSide]:
    """Both sides of a linear pipeline."""
    reason = why_not(pipeline, form)
    if reason is not None:
        raise ValueError(reason)
    model: Any = pipeline.model_
    sides, is_unit = {}, model.similarity_kind == "cosine"
    for name in ("x", "y"):
        A, offset = getattr(model, f"{name}_projection_"), getattr(model, f"{name}_offset_")
        A = np.ascontiguousarray(A, dtype=np.float32)
        offset = np.zeros(A.shape[1]) if offset is None else offset
        sides[name] = LinearSide(A, np.asarray(offset, dtype=np.float32), is_unit)
    return sides


def described(features: object) -> dict[str, Any] | None:
    """What `simviz.exports.standalone` needs to know of a fitted transformer."""
    settings: dict[str, Any]
    if isinstance(features, TextCounts) and isinstance(features.analyzer, str):
        settings = {
            "kind": "text",
            "analyzer": features.analyzer,
            "ngram_range": list(features.ngram_range),
            "lowercase": bool(features.lowercase),
            "stop_words": sorted(features.dropped_words()),
            "vocabulary": list(features.vocabulary_),
            "n_unseen": features.n_unseen,
        }
        if isinstance(features, Tfidf):
            settings |= {"idf": features.idf_.tolist(), "tf": features.tf}
            settings["unseen_idf"] = float(np.log(features.n_texts_))
            settings["normalize"] = bool(features.normalize)
        return settings
    if isinstance(features, MultiHot):
        settings = {"kind": "keywords", "delimiter": features.delimiter}
        return settings | {"vocabulary": list(features.vocabulary_)}
    if isinstance(features, Vectors):
        settings = {"kind": "vectors", "width": features.n_features_in_}
        return settings | {"normalize": bool(features.normalize)}
    return None


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Files as one zip, the same bytes for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, _DATE), content, zipfile.ZIP_DEFLATED, 6)
    return buffer.getvalue()


def _readme(text: str, pipeline: Any, sides: Mapping[str, LinearSide], **values: str) -> bytes:
    (d_x, k), (d_y, _) = sides["x"].projection.shape, sides["y"].projection.shape
    title = pipeline.model_.tags.title
    unit = ", divided by its length" if sides["x"].is_unit else ""
    values |= {"formula": _FORMULA.format(unit=unit)}
    return text.format(title=title, d_x=d_x, d_y=d_y, k=k, **values).encode()


def _standalone() -> dict[str, bytes]:
    """What makes features where simviz is not installed."""
    return {
        "embed.py": (files("simviz.exports") / "standalone.py").read_bytes(),
        "analysis.py": (files("simviz.features") / "_analysis.py").read_bytes(),
    }


def _features(pipeline: Any) -> dict[str, Any]:
    return {"x": described(pipeline.x_features_), "y": described(pipeline.y_features_)}


def _json(tree: Mapping[str, Any]) -> bytes:
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "replace")


def _graph(name: str, side: LinearSide) -> bytes:
    """The graph of one side: product, offset of what is known, length 1."""
    from onnx import TensorProto, checker, helper, numpy_helper

    d, k = side.projection.shape
    constants = {
        "projection": side.projection,
        "offset": side.offset,
        "zero": np.zeros((), np.float32),
        "tiny": np.array(np.finfo(np.float32).tiny, np.float32),
        "columns": np.array([1], np.int64),
    }
    node = helper.make_node
    nodes = [
        node("MatMul", ["features", "projection"], ["projected"]),
        # An item without any known feature stays at the origin: it is similar to nothing.
        node("ReduceL1", ["features", "columns"], ["mass"], keepdims=1),
        node("Greater", ["mass", "zero"], ["is_known"]),
        node("Cast", ["is_known"], ["known"], to=TensorProto.FLOAT),
        node("Mul", ["known", "offset"], ["shift"]),
        node("Sub", ["projected", "shift"], ["centred" if side.is_unit else "embedding"]),
    ]
    if side.is_unit:
        nodes += [
            node("ReduceL2", ["centred", "columns"], ["length"], keepdims=1),
            node("Max", ["length", "tiny"], ["divisor"]),
            node("Div", ["centred", "divisor"], ["embedding"]),
        ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        f"simviz_{name}",
        [value("features", TensorProto.FLOAT, ["n", d])],
        [value("embedding", TensorProto.FLOAT, ["n", k])],
        [numpy_helper.from_array(array, label) for label, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="simviz"
    )
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def _dense(side: LinearSide) -> dict[str, bytes]:
    """The files of one module."""
    import torch
    from sentence_transformers.sentence_transformer.modules import Dense

    d, k = side.projection.shape
    module = Dense(
        d,
        k,
        bias=True,
        activation_function=torch.nn.Identity(),
        init_weight=torch.from_numpy(side.projection.T.copy()),
        init_bias=torch.from_numpy(-side.offset),
    )
    with tempfile.TemporaryDirectory() as folder:
        module.save(folder, safe_serialization=True)
        root = Path(folder)
        paths = sorted(path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
