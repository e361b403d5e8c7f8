"""How alike two shares of topics are: Jensen–Shannon, Hellinger, cosine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simviz.base import RowScorer, unit_rows

Array = NDArray[np.floating]

MEASURES = ("js", "hellinger", "cosine")


def comparable(theta: Array, measure: str) -> Array:
    """Rows whose Euclidean distance mirrors the similarity.

    Parameters
    ----------
    theta : ndarray of shape (n, K)
        Shares of topics, or zeros.
    measure : {"js", "hellinger", "cosine"}
        How they are compared.

    Returns
    -------
    ndarray of shape (n, K)
        Rows of length 1, or zeros: square roots, whose products are
        Hellinger's affinity; for the cosine the shares themselves.
    """
    return unit_rows(theta) if measure == "cosine" else np.sqrt(theta)


def row_scorer(P: Array, Q: Array, measure: str) -> RowScorer:
    """Blocks of similarities.

    Parameters
    ----------
    P, Q : ndarray of shape (n_x, K) and (n_y, K)
        Shares of topics.
    measure : {"js", "hellinger", "cosine"}
        1 − JS / ln 2, Σ √(p q), or the cosine: all in [0, 1].

    Returns
    -------
    callable
        From a slice of rows to a dense block.
    """
    if measure == "js":
        return lambda rows: js_similarity(P[rows], Q)
    P, Q = comparable(P, measure), comparable(Q, measure)
    return lambda rows: P[rows] @ Q.T


def pair_score(P: Array, Q: Array, measure: str) -> Array:
    """Row-wise similarities, of shape (n,).

    Parameters
    ----------
    P, Q : ndarray of shape (n, K)
        Shares of topics.
    measure : {"js", "hellinger", "cosine"}
        See `row_scorer`.

    Returns
    -------
    ndarray of shape (n,)
        The diagonal of all similarities.
    """
    if measure == "js":
        gain = _negative_entropy(P + Q) - _negative_entropy(P) - _negative_entropy(Q)
        return (gain / (2 * np.log(2.0))).astype(P.dtype)
    P, Q = comparable(P, measure), comparable(Q, measure)
    return np.einsum("ik,ik->i", P, Q)


def js_similarity(P: Array, Q: Array) -> Array:
    """1 − JS / ln 2 of all pairs of rows: 1 where they are equal, 0 without a common topic.

    Parameters
    ----------
    P, Q : ndarray of shape (n, K) and (m, K)
        Shares of topics, or zeros, which are like nothing.

    Returns
    -------
    ndarray of shape (n, m)
        From 0 to 1.
    """
    alone = _negative_entropy(Q)
    out = np.empty((len(P), len(Q)), P.dtype)
    for i, p in enumerate(P):
        gain = _negative_entropy(Q + p) - alone - _negative_entropy(p[None])
        out[i] = gain / (2 * np.log(2.0))
    return out


def _negative_entropy(P: Array) -> NDArray[np.float64]:
    logs = np.log(np.maximum(P, np.finfo(P.dtype).tiny))
    return np.asarray(np.multiply(P, logs, out=logs).sum(axis=1, dtype=np.float64))
