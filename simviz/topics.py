"""Topics that people can read: their leading terms on both sides, and how these cohere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class TopicTerms:
    """One topic by its leading terms.

    Parameters
    ----------
    topic : int
        Its number.
    share : float
        Its share of all topics of the given items; NaN without items.
    x_terms, y_terms : tuple of str
        Leading terms of the two sides, the likeliest first.
    x_coherence, y_coherence : float
        Mean NPMI of the pairs of those terms, from -1 to 1; NaN without counts.
    """

    topic: int
    share: float
    x_terms: tuple[str, ...]
    y_terms: tuple[str, ...]
    x_coherence: float
    y_coherence: float


def top_terms(topics: ArrayLike, n_terms: int = 10) -> NDArray[np.int64]:
    """The likeliest terms of each topic, in descending order.

    Parameters
    ----------
    topics : array-like of shape (K, V)
        Distributions over terms.
    n_terms : int, default=10
        Terms of a topic; all of them where there are fewer.

    Returns
    -------
    ndarray of int64, shape (K, min(n_terms, V))
        Columns; of equally likely terms the first one leads.

    Examples
    --------
    >>> top_terms([[0.1, 0.6, 0.3], [0.5, 0.0, 0.5]], 2)
    array([[1, 2],
           [0, 2]])
    """
    phi = np.asarray(topics)
    return np.argsort(-phi, axis=1, kind="stable")[:, :n_terms].astype(np.int64)


def coherence(counts: Any, terms: ArrayLike) -> NDArray[np.float64]:
    r"""Mean normalised pointwise mutual information of each topic's terms.

    For two terms that occur in shares p and q of the items, and together in a
    share r of them, :math:`\mathrm{NPMI} = \ln\frac{r}{p q} / (-\ln r)`: 1 for
    terms that only occur together, 0 for independent ones, -1 for those that
    never meet. Averaged over all pairs of terms of a topic.

    Parameters
    ----------
    counts : array or sparse matrix of shape (n, V)
        Items in which to look; only whether a term occurs in one matters.
    terms : array-like of int, shape (K, t)
        Columns of each topic's terms, as from `top_terms`.

    Returns
    -------
    ndarray of float64, shape (K,)
        From -1 to 1. Pairs with a term that never occurs are left out; NaN
        where no pair is left.

    References
    ----------
    Bouma (2009), Normalized (pointwise) mutual information in collocation
    extraction. GSCL.

    Lau, Newman & Baldwin (2014), Machine reading tea leaves: automatically
    evaluating topic coherence and topic model quality. EACL.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[1, 2, 0], [3, 1, 0], [0, 0, 1], [0, 0, 4]])
    >>> coherence(counts, [[0, 1], [0, 2]])
    array([ 1., -1.])
    """
    chosen = np.asarray(terms, dtype=np.int64)
    used, place = np.unique(chosen, return_inverse=True)
    place = place.reshape(chosen.shape)
    there = sp.csc_array(counts)[:, used]
    there = sp.csc_array((there.data != 0, there.indices, there.indptr), shape=there.shape)
    there = there.astype(np.float64)
    n = there.shape[0]
    result = np.full(len(chosen), np.nan)
    above = np.triu_indices(chosen.shape[1], 1)
    for topic, columns in enumerate(place):
        part = there[:, columns]
        together = (part.T @ part).toarray() / n
        alone = np.diag(together)
        r, expected = together[above], np.outer(alone, alone)[above]
        known = expected > 0
        if known.any():
            result[topic] = _npmi(r[known], expected[known]).mean()
    return result


def _npmi(r: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    met, always = r > 0, r >= 1
    # Terms of every single item are independent: 0 / 0 in the formula.
    inside = met & ~always
    found = np.where(met, 0.0, -1.0)
    found[inside] = np.log(r[inside] / expected[inside]) / -np.log(r[inside])
    return found


def describe_topics(
    x_topics: ArrayLike,
    y_topics: ArrayLike,
    x_names: Sequence[str],
    y_names: Sequence[str],
    *,
    n_terms: int = 10,
    theta: ArrayLike | None = None,
    x_counts: Any = None,
    y_counts: Any = None,
) -> list[TopicTerms]:
    """Topics with their terms of both sides, side by side.

    Parameters
    ----------
    x_topics, y_topics : array-like of shape (K, d_x) and (K, d_y)
        Distributions over the terms of the two sides, such as `x_topics_` and
        `y_topics_` of a topic model.
    x_names, y_names : sequence of str
        Names of the columns.
    n_terms : int, default=10
        Terms of a topic and side; those of probability 0 are never named.
    theta : array-like of shape (n, K), optional
        Topics of items, which decide the shares and the order.
    x_counts, y_counts : array or sparse matrix, optional
        Items of the sides, for the coherence.

    Returns
    -------
    list of TopicTerms
        By descending share; in the order of their numbers without `theta`.

    Raises
    ------
    ValueError
        If the numbers of topics or of names do not fit.

    Examples
    --------
    >>> phi = [[0.9, 0.1], [0.0, 1.0]]
    >>> topics = describe_topics(phi, phi, ["cat", "dog"], ["gato", "perro"], n_terms=1)
    >>> [(t.x_terms, t.y_terms) for t in topics]
    [(('cat',), ('gato',)), (('dog',), ('perro',))]
    """
    sides = [(np.asarray(x_topics), x_names, x_counts), (np.asarray(y_topics), y_names, y_counts)]
    if sides[0][0].shape[0] != sides[1][0].shape[0]:
        raise ValueError(
            f"Both sides have the same topics; got {sides[0][0].shape[0]} for x and "
            f"{sides[1][0].shape[0]} for y. Take both from one model."
        )
    words, values = [], []
    for phi, names, counts in sides:
        if phi.shape[1] != len(names):
            raise ValueError(
                f"Topics over {phi.shape[1]} terms need as many names, got {len(names)}. "
                "Take the names from the features that the model was fitted on."
            )
        leading = top_terms(phi, n_terms)
        words.append(
            [
                tuple(str(names[w]) for w in row if p[w] > 0)
                for row, p in zip(leading, phi, strict=True)
            ]
        )
        none = np.full(len(phi), np.nan)
        values.append(none if counts is None else coherence(counts, leading))
    share = np.full(len(sides[0][0]), np.nan)
    order = np.arange(len(share))
    if theta is not None:
        total = np.asarray(theta, dtype=np.float64).sum(axis=0)
        share = total / max(total.sum(), np.finfo(np.float64).tiny)
        order = np.argsort(-share, kind="stable")
    return [
        TopicTerms(
            int(k),
            float(share[k]),
            words[0][k],
            words[1][k],
            float(values[0][k]),
            float(values[1][k]),
        )
        for k in order
    ]
