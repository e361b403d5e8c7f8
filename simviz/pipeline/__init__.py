"""Pipelines: features for both sides plus a method, blended, or scaled by their neighbourhoods.

What is trained, stored and served.
"""

from simviz.pipeline._csls import CSLSPipeline
from simviz.pipeline._defaults import (  # some of them for our own packages alone
    Features,
    default_pipeline,
    encoder_of as encoder_of,
    plain_cosine as plain_cosine,
    same_vocabulary,
    why_no_adapter as why_no_adapter,
)
from simviz.pipeline._index import ItemIndex
from simviz.pipeline._loading import (
    BestPipeline as BestPipeline,
    Pipeline,
    load_index,
    load_pipeline,
)
from simviz.pipeline._pipelines import BlendPipeline, Normalization, PairPipeline

__all__ = [
    "BlendPipeline",
    "CSLSPipeline",
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
