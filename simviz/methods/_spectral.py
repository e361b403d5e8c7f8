"""What the spectral methods share: capping at the rank, weights of pairs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.methods._linalg import numerical_rank
from simviz.relevance import Relevance


def capped_components(model: Any, s: NDArray[np.floating], shape: tuple[int, int]) -> int:
    """How many of the asked components the data can give, warning if fewer.

    Parameters
    ----------
    model : estimator
        Has `n_components`.
    s : ndarray
        Leading singular values, descending.
    shape : tuple of int
        Of the decomposed matrix.

    Returns
    -------
    int
        At least 1, at most ``model.n_components``.
    """
    rank = max(1, numerical_rank(s, shape))
    if rank < model.n_components:
        warnings.warn(
            f"{type(model).__name__}: n_components={model.n_components} is more than the data "
            f"can give, {rank} are kept. Further directions would be arbitrary.",
            UserWarning,
            stacklevel=4,
        )
    return int(min(rank, model.n_components))


def pair_weights(model: Any, relevance: Relevance) -> sp.csr_array:
    """Relevant pairs with their grades as weights that sum to 1.

    Parameters
    ----------
    model : estimator
        Named in the error.
    relevance : Relevance
        Judgments.

    Returns
    -------
    CSR array of shape (n_x, n_y)
        Weights of the pairs.

    Raises
    ------
    ValueError
        If no pair is relevant.
    """
    positives = relevance.positives
    if not positives.nnz:
        raise ValueError(
            f"{type(model).__name__} learns from relevant pairs; got none among "
            f"{relevance.matrix.nnz} judgments. Bring pairs that belong together."
        )
    return positives / positives.sum()
