"""Where topic models start: noise, single documents, or clusters of directions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, unit_rows
from simviz.methods import _em_kernels as kernels, get_method
from simviz.methods._em import Counts, Topics, normalized_words
from simviz.methods._spectral import all_rows
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.methods._em import EM

Array = NDArray[np.floating]

_MOST_DIRECTIONS = 100  # more would tell clusters apart by noise
_BLOCK = 2**20


def first_topics(
    model: Any, em: EM, rng: Any, X: Matrix, Y: Matrix, relevance: Relevance
) -> Topics:
    """Equal shares of topics, and topics that differ."""
    if model.init == "random":
        phis = [_noise(len(known), model.n_components, rng, em.dtype) for known in em.known]
    else:
        if model.init == "documents":
            members = _single_units(em, model.n_components, rng)
        else:
            members = _clusters(model, em, X, Y, relevance, rng)
        phis = [_words_of(em, vocabulary, members, rng) for vocabulary in range(len(em.known))]
    for phi, known in zip(phis, em.known, strict=True):
        phi[~known] = 0
        normalized_words(phi, 0, known)
    return em.begin(Topics(em.uniform(), phis))


def _noise(n_words: int, k: int, rng: Any, dtype: Any) -> Array:
    """Equally likely distributions over words: Dirichlet(1), once scaled."""
    phi = np.empty((n_words, k), dtype)
    size = max(1, _BLOCK // k)
    for start in range(0, n_words, size):
        rows = phi[start : start + size]
        rows[:] = rng.standard_exponential(rows.shape)
    return phi


def _single_units(em: EM, k: int, rng: Any) -> sp.csr_array:
    """One unit a topic, drawn among those with words."""
    filled = np.flatnonzero(em.unit_work > 0)
    if not len(filled):
        filled = np.arange(em.n_units)
    chosen = rng.choice(filled, k, replace=k > len(filled))
    return sp.csr_array((np.ones(k), (chosen, np.arange(k))), shape=(em.n_units, k))


def _clusters(
    model: Any, em: EM, X: Matrix, Y: Matrix, relevance: Relevance, rng: Any
) -> sp.csr_array:
    """One cluster of units a topic, by k-means in the space of (CL-)LSI."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    k = model.n_components
    seed = rng.randint(2**31 - 1)
    paired = len(em.sides) == 2
    shared = {"shared": model.shared} if paired else {}
    lsi: Any = get_method(model.init)(min(k, _MOST_DIRECTIONS), random_state=seed, **shared)
    lsi.set_callbacks(lambda *_: em.notify())
    items = [_weighed(Z) for Z in ((X, Y) if paired else (all_rows(X, Y),))]
    with warnings.catch_warnings():
        # Fewer directions than topics are no matter.
        warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
        lsi.fit(*items, relevance if paired else None)
    vectors = [lsi.transform(items[0]), *([lsi.transform_y(items[1])] if paired else [])]
    units = unit_rows(
        sum(unit_rows(P)[side.items] for P, side in zip(vectors, em.sides, strict=True))
    )
    n = min(k, len(np.unique(units, axis=0)))
    # Sums in one order, whatever the cores.
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        # Units that differ by rounding are one cluster: fewer than asked are no matter.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(n, n_init=1, max_iter=20, random_state=seed).fit_predict(
            units, sample_weight=em.weights
        )
    return sp.csr_array((np.ones(len(found)), (np.arange(len(found)), found)), (len(found), k))


def _weighed(Z: Matrix) -> sp.csr_array:
    """(1 + log c) log(n / df) of counts: long items and common words do not decide all."""
    C = Counts(Z).matrix
    df = np.bincount(C.indices, minlength=C.shape[1])
    idf = np.log(C.shape[0] / np.maximum(df, 1))
    C.data = (np.log1p(C.data) * idf[C.indices]).astype(C.dtype)
    return unit_rows(C)


def _words_of(em: EM, vocabulary: int, members: sp.csr_array, rng: Any) -> Array:
    """Words of each topic's units, mixed half and half with all words, a little shaken."""
    sides = em.sides if em.shared else [em.sides[vocabulary]]
    k = members.shape[1]
    words = np.zeros((sides[0].matrix.shape[1], k))
    common = np.zeros(len(words))
    for side in sides:
        n_items = side.matrix.shape[0]
        pick = sp.csr_array(
            (em.weights, (side.items, np.arange(em.n_units))), shape=(n_items, em.n_units)
        )
        words += (side.matrix.T.astype(np.float64) @ (pick @ members)).toarray()
        common += side.word_totals
    for column in (words, common):
        total = column.sum(axis=0)
        column /= np.where(total > 0, total, 1)
    # Topics that begin equal would stay so, hence the noise.
    for start in range(0, len(words), max(1, _BLOCK // k)):
        rows = slice(start, start + max(1, _BLOCK // k))
        words[rows] += common[rows, None] * rng.uniform(0.5, 1.5, words[rows].shape)
    return words.astype(em.dtype)


_MOST = 1_000  # pairs or items watched: a look should cost less than a step


class Watch:
    """Foretells words that the topics were not asked about."""

    # Of a pair, each item's words are foretold from its partner's; where items have topics of
    # their own, every second word from the others of its item.

    def __init__(self, model: Any, X: Matrix, Y: Matrix, relevance: object) -> None:
        self.model = model
        # Each task: side and counts to fold in, side and counts to foretell.
        self.tasks: list[tuple[int, Matrix, int, Matrix]] = []
        if not model._paired:
            Z = Counts(all_rows(X, Y)).matrix
            Z = Z[_spread(np.arange(Z.shape[0]))]
            even, odd = _halves(Z)
            self.tasks = [(0, even, 0, odd), (0, odd, 0, even)]
            return
        pairs = Relevance.coerce(relevance, X.shape[0], Y.shape[0]).positives.tocoo()
        chosen = _spread(np.arange(pairs.nnz))
        A, B = (sp.csr_array(Z)[i[chosen]] for Z, i in ((X, pairs.row), (Y, pairs.col)))
        self.tasks = [(0, A, 1, B), (1, B, 0, A)]

    def perplexity(self, em: EM, topics: Topics) -> float:
        """The number of equally likely words that would be as hard to foretell."""
        total, n_words = 0.0, 0.0
        self.model._keep(em, topics)
        for source, given, target, asked in self.tasks:
            shares = (self.model._embed_x, self.model._embed_y)[source](given)
            phi = em.word_shares(topics, target)
            wanted = Counts(asked, em.known[0 if em.shared else target], phi.dtype)
            rows = np.flatnonzero(shares.any(axis=1))
            logs = np.empty(len(rows))
            kernels.likelihoods(*wanted.rows, rows, shares.astype(phi.dtype), rows, phi, logs)
            total += float(logs.sum())
            n_words += float(wanted.totals[rows].sum())
        return float(np.exp(-total / n_words)) if n_words else float("nan")


def _spread(index: NDArray[np.integer]) -> NDArray[np.integer]:
    """At most so many, evenly spread."""
    chosen = np.linspace(0, len(index) - 1, min(_MOST, len(index)))
    return index[np.unique(chosen.astype(np.int64))] if len(index) else index


def _halves(Z: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array]:
    """Every second word of each row, and the others."""
    position = np.arange(Z.nnz) - np.repeat(Z.indptr[:-1], np.diff(Z.indptr))
    parts = []
    for rest in (0, 1):
        part = Z.copy()
        part.data = np.where(position % 2 == rest, Z.data, 0).astype(Z.dtype)
        part.eliminate_zeros()
        parts.append(part)
    return parts[0], parts[1]
