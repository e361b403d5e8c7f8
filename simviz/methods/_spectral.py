"""What the spectral methods share: capping at the rank, weights of pairs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from simviz.base import Matrix
from simviz.methods._linalg import numerical_rank
from simviz.params import validate_params
from simviz.relevance import Relevance

#: Residual at which directions of most variance are known well enough: the last of them are
#: wrong by a per cent or two in their variance, all of them together by a hundredth of that.
TOLERANCE = 5e-2


class RegularizationPathMixin:
    """For methods whose every regularisation follows from one decomposition."""

    # Subclasses write ``_decompose(X, Y, relevance, many=True)`` and ``_solve(decomposition)``,
    # which reads ``self.regularization``.

    def regularization_path(
        self: Any,
        X: Matrix,
        y: Matrix | None = None,
        relevance: object = None,
        *,
        values: Iterable[float],
    ) -> Iterator[Any]:
        """One fitted model for each regularisation, sharing what does not depend on it."""
        # With principal directions (a `rank`, or few items or features) that is nearly
        # everything; where a factor is used, only what is known of the data.
        model = clone(self).set_callbacks(*getattr(self, "_callbacks", ()))
        decomposition = None
        for value in values:
            model.set_params(regularization=value)
            validate_params(model)
            if decomposition is None:
                X, Y = model._check_sides(X, y, reset=True)
                relevance = Relevance.coerce(relevance, X.shape[0], Y.shape[0])
                decomposition = model._decompose(X, Y, relevance, many=True)
            model._solve(decomposition)
            fitted = copy(model)
            fitted.set_callbacks()
            yield fitted


def all_rows(X: Matrix, Y: Matrix) -> Matrix:
    """The items of both sides, one below the other; once where they are the same."""
    return X if Y is X else stacked(X, Y)


def stacked(X: Matrix, Y: Matrix) -> Matrix:
    """The rows of X above those of Y, as CSR where they are sparse."""
    return sp.csr_array(sp.vstack([X, Y])) if sp.issparse(X) else np.vstack([X, Y])


def capped_components(
    model: Any, s: NDArray[np.floating], shape: tuple[int, int], most: int | None = None
) -> int:
    """How many of the asked components the data can give, warning if fewer."""
    rank = max(1, numerical_rank(s, shape))
    rank = rank if most is None else min(rank, most)
    # Fewer values than were asked for and possible: a fit that was ended, not poor data.
    ended = len(s) < min(model.n_components, *shape) and rank == len(s)
    if rank < model.n_components and not ended:
        warnings.warn(
            f"{type(model).__name__}: n_components={model.n_components} is more than the data "
            f"can give, {rank} are kept. Further directions would be arbitrary.",
            UserWarning,
            stacklevel=4,
        )
    return int(min(rank, model.n_components))


def pair_weights(model: Any, relevance: Relevance) -> sp.csr_array:
    """Relevant pairs with their grades as weights that sum to 1."""
    positives = relevance.positives
    if not positives.nnz:
        raise ValueError(
            f"{type(model).__name__} learns from relevant pairs; got none among "
            f"{relevance.matrix.nnz} judgments. Bring pairs that belong together."
        )
    return positives / positives.sum()


Array = NDArray[np.floating]


def signed_weights(
    relevance: Relevance, negative_weight: str | float
) -> tuple[sp.csr_array, Array, Array]:
    """Split signed pair weights into R = P − a bᵀ, P sparse."""
    positives = relevance.positives
    if not positives.nnz:
        raise ValueError(
            "Heterogeneous SVD needs at least one relevant pair; got none among "
            f"{relevance.matrix.nnz} judgments. Bring pairs that belong together."
        )
    if negative_weight == "per_y":
        P, a, b = signed_weights(relevance.T, "per_x")
        return sp.csr_array(P.T), b, a
    explicit = relevance.unjudged == "ignore"
    n_x, n_y = relevance.shape
    others = relevance.negatives if explicit else positives.astype(bool).astype(np.float64)
    if negative_weight == "per_x":
        mass, count = positives.sum(axis=1), others.sum(axis=1)
        n_others = count if explicit else np.where(mass > 0, n_y - count, 0.0)
        w_pos, w_neg = _inverse(mass), _inverse(n_others)
    else:
        mass, count = positives.sum(), others.sum()
        n_others = count if explicit else n_x * n_y - count
        if negative_weight == "balanced":
            w_pos, w_neg = 1.0 / mass, float(_inverse(n_others))
        else:
            w_pos, w_neg = 1.0, 1.0 if negative_weight == "paper" else float(negative_weight)
        w_pos, w_neg = np.full(n_x, w_pos), np.full(n_x, w_neg)
    # Among judged pairs the negatives are subtracted; among all pairs everything is, and
    # what that takes from the relevant ones is given back.
    sign = -1.0 if explicit else 1.0
    P = sp.diags_array(w_pos) @ positives + sign * (sp.diags_array(w_neg) @ others)
    return sp.csr_array(P), np.zeros(n_x) if explicit else w_neg, np.ones(n_y)


def _inverse(value: Any) -> Any:
    """1 / value, and 0 for what does not occur."""
    value = np.asarray(value, dtype=np.float64)
    return np.divide(1.0, value, out=np.zeros_like(value), where=value > 0)
