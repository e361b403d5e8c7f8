"""Latent Dirichlet allocation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from simviz._types import Array
from simviz.base import Matrix, MethodTags
from simviz.base.stored import Declared, StoredArray
from simviz.methods._linalg import inverse
from simviz.methods._topics import (
    EM,
    Counts,
    Progress,
    Side,
    TopicModel,
    Topics,
    blocks,
    checked_counts,
    equal_parts,
    normalized_words,
    run_kernel,
)
from simviz.params import interval, options

_MIN_TOTAL = 1e-30  # of the counts of a topic's words: below, ψ is no number


@dataclass(eq=False, repr=False)
class LDA(TopicModel):
    r"""Latent Dirichlet allocation: topics by variational Bayes.

    Items draw topics, topics draw words: :math:`\theta_d \sim \mathrm{Dirichlet}(\alpha),\; \phi_k
    \sim \mathrm{Dirichlet}(\beta)`. Raises a lower bound of the likelihood over Dirichlet
    distributions of both, with :math:`\gamma = \alpha + N_{dk}` and :math:`\lambda = \beta +
    N_{wk}`, from all items in each step.

    Parameters
    ----------
    n_components : int, default=100
        How many topics K are looked for.
    alpha : float, default=0.1
        Prior of an item's topics; below 1 it prefers few.
    beta : float, default=0.01
        Prior of a topic's words.
    max_iter, tol, init, n_init : optional
        As of `simviz.methods.plsa.PLSA`.
    fold_in_iter : int, default=100
        Updates of an item's topics at most: in each step, and for unseen items.
    fold_in_tol : float, default=1e-3
        Mean change of γ at which they end.
    measure, random_state : optional
        As of `simviz.methods.plsa.PLSA`.

    Attributes
    ----------
    x_topics_, y_topics_, n_components_, n_iter_, perplexity_curve_
        As of `simviz.methods.plsa.PLSA`; topics as expected.
    topic_prior_ : ndarray of shape (K,)
        α, once a topic.
    word_counts_ : ndarray of shape (K, d)
        λ, the Dirichlet parameters of the topics.
    objective_curve_ : list of float
        The lower bound of each step.

    See Also
    --------
    simviz.methods.plsa.PLSA : The same topics by point estimates, faster.
    simviz.methods.pltm.PLTM : Learns from pairs.

    Notes
    -----
    Learns from the items of both sides, each with topics of its own, as
    `simviz.methods.plsa.PLSA` does. A step from the same γ and λ is that of scikit-learn's batch
    ``LatentDirichletAllocation``; there γ starts anew in each step, here it goes on, so that the
    bound never falls.

    References
    ----------
    Blei, Ng & Jordan (2003), Latent Dirichlet allocation. JMLR 3.

    Examples
    --------
    >>> counts = np.array([[3.0, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> LDA(n_components=2).fit(counts).similarity(counts)[0].round(1)
    array([1. , 1. , 0.1, 0.2])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="LDA",
        reference="Blei et al. 2003",
        family="topic",
        input="counts",
        space="one",
        uses="unsupervised",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [interval(Real, 0, None, closed="neither")],
        "beta": [interval(Real, 0, None, closed="neither")],
        "init": [options("documents", "random", "lsa")],
        "fold_in_tol": [interval(Real, 0, None)],
    }
    _stored: ClassVar[Declared] = {
        "word_counts_": StoredArray(("components", "x_features"), low=0)
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

    def _learner(self, sides: list[Side], weights: Array) -> EM:
        more = {"n_steps": self.fold_in_iter, "change": float(self.fold_in_tol)}
        return self._made(VariationalEM, sides, weights, self.alpha, self.beta, **more)

    def _keep(self, em: EM, topics: Topics) -> None:
        super()._keep(em, topics)
        self.word_counts_ = topics.phis[0].T
        self.x_topics_ = self.y_topics_ = em.word_shares(topics, 0).T

    def _shares(self, Z: Matrix, topics: Array) -> Array:
        counts = Counts(checked_counts(self, Z))
        met = np.unique(counts.idx)
        known = np.zeros(self.word_counts_.shape[1], dtype=bool)
        known[met] = (self.word_counts_[:, met] > 0).any(axis=0)
        B = expected_log_words(self.word_counts_.T, known)
        return varied(counts, B, self.topic_prior_, self.fold_in_iter, float(self.fold_in_tol))


@dataclass
class VariationalEM(EM):
    """Raises the evidence lower bound of latent Dirichlet allocation."""

    # Here ``topics.theta`` holds the Dirichlet parameters γ of the items and ``topics.phis``
    # those of the topics, λ; `a` and `b` are the priors.

    n_steps: int = 100
    change: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        # Most items need far fewer updates than they may take.
        self._unit_parts = equal_parts(self.unit_work * 10, len(self.a))

    def begin(self, topics: Topics) -> Topics:
        """Dirichlet parameters that expect such topics, as if all words had been seen."""
        per_topic = self.n_tokens / len(self.a)
        words = np.where(self.known[0][:, None], self.b + per_topic * topics.phis[0], 0)
        return Topics(np.ones_like(topics.theta), [words.astype(self.dtype)])

    def word_shares(self, topics: Topics, side: int) -> Array:
        """Expected distributions (V, K) over the words of a side, one a column."""
        return normalized_words(self.phi(topics, side).copy(), 0, self.known[0])

    def step(self, topics: Topics) -> Progress:
        """Update γ to rest, then λ."""
        side, gamma, lam = self.sides[0], topics.theta, topics.phis[0]
        bound, B = _topics_bound(lam, self.b, self.known[0])
        T, logs = np.empty_like(gamma), np.zeros(self.n_units)
        args = *side.rows, B, self.a.astype(self.dtype), self.n_steps, self.change
        self._run(self._unit_parts, "vary", *args, into=(gamma, T, logs))
        counts = np.empty_like(lam)
        self._expect_words(0, T, B, counts)
        log_likelihood = float(logs.sum())
        for rows in blocks(gamma):
            log_likelihood -= float(side.totals[rows] @ psi(_filled(gamma[rows]).sum(axis=1)))
            bound += _items_bound(_filled(gamma[rows]), self.a)
        topics.phis[0] = np.where(self.known[0][:, None], self.b + counts, 0).astype(self.dtype)
        return Progress(bound + log_likelihood, log_likelihood)


def expected_log_words(lam: Array, known: NDArray[np.bool_]) -> Array:
    """e^{E log φ} of Dirichlet parameters λ (V, K) for known words; 0 for the others."""
    total = psi(np.maximum(lam.sum(axis=0, dtype=np.float64), _MIN_TOTAL))
    B = np.zeros(lam.shape, lam.dtype)
    for rows in blocks(lam):
        inside = known[rows]
        block = B[rows]
        block[inside] = np.exp(psi(lam[rows][inside].astype(np.float64)) - total)
    return B


def varied(counts: Counts, B: Array, prior: Array, n_iter: int, change: float) -> Array:
    """Expected topics of items that were not trained on."""
    dtype = counts.val.dtype
    gamma = np.ones((len(counts.totals), len(prior)), dtype)
    T, logs = np.empty_like(gamma), np.empty(len(gamma))
    B = np.ascontiguousarray(B, dtype=dtype)
    for bounds in equal_parts(counts.lengths * n_iter, len(prior)):
        n_steps = int(counts.ptr[-1]) * n_iter * len(prior)
        args = *counts.rows, B, prior.astype(dtype), n_iter, change, bounds, gamma, T, logs
        run_kernel("vary", n_steps, *args)
    total = gamma.sum(axis=1, dtype=np.float64)
    return gamma * inverse(total).astype(dtype)[:, None]


def _filled(gamma: Array) -> Array:
    """γ in double precision, 1 for items without known words, which have no part in the bound."""
    exact = gamma.astype(np.float64)
    exact[exact.sum(axis=1) == 0] = 1
    return exact


def _items_bound(gamma: Array, a: Array) -> float:
    total = gamma.sum(axis=1)
    logs = psi(gamma) - psi(total)[:, None]
    parts = ((a - gamma) * logs + gammaln(gamma) - gammaln(a)).sum(axis=1)
    return float((parts + gammaln(a.sum()) - gammaln(total)).sum())


def _topics_bound(lam: Array, b: float, known: NDArray[np.bool_]) -> tuple[float, Array]:
    """The part of the bound that φ has, and e^{E log φ}."""
    total = np.maximum(lam.sum(axis=0, dtype=np.float64), _MIN_TOTAL)
    B = expected_log_words(lam, known)
    bound = float((gammaln(b * max(1, known.sum())) - gammaln(total)).sum())
    for rows in blocks(lam):
        exact = lam[rows][known[rows]].astype(np.float64)
        logs = psi(exact) - psi(total)
        bound += float(((b - exact) * logs + gammaln(exact) - gammaln(b)).sum())
    return bound, B
