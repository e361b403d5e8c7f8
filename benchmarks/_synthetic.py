"""Matrices that look like those of texts, made from seeds in seconds.

Words follow Zipf's law, topics are uneven, texts mix a few of them: singular
values then fall the way those of real collections do, fast at first and slowly
later, which is what iterative solvers find hard or easy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.floating]
Index = NDArray[np.intp]

_TOPICS_A_TEXT = 4
_COMMON = 0.25  # share of tokens that belong to no topic


@dataclass(frozen=True)
class TopicModel:
    """Words from topics; equal seeds hold equal topics.

    Parameters
    ----------
    n_words, n_topics : int
        Words of the language; topics of unequal weight (1 / rank^0.8).
    seed : int
        Of the topics.
    tilt : float
        How far topics go from the common distribution of words: the standard
        deviation of the logarithm of a word's odds.
    """

    n_words: int
    n_topics: int
    seed: int = 0
    tilt: float = 2.5

    def mixtures(self, n: int, rng: np.random.Generator) -> tuple[Index, Array]:
        """A few topics for each of n texts, and the cumulated shares of them."""
        weight = np.arange(1.0, self.n_topics + 1) ** -0.8
        size = (n, _TOPICS_A_TEXT)
        topics = rng.choice(self.n_topics, size=size, p=weight / weight.sum())
        return topics, np.cumsum(rng.dirichlet(np.full(size[1], 0.7), n), axis=1)

    def words(self, text: Index, mixtures: tuple[Index, Array], rng: np.random.Generator) -> Index:
        """One word for each token, given the text it stands in."""
        topics, shares = mixtures
        slot = (rng.random(len(text))[:, None] > shares[text, :-1]).sum(axis=1)
        topic = np.where(rng.random(len(text)) < _COMMON, -1, topics[text, slot])
        order = np.argsort(topic, kind="stable")
        ends = np.searchsorted(topic[order], np.arange(-1, self.n_topics), side="right")
        words = np.empty(len(text), dtype=np.intp)
        for t, tokens in enumerate(np.split(order, ends[:-1]), start=-1):
            if len(tokens):
                words[tokens] = _draw(self._odds(t), len(tokens), rng)
        return words

    def _odds(self, topic: int) -> Array:
        zipf = 1.0 / (np.arange(self.n_words) + 2.7) ** 1.05
        if topic < 0:
            return zipf
        own = np.random.default_rng([self.seed, topic]).standard_normal(self.n_words)
        return zipf * np.exp(self.tilt * own)


def _draw(odds: Array, n: int, rng: np.random.Generator) -> Index:
    total = np.cumsum(odds)
    return np.minimum(np.searchsorted(total, rng.random(n) * total[-1]), len(odds) - 1)


def _lengths(n: int, mean: float, rng: np.random.Generator) -> Index:
    """Tokens of n texts: a log-normal, as of paragraphs, with the given mean."""
    spread = 0.5
    return np.maximum(rng.lognormal(np.log(mean) - spread**2 / 2, spread, n).astype(np.intp), 3)


def _tfidf(text: Index, word: Index, shape: tuple[int, int], n_train: int) -> sp.csr_array:
    """Rows of length 1 of ln(1 + tf) ln(N / df), counted on the first texts."""
    counts = sp.csr_array((np.ones(len(text)), (text, word)), shape=shape)
    counts.sum_duplicates()
    df = np.bincount(counts[:n_train].indices, minlength=shape[1])
    idf = np.log(n_train / np.maximum(df, 1)) * (df > 0)
    counts.data = np.log1p(counts.data) * idf[counts.indices]
    counts.eliminate_zeros()
    norms = np.sqrt(counts.multiply(counts).sum(axis=1))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return sp.csr_array(sp.diags_array(inverse) @ counts, dtype=np.float32)


def texts(
    n: int, n_words: int, *, n_topics: int = 1_000, length: float = 104, seed: int = 0
) -> sp.csr_array:
    """One collection.

    Parameters
    ----------
    n, n_words : int
        Rows and columns.
    n_topics : int
        Of the collection.
    length : float
        Mean number of tokens; about 72 % of them are distinct, so 75 a row.
    seed : int
        Equal seeds, equal matrices.

    Returns
    -------
    csr_array of float32, shape (n, n_words)
        Rows of length 1.
    """
    rng = np.random.default_rng(seed)
    model = TopicModel(n_words, n_topics, seed)
    text = np.repeat(np.arange(n), _lengths(n, length, rng))
    word = model.words(text, model.mixtures(n, rng), rng)
    return _tfidf(text, word, (n, n_words), n)


@dataclass(frozen=True)
class Bilingual:
    """Pairs of texts that say the same in two languages.

    Parameters
    ----------
    n_train, n_test : int
        Pairs to learn from, and unseen ones behind them.
    n_concepts : int
        Words of each language.
    n_identical : int
        Words that are spelt alike in both (names, numbers), of any frequency.
    n_topics : int
        Of both languages.
    copied : float
        Share of tokens that are translated; the others only share the topics.
    length : float
        Mean number of tokens.
    seed : int
        Equal seeds, equal pairs.
    """

    n_train: int
    n_test: int
    n_concepts: int
    n_identical: int
    n_topics: int = 400
    copied: float = 0.3
    length: float = 60
    seed: int = 0

    def pairs(self, *, shared: bool) -> tuple[sp.csr_array, sp.csr_array]:
        """Both sides, training pairs first.

        Parameters
        ----------
        shared : bool
            One vocabulary of ``2 n_concepts - n_identical`` words, or one each.

        Returns
        -------
        X, Y : csr_array of float32
            Rows of length 1; row i of X means row i of Y.
        """
        n = self.n_train + self.n_test
        rng = np.random.default_rng(self.seed)
        model = TopicModel(self.n_concepts, self.n_topics, self.seed)
        text = np.repeat(np.arange(n), _lengths(n, self.length, rng))
        mixtures = model.mixtures(n, rng)
        x = model.words(text, mixtures, rng)
        fresh = model.words(text, mixtures, rng)
        y = np.where(rng.random(len(x)) < self.copied, x, fresh)
        width = self.n_concepts
        if shared:
            width = 2 * self.n_concepts - self.n_identical
            # Concepts in a random order: the first ones are spelt alike, the others move.
            place = rng.permutation(self.n_concepts)
            spelt = np.where(
                place < self.n_identical, place, place + self.n_concepts - self.n_identical
            )
            x, y = place[x], spelt[y]
        X, Y = (_tfidf(text, words, (n, width), self.n_train) for words in (x, y))
        return X, Y


def factors(n: int, d: int, *, n_shared: int = 400, seed: int = 0) -> tuple[Array, Array]:
    """Two dense sides whose variance falls as a power, part of it common to both.

    Parameters
    ----------
    n, d : int
        Pairs and features of each side.
    n_shared : int
        Directions that both sides share; as many belong to one side alone.
    seed : int
        Equal seeds, equal data.

    Returns
    -------
    X, Y : ndarray of float32, shape (n, d)
        Full rank: white noise lies beneath.
    """
    rng = np.random.default_rng(seed)
    decay = np.arange(1.0, n_shared + 1) ** -0.6
    common = rng.standard_normal((n, n_shared)) * decay
    sides = []
    for _ in range(2):
        latent = np.hstack([common, rng.standard_normal((n, n_shared)) * decay])
        noise = 0.1 * rng.standard_normal((n, d))
        sides.append(latent @ rng.standard_normal((2 * n_shared, d)) / np.sqrt(n_shared) + noise)
    X, Y = (side.astype(np.float32) for side in sides)
    return X, Y
