"""Rows of character ids as texts, each text once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix

Index = NDArray[np.int64]

_LARGEST = 2.0**53  # above it not every whole number can be told from the next
NONE, UNKNOWN = 0, 1  # what the network reads where there is no character, or a new one


@dataclass(frozen=True, slots=True)
class Texts:
    """Characters of texts, as the network reads them.

    Parameters
    ----------
    ids : ndarray of int64, shape (n, longest)
        Left-aligned, `NONE` behind the end.
    lengths : ndarray of int64, shape (n,)
        Characters of each.
    """

    ids: Index
    lengths: Index

    def __len__(self) -> int:
        return len(self.lengths)

    def steps(self, rows: Index, fixed: int | None, rng: Any = None) -> tuple[Index, Index]:
        """Time-major ids and the number of steps of some texts.

        Parameters
        ----------
        rows : ndarray of int64, shape (n,)
            Which texts.
        fixed : int or None
            Steps that every text has, its characters somewhere among them;
            None for as many as it has characters.
        rng : RandomState, optional
            Draws where the characters begin; in the middle without one.

        Returns
        -------
        ids : ndarray of int64, shape (steps, n)
            Characters.
        lengths : ndarray of int64, shape (n,)
            Steps that count, at least 1.
        """
        lengths = self.lengths[rows]
        longest = max(1, int(lengths.max(initial=0)))
        if fixed is None:
            ids = np.zeros((longest, len(rows)), dtype=np.int64)
            width = min(longest, self.ids.shape[1])
            ids[:width] = self.ids[rows, :width].T
            return ids, np.maximum(lengths, 1)
        room = fixed - lengths
        start = (
            room // 2 if rng is None else (rng.random_sample(len(rows)) * (room + 1)).astype(int)
        )
        ids = np.zeros((fixed, len(rows)), dtype=np.int64)
        text, at = np.nonzero(self.ids[rows])
        ids[at + start[text], text] = self.ids[rows][text, at]
        return ids, np.full(len(rows), fixed)


def read_ids(X: Matrix, longest: int) -> sp.csr_array:
    """Whole numbers, the first so many of each row, moved to the left."""
    X = sp.csr_array(X)
    if not X.has_sorted_indices:
        X = X.copy()
        X.sort_indices()
    ids = np.rint(np.clip(X.data, -_LARGEST, _LARGEST)).astype(np.int64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[ids != 0]
    ids = ids[ids != 0]
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    at = np.arange(len(ids)) - ends[rows]
    keep = at < longest
    shape = (X.shape[0], min(longest, X.shape[1]))
    return sp.csr_array((ids[keep], (rows[keep], at[keep])), shape=shape)


def known_characters(*sides: Matrix) -> Index:
    """Ids above that of the unknown character, in ascending order, each once."""
    ids = np.unique(np.concatenate([side.data for side in sides]))
    return ids[ids > UNKNOWN]


def as_texts(ids: sp.csr_array, characters: Index) -> Texts:
    """Texts over an alphabet; what is not in it is the unknown character.

    Parameters
    ----------
    ids : CSR array of int64, shape (n, longest)
        From `read_ids`.
    characters : ndarray of int64
        From `known_characters`, of the training texts.

    Returns
    -------
    Texts
        In the order of the rows.
    """
    found = np.full(len(ids.data), UNKNOWN, dtype=np.int64)
    if len(characters):
        place = np.minimum(np.searchsorted(characters, ids.data), len(characters) - 1)
        met = characters[place] == ids.data
        found[met] = place[met] + UNKNOWN + 1
    dense = sp.csr_array((found, ids.indices, ids.indptr), shape=ids.shape).toarray()
    return Texts(dense, np.diff(ids.indptr).astype(np.int64))


def distinct(texts: list[Texts]) -> tuple[Texts, list[Index]]:
    """Each text once, and where to find those of every list."""
    longest = max(t.ids.shape[1] for t in texts)
    ids = np.concatenate([np.pad(t.ids, ((0, 0), (0, longest - t.ids.shape[1]))) for t in texts])
    ids, first, place = np.unique(ids, axis=0, return_index=True, return_inverse=True)
    lengths = np.concatenate([t.lengths for t in texts])[first]
    ends = np.cumsum([len(t) for t in texts])[:-1]
    return Texts(ids, lengths), np.split(place.ravel(), ends)
