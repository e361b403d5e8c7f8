"""A linear adapter as modules that continue a sentence encoder."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from simviz.exports.linear import LinearSide, linear_sides, zipped

if TYPE_CHECKING:
    from simviz.pipeline import BlendPipeline, PairPipeline

_README = """{title} on {encoder}, exported from simviz

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
    text = _README.format(
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
