"""Groups of keywords that are given to the same pictures, chosen by a rule."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.exceptions import DatasetError

Ints = NDArray[np.int64]

#: Keywords more alike than this are other names of one thing.
_SYNONYM = 0.6
#: Mean similarity between two groups at most.
_APART = 0.05
_RARE, _FREQUENT = 8, 60


def related_keywords(
    positives: sp.csr_array, allowed: NDArray[np.bool_], n_groups: int = 3, size: int = 7
) -> list[Ints]:
    """Find groups of related keywords, unrelated to each other.

    Two keywords are as similar as the cosine of the sets of pictures that they
    are given to. From each keyword on a group grows by the one that is most
    similar to its members on average; then the best groups are taken.

    Parameters
    ----------
    positives : CSR array of shape (n_keywords, n_pictures)
        Which keywords were given to which pictures.
    allowed : ndarray of bool, shape (n_keywords,)
        Keywords that may take part.
    n_groups : int, default=3
        Groups to find.
    size : int, default=7
        Keywords of a group.

    Returns
    -------
    list of ndarray of int, shape (size,)
        Keywords of each group, the most coherent group first.

    Raises
    ------
    DatasetError
        If there are not so many groups.

    Notes
    -----
    Only keywords given to 8 to 60 pictures take part, and no two of a group
    share more than 0.6: names of one thing would make a group of one meaning.
    """
    marks = sp.csr_array(positives, copy=True)
    marks.data = np.ones(len(marks.data))
    uses = np.diff(marks.indptr)
    some = np.flatnonzero(allowed & (uses >= _RARE) & (uses <= _FREQUENT))
    together = (marks[some] @ marks[some].T).toarray()
    cosine = together / np.sqrt(np.outer(uses[some], uses[some]))
    np.fill_diagonal(cosine, 0)
    grown = [_grown(cosine, seed, size) for seed in range(len(some))]
    ranked = sorted(
        (group for group in grown if len(group) == size),
        key=lambda group: (-cosine[np.ix_(group, group)].sum(), group[0]),
    )
    chosen: list[Ints] = []
    for group in ranked:
        if all(
            not np.intersect1d(group, other).size and cosine[np.ix_(group, other)].mean() < _APART
            for other in chosen
        ):
            chosen.append(group)
        if len(chosen) == n_groups:
            return [some[group].astype(np.int64) for group in chosen]
    raise DatasetError(
        f"There are {len(chosen)} groups of {size} related keywords that have {_RARE} to "
        f"{_FREQUENT} pictures each, not {n_groups}. Bring more annotated pictures."
    )


def _grown(cosine: NDArray[np.float64], seed: int, size: int) -> Ints:
    """From one keyword on; shorter where nothing similar is left."""
    group = [seed]
    while len(group) < size:
        value = cosine[group].mean(axis=0)
        value[(cosine[group] > _SYNONYM).any(axis=0)] = 0
        value[group] = 0
        if not value.max() > 0:
            break
        group.append(int(value.argmax()))
    return np.array(group, dtype=np.int64)
