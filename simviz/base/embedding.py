"""EmbeddingModel: both sides in one vector space."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from simviz.base.pair_model import Matrix, PairModel, RowScorer, nonzero_rows, unit_rows
from simviz.base.stored import Declared, Size, StoredArray
from simviz.params import as_set_output


class EmbeddingModel(TransformerMixin, PairModel):
    """A pair model that puts both sides into one vector space.

    Subclasses write ``_fit``, and ``_embed_x(X)`` and ``_embed_y(Y)``, which turn validated
    rows into vectors of shape (n, k), as many as ``n_components_`` says; where two vectors
    may be compared in more than one way, the parameter is called ``measure``
    (`similarity` is the method that computes it). Nested methods name their
    fitted arrays over components in ``_component_arrays``.

    Raises
    ------
    ValueError
        As from `PairModel`; from `truncate`, if the method is not nested or has fewer dimensions.
    """

    _stored: ClassVar[Declared] = {"n_components_": Size("components")}
    n_components_: int

    # Fitted arrays whose last axis runs over components: what `truncate` cuts.
    _component_arrays: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _embed_x(self, X: Matrix) -> NDArray[np.floating]:
        """Vectors (n_x, k) of validated x items."""

    @abstractmethod
    def _embed_y(self, Y: Matrix) -> NDArray[np.floating]:
        """Vectors (n_y, k) of validated y items."""

    @property
    def similarity_kind(self) -> str:
        """How two vectors are compared: "cosine", "dot", or as `TopicSimilarity` says."""
        return str(getattr(self, "measure", "cosine"))

    def transform(self, X: Matrix) -> NDArray[np.floating]:
        """Vectors of the x side.

        Parameters
        ----------
        X : matrix of shape (n_x, d_x)
            Items of the x side.

        Returns
        -------
        ndarray of shape (n_x, k)
            One row an item, of the floating type of `X`.
        """
        check_is_fitted(self)
        return self._embed_x(self._check_x(X, reset=False))

    def transform_y(self, y: Matrix) -> NDArray[np.floating]:
        """Vectors of the y side.

        Parameters
        ----------
        y : matrix of shape (n_y, d_y)
            Items of the y side.

        Returns
        -------
        ndarray of shape (n_y, k)
            One row an item, of the floating type of `y`.
        """
        check_is_fitted(self)
        dtype = [np.float64, np.float32]
        return as_set_output(self, self._embed_y(self._check_y(y, dtype=dtype, reset=False)), y)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns of vectors, by the title of the method: "cca0", "cca1".

        Parameters
        ----------
        input_features : object, optional
            Ignored.

        Returns
        -------
        ndarray of str of shape (k,)
            Both sides have the same; ``set_output(transform="pandas")`` shows them.
        """
        check_is_fitted(self)
        title = re.sub(r"\W", "", self.tags.title).lower()
        return np.array([f"{title}{i}" for i in range(self.n_components_)], dtype=object)

    def coordinates(
        self, X: Matrix, y: Matrix | None = None
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Both sides as points whose Euclidean distance mirrors the similarity.

        Parameters
        ----------
        X, y : matrices of shape (n_x, d_x) and (n_y, d_y)
            Items of the two sides.

        Returns
        -------
        x_vectors, y_vectors : ndarray of shape (n_x, k) and (n_y, k)
            Rows of length 1 for cosine (an item without any known feature stays at the origin);
            the projections themselves for dot products, whose distance is the square root of d(x,
            y) = ‖Lxᵀx − Lyᵀy‖² (Wu, Xu & Li).
        """
        check_is_fitted(self)
        X, Y = self._check_sides(X, y, reset=False)
        return self._comparable(self._embed_x(X)), self._comparable(self._embed_y(Y))

    def factors(
        self, X: Matrix, y: Matrix | None = None
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]] | None:
        """Vectors whose products are the similarities, to the last bit.

        Parameters
        ----------
        X, y : matrices of shape (n_x, d_x) and (n_y, d_y)
            Items of the two sides.

        Returns
        -------
        tuple of ndarrays of shape (n_x, k) and (n_y, k), or None
            None where a method compares vectors in a way of its own.
        """
        if type(self)._row_scorer is not EmbeddingModel._row_scorer:
            return None
        return self.coordinates(X, y)

    def coordinates_of(self, items: Matrix, side: Literal["x", "y"]) -> NDArray[np.floating]:
        """Items of one side as `coordinates` places them.

        Parameters
        ----------
        items : matrix of shape (n, d)
            Items of that side.
        side : {"x", "y"}
            Which one.

        Returns
        -------
        ndarray of shape (n, k)
        """
        return self._comparable(self.transform(items) if side == "x" else self.transform_y(items))

    def truncate(self, k: int) -> Self:
        """The k-dimensional model, a view on the same arrays.

        Parameters
        ----------
        k : int
            Dimensions wanted, between 1 and `n_components_`.

        Returns
        -------
        EmbeddingModel
        """
        check_is_fitted(self)
        if not self.tags.nested:
            raise ValueError(
                f"{type(self).__name__} is not nested: its first {k} columns are not its "
                f"{k}-dimensional model. Fit it with n_components={k}."
            )
        if not 1 <= k <= self.n_components_:
            raise ValueError(
                f"k must lie in 1..{self.n_components_}, the dimensions that were learned; "
                f"got {k}."
            )
        model = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                cut = name in self._component_arrays and value is not None
                setattr(model, name, value[..., :k] if cut else value)
        model.set_params(n_components=k)
        model.n_components_ = k
        return model

    def _comparable(self, Z: NDArray[np.floating]) -> NDArray[np.floating]:
        return unit_rows(Z) if self.similarity_kind == "cosine" else Z

    def _candidates(self, Y: Matrix) -> Any:
        return self._comparable(self._embed_y(Y))

    def _row_scorer(self, X: Matrix, candidates: Any) -> RowScorer:
        P = self._comparable(self._embed_x(X))
        return lambda rows: P[rows] @ candidates.T

    def _point_scorer(
        self, points: NDArray[np.floating]
    ) -> Callable[[NDArray[np.floating]], NDArray[np.floating]]:
        """Similarities of points of the one side to these of the other, see `coordinates`."""
        return lambda others: others @ points.T

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        P, Q = self._comparable(self._embed_x(X)), self._comparable(self._embed_y(Y))
        return np.einsum("ik,ik->i", P, Q)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LinearPairModel(EmbeddingModel):
    """A pair model that learns one matrix a side and is done.

    ``_fit`` sets `x_projection_`, `y_projection_`, `n_components_` and, where the method centres
    its data, `x_offset_` and `y_offset_`, the projected means.

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

    _stored: ClassVar[Declared] = {
        "x_projection_": StoredArray(("x_features", "components")),
        "y_projection_": StoredArray(("y_features", "components")),
        "x_offset_": StoredArray(("components",), optional=True),
        "y_offset_": StoredArray(("components",), optional=True),
    }
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
