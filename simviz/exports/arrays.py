"""A linear model as arrays, with the code that applies them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from simviz.exports.features import described
from simviz.exports.linear import array_bytes, linear_sides, zipped

if TYPE_CHECKING:
    from simviz.pipeline import BlendPipeline, PairPipeline

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
