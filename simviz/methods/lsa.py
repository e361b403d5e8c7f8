"""Latent semantic analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared
from simviz.methods._linalg import rows_operator, truncated_svd
from simviz.methods._spectral import TOLERANCE, all_rows, capped_components, keep_directions
from simviz.params import interval
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class LSA(LinearPairModel):
    r"""Latent semantic analysis: the leading directions of all rows.

    Keeps the k directions in which the items of both sides together vary
    most: :math:`\min_{A^\top A = I} \|Z - Z A A^\top\|_F^2` with Z the rows of
    both sides. It uses no judgments, only which features occur together.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the data give fewer.
    sigma_power : float, default=0.0
        Columns are divided by singular values to this power: 0 projects on
        the directions, 1 is classical folding-in.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative solver for large data.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d, k)
        The same directions for both sides.
    spectrum_ : ndarray of shape (k,)
        Singular values.

    See Also
    --------
    simviz.methods.cl_lsi.CLLSI : Uses which items belong together.

    Notes
    -----
    Nested: the first columns are the smaller model. Data are not centred.

    References
    ----------
    Deerwester, Dumais, Furnas, Landauer & Harshman (1990), Indexing by
    latent semantic analysis. JASIS 41(6).

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    >>> LSA(n_components=2).fit(X).similarity(X[:1], X[1:]).round(2)
    array([[1., 0.]])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="LSA",
        reference="Deerwester et al. 1990",
        family="spectral",
        space="one",
        uses="unsupervised",
        nested=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sigma_power": [interval(Real, 0, 1)]
    }
    _stored: ClassVar[Declared] = SPECTRUM

    n_components: int = 200
    _: KW_ONLY
    sigma_power: float = 0.0
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        Z = all_rows(X, Y)
        how = {"tol": TOLERANCE, "random_state": self.random_state, "notify": self._notify}
        _, s, Vt = truncated_svd(rows_operator(Z), self.n_components, **how)
        k = capped_components(self, s, Z.shape)
        A = Vt[:k].T
        if self.sigma_power:
            # Of zeros alone one direction is kept, which has no variance to divide by.
            A = A * np.where(s[:k] > 0, s[:k], 1) ** -self.sigma_power
        keep_directions(self, A, A, s[:k], X.dtype)
