"""PairModel: everything that scores two sides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from simviz._extras import why_missing
from simviz.base.stored import Declared, Size, Texts, largest_value
from simviz.callbacks import CallbackMixin
from simviz.exceptions import MissingLibraryError
from simviz.params import interval, validate_params
from simviz.relevance import Relevance

Matrix = Any  # CSR array or ndarray of shape (n, d)
RowScorer = Callable[[slice], NDArray[np.floating]]

#: Allowed values of the parameters that mean the same in every method.
COMMON_PARAMETERS: dict[str, list[Any]] = {
    "n_components": [interval(Integral, 1, None)],
    "shared": ["boolean"],
    "rank": [interval(Integral, 1, None), None],
    "max_iter": [interval(Integral, 1, None)],
    "tol": [interval(Real, 0, None)],
    "patience": [interval(Integral, 1, None)],
    "validation_fraction": [interval(Real, 0, 0.5)],
    "regularization": [interval(Real, 0, None)],
    "random_state": ["random_state"],
}

_BLOCK_ENTRIES = 2**22  # 16 MB of float32: a block of similarities that stays in cache reach


@dataclass(frozen=True, slots=True)
class MethodTags:
    """What a method is and needs; forms, tables and defaults are derived from it.

    A method of your own needs a title, and whatever else differs from these defaults.

    Parameters
    ----------
    title : str
        Name as the field writes it.
    reference : str
        Author and year of the paper; empty where there is none.
    year : int, optional
        Year of that paper; the last word of `reference` when omitted.
    family : {"lexical", "spectral", "topic", "metric", "gradient", "encoder"}
        Kin it stands with.
    input : {"tfidf", "counts", "vectors", "characters", "trigrams", "pretrained"}
        Features it is made for; what is made for TF-IDF reads vectors, too.
    space : {"one", "two", "either"}
        Whether both sides share one feature space, never do, or may (parameter ``shared``).
    uses : {"unsupervised", "paired", "discriminative"}
        Whether it ignores judgments, uses the relevant pairs, or both signs.
    nested : bool
        Whether the first k columns are the k-dimensional model.
    stops_early : bool
        Whether a fit that is given a validation set stops, or chooses what it
        keeps, by its score there, so that figures on that set flatter it. A
        method that only tells how it does there says no.
    extra : str
        The extra of simviz whose libraries it needs, such as "neural"; empty where it needs none.
    """

    title: str
    reference: str = ""
    year: int = 0
    family: Literal["lexical", "spectral", "topic", "metric", "gradient", "encoder"] = "metric"
    input: Literal["tfidf", "counts", "vectors", "characters", "trigrams", "pretrained"] = "tfidf"
    space: Literal["one", "two", "either"] = "two"
    uses: Literal["unsupervised", "paired", "discriminative"] = "paired"
    nested: bool = False
    stops_early: bool = False
    extra: str = ""

    def __post_init__(self) -> None:
        if not self.year and (year := self.reference[-4:]).isdigit():
            object.__setattr__(self, "year", int(year))

    def why_missing(self) -> str | None:
        """Say what the method needs that is not installed; None where nothing is missing."""
        return why_missing(self.extra, self.title) if self.extra else None


def unit_rows(Z: Matrix) -> Matrix:
    """Rows scaled to Euclidean length 1; rows of zeros stay zero.

    Parameters
    ----------
    Z : ndarray or CSR array of shape (n, k)
        Vectors.

    Returns
    -------
    ndarray or CSR array of shape (n, k)
        Same kind and floating type.
    """
    if sp.issparse(Z):
        squares = np.asarray(Z.multiply(Z).sum(axis=1), dtype=np.float64).ravel()
    else:
        squares = np.einsum("ik,ik->i", Z, Z, dtype=np.float64)
    norms = np.sqrt(squares)
    # Below the smallest normal number of the type the inverse would overflow.
    known = norms > np.finfo(Z.dtype).tiny
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=known).astype(Z.dtype)
    if sp.issparse(Z):
        return sp.csr_array(sp.diags_array(scale, dtype=Z.dtype) @ Z)
    return Z * scale[:, None]


def nonzero_rows(X: Matrix) -> NDArray[np.bool_]:
    """Which rows hold anything but zeros.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows to look at.

    Returns
    -------
    ndarray of bool, shape (n,)
        False for an empty row.
    """
    if sp.issparse(X):
        rows = sp.csr_array(X)
        # Not abs(X), which sorts what the caller holds, in place.
        sizes = sp.csr_array((np.abs(rows.data), rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(sizes.sum(axis=1)).ravel() > 0
    return (X != 0).any(axis=1)


def row_blocks(n_x: int, n_y: int, size: int | None = None) -> Iterator[slice]:
    """Blocks of rows whose similarities to n_y candidates take about 16 MB of float32."""
    size = size or max(16, _BLOCK_ENTRIES // max(1, n_y))
    for start in range(0, n_x, size):
        yield slice(start, min(start + size, n_x))


class PairModel(CallbackMixin, BaseEstimator, ABC):
    """Scores every item of one side against every item of the other.

    Subclasses define ``tags``, ``_parameter_constraints`` (of parameters that are not among
    `COMMON_PARAMETERS`, or allow other values), three methods that are given
    validated matrices of one floating type, CSR or dense, and in ``_stored`` what their
    fitted attributes are: files of models are checked against it.

    - ``_fit(X, Y, relevance)`` learns, and sets attributes that end in ``_``;
    - ``_row_scorer(X, candidates)`` returns a function that answers a slice of rows of X
      with their similarities to all candidates, dense, of shape (rows, n_y); candidates
      are ``_candidates(Y)``, which is Y unless overridden;
    - ``_pair_score(X, Y)`` returns the similarities of row i to row i, of shape (n,).

    Larger similarities mean closer, always.

    Raises
    ------
    ValueError
        If a parameter, a shape or a value does not fit; from `pair_score`, if the
        sides differ in length; from `score`, if no pair is relevant, or the AUC is
        asked for and all judged pairs are of one sign.
    """

    tags: ClassVar[MethodTags]
    #: Parameters by the name of a preset; "paper" is as in the paper, where defaults are not.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = COMMON_PARAMETERS
    _stored: ClassVar[Declared] = {
        "n_features_in_": Size("x_features"),
        "n_features_y_": Size("y_features"),
        "feature_names_in_": Texts("x_features", ordered=False, optional=True),
    }
    n_features_in_: int
    n_features_y_: int

    def fit(self, X: Matrix, y: Matrix | None = None, relevance: object = None) -> Self:
        """Learn from the items of both sides and what belongs together.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_x, d_x)
            The x side, one row an item.
        y : array or sparse matrix of shape (n_y, d_y), optional
            The y side. For methods whose sides share one feature space it may be left out (then it
            is `X`), and a 1-d `y`, such as scikit-learn's class labels, is no second side and is
            ignored; elsewhere a 1-d `y` is one column.
        relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
            Judgments; None pairs row i with row i.

        Returns
        -------
        self
        """
        self._check_fit()
        X, Y = self._check_sides(X, y, reset=True)
        self._fit(X, Y, Relevance.coerce(relevance, X.shape[0], Y.shape[0]))
        return self

    @abstractmethod
    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        """Learn from validated sides of one floating type."""

    def _candidates(self, Y: Matrix) -> Any:
        """What `_row_scorer` reads of validated y items; it serves any number of queries."""
        return Y

    @abstractmethod
    def _row_scorer(self, X: Matrix, candidates: Any) -> RowScorer:
        """Prepare the x side once; answer with dense blocks (rows, n_y) of similarities."""

    @abstractmethod
    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        """Similarity of row i to row i."""

    def iter_similarity(
        self, X: Matrix, y: Matrix | None = None, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating]]:
        """Similarities in blocks of rows, so that memory stays bounded.

        Parameters
        ----------
        X : matrix of shape (n_x, d_x)
            Queries.
        y : matrix of shape (n_y, d_y), optional
            Candidates; `X` when left out and both sides share one space.
        block_size : int, optional
            Rows of a block; by default about 16 MB of float32.

        Yields
        ------
        ndarray of shape (rows, n_y)
        """
        check_is_fitted(self)
        X, Y = self._check_sides(X, y, reset=False)
        scorer = self._row_scorer(X, self._candidates(Y))
        for rows in row_blocks(X.shape[0], Y.shape[0], block_size):
            yield scorer(rows)

    def similarity(self, X: Matrix, y: Matrix | None = None) -> NDArray[np.floating]:
        """Similarities of all pairs, as one dense matrix.

        Parameters
        ----------
        X, y : matrices of shape (n_x, d_x) and (n_y, d_y)
            As in `iter_similarity`.

        Returns
        -------
        ndarray of shape (n_x, n_y)
            Larger is closer.
        """
        return np.concatenate(list(self.iter_similarity(X, y)))

    def pair_score(self, X: Matrix, y: Matrix | None = None) -> NDArray[np.floating]:
        """Similarity of row i of the one side to row i of the other.

        Parameters
        ----------
        X : matrix of shape (n, d_x)
            The x items of the pairs.
        y : matrix of shape (n, d_y), optional
            The y items of the pairs.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        X, Y = self._check_sides(X, y, reset=False)
        if X.shape[0] != Y.shape[0]:
            raise ValueError(
                f"pair_score compares row i with row i: X has {X.shape[0]} rows, y has "
                f"{Y.shape[0]}. Use similarity for all pairs."
            )
        return self._pair_score(X, Y)

    def iter_ranks(
        self, X: Matrix, y: Matrix | None = None, relevance: object = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Where the judged candidates of each query stand, block by block.

        A method with an exact shortcut overrides this.

        Parameters
        ----------
        X, y, relevance : as in `fit`
            Queries, candidates and judgments.

        Yields
        ------
        above, tied : ndarray of int64
            For each judged candidate, in the order of the relevance matrix:
            candidates scored strictly higher, and as high (itself included).
        score : ndarray of float64
            Its similarity.
        """
        from simviz.ranking import rank_block

        judged, pool = judged_pool(Relevance.coerce(relevance, *self._lengths(X, y)))
        start = 0
        for block in self.iter_similarity(X, y):
            stop = start + len(block)
            first, last = judged.indptr[start], judged.indptr[stop]
            yield rank_block(
                block,
                judged.indptr[start : stop + 1] - first,
                judged.indices[first:last],
                pool=pool,
            )
            start = stop

    def continued(self) -> Self | None:
        """The method, not fitted, that goes on from what this one learned; None to begin anew."""
        return None

    def score(self, X: Matrix, y: Matrix | None = None, relevance: object = None) -> float:
        """Mean reciprocal rank of the relevant items, or AUC of judged pairs.

        Parameters
        ----------
        X, y, relevance : as in `fit`
            Queries, candidates and judgments.

        Returns
        -------
        float
            MRR over the x items where unjudged pairs count as negative; the
            pooled AUC of the judged pairs where unjudged pairs are ignored.
        """
        from simviz.ranking import Ranking, expected_reciprocal_rank

        relevance = Relevance.coerce(relevance, *self._lengths(X, y))
        judged, _ = judged_pool(relevance)
        if not judged.nnz:
            raise ValueError(
                f"A score compares relevant pairs with others; got none among "
                f"{relevance.matrix.nnz} judgments. Bring pairs that belong together."
            )
        above, tied, scores = (
            np.concatenate(parts) for parts in zip(*self.iter_ranks(X, y, relevance), strict=True)
        )
        if relevance.unjudged == "ignore":
            return _pooled_auc(scores, relevance)
        ranking = Ranking(
            indptr=judged.indptr,
            candidate=judged.indices,
            grade=judged.data,
            above=above,
            tied=tied,
            n_candidates=np.full(judged.shape[0], judged.shape[1]),
        )
        return float(np.nanmean(expected_reciprocal_rank(ranking)))

    def _lengths(self, X: Matrix, y: Matrix | None) -> tuple[int, int]:
        X, Y = self._check_sides(X, y, reset=False)
        return X.shape[0], Y.shape[0]

    @property
    def _one_space(self) -> bool:
        """Whether both sides have the same features."""
        return self.tags.space == "one" or bool(getattr(self, "shared", False))

    def _check_fit(self) -> None:
        """Refuse parameters that do not fit, and a method whose libraries are not installed."""
        validate_params(self)
        if reason := self.tags.why_missing():
            raise MissingLibraryError(reason)

    def _check_sides(self, X: Matrix, y: Matrix | None, *, reset: bool) -> tuple[Matrix, Matrix]:
        """Validate both sides; equal widths where they share one space."""
        X = self._check_x(X, reset=reset)
        one_space = self._one_space
        if y is not None and not sp.issparse(y):
            y = np.asarray(y)
        if one_space and (y is None or (self.tags.space == "one" and y.ndim == 1)):
            y = X
        elif y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "it learns from two sides."
            )
        Y = self._check_y(y, dtype=X.dtype, reset=reset)
        if one_space and X.shape[1] != Y.shape[1]:
            hint = " or use shared=False" if self.tags.space == "either" else ""
            raise ValueError(
                f"{type(self).__name__} needs equal widths here; X has {X.shape[1]} features, "
                f"y has {Y.shape[1]}. Fit one vectoriser on both sides{hint}."
            )
        if one_space and sp.issparse(X) != sp.issparse(Y):
            X, Y = sp.csr_array(X), sp.csr_array(Y)  # rows of one collection are of one kind
        return X, Y

    def _check_x(self, X: Matrix, *, reset: bool) -> Matrix:
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )
        return _as_array(self, X, "X")

    def _check_y(self, y: Matrix, *, dtype: Any, reset: bool) -> Matrix:
        if not sp.issparse(y):
            y = np.asarray(y)
            if y.ndim == 1:
                y = y.reshape(-1, 1)
        Y = check_array(y, accept_sparse="csr", dtype=dtype, input_name="y", estimator=self)
        if reset:
            self.n_features_y_ = Y.shape[1]
        elif Y.shape[1] != self.n_features_y_:
            raise ValueError(
                f"y has {Y.shape[1]} features, but {type(self).__name__} was fitted with "
                f"{self.n_features_y_} on the y side. Use the features it was fitted with."
            )
        return _as_array(self, Y, "y")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.tags.input == "counts"
        tags.target_tags.required = self.tags.space != "one"
        return tags


def _as_array(model: PairModel, Z: Matrix, side: str) -> Matrix:
    """The same matrix as an array; a ValueError where sums of its squares might overflow."""
    if sp.issparse(Z) and not isinstance(Z, sp.sparray):
        Z = sp.csr_array(Z)  # of scipy's older kind, * and sums mean something else
    values = Z.data if sp.issparse(Z) else Z
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    limit = largest_value(Z.dtype)
    if largest > limit:
        raise ValueError(
            f"{type(model).__name__} takes sums of squares, which overflow for values as large as "
            f"{largest:.3g} in {side} ({Z.dtype}, at most {limit:.3g}). Divide all features by "
            "the same number, or scale each to a variance of 1."
        )
    return Z


def judged_pool(relevance: Relevance) -> tuple[sp.csr_array, Literal["all", "judged"]]:
    """The candidates whose ranks matter, and what they are ranked against."""
    if relevance.unjudged == "ignore":
        return relevance.matrix, "judged"
    return relevance.positives, "all"


def _pooled_auc(scores: NDArray[np.float64], relevance: Relevance) -> float:
    """AUC over all judged pairs, ties counted half."""
    from scipy.stats import rankdata

    limit = relevance.threshold if relevance.kind == "score" else None
    data = relevance.matrix.data
    positive = data >= limit if limit is not None else data > 0
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if not n_pos or not n_neg:
        raise ValueError(
            f"AUC compares relevant with not relevant pairs; got {n_pos} and {n_neg}. "
            "Bring judgments of both kinds, or set unjudged='negative'."
        )
    above = rankdata(scores)[positive].sum() - n_pos * (n_pos + 1) / 2
    return float(above / (n_pos * n_neg))


class IterativeMixin:
    """For methods that learn step by step and may watch a validation set.

    Subclasses write ``_fit_iter(X, Y, relevance, validation)`` in place of
    ``_fit``; `validation` is None or the three arguments of `score`.
    """

    def fit(
        self: Any,
        X: Matrix,
        y: Matrix | None = None,
        relevance: object = None,
        X_val: Matrix | None = None,
        y_val: Matrix | None = None,
        relevance_val: object = None,
        *,
        divided: str | None = None,
    ) -> Any:
        """Learn from both sides, stopping early where a validation set is given.

        Parameters
        ----------
        X, y : array or sparse matrix of shape (n_x, d_x) and (n_y, d_y)
            Training items, as in `PairModel.fit`.
        relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
            Training judgments; None pairs row i with row i.
        X_val, y_val : array or sparse matrix, optional
            Items that are only watched; without them the fit runs to ``max_iter``.
        relevance_val : Relevance or sparse matrix, optional
            Their judgments; None pairs row i with row i.
        divided : {"x", "y"}, optional
            Side whose items will be new: where no validation items are given
            and a method holds some out, they are of this side.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, a shape or a value does not fit.
        """
        self._check_fit()
        X, Y = self._check_sides(X, y, reset=True)
        validation = None
        if X_val is not None:
            X_val, y_val = self._check_sides(X_val, y_val, reset=False)
            validation = (X_val, y_val, relevance_val)
        relevance = Relevance.coerce(relevance, X.shape[0], Y.shape[0])
        self._divided = divided
        try:
            self._fit_iter(X, Y, relevance, validation)
        finally:
            del self._divided
        return self

    def _fit(self: Any, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        self._fit_iter(X, Y, relevance, None)
