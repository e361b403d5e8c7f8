"""Canonical correlation analysis with kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from simviz._blas import eigh
from simviz.base import Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared
from simviz.methods._kernels import (
    Array,
    Features,
    KernelFunction,
    KernelPairModel,
    column_signs,
    singular_triplets,
)
from simviz.methods._spectral import capped_components, normalised, pair_weights, stacked
from simviz.params import interval
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class KernelCCA(KernelPairModel):
    r"""Canonical correlations of curved directions on which the sides agree.

    Maximises the correlation of paired items along functions of the two kernels' spaces,
    :math:`\max\; \alpha^\top K_x R K_y \beta / \sqrt{\alpha^\top (K_x W_x K_x + \kappa_x
    K_x)\alpha \; \beta^\top (K_y W_y K_y + \kappa_y K_y) \beta}` with centred kernels and the
    pairs' weights R. What varies within one side only is ignored.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the kernels give fewer.
    x_kernel, y_kernel : {"rbf", "linear", "cosine", "polynomial", "chi2"}, default="rbf"
        How items of a side compare. "rbf": exp(−γ‖a − b‖²); "polynomial": (γaᵀb + coef0)^degree;
        "chi2": exp(−γΣ(a − b)²/(a + b)) for histograms. In code also "precomputed", for rows that
        hold the kernels with the training items, or a function that takes two matrices of rows and
        gives the matrix of their kernels.
    x_gamma, y_gamma : float or None, default=None
        Width γ of each side. None takes, for "rbf" and "chi2", 1 over the squared distance to the
        nearest other item (its median), but at most 4 over the median squared distance of all; for
        "polynomial" 1 over the mean squared length.
    degree : int, default=3
        Degree of the "polynomial" kernel.
    coef0 : float, default=1.0
        Constant term of the "polynomial" kernel.
    regularization : float, default=1.0
        Ridge κ of each side, in units of the mean variance of its principal
        directions. Kernels correlate any data perfectly without it.
    shared : bool, default=False
        Whether both sides have one vocabulary; then one map is learned, from
        every pair taken in both orders, and both sides have one kernel.
    correlation_power : float, default=0.5
        Columns are scaled by the canonical correlations to this power, so that
        uncertain directions weigh less in a similarity; 0 is the textbook.
    max_landmarks : int, default=2000
        Up to so many items a side is computed exactly; of more, so many are chosen as landmarks.
    random_state : int, RandomState instance or None, default=0
        Choice of the landmarks.

    Attributes
    ----------
    x_landmarks_, y_landmarks_ : matrix of shape (m, d)
        Training items whose kernels decide; their numbers where kernels are precomputed.
    x_coefficients_, y_coefficients_ : ndarray of shape (m, k)
        An item is embedded as its kernels with the landmarks times these, less
        the offset; one without any known feature as zeros.
    x_offset_, y_offset_ : ndarray of shape (k,)
        The mean of the training items of a side.
    x_gamma_, y_gamma_ : float or None
        Width γ of each side, where its kernel has one.
    spectrum_ : ndarray of shape (k,)
        Canonical correlations (regularised), descending.
    n_components_ : int
        Dimensions k.

    See Also
    --------
    simviz.methods.cca.RidgeCCA : The same with straight directions.
    simviz.methods.kernel_heterogeneous_svd.KernelHeterogeneousSVD : Looks at wrong pairs too.

    Notes
    -----
    Nested. Centred kernels :math:`K = G G^\top` become features by their eigenvectors (of many
    items: by an incomplete Cholesky decomposition), and ridge CCA of the features follows from
    their singular vectors, as in `simviz.methods.cca.RidgeCCA`: with linear kernels it is that
    method. Items are centred by the mean of the training items of their side, with shared=True
    too. Relevant pairs count with their grades as weights; an item in several pairs is weighted,
    never copied.

    Landmarks stand for the items that resemble them. Items that resemble no other, such as single
    keywords, are lost beyond `max_landmarks`: raise it there.

    References
    ----------
    Hardoon, Szedmak & Shawe-Taylor (2004), Canonical correlation analysis: an
    overview with application to learning methods. Neural Computation 16.

    Bach & Jordan (2002), Kernel independent component analysis. Journal of
    Machine Learning Research 3.

    Examples
    --------
    A parabola has no linear correlation with its argument:

    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> KernelCCA(1, x_kernel="linear", y_kernel="linear").fit(X, X**2).spectrum_.round(3)
    array([0.])
    >>> KernelCCA(1, regularization=0.1).fit(X, X**2).spectrum_.round(3)
    array([0.982])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Kernel CCA",
        reference="Hardoon et al. 2004",
        family="spectral",
        space="either",
        nested=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "correlation_power": [interval(Real, 0, 1)]
    }
    _stored: ClassVar[Declared] = SPECTRUM

    n_components: int = 200
    _: KW_ONLY
    x_kernel: str | KernelFunction = "rbf"
    y_kernel: str | KernelFunction = "rbf"
    x_gamma: float | None = None
    y_gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    regularization: float = 1.0
    shared: bool = False
    correlation_power: float = 0.5
    max_landmarks: int = 2_000
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        R = pair_weights(self, relevance)
        w_x, w_y = (np.asarray(R.sum(axis=axis))[:, None] for axis in (1, 0))
        if self.shared:
            self._check_one_kernel()
            # Every pair in both orders: one side, and a symmetric matrix of weights.
            Z = stacked(X, Y)
            R = sp.csr_array(sp.block_array([[None, R], [R.T, None]]))
            x = y = self._features({"x": Z}, {"x": scipy.linalg.block_diag(w_x, w_y)})["x"]
        else:
            features = self._features({"x": X, "y": Y}, {"x": w_x, "y": w_y})
            x, y = features["x"], features["y"]
        if not (len(x.s) and len(y.s)):
            raise ValueError(
                "Kernel CCA needs items that differ: after centring one side is constant "
                f"(n_samples = {relevance.positives.nnz} pairs). Bring at least 2 different "
                "pairs (1 sample has no correlation), or another kernel."
            )
        spread_x, spread_y = self._spread(x), self._spread(y)
        C = x.U.T @ (normalised(R) @ y.U)
        C *= (x.s / spread_x)[:, None]
        C *= y.s / spread_y
        if self.shared:
            rho, U = eigh((C + C.T) / 2, overwrite=True)
            keep = np.flatnonzero(rho > 0)[::-1]  # opposed directions tell nothing
            rho, U = rho[keep], U[:, keep]
            V = U
        else:
            U, rho, Vt = singular_triplets(C)
            V = Vt.T
        if not len(rho):
            raise ValueError(
                "Kernel CCA with shared=True found no direction on which relevant pairs agree. "
                "Use shared=False, or look whether the pairs belong together."
            )
        k = capped_components(self, rho, C.shape)
        A = U[:, :k] / spread_x[:, None]
        scale = column_signs(x, A) * rho[:k] ** self.correlation_power
        A *= scale
        B = A if self.shared else V[:, :k] / spread_y[:, None] * scale
        self._keep(x, A, y, B)
        self.spectrum_ = np.minimum(rho[:k], 1.0)
        self.n_components_ = k

    def _spread(self, side: Features) -> Array:
        """Standard deviations along the principal directions, with the ridge."""
        return np.sqrt(side.s**2 + self.regularization * np.mean(side.s**2))

    def _check_one_kernel(self) -> None:
        settings = [(self.x_kernel, self.x_gamma), (self.y_kernel, self.y_gamma)]
        if settings[0] != settings[1]:
            described = [f"{kernel!r} with gamma={gamma}" for kernel, gamma in settings]
            raise ValueError(
                "shared=True learns one map of both sides, from one kernel; got "
                f"{described[0]} on the x side and {described[1]} on the y side. Give both sides "
                "the same, or use shared=False."
            )
