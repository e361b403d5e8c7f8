"""Cross-language latent semantic indexing."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from simviz._types import Array
from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared
from simviz.methods._linalg import (
    Operator,
    Products,
    dense_product,
    gram_matrix,
    numerical_rank,
    truncated_svd,
)
from simviz.methods._spectral import capped_components, keep_directions, pair_weights
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class CLLSI(LinearPairModel):
    r"""Cross-language LSI: the leading directions of merged pairs.

    Writes both items of a pair into one long row and keeps the k directions in which those rows
    vary most: the singular vectors of :math:`Z = [X\;Y] \approx U \Sigma [A_x; A_y]^\top`. Later,
    an item of one side alone is projected by its own block.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the data give fewer, as
        are all directions of two vocabularies: together they keep the sides apart.
    shared : bool, default=False
        Whether both sides have one vocabulary; then a pair is merged into one
        document x + y and one matrix is learned.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative solver for large data.

    Attributes
    ----------
    x_projection_ : ndarray of shape (d_x, k)
        Rows of the x side's features.
    y_projection_ : ndarray of shape (d_y, k)
        Rows of the y side's features.
    spectrum_ : ndarray of shape (k,)
        Singular values of the merged pairs.

    See Also
    --------
    simviz.methods.cca.RidgeCCA : Looks only at what both sides share.

    Notes
    -----
    Nested. Each relevant pair counts with its grade as a weight, through
    products with the relevance matrix: rows are never copied. The variation
    within each side competes with what the sides have in common, so it needs
    more dimensions than CCA. Only items that occur in a relevant pair count.

    References
    ----------
    Dumais, Letsche, Littman & Landauer (1997), Automatic cross-language
    retrieval using latent semantic indexing. AAAI Spring Symposium.

    Examples
    --------
    >>> X, Y = np.eye(3), np.eye(3)[:, [1, 2, 0]]
    >>> CLLSI(n_components=3).fit(X, Y).similarity(X, Y).argmax(axis=1)
    array([0, 1, 2])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="CL-LSI",
        reference="Dumais et al. 1997",
        family="spectral",
        space="either",
        nested=True,
    )
    _stored: ClassVar[Declared] = SPECTRUM

    n_components: int = 200
    _: KW_ONLY
    shared: bool = False
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        op = _merged_pairs(X, Y, pair_weights(self, relevance), shared=self.shared)
        _, s, Vt = truncated_svd(
            op, self.n_components, random_state=self.random_state, notify=self._notify
        )
        rank = numerical_rank(s, op.shape)
        limit = None if self.shared else _last_coupled(Vt[:rank], X.shape[1])
        k = capped_components(self, s, op.shape, limit)
        A = np.ascontiguousarray(Vt[:k].T, dtype=X.dtype)
        A_x, A_y = (A, A) if self.shared else np.split(A, [X.shape[1]])
        keep_directions(self, A_x, A_y, s[:k], X.dtype)


def _last_coupled(Vt: Array, split: int) -> int | None:
    """How many leading directions tell of both sides together; None where no number does."""
    # All directions of the data make V Vᵀ a projection that leaves each side to itself: what it
    # has between the sides, which is what similarities are made of, is rounding.
    A = Vt[:, :split]
    inner = A @ A.T
    own = np.cumsum(np.diagonal(inner))
    together = own - np.diagonal(np.cumsum(np.cumsum(inner**2, axis=0), axis=1))
    size = np.arange(1, len(Vt) + 1)
    coupled = np.flatnonzero(together > 1e3 * np.finfo(Vt.dtype).eps * size)
    return int(coupled[-1]) + 1 if len(coupled) else None


def _merged_pairs(X: Matrix, Y: Matrix, weights: sp.csr_array, *, shared: bool) -> Operator:
    """Rows √(w n)·[x_i  y_j] (or their sum), one a pair, known by their products."""
    pairs = weights.tocoo()
    n = pairs.nnz
    root = np.sqrt(pairs.data * n).astype(X.dtype)
    rows = np.arange(n)
    pick_x, pick_y = (
        Products(sp.csr_array((root, (rows, column)), shape=(n, Z.shape[0])))
        for column, Z in ((pairs.row, X), (pairs.col, Y))
    )
    x, y = Products(X), Products(Y)
    split = X.shape[1]

    def matmat(B: Array) -> Array:
        Bx, By = (B, B) if shared else (B[:split], B[split:])
        return pick_x.matmat(x.matmat(Bx)) + pick_y.matmat(y.matmat(By))

    def rmatmat(B: Array) -> Array:
        top, bottom = x.rmatmat(pick_x.rmatmat(B)), y.rmatmat(pick_y.rmatmat(B))
        return top + bottom if shared else np.vstack([top, bottom])

    def gram(dtype: Any) -> Array:
        Zx, Zy = pick_x.X @ x.X, pick_y.X @ y.X
        if shared:
            return gram_matrix(Zx + Zy, dtype)
        return gram_matrix(Zx, dtype) + gram_matrix(Zy, dtype)

    def rgram(dtype: Any) -> Array:
        R = weights * n
        w_x, w_y = (sp.diags_array(np.asarray(R.sum(axis=axis)).ravel()) for axis in (1, 0))
        Cxx, Cyy = (
            dense_product(z.transpose, sp.csr_array(w) @ z.X, dtype)
            for z, w in ((x, w_x), (y, w_y))
        )
        Cxy = dense_product(x.transpose, R @ y.X, dtype)
        if shared:
            return Cxx + Cyy + Cxy + Cxy.T
        return np.block([[Cxx, Cxy], [Cxy.T, Cyy]])

    width = split if shared else split + Y.shape[1]
    return Operator((n, width), matmat, rmatmat, gram, rgram, X.dtype)
