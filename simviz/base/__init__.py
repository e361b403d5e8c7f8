"""The contract of a method: two sides in, similarities out.

`PairModel` is everything that scores two sides, `EmbeddingModel` what puts both into one vector
space, `LinearPairModel` what learns one projection a side, `TopicSimilarity` what describes items
by shares of topics. A subclass writes ``_fit`` and little else; validation, blocks, sparse input,
data types and progress are handled here.
"""

from simviz.base.embedding import EmbeddingModel, LinearPairModel
from simviz.base.pair_model import (
    COMMON_PARAMETERS,
    IterativeMixin,
    Matrix,
    MethodTags,
    PairModel,
    RowScorer,
    nonzero_rows,
    unit_rows,
)
from simviz.base.topic_similarity import TopicSimilarity

__all__ = [
    "COMMON_PARAMETERS",
    "EmbeddingModel",
    "IterativeMixin",
    "LinearPairModel",
    "Matrix",
    "MethodTags",
    "PairModel",
    "RowScorer",
    "TopicSimilarity",
    "nonzero_rows",
    "unit_rows",
]
