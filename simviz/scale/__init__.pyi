from .csr import SparseShards as SparseShards
from .fit import fit_s2net as fit_s2net
from .index import (
    ApproximateIndex as ApproximateIndex,
    Neighbors as Neighbors,
    exact_search as exact_search,
)
from .parquet import PairRows as PairRows, TextFolder as TextFolder, read_pairs as read_pairs
from .vectors import VectorShards as VectorShards, embed as embed, write_vectors as write_vectors
from .writing import fit_vocabulary as fit_vocabulary, write_features as write_features
