"""Coupled probabilistic latent semantic analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from simviz._types import Array
from simviz.base import MethodTags
from simviz.base.stored import Declared, Number
from simviz.methods._topics import EM, Side, TopicModel, Topics, equal_parts, run_kernel
from simviz.params import interval


@dataclass(eq=False, repr=False)
class CPLSA(TopicModel):
    r"""Coupled PLSA: both items of a pair use the topics in equal shares.

    Joint PLSA whose expectation is regularised: the words of the two items are given to topics by
    the distribution nearest to the posterior, in Kullback–Leibler divergence, under which the
    share of each topic differs by at most ε, :math:`|N^x_k / N^x - N^y_k / N^y| \le \varepsilon`.
    It tilts the topics of a pair, to :math:`\theta e^{-\lambda / N^x}` for the one side and
    :math:`\theta e^{\lambda / N^y}` for the other.

    Parameters
    ----------
    n_components, shared, alpha, beta : optional
        As of `simviz.methods.jplsa.JPLSA`.
    epsilon : float, default=0.0
        How far the shares of a topic may be apart; infinity is JPLSA.
    inner_iter : int, default=5
        Steps on λ in each step, from where they ended the last time.
    max_iter, tol, init, n_init, fold_in_iter, measure, random_state : optional
        As of `simviz.methods.jplsa.JPLSA`.

    Attributes
    ----------
    x_topics_, y_topics_, topic_prior_, n_components_, n_iter_, objective_curve_, perplexity_curve_
        As of `simviz.methods.jplsa.JPLSA`.
    violation_ : float
        By how much shares were further apart than ε, for the worst topic of each
        pair, on average, in the last step.

    See Also
    --------
    simviz.methods.jplsa.JPLSA : Without the constraint, and several times faster.

    Notes
    -----
    Pairs and unknown words count as in `simviz.methods.jplsa.JPLSA`.
    λ is found by FISTA with the step that the curvature allows, 2 N N' / (N + N').
    Its count of steps, the value of ε and the solver are not given in the paper.

    References
    ----------
    Platt, Toutanova & Yih (2010), Translingual document representations from
    discriminative projections. EMNLP, section 3.2.

    Ganchev, Graça, Gillenwater & Taskar (2010), Posterior regularization for
    structured latent variable models. JMLR 11.

    Examples
    --------
    >>> X = np.array([[3.0, 2, 0, 0], [2, 4, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> Y = np.array([[5.0, 0], [4, 0], [0, 3], [0, 6]])
    >>> CPLSA(n_components=2).fit(X, Y).similarity(X, Y)[0].round(1)
    array([1. , 1. , 0.2, 0.1])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="CPLSA",
        reference="Platt et al. 2010",
        family="topic",
        input="counts",
        space="either",
    )
    presets: ClassVar = {"paper": {"fold_in_iter": 10}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [interval(Real, 0, float("inf"))],
        "inner_iter": [interval(Integral, 1, None)],
    }
    _stored: ClassVar[Declared] = {"violation_": Number(finite=False)}

    n_components: int = 100
    _: KW_ONLY
    shared: bool = False
    alpha: float = 1.1
    beta: float = 1.01
    epsilon: float = 0.0
    inner_iter: int = 5
    max_iter: int = 100
    tol: float = 1e-4
    init: str = "documents"
    n_init: int = 1
    fold_in_iter: int = 2
    measure: str = "js"
    random_state: Any = 0

    def _learner(self, sides: list[Side], weights: Array) -> EM:
        more = {"epsilon": float(self.epsilon), "n_steps": self.inner_iter}
        return self._made(TiltedEM, sides, weights, self.alpha - 1, self.beta - 1, **more)

    def _keep(self, em: Any, topics: Any) -> None:
        super()._keep(em, topics)
        self.violation_ = float(np.average(em.gaps, weights=em.weights))


@dataclass
class TiltedEM(EM):
    """Posterior regularisation: expectation under the nearest distribution that agrees."""

    epsilon: float = 0.0
    n_steps: int = 5
    gaps: Array = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gaps = np.zeros(self.n_units)
        # The side whose words are most often those of several pairs: they are fetched for all.
        work = [side.unit_work.sum() * (side.columns is None) for side in self.sides]
        self._wide = int(np.argmax(work))
        wide = self.sides[self._wide]
        # A pair costs as many passes over its words as there are steps.
        passes = np.bincount(wide.items, self.unit_work, len(wide.totals)) * self.n_steps
        self._tilt_parts = equal_parts(passes, len(self.a))
        shape = (self.n_units, len(self.a))
        self._duals = np.zeros(shape, self.dtype)
        self._tilted = [np.empty(shape, self.dtype) for _ in self.sides]
        words = np.stack([side.totals[side.items] for side in self.sides])
        rates = np.divide(1.0, words, out=np.zeros_like(words), where=(words > 0).all(axis=0))
        self._rates = [-rates[0].astype(self.dtype), rates[1].astype(self.dtype)]

    def tilted(self, topics: Topics) -> tuple[list[Array], float]:
        """θ as each side sees it, and what that adds to the objective."""
        w, o = self._wide, 1 - self._wide
        wide, other = self.sides[w], self.sides[o]
        conditional = (
            (*wide.rows, wide.unit_ptr, wide.units, self._rates[w], self.phi(topics, w)),
            (*other.rows, other.items, self._rates[o], self.phi(topics, o)),
        )
        epsilon = self.dtype.type(self.epsilon)
        for bounds in self._calls(self._tilt_parts):
            args = *conditional, topics.theta, self._duals, self.n_steps, epsilon, bounds
            into = self._tilted[w], self._tilted[o], self.gaps
            run_kernel("agree", self._steps, *args, *into)
        if not 0 < self.epsilon < np.inf:
            return self._tilted, 0.0
        norms = np.abs(self._duals).sum(axis=1, dtype=np.float64)
        return self._tilted, self.epsilon * float(self.weights @ norms)

    def tilted_again(self, theta: Array) -> list[Array]:
        """A new θ as each side sees it, λ being what it is."""
        for rates, out in zip(self._rates, self._tilted, strict=True):
            run_kernel("tilt_rows", theta.size, theta, self._duals, rates, out)
        return self._tilted
