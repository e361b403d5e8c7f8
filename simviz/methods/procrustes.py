"""Orthogonal Procrustes: the rotation that brings paired vectors together."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared
from simviz.methods._spectral import keep_directions, unit_moments
from simviz.params import interval
from simviz.relevance import Relevance

_TIE = 1e-6  # of the largest singular value: what decides where the pairs do not


@dataclass(eq=False, repr=False)
class Procrustes(LinearPairModel):
    r"""Orthogonal Procrustes: the rotation that brings paired vectors together.

    :math:`\min_W\; \|XW - Y\|^2` over all orthogonal W. Angles within a side stay as they are, so
    that nothing of what the vectors know is lost and little can be learned by heart.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimensions that are kept, those that vary most between pairs; None keeps all,
        and then the cosine is that of the rotated vectors.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d, k)
        U and V, whose product :math:`U V^\top` is the rotation.
    spectrum_ : ndarray of shape (k,)
        Singular values of the mean product of paired vectors, descending.

    See Also
    --------
    simviz.methods.ridge_identity.RidgeIdentity : Stretches too, if the pairs ask for it.
    simviz.methods.heterogeneous_svd.HeterogeneousSVD : The same products, with negatives.

    Notes
    -----
    Nested. Rows are scaled to length 1 first (Xing et al.), and nothing is centred. With
    pair weights R, :math:`X^\top R Y = U S V^\top`; both sides are mapped, as in Smith et
    al., which compares like one rotation of x. Fewer pairs than dimensions leave part
    of the rotation open: of all that do equally well the one nearest to the identity
    is taken, by adding a millionth of the largest singular value to the diagonal.

    References
    ----------
    Schönemann (1966), A generalized solution of the orthogonal Procrustes problem.
    Psychometrika 31(1).
    Xing, Wang, Liu & Lin (2015), Normalized word embedding and orthogonal transform for
    bilingual word translation. NAACL.
    Smith, Turban, Hamblin & Hammerla (2017), Offline bilingual word vectors, orthogonal
    transformations and the inverted softmax. ICLR, section 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 3))
    >>> Y = X[:, [1, 2, 0]]
    >>> model = Procrustes().fit(X, Y)
    >>> (model.x_projection_ @ model.y_projection_.T).round().astype(int)
    array([[0, 0, 1],
           [1, 0, 0],
           [0, 1, 0]])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Orthogonal Procrustes",
        reference="Schönemann 1966",
        family="spectral",
        input="pretrained",
        space="one",
        nested=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [interval(Integral, 1, None), None]
    }
    _stored: ClassVar[Declared] = SPECTRUM

    n_components: int | None = None

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        _, _, across = unit_moments(self, X, Y, relevance)
        d = len(across)
        largest = float(np.linalg.norm(across, 2)) or 1.0
        U, s, Vt = np.linalg.svd(across + _TIE * largest * np.eye(d))
        k = min(self.n_components or d, d)
        U, V = U[:, :k], Vt[:k].T
        signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(k)])
        keep_directions(self, U * signs, V * signs, s[:k], X.dtype)
