"""Perplexity of items that are only watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix
from simviz.methods import _em_kernels as kernels
from simviz.methods._em_counts import Counts
from simviz.methods._spectral import all_rows
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.methods._em import EM, Topics

_MOST = 1_000  # pairs or items watched: a look should cost less than a step


class Watch:
    """Foretells words that the topics were not asked about.

    Of a pair, each item's words are foretold from its partner's; where items
    have topics of their own, every second word from the others of its item.

    Parameters
    ----------
    model : TopicModel
        Its fold-in is used.
    X, Y : array or CSR of shape (n_x, d_x) and (n_y, d_y)
        Validation items.
    relevance : Relevance or sparse matrix, optional
        Which of them belong together; only the relevant pairs count.
    """

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
        """The number of equally likely words that would be as hard to foretell.

        Parameters
        ----------
        em : EM
            Knows which words occur in training; others are not asked for.
        topics : Topics
            As learned so far.

        Returns
        -------
        float
            Lower is better; NaN where there is nothing to foretell.
        """
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
