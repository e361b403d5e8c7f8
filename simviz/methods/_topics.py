"""What the topic models share: learning step by step, folding in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz.base import IterativeMixin, Matrix, TopicSimilarity
from simviz.methods._spectral import all_rows, pair_weights
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.methods._em import EM, Side, Topics
    from simviz.methods._topic_start import Watch

Array = NDArray[np.floating]

_FEWEST_STEPS = 10  # equal topics part slowly: the first steps gain little


@dataclass
class Run:
    """Topics on their way, from one start."""

    topics: Topics
    objectives: list[float] = field(default_factory=list)
    perplexities: list[float] = field(default_factory=list)


class TopicModel(IterativeMixin, TopicSimilarity):
    """A model that describes items by shares of topics."""

    # Subclasses write ``_learner``, who takes the steps; ``_paired`` tells whether the two items
    # of a pair share their topics or each has its own.

    n_components: int
    init: str
    n_init: int
    max_iter: int
    tol: float
    fold_in_iter: int
    random_state: Any

    x_topics_: Array
    y_topics_: Array
    topic_prior_: Array

    _paired = True

    def _learner(self, sides: list[Side], weights: Array, notify: Callable[[], bool]) -> EM:
        """Who takes steps with these sides and weights of units."""
        raise NotImplementedError

    def _fit_iter(
        self, X: Matrix, Y: Matrix, relevance: Relevance, validation: tuple[Any, ...] | None
    ) -> None:
        from simviz.methods._topic_start import Watch

        for side in (X, Y):
            refused_negative(self, side)
        sides, weights = self._units(X, Y, relevance)
        self.n_components_ = int(self.n_components)
        self.n_iter_ = 0
        self._told: dict[str, float] = {}
        try:
            em = self._learner(sides, weights, self._ask)
            watch = None if validation is None else Watch(self, *validation)
            run = self._best_run(em, watch, (X, Y, relevance))
        finally:
            del self._told
        self.n_iter_ = len(run.objectives)
        self.objective_curve_, self.perplexity_curve_ = run.objectives, run.perplexities
        self._keep(em, run.topics)

    def _units(self, X: Matrix, Y: Matrix, relevance: Relevance) -> tuple[list[Side], Array]:
        """Sides and weights of what has topics: pairs, or single items."""
        from simviz.methods._em import Side

        if self._paired:
            pair_weights(self, relevance)  # refuses judgments without any relevant pair
            pairs = relevance.positives.tocoo()
            weights = np.asarray(pairs.data, np.float64)
            return [Side(X, pairs.row, weights), Side(Y, pairs.col, weights)], weights
        Z = all_rows(X, Y)
        weights = np.ones(Z.shape[0])
        return [Side(Z, np.arange(Z.shape[0]), weights)], weights

    def _best_run(self, em: EM, watch: Watch | None, data: tuple[Any, ...]) -> Run:
        """Some steps from each start, then the best of them to its end."""
        from simviz.methods._topic_start import first_topics

        rng = check_random_state(self.random_state)
        trial = max(5, self.max_iter // 10) if self.n_init > 1 else 0
        best = Run(first_topics(self, em, rng, *data))
        stopped = self._climb(em, best, watch, min(trial, self.max_iter))
        for _ in range(1, self.n_init):
            if stopped:
                return best
            run = Run(first_topics(self, em, rng, *data))
            stopped = self._climb(em, run, watch, min(trial, self.max_iter))
            if run.objectives and run.objectives[-1] > best.objectives[-1]:
                best = run
        if not stopped:
            self._climb(em, best, watch, self.max_iter)
        return best

    def _climb(self, em: EM, run: Run, watch: Watch | None, limit: int) -> bool:
        """Take steps until they gain little; True where a callback asked to stop."""
        from simviz.methods._em import Stopped

        while (done := len(run.objectives)) < limit:
            self.n_iter_ = done
            try:
                progress = em.step(run.topics)
            except Stopped:
                return True
            run.objectives.append(progress.objective)
            if watch is None:
                seen = np.exp(-progress.log_likelihood / max(em.n_tokens, 1))
            else:
                seen = watch.perplexity(em, run.topics)
            run.perplexities.append(float(seen))
            self.n_iter_ = done + 1
            self._told = {"objective": progress.objective, "perplexity": float(seen)}
            if self._ask():
                return True
            if self.n_iter_ > _FEWEST_STEPS and em.settled(run.objectives, self.tol):
                return False
        return False

    def _ask(self) -> bool:
        return self._notify(self.n_iter_, self.max_iter, **self._told)

    def _keep(self, em: EM, topics: Topics) -> None:
        """Set what was learned."""
        last = len(em.sides) - 1
        self.x_topics_ = em.phi(topics, 0).T
        self.y_topics_ = em.phi(topics, last).T
        self.topic_prior_ = em.a.copy()

    def _embed_x(self, X: Matrix) -> Array:
        return self._shares(X, self.x_topics_)

    def _embed_y(self, Y: Matrix) -> Array:
        return self._shares(Y, self.y_topics_)

    def _shares(self, Z: Matrix, topics: Array) -> Array:
        """Topics (n, K) of items that were not trained on."""
        from simviz.methods._em import Counts, folded

        return folded(
            Counts(refused_negative(self, Z)), topics, self.topic_prior_, self.fold_in_iter
        )


def refused_negative(model: Any, Z: Matrix) -> Matrix:
    """The same matrix."""
    values = Z.data if hasattr(Z, "tocsr") else Z
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to {type(model).__name__}: it needs counts, got "
            f"{values.min()}. Use counts of terms rather than centred or projected vectors."
        )
    return Z
