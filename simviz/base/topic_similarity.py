"""TopicSimilarity: both sides as shares of the same topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from simviz.base._jensen_shannon import (
    Distributions,
    JensenShannon,
    js_pairs,
    js_ranks,
    js_similarity,
)
from simviz.base.embedding import EmbeddingModel
from simviz.base.pair_model import Matrix, RowScorer, judged_pool, unit_rows
from simviz.relevance import Relevance


class TopicSimilarity(EmbeddingModel):
    """An embedding model whose vectors are shares of topics.

    ``_embed_x`` and ``_embed_y`` answer with rows that are 0 or more and sum
    to 1, or rows of zeros for items without any known feature. The parameter
    ``measure`` says how two rows are compared; all measures lie in [0, 1]:

    - "js", one minus the Jensen-Shannon divergence in bits;
    - "hellinger", the sum over topics of √(p q);
    - "cosine", of the shares as they are.

    Ranks by "js" are exact without comparing all pairs (`simviz.base._jensen_shannon`).
    """

    measure: str

    #: What ``measure`` may be, for ``_parameter_constraints``; the first is the default.
    measures: ClassVar[tuple[str, ...]] = ("js", "hellinger", "cosine")

    def iter_ranks(
        self, X: Matrix, y: Matrix | None = None, relevance: object = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Where the judged candidates of each query stand; by "js" without comparing all pairs."""
        if self.similarity_kind != "js":
            yield from super().iter_ranks(X, y, relevance)
            return
        from simviz.ranking import rank_listed

        check_is_fitted(self)
        X, Y = self._check_sides(X, y, reset=False)
        judged, pool = judged_pool(Relevance.coerce(relevance, X.shape[0], Y.shape[0]))
        sides = self._distributions(X, Y)
        if pool == "all":
            yield from js_ranks(sides.p, sides.q, judged.indptr, judged.indices)
        else:
            score = sides.listed(judged.indptr, judged.indices).astype(np.float64)
            yield (*rank_listed(score, judged.indptr), score)

    def prepared(self, X: Matrix, y: Matrix | None = None) -> JensenShannon | None:
        """Both sides made ready for an evaluation that need not compare all pairs.

        Parameters
        ----------
        X : matrix of shape (n_x, d_x)
            Items of the x side.
        y : matrix of shape (n_y, d_y), optional
            Items of the y side; `X` when left out and both share one space.

        Returns
        -------
        JensenShannon or None
            None under the other measures, which are matrix products anyway.
        """
        if self.similarity_kind != "js":
            return None
        check_is_fitted(self)
        return self._distributions(*self._check_sides(X, y, reset=False))

    def _point_scorer(
        self, points: NDArray[np.floating]
    ) -> Callable[[NDArray[np.floating]], NDArray[np.floating]]:
        if self.similarity_kind != "js":
            return super()._point_scorer(points)
        ready = Distributions.of(points**2)
        return lambda others: js_similarity(others**2, ready)

    def _comparable(self, Z: NDArray[np.floating]) -> NDArray[np.floating]:
        # Between roots the squared distance is 2 - 2 Σ √(p q): Hellinger's, which
        # orders almost as Jensen-Shannon does.
        return unit_rows(Z) if self.similarity_kind == "cosine" else np.sqrt(Z)

    def _candidates(self, Y: Matrix) -> Any:
        if self.similarity_kind != "js":
            return super()._candidates(Y)
        return Distributions.of(self._embed_y(Y))

    def _row_scorer(self, X: Matrix, candidates: Any) -> RowScorer:
        if self.similarity_kind != "js":
            return super()._row_scorer(X, candidates)
        p = Distributions.of(self._embed_x(X))
        return lambda rows: js_similarity(p.rows(rows), candidates)

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        if self.similarity_kind != "js":
            return super()._pair_score(X, Y)
        sides = self._distributions(X, Y)
        return js_pairs(sides.p, sides.q)

    def _distributions(self, X: Matrix, Y: Matrix) -> JensenShannon:
        return JensenShannon(*map(Distributions.of, (self._embed_x(X), self._embed_y(Y))))
