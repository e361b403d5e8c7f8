"""Bringing two similarities to one scale before they are added."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simviz.discovery import unknown_name

Block = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
#: How similarities are brought to one scale, see `BlendPipeline`.
Normalization = Literal["global_std", "none", "minmax_query", "z_query"]


def check_normalization(normalization: str) -> None:
    """Refuse a normalisation that does not exist.

    Parameters
    ----------
    normalization : str
        Its name.

    Raises
    ------
    ValueError
        Naming those that do.
    """
    if normalization not in get_args(Normalization):
        raise ValueError(unknown_name("normalization", normalization, get_args(Normalization)))


def scaled(scores: Block, normalization: Normalization, spread: float) -> Block:
    """Similarities of whole rows on the scale asked for.

    Parameters
    ----------
    scores : ndarray of shape (b, n_y)
        One row an x item, all y items.
    normalization : str
        See `BlendPipeline`.
    spread : float
        Standard deviation in training, for "global_std".

    Returns
    -------
    ndarray of shape (b, n_y)
        What depends on the query is in float64; a row without differences
        becomes 0.
    """
    if normalization == "none":
        return scores
    if normalization == "global_std":
        return scores / scores.dtype.type(spread)
    values = scores.astype(np.float64)
    if normalization == "minmax_query":
        shift = values.min(axis=1, keepdims=True)
        width = values.max(axis=1, keepdims=True) - shift
    else:
        shift, width = values.mean(axis=1, keepdims=True), values.std(axis=1, keepdims=True)
        # Rounding of the mean must not be blown up to a standard deviation of 1.
        width[np.ptp(values, axis=1, keepdims=True) == 0] = 0
    return np.divide(values - shift, width, out=np.zeros_like(values), where=width > 0)


def filled_in(learned: Block, lexical: Block, x_known: Mask, y_known: Mask) -> Block:
    """The learned similarities, with the lexical ones where nothing was learned of an item.

    Parameters
    ----------
    learned, lexical : ndarray of shape (b, n_y)
        On one scale.
    x_known, y_known : ndarray of bool, shape (b,) and (n_y,)
        Whether the learned vector of an item is not zero.

    Returns
    -------
    ndarray of shape (b, n_y)
        Blended with any weight, such a pair has its lexical score.
    """
    if x_known.all() and y_known.all():
        return learned
    filled = learned.astype(np.result_type(learned, lexical), copy=True)
    filled[~x_known] = lexical[~x_known]
    filled[:, ~y_known] = lexical[:, ~y_known]
    return filled
