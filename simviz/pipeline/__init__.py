"""Pipelines: features for both sides plus a method, or two of them blended.

What is trained, stored and served.
"""

from simviz.pipeline._blend import BlendPipeline, Pipeline
from simviz.pipeline._defaults import (
    Features,
    default_pipeline,
    encoder_of,
    same_vocabulary,
    why_no_adapter,
)
from simviz.pipeline._pair import PairPipeline
from simviz.pipeline._scales import Normalization
from simviz.pipeline._storing import load_pipeline

__all__ = [
    "BlendPipeline",
    "Features",
    "Normalization",
    "PairPipeline",
    "Pipeline",
    "default_pipeline",
    "encoder_of",
    "load_pipeline",
    "same_vocabulary",
    "why_no_adapter",
]
