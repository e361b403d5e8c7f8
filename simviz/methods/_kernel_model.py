"""KernelPairModel: kernels with landmarks times one small matrix a side."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz.base import EmbeddingModel, Matrix, nonzero_rows
from simviz.methods._kernel_features import Features, checked, kernel_features
from simviz.methods._kernels import (
    NAMES,
    Array,
    Kernel,
    KernelFunction,
    check_kernel_input,
    default_gamma,
    refuse_negative,
)
from simviz.params import interval, options

Side = Literal["x", "y"]
Floats = NDArray[np.floating]

# Forms show the first list of names; what follows it can only be given in code.
_KERNEL: list[Any] = [options(*NAMES), options("precomputed"), callable]

#: Constraints of the parameters that all kernel methods have.
KERNEL_PARAMETERS: dict[str, list[Any]] = {
    "x_kernel": _KERNEL,
    "y_kernel": _KERNEL,
    "x_gamma": [interval(Real, 0, None, closed="neither"), None],
    "y_gamma": [interval(Real, 0, None, closed="neither"), None],
    "degree": [interval(Integral, 1, None)],
    "coef0": [interval(Real, 0, None)],
    "max_landmarks": [interval(Integral, 1, None)],
    "random_state": ["random_state"],
}


class KernelPairModel(EmbeddingModel):
    """A pair model that knows its items by their kernels with landmarks.

    Subclasses have the parameters of `KERNEL_PARAMETERS`; their ``_fit`` turns
    the `Features` of both sides into one small matrix each.
    """

    x_kernel: str | KernelFunction
    y_kernel: str | KernelFunction
    x_gamma: float | None
    y_gamma: float | None
    degree: int
    coef0: float
    max_landmarks: int
    random_state: Any

    x_landmarks_: Any
    y_landmarks_: Any
    x_coefficients_: Array
    y_coefficients_: Array
    x_offset_: Array | None
    y_offset_: Array | None
    x_gamma_: float | None
    y_gamma_: float | None

    _component_arrays: ClassVar[tuple[str, ...]] = (
        "x_coefficients_",
        "y_coefficients_",
        "x_offset_",
        "y_offset_",
        "spectrum_",
    )

    def _features(
        self, sides: Mapping[Side, Matrix], means: Mapping[Side, Array | None]
    ) -> dict[Side, Features]:
        """Features of each side, in one stream of random choices."""
        rng = check_random_state(self.random_state)
        found: dict[Side, Features] = {}
        stopped = False

        def notify(step: int, total: int) -> bool:
            nonlocal stopped
            done = len(found) * total + step
            stopped = stopped or self._notify(done, len(sides) * total)
            return stopped

        for side, Z in sides.items():
            name = self.x_kernel if side == "x" else self.y_kernel
            check_kernel_input(name, Z, side)
            gamma = self.x_gamma if side == "x" else self.y_gamma
            gamma = default_gamma(name, Z) if gamma is None else gamma
            found[side] = kernel_features(
                self._kernel(name, gamma),
                Z,
                means=means[side],
                max_landmarks=self.max_landmarks,
                rng=rng,
                notify=notify,
            )
            if side == "x":
                self.x_gamma_ = gamma
            else:
                self.y_gamma_ = gamma
        return found

    def _keep(self, x: Features, A: Floats, y: Features, B: Floats) -> None:
        """Keep the maps whose columns are A and B in the features of the sides."""
        self.x_landmarks_, self.x_coefficients_ = x.landmarks, _columns(x.weights, A)
        self.x_offset_ = None if x.offsets is None else x.offsets[0] @ A
        if y is x:
            self.y_landmarks_, self.y_coefficients_ = self.x_landmarks_, self.x_coefficients_
            self.y_gamma_ = self.x_gamma_
        else:
            self.y_landmarks_, self.y_coefficients_ = y.landmarks, _columns(y.weights, B)
        self.y_offset_ = None if y.offsets is None else y.offsets[-1] @ B

    def _kernel(self, name: str | KernelFunction, gamma: float | None) -> Kernel:
        return Kernel(name, 1.0 if gamma is None else gamma, self.degree, self.coef0)

    def _embed_x(self, X: Matrix) -> Floats:
        if self.x_kernel == "chi2":
            refuse_negative(X, "x")
        kernel = self._kernel(self.x_kernel, self.x_gamma_)
        return _embedded(kernel, X, self.x_landmarks_, self.x_coefficients_, self.x_offset_)

    def _embed_y(self, Y: Matrix) -> Floats:
        if self.y_kernel == "chi2":
            refuse_negative(Y, "y")
        kernel = self._kernel(self.y_kernel, self.y_gamma_)
        return _embedded(kernel, Y, self.y_landmarks_, self.y_coefficients_, self.y_offset_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.x_kernel == "precomputed"
        tags.input_tags.positive_only = self.x_kernel == "chi2"
        return tags


def column_signs(features: Features, A: Floats) -> Array:
    """Signs that make the largest weight of a landmark positive in every column."""
    W = features.weights @ A
    return np.where(W[np.abs(W).argmax(axis=0), np.arange(A.shape[1])] < 0, -1.0, 1.0)


def _columns(weights: Array, A: Floats) -> Array:
    return np.ascontiguousarray(weights @ A)


def _embedded(
    kernel: Kernel, X: Matrix, landmarks: Any, weights: Array, offset: Array | None
) -> Floats:
    Z = np.empty((X.shape[0], weights.shape[1]), dtype=X.dtype)
    with np.errstate(over="ignore"):  # what single precision cannot hold is told below
        for rows, K in kernel.blocks(X, landmarks):
            Z[rows] = K @ weights if offset is None else K @ weights - offset
    # Without any known feature there is no evidence, neither for nor against the mean.
    Z[~nonzero_rows(X)] = 0.0
    return checked(Z)
