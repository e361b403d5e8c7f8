from .index import (
    ApproximateIndex as ApproximateIndex,
    Neighbors as Neighbors,
    exact_search as exact_search,
)
from .minibatches import fit_s2net as fit_s2net
from .pairs import PairRows as PairRows, read_pairs as read_pairs
from .parquet import (
    TextFolder as TextFolder,
    fit_vocabulary as fit_vocabulary,
    write_features as write_features,
)
from .shards import SparseShards as SparseShards
from .vectors import VectorShards as VectorShards, embed as embed, write_vectors as write_vectors
