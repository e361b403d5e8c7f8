"""PairPipeline: features for both sides plus a method; what is trained and stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from simviz.base import EmbeddingModel, IterativeMixin, PairModel, nonzero_rows
from simviz.callbacks import CallbackMixin
from simviz.data.items import Items
from simviz.data.pairs import PairSet

if TYPE_CHECKING:
    from simviz.pipeline._blend import Pipeline


class PairPipeline(CallbackMixin, BaseEstimator):
    """Features for both sides plus a method.

    Parameters
    ----------
    model : PairModel
        The method; a clone is fitted.
    x_features : estimator
        Turns the content of x items into rows; a clone is fitted.
    y_features : estimator or None, default=None
        The same for the y side. None fits one transformer on both sides, so
        that they share one vocabulary.

    Attributes
    ----------
    model_ : PairModel
        The fitted method.
    x_features_, y_features_ : estimator
        The fitted transformers; the same object where the sides share one.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["corazón rojo", "coche azul"])
    >>> pipeline = default_pipeline("cca", pairs, n_components=1).fit(pairs)
    >>> pipeline.similarity(pairs.x, pairs.y).argmax(axis=1)
    array([0, 1])
    """

    def __init__(
        self, model: PairModel, x_features: BaseEstimator, y_features: BaseEstimator | None = None
    ) -> None:
        self.model = model
        self.x_features = x_features
        self.y_features = y_features

    def fit(self, pairs: PairSet, validation: PairSet | None = None) -> Self:
        """Learn features and method from a pair set.

        Parameters
        ----------
        pairs : PairSet
            Training pairs.
        validation : PairSet, optional
            Only watched, by methods that stop early.

        Returns
        -------
        self
            The same object.

        Raises
        ------
        ValueError
            If the content or a parameter does not fit.
        """
        x, y = pairs.x.content, pairs.y.content
        if self.y_features is None:
            both = x if pairs.x is pairs.y else np.concatenate([x, y])
            self.x_features_ = self._heard(clone(self.x_features)).fit(both)
            self.y_features_ = self.x_features_
        else:
            self.x_features_ = self._heard(clone(self.x_features)).fit(x)
            self.y_features_ = self._heard(clone(self.y_features)).fit(y)
        model = clone(self.model).set_callbacks(*getattr(self, "_callbacks", ()))
        watched = {}
        if validation is not None and isinstance(model, IterativeMixin):
            watched = {
                "X_val": self.x_features_.transform(validation.x.content),
                "y_val": self.y_features_.transform(validation.y.content),
                "relevance_val": validation.relevance,
            }
        X, Y = self.x_features_.transform(x), self.y_features_.transform(y)
        self._notify(0, 1)  # features are there; the method reports from here on
        self.model_ = model.fit(X, Y, pairs.relevance, **watched)
        for part in (self.model_, self.x_features_, self.y_features_):
            if isinstance(part, CallbackMixin):
                part.set_callbacks()
        return self

    def transform(self, items: Items) -> NDArray[np.floating]:
        """Vectors (n, k) of x items.

        Parameters
        ----------
        items : Items
            Items of the x side.

        Returns
        -------
        ndarray of shape (n, k)
            In the space of the method.

        Raises
        ------
        ValueError
            If the method has no vectors.
        """
        return self._embedding().transform(self._x(items))

    def transform_y(self, items: Items) -> NDArray[np.floating]:
        """Vectors (n, k) of y items.

        Parameters
        ----------
        items : Items
            Items of the y side.

        Returns
        -------
        ndarray of shape (n, k)
            In the space of the method, that of `transform`.

        Raises
        ------
        ValueError
            If the method has no vectors.
        """
        return self._embedding().transform_y(self._y(items))

    def coordinates(self, x: Items, y: Items) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Both sides as points whose distances mirror the similarity.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        x_vectors, y_vectors : ndarray of shape (n_x, k) and (n_y, k)
            See `simviz.base.EmbeddingModel.coordinates`.

        Raises
        ------
        ValueError
            If the method has no vectors; `simviz.projection.unfold` its
            similarities instead.
        """
        return self._embedding().coordinates(self._x(x), self._y(y))

    def similarity(self, x: Items, y: Items) -> NDArray[np.floating]:
        """Similarities of all pairs of items, as one dense matrix.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        ndarray of shape (n_x, n_y)
            Larger means closer.
        """
        check_is_fitted(self)
        return self.model_.similarity(self._x(x), self._y(y))

    def iter_similarity(
        self, x: Items, y: Items, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating]]:
        """Similarities in blocks of rows, so that memory stays bounded.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.
        block_size : int, optional
            Rows of a block; by default about 16 MB of float32.

        Returns
        -------
        iterator of ndarray of shape (rows, n_y)
            Blocks in the order of the x items.
        """
        check_is_fitted(self)
        return self.model_.iter_similarity(self._x(x), self._y(y), block_size)

    def prepared(self, x: Items, y: Items) -> object:
        """Both sides made ready, where the method ranks without comparing all pairs.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        object or None
            See `simviz.base.TopicSimilarity.prepared`.
        """
        check_is_fitted(self)
        prepare = getattr(self.model_, "prepared", None)
        return None if prepare is None else prepare(self._x(x), self._y(y))

    def factors(
        self, x: Items, y: Items
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]] | None:
        """Vectors whose products are the similarities, if that is what they are.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        tuple of ndarrays of shape (n_x, k) and (n_y, k), or None
            See `simviz.base.EmbeddingModel.factors`.
        """
        check_is_fitted(self)
        offer = getattr(self.model_, "factors", None)
        return None if offer is None else offer(self._x(x), self._y(y))

    def empty_share(self, x: Items, y: Items) -> tuple[float, float]:
        """Share of items of each side without any known feature.

        Such items score 0 against everything; an evaluation has to say how
        many there are.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        x_share, y_share : float
            From 0 to 1.
        """
        rows = (nonzero_rows(self._x(x)), nonzero_rows(self._y(y)))
        return float(1 - rows[0].mean()), float(1 - rows[1].mean())

    def truncate(self, k: int) -> PairPipeline:
        """The same pipeline with the k-dimensional model.

        Parameters
        ----------
        k : int
            Dimensions to keep; see `simviz.base.LinearPairModel.truncate`.

        Returns
        -------
        PairPipeline
            A view on the same arrays.
        """
        check_is_fitted(self)
        small = clone(self)
        small.x_features_, small.y_features_ = self.x_features_, self.y_features_
        small.model_ = self.model_.truncate(k)
        return small

    def save(self, path: str | Path) -> None:
        """Write features and model to one file of JSON and arrays.

        Parameters
        ----------
        path : str or Path
            File to write, by custom with the ending ``.simviz``.
        """
        from simviz.pipeline._storing import save_pipeline

        save_pipeline(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Pipeline:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
            File to read.

        Returns
        -------
        PairPipeline or BlendPipeline
            Fitted, with the same similarities to the last bit; a blend where
            that is what was saved.

        Raises
        ------
        StoreError
            If the file is not a saved pipeline.
        """
        from simviz.pipeline._storing import load_pipeline

        return load_pipeline(path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _heard(self, features: BaseEstimator) -> BaseEstimator:
        """Give features that take their time a chance to stop; progress is the method's."""
        if isinstance(features, CallbackMixin):
            features.set_callbacks(lambda step, total, metrics: self._notify(0, 1))
        return features

    def _x(self, items: Items) -> Any:
        return self.x_features_.transform(items.content)

    def _y(self, items: Items) -> Any:
        return self.y_features_.transform(items.content)

    def _embedding(self) -> EmbeddingModel:
        check_is_fitted(self)
        if not isinstance(self.model_, EmbeddingModel):
            raise ValueError(
                f"{self.model_.tags.title} gives similarities without vectors. "
                "Use similarity, or simviz.projection.unfold for a map."
            )
        return self.model_
