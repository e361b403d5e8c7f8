"""The network of S2Net, where it starts, and how its parameters go down."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from simviz._numba import threads_for
from simviz._types import Array
from simviz.base.pair_model import Matrix
from simviz.methods._linalg import Products
from simviz.methods._s2net_kernels import adam_step, add_scaled, tangent_rows, unit_rows
from simviz.methods._s2net_losses import Steps
from simviz.methods._training import Data, initial_model
from simviz.relevance import Relevance

#: Value and gradient on a batch: x rows, y rows, and the judgments between them.
BatchObjective = Callable[[Matrix, Matrix, Relevance, Array], tuple[float, Array]]
Function = Callable[[Array], tuple[float, Array]]

_N_GRADIENTS = 3  # gradients: a line search holds the one before, the best, and one on trial
_UNUSED = 2  # references to an array: from where it is kept, and from asking for them
_FEWEST, _SMALLEST = 8, 32  # batches of a pass, unless they were smaller than this
_PAIRS = (3, 8)  # fewest and most steps remembered
_MEMORY = 2**30  # bytes that they may take
#: Steps of a line search: along a direction that is remembered, and straight down, where
#: items that the start hardly reaches turn within steps of their length.
_TRIALS, _TRIALS_DOWN = 12, 24
_DECREASE, _CURVATURE = 1e-4, 0.9  # the weak Wolfe conditions


def activate(G: Array, activation: str | None) -> Array:
    """The activation of each entry, in place."""
    if activation is not None:
        # σ(g) = (1 + tanh(g / 2)) / 2 neither overflows nor branches.
        half = G.dtype.type(0.5 if activation == "sigmoid" else 1.0)
        G *= half
        np.tanh(G, out=G)
        if activation == "sigmoid":
            G *= half
            G += half
    return G


class Vectors(NamedTuple):
    """Unit vectors (n, k), and 1 / length before; 0 for those that have none."""

    P: Array
    inverse: Array


class Side:
    """Items of one side as unit vectors P = f(X A + 1 bᵀ) / ‖·‖."""

    def __init__(
        self, X: Matrix | Products, activation: str | None, *, half: bool = False
    ) -> None:
        self.products, self.half = X if isinstance(X, Products) else Products(X), half
        self.known = self.products.nonzero_rows()
        self.activation = activation
        self._P: Array | None = None  # fresh pages cost more than what is written to them

    def forward(self, A: Array, bias: Array) -> Vectors:
        """Unit vectors, from a matrix (d, k) and a bias (k,); the next call overwrites them."""
        if self._P is not None and (self._P.shape[1], self._P.dtype) != (A.shape[1], A.dtype):
            self._P = None
        self._P = P = self.products.matmat(A, out=self._P, half=self.half)
        inverse = np.empty(len(P), dtype=P.dtype)
        if self.activation is not None:
            P += bias
            activate(P, self.activation)
            bias = np.zeros_like(bias)
        with threads_for(P.size):
            unit_rows(P, bias, self.known, inverse)
        return Vectors(P, inverse)

    def backward(
        self, vectors: Vectors, dP: Array, A: Array, bias: Array, *, more: bool = False
    ) -> None:
        """Write to `A` and `bias` what derivatives by the unit vectors are for them."""
        # `dP` is overwritten. With `more`, `A` is added to.
        P, inverse = vectors
        with threads_for(P.size):
            tangent_rows(P, inverse, dP)
        if self.activation is not None:
            # The activation's values are P · length; its slope follows from them.
            H = P * np.divide(1, inverse, out=np.zeros_like(inverse), where=inverse > 0)[:, None]
            dP *= 1 - H * H if self.activation == "tanh" else H * (1 - H)
        if more:
            A += self.products.rmatmat(dP, half=self.half)
        else:
            self.products.rmatmat(dP, out=A, half=self.half)
        bias[:] = dP.sum(axis=0)


def parts(theta: Array, d_x: int, shared: bool) -> tuple[Array, Array, Array, Array]:
    """Matrix and bias of each side, as views on all parameters."""
    return theta[:d_x], theta[-2], theta[:-2] if shared else theta[d_x:-2], theta[-1]


class Network:
    """Both sides and their parameters, one array."""

    def __init__(
        self, X: Matrix | Products, Y: Matrix | Products, shared: bool, activation: str | None, *,
        intercept: bool = True, half: bool = False,
    ) -> None:  # fmt: skip
        self.x, self.y = (Side(Z, activation, half=half) for Z in (X, Y))
        self.d_x, self.shared, self.intercept = X.shape[1], shared, intercept

    def forward(self, theta: Array) -> tuple[Vectors, Vectors]:
        A, a, B, b = parts(theta, self.d_x, self.shared)
        return self.x.forward(A, a), self.y.forward(B, b)

    def backward(self, x: Vectors, y: Vectors, dP: Array, dQ: Array, out: Array) -> None:
        A, a, B, b = parts(out, self.d_x, self.shared)
        self.x.backward(x, dP, A, a)
        self.y.backward(y, dQ, B, b, more=self.shared)
        if not self.intercept:
            out[-2:] = 0


def active_rows(data: Data, theta: Array, shared: bool, activation: str | None) -> Data:
    """Data in which items that parameters give no direction have no features."""
    # Any step would give them one, such as that of the offset for all of them: the loss would
    # jump at its start, where L-BFGS needs it to be smooth.
    X, Y, relevance = data
    network = Network(X, Y, shared, activation)
    x, y = network.forward(theta)
    X = _cleared(X, network.x.known & (x.inverse == 0))
    return X, _cleared(Y, network.y.known & (y.inverse == 0)), relevance


def _cleared(Z: Matrix, rows: NDArray[np.bool_]) -> Matrix:
    if not rows.any():
        return Z
    cleared = sp.diags_array(~rows, dtype=Z.dtype) @ Z
    if sp.issparse(cleared):
        cleared.sort_indices()  # sums over a row keep their order
    return cleared


class Objective:
    """Loss and gradient of the parameters."""

    def __init__(
        self, network: Network, loss: Any, make_blocks: Any, tick: Any,
        start: Array | None = None, penalty: float = 0.0,
    ) -> None:  # fmt: skip
        self.network, self.loss, self.make_blocks, self.tick = network, loss, make_blocks, tick
        self.start, self.penalty = start, penalty
        # Of all objectives whose blocks are made by the same one: there is one a batch.
        self._gradients: list[Array] = getattr(make_blocks, "parameter_gradients", [])

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Loss and its gradient; an array that nobody else holds any more is used again."""
        x, y = self.network.forward(theta)
        blocks = self.make_blocks(x.P, y.P)
        return self._backward(theta, x, y, blocks, self.loss(blocks, self.tick))

    def steps(self, theta: Array) -> Steps[tuple[float, Array]]:
        """Do likewise with the share of some rows; see `simviz.methods._s2net_losses`."""
        x, y = self.network.forward(theta)
        blocks = self.make_blocks(x.P, y.P)
        value = yield from self.loss.steps(blocks, self.tick)
        return self._backward(theta, x, y, blocks, value)

    def _backward(
        self, theta: Array, x: Vectors, y: Vectors, blocks: Any, value: float
    ) -> tuple[float, Array]:
        gradient = self._gradient(theta)
        self.network.backward(x, y, blocks.dP, blocks.dQ, gradient)
        if self.penalty and self.start is not None:
            away = theta - self.start
            value += self.penalty / 2 * float(np.vdot(away, away))
            gradient += theta.dtype.type(self.penalty) * away
        return value, gradient

    def _gradient(self, theta: Array) -> Array:
        # Fresh pages cost more than what is written to them.
        for i, (shape, dtype) in enumerate([(g.shape, g.dtype) for g in self._gradients]):
            fits = shape == theta.shape and dtype == theta.dtype
            if fits and sys.getrefcount(self._gradients[i]) == _UNUSED:
                return self._gradients[i]
        self._gradients[:] = [np.empty_like(theta), *self._gradients[: _N_GRADIENTS - 1]]
        return self._gradients[0]


def start_parameters(model: Any, data: Data, rng: Any) -> tuple[Array, bool]:
    """Where to start, vectors having length 1 on average, and whether a callback said stop."""
    X, Y, _ = data
    stopped = False
    if isinstance(model.init, str) and model.init in ("random", "identity"):
        if model.init == "random":
            A, B = (rng.standard_normal((Z.shape[1], model.n_components)) for Z in (X, Y))
        else:
            A = B = np.eye(X.shape[1])
        a = b = np.zeros(A.shape[1])
    else:
        linear, stopped = initial_model(model, data, shared=model.shared)
        A, B = linear.x_projection_, linear.y_projection_
        a, b = (
            -offset if offset is not None and model.fit_intercept else np.zeros(A.shape[1])
            for offset in (linear.x_offset_, linear.y_offset_)
        )
    if model.shared:
        A = B = (A + B) / 2
    theta = np.vstack([A, *(() if model.shared else (B,)), a, b]).astype(X.dtype)
    rescale(theta, theta, X, Y, model.shared)
    return theta, stopped


def rescale(theta: Array, like: Array, X: Matrix, Y: Matrix, shared: bool) -> None:
    """Divide parameters, in place, by the mean length of the vectors that others give."""
    A, a, B, b = parts(like, X.shape[1], shared)
    x, y = _mean_length(X, A, a), _mean_length(Y, B, b)
    if shared:
        theta /= theta.dtype.type((x + y) / 2)
        return
    for part, length in zip(parts(theta, X.shape[1], shared), (x, x, y, y), strict=True):
        part /= theta.dtype.type(length)


def widened(start: Array, learned: Array | None, data: tuple[Any, ...], shared: bool) -> Array:
    """Learned columns, and further ones of the start on the same scale."""
    theta = start.copy()
    j = start.shape[1] if learned is None else learned.shape[1]
    # Learning began with vectors of mean length 1 in the columns there were.
    rescale(theta, start[:, :j], data[0], data[1], shared)
    if learned is not None:
        theta[:, :j] = learned
    return theta


def _mean_length(Z: Matrix, A: Array, bias: Array) -> float:
    step = max(1, Z.shape[0] // 4096)
    G = np.asarray(Z[::step] @ A.astype(Z.dtype)) + bias
    return float(np.linalg.norm(G, axis=1).mean()) or 1.0


def batches_of_a_pass(n_queries: int, size: int) -> int:
    """How many batches of about so many queries there are, or more where that were few."""
    return max(1, n_queries // min(size, max(_SMALLEST, n_queries // _FEWEST)))


class Batches:
    """Random batches of queries with all items that they were judged with."""

    def __init__(self, X: Matrix, Y: Matrix, relevance: Relevance, size: int, rng: Any) -> None:
        self.X, self.Y, self.relevance, self.rng = X, Y, relevance, rng
        self.queries = np.flatnonzero(np.diff(relevance.matrix.indptr))
        self.n = batches_of_a_pass(len(self.queries), size)

    def __iter__(self) -> Iterator[tuple[Matrix, Matrix, Relevance]]:
        """Go through all queries once, in a new order."""
        order = self.rng.permutation(self.queries)
        matrix = self.relevance.matrix
        for rows in np.array_split(order, self.n):
            columns = np.unique(matrix[rows].indices)
            yield self.X[rows], self.Y[columns], self.relevance.take(rows, columns)


def adam(
    objective: BatchObjective, start: Array, batches: Batches, learning_rate: float
) -> Iterator[tuple[float, Array]]:
    """Adaptive moments, and the running average of the points visited; pass after pass."""
    # The average is what counts: it needs no schedule of falling rates.
    x, average = start.copy(), start.copy()
    mean, square = np.zeros_like(x), np.zeros_like(x)
    scale = float(np.sqrt(np.mean(np.square(x), dtype=np.float64)))
    # The average looks back about one pass.
    decay = 1 - 1 / (1 + batches.n)
    step = 0
    while True:
        total = 0.0
        for X, Y, relevance in batches:
            value, gradient = objective(X, Y, relevance, x)
            total += value
            step += 1
            rate = learning_rate * scale / (1 - 0.9**step)
            adam_step(x, gradient, mean, square, average, rate, 1 / (1 - 0.999**step), decay)
            del gradient  # the next one is written to the same place
        yield total / batches.n, average


def inner(a: Array, b: Array) -> float:
    return float(np.einsum("ik,ik->i", a, b).sum(dtype=np.float64))


def lbfgs(function: Function, start: Array, first_step: float) -> Iterator[tuple[float, Array]]:
    """Minimise a smooth function by limited-memory BFGS."""
    x = start
    value, gradient = function(x)
    n_pairs = int(np.clip(_MEMORY // max(1, 2 * x.nbytes), *_PAIRS))
    pairs: deque[tuple[Array, Array, float]] = deque(maxlen=n_pairs)
    while (size := inner(gradient, gradient)) != 0:
        direction = _direction(gradient, pairs)
        slope = inner(gradient, direction)
        if slope >= 0:  # rounding has spoilt the memory
            pairs.clear()
            direction, slope = -gradient, -size
        step, trials = 1.0, _TRIALS
        if not pairs:
            length = np.sqrt(inner(x, x)) or 1.0
            step = first_step * length / np.sqrt(inner(direction, direction))
            trials = _TRIALS_DOWN
        accepted = _search(function, x, value, direction, slope, step, trials)
        if accepted is None:
            if not pairs:
                if x is start:
                    _warn_of_no_step(value, size)
                return
            pairs.clear()  # try once more, straight down
            continue
        value, new, new_gradient = accepted
        s, y = new - x, new_gradient - gradient
        curvature = inner(s, y)
        if curvature > 1e-10 * inner(y, y):
            pairs.append((s, y, curvature))
        x, gradient = new, new_gradient
        yield value, x


def _search(
    function: Function,
    x: Array,
    value: float,
    direction: Array,
    slope: float,
    step: float,
    trials: int,
) -> tuple[float, Array, Array] | None:
    """A step that goes down enough and flattens the slope, by bisection."""
    low, high = 0.0, np.inf
    best = None
    for _ in range(trials):
        point = x.copy()
        add_scaled(direction, x.dtype.type(step), point)
        trial, gradient = function(point)
        if not trial <= value + _DECREASE * step * slope:
            high = step
        else:
            best = trial, point, gradient
            if inner(gradient, direction) >= _CURVATURE * slope:
                return best
            low = step
        step = 2 * low if high == np.inf else (low + high) / 2
    return best


def _warn_of_no_step(value: float, size: float) -> None:
    """Say that what is returned is the start, which is no minimum."""
    warnings.warn(
        f"L-BFGS found no step down from its start (loss {value:.3g}, gradient of length "
        f"{np.sqrt(size):.3g}), which is kept. Start from another method (init), or use "
        "solver='adam'.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _direction(gradient: Array, pairs: deque[tuple[Array, Array, float]]) -> Array:
    r = -gradient
    shares = []
    for s, y, curvature in reversed(pairs):
        share = inner(s, r) / curvature
        add_scaled(y, r.dtype.type(-share), r)  # without another array of that size
        shares.append(share)
    if pairs:
        s, y, curvature = pairs[-1]
        r *= r.dtype.type(curvature / inner(y, y))
    for (s, y, curvature), share in zip(pairs, reversed(shares), strict=True):
        add_scaled(s, r.dtype.type(share - inner(y, r) / curvature), r)
    return r
