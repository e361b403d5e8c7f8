"""Similarity between heterogeneous objects by singular value decomposition of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from simviz.base import Matrix, MethodTags
from simviz.methods._kernels import (
    KERNEL_PARAMETERS,
    KernelFunction,
    KernelPairModel,
    column_signs,
    singular_triplets,
    squared_norms,
)
from simviz.methods._spectral import capped_components, signed_weights
from simviz.params import interval, options
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class KernelHeterogeneousSVD(KernelPairModel):
    r"""Two curved maps that put relevant pairs close, in closed form.

    As heterogeneous SVD, between the feature spaces of two kernels: maximises
    :math:`\max_{L_x, L_y} \sum_{(x,y)} r_{xy}\, \phi(x)^\top L_x L_y^\top
    \psi(y)` with orthonormal columns, where :math:`\phi^\top\phi' = k_x` and
    :math:`\psi^\top\psi' = k_y`. With kernels that fade with distance, the
    pairs of similar items decide, so that classes need not be told apart by a
    plane.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space. More than the kernels can give are
        capped with a warning; `n_components_` tells the truth.
    x_kernel, y_kernel : {"rbf", "linear", "cosine", "polynomial", "chi2"}, default="rbf"
        How items of a side compare. "rbf": exp(−γ‖a − b‖²); "polynomial":
        (γaᵀb + coef0)^degree; "chi2": exp(−γΣ(a − b)²/(a + b)) for histograms.
        In code also "precomputed", for rows that hold the kernels with the
        training items, or a function that takes two matrices of rows and gives
        the matrix of their kernels.
    x_gamma, y_gamma : float or None, default=None
        Width γ of each side. None takes, for "rbf" and "chi2", 1 over the squared
        distance to the nearest other item (its median), but at most 4 over the
        median squared distance of all; for "polynomial" 1 over the mean
        squared length.
    degree : int, default=3
        Degree of the "polynomial" kernel.
    coef0 : float, default=1.0
        Constant term of the "polynomial" kernel.
    negative_weight : {"balanced", "paper", "per_x", "per_y"} or float, default="balanced"
        What all negatives together weigh against all relevant pairs together.
        "balanced": as much. "paper": every pair weighs 1. "per_x", "per_y":
        balanced for every single x (y) item, so that frequent ones do not
        dominate. A number is the weight of one negative against one relevant
        pair.
    sigma_power : float, default=0.0
        Columns are scaled by the singular values to this power (half of it on
        each side): 0 is the paper.
    measure : {"cosine", "dot"}, default="cosine"
        How two projected items are compared; the paper takes the dot product
        of unit vectors.
    max_landmarks : int, default=2000
        Up to so many items a side is computed exactly; of more, so many are
        chosen as landmarks.
    random_state : int, RandomState instance or None, default=0
        Choice of the landmarks.

    Attributes
    ----------
    x_landmarks_, y_landmarks_ : matrix of shape (m, d)
        Training items whose kernels decide; their numbers where kernels are
        precomputed.
    x_coefficients_, y_coefficients_ : ndarray of shape (m, k)
        An item is embedded as its kernels with the landmarks times these; one
        without any known feature as zeros.
    x_gamma_, y_gamma_ : float or None
        Width γ of each side, where its kernel has one.
    spectrum_ : ndarray of shape (k,)
        Singular values.
    n_components_ : int
        Dimensions k.

    See Also
    --------
    simviz.methods.heterogeneous_svd.HeterogeneousSVD : The same with straight maps.
    simviz.methods.kernel_cca.KernelCCA : Normalises by the variance within each side.

    Notes
    -----
    Nested. With any factors :math:`K_x = G_x G_x^\top` and
    :math:`K_y = G_y G_y^\top` the solution is the singular value decomposition
    of :math:`G_y^\top R^\top G_x` over distinct items: no inverse is needed and
    kernels may be rank-deficient, which they are whenever an item occurs twice
    or two look alike. The paper assumes full rank, and its Algorithm 2 prints
    :math:`K_x` and :math:`K_y` in each other's place in step 4; by its equation
    5 they stand as here. With linear kernels this is heterogeneous SVD.

    The paper's bound asks for vectors of length 1. "rbf", "chi2" and "cosine"
    have them by themselves, "linear" and "polynomial" where rows have that
    length. Departures from the paper: the default weights and measure, and an
    incomplete Cholesky decomposition with randomly proposed pivots for many
    items.

    Landmarks stand for the items that resemble them. Items that resemble no
    other, such as single keywords, are lost beyond `max_landmarks`: raise it
    there.

    References
    ----------
    Wu, Xu & Li (2010), Learning similarity function between objects in
    heterogeneous spaces. Microsoft Research, MSR-TR-2010-86.

    Chen, Epperly, Tropp & Webber (2025), Randomly pivoted Cholesky: practical
    approximation of a kernel matrix with few entry evaluations. Communications
    on Pure and Applied Mathematics 78.

    Examples
    --------
    Inner and outer points of a disc, which no plane separates:

    >>> import numpy as np
    >>> angle = np.arange(12) * np.pi / 6
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, Y = np.vstack([ring, 3 * ring]), np.eye(2)[np.repeat([0, 1], 12)]
    >>> model = KernelHeterogeneousSVD(1, y_kernel="linear").fit(X, Y)
    >>> model.similarity(np.array([[0.5, 0.5], [-2.0, 2.5]]), np.eye(2)).round(3)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Kernel heterogeneous SVD",
        reference="Wu, Xu & Li 2010",
        year=2010,
        family="spectral",
        input="tfidf",
        space="two",
        uses="discriminative",
        nested=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_PARAMETERS,
        "negative_weight": [
            options("balanced", "paper", "per_x", "per_y"),
            interval(Real, 0, None),
        ],
        "sigma_power": [interval(Real, 0, 1)],
        "measure": [options("cosine", "dot")],
    }

    n_components: int = 200
    _: KW_ONLY
    x_kernel: str | KernelFunction = "rbf"
    y_kernel: str | KernelFunction = "rbf"
    x_gamma: float | None = None
    y_gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    negative_weight: str | float = "balanced"
    sigma_power: float = 0.0
    measure: str = "cosine"
    max_landmarks: int = 2_000
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        P, a, b = signed_weights(relevance, self.negative_weight)
        found = self._features({"x": X, "y": Y}, {"x": None, "y": None})
        x, y = found["x"], found["y"]
        G, H = x.U * x.s, y.U * y.s
        # R = P − abᵀ, so M = HᵀRᵀG needs no other pair than those of P.
        M = H.T @ (P.T @ G) - np.outer(b @ H, a @ G)
        U, s, Vt = singular_triplets(M) if M.size else _nothing()
        lengths = [squared_norms(Z).max(initial=0.0) for Z in (G, H)]
        total = abs(P).sum() + a.sum() * b.sum()
        if not s[0] > 1e-12 * total * np.sqrt(lengths[0] * lengths[1]):
            raise ValueError(
                "Relevant and other pairs look the same to KernelHeterogeneousSVD: M_S - M_D is "
                f"zero for n_samples = {relevance.matrix.nnz} judgments. Bring at least 2 "
                "different pairs (1 sample has no contrast), or another kernel."
            )
        k = capped_components(self, s, M.shape)
        A, B = Vt[:k].T, U[:, :k]
        scale = column_signs(x, A) * s[:k] ** (self.sigma_power / 2)
        self._keep(x, A * scale, y, B * scale)
        self.spectrum_ = s[:k]
        self.n_components_ = k


def _nothing() -> tuple[Any, Any, Any]:
    """The decomposition of a matrix without rows or columns."""
    return np.zeros((0, 1)), np.zeros(1), np.zeros((1, 0))
