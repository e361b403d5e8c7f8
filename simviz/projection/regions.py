"""Regions of a map and what they are about, so that it can be read from afar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

#: Items that the middle of a region is sought among: enough to find it.
_MAX_ITEMS = 400
#: Characters of a text that are read to say what a region is about.
_CHARACTERS = 600
_FEWEST = 5
#: A word of a region is so many times as likely there as on the whole map.
_LIKELIER = 1.5
#: Words of no content in languages other than English, for which scikit-learn has a list.
_EMPTY_WORDS = frozenset(
    "con del los las una uno por para der die das und mit von ein eine den dem les des aux est "
    "par pour avec sur dans che per gli della dei".split()
)
#: A region may be so wide, in spreads of the whole map.
_WIDEST = 0.6


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a map.

    Parameters
    ----------
    point : tuple of float
        An item in its middle, in map coordinates.
    weight : float
        How many items it stands for.
    lines : tuple of str
        What it is about, to be written there; not escaped.
    """

    point: tuple[float, float]
    weight: float
    lines: tuple[str, ...]


def topic_regions(
    points: ArrayLike, theta: ArrayLike, lines: Sequence[Sequence[str]]
) -> list[Region]:
    """Where on a map the items of each topic lie together.

    A topic's items are those that are more about it than about any other; its point is their
    medoid, weighted by their shares. Topics that are scattered over the map have no region.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Positions of items.
    theta : array-like of shape (n, K)
        Their shares of topics.
    lines : sequence of sequence of str, length K
        What is written for each topic.

    Returns
    -------
    list of Region
        By descending weight; of topics with at least 5 items, and of those with the same first
        line only the weightiest.

    Raises
    ------
    ValueError
        If lengths do not fit.

    Examples
    --------
    >>> points = [[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5], [9, 9], [9, 8]]
    >>> regions = topic_regions(points, [[1, 0]] * 5 + [[0, 1]] * 2, [["cats"], ["dogs"]])
    >>> [(region.lines, region.point) for region in regions]
    [(('cats',), (0.5, 0.5))]
    """
    where = np.asarray(points, dtype=np.float64)
    shares = np.asarray(theta, dtype=np.float64)
    if len(where) != len(shares) or shares.shape[1] != len(lines):
        raise ValueError(
            f"{len(where)} points, shares of shape {shares.shape} and lines for {len(lines)} "
            "topics do not fit: give a row of shares a point and the lines of every topic."
        )
    if not len(where):
        return []
    whole = float(np.sqrt(where.var(axis=0).sum()))
    about = np.where(shares.max(axis=1) > 0, shares.argmax(axis=1), -1)
    regions = []
    for topic, text in enumerate(lines):
        rows = np.flatnonzero(about == topic)
        if len(rows) < _FEWEST or not any(text):
            continue
        weight = float(shares[rows, topic].sum())
        rows = rows[np.argsort(-shares[rows, topic], kind="stable")][:_MAX_ITEMS]
        apart = cdist(where[rows], where[rows])
        middle = int((apart @ shares[rows, topic]).argmin())
        if np.median(apart[middle]) <= _WIDEST * whole:
            x, y = where[rows[middle]].tolist()
            regions.append(Region((x, y), weight, tuple(line for line in text if line)))
    regions.sort(key=lambda region: -region.weight)
    # The same words twice would only puzzle: the weightier region keeps them.
    first = {region.lines[0]: region for region in reversed(regions)}
    return [region for region in regions if first[region.lines[0]] is region]


def word_regions(
    sides: Sequence[tuple[ArrayLike, Sequence[str] | None]], n_regions: int = 12
) -> list[Region]:
    """Parts of a map, each with the words that set it apart.

    Positions are clustered by k-means; the words of a cluster's texts, each side for itself, are
    ordered by `simviz.explain.topics.term_relevance`.

    Parameters
    ----------
    sides : sequence of (array-like of shape (n, 2), sequence of str or None)
        Positions of each side's items and their texts; None where there is nothing to read.
    n_regions : int, default=12
        Clusters.

    Returns
    -------
    list of Region
        With one line a side that has words; see `topic_regions`.

    Examples
    --------
    >>> points = [[i % 3, i // 9 * 50] for i in range(18)]
    >>> texts = ["a red cat"] * 9 + ["a blue dog"] * 9
    >>> sorted(region.lines for region in word_regions([(points, texts)], 2))
    [('blue, dog',), ('cat, red',)]
    """
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    from simviz.explain.topics import describe_topics
    from simviz.features.text import TextCounts

    where = np.concatenate([np.asarray(points, dtype=np.float64) for points, _ in sides])
    n_regions = min(n_regions, len(np.unique(where, axis=0)))
    if n_regions < 2:
        return []
    labels = KMeans(n_regions, n_init=1, random_state=0).fit_predict(where)
    member = np.eye(n_regions)[labels]
    words_of: list[list[str]] = [[] for _ in range(n_regions)]
    start = 0
    for points, texts in sides:
        rows = member[start : start + len(np.asarray(points))]
        start += len(rows)
        if texts is None:
            continue
        counter = TextCounts(min_df=3)
        try:
            counts = counter.fit_transform([text[:_CHARACTERS] for text in texts])
        except ValueError:  # no word occurs often enough
            continue
        words = np.asarray(counts.T @ rows).T
        # What a region has once or twice says nothing of it.
        words[words < 3] = 0
        overall = words.sum(axis=0) / max(words.sum(), 1)
        phi = words / np.maximum(words.sum(axis=1, keepdims=True), 1)
        phi[phi < _LIKELIER * overall] = 0
        names = counter.get_feature_names_out().tolist()
        phi[:, [len(n) < 3 or n in ENGLISH_STOP_WORDS or n in _EMPTY_WORDS for n in names]] = 0
        for topic in describe_topics(phi, phi, names, names, n_terms=2, theta=rows, relevance=0.6):
            words_of[topic.topic].append(", ".join(topic.x_terms))
    return topic_regions(where, member, words_of)
