"""Latent Dirichlet allocation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from simviz.base import Matrix, MethodTags
from simviz.methods._topics import Array, TopicModel, refused_negative
from simviz.params import interval, options

if TYPE_CHECKING:
    from simviz.methods._em import EM, Side, Topics


@dataclass(eq=False, repr=False)
class LDA(TopicModel):
    r"""Latent Dirichlet allocation by variational Bayes.

    Items draw topics :math:`\theta_d \sim` Dirichlet(α), topics draw words
    :math:`\phi_k \sim` Dirichlet(β). Raises a lower bound of the likelihood over
    Dirichlet distributions of both, with :math:`\gamma = \alpha + N_{dk}` and
    :math:`\lambda = \beta + N_{wk}`, from all items in each step.

    Parameters
    ----------
    n_components : int, default=100
        How many topics K are looked for.
    alpha : float, default=0.1
        Prior of an item's topics; below 1 it prefers few.
    beta : float, default=0.01
        Prior of a topic's words.
    max_iter : int, default=100
        Steps of expectation and maximisation at most.
    tol : float, default=1e-4
        Ends when a step gains less than this share of the objective, after ten
        steps at the earliest.
    init : {"documents", "random", "lsa"}, default="documents"
        Where topics start: at the words of single items, mixed with those of
        all; at random distributions; or at clusters in the space of lsa.
    n_init : int, default=1
        Starts. Of several, each makes a tenth of the steps and the best goes on.
    fold_in_iter : int, default=100
        Updates of an item's topics at most: in each step, and for unseen items.
    fold_in_tol : float, default=1e-3
        Mean change of γ at which they end.
    measure : {"js", "hellinger", "cosine"}, default="js"
        How shares of topics are compared: 1 − JS / ln 2 with the Jensen–Shannon
        divergence, Σ √(p q), or the cosine.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts and of what is sampled.

    Attributes
    ----------
    x_topics_ : ndarray of shape (K, d_x)
        Expected distribution of each topic over the features of the x side; 0 for
        those that training never met.
    y_topics_ : ndarray of shape (K, d_y)
        The same for the y side, the same array.
    topic_prior_ : ndarray of shape (K,)
        α, once a topic.
    word_counts_ : ndarray of shape (K, d)
        λ, the Dirichlet parameters of the topics.
    n_components_ : int
        Topics K.
    n_iter_ : int
        Steps done.
    objective_curve_ : list of float
        The lower bound of each step.
    perplexity_curve_ : list of float
        Of validation items, after each step: half the words of each foretold from
        the others. Without validation items, of the training words before each
        step.

    See Also
    --------
    simviz.methods.plsa.PLSA : The same topics by point estimates, faster.
    simviz.methods.pltm.PLTM : Learns from pairs.

    Notes
    -----
    Learns from the items of both sides, each with topics of its own; what
    belongs together is not looked at. A step from the same γ and λ is
    that of scikit-learn's batch ``LatentDirichletAllocation``; there γ starts anew in
    each step, here it goes on, so that the bound never falls. An item
    without any word of the training items has no topics and scores 0 against
    everything.

    References
    ----------
    Blei, Ng & Jordan (2003), Latent Dirichlet allocation. JMLR 3.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[3.0, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> LDA(n_components=2).fit(counts).similarity(counts)[0].round(1)
    array([1. , 1. , 0.1, 0.2])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="LDA",
        reference="Blei et al. 2003",
        year=2003,
        family="topic",
        input="counts",
        space="one",
        uses="unsupervised",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [interval(Integral, 1, None)],
        "alpha": [interval(Real, 0, None, closed="neither")],
        "beta": [interval(Real, 0, None, closed="neither")],
        "max_iter": [interval(Integral, 1, None)],
        "tol": [interval(Real, 0, None)],
        "init": [options("documents", "random", "lsa")],
        "n_init": [interval(Integral, 1, None)],
        "fold_in_iter": [interval(Integral, 1, None)],
        "fold_in_tol": [interval(Real, 0, None)],
        "measure": [options("js", "hellinger", "cosine")],
        "random_state": ["random_state"],
    }
    _paired = False

    n_components: int = 100
    _: KW_ONLY
    alpha: float = 0.1
    beta: float = 0.01
    max_iter: int = 100
    tol: float = 1e-4
    init: str = "documents"
    n_init: int = 1
    fold_in_iter: int = 100
    fold_in_tol: float = 1e-3
    measure: str = "js"
    random_state: Any = 0

    def _learner(self, sides: list[Side], weights: Array, notify: Callable[[], bool]) -> EM:
        from simviz.methods._em import VariationalEM

        return VariationalEM(
            *(sides, weights, np.full(self.n_components, float(self.alpha)), self.beta),
            *(False, notify),
            n_steps=self.fold_in_iter,
            change=self.fold_in_tol,
        )

    def _keep(self, em: EM, topics: Topics) -> None:
        super()._keep(em, topics)
        self.word_counts_ = topics.phis[0].T
        self.x_topics_ = self.y_topics_ = em.word_shares(topics, 0).T

    def _shares(self, Z: Matrix, topics: Array) -> Array:
        from simviz.methods._em import Counts, expected_log_words, varied

        counts = Counts(refused_negative(self, Z))
        known = np.asarray((self.word_counts_ > 0).any(axis=0))
        B = expected_log_words(self.word_counts_.T, known)
        return varied(counts, B, self.topic_prior_, self.fold_in_iter, self.fold_in_tol)
