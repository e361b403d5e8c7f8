"""Pipelines: features for both sides plus a method, or two of them blended.

What is trained, stored and served.
"""

from simviz.pipeline._defaults import (  # two of them for our own packages alone
    Features,
    default_pipeline,
    encoder_of as encoder_of,
    same_vocabulary,
    why_no_adapter as why_no_adapter,
)
from simviz.pipeline._index import ItemIndex
from simviz.pipeline._pipelines import (
    BlendPipeline,
    Normalization,
    PairPipeline,
    Pipeline,
    load_index,
    load_pipeline,
)

__all__ = [
    "BlendPipeline",
    "Features",
    "ItemIndex",
    "Normalization",
    "PairPipeline",
    "Pipeline",
    "default_pipeline",
    "load_index",
    "load_pipeline",
    "same_vocabulary",
]
