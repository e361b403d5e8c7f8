"""Oriented principal component analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from simviz._types import Array
from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared, Number
from simviz.methods._linalg import leading_symmetric
from simviz.methods._spectral import (
    Blocks,
    Inflated,
    PairedSides,
    RegularizationPathMixin,
    Whitening,
    capped_components,
    exact_within,
    fewer_components_unwarned,
    keep_directions,
)
from simviz.methods._training import best_on_held_out
from simviz.params import interval, options
from simviz.relevance import Relevance

_DEFAULT_REGULARIZATION = 0.1


@dataclass(eq=False, repr=False)
class OPCA(RegularizationPathMixin, LinearPairModel):
    r"""Oriented PCA: directions that vary between pairs but not within them.

    Maximises what pairs differ in (signal) over what their two items differ in (noise),
    :math:`\max_a\; a^\top C_s a / a^\top (C_n + \gamma I) a`, with :math:`C_s` the covariance of
    the pairs' means and :math:`C_n` that of the items around the mean of their pair.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the data give fewer.
    regularization : float or None, default=None
        Ridge γ of the noise, in units of its mean variance. None is 0.1 for sparse features such
        as words; for dense ones, such as vectors of an encoder, that of 0.01, 0.1, 1, 10 and 100
        which does best on a fifth of the training items, held out for it. Without a ridge (0) data
        with fewer pairs than features have directions without any noise, which is an error.
    shared : bool, default=False
        Whether both sides have one vocabulary, as in the paper: then terms
        that both sides use, such as names and numbers, help. Otherwise one
        matrix a side is learned, as if the vocabularies stood side by side.
    signal : {"mean", "cross"}, default="mean"
        "mean": the covariance of the pairs' means, as in the paper. "cross": only what the two
        items of a pair have in common, :math:`(C_{xy} + C_{yx})/2`, with γ on both sides of the
        quotient; with separate vocabularies that is exactly ridge CCA.
    noise : {"centered", "raw"}, default="centered"
        Whether the difference between the means of the two sides (the language itself) is taken
        out before, or counts as noise as in the paper.
    eigenvalue_power : float, default=0.0
        Columns of unit noise are scaled by their signal-to-noise ratio to this power.
    rank : int or None, default=None
        Principal directions that enter, a second regulariser. None keeps them
        all; see `simviz.methods.cca.RidgeCCA` for more than 24,000 features.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative solver for large data.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d_x, k) and (d_y, k)
        Directions, scaled to unit regularised noise.
    x_offset_, y_offset_ : ndarray of shape (k,)
        Projected means.
    spectrum_ : ndarray of shape (k,)
        Ratios of signal to regularised noise λ, descending.
    regularization_ : float
        Ridge that was kept.

    See Also
    --------
    simviz.methods.cca.RidgeCCA : The same without shared terms, up to γ.

    Notes
    -----
    Nested. Since signal and noise add up to the covariance C of all items, the directions are also
    those of :math:`C_s a = \mu (C + \gamma I) a` with :math:`\mu = \lambda/(1+\lambda)`. C falls
    into one block a vocabulary, is factored once, and the leading directions are found by block
    Lanczos from products with sparse data: no dense eigenproblem of the size of the vocabulary,
    and none of twice that size when there are two. With γ = 0 and separate vocabularies OPCA is
    CCA, :math:`\lambda = (1+\rho)/(1-\rho)`. The covariance of all items as signal would give the
    same directions as their means' (λ + 1), hence is no option.

    References
    ----------
    Diamantaras & Kung (1996), Principal component neural networks. Wiley.
    Platt, Toutanova & Yih (2010), Translingual document representations from
    discriminative projections. EMNLP, section 2.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> X = np.c_[Z, rng.standard_normal((200, 2))]
    >>> Y = np.c_[Z, rng.standard_normal((200, 2))]
    >>> model = OPCA(2, shared=True, regularization=0.1).fit(X, Y)
    >>> np.linalg.norm(model.x_projection_, axis=1).round(1)  # only what is shared counts
    array([6.5, 6.5, 0. , 0. ])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="OPCA",
        reference="Platt et al. 2010",
        family="spectral",
        space="either",
        nested=True,
    )
    presets: ClassVar = {"paper": {"noise": "raw"}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "regularization": [interval(Real, 0, None), None],
        "signal": [options("mean", "cross")],
        "noise": [options("centered", "raw")],
        "eigenvalue_power": [interval(Real, 0, 1)],
    }
    _stored: ClassVar[Declared] = {**SPECTRUM, "regularization_": Number(low=0, optional=True)}

    #: Ridges that are tried on dense features, by this share of the items.
    ridges: ClassVar[tuple[float, ...]] = (100.0, 10.0, 1.0, 0.1, 0.01)
    validation_fraction: ClassVar[float] = 0.2
    _contrast = ("pairs", "variance")  # what has to differ, and what one pair does not have

    n_components: int = 200
    _: KW_ONLY
    regularization: float | None = None
    shared: bool = False
    signal: str = "mean"
    noise: str = "centered"
    eigenvalue_power: float = 0.0
    rank: int | None = None
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        self.regularization_ = _DEFAULT_REGULARIZATION
        if self.regularization is None and not (sp.issparse(X) or sp.issparse(Y)):
            how = self.ridges, self._path, _DEFAULT_REGULARIZATION
            self.regularization_ = best_on_held_out(self, (X, Y, relevance), *how)
        super()._fit(X, Y, relevance)

    def _path(
        self, X: Matrix, Y: Matrix, relevance: Relevance, values: Sequence[float]
    ) -> Iterator[OPCA]:
        with fewer_components_unwarned():
            yield from self.regularization_path(X, Y, relevance, values=values)

    def _solve(self, sides: PairedSides) -> None:
        if self.regularization is not None:
            self.regularization_ = float(self.regularization)
        # Sides weigh 1 each in `sides`, 1/2 in OPCA: C there is 2 (C + γI) here.
        gamma = self.regularization_ * sides.noise_variance
        ridge = 2 * gamma if self.signal == "mean" else 4 * gamma
        whitening = self._whitening(sides, ridge)

        def signal(B: Array) -> Array:
            F = whitening.forward(B)
            if self.signal == "mean":
                return whitening.backward((F + sides.across(F)) / 2)
            return whitening.backward(sides.across(F))

        settings = {"random_state": self.random_state, "notify": self._notify}
        size = whitening.rank, self.n_components, sides.dtype
        mu, U = leading_symmetric(signal, *size, **settings)
        mu, U = exact_within(whitening, signal, mu, U)
        if self.regularization == 0 and mu[0] > 1 - 1e-9:
            raise ValueError(
                "OPCA without regularization needs noise in every direction; with "
                f"{sides.n_x} and {sides.n_y} items some have none at all. Set "
                "regularization > 0 (0.1 is a good start), or bring more pairs than features."
            )
        keep = mu > 0
        mu, U = mu[keep], U[:, keep]
        if not len(mu):
            raise ValueError(
                "OPCA found no direction on which relevant pairs agree. "
                "Use signal='mean', or look whether the pairs belong together."
            )
        k = capped_components(self, mu, (whitening.rank, whitening.rank))
        mu = np.minimum(mu[:k].astype(np.float64), 1 - 1e-12)
        A = np.sqrt(2) * whitening.directions(U[:, :k])
        A /= np.sqrt(1 - mu) if self.signal == "mean" else np.sqrt((1 - mu) / 2)
        ratio = mu / (1 - mu) if self.signal == "mean" else (1 + mu) / (1 - mu)
        A *= np.sign(A[np.abs(A).argmax(axis=0), np.arange(k)]) * ratio**self.eigenvalue_power
        A = np.ascontiguousarray(A, dtype=sides.dtype)
        A_x, A_y = (A, A) if self.shared else np.split(A, [len(sides.x_mean)])
        keep_directions(self, A_x, A_y, ratio, sides.dtype, (sides.x_mean, sides.y_mean))

    def _whitening(self, sides: PairedSides, ridge: float) -> Whitening:
        parts = sides.whitenings([ridge] * len(sides.operators))
        whole: Whitening = parts[0] if self.shared else Blocks(parts, [sides.n_x, sides.n_y])
        if self.noise == "centered":
            return whole
        # Noise about 0 counts the difference of the means once more.
        x, y = sides.x_mean, sides.y_mean
        delta = (x - y if self.shared else np.concatenate([x, -y])) / np.sqrt(2)
        return Inflated(whole, whole.coordinates(delta.astype(sides.dtype)))
