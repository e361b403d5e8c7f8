"""A linear model as ONNX graphs, which most runtimes execute."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from simviz.exports.features import described
from simviz.exports.linear import LinearSide, linear_sides, zipped

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
