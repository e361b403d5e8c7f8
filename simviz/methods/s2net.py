"""Similarity learning via Siamese neural network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz.base import COMMON_PARAMETERS, IterativeMixin, LinearPairModel, Matrix, MethodTags
from simviz.methods._training import Data, Stopped, Watch, split_validation
from simviz.params import interval, options, validate_params
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class S2Net(IterativeMixin, LinearPairModel):
    r"""Similarity by a Siamese network: what belongs together scores higher.

    Learns the matrices of :math:`g_x = A_x^\top x`, :math:`g_y = A_y^\top y` so that the
    cosine of a relevant pair exceeds that of every other pair of its row or
    its column. With :math:`\Delta` for a difference of two such cosines, the paper
    minimises the mean of :math:`\log(1 + e^{-\gamma \Delta})` over all comparisons. It
    starts from what another method learned.

    Parameters
    ----------
    n_components : int, default=100
        Dimensions of the learned space. More than the start can give are
        capped with a warning; `n_components_` tells the truth.
    shared : bool, default=False
        Whether both sides have one vocabulary; then one matrix is learned.
    loss : {"softmax", "logistic", "triplet", "mse"}, default="softmax"
        "softmax": a relevant pair against all its others together,
        :math:`\log(1 + \sum e^{-\gamma \Delta})` (InfoNCE). "logistic": one by one,
        the paper's. "triplet": the hinge max(0, 2/γ − Δ), one by one. "mse":
        squared error of similarities that should be 1 or 0, both kinds
        weighing the same; it needs far fewer products.
    init : str or LinearPairModel, default="opca"
        Where to start: a method, "random", or a linear model; one that is not
        fitted is fitted first. "pca" and "lsa" need `shared`.
    gamma : float, default=10.0
        Slope γ of the logistic loss, inverse temperature of the softmax.
    direction : {"both", "x2y", "y2x"}, default="both"
        Whether others of the row (a query of the x side), of the column, or
        both are compared.
    hard_negatives : int or None, default=None
        Only so many others of a query, the most similar ones, are compared.
    balanced : bool, default=False
        Whether each query counts the same, instead of each comparison.
    regularization : float, default=0.0
        Weight β of the penalty :math:`\beta/2\,\|A - A_0\|^2` on leaving the start.
        Stopping early does better.
    activation : {"tanh", "sigmoid"} or None, default=None
        Applied to each coordinate before the cosine.
    solver : {"adam", "lbfgs"}, default="adam"
        "adam": batches of queries whose items are each other's negatives.
        "lbfgs": all comparisons at every iteration.
    learning_rate : float or None, default=None
        Length of a step, relative to the parameters: of each of Adam's (None:
        0.3), of the first of L-BFGS (None: 0.01).
    batch_size : int, default=1000
        Queries of a batch; fewer where that would leave less than 8 batches,
        but 32.
    max_iter : int, default=100
        Iterations of L-BFGS, or passes over all queries of Adam.
    patience : int, default=8
        Iterations without a better validation score before stopping.
    validation_fraction : float, default=0.1
        Share of the queries held out to stop early, where no validation set is
        given to `fit` and there would be at least 20 of them.
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
    x_offset_, y_offset_ : ndarray of shape (k,)
        What is subtracted from projections, learned as well. It starts as
        the projected mean of methods that centre, else as 0.
    n_components_ : int
        Dimensions k.
    n_iter_ : int
        Iterations done.
    best_iter_ : int
        Iteration whose parameters were kept; 0 is the start.
    loss_curve_ : list of float
        Loss at each iteration; with "adam" the mean over a pass.
    validation_scores_ : list of float
        `score` on the validation set, or on 4,096 of its queries and
        candidates, after each iteration; empty without one.

    See Also
    --------
    simviz.methods.opca.OPCA : Where it starts from.
    simviz.methods.ssi.SSI : Ranks by inner products, without scaling lengths.

    Notes
    -----
    Stopping early is what keeps the model from learning pairs by heart: the
    best iteration on the validation set is kept, the start among them. Where
    unjudged pairs are negative, every item that is not relevant is compared
    with the relevant ones, and higher grades with lower ones. Where they are
    ignored, judged pairs of a query are compared by grade; if no query has two
    grades, judged pairs of different queries.

    The paper's loss and solver are ``loss="logistic", solver="lbfgs"``. The
    softmax learns more, sooner: on 20,000 English and Spanish sentences and
    100 dimensions the mean reciprocal rank of unseen pairs rose from OPCA's
    0.848 (with a ridge of 1) to 0.938 with the logistic loss, in 22 passes, and to 0.941 with the
    softmax, in 11. L-BFGS learns less before it overfits: on 11,336 paragraphs
    and 50 dimensions OPCA's 0.933 became 0.940 (logistic), Adam's 0.965.

    The parameters of Adam are averaged over about one pass, which replaces a
    schedule of falling rates. Nothing of size (n_x, n_y) is ever held. The
    derivative printed in the paper's appendix has a wrong sign in its
    exponent; it is :math:`-\gamma / (1 + e^{\gamma \Delta})`.

    References
    ----------
    Yih, Toutanova, Platt & Meek (2011), Learning discriminative projections
    for text similarity measures. CoNLL, section 2 and appendix A.

    Examples
    --------
    >>> import numpy as np
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
        year=2011,
        family="gradient",
        input="tfidf",
        space="either",
        uses="discriminative",
        stops_early=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_PARAMETERS,
        "loss": [options("softmax", "logistic", "triplet", "mse")],
        "init": [
            options("opca", "cca", "cl_lsi", "heterogeneous_svd", "pca", "lsa", "random"),
            LinearPairModel,
        ],
        "gamma": [interval(Real, 0, 100, closed="right")],
        "direction": [options("both", "x2y", "y2x")],
        "hard_negatives": [interval(Integral, 1, None), None],
        "balanced": ["boolean"],
        "activation": [options("tanh", "sigmoid"), None],
        "solver": [options("adam", "lbfgs")],
        "learning_rate": [interval(Real, 0, None, closed="neither"), None],
        "batch_size": [interval(Integral, 2, None)],
        "precision": [options("auto", "float32", "bfloat16")],
        "device": [options("auto", "cpu", "cuda")],
    }

    n_components: int = 100
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
    solver: str = "adam"
    learning_rate: float | None = None
    batch_size: int = 1000
    max_iter: int = 100
    patience: int = 8
    validation_fraction: float = 0.1
    precision: str = "auto"
    device: str = "auto"
    random_state: Any = 0

    def _fit_iter(
        self, X: Matrix, Y: Matrix, relevance: Relevance, validation: tuple[Any, ...] | None
    ) -> None:
        from simviz.methods._s2net_training import start_parameters

        rng = check_random_state(self.random_state)
        data, validation = split_validation(self, (X, Y, relevance), validation, rng)
        theta, stopped = start_parameters(self, data, rng)
        self._learn(data, validation, theta, rng, stopped)

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

        The first columns of a model are those that the smaller one learned,
        the others those of the start, which is fitted once.

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
            A fitted model of each number of dimensions, as soon as it is ready.

        Raises
        ------
        ValueError
            If the dimensions do not ascend, or as in `fit`.
        """
        from simviz.methods._s2net_training import start_parameters, widened

        if not dimensions or (np.diff([0, *dimensions]) <= 0).any():
            raise ValueError(f"dimensions must be positive and ascending, got {dimensions!r}.")
        first = self._copy(n_components=dimensions[-1])
        validate_params(first)
        X, Y = first._check_sides(X, y, reset=True)
        validation = None
        if X_val is not None:
            validation = (*first._check_sides(X_val, y_val, reset=False), relevance_val)
        rng = check_random_state(self.random_state)
        relevance = Relevance.coerce(relevance, X.shape[0], Y.shape[0])
        data, validation = split_validation(first, (X, Y, relevance), validation, rng)
        start, stopped = start_parameters(first, data, rng)
        learned: NDArray[Any] | None = None
        for k in dimensions:
            model = self._copy(n_components=k)
            model._check_sides(data[0], data[1], reset=True)
            theta = widened(start[:, :k], learned, data, self.shared)
            learned, stopped = model._learn(data, validation, theta, rng, stopped)
            yield model
            if stopped:
                return

    def _copy(self, **changed: Any) -> S2Net:
        """The same method with other parameters, and the same callbacks."""
        copy = type(self)(**{**self.get_params(deep=False), **changed})
        return copy.set_callbacks(*getattr(self, "_callbacks", ()))

    def _learn(
        self, data: Data, validation: Any, theta: NDArray[Any], rng: Any, stopped: bool
    ) -> tuple[NDArray[Any], bool]:
        """Go down from given parameters; keep the best, and whether to stop."""

        def score(parameters: NDArray[Any]) -> float:
            self._take(parameters)
            return self.score(*validation)

        scored = None if validation is None else score
        watch = Watch(theta, self._notify, scored, (self.max_iter, self.patience))
        try:
            watch.start(tell=not stopped)
            for loss, reached in () if stopped else self._steps(data, theta, watch.tick, rng):
                if watch.step(loss, reached):
                    break
        except Stopped:
            stopped = True
        self._take(watch.best)
        watch.record(self)
        return watch.best, stopped

    def _steps(
        self, data: Data, theta: NDArray[Any], tick: Any, rng: Any
    ) -> Iterator[tuple[float, NDArray[Any]]]:
        """Iterations of the solver: loss and parameters."""
        from simviz.methods._s2net_losses import Loss, Maker, Settings
        from simviz.methods._s2net_training import LBFGS, Adam, Network, Objective

        settings = Settings(
            self.loss, self.gamma, self.direction, self.hard_negatives, self.balanced
        )
        make = Maker(self.precision, self.device, theta.dtype, theta.shape[1])
        start = theta if self.regularization else None

        def objective(X: Matrix, Y: Matrix, relevance: Relevance) -> Objective:
            half = make.kind(X.shape[0], Y.shape[0]) == "bfloat16"
            network = Network(X, Y, self.shared, self.activation, half=half)
            loss = Loss(relevance, settings, rng)
            return Objective(network, loss, make, tick, start, self.regularization)

        Loss(data[2], settings, rng).require_comparisons(data[2])
        if self.solver == "lbfgs":
            return LBFGS(objective(*data), self.learning_rate or 0.01).iterate(theta)
        adam = Adam(lambda X, Y, R, x: objective(X, Y, R)(x), self.learning_rate or 0.3)
        return adam.iterate(theta, self._batches(data, rng))

    def _batches(self, data: Data, rng: Any) -> Any:
        """Batches of a pass of Adam, drawn anew each time they are gone through."""
        from simviz.methods._s2net_training import Batches

        return Batches(*data, self.batch_size, rng)

    def _take(self, theta: Any) -> None:
        """Parameters as a fitted model."""
        from simviz.methods._s2net_training import parts

        A, a, B, b = parts(theta, self.n_features_in_, self.shared)
        self.x_projection_, self.y_projection_ = A, B
        self.x_offset_, self.y_offset_ = -a, -b
        self.n_components_ = theta.shape[1]

    def _embed_x(self, X: Matrix) -> NDArray[np.floating]:
        return self._activated(super()._embed_x(X), X)

    def _embed_y(self, Y: Matrix) -> NDArray[np.floating]:
        return self._activated(super()._embed_y(Y), Y)

    def _activated(self, Z: NDArray[np.floating], items: Matrix) -> NDArray[np.floating]:
        if self.activation is None:
            return Z
        from simviz.base.pair_model import nonzero_rows
        from simviz.methods._s2net_training import activate

        Z = activate(Z, self.activation)
        Z[~nonzero_rows(items)] = 0
        return Z
