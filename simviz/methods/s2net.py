"""Similarity learning via Siamese neural network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from simviz._types import Array
from simviz.base import IterativeMixin, LinearPairModel, Matrix, MethodTags
from simviz.base.stored import ITERATIONS, Declared, Number
from simviz.methods._training import (
    Data,
    HeldOut,
    Values,
    Watch,
    held_out_values,
    hold_out_parts,
    least_change,
)
from simviz.params import interval, options, validate_params
from simviz.relevance import Relevance

_RATES = (0.03, 0.1, 0.3)  # of Adam, from the safest to the fastest
_FEW = 10  # iterations with pairs that were changed
_MANY = 20_000  # items from which one rate has to do


@dataclass(eq=False, repr=False)
class S2Net(IterativeMixin, LinearPairModel):
    r"""Siamese network: linear maps under which relevant pairs outscore all others.

    Learns the matrices of :math:`g_x = A_x^\top x,\quad g_y = A_y^\top y` so that the cosine of a
    relevant pair exceeds that of every other pair of its row or its column. With :math:`\Delta`
    for a difference of two such cosines, the paper minimises the mean of :math:`\log(1 +
    e^{-\gamma \Delta})` over all comparisons. It starts from what another method learned.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the start has fewer.
    shared : bool, default=False
        Whether both sides have one vocabulary; then one matrix is learned.
    loss : {"softmax", "logistic", "triplet", "mse"}, default="softmax"
        "softmax": a relevant pair against all its others together, :math:`\log(1 + \sum e^{-\gamma
        \Delta})` (InfoNCE). "logistic": one by one, the paper's. "triplet": the hinge max(0, 2/γ −
        Δ), one by one. "mse": squared error of similarities that should be 1 or 0, both kinds
        weighing the same; it needs far fewer products.
    init : str or LinearPairModel, default="opca"
        Where to start: a method, "random", or a linear model; one that is not
        fitted is fitted first. "pca" and "lsa" need `shared`. So does "identity",
        :math:`A = I`, whose similarity is the cosine of the items themselves: it needs as
        many dimensions as there are features, and suits vectors of some hundred.
    gamma : float, default=10.0
        Slope γ of the logistic loss, inverse temperature of the softmax.
    direction : {"both", "x2y", "y2x"}, default="both"
        Whether others of the row (a query of the x side), of the column, or both are compared.
    hard_negatives : int or None, default=None
        Only so many others of a query, the most similar ones, are compared.
    balanced : bool, default=False
        Whether each query counts the same, instead of each comparison. Where there
        are grades, what it says of them counts as much as what it says of others.
    regularization : float, default=0.0
        Weight β of the penalty :math:`\beta/2\,\|A - A_0\|^2` on leaving the start.
        Stopping early does better.
    activation : {"tanh", "sigmoid"} or None, default=None
        Applied to each coordinate before the cosine.
    fit_intercept : bool, default=True
        Whether offsets of both sides are learned, too; the paper's projection
        :math:`g = A^\top x` has none.
    solver : {"adam", "lbfgs"}, default="adam"
        "adam": batches of queries whose items are each other's negatives.
        "lbfgs": all comparisons at every iteration.
    learning_rate : float or None, default=None
        Length of a step, relative to the parameters: of each of Adam's, of the first of L-BFGS
        (None: 0.01). None has Adam try 0.03, 0.1 and 0.3, one after the other from the same start,
        until one is no better than the one before; with more than 20,000 x items 0.1 only, with
        nothing held out 0.03 only.
    batch_size : int, default=1000
        Queries of a batch; fewer where that would leave less than 8 batches, but 32.
    max_iter : int, default=100
        Iterations of L-BFGS, or passes over all queries of Adam.
    patience : int, default=8
        Iterations without a better validation score before stopping.
    validation_fraction : float, default=0.2
        Share of the items held out to choose rate and iteration, where no validation set is given
        to `fit` and there would be at least 20 of them; in the end all items are learned from.
        One-to-one pairs are held out whole; else some x items are, and some y items, or those of
        the side that a split divided.
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        Of the large products of float32 data; "auto" is bfloat16 where the processor
        is made for it. Sums, losses and parameters are not affected.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where these products are taken; "auto" is a GPU where there is one.
    random_state : int, RandomState instance or None, default=0
        Seed of the start, of what is held out, and of batches.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d_x, k) and (d_y, k)
        The learned matrices; the same where `shared`.
    x_offset_, y_offset_ : ndarray of shape (k,) or None
        What is subtracted from projections, learned as well. It starts as the projected mean of
        methods that centre, else as 0. None without `fit_intercept`.
    learning_rate_ : float
        Rate that was kept.
    n_iter_ : int
        Iterations done at that rate.
    best_iter_ : int
        Iterations that were kept; 0 is the start.
    loss_curve_ : list of float
        Loss at each iteration; with "adam" the mean over a pass.
    validation_scores_ : list of float
        Score on the validation set, or on 4,096 of its queries and candidates, after each
        iteration; empty without one. NDCG where there are grades, the AUC where unjudged pairs are
        ignored, else the mean average precision; of both directions where both are compared.

    See Also
    --------
    simviz.methods.opca.OPCA : Where it starts from.
    simviz.methods.ssi.SSI : Ranks by inner products, without scaling lengths.

    Notes
    -----
    Stopping early is what keeps the model from learning pairs by heart. Of the start and the best
    iteration of each rate, that one is kept which leaves the start least and scores within one
    standard error of the best. Where queries were held out from what was given, the start is then
    fitted once more, to all of it, and as many iterations follow. Where unjudged pairs are
    negative, every item that is not relevant is compared with the relevant ones, and higher grades
    with lower ones. Where they are ignored, judged pairs of a query are compared by grade; if no
    query has two grades, judged pairs of different queries.

    The preset "paper" takes the paper's loss and solver and no offsets. The softmax learns more,
    in fewer passes; L-BFGS learns less than Adam before it overfits.

    The parameters of Adam are averaged over about one pass, which replaces a schedule of falling
    rates. Nothing of size (n_x, n_y) is held, but for the scores of a batch of at most 100 million
    pairs. The derivative printed in the paper's appendix has a wrong sign in its exponent; it is
    :math:`-\gamma / (1 + e^{\gamma \Delta})`.

    References
    ----------
    Yih, Toutanova, Platt & Meek (2011), Learning discriminative projections
    for text similarity measures. CoNLL, section 2 and appendix A.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = np.eye(6)[rng.integers(0, 6, (2, 300))]
    >>> relevance = X @ np.roll(np.eye(6), 1, axis=1) @ Y.T
    >>> model = S2Net(6, init="random", max_iter=30).fit(X, Y, relevance)
    >>> model.similarity(np.eye(6), np.eye(6)).argmax(axis=1)
    array([1, 2, 3, 4, 5, 0])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="S2Net",
        reference="Yih et al. 2011",
        family="gradient",
        space="either",
        uses="discriminative",
        stops_early=True,
    )
    presets: ClassVar = {"paper": {"loss": "logistic", "solver": "lbfgs", "fit_intercept": False}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [options("softmax", "logistic", "triplet", "mse")],
        "init": [
            options(
                "opca", "cca", "cl_lsi", "heterogeneous_svd", "pca", "lsa", "random", "identity"
            ),
            LinearPairModel,
        ],
        "gamma": [interval(Real, 0, 100, closed="right")],
        "direction": [options("both", "x2y", "y2x")],
        "hard_negatives": [interval(Integral, 1, None), None],
        "balanced": ["boolean"],
        "activation": [options("tanh", "sigmoid"), None],
        "fit_intercept": ["boolean"],
        "solver": [options("adam", "lbfgs")],
        "learning_rate": [interval(Real, 0, None, closed="neither"), None],
        "batch_size": [interval(Integral, 2, None)],
        "precision": [options("auto", "float32", "bfloat16")],
        "device": [options("auto", "cpu", "cuda")],
    }
    _stored: ClassVar[Declared] = {**ITERATIONS, "learning_rate_": Number()}

    n_components: int = 200
    _: KW_ONLY
    shared: bool = False
    loss: str = "softmax"
    init: Any = "opca"
    gamma: float = 10.0
    direction: str = "both"
    hard_negatives: int | None = None
    balanced: bool = False
    regularization: float = 0.0
    activation: str | None = None
    fit_intercept: bool = True
    solver: str = "adam"
    learning_rate: float | None = None
    batch_size: int = 1000
    max_iter: int = 100
    patience: int = 8
    validation_fraction: float = 0.2
    precision: str = "auto"
    device: str = "auto"
    random_state: Any = 0

    def _fit_iter(self, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        for _ in self._fitted([self], (X, Y, relevance), validation):
            pass

    def fit_dimensions(
        self,
        dimensions: Sequence[int],
        X: Matrix,
        y: Matrix | None = None,
        relevance: object = None,
        X_val: Matrix | None = None,
        y_val: Matrix | None = None,
        relevance_val: object = None,
    ) -> Iterator[S2Net]:
        """Models of ascending dimensions, each starting from the one before.

        The first columns of a model are those that the smaller one learned, the others those of
        the start. That is fitted once, and once more to all items where some were held out.

        Parameters
        ----------
        dimensions : sequence of int
            Ascending.
        X, y, relevance : matrices
            Training items and judgments, as in `fit`.
        X_val, y_val, relevance_val : matrices, optional
            Validation items and judgments, as in `fit`.

        Yields
        ------
        S2Net

        Raises
        ------
        ValueError
            If the dimensions do not ascend, or as in `fit`.
        """
        if not dimensions or (np.diff([0, *dimensions]) <= 0).any():
            raise ValueError(f"dimensions must be positive and ascending, got {dimensions!r}.")
        first = self._copy(n_components=dimensions[-1])
        validate_params(first)
        X, Y = first._check_sides(X, y, reset=True)
        validation = None
        if X_val is not None:
            validation = (*first._check_sides(X_val, y_val, reset=False), relevance_val)
        relevance = Relevance.coerce(relevance, X.shape[0], Y.shape[0])
        models = [self._copy(n_components=k) for k in dimensions]
        for model in models:
            model._check_sides(X, Y, reset=True)
        yield from first._fitted(models, (X, Y, relevance), validation)

    def continued(self) -> S2Net:
        """The method as it goes on from this model: not fitted, a few iterations, not watched."""
        return self._copy(
            init=self, solver="adam", learning_rate=_RATES[0], max_iter=_FEW, validation_fraction=0
        )

    def _copy(self, **changed: Any) -> S2Net:
        """The same method with other parameters, and the same callbacks."""
        copy = type(self)(**{**self.get_params(deep=False), **changed})
        return copy.set_callbacks(*getattr(self, "_callbacks", ()))

    def _fitted(self, models: Sequence[S2Net], data: Data, validation: Any) -> Iterator[S2Net]:
        """Fit models of ascending dimensions, whose largest has those of this one."""
        from simviz.methods._s2net_training import start_parameters, widened

        d, fewest = data[0].shape[1], models[0].n_components
        asks_identity = isinstance(self.init, str) and self.init == "identity"
        if asks_identity and (not self.shared or fewest < d):
            raise ValueError(
                "init='identity' has one space for both sides and a dimension for each of its "
                f"{d:,} features; got shared={self.shared}, n_components={fewest}. Set "
                f"shared=True and n_components={d}, or use another init."
            )
        rng = check_random_state(self.random_state)
        if (unknown := data[2].only_rejected).any():
            # They would be negatives of what they belong to, too.
            rows = np.flatnonzero(~unknown)
            data = data[0][rows], data[1], data[2].take(rows)
        held = hold_out_parts(self, data, validation, rng)
        start, stopped = start_parameters(self, held.data, rng)
        learned = final = whole = None  # the last: the start of all items, once it is wanted
        for model in models:
            k = min(model.n_components, start.shape[1])
            theta = widened(start[:, :k], learned, held.data, self.shared)
            watch, stopped = model._select(held, theta, rng, stopped)
            learned = watch.best
            if held.own and not stopped:
                if whole is None and self.init == "random":
                    whole = start  # another draw would need other iterations
                if whole is None:
                    whole, stopped = start_parameters(self, data, rng)
                theta = widened(whole[:, :k], final, data, self.shared)
                final, stopped = model._repeat(watch, data, theta, rng, stopped)
            yield model
            if stopped:
                return

    def _select(self, held: HeldOut, start: Array, rng: Any, stopped: bool) -> tuple[Watch, bool]:
        """Go down at each rate, and keep the least change within a standard error of the best."""
        directions = ("x2y", "y2x") if self.direction == "both" else (self.direction,)

        def values(parameters: Array) -> Values:
            self._take(parameters)
            return held_out_values(self, held.parts, directions)

        rates = self._rates(held)
        limits = self.max_iter, self.patience
        self._stages, self._done = len(rates) + held.own, 0
        watches: list[Watch] = []
        for rate in rates:
            watch = Watch(start, self._heard, values if held.parts else None, limits, rate)
            watches.append(watch)
            steps = () if stopped else self._steps(held.data, watch, rng)
            stopped |= watch.follow(steps, report=not stopped and not self._done)
            self._done += len(watch.losses)
            worse = watches[:-1] and watch.best_score <= watches[-2].best_score
            if stopped or worse:
                break
        watch = least_change(watches)
        self._take(watch.best)
        watch.record(self)
        self.learning_rate_ = watch.rate
        return watch, stopped

    def _repeat(
        self, watch: Watch, data: Data, start: Array, rng: Any, stopped: bool
    ) -> tuple[Array, bool]:
        """Do with all items what was best without those held out."""
        again = Watch(start, self._heard, None, (watch.best_iter, 1), watch.rate)
        steps = self._steps(data, again, rng) if watch.best_iter and not stopped else ()
        if again.follow(steps, report=False):
            return watch.best, True
        if not stopped:
            self._take(again.best)
        return again.best, stopped

    def _heard(self, step: int, total: int, **metrics: float) -> bool:
        """Tell of a step of one of several descents."""
        return self._notify(self._done + step, self._stages * self.max_iter, **metrics)

    def _rates(self, held: HeldOut) -> tuple[float, ...]:
        """Lengths of steps that are tried."""
        if self.learning_rate is not None:
            return (self.learning_rate,)
        if self.solver == "lbfgs":
            return (0.01,)
        if not held.parts:
            return _RATES[:1]
        return _RATES if held.data[0].shape[0] <= _MANY else _RATES[1:2]

    def _steps(self, data: Data, watch: Watch, rng: Any) -> Iterator[tuple[float, Array]]:
        """Iterations of the solver: loss and parameters."""
        from simviz.methods._s2net_losses import BlockFactory, Loss
        from simviz.methods._s2net_training import Network, Objective, active_rows, adam, lbfgs

        theta, tick = watch.best, watch.tick
        make = BlockFactory(self.precision, self.device, theta.dtype, theta.shape[1])
        start = theta if self.regularization else None

        def objective(X: Matrix, Y: Matrix, relevance: Relevance) -> Objective:
            half = make.kind(X.shape[0], Y.shape[0]) == "bfloat16"
            network = Network(
                X, Y, self.shared, self.activation, intercept=self.fit_intercept, half=half
            )
            loss = Loss(relevance, self, rng)
            return Objective(network, loss, make, tick, start, self.regularization)

        Loss(data[2], self, rng).require_comparisons(data[2])
        if self.solver == "lbfgs":
            data = active_rows(data, theta, self.shared, self.activation)
            yield from lbfgs(objective(*data), theta, watch.rate)
            return
        batches = self._batches(data, rng)
        yield from adam(lambda X, Y, R, x: objective(X, Y, R)(x), theta, batches, watch.rate)

    def _batches(self, data: Data, rng: Any) -> Any:
        from simviz.methods._s2net_training import Batches

        return Batches(*data, self.batch_size, rng)

    def _take(self, theta: Any) -> None:
        from simviz.methods._s2net_training import parts

        A, a, B, b = parts(theta, self.n_features_in_, self.shared)
        self.x_projection_, self.y_projection_ = A, B
        self.x_offset_, self.y_offset_ = (-a, -b) if self.fit_intercept else (None, None)
        self.n_components_ = theta.shape[1]

    def _embed_x(self, X: Matrix) -> Array:
        return self._activated(super()._embed_x(X), X)

    def _embed_y(self, Y: Matrix) -> Array:
        return self._activated(super()._embed_y(Y), Y)

    def _activated(self, Z: Array, items: Matrix) -> Array:
        if self.activation is None:
            return Z
        from simviz.base.pair_model import nonzero_rows
        from simviz.methods._s2net_training import activate

        Z = activate(Z, self.activation)
        Z[~nonzero_rows(items)] = 0
        return Z
