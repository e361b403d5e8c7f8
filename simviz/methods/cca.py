"""Canonical correlation analysis with a ridge."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from simviz._types import Array
from simviz.base import LinearPairModel, MethodTags
from simviz.base.stored import SPECTRUM, Declared
from simviz.methods._linalg import leading_symmetric, truncated_svd
from simviz.methods._spectral import (
    PairedSides,
    RegularizationPathMixin,
    candidates,
    capped_components,
    exact_within,
    keep_directions,
)
from simviz.params import interval


@dataclass(eq=False, repr=False)
class RidgeCCA(RegularizationPathMixin, LinearPairModel):
    r"""Canonical correlations: directions on which the two sides agree.

    Maximises the correlation of paired items along each of k directions,
    :math:`\max\; a^\top C_{xy} b / \sqrt{a^\top (C_{xx}+\kappa_x I) a \;
    b^\top (C_{yy}+\kappa_y I) b}`. What varies within one side only is ignored.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the data give fewer.
    regularization : float, default=1.0
        Ridge κ of each side, in units of the mean variance of its principal directions. Without it
        (0) any data with fewer pairs than features correlate perfectly and nothing is learned.
    shared : bool, default=False
        Whether both sides have one vocabulary; then one matrix is learned,
        from every pair taken in both orders.
    rank : int or None, default=None
        Principal directions of each side that enter, a second regulariser
        that is independent of `n_components`. None keeps them all; of more
        than 24,000 features and 12,000 items of a side, the variance of each feature
        and the 200 leading directions in which they vary together.
    correlation_power : float, default=0.5
        Columns are scaled by the canonical correlations to this power, so that
        uncertain directions weigh less in a similarity; 0 is the textbook.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative solver for large data.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d_x, k) and (d_y, k)
        Canonical directions, scaled.
    x_offset_, y_offset_ : ndarray of shape (k,)
        Projected means.
    spectrum_ : ndarray of shape (k,)
        Canonical correlations (regularised), descending.

    See Also
    --------
    simviz.methods.cl_lsi.CLLSI : Also keeps what varies within a side.

    Notes
    -----
    Nested. With :math:`W_x` such that :math:`W_x^\top (C_{xx}+\kappa_x I) W_x = I`, the
    correlations are the singular values of :math:`W_x^\top C_{xy} W_y`, and the directions are
    :math:`W_x U_k`. W comes from principal directions where a side has few items or features,
    after which every other κ is nearly free (`regularization_path`), and from a Cholesky factor
    elsewhere, which is exact however many directions there are. Where items have few kinds of
    partners, as the members of groups do, only the directions on which these can agree are
    whitened. Centring is implicit, so sparse data stay sparse. Relevant pairs count with their
    grades as weights; an item in several pairs is weighted, never copied.

    References
    ----------
    Hotelling (1936), Relations between two sets of variates. Biometrika 28.
    Vinokourov, Shawe-Taylor & Cristianini (2003), Inferring a semantic
    representation of text via cross-language correlation analysis. NIPS 15.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> X, Y = Z @ rng.standard_normal((2, 5)), Z @ rng.standard_normal((2, 4))
    >>> RidgeCCA(2, regularization=0).fit(X, Y).spectrum_.round(3)
    array([1., 1.])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="CCA",
        reference="Vinokourov et al. 2003",
        family="spectral",
        space="either",
        nested=True,
    )
    presets: ClassVar = {"paper": {"correlation_power": 0.0}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "correlation_power": [interval(Real, 0, 1)]
    }
    _stored: ClassVar[Declared] = SPECTRUM

    _contrast = ("items", "correlation")  # what has to differ, and what one pair does not have

    n_components: int = 200
    _: KW_ONLY
    regularization: float = 1.0
    shared: bool = False
    rank: int | None = None
    correlation_power: float = 0.5
    random_state: Any = 0

    def _solve(self, sides: PairedSides) -> None:
        ridges = [self.regularization * v for v in sides.variances]
        whitenings = sides.whitenings(ridges, linked=True)
        settings = {"random_state": self.random_state, "notify": self._notify}
        if self.shared:
            (z,) = whitenings

            def agreement(B: Array) -> Array:
                return z.backward(sides.across(z.forward(B)))

            size = z.rank, self.n_components, sides.dtype
            rho, U = leading_symmetric(agreement, *size, **settings)
            rho, U = exact_within(z, agreement, rho, U)
            keep = rho > 0  # directions on which the sides oppose each other tell nothing
            rho, V, shape = rho[keep], U[:, keep], (z.rank, z.rank)
            U = V
        else:
            x, y = whitenings
            shape = (x.rank, y.rank)
            across = sides.correlations(x, y)
            U, rho, Vt = truncated_svd(across, self.n_components, **settings)
            V = Vt.T
            if not (x.leading is None and y.leading is None):
                rank = len(rho)
                U, V = (B if w.leading is None else candidates(w, B) for w, B in ((x, U), (y, V)))
                P, rho, Qt = np.linalg.svd(U.T @ across.matmat(V), full_matrices=False)
                U, rho, V = U @ P[:, :rank], rho[:rank], V @ Qt[:rank].T
        if not len(rho):
            raise ValueError(
                "CCA with shared=True found no direction on which relevant pairs agree. "
                "Use shared=False, or look whether the pairs belong together."
            )
        k = capped_components(self, rho, shape)
        A = whitenings[0].directions(U[:, :k])
        signs = np.sign(A[np.abs(A).argmax(axis=0), np.arange(k)])
        scale = signs * rho[:k] ** self.correlation_power
        A = A * scale
        B = A if self.shared else whitenings[1].directions(V[:, :k]) * scale
        spectrum = np.minimum(rho[:k], 1.0).astype(np.float64)
        keep_directions(self, A, B, spectrum, sides.dtype, (sides.x_mean, sides.y_mean))
