"""The contract of a method: two sides in, similarities out.

`PairModel` is everything that scores two sides, `EmbeddingModel` what puts
both into one vector space, `LinearPairModel` what learns one projection a
side, `TopicSimilarity` what describes items by shares of topics. A subclass
writes ``_fit`` and little else; validation, blocks, sparse input, data types
and progress are handled here.
"""

from simviz.base._iterative import IterativeMixin
from simviz.base._rows import Matrix, nonzero_rows, unit_rows
from simviz.base._tags import MethodTags
from simviz.base.embedding import EmbeddingModel
from simviz.base.linear import LinearPairModel
from simviz.base.pair_model import PairModel, RowScorer
from simviz.base.topic_similarity import TopicSimilarity

__all__ = [
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
