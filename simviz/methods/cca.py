"""Canonical correlation analysis with a ridge."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.methods._linalg import (
    Array,
    Operator,
    dense_svd,
    left_svd,
    matrix_operator,
    numerical_rank,
)
from simviz.methods._spectral import capped_components, pair_weights
from simviz.params import interval
from simviz.relevance import Relevance


class RidgeCCA(LinearPairModel):
    r"""Canonical correlations: directions on which the two sides agree.

    Maximises the correlation of paired items along each of k directions,
    :math:`\max\; a^\top C_{xy} b / \sqrt{a^\top (C_{xx}+\kappa_x I) a \;
    b^\top (C_{yy}+\kappa_y I) b}`. What varies within one side only is ignored.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space. More than the data can give are
        capped with a warning; `n_components_` tells the truth.
    regularization : float, default=1.0
        Ridge κ of each side, in units of the mean variance of its principal
        directions. Without it (0) any data with fewer pairs than features
        correlate perfectly and nothing is learned.
    shared : bool, default=False
        Whether both sides have one vocabulary; then one matrix is learned,
        from every pair taken in both orders.
    rank : int or None, default=None
        Principal directions of each side that enter; None keeps all up to
        4,000. It is independent of `n_components`.
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
    n_components_ : int
        Dimensions k.

    See Also
    --------
    simviz.methods.cl_lsi.CLLSI : Also keeps what varies within a side.

    Notes
    -----
    Nested. Computed from two thin singular value decompositions, implicitly
    centred, so sparse data stay sparse: with
    :math:`X_c = U_x S_x V_x^\top` and :math:`d = s/\sqrt{s^2+\kappa}` the
    correlations are the singular values of
    :math:`\mathrm{diag}(d_x) U_x^\top R\, U_y \mathrm{diag}(d_y)`. Relevant
    pairs count with their grades as weights; an item in several pairs is
    weighted, never copied.

    References
    ----------
    Hotelling (1936), Relations between two sets of variates. Biometrika 28.
    Vinokourov, Shawe-Taylor & Cristianini (2003), Inferring a semantic
    representation of text via cross-language correlation analysis. NIPS 15.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> X, Y = Z @ rng.standard_normal((2, 5)), Z @ rng.standard_normal((2, 4))
    >>> RidgeCCA(2, regularization=0).fit(X, Y).spectrum_.round(3)
    array([1., 1.])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="CCA",
        reference="Vinokourov et al. 2003",
        year=2003,
        family="spectral",
        input="tfidf",
        space="either",
        uses="paired",
        nested=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [interval(Integral, 1, None)],
        "regularization": [interval(Real, 0, None)],
        "shared": ["boolean"],
        "rank": [interval(Integral, 1, None), None],
        "correlation_power": [interval(Real, 0, 1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 200,
        *,
        regularization: float = 1.0,
        shared: bool = False,
        rank: int | None = None,
        correlation_power: float = 0.5,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.shared = shared
        self.rank = rank
        self.correlation_power = correlation_power
        self.random_state = random_state

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        R = pair_weights(self, relevance)
        if self.shared:
            # Every pair in both orders: one side, and a symmetric matrix of weights.
            Z = sp.vstack([X, Y], format="csr") if sp.issparse(X) else np.vstack([X, Y])
            R = sp.csr_array(sp.block_array([[None, R], [R.T, None]]) / 2)
            x = y = self._principal_directions(Z, R.sum(axis=1))
        else:
            x = self._principal_directions(X, R.sum(axis=1))
            y = self._principal_directions(Y, R.sum(axis=0))
        if not (len(x.s) and len(y.s)):
            raise ValueError(
                "CCA needs items that differ: after centring one side is constant "
                f"(n_samples = {relevance.positives.nnz} pairs). Bring at least 2 different "
                "pairs (1 sample has no correlation)."
            )
        C = (x.U.T @ (x.normalised(R, y) @ y.U)) * x.damping[:, None] * y.damping
        if self.shared:
            rho, U = scipy.linalg.eigh((C + C.T) / 2, check_finite=False)
            rho, U = rho[::-1], U[:, ::-1]
            keep = rho > 0  # directions on which the sides oppose each other tell nothing
            rho, U, V = rho[keep], U[:, keep], U[:, keep]
        else:
            U, rho, Vt = dense_svd(C, self.n_components, self.random_state)
            V = Vt.T
        k = capped_components(self, rho, C.shape)
        A = x.directions(U[:, :k])
        signs = np.sign(A[np.abs(A).argmax(axis=0), np.arange(k)])
        scale = signs * rho[:k] ** self.correlation_power
        A *= scale
        B = A if self.shared else y.directions(V[:, :k]) * scale
        self.x_projection_ = np.ascontiguousarray(A, dtype=X.dtype)
        self.y_projection_ = np.ascontiguousarray(B, dtype=X.dtype)
        self.x_offset_ = (x.mean @ A).astype(X.dtype)
        self.y_offset_ = (y.mean @ B).astype(X.dtype)
        self.spectrum_ = np.minimum(rho[:k], 1.0)
        self.n_components_ = k

    def _principal_directions(self, Z: Matrix, marginal: NDArray[np.float64]) -> _Side:
        weights = np.asarray(marginal, dtype=np.float64).ravel()
        mean = np.asarray(weights @ Z, dtype=np.float64).ravel()
        op = matrix_operator(Z, mean, weights)
        limit = self.rank or 4_000
        U, s = left_svd(
            op, min(limit, *op.shape), random_state=self.random_state, notify=self._notify
        )
        r = numerical_rank(s, op.shape)
        # Rounding leaves a constant column a variance of the order of its squared mean.
        if r and s[0] ** 2 <= 1e-13 * float(weights @ _squared_norms(Z)):
            r = 0
        U, s = U[:, :r], s[:r]
        ridge = self.regularization * float(np.mean(s**2)) if r else 0.0
        return _Side(op, weights, mean, U, s, np.sqrt(s**2 + ridge))


class _Side:
    """Principal directions of one weighted, centred side, and what the ridge does to them."""

    def __init__(
        self, op: Operator, weights: Array, mean: Array, U: Array, s: Array, spread: Array
    ) -> None:
        self.op, self.weights, self.mean, self.U, self.s = op, weights, mean, U, s
        self.damping = s / spread  # what is left of a direction's correlation
        self.spread = spread

    def directions(self, W: Array) -> Array:
        """V diag(1 / spread) W, with V = Zᵀ U / s taken for the columns of W only."""
        return self.op.rmatmat(self.U @ (W / (self.s * self.spread)[:, None]))

    def normalised(self, R: sp.csr_array, other: _Side) -> sp.csr_array:
        """diag(w)^-½ R diag(w')^-½, which turns weighted row spaces into each other."""
        left, right = (
            np.divide(1.0, np.sqrt(w), out=np.zeros_like(w), where=w > 0)
            for w in (self.weights, other.weights)
        )
        return sp.csr_array(sp.diags_array(left) @ R @ sp.diags_array(right))


def _squared_norms(Z: Matrix) -> Array:
    if sp.issparse(Z):
        return np.asarray(Z.multiply(Z).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
