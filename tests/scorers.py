"""Models that several tests measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from simviz.base import MethodTags, TopicSimilarity


@dataclass
class Table:
    """Serves the rows of a fixed similarity matrix; counts how often it is asked."""

    scores: np.ndarray
    passes: int = 0

    def iter_similarity(self, x, y, /, *, block_size=None):
        self.passes += 1
        for start in range(0, len(self.scores), block_size or 4):
            yield self.scores[start : start + (block_size or 4)]


#: Of a model that a test makes up.
TAGS = MethodTags(
    title="First columns", reference="None", year=2026, family="spectral", input="tfidf",
    space="one", uses="unsupervised",
)  # fmt: skip


class Shares(TopicSimilarity):
    """Takes the share of each term of an item for its topics."""

    tags: ClassVar[MethodTags] = replace(TAGS, title="Shares", family="topics", input="counts")

    def __init__(self, measure="js"):
        self.measure = measure

    def _fit(self, X, Y, relevance):
        self.n_components_ = X.shape[1]

    def _embed_x(self, X):
        Z = X.toarray() if sp.issparse(X) else np.asarray(X)
        return Z / np.maximum(Z.sum(axis=1, keepdims=True), 1)

    _embed_y = _embed_x
