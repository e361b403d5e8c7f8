"""Topics that people can read: their leading terms on both sides, and how these cohere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

#: Character n-grams looked at for each piece of a word.
_NGRAMS = 12
#: Characters in common by which n-grams are joined; less where all are shorter.
_OVERLAP = 3


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
        Leading terms of the two sides, the first one first.
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
        Distributions over terms, or other values by which to order them.
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
    n_kept = min(n_terms, phi.shape[1])
    found = np.empty((len(phi), n_kept), dtype=np.int64)
    if n_kept:
        for row, out in zip(phi, found, strict=True):
            # To sort a whole vocabulary for the sake of ten terms would take seconds.
            likely = np.flatnonzero(row >= np.partition(row, -n_kept)[-n_kept])
            out[:] = likely[np.argsort(-row[likely], kind="stable")][:n_kept]
    return found


def term_relevance(
    topics: ArrayLike, share: ArrayLike | None = None, weight: float = 0.6
) -> NDArray[np.float64]:
    r"""How much a term tells of a topic, beside how likely it is there.

    :math:`\lambda \ln \phi_{kw} + (1 - \lambda) \ln (\phi_{kw} / p_w)` with the
    probability :math:`p_w = \sum_k s_k \phi_{kw}` of the term in all topics:
    what is frequent everywhere steps back.

    Parameters
    ----------
    topics : array-like of shape (K, V)
        Distributions over terms.
    share : array-like of shape (K,), optional
        Shares s of the topics; by default all are equal.
    weight : float, default=0.6
        From 0 (only what sets the topic apart) to 1 (only the probability): λ.

    Returns
    -------
    ndarray of float64, shape (K, V)
        The larger the better; -inf for terms of probability 0.

    References
    ----------
    Sievert & Shirley (2014), LDAvis: a method for visualizing and interpreting
    topics. ACL workshop on interactive language learning, section 3.1.

    Examples
    --------
    >>> topics = [[0.6, 0.4, 0.0], [0.6, 0.0, 0.4]]
    >>> top_terms(topics, 1).T, top_terms(term_relevance(topics), 1).T
    (array([[0, 0]]), array([[1, 2]]))
    """
    phi = np.asarray(topics, dtype=np.float64)
    s = np.full(len(phi), 1 / max(len(phi), 1)) if share is None else np.asarray(share)
    with np.errstate(divide="ignore"):
        log_phi = np.log(phi)
        log_p = np.log(s @ phi)
    # A term that no topic has: -inf - -inf would be NaN.
    log_p[np.isneginf(log_p)] = 0.0
    return np.asarray(log_phi - (1 - weight) * log_p)


def joined_terms(
    names: Sequence[str], n_terms: int = 10, known: Collection[str] | None = None
) -> list[tuple[str, int]]:
    """Join character n-grams that overlap to what they are pieces of.

    The leading n-grams of a topic are mostly pieces of a few words. One that
    goes on where another ends is joined to it, and one that lies within
    another is left out.

    Parameters
    ----------
    names : sequence of str
        Character n-grams, the leading one first; spaces are edges of words.
    n_terms : int, default=10
        Pieces wanted.
    known : collection of str, optional
        All n-grams there are: no piece is joined that would hold another one
        of the greatest length.

    Returns
    -------
    list of (str, int)
        Each piece as it reads, with "…" where a word goes on, and the place
        in `names` of its leading n-gram.

    Examples
    --------
    >>> joined_terms([" hea", "hear", "eart", "art ", "ear", "ción "])
    [('heart', 0), ('…ción', 5)]
    """
    longest = max(map(len, names), default=0)
    overlap = max(2, min(longest - 1, _OVERLAP))

    def is_piece(joined: str) -> bool:
        windows = (joined[i : i + longest] for i in range(len(joined) - longest + 1))
        return known is None or all(window in known for window in windows)

    pieces: list[tuple[str, int]] = []
    for place, name in enumerate(names):
        piece, first = name, place
        at = 0
        while at < len(pieces):
            joined = _join(pieces[at][0], piece, overlap)
            if joined and is_piece(joined):
                piece, first = joined, min(first, pieces.pop(at)[1])
                at = 0  # a longer piece may meet others in turn
            else:
                at += 1
        pieces.append((piece, first))
    pieces.sort(key=lambda piece: piece[1])
    return [(_readable(piece), first) for piece, first in pieces[:n_terms]]


def _join(a: str, b: str, overlap: int) -> str:
    """What two pieces of text are pieces of; empty if they have too little in common."""
    if a in b or b in a:
        return max(a, b, key=len)
    if a[-overlap:] not in b and b[-overlap:] not in a:
        return ""
    for n in range(min(len(a), len(b)) - 1, overlap - 1, -1):
        for left, right in ((a, b), (b, a)):
            if right.startswith(left[-n:]):
                return left + right[n:]
    return ""


def _readable(piece: str) -> str:
    before, after = ("" if piece[end : end + 1].isspace() else "…" for end in (0, len(piece) - 1))
    return f"{before}{piece.strip()}{after}"


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
        Columns of each topic's terms, as from `top_terms`; below 0 there is none.

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
    there = sp.csc_array(counts)[:, np.maximum(used, 0)]
    there = sp.csc_array((there.data != 0, there.indices, there.indptr), shape=there.shape)
    there = there.astype(np.float64)
    n = there.shape[0]
    result = np.full(len(chosen), np.nan)
    for topic, columns in enumerate(place):
        part = there[:, columns[chosen[topic] >= 0]]
        above = np.triu_indices(part.shape[1], 1)
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
    relevance: float = 1.0,
    pieces: tuple[bool, bool] = (False, False),
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
        Topics of items, which decide the shares and the order. Rows may be
        multiplied by the lengths of the items: shares are then of tokens.
    x_counts, y_counts : array or sparse matrix, optional
        Items of the sides, for the coherence.
    relevance : float, default=1.0
        Which terms lead: the likeliest ones at 1, below it those that set the
        topic apart too, see `term_relevance`.
    pieces : tuple of bool, default=(False, False)
        For each side, whether its terms are character n-grams: those that
        overlap are then joined, see `joined_terms`.

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
    n_topics = len(sides[0][0])
    if n_topics != len(sides[1][0]):
        raise ValueError(
            f"Both sides have the same topics; got {n_topics} for x and "
            f"{len(sides[1][0])} for y. Take both from one model."
        )
    share = np.full(n_topics, np.nan)
    order = np.arange(n_topics)
    if theta is not None:
        total = np.asarray(theta, dtype=np.float64).sum(axis=0)
        share = total / max(total.sum(), np.finfo(np.float64).tiny)
        order = np.argsort(-share, kind="stable")
    words, values = [], []
    for (phi, names, counts), joins in zip(sides, pieces, strict=True):
        if phi.shape[1] != len(names):
            raise ValueError(
                f"Topics over {phi.shape[1]} terms need as many names, got {len(names)}. "
                "Take the names from the features that the model was fitted on."
            )
        score = phi
        if relevance < 1:
            score = term_relevance(phi, None if theta is None else share, relevance)
        told, columns = _leading(phi, score, names, n_terms, joins)
        words.append(told)
        none = np.full(n_topics, np.nan)
        values.append(none if counts is None else coherence(counts, columns))
    return [
        TopicTerms(
            *(int(k), float(share[k]), words[0][k], words[1][k]),
            *(float(values[0][k]), float(values[1][k])),
        )
        for k in order
    ]


def _leading(
    phi: NDArray[Any], score: NDArray[Any], names: Sequence[str], n_terms: int, joins: bool
) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
    """Names and columns of each topic's leading terms; columns are -1 where there are fewer."""
    best = top_terms(score, n_terms * (_NGRAMS if joins else 1))
    columns = np.full((len(phi), n_terms), -1, dtype=np.int64)
    known = {str(name) for name in names} if joins else None
    told = []
    for row, p, out in zip(best, phi, columns, strict=True):
        there = row[p[row] > 0]
        found = [(str(names[w]), place) for place, w in enumerate(there)]
        if joins:
            found = joined_terms([name for name, _ in found], n_terms, known)
        out[: len(found)] = there[[place for _, place in found]]
        told.append(tuple(name for name, _ in found))
    return told, columns
