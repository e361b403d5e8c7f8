"""PairPipeline: features for both sides plus a method; what is trained and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils._set_output import _SetOutputMixin
from sklearn.utils.validation import check_is_fitted

from simviz._types import Side
from simviz.base import EmbeddingModel, IterativeMixin, PairModel, TopicSimilarity, nonzero_rows
from simviz.callbacks import CallbackMixin
from simviz.data.pairs import AlignedSide, Items, ItemsLike, PairSet, aligned_sides, as_items
from simviz.data.pairs_from_tables import pairs_of
from simviz.features._base import Transformer
from simviz.params import as_set_output
from simviz.persistence import save_state
from simviz.pipeline._index import ItemIndex
from simviz.registry import unknown_name
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.pipeline._loading import Pipeline

Block = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
#: How similarities are brought to one scale, see `BlendPipeline`.
Normalization = Literal["global_std", "none", "minmax_query", "z_query"]

_BLOCK_ENTRIES = 2**21  # two blocks of 8 MB of float32, and what is made of them
_ROWS = 4_096  # pairs that are scored at once
_NEAREST = 50  # other items that a query is told from where few queries changed
_SPREAD_ITEMS = 1_000  # items of a side from which the spread in training is taken
#: The parts of a blend.
BLEND_ROLES = ("learned", "lexical")
Method = TypeVar("Method", bound=Callable[..., Any])


class _NeedsVectors:
    """A method that `hasattr` finds only where there are vectors; elsewhere it says why not."""

    def __init__(self, method: Any) -> None:
        self._method = method

    def __get__(self, pipeline: _Scorer | None, owner: type) -> Any:
        if pipeline is not None and (reason := pipeline._why_no_vectors()):
            raise AttributeError(reason)
        return self._method.__get__(pipeline, owner)


def needs_vectors(method: Method) -> Method:
    return cast("Method", _NeedsVectors(method))


class _Scorer(CallbackMixin, BaseEstimator):
    """What one pipeline and a blend have in common: a fit, all similarities, and a file."""

    #: Whether a similarity depends on the other queries that it is asked for with.
    looks_at_queries = False

    def fit(
        self, pairs: Any, validation: PairSet | None = None, *, x: Any = None, y: Any = None
    ) -> Self:
        """Learn from pairs.

        Parameters
        ----------
        pairs : PairSet, ReadResult or frame
            Training pairs.
        validation : PairSet, optional
            Only watched, by methods that stop early.
        x, y : str, optional
            Columns of a frame, see `simviz.from_frame`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the content or a parameter does not fit, or a part of a blend cannot
            read such items.
        """
        return self._fit(pairs_of(pairs, x, y), validation)

    def _fit(self, pairs: PairSet, validation: PairSet | None) -> Self:
        raise NotImplementedError

    def empty_share(self, x: Items, y: Items) -> tuple[float, float]:
        """Share, of x and of y items, without any known feature: they score 0 with everything."""
        raise NotImplementedError

    def unknown_share(self, x: Items, y: Items) -> tuple[float | None, float | None]:
        """Share of each side's terms that training did not show; None where features are no terms.

        What is learned leaves such terms out; lexical methods match them.
        """
        raise NotImplementedError

    def iter_similarity(
        self, x: Items, y: Items, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating]]:
        """Similarities in blocks (rows, n_y) of x items, in order, by default of some 16 MB."""
        raise NotImplementedError

    def similarity(self, x: ItemsLike, y: ItemsLike) -> NDArray[np.floating]:
        """Similarities (n_x, n_y) of all pairs of items, one dense matrix; larger means closer."""
        return np.concatenate(list(self.iter_similarity(as_items(x), as_items(y))))

    def score_pairs(self, x: Any, y: Any = None) -> NDArray[np.float64]:
        """Similarity of row i of the one side to row i of the other.

        Parameters
        ----------
        x : data frame of two columns, sequence of str, Items or matrix
            The pairs, or the x side of each.
        y : sequence of str, Items or matrix, optional
            The y side of each pair, where `x` is no frame.

        Returns
        -------
        ndarray of shape (n,)
            One score a pair, in the order given; larger means closer. An item
            without any known feature scores 0.

        Raises
        ------
        ValueError
            If the sides differ in length, a value is no text, the pipeline does not
            read such items, or a blend scales scores query by query.
        """
        check_is_fitted(self)
        x_side, y_side = aligned_sides(x, y)
        if not len(x_side.rows):
            return np.zeros(0)
        return self._score_rows(x_side, y_side).astype(np.float64)

    def _score_rows(self, x: AlignedSide, y: AlignedSide) -> Block:
        """Similarities of aligned rows; distinct items are encoded once."""
        raise NotImplementedError

    def index(
        self,
        items: Any,
        side: Side = "y",
        *,
        frequencies: Literal["training", "items"] = "training",
    ) -> ItemIndex:
        """Encode items once, to be searched often.

        Parameters
        ----------
        items : Items, or sequence of str or array
            What is found.
        side : {"x", "y"}, default="y"
            Of which side they are; queries are of the other.
        frequencies : {"training", "items"}, default="training"
            In what terms are counted to weigh them: the training texts, or these items, which
            lexical methods may be fitted on alone. Items that are added later change no weight.

        Returns
        -------
        ItemIndex

        Raises
        ------
        ValueError
            If terms are to be counted in the items, and the method learns from pairs.
        """
        check_is_fitted(self)
        if frequencies not in ("training", "items"):
            raise ValueError(unknown_name("frequencies", frequencies, ("training", "items")))
        pipeline = self if frequencies == "training" else self._counted(as_items(items))
        return ItemIndex(cast("Pipeline", pipeline), items, side)

    def _counted(self, items: Items) -> Self:
        """The same, fitted on items without pairs."""
        model = getattr(self, "model", None)
        if model is None or getattr(model, "feature_tags", model.tags).family != "lexical":
            title = "A blend or CSLS" if model is None else model.tags.title
            raise ValueError(
                f"{title} learned from pairs what terms stand for, which other frequencies would "
                "change. Leave frequencies='training', or index by a lexical method."
            )
        alone = Relevance.coerce(None, len(items), len(items))
        return clone(self).fit(PairSet(items, items, alone))

    def _why_no_vectors(self) -> str | None:
        return (
            "A blend or CSLS mixes scores and has no vectors: use similarity, or transform of its "
            "parts (learned_, lexical_, pipeline_)."
        )

    def _vectors(self, items: ItemsLike, side: Side) -> NDArray[np.floating]:
        raise NotImplementedError

    @needs_vectors
    def transform(self, items: ItemsLike) -> NDArray[np.floating]:
        """Vectors (n, k) of x items; what has no vectors has no such method."""
        return self._vectors(items, "x")

    transform_x = transform  # its name beside transform_y

    @needs_vectors
    def transform_y(self, items: ItemsLike) -> NDArray[np.floating]:
        """Vectors (n, k) of y items, in the space of `transform`."""
        return self._vectors(items, "y")

    def known(self, x: Items, y: Items) -> tuple[Mask, Mask]:
        """Which items of both sides anything is known of, a bool each."""
        check_is_fitted(self)
        return self._known(x, "x"), self._known(y, "y")

    def _known(self, items: Items, side: Side) -> Mask:
        """Which items anything was learned of."""
        raise NotImplementedError

    def _encoded(self, items: Items, side: Side) -> Any:
        """What is kept of items to compare them: rows of numbers, or the items."""
        return items

    def _scorer(self, items: Any, side: Side) -> Callable[[Any], Block]:
        """Similarities of encoded queries to these encoded items of a side, one row a query."""
        if side == "y":
            return lambda queries: self.similarity(queries, items)
        return lambda queries: self.similarity(items, queries).T

    def _state(self) -> dict[str, Any]:
        """What is stored of it, by name; names of a part begin with its role."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write what was fitted to one file of JSON and arrays, by custom named ``*.simviz``."""
        check_is_fitted(self)
        save_state(self._state(), path)


def _with_nearest(relevance: Relevance, scores: NDArray[np.floating]) -> Relevance:
    """Judgments with the nearest items that count as not relevant judged so, query by query."""
    if relevance.unjudged != "negative" or relevance.kind != "grade":
        return relevance
    judged = relevance.matrix.tocoo()
    scores = np.array(scores)
    scores[judged.row, judged.col] = -np.inf
    k = min(_NEAREST, scores.shape[1])
    near = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    rows, columns = np.repeat(np.arange(len(near)), k), near.ravel()
    free = np.isfinite(scores[rows, columns])
    rows, columns = np.r_[judged.row, rows[free]], np.r_[judged.col, columns[free]]
    grades = np.r_[judged.data, np.full(free.sum(), -1.0)]
    shape = relevance.shape
    return Relevance.from_pairs(rows, columns, grades, shape=shape, unjudged="negative")


@dataclass(eq=False, repr=False)
class PairPipeline(_SetOutputMixin, _Scorer):
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
    x_column : str, optional
        Metadata of x items whose text is read behind theirs, such as what a search
        engine found for a query (pseudo-documents). Items without it are read alone.

    Attributes
    ----------
    model_ : PairModel
        The fitted method.
    x_features_, y_features_ : estimator
        The fitted transformers; the same object where the sides share one.

    Raises
    ------
    ValueError
        From `fit`, if the content or a parameter does not fit; from `coordinates`, if the method
        has no vectors (unfold its similarities by `simviz.projection.unfold` instead).

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["corazón rojo", "coche azul"])
    >>> pipeline = default_pipeline("cca", pairs, n_components=1).fit(pairs)
    >>> pipeline.similarity(pairs.x, pairs.y).argmax(axis=1)
    array([0, 1])
    """

    model: PairModel
    x_features: BaseEstimator
    y_features: BaseEstimator | None = None
    x_column: str | None = None

    def _fit(self, pairs: PairSet, validation: PairSet | None) -> Self:
        x, y = self.x_content(pairs.x), pairs.y.content
        shared = self.y_features is None
        both = np.concatenate([x, y]) if shared and pairs.x is not pairs.y else x
        self.x_features_ = self._heard(clone(self.x_features)).fit(both)
        self.y_features_ = (
            self.x_features_ if shared else self._heard(clone(self.y_features)).fit(y)
        )
        model = clone(self.model).set_callbacks(*getattr(self, "_callbacks", ()))
        watched: dict[str, Any] = {}
        if validation is not None and isinstance(model, IterativeMixin):
            watched = {"X_val": self._x(validation.x), "y_val": self._y(validation.y)}
            watched["relevance_val"] = validation.relevance
        X, Y = self.x_features_.transform(x), self.y_features_.transform(y)
        self._notify(0, 1)  # features are there; the method reports from here on
        return self._learn(model, X, Y, pairs, watched)

    def _learn(
        self, model: PairModel, X: Any, Y: Any, pairs: PairSet, watched: dict[str, Any]
    ) -> Self:
        if isinstance(model, IterativeMixin):
            watched = {"divided": pairs.divided, **watched}
        self.model_ = model.fit(X, Y, pairs.relevance, **watched)
        for part in (self.model_, self.x_features_, self.y_features_):
            if isinstance(part, CallbackMixin):
                part.set_callbacks()
        return self

    def why_no_refit(self) -> str | None:
        """Say in a sentence why the method cannot follow other pairs at once, None if it can."""
        tags = self.model.tags
        if tags.uses == "unsupervised":
            return f"{tags.title} does not learn from pairs, so no pair changes what it answers."
        if tags.family == "spectral" or self.model.continued() is not None:
            return None
        return f"{tags.title} cannot follow at once: it takes a whole training."

    def refit(
        self,
        pairs: PairSet,
        changed: NDArray[np.integer] | None = None,
        *,
        rows: tuple[Any, Any] | None = None,
    ) -> PairPipeline:
        """The same features with the method fitted to other pairs.

        A spectral method is fitted as by `fit`. S2Net goes on from where it is: a few
        passes over the queries that changed, each beside the nearest other items.

        Parameters
        ----------
        pairs : PairSet
            What to learn from instead, of the same kinds of items.
        changed : array of int, optional
            The x items whose judgments are others than before; all when omitted.
        rows : tuple of matrices, optional
            Features of both sides where they are there already, see `rows`.

        Returns
        -------
        PairPipeline
            A new one; this one stays as it is.

        Raises
        ------
        ValueError
            If the method does not learn from pairs or takes a whole training, or as in `fit`.
        """
        if reason := self.why_no_refit():
            raise ValueError(reason)
        again, fitted = self._without_model(), self.model_
        X, Y = rows or (self._x(pairs.x), self._y(pairs.y))
        if (going_on := fitted.continued()) is None:
            again._learn(clone(fitted), X, Y, pairs, {})
            return again
        if changed is not None:
            X, pairs = X[changed], pairs.take(changed, np.arange(len(pairs.y)))
            # Few queries have few items to be told from: the nearest others stand beside.
            judged = _with_nearest(pairs.relevance, fitted.similarity(X, Y))
            pairs = replace(pairs, relevance=judged)
        again._learn(going_on, X, Y, pairs, {})
        again.model_.set_params(**fitted.get_params(deep=False))
        return again

    def _without_model(self) -> PairPipeline:
        """The same fitted features, and nothing learned of pairs."""
        check_is_fitted(self)
        other = clone(self)
        other.x_features_, other.y_features_ = self.x_features_, self.y_features_
        return other

    def _vectors(self, items: ItemsLike, side: Side) -> NDArray[np.floating]:
        model = self._embedding()
        transform = model.transform if side == "x" else model.transform_y
        return as_set_output(self, transform(self.rows(items, side)), items)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns of vectors, such as "cca0".

        Parameters
        ----------
        input_features : object, optional
            Ignored.

        Returns
        -------
        ndarray of str of shape (k,)
            Both sides have the same; ``set_output(transform="pandas")`` shows them.
        """
        return self._embedding().get_feature_names_out()

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
        """
        return self._embedding().coordinates(self._x(x), self._y(y))

    def iter_similarity(
        self, x: Items, y: Items, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating]]:
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

    def _score_rows(self, x: AlignedSide, y: AlignedSide) -> Block:
        try:
            X, Y = self._x(x.items), self._y(y.items)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(
                f"This pipeline does not read such items (x: {x.items.kind}, y: {y.items.kind}): "
                f"{error} Give pairs of the kinds that it was fitted on."
            ) from error
        model = self.model_
        vectors = model.factors(X, Y) if isinstance(model, EmbeddingModel) else None
        P, Q = (X, Y) if vectors is None else vectors
        score = model.pair_score if vectors is None else partial(np.einsum, "ik,ik->i")
        starts = range(0, len(x.rows), _ROWS)
        rows = ((x.rows[i : i + _ROWS], y.rows[i : i + _ROWS]) for i in starts)
        return np.concatenate([score(P[at_x], Q[at_y]) for at_x, at_y in rows])

    def empty_share(self, x: Items, y: Items) -> tuple[float, float]:
        return _empty(nonzero_rows(self._x(x)), nonzero_rows(self._y(y)))

    def unknown_share(self, x: Items, y: Items) -> tuple[float | None, float | None]:
        """Share of the terms of each side that training did not show."""
        sides = (self.x_features_, self.x_content(x)), (self.y_features_, y.content)
        x_share, y_share = (
            features.unknown_share(content) if isinstance(features, Transformer) else None
            for features, content in sides
        )
        return x_share, y_share

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
        small = self._without_model()
        small.model_ = self.model_.truncate(k)
        return small

    def _state(self) -> dict[str, Any]:
        objects: dict[str, Any] = {"model": self.model_, "x_features": self.x_features_}
        if self.y_features_ is not self.x_features_:
            objects["y_features"] = self.y_features_
        return objects | ({"x_column": self.x_column} if self.x_column else {})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _heard(self, features: BaseEstimator) -> BaseEstimator:
        """Give features that take their time a chance to stop; progress is the method's."""
        if isinstance(features, CallbackMixin):
            features.set_callbacks(lambda step, total, metrics: self._notify(0, 1))
        return features

    def x_content(self, items: Items) -> Any:
        """What is read of x items: their content, and the text of `x_column` behind it.

        Parameters
        ----------
        items : Items
            Items of the x side.

        Returns
        -------
        sequence of str, array or matrix
        """
        return joined_content(items, self.x_column)

    def rows(self, items: Any, side: Side) -> Any:
        """Features of items.

        Parameters
        ----------
        items : Items, sequence of str, array or matrix
            Items of one side.
        side : {"x", "y"}
            Which one.

        Returns
        -------
        array or CSR array of shape (n, d)
        """
        return self._x(items) if side == "x" else self._y(items)

    def _x(self, items: Any) -> Any:
        return self.x_features_.transform(self.x_content(as_items(items)))

    def _y(self, items: Any) -> Any:
        return self.y_features_.transform(as_items(items).content)

    def _known(self, items: Items, side: Side) -> Mask:
        return _known_rows(self.model_, self.rows(items, side), side)

    def _encoded(self, items: Items, side: Side) -> Any:
        rows, model = self.rows(items, side), self.model_
        return model.coordinates_of(rows, side) if _compares_points(model) else rows

    def _scorer(self, items: Any, side: Side) -> Callable[[Any], Block]:
        model: Any = self.model_
        if _compares_points(model):
            return model._point_scorer(items)
        if side == "x":
            return lambda queries: model.similarity(items, queries).T
        Y = model._check_y(items, dtype=[np.float64, np.float32], reset=False)
        candidates, every = model._candidates(Y), slice(None)

        def score(queries: Any) -> Block:
            return model._row_scorer(model._check_x(queries, reset=False), candidates)(every)

        return score

    def score(self, pairs: PairSet) -> float:
        """How well the pipeline does on pairs, in one number.

        Parameters
        ----------
        pairs : PairSet
            Such as the test part of a split.

        Returns
        -------
        float
            See `simviz.base.PairModel.score`: MRR where unlisted pairs count as not
            relevant, else AUC.
        """
        check_is_fitted(self)
        pairs = pairs_of(pairs)
        return self.model_.score(self._x(pairs.x), self._y(pairs.y), pairs.relevance)

    def _why_no_vectors(self) -> str | None:
        if isinstance(self.model, EmbeddingModel):
            return None
        return (
            f"{self.model.tags.title} gives similarities without vectors. "
            "Use similarity, or simviz.projection.unfold for a map."
        )

    def _embedding(self) -> EmbeddingModel:
        check_is_fitted(self)
        if not isinstance(self.model_, EmbeddingModel):
            raise ValueError(self._why_no_vectors())
        return self.model_


def joined_content(items: Items, column: str | None) -> Any:
    """The content of items, with the text of a column of their metadata behind it if there is."""
    more = items.metadata.get(column) if column else None
    if more is None:
        return items.content
    texts = (str(text) if text == text and text is not None else "" for text in more)
    joined = [f"{own}\n{text}" for own, text in zip(items.content, texts, strict=True)]
    return np.array(joined, dtype=object)


def _compares_points(model: Any) -> bool:
    """Whether similarities follow from the points of `coordinates_of` alone."""
    return isinstance(model, EmbeddingModel) and (
        type(model)._row_scorer in (EmbeddingModel._row_scorer, TopicSimilarity._row_scorer)
    )


def scaled(scores: Block, normalization: Normalization, spread: float) -> Block:
    """Similarities of whole rows on the scale asked for."""
    if normalization == "none":
        return scores
    if normalization == "global_std":
        return scores / scores.dtype.type(spread)
    values = scores.astype(np.float64)
    if normalization == "minmax_query":
        shift = values.min(axis=1, keepdims=True)
        width = values.max(axis=1, keepdims=True) - shift
    else:
        shift, width = values.mean(axis=1, keepdims=True), values.std(axis=1, keepdims=True)
        # Rounding of the mean must not be blown up to a standard deviation of 1.
        width[np.ptp(values, axis=1, keepdims=True) == 0] = 0
    return np.divide(values - shift, width, out=np.zeros_like(values), where=width > 0)


def filled_in(learned: Block, lexical: Block, x_known: Mask, y_known: Mask) -> Block:
    """The learned similarities, with the lexical ones where nothing was learned of an item."""
    if x_known.all() and y_known.all():
        return learned
    filled = learned.astype(np.result_type(learned, lexical), copy=True)
    filled[~x_known] = lexical[~x_known]
    filled[:, ~y_known] = lexical[:, ~y_known]
    return filled


def scored(part: Pipeline, x: Items, y: Items, size: int) -> tuple[Mask, Mask, Iterator[Block]]:
    """Which items a part knows, and its similarities; features are made once for both."""
    if not isinstance(part, PairPipeline):
        return *part.known(x, y), part.iter_similarity(x, y, size)
    X, Y = part._x(x), part._y(y)
    model = part.model_
    x_known, y_known = _known_rows(model, X, "x"), _known_rows(model, Y, "y")
    return x_known, y_known, model.iter_similarity(X, Y, size)


def _empty(x_known: Mask, y_known: Mask) -> tuple[float, float]:
    return float(1 - x_known.mean()), float(1 - y_known.mean())


def _known_rows(model: PairModel, rows: Any, side: Side) -> Mask:
    """Which rows hold a feature that the model learned something of."""
    known = nonzero_rows(rows)
    if isinstance(model, EmbeddingModel):
        known &= nonzero_rows(model.transform(rows) if side == "x" else model.transform_y(rows))
    return known


def sampled_sides(pairs: PairSet, most: int) -> tuple[Items, Items]:
    """Some of the items of both sides, drawn by seed 0."""
    rng = np.random.default_rng(0)
    x, y = (side.take(np.sort(rng.permutation(len(side))[:most])) for side in (pairs.x, pairs.y))
    return x, y


def cannot_read(role: str, pairs: PairSet, error: Exception) -> str:
    """The sentence for a part that was made for other items."""
    kinds = " and ".join(dict.fromkeys((pairs.x.kind, pairs.y.kind)))
    return (
        f"The {role} part of the blend cannot be used on these {kinds} items: {error} Blend two "
        "pipelines that are made for the same kinds of items, such as two of default_pipeline "
        "on one pair set."
    )


@dataclass(eq=False, repr=False)
class BlendPipeline(_Scorer):
    r"""A weighted sum of two pipelines: α · learned + (1 − α) · lexical.

    What was learned finds what shares no term; what is lexical finds rare terms, names and
    numbers, which no training pair explains. Where nothing was learned of an item, because its
    learned vector is zero, its lexical score stands for the learned one [1]_.

    Parameters
    ----------
    learned, lexical : PairPipeline or BlendPipeline
        The two parts, for the same kinds of items; clones are fitted. Any two
        pipelines do, whatever they learn.
    alpha : float, default=0.5
        Weight of the learned similarity, from 0 to 1. Choose it on
        validation pairs: see `simviz.evaluation.blends.blend_curve`.
    normalization : {"global_std", "none", "minmax_query", "z_query"}, default="global_std"
        How the two are brought to one scale: each divided by its standard deviation in training;
        as they are, which suits two cosines; or, for each x item, from 0 for the lowest score to 1
        for the highest, or to mean 0 and standard deviation 1. With the last two a score depends
        on all the y items it is given with.

    Attributes
    ----------
    learned_, lexical_ : PairPipeline or BlendPipeline
        The fitted parts.
    spreads_ : tuple of float
        Standard deviation of both similarities in training.

    Raises
    ------
    ValueError
        If a parameter does not fit, or a part cannot read such items.

    References
    ----------
    .. [1] W. Wu, J. Xu & H. Li. "Learning similarity function between objects
       in heterogeneous spaces." Microsoft Research technical report, 2010.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red car", "blue sea"], ["a car in red", "the sea is blue"])
    >>> cca = default_pipeline("cca", pairs, n_components=1, shared=True)
    >>> blend = BlendPipeline(cca, default_pipeline("bm25", pairs), alpha=0.3).fit(pairs)
    >>> blend.similarity(pairs.x, pairs.y).argmax(axis=1)
    array([0, 1])
    """

    learned: Pipeline
    lexical: Pipeline
    alpha: float = 0.5
    _: KW_ONLY
    normalization: Normalization = "global_std"

    @property
    def looks_at_queries(self) -> bool:  # type: ignore[override]
        return any(part.looks_at_queries for part in (self.learned_, self.lexical_))

    def _fit(self, pairs: PairSet, validation: PairSet | None) -> Self:
        self.check_parameters()
        fitted: list[Pipeline] = []
        for role, part in zip(BLEND_ROLES, (self.learned, self.lexical), strict=True):
            part = clone(part).set_callbacks(*getattr(self, "_callbacks", ()))
            try:
                fitted.append(part.fit(pairs, validation).set_callbacks())
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(cannot_read(role, pairs, error)) from error
        return self._joined(fitted[0], fitted[1], pairs)

    @classmethod
    def of(
        cls,
        learned: Pipeline,
        lexical: Pipeline,
        pairs: PairSet,
        alpha: float = 0.5,
        *,
        normalization: Normalization = "global_std",
    ) -> BlendPipeline:
        """Blend two pipelines that are trained already.

        Parameters
        ----------
        learned, lexical : PairPipeline or BlendPipeline
            Fitted; they are used as they are.
        pairs : PairSet
            Their training pairs, from which the spread of both is taken.
        alpha, normalization : optional
            As in the class.

        Returns
        -------
        BlendPipeline
        """
        for part in (learned, lexical):
            check_is_fitted(part)
        made = cls(clone(learned), clone(lexical), alpha, normalization=normalization)
        made.check_parameters()
        return made._joined(learned, lexical, pairs)

    def with_alpha(self, alpha: float) -> BlendPipeline:
        """The same parts with another weight.

        Parameters
        ----------
        alpha : float
            Weight of the learned similarity.

        Returns
        -------
        BlendPipeline
        """
        check_is_fitted(self)
        made = clone(self).set_params(alpha=alpha)
        made.check_parameters()
        made.learned_, made.lexical_, made.spreads_ = self.learned_, self.lexical_, self.spreads_
        return made

    def iter_parts(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, Block]]:
        """Both similarities on one scale, in blocks of rows.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.
        block_size : int, optional
            Rows of a block; by default about 8 MB of float32 a part.

        Yields
        ------
        learned, lexical : ndarray of shape (rows, n_y)
            The learned one is the lexical one where nothing was learned.
        """
        check_is_fitted(self)
        size = block_size or max(16, _BLOCK_ENTRIES // max(1, len(y)))
        x_known, y_known, learned_blocks = scored(self.learned_, x, y, size)
        *_, lexical_blocks = scored(self.lexical_, x, y, size)
        start = 0
        for learned, lexical in zip(learned_blocks, lexical_blocks, strict=True):
            stop = start + len(learned)
            learned, lexical = self._scaled((learned, lexical))
            yield filled_in(learned, lexical, x_known[start:stop], y_known), lexical
            start = stop

    def iter_similarity(
        self, x: Items, y: Items, block_size: int | None = None
    ) -> Iterator[NDArray[np.float64]]:
        for learned, lexical in self.iter_parts(x, y, block_size=block_size):
            yield self.mixed(learned, lexical)

    def mixed(self, learned: Block, lexical: Block) -> NDArray[np.float64]:
        """Add both similarities with their weights.

        Parameters
        ----------
        learned, lexical : ndarray of one shape
            As `iter_parts` gives them.

        Returns
        -------
        ndarray of float64
        """
        rest = (1.0 - self.alpha) * lexical.astype(np.float64)
        return self.alpha * learned.astype(np.float64) + rest

    def _score_rows(self, x: AlignedSide, y: AlignedSide) -> Block:
        if self.normalization in ("minmax_query", "z_query"):
            raise ValueError(
                f"With normalization={self.normalization!r} a score depends on all candidates of "
                "its query, so a pair has none. Use similarity with the candidates, or blend "
                'with normalization="global_std".'
            )
        parts = self.learned_, self.lexical_
        learned, lexical = self._scaled(part._score_rows(x, y) for part in parts)
        x_known, y_known = self.learned_._known(x.items, "x"), self.learned_._known(y.items, "y")
        known = x_known[x.rows] & y_known[y.rows]
        return self.mixed(np.where(known, learned, lexical), lexical)

    def empty_share(self, x: Items, y: Items) -> tuple[float, float]:
        """Share of items of each side of which neither part knows anything."""
        return _empty(*self.known(x, y))

    def unknown_share(self, x: Items, y: Items) -> tuple[float | None, float | None]:
        """Share of the terms of each side that training did not show, to the learned part."""
        return self.learned_.unknown_share(x, y)

    def _known(self, items: Items, side: Side) -> Mask:
        return self.learned_._known(items, side) | self.lexical_._known(items, side)

    def _scaled(self, both: Iterable[Block]) -> Iterator[Block]:
        """Learned and lexical similarities on one scale."""
        pairs = zip(both, self.spreads_, strict=True)
        return (scaled(scores, self.normalization, spread) for scores, spread in pairs)

    def _scorer(self, items: Any, side: Side) -> Callable[[Any], Block]:
        if side == "x" and self.normalization.endswith("_query"):  # rows, scaled one by one
            return super()._scorer(items, side)
        other: Side = "y" if side == "x" else "x"
        parts = self.learned_, self.lexical_
        scorers = [part._scorer(part._encoded(items, side), side) for part in parts]
        known = self.learned_._known(items, side)

        def score(queries: Items) -> Block:
            both = zip(parts, scorers, strict=True)
            learned, lexical = self._scaled(s(part._encoded(queries, other)) for part, s in both)
            known_queries = self.learned_._known(queries, other)
            return self.mixed(filled_in(learned, lexical, known_queries, known), lexical)

        return score

    def _state(self) -> dict[str, Any]:
        alpha, spreads = float(self.alpha), list(self.spreads_)
        blend = {"alpha": alpha, "normalization": self.normalization, "spreads": spreads}
        objects: dict[str, Any] = {"blend": blend}
        for role, part in zip(BLEND_ROLES, (self.learned_, self.lexical_), strict=True):
            objects |= {f"{role}.{name}": value for name, value in part._state().items()}
        return objects

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "spreads_")

    def check_parameters(self) -> None:
        """Refuse parameters that do not fit."""
        known = get_args(Normalization)
        if self.normalization not in known:
            raise ValueError(unknown_name("normalization", self.normalization, known))
        if isinstance(self.alpha, bool) or not 0 <= self.alpha <= 1:
            raise ValueError(
                f"alpha is the weight of the learned similarity: a number from 0 to 1, got "
                f"{self.alpha!r}."
            )
        for role, part in zip(BLEND_ROLES, (self.learned, self.lexical), strict=True):
            if not isinstance(part, _Scorer):
                raise ValueError(
                    f"The {role} part of a blend must be a pipeline, got a "
                    f"{type(part).__name__}. Make one with default_pipeline, which adds the "
                    "features."
                )

    def _joined(self, learned: Pipeline, lexical: Pipeline, pairs: PairSet) -> Self:
        """Take fitted parts over, and note how far their scores spread in training."""
        x, y = sampled_sides(pairs, _SPREAD_ITEMS)
        spreads = []
        for role, part in zip(BLEND_ROLES, (learned, lexical), strict=True):
            try:
                scores = part.similarity(x, y)
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(cannot_read(role, pairs, error)) from error
            spread = float(np.std(scores, dtype=np.float64))
            spreads.append(spread if np.ptp(scores) > 0 and spread > 0 else 1.0)
        self.learned_, self.lexical_ = learned, lexical
        self.spreads_ = (spreads[0], spreads[1])
        return self
