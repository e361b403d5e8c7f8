"""Polylingual topic model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import psi
from sklearn.utils import check_random_state

from simviz._types import Array
from simviz.base import MethodTags
from simviz.methods._topics import (
    EM,
    Counts,
    Progress,
    Side,
    TopicModel,
    Topics,
    blocks,
    normalized_words,
    run_kernel,
)
from simviz.methods._training import Stopped
from simviz.params import interval, options

_NOTHING = 1e-12  # of a share or a count, beside 1
_MIN_PRIOR = 1e-3  # of a topic: below, it could never come back
_FIRST = 10  # steps after which topics differ enough to tell their priors
_PRIOR_EVERY = 10  # sweeps of sampling
_PRIOR_STEPS, _PRIOR_CHANGE = 5, 0.05  # at a time, and what is too little to go on
_RECOUNT_EVERY = 5  # steps, after which sums that were kept up to date have drifted a little
_DRAWS_A_CALL = 1e8  # times topics: a fraction of a second, so that a wish to stop is heard
MAX_TOKENS = 2**26  # that are held at a time, in about 4 GB
MAX_SHARES = 2**30  # of topics in single counts, in 4 GB of single precision


@dataclass(eq=False, repr=False)
class PLTM(TopicModel):
    r"""Polylingual topics: LDA for pairs, both sides of which share their topics.

    A pair draws its topics, each side its words from distributions of its own:
    :math:`\theta \sim \mathrm{Dirichlet}(\alpha_1 \ldots \alpha_K),\; \phi^l_k \sim
    \mathrm{Dirichlet}(\beta)`. With θ and φ integrated out, a word belongs to topic k
    with probability :math:`\propto (N_{ik} + \alpha_k) (N^l_{wk} + \beta) /
    (N^l_k + V^l \beta)`, counts N being those of all other words; α is learned.

    Parameters
    ----------
    n_components, shared : optional
        As of `simviz.methods.jplsa.JPLSA`.
    alpha : float, default=0.1
        Prior of each topic of a pair; where it is learned, the first one.
    beta : float, default=0.01
        Prior of a topic's words.
    learn_alpha : bool, default=True
        Whether each topic gets the prior under which the counts are likeliest.
    inference : {"variational", "em", "gibbs"}, default="variational"
        Collapsed variational Bayes, word by word; expectation maximisation; or
        collapsed Gibbs sampling of every token for ``max_iter`` sweeps, which
        wants several hundred. The first and the last run on one core.
    max_iter : int, default=100
        Steps through all words at most.
    tol, init, n_init, fold_in_iter, measure, random_state : optional
        As of `simviz.methods.jplsa.JPLSA`.

    Attributes
    ----------
    x_topics_, y_topics_, topic_prior_, n_components_, n_iter_, perplexity_curve_
        As of `simviz.methods.jplsa.JPLSA`.
    objective_curve_ : list of float
        The objective before each step: of "em" the logarithm of the posterior, else
        that of the probability of each word given all others, in turn.

    See Also
    --------
    simviz.methods.jplsa.JPLSA : The most likely point, with equal priors.
    simviz.methods.lda.LDA : For single items.

    Notes
    -----
    Pairs and unknown words count as in `simviz.methods.jplsa.JPLSA`.

    Variational inference keeps expected counts and leaves a word's own share out of
    them (CVB0). Priors are learned by Minka's fixed point, from the tenth step on:
    every fifth step, every tenth sweep of the first half. Expected counts say too
    little of whether a topic occurs at all; the chance of that is that of as many
    equal shares of the same mean and variance. Sampled topics are averaged over the
    sweeps of the second half. With ``inference="em"`` and ``learn_alpha=False`` it is
    JPLSA with α + 1 and β + 1: the one adds what the other's mode takes away.

    References
    ----------
    Mimno, Wallach, Naradowsky, Smith & McCallum (2009), Polylingual topic models.
    EMNLP.

    Asuncion, Welling, Smyth & Teh (2009), On smoothing and inference for topic
    models. UAI, section 3.4.

    Minka (2000), Estimating a Dirichlet distribution.

    Examples
    --------
    >>> X = np.array([[3.0, 2, 0, 0], [2, 4, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> Y = np.array([[5.0, 0], [4, 0], [0, 3], [0, 6]])
    >>> PLTM(n_components=2).fit(X, Y).similarity(X, Y)[0].round(1)
    array([1. , 1. , 0.1, 0.1])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="PLTM",
        reference="Mimno et al. 2009",
        family="topic",
        input="counts",
        space="either",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [interval(Real, 0, None, closed="neither")],
        "beta": [interval(Real, 0, None, closed="neither")],
        "learn_alpha": ["boolean"],
        "inference": [options("variational", "em", "gibbs")],
    }

    n_components: int = 100
    _: KW_ONLY
    shared: bool = False
    alpha: float = 0.1
    beta: float = 0.01
    learn_alpha: bool = True
    inference: str = "variational"
    max_iter: int = 100
    tol: float = 1e-4
    init: str = "documents"
    n_init: int = 1
    fold_in_iter: int = 2
    measure: str = "js"
    random_state: Any = 0

    def _learner(self, sides: list[Side], weights: Array) -> EM:
        cls: type[EM] = LearnedPriorEM if self.learn_alpha else EM
        more: dict[str, Any] = {}
        if self.inference == "gibbs":
            cls, rng = Gibbs, check_random_state(self.random_state)
            more = {"n_sweeps": self.max_iter, "learn": self.learn_alpha, "rng": rng}
        elif self.inference == "variational":
            cls, more = Collapsed, {"learn": self.learn_alpha}
        return self._made(cls, sides, weights, self.alpha, self.beta, **more)


@dataclass
class Assigned(Topics):
    """The topics of every single count; `theta` are expected counts of the units."""

    shares: list[Array] = field(default_factory=list)  # (counts, K) of each side
    word_counts: list[Array] = field(default_factory=list)  # (V, K) of each vocabulary
    totals: list[Array] = field(default_factory=list)  # (K,) of each vocabulary
    n_done: int = 0


@dataclass
class Collapsed(EM):
    """Collapsed variational Bayes of order zero, count by count."""

    # The topics of a count are what all other counts expect (CVB0, Asuncion et al. 2009).

    learn: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        n_shares = int(self.unit_work.sum()) * len(self.a)
        if n_shares > MAX_SHARES:
            raise ValueError(
                "PLTM(inference='variational') keeps a share of each topic for each word of each "
                f"pair, {n_shares:,} of them here, more than the {MAX_SHARES:,} that are held "
                "in memory. Use inference='em' or 'gibbs', or fewer topics."
            )
        self._counts = [Counts(side.matrix[side.items]) for side in self.sides]
        self._weights = self.weights.astype(self.dtype)

    def begin(self, topics: Topics) -> Assigned:
        """Assign each count to topics by its word alone."""
        shares = []
        for s, counts in enumerate(self._counts):
            R = self.phi(topics, s)[counts.idx]
            R /= R.sum(axis=1, keepdims=True)
            shares.append(R)
        words = [np.empty_like(phi) for phi in topics.phis]
        begun = Assigned(topics.theta, topics.phis, self.a, shares, words)
        self._recount(begun)
        return begun

    def step(self, topics: Topics) -> Progress:
        """Assign every count anew, then learn the prior of topics every few steps."""
        assert isinstance(topics, Assigned) and topics.prior is not None
        a = np.maximum(topics.prior, _NOTHING).astype(self.dtype)
        b = self.dtype.type(max(self.b, _NOTHING))
        buffers, log_likelihood = np.empty((3, len(a)), self.dtype), 0.0
        for s, R in enumerate(topics.shares):
            v = 0 if self.shared else s
            mass = b * self.dtype.type(max(1, self.known[v].sum()))
            sums = topics.theta, topics.word_counts[v], topics.totals[v]
            for bounds in self._calls(self._unit_parts):
                rows = *self._rows(s, bounds), R, self._weights
                log_likelihood += run_kernel("reassign", 0, *rows, a, b, mass, *sums, buffers)
        topics.n_done += 1
        if topics.n_done % _RECOUNT_EVERY == 0:
            squares = self._recount(topics)
            if self.learn and topics.n_done >= _FIRST:
                for _ in range(_PRIOR_STEPS):
                    before = topics.prior
                    topics.prior = likelier_prior(before, topics.theta, self.weights, squares)
                    if (np.abs(topics.prior - before) < _PRIOR_CHANGE * before).all():
                        break
        for v, known in enumerate(self.known):
            topics.phis[v] = normalized_words(topics.word_counts[v].copy(), self.b, known)
        return Progress(log_likelihood, log_likelihood)

    def _rows(self, s: int, bounds: Any) -> tuple[Any, ...]:
        counts = self._counts[s]
        return bounds[0], bounds[-1], *counts.rows

    def _recount(self, topics: Assigned) -> Array:
        for total in (topics.theta, *topics.word_counts):
            total[:] = 0
        squares = np.zeros_like(topics.theta)
        for s, R in enumerate(topics.shares):
            N_w = topics.word_counts[0 if self.shared else s]
            rows = self._rows(s, [0, self.n_units])
            run_kernel("recount", 0, *rows, R, self._weights, topics.theta, squares, N_w)
        sums = [N_w.sum(axis=0, dtype=np.float64) for N_w in topics.word_counts]
        topics.totals = [total.astype(self.dtype) for total in sums]
        return squares


@dataclass
class LearnedPriorEM(EM):
    """Follows each step, from the tenth on, by one towards the likeliest prior."""

    _n_done: int = 0

    def step(self, topics: Topics) -> Progress:
        """Replace θ, φ and the prior by better ones; see `EM.step`."""
        before = self.a
        try:
            progress = super().step(topics)
        except Stopped:
            self.a = before
            raise
        self._n_done += 1
        return progress

    def _share(self, counts: Array) -> None:
        if self._n_done >= _FIRST:
            self.a = likelier_prior(self.a, counts, self.weights)
        super()._share(counts)


def likelier_prior(a: Array, N: Array, weights: Array, squares: Array | None = None) -> Array:
    """One step of Minka's fixed point for a Dirichlet prior of multinomial counts."""
    # Minka (2000), Estimating a Dirichlet distribution, section 4. Expected counts, of shares
    # whose `squares` are given, are mostly below 1 and mean that a topic occurs or does not:
    # with as many equal shares of the same mean and variance it does with the chance `present`.
    above, below = np.zeros(len(a)), 0.0
    for rows in blocks(N):
        block = N[rows].astype(np.float64)
        if squares is None:
            above += weights[rows] @ (psi(block + a) - psi(a))
        else:
            share = np.clip(squares[rows] / np.maximum(block, _NOTHING), _NOTHING, 1 - 1e-9)
            present = np.maximum(-np.expm1(block / share * np.log1p(-share)), _NOTHING)
            above += weights[rows] @ (present * (psi(block / present + a) - psi(a)))
        below += float(weights[rows] @ (psi(block.sum(axis=1) + a.sum()) - psi(a.sum())))
    if below <= 0:
        return a
    return np.maximum(a * above / below, _MIN_PRIOR)


@dataclass
class Gibbs(EM):
    """Draws the topic of every single token, again and again."""

    # One step is a sweep over all tokens. Topics of words are averaged over the sweeps of the
    # second half; the prior of the topics is learned in the first.

    n_sweeps: int = 100
    learn: bool = True
    rng: Any = None
    _z: NDArray[np.int32] | None = field(default=None, init=False)
    _n_done: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        n_tokens = sum(float(side.totals[side.items].sum()) for side in self.sides)
        if n_tokens > MAX_TOKENS:  # before any is written out
            raise ValueError(
                "PLTM(inference='gibbs') draws a topic for each single token, and the counts of "
                f"these pairs make {n_tokens:,.0f} tokens, more than the {MAX_TOKENS:,} that are "
                "held in memory. Use inference='em', smaller counts, or fewer pairs."
            )
        for side in self.sides:
            if len(broken := side.val[side.val != np.round(side.val)]):
                raise ValueError(
                    "PLTM(inference='gibbs') draws a topic for each single token and needs "
                    f"whole counts, got {broken[0]}. Use counts of terms, or inference='em'."
                )
        n_words = self.sides[0].matrix.shape[1]
        shifts = [0, 0 if self.shared else n_words]
        tokens = [_tokens(side, shift) for side, shift in zip(self.sides, shifts, strict=True)]
        lengths = np.array([np.diff(ptr) for ptr, _ in tokens])
        self._ptr = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
        split = self._ptr[:-1] + lengths[0]
        # With one vocabulary all tokens are of the first.
        self._split = self._ptr[1:].copy() if self.shared else split
        self._words = np.empty(self._ptr[-1], np.int32)
        for (ptr, words), start in zip(tokens, (self._ptr[:-1], split), strict=True):
            self._words[np.arange(len(words)) + np.repeat(start - ptr[:-1], np.diff(ptr))] = words
        self._sizes = np.array([float(known.sum()) for known in self.known])

    def settled(self, objectives: list[float], tol: float) -> bool:
        """Never: what is drawn does not come to rest."""
        return False

    def step(self, topics: Topics) -> Progress:
        """Draw all tokens anew."""
        if self._z is None:
            self._first_draw(topics)
        k, log_likelihood = len(self.a), 0.0
        size = max(1, int(_DRAWS_A_CALL / k))
        limits = np.searchsorted(self._ptr, np.arange(0, self._ptr[-1], size))
        bounds = np.unique(np.append(limits, [0, self.n_units]))
        for start, stop in self._calls(pairwise(bounds)):
            draws = self.rng.random_sample(self._ptr[stop] - self._ptr[start])
            args = start, stop, self._ptr, self._words, self._split, self.weights, draws
            state = self.a, self.b, self._sizes, self._z, self._N_u, self._N_w, self._N_k
            log_likelihood += run_kernel("sweep", 0, *args, *state, np.empty(k))
        self._n_done += 1
        if self._n_done > self.n_sweeps // 2:
            self._sum += self._N_w
        elif self.learn and self._n_done % _PRIOR_EVERY == 0:
            self.a = likelier_prior(self.a, self._N_u, self.weights)
        self._estimate(topics)
        return Progress(log_likelihood, log_likelihood)

    def _estimate(self, topics: Topics) -> None:
        """Set φ to the mean of what was kept, or to what stands now."""
        n_summed = max(0, self._n_done - self.n_sweeps // 2)
        N = self._sum / n_summed if n_summed else self._N_w
        start = 0
        for v, known in enumerate(self.known):
            part = N[start : start + len(known)].astype(self.dtype)
            topics.phis[v] = normalized_words(part, self.b, known)
            start += len(known)

    def _first_draw(self, topics: Topics) -> None:
        k, n_tokens = len(self.a), len(self._words)
        phi = np.vstack(topics.phis).astype(np.float64)
        self._z = np.empty(n_tokens, np.int32)
        for start in range(0, n_tokens, max(1, 2**22 // k)):
            rows = slice(start, start + max(1, 2**22 // k))
            p = np.cumsum(phi[self._words[rows]], axis=1)
            aim = self.rng.random_sample(len(p)) * p[:, -1]
            self._z[rows] = np.minimum((p <= aim[:, None]).sum(axis=1), k - 1)
        unit = np.repeat(np.arange(self.n_units), np.diff(self._ptr))
        weight = self.weights[unit]
        self._N_u = _table(unit, self._z, np.ones(n_tokens), (self.n_units, k))
        self._N_w = _table(self._words, self._z, weight, (len(phi), k))
        vocabulary = (np.arange(n_tokens) >= self._split[unit]).astype(np.int64)
        self._N_k = _table(vocabulary, self._z, weight, (len(self.known), k))
        self._sum = np.zeros_like(self._N_w)


def _tokens(side: Side, shift: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Limits of the tokens of each unit, and the tokens."""
    rows = side.matrix[side.items]
    times = rows.data.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(times)])
    return ends[rows.indptr], np.repeat(rows.indices + shift, times)


def _table(rows: Any, columns: Any, values: Array, shape: tuple[int, int]) -> Array:
    return sp.coo_array((values, (rows, columns)), shape).toarray()
