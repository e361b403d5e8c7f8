"""The taxonomy text that shares most trigrams with an input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def best_matches(inputs: Sequence[str], titles: Sequence[str]) -> NDArray[np.intp]:
    """Position of the title that is nearest to each input by its trigrams.

    Parameters
    ----------
    inputs, titles : sequence of str
        What people wrote, and a taxonomy. Case does not count.

    Returns
    -------
    ndarray of shape (len(inputs),)
        The first of equally near ones.

    Notes
    -----
    With a, b and c the numbers of trigrams of the input, of the title and of
    both, the matcher of Neculoiu et al. (2016), section 4.1, ranks by
    ``M - a - b + 3 c``; for one input that is ``3 c - b``. A text shorter than
    three characters has one gram: itself.

    Examples
    --------
    >>> best_matches(["head chefs"], ["chef", "head chef", "head teacher"]).tolist()
    [1]
    """
    rows = [_grams(text) for text in (*inputs, *titles)]
    place: dict[str, int] = {}
    indices = [place.setdefault(gram, len(place)) for grams in rows for gram in grams]
    indptr = np.cumsum([0, *map(len, rows)])
    matrix = sp.csr_array(
        (np.ones(len(indices), dtype=np.int32), indices, indptr), shape=(len(rows), len(place))
    )
    asked, known = matrix[: len(inputs)], matrix[len(inputs) :].T.tocsr()
    sizes = np.array([len(grams) for grams in rows[len(inputs) :]], dtype=np.int32)
    found = np.empty(len(inputs), dtype=np.intp)
    for start in range(0, len(inputs), 1_024):
        block = (asked[start : start + 1_024] @ known).toarray()
        found[start : start + 1_024] = (3 * block - sizes).argmax(axis=1)
    return found


def _grams(text: str) -> list[str]:
    """Distinct trigrams, in the order of the text."""
    text = text.casefold()
    return list(dict.fromkeys(text[i : i + 3] for i in range(max(1, len(text) - 2))))
