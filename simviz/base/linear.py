"""LinearPairModel: one matrix a side."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simviz.base._rows import Matrix, nonzero_rows
from simviz.base.embedding import EmbeddingModel


class LinearPairModel(EmbeddingModel):
    """A pair model that learns one matrix a side and is done.

    ``_fit`` sets `x_projection_`, `y_projection_`, `n_components_` and, where
    the method centres its data, `x_offset_` and `y_offset_`, the projected
    means.

    Attributes
    ----------
    x_projection_ : ndarray of shape (d_x, k)
        An x item is embedded as ``x @ x_projection_ - x_offset_``; one
        without any known feature as zeros.
    y_projection_ : ndarray of shape (d_y, k)
        The same for the y side.
    x_offset_, y_offset_ : ndarray of shape (k,) or None
        Projected means.
    n_components_ : int
        Dimensions k that were learned.
    """

    x_projection_: NDArray[np.floating]
    y_projection_: NDArray[np.floating]
    x_offset_: NDArray[np.floating] | None = None
    y_offset_: NDArray[np.floating] | None = None

    _component_arrays: ClassVar[tuple[str, ...]] = (
        "x_projection_",
        "y_projection_",
        "x_offset_",
        "y_offset_",
        "spectrum_",
    )

    def _embed_x(self, X: Matrix) -> NDArray[np.floating]:
        return _project(X, self.x_projection_, self.x_offset_)

    def _embed_y(self, Y: Matrix) -> NDArray[np.floating]:
        return _project(Y, self.y_projection_, self.y_offset_)


def _project(
    X: Matrix, A: NDArray[np.floating], offset: NDArray[np.floating] | None
) -> NDArray[np.floating]:
    # A model fitted in float64 still answers float32 with float32.
    Z = np.asarray(X @ A.astype(X.dtype, copy=False))
    if offset is not None:
        # An item without any known feature carries no evidence: it stays at the origin
        # and scores 0 against everything, rather than becoming "the mean, negated".
        Z[nonzero_rows(X)] -= offset.astype(Z.dtype, copy=False)
    return Z
