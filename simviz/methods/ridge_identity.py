"""Ridge regression from one side to the other, shrunk towards the identity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from simviz._types import Reals
from simviz.base import LinearPairModel, Matrix, MethodTags
from simviz.base.stored import Declared, Number
from simviz.methods._spectral import unit_moments
from simviz.methods._training import best_on_held_out
from simviz.params import interval, options
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class RidgeIdentity(LinearPairModel):
    r"""Ridge towards the identity: a linear map that stays near where it starts.

    Both sides are vectors of one space, such as those of one encoder, whose cosine is good
    already. A map W brings the x item of each relevant pair near its y item, :math:`\min_W\; \|XW
    - Y\|^2 + \lambda \|W - I\|^2`, and leaves alone what the pairs say nothing of.

    Parameters
    ----------
    mapped : {"both", "x", "y"}, default="both"
        The side that is mapped. "both" learns a map in either direction and gives
        each side half of their mean.
    regularization : float or None, default=None
        Weight λ, in units of the mean variance of a dimension. None tries seven values from
        0.001 to 1000 on held-out training pairs; with the last one the cosine is
        nearly that of the given vectors.
    validation_fraction : float, default=0.2
        Share of the items held out to choose λ, where there would be at least 20 of
        them (else it is 1); in the end all items are learned from.
    random_state : int, RandomState instance or None, default=0
        Seed of what is held out.

    Attributes
    ----------
    x_projection_, y_projection_ : ndarray of shape (d, d)
        The maps; the identity for a side that is not mapped.
    n_components_ : int
        Width d of the vectors.
    regularization_ : float
        Weight λ that was kept.

    See Also
    --------
    simviz.methods.cosine.Cosine : What λ without end leaves: the vectors as they are.
    simviz.methods.procrustes.Procrustes : A rotation, which keeps all lengths.

    Notes
    -----
    Rows are scaled to length 1 first, as the cosine does. With pair weights R, grades that sum to
    1, :math:`W = (X^\top D_x X + \lambda I)^{-1} (X^\top R Y + \lambda I)`, where :math:`D_x`
    holds the sums of the rows of R. With V for the map from y to x, "both" takes :math:`(W +
    V^\top) / 2 = U S Z^\top` and maps x by :math:`U S^{1/2}` and y by :math:`Z S^{1/2}`, so that
    neither side is preferred. Nothing is centred. λ is chosen by the mean average precision of
    both directions, the NDCG where there are grades, the AUC where unjudged pairs are ignored.

    References
    ----------
    Hoerl & Kennard (1970), Ridge regression: biased estimation for nonorthogonal
    problems. Technometrics 12(1).
    Kienzle & Chellapilla (2006), Personalized handwriting recognition via biased
    regularization. ICML, section 3: the penalty on leaving a model that is given.
    Mikolov, Le & Sutskever (2013), Exploiting similarities among languages for machine
    translation. arXiv:1309.4168: a linear map between vectors, by least squares.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> Y = X * [1.0, 1.0, 1.0, -1.0]
    >>> RidgeIdentity(mapped="x").fit(X, Y).x_projection_.diagonal().round()
    array([ 1.,  1.,  1., -1.])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Ridge towards the identity",
        reference="Kienzle & Chellapilla 2006",
        family="spectral",
        input="pretrained",
        space="one",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "mapped": [options("both", "x", "y")],
        "regularization": [interval(Real, 0, None, closed="neither"), None],
    }
    _stored: ClassVar[Declared] = {"regularization_": Number(positive=True)}

    #: Values of λ that are tried: with the largest the map is nearly the identity.
    ridges: ClassVar[tuple[float, ...]] = tuple(10.0**power for power in range(3, -4, -1))

    mapped: str = "both"
    _: KW_ONLY
    regularization: float | None = None
    validation_fraction: float = 0.2
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        data, value = (X, Y, relevance), self.regularization
        if value is None:
            value = best_on_held_out(self, data, self.ridges, self._path, default=1.0)
        for _ in self._path(*data, [value]):
            pass

    def _path(
        self, X: Matrix, Y: Matrix, relevance: Relevance, values: Sequence[float]
    ) -> Iterator[RidgeIdentity]:
        """Take the map of each λ in turn; what does not depend on it is found once."""
        x_moments, y_moments, across = unit_moments(self, X, Y, relevance)
        eye, dtype = np.eye(len(across)), X.dtype
        for value in values:
            W = _mapped(x_moments, across, value) if self.mapped != "y" else eye
            V = _mapped(y_moments, across.T, value) if self.mapped != "x" else eye
            if self.mapped == "both":
                U, s, Zt = np.linalg.svd((W + V.T) / 2)
                W, V = U * np.sqrt(s), Zt.T * np.sqrt(s)
            self.x_projection_, self.y_projection_ = W.astype(dtype), V.astype(dtype)
            self.n_components_, self.regularization_ = len(eye), float(value)
            yield self


def _mapped(moments: Reals, across: Reals, value: float) -> Reals:
    """(C + λI)⁻¹ (C_xy + λI)."""
    d = len(moments)
    ridge = value * (np.trace(moments) or 1.0) / d * np.eye(d)
    return np.asarray(np.linalg.solve(moments + ridge, across + ridge), dtype=np.float64)
