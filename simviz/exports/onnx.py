"""A linear model as ONNX graphs, which most runtimes execute."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simviz.exports.linear import LinearSide, described, linear_sides, zipped

if TYPE_CHECKING:
    from simviz.pipeline import BlendPipeline, PairPipeline

#: Of ONNX; 18 brought the reductions in the form used here, and runtimes know it since 2023.
_OPSET, _IR_VERSION = 18, 8

_README = """{title}, exported from simviz

x.onnx takes a float32 matrix "features" of n by {d_x} and gives "embedding" of n by {k};
y.onnx likewise from n by {d_y}. The product of an x and a y embedding is their similarity.
features.json says what the columns are, where simviz could tell.

    import onnxruntime
    x = onnxruntime.InferenceSession("x.onnx")
    (embedding,) = x.run(None, {{"features": features}})
"""


def onnx_graphs(pipeline: PairPipeline | BlendPipeline) -> bytes:
    """Write both sides of a linear pipeline as ONNX graphs from features to vectors.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        A fitted pipeline with a linear method.

    Returns
    -------
    bytes
        A zip of ``x.onnx``, ``y.onnx`` (opset 18, float32, any number of
        rows) and ``features.json``.

    Raises
    ------
    ValueError
        If the pipeline cannot leave so, or `onnx` is not installed; see `why_not`.
    """
    sides = linear_sides(pipeline, "onnx")
    told = {
        "x": described(pipeline.x_features_),
        "y": described(pipeline.y_features_),
    }
    (d_x, k), (d_y, _) = sides["x"].projection.shape, sides["y"].projection.shape
    title = pipeline.model_.tags.title
    found = {
        "README.txt": _README.format(title=title, d_x=d_x, d_y=d_y, k=k).encode(),
        "features.json": json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"),
    }
    for name, side in sides.items():
        found[f"{name}.onnx"] = _graph(name, side).SerializeToString()
    return zipped(found)


def _graph(name: str, side: LinearSide) -> Any:
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
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="simviz",
    )
    checker.check_model(model, full_check=True)
    return model


_MODULES_README = """{title} on {encoder}, exported from simviz

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


def dense_modules(pipeline: PairPipeline | BlendPipeline) -> bytes:
    """Write a linear adapter of a pretrained encoder as sentence-transformers modules.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        A fitted pipeline with a linear method on `PretrainedText`.

    Returns
    -------
    bytes
        A zip of two folders, ``x`` and ``y``, each a ``Dense`` module with
        its weights as safetensors, and the lines that put it behind the
        encoder.

    Raises
    ------
    ValueError
        If the pipeline cannot leave so; see `why_not`.
    """
    sides = linear_sides(pipeline, "dense")
    text = _MODULES_README.format(
        title=pipeline.model_.tags.title,
        encoder=pipeline.x_features_.model,
        end=", Normalize()" if sides["x"].is_unit else "",
    )
    found = {"README.txt": text.encode()}
    for name, side in sides.items():
        found |= {f"{name}/{path}": content for path, content in _dense(side).items()}
    return zipped(found)


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
