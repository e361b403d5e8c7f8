"""Where topic models start: noise, single documents, or clusters of directions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, unit_rows
from simviz.methods import get_method
from simviz.methods._em import Topics, normalized_words
from simviz.methods._em_counts import Counts
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
    """Equal shares of topics, and topics that differ.

    Parameters
    ----------
    model : estimator
        Has `n_components`, `init`, and reports progress.
    em : EM
        Knows the sides and their units.
    rng : RandomState
        Drawn from.
    X, Y : array or CSR of shape (n_x, d_x) and (n_y, d_y)
        Training items.
    relevance : Relevance
        Training judgments.

    Returns
    -------
    Topics
        Where to start.
    """
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
