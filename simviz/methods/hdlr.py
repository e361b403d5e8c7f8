"""High-dimensional low-rank metric learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from simviz._types import Array
from simviz.base import IterativeMixin, LinearPairModel, Matrix, MethodTags
from simviz.base.stored import ITERATIONS, Declared, Number, Numbers, StoredArray
from simviz.methods._training import (
    Data,
    Stopped,
    Watch,
    default_directions,
    initial_model,
    least_change,
    split_validation,
)
from simviz.params import interval, options
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.methods._metric import LogDetProjections

_GAMMAS, _DEFAULT_GAMMA = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0), 0.01
_SAMPLE = 10_000  # pairs whose distances say what is near and what is far


@dataclass(eq=False, repr=False)
class HDLR(IterativeMixin, LinearPairModel):
    r"""A metric in a learned space, by bounds on the distances of judged pairs.

    Among the metrics :math:`A = U B U^\top` of the span of another method's projection U it looks
    for the one closest to where that method is, B = I: :math:`\min_{B \succ 0} \mathrm{tr}\, B -
    \log\det B + \gamma \sum_c (\xi_c / b_c - \log(\xi_c / b_c))`, such that the squared distance
    of a similar pair c is at most :math:`\xi_c`, and that of a dissimilar pair at least
    :math:`\xi_c`. These are to stay near bounds :math:`b_c`: u for similar pairs, l for dissimilar
    ones.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the start has fewer.
    init : str or LinearPairModel, default="opca"
        Whose space is bent: a method, or a linear model; one that is not fitted is fitted first.
    n_constraints : int, default=100000
        Pairs that are drawn, half of them relevant; all of these and the more
        others where there are fewer. The papers took 5,000.
    similar_percentile : float, default=5.0
        Similar pairs should be no farther apart, u, than so many in a hundred
        of all pairs are at the start.
    dissimilar_percentile : float, default=95.0
        Dissimilar pairs should be no nearer, l, than so many in a hundred of
        all pairs are at the start.
    gamma : float or None, default=None
        What it costs to miss a bound, γ, against leaving the start. None tries
        the powers of ten from 0.0001 to 10, until two of them after a better one
        do not improve the validation score; it takes 0.01 where nothing is held out.
    max_iter : int, default=100
        Sweeps in all, of one projection onto every constraint each.
    tol : float, default=0.001
        Relative change of the multipliers in a sweep at which it has converged.
    patience : int, default=3
        Sweeps with one γ without a better validation score before stopping.
    validation_fraction : float, default=0.1
        Share of the x items, or of the side that a split divided, held out to
        choose γ and the sweep, where no validation set is given to `fit` and there
        would be at least 20 of them; in the end all items are learned from.
    random_state : int, RandomState instance or None, default=0
        Seed of the start, of what is held out, and of the constraints.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d_x, k) and (d_y, k)
        Those of the start times the Cholesky factor of B.
    x_offset_, y_offset_ : ndarray of shape (k,) or None
        Projected means, where the start has them.
    metric_ : ndarray of shape (k, k)
        B, positive definite.
    bounds_ : tuple of float
        The squared distances u and l.
    gamma_ : float or None
        γ with which the metric was found; None where the start was kept.
    n_constraints_ : int
        Pairs that were drawn.
    n_iter_ : int
        Sweeps done.
    best_iter_ : int
        Sweep whose metric was kept; 0 is the start.
    loss_curve_ : list of float
        By how much of its bound a distance missed it when it was visited, on
        average over each sweep.
    validation_scores_ : list of float
        Score on the validation set, or on 4,096 of its queries and candidates,
        after each sweep, by the metric that `S2Net` names; empty without one.

    Raises
    ------
    ValueError
        From `fit`, if all judgments are of one sign, or the start was fitted on other features.

    See Also
    --------
    simviz.methods.mlc.MLC : One bound for all similar pairs, and no start to keep to.
    simviz.methods.opca.OPCA : Where it starts from.
    simviz.methods.s2net.S2Net : Learns the projection itself, to rank by cosine.

    Notes
    -----
    The divergence is finite only for metrics whose range is that of the start, so the d × d
    problem of the paper is the one of information-theoretic metric learning among the
    k-dimensional vectors, and gives the same metric. A projection costs O(k²). Some dozens are
    made together by products of matrices, in the same order and with the same result.

    Validation scores go up and down from sweep to sweep, as the paper of S2Net found; the best
    sweep is kept, the start among them. Bounds are percentiles of squared distances between random
    items of the two sides. Items are compared by the cosine of their vectors, as the other
    methods' are. The step on a constraint is that of the authors' later code, with the factor γ /
    (γ + 1).

    More constraints help a start that knows no pairs (PCA), and do not make up for one that knows
    them all (OPCA).

    References
    ----------
    Davis & Dhillon (2008), Structured metric learning for high dimensional
    problems. KDD, section 3 (HDLR).
    Davis, Kulis, Jain, Sra & Dhillon (2007), Information-theoretic metric
    learning. ICML, algorithm 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> topic = rng.integers(0, 10, 300)
    >>> loud = 3 * rng.normal(size=(2, 300, 4))  # varies most and says nothing
    >>> X, Y = (np.hstack([np.eye(10)[topic], noise]) for noise in loud)
    >>> model = HDLR(13, init="pca", n_constraints=2_000).fit(X, Y)
    >>> from simviz.methods.pca import PCA
    >>> start = PCA(13).fit(X, Y)
    >>> round(start.score(X, Y), 2), round(model.score(X, Y), 2)
    (0.03, 0.12)
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="HDLR",
        reference="Davis & Dhillon 2008",
        family="metric",
        space="one",
        uses="discriminative",
        stops_early=True,
    )
    presets: ClassVar = {"paper": {"n_constraints": 5_000}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [options("opca", "pca", "lsa", "cca", "cl_lsi"), LinearPairModel],
        "n_constraints": [interval(Integral, 2, None)],
        "similar_percentile": [interval(Real, 0, 100, closed="neither")],
        "dissimilar_percentile": [interval(Real, 0, 100, closed="neither")],
        "gamma": [interval(Real, 0, None, closed="neither"), None],
    }
    _stored: ClassVar[Declared] = {
        **ITERATIONS,
        "metric_": StoredArray(("components", "components")),
        "bounds_": Numbers(2),
        "n_constraints_": Number(0, whole=True),
        "gamma_": Number(optional=True),
    }

    n_components: int = 200
    _: KW_ONLY
    init: Any = "opca"
    n_constraints: int = 100_000
    similar_percentile: float = 5.0
    dissimilar_percentile: float = 95.0
    gamma: float | None = None
    max_iter: int = 100
    tol: float = 1e-3
    patience: int = 3
    validation_fraction: float = 0.1
    random_state: Any = 0

    def _fit_iter(self, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        from simviz.methods._metric import bend, bent_values

        rng = check_random_state(self.random_state)
        everything, held_out = (X, Y, relevance), validation
        data, validation = split_validation(self, everything, validation, rng)
        start, stopped = initial_model(self, data, shared=True)

        scored = bent_values(self, start, validation, default_directions(relevance))
        values = scored and (lambda B: scored(root(B)))
        limits = self.max_iter, self.max_iter
        watch = Watch(np.eye(start.n_components_), self._notify, values, limits)
        tried: list[float] = []
        steps = () if stopped else self._sweeps(start, data, rng, watch, tried)
        stopped |= watch.follow(steps, report=not stopped)
        watch = least_change([watch])
        best_gammas = tried[: watch.best_iter]
        if held_out is None and validation is not None and not stopped:
            start, watch.best = self._repeat(everything, best_gammas, rng, watch, start)
        bend(self, start, root(watch.best))
        self.metric_ = watch.best
        watch.record(self)
        self.gamma_ = best_gammas[-1] if best_gammas else None

    def _sweeps(
        self, start: LinearPairModel, data: Data, rng: Any, watch: Watch, tried: list[float]
    ) -> Iterator[tuple[float, Array]]:
        """By how much bounds are missed, and the metric, after each; their γ go to `tried`."""
        make = self._projections(start, data, rng)
        gammas = _GAMMAS if watch.values else (_DEFAULT_GAMMA,)
        worse = 0
        for gamma in gammas if self.gamma is None else (self.gamma,):
            projections = make(gamma)
            scores = [-np.inf]
            before = watch.best_score
            while len(scores) - 1 - np.argmax(scores) < self.patience:
                violation, change = projections.sweep(watch.tick)
                tried.append(gamma)
                yield violation, projections.B
                if change <= self.tol:
                    break
                scores.append(watch.scores[-1] if watch.values else len(scores))
            # Scores rise and then fall with γ: two that are no better end the search.
            worse = 0 if watch.best_score > before else worse + 1
            if watch.best_iter and worse == 2:
                return

    def _repeat(
        self, data: Data, gammas: list[float], rng: Any, watch: Any, model: LinearPairModel
    ) -> tuple[LinearPairModel, Array]:
        """Start from all items, and make the sweeps with the γ that was chosen."""
        start, stopped = initial_model(self, data, shared=True)
        if stopped:
            return model, watch.best
        if not gammas:
            return start, np.eye(start.n_components_)
        projections = self._projections(start, data, rng)(gammas[-1])
        try:
            for _ in range(gammas.count(gammas[-1])):
                projections.sweep(watch.tick)
        except Stopped:
            return model, watch.best
        return start, projections.B

    def _projections(
        self, start: LinearPairModel, data: Data, rng: Any
    ) -> Callable[[float], LogDetProjections]:
        """Constraints between the start's vectors, to be met with any γ."""
        from simviz.methods._metric import LogDetProjections, draw_constraints

        X, Y, _ = data
        P, Q = start.transform(X), start.transform_y(Y)
        pairs = draw_constraints(data, self.n_constraints, rng, "HDLR")
        self.n_constraints_ = len(pairs)
        self.bounds_ = self._bounds(P, Q, rng)
        return lambda gamma: LogDetProjections(P, Q, pairs, self.bounds_, gamma)

    def _bounds(self, P: Array, Q: Array, rng: Any) -> tuple[float, float]:
        """Percentiles of squared distances between random items of the two sides."""
        rows, columns = (rng.randint(len(Z), size=_SAMPLE) for Z in (P, Q))
        squares = np.sum((P[rows].astype(np.float64) - Q[columns]) ** 2, axis=1)
        apart = squares[squares > 0]
        if not len(apart):
            return 1.0, 1.0  # no pair has a direction in which it could be moved
        u, v = np.percentile(apart, [self.similar_percentile, self.dissimilar_percentile])
        return float(u), float(v)


def root(B: Array) -> Array:
    """L with B = L Lᵀ, where rounding has made eigenvalues of B negative too."""
    try:
        return np.linalg.cholesky(B)
    except np.linalg.LinAlgError:
        values, U = np.linalg.eigh(B)
        return np.asarray(U * np.sqrt(np.maximum(values, 0.0)))
