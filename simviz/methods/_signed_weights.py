"""Pairs with signs: what relevant pairs and the others weigh."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.relevance import Relevance

Array = NDArray[np.floating]


def signed_weights(
    relevance: Relevance, negative_weight: str | float
) -> tuple[sp.csr_array, Array, Array]:
    """Split signed pair weights into R = P − a bᵀ, P sparse.

    Parameters
    ----------
    relevance : Relevance
        Judgments of shape (n_x, n_y).
    negative_weight : str or float
        As in `simviz.methods.heterogeneous_svd.HeterogeneousSVD`.

    Returns
    -------
    P : CSR array of shape (n_x, n_y)
        The sparse part.
    a, b : ndarray of shape (n_x,) and (n_y,)
        The rank-one part: all pairs as negatives.

    Raises
    ------
    ValueError
        If nothing is relevant.
    """
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
