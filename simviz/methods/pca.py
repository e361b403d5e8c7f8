"""Principal component analysis of both sides together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared
from simviz.methods._linalg import group_means, rows_operator, truncated_svd
from simviz.methods._spectral import TOLERANCE, all_rows, capped_components, keep_directions
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class PCA(LinearPairModel):
    r"""Principal components: the directions in which all items vary most.

    Keeps the k orthonormal directions of largest variance of the items of both
    sides, :math:`\max_{A^\top A = I} \mathrm{tr}\, A^\top C A` with C their
    covariance. It uses no judgments.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the data give fewer.
    center_at_transform : bool, default=False
        Whether the mean is subtracted from new items too. Cosines of text are better without: its
        mean is small, and the shared direction tells common from rare.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative solver for large data.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d, k)
        The same directions for both sides.
    x_offset_, y_offset_ : ndarray of shape (k,) or None
        The projected mean, if `center_at_transform`.
    spectrum_ : ndarray of shape (k,)
        Standard deviations along the directions.

    See Also
    --------
    simviz.methods.lsa.LSA : The same without centring.
    simviz.methods.opca.OPCA : Weighs variation against that within pairs.

    Notes
    -----
    Nested: the first columns are the smaller model. Centring is implicit, so
    sparse data stay sparse.

    References
    ----------
    Pearson (1901), On lines and planes of closest fit to systems of points in
    space. Philosophical Magazine 2(11).

    Examples
    --------
    >>> X = np.array([[0.0, 1], [2, 1], [4, 1]])
    >>> PCA(n_components=1).fit(X).x_projection_.round(3).ravel()
    array([1., 0.])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="PCA",
        reference="Pearson 1901",
        family="spectral",
        space="one",
        uses="unsupervised",
        nested=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"center_at_transform": ["boolean"]}
    _stored: ClassVar[Declared] = SPECTRUM

    n_components: int = 200
    _: KW_ONLY
    center_at_transform: bool = False
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        Z = all_rows(X, Y)
        n = Z.shape[0]
        everything = [slice(0, n)]
        how = {"tol": TOLERANCE, "random_state": self.random_state, "notify": self._notify}
        _, s, Vt = truncated_svd(rows_operator(Z, groups=everything), self.n_components, **how)
        k = capped_components(self, s, Z.shape)
        A = np.ascontiguousarray(Vt[:k].T, dtype=X.dtype)
        self.x_offset_ = self.y_offset_ = None
        means: tuple[Any, ...] = ()
        if self.center_at_transform:
            (mean,) = group_means(Z, np.ones(n), everything)
            means = mean, mean
        keep_directions(self, A, A, s[:k] / np.sqrt(max(n - 1, 1)), X.dtype, means)
