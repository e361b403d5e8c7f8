"""Similarity between heterogeneous objects by singular value decomposition."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from simviz._types import Array
from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared
from simviz.methods._linalg import (
    Operator,
    Products,
    leading_symmetric,
    product_eigh,
    product_svd,
    truncated_svd,
)
from simviz.methods._spectral import (
    capped_components,
    keep_directions,
    kinds,
    signed_weights,
    stacked,
    sum_of_kinds,
)
from simviz.params import interval, options
from simviz.relevance import Relevance

FEW_ITEMS = 3_000  # an eigenproblem of that size takes seconds


@dataclass(eq=False, repr=False)
class HeterogeneousSVD(LinearPairModel):
    r"""Two maps that put relevant pairs close, in closed form.

    Maximises the summed inner product of relevant pairs minus that of the others,
    :math:`\max_{L_x, L_y} \sum_{(x,y)} r_{xy}\, x^\top L_x L_y^\top y` with orthonormal columns:
    the singular vectors of :math:`M = M_S - M_D = Y^\top R^\top X = U \Sigma V^\top` are
    :math:`L_y = U_k, L_x = V_k`. With one map for both, :math:`L_x = L_y = L`, the sum is
    :math:`\operatorname{tr} L^\top \tfrac12 (M + M^\top) L`, and L holds the eigenvectors of the
    largest eigenvalues.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the rank of M is lower.
    negative_weight : {"balanced", "paper", "per_x", "per_y"} or float, default="balanced"
        What all negatives together weigh against all relevant pairs together. "balanced": as much;
        for one-to-one pairs M is then exactly the cross-covariance (PLS-SVD). "paper": every pair
        weighs 1, so that with all other pairs negative the first component only says how popular
        an item is. "per_x", "per_y": balanced for every single x (y) item, so that frequent ones
        do not dominate. A number is the weight of one negative against one relevant pair.
    shared : bool, default=False
        Whether both sides have one vocabulary; then one matrix is learned,
        from every pair taken in both orders.
    sigma_power : float, default=0.0
        Columns are scaled by the singular values to this power (half of it on
        each side): 0 is the paper, 1 makes the similarity xᵀMₖᵀy.
    measure : {"cosine", "dot"}, default="cosine"
        How two projected items are compared; the paper takes the dot product of unit vectors.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative solver for large data.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d_x, k) and (d_y, k)
        The maps L_x and L_y, scaled by `sigma_power`; the same where `shared`.
    spectrum_ : ndarray of shape (k,)
        Singular values of M; where `shared`, eigenvalues of its symmetric part above 0.

    See Also
    --------
    simviz.methods.cca.RidgeCCA : Normalises by the variance within each side.

    Notes
    -----
    Nested. "All other pairs are negative" is never written out: with :math:`R = (w_+ + w_-) P -
    w_- 1 1^\top`, :math:`M = (w_+ + w_-) Y^\top P^\top X - w_- (Y^\top 1)(X^\top 1)^\top` is a
    sparse product plus rank one; items that are judged alike, such as the members of a group, are
    added up before. Grades weigh relevant pairs, and those below 0 pairs judged not relevant: the
    paper allows r of many values. Where all other pairs are negative, a pair judged so weighs,
    beside being one of them, like a relevant one of its grade, and an x item that has no others is
    compared with these alone. Departures from the paper: the default weights (see above), the
    measure, and one map where `shared`: the paper has two feature spaces.

    References
    ----------
    Wu, Xu & Li, Learning similarity function between objects in
    heterogeneous spaces. Microsoft Research, MSR-TR-2010-86.

    Examples
    --------
    >>> X, Y = np.eye(3), np.eye(4)[[2, 0, 3]]
    >>> HeterogeneousSVD(n_components=2).fit(X, Y).similarity(X, Y).argmax(axis=1)
    array([0, 1, 2])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Heterogeneous SVD",
        reference="Wu, Xu & Li 2010",
        family="spectral",
        space="either",
        uses="discriminative",
        nested=True,
    )
    presets: ClassVar = {"paper": {"negative_weight": "paper", "measure": "dot"}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "negative_weight": [
            options("balanced", "paper", "per_x", "per_y"),
            interval(Real, 0, None),
        ],
        "sigma_power": [interval(Real, 0, 1)],
        "measure": [options("cosine", "dot")],
    }
    _stored: ClassVar[Declared] = SPECTRUM

    n_components: int = 200
    _: KW_ONLY
    negative_weight: str | float = "balanced"
    shared: bool = False
    sigma_power: float = 0.0
    measure: str = "cosine"
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        P, a, b = signed_weights(relevance, self.negative_weight)
        P, a, X = _summed(P, a, X)
        P, b, Y = _summed(P.T, b, Y)
        P = P.T
        shape = (Y.shape[1], X.shape[1])
        # One map has one eigenproblem of both sides together, each as large again.
        together = sum(P.shape) if self.shared else max(P.shape)
        few = together <= min(*shape, FEW_ITEMS // (1 + self.shared))
        settings = {"random_state": self.random_state, "notify": self._notify}
        if self.shared:
            s, U = self._symmetric(X, Y, P, a, b, few=few, **settings)
            Vt = U.T
        elif few:
            K = P.T.toarray() - np.outer(b, a)
            U, s, Vt = product_svd(Y, K, X, self.n_components)
        else:
            M = _signed_products(X, Y, P, a, b)
            U, s, Vt = truncated_svd(M, self.n_components, **settings)
        if self.shared and not len(s):
            raise ValueError(
                "Heterogeneous SVD with shared=True found no direction on which relevant pairs "
                "agree more than others. Use shared=False, or look whether the pairs belong "
                "together."
            )
        if not s[0] > 0:
            raise ValueError(
                "Relevant and other pairs look the same to HeterogeneousSVD: M_S - M_D is zero "
                f"for n_samples = {relevance.matrix.nnz} judgments. Bring at least 2 different "
                "pairs (1 sample has no contrast)."
            )
        k = capped_components(self, s, shape)
        scale = s[:k] ** (self.sigma_power / 2)
        keep_directions(self, Vt[:k].T * scale, U[:, :k] * scale, s[:k], X.dtype)

    def _symmetric(
        self, X: Matrix, Y: Matrix, P: sp.csr_array, a: Array, b: Array, *, few: bool, **how: Any
    ) -> tuple[Array, Array]:
        """The largest eigenvalues above 0 of (M + Mᵀ) / 2, and their eigenvectors."""
        if few:
            K = P.toarray() - np.outer(a, b)
            S = np.zeros((sum(K.shape),) * 2)
            S[: len(K), len(K) :] = K / 2
            s, U = product_eigh(stacked(X, Y), S + S.T, self.n_components)
        else:
            M = _signed_products(X, Y, P, a, b)
            size = X.shape[1], self.n_components, X.dtype
            s, U = leading_symmetric(lambda B: (M.matmat(B) + M.rmatmat(B)) / 2, *size, **how)
            s, U = s[s > 0], U[:, s > 0]
        signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(len(s))])
        return s, U * signs


def _summed(P: sp.csr_array, a: Array, X: Matrix) -> tuple[sp.csr_array, Array, Matrix]:
    """Add up items that are judged alike, as members of a group are: M is the same."""
    kind, first = kinds(sp.hstack([P, a[:, None]]))
    return P[first], a[first], sum_of_kinds(kind).astype(X.dtype) @ X


def _signed_products(X: Matrix, Y: Matrix, P: sp.csr_array, a: Array, b: Array) -> Operator:
    """M = Yᵀ(P − a bᵀ)ᵀX of shape (d_y, d_x), known by its products."""
    x, y, p = Products(X), Products(Y), Products(sp.csr_array(P.astype(X.dtype)))
    ax = np.asarray(a @ X, dtype=np.float64).ravel()
    by = np.asarray(b @ Y, dtype=np.float64).ravel()

    def matmat(B: Array) -> Array:
        out = y.rmatmat(p.rmatmat(x.matmat(B)))
        return out - np.outer(by, ax @ B).astype(out.dtype)

    def rmatmat(B: Array) -> Array:
        out = x.rmatmat(p.matmat(y.matmat(B)))
        return out - np.outer(ax, by @ B).astype(out.dtype)

    return Operator((Y.shape[1], X.shape[1]), matmat, rmatmat, dtype=X.dtype)
