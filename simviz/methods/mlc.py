"""Metric learning with side information, for clustering."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from simviz._types import Reals
from simviz.base import IterativeMixin, LinearPairModel, Matrix, MethodTags
from simviz.base.stored import ITERATIONS, Declared, Number, StoredArray
from simviz.methods._training import (
    Watch,
    default_directions,
    initial_model,
    least_change,
    split_validation,
)
from simviz.params import interval, options
from simviz.relevance import Relevance

_SMALLEST = 1e-12  # of the mean: squared distances below it would have endless slopes
_LONGER, _SHORTEST = 1.5, 1e-30  # growth of a step from one to the next, and what is none


@dataclass(eq=False, repr=False)
class MLC(IterativeMixin, LinearPairModel):
    r"""A metric under which dissimilar pairs lie far apart and similar ones close.

    Among the vectors of another method, principal components as a rule, it learns the matrix A of
    :math:`\max_{A \succeq 0} \sum_D \sqrt{(x-y)^\top A (x-y)}` over dissimilar pairs D, such that
    the squared distances of all similar pairs sum to at most 1.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the start has fewer.
    form : {"full", "diagonal"}, default="full"
        Any matrix A, or weights of the single dimensions.
    init : str or LinearPairModel, default="pca"
        In whose space the metric is learned: a method, or a linear model; one
        that is not fitted is fitted first.
    measure : {"cosine", "dot"}, default="cosine"
        How two transformed items are compared: their cosine, or the inner
        product :math:`x^\top A y`.
    n_constraints : int, default=20000
        Pairs that are drawn, half of them relevant; all of these and the more
        others where there are fewer.
    regularization : float, default=0.001
        Ridge on the scatter of similar pairs, relative to its mean variance.
    max_iter : int, default=200
        Most steps of the ascent.
    tol : float, default=0.0001
        By what share the sum of distances may still be below its maximum when the ascent ends.
    patience : int, default=5
        Steps without a better validation score before stopping.
    validation_fraction : float, default=0.2
        Share of the x items, or of the side that a split divided, held out to stop early, where no
        validation set is given to `fit`. Where these would be fewer than 20, only the first step
        is taken. With 0 the ascent goes on to the maximum, as in the paper.
    random_state : int, RandomState instance or None, default=0
        Seed of the start, of what is held out, and of the pairs.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d_x, k) and (d_y, k)
        Those of the start times a root of A.
    x_offset_, y_offset_, n_constraints_, validation_scores_
        As of `simviz.methods.hdlr.HDLR`.
    metric_ : ndarray of shape (k, k)
        A, positive semidefinite.
    objective_ : float
        Summed distance of the dissimilar pairs that were drawn.
    n_iter_ : int
        Steps done. The first gives every direction an equal share of the bound.
    best_iter_ : int
        Step whose metric was kept; 0 is the start.
    loss_curve_ : list of float
        After each step, by what share the sum of distances may still rise, at most.

    Raises
    ------
    ValueError
        From `fit`, if all judgments are of one sign, similar pairs do not differ in some direction
        and there is no ridge, or the start was fitted on other features.

    See Also
    --------
    simviz.methods.hdlr.HDLR : Bounds for each pair, near the start.
    simviz.methods.heterogeneous_svd.HeterogeneousSVD : Was compared with it.

    Notes
    -----
    Distances are learned; Wu, Xu and Li scored pairs by inner products (``measure="dot"``). The
    paper's ascent alternates between the two constraints; here each step ends at the exact nearest
    point of both, and a bound on the maximum ends the ascent. The diagonal form is solved in the
    same way instead of by Newton's method; its penalty form has the same solution up to scale.
    Dissimilar pairs are those judged not relevant where unjudged pairs are ignored, else any pairs
    that are not relevant.

    The maximum tends to few dimensions: it stretches the ones in which similar pairs hardly
    differ. Where similar pairs are fewer than dimensions those are directions that no similar pair
    knows; the ridge bounds them. So validation chooses among the start (0), the equal shares that
    the ascent begins with (1), and the steps beyond.

    References
    ----------
    Xing, Ng, Jordan & Russell (2003), Distance metric learning, with
    application to clustering with side-information. NIPS 15, section 2.
    Wu, Xu & Li, Learning similarity function between objects in heterogeneous
    spaces. Microsoft Research, section 6 (compares with it).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> topic = rng.integers(0, 10, 300)
    >>> loud = 3 * rng.normal(size=(2, 300, 4))  # varies most and says nothing
    >>> X, Y = (np.hstack([np.eye(10)[topic], noise]) for noise in loud)
    >>> same = (topic[:, None] == topic).astype(float)
    >>> from simviz.methods.pca import PCA
    >>> start, model = PCA(13).fit(X, Y), MLC(13).fit(X, Y, same)
    >>> round(start.score(X, Y, same), 2), round(model.score(X, Y, same), 2)
    (0.41, 1.0)
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="MLC",
        reference="Xing et al. 2003",
        family="metric",
        space="one",
        uses="discriminative",
        stops_early=True,
    )
    presets: ClassVar = {"paper": {"measure": "dot", "validation_fraction": 0.0}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "form": [options("full", "diagonal")],
        "init": [options("pca", "lsa", "opca", "cca", "cl_lsi"), LinearPairModel],
        "measure": [options("cosine", "dot")],
        "n_constraints": [interval(Integral, 2, None)],
    }
    _stored: ClassVar[Declared] = {
        **ITERATIONS,
        "metric_": StoredArray(("components", "components")),
        "objective_": Number(finite=False),
        "n_constraints_": Number(0, whole=True),
    }

    n_components: int = 200
    _: KW_ONLY
    form: str = "full"
    init: Any = "pca"
    measure: str = "cosine"
    n_constraints: int = 20_000
    regularization: float = 1e-3
    max_iter: int = 200
    tol: float = 1e-4
    patience: int = 5
    validation_fraction: float = 0.2
    random_state: Any = 0

    def _fit_iter(self, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        from simviz.methods import get_method
        from simviz.methods._metric import bend, bent_values, draw_constraints

        everything = X, Y, relevance
        rng = check_random_state(self.random_state)
        data, validation = split_validation(self, everything, validation, rng)
        # What looks at no pairs may look at the items of those held out.
        method = get_method(self.init) if isinstance(self.init, str) else self.init
        is_unsupervised = method.tags.uses == "unsupervised"
        start, stopped = initial_model(self, everything if is_unsupervised else data, shared=True)
        pairs = draw_constraints(data, self.n_constraints, rng, "MLC")
        self.n_constraints_ = len(pairs)
        P, Q = start.transform(data[0]), start.transform_y(data[1])
        differences = P[pairs.x].astype(np.float64) - Q[pairs.y]
        similar, dissimilar = differences[pairs.sign > 0], differences[pairs.sign < 0]

        values = bent_values(self, start, validation, default_directions(data[2]))
        # Without anything held out the first step is safe, and the last nearly never good.
        blind = self.validation_fraction > 0 and not validation
        limits = 1 if blind else self.max_iter, self.patience
        unbent = np.eye(start.n_components_)
        watch = Watch(unbent, self._notify, values, limits)
        watch.follow(() if stopped else self._ascent(similar, dissimilar), report=not stopped)
        watch = least_change([watch])
        bend(self, start, watch.best)
        self.metric_ = watch.best @ watch.best.T
        self.objective_ = float(np.linalg.norm(dissimilar @ watch.best, axis=1).sum())
        watch.record(self)

    def _ascent(self, similar: Reals, dissimilar: Reals) -> Iterator[tuple[float, Reals]]:
        # The first columns of F matter most.
        scatter = similar.T @ similar
        diagonal = self.form == "diagonal"
        if diagonal:
            scatter = np.diag(np.diag(scatter))
        scatter += np.eye(len(scatter)) * self.regularization * np.trace(scatter) / len(scatter)
        spread = np.linalg.eigvalsh(scatter)
        if not spread[0] > 1e-13 * spread[-1]:
            if spread[-1] > 0:
                raise ValueError(
                    f"MLC: the {len(similar)} similar pairs do not differ in every one of "
                    f"{len(scatter)} dimensions, so distances there have no bound. "
                    "Set regularization above 0, or fewer components."
                )
            scatter = np.eye(len(scatter))  # similar pairs are at one place: any scale will do
        R = np.linalg.cholesky(scatter)
        whitened = np.linalg.solve(R, dissimilar.T).T
        problem = (DiagonalMatrix if diagonal else FullMatrix)(whitened)
        for C, _, gap in ascend(problem):
            if diagonal:
                yield gap, np.diag(np.sqrt(C / np.diag(scatter)))
            else:
                values, U = np.linalg.eigh(C)
                yield gap, np.linalg.solve(R.T, (U * np.sqrt(np.maximum(values, 0)))[:, ::-1])
            if gap <= self.tol:
                return


class FullMatrix:
    """C is any positive semidefinite matrix of trace 1; differences (n, r) are whitened."""

    def __init__(self, differences: Reals) -> None:
        self.differences = differences
        r = differences.shape[1]
        self.start: Reals = np.eye(r) / r

    def squares(self, C: Reals) -> Reals:
        """Squared distances, at least 0."""
        return np.maximum(np.einsum("ij,ij->i", self.differences @ C, self.differences), 0)

    def gradient(self, squares: Reals) -> Reals:
        """Derivative of the mean distance by C."""
        weighted = self.differences * _slopes(squares)[:, None]
        return np.asarray(weighted.T @ self.differences)

    def nearest(self, C: Reals) -> Reals:
        """The nearest matrix of the set."""
        values, U = np.linalg.eigh((C + C.T) / 2)
        return np.asarray((U * nearest_of_simplex(values)) @ U.T)

    def steepest(self, gradient: Reals) -> float:
        """The largest inner product of a matrix of the set with the gradient."""
        return float(np.linalg.eigvalsh(gradient)[-1])


class DiagonalMatrix:
    """C is diagonal, given as the vector of its entries; differences (n, r) are whitened."""

    def __init__(self, differences: Reals) -> None:
        self.squared = differences**2
        r = differences.shape[1]
        self.start: Reals = np.full(r, 1 / r)

    def squares(self, C: Reals) -> Reals:
        """Squared distances, at least 0."""
        return np.asarray(self.squared @ C)

    def gradient(self, squares: Reals) -> Reals:
        """Derivative of the mean distance by C."""
        return np.asarray(_slopes(squares) @ self.squared)

    def nearest(self, C: Reals) -> Reals:
        """The nearest vector of the set."""
        return nearest_of_simplex(C)

    def steepest(self, gradient: Reals) -> float:
        """The largest inner product of a vector of the set with the gradient."""
        return float(gradient.max())


def ascend(problem: Any) -> Iterator[tuple[Reals, float, float]]:
    """The start, then up by accelerated projected gradients for as long as steps can be taken."""
    C = Z = problem.start
    squares = z_squares = problem.squares(C)
    value = z_value = _mean_root(squares)
    momentum, step = 1.0, 1.0
    yield C, value, _gap(problem, squares, value)
    while value > 0:
        gradient = problem.gradient(z_squares)
        step *= _LONGER
        while True:
            new = problem.nearest(Z + step * gradient)
            new_squares = problem.squares(new)
            new_value, moved = _mean_root(new_squares), new - Z
            promised = z_value + np.sum(gradient * moved) - np.sum(moved**2) / (2 * step)
            if new_value >= promised - 1e-15 * abs(z_value):
                break
            step /= 2
            if step < _SHORTEST:
                return
        if new_value < value:
            if Z is C:
                return
            # Carried too far: start again from the best without momentum.
            Z, z_squares, z_value, momentum = C, squares, value, 1.0
            continue
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        Z = problem.nearest(new + (momentum - 1) / following * (new - C))
        C, squares, value, momentum = new, new_squares, new_value, following
        z_squares = problem.squares(Z)
        z_value = _mean_root(z_squares)
        yield C, value, _gap(problem, squares, value)


def _gap(problem: Any, squares: Reals, value: float) -> float:
    """By what share of `value` the mean distance may still rise, at most."""
    return problem.steepest(problem.gradient(squares)) / value - 0.5 if value > 0 else 0.0


def nearest_of_simplex(v: Reals) -> Reals:
    """The nearest vector of entries that are at least 0 and sum to 1."""
    v = v - v.max()  # moves t by as much; beside a number like 1e30 a sum of 1 is nothing
    largest = np.sort(v)[::-1]
    excess = (np.cumsum(largest) - 1) / np.arange(1, len(v) + 1)
    t = excess[np.flatnonzero(largest > excess)[-1]]
    return np.maximum(v - t, 0)


def _mean_root(squares: Reals) -> float:
    return float(np.sqrt(squares).mean()) if len(squares) else 0.0


def _slopes(squares: Reals) -> Reals:
    """Derivative of the mean root by each of the squares."""
    return 0.5 / np.sqrt(np.maximum(squares, _SMALLEST * squares.mean())) / len(squares)
