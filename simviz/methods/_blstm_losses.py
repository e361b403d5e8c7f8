"""Losses of the cosines between two lists of texts."""

from __future__ import annotations

from typing import Any

Tensor = Any


def negative_loss(E: Tensor, form: str, margin: float) -> Tensor:
    """What the cosine of a pair that does not belong together costs.

    Parameters
    ----------
    E : tensor
        Cosines.
    form : {"above", "below", "always", "hinge"}
        E² where E > m; E² where E < m; E² always; max(0, E − m)².
    margin : float
        m.

    Returns
    -------
    tensor
        Of the same shape.
    """
    if form == "hinge":
        return (E - margin).clamp(min=0).square()
    squares = E.square()
    if form == "above":
        return squares * (E > margin)
    if form == "below":
        return squares * (E < margin)
    return squares


def contrastive(E: Tensor, P: Tensor, N: Tensor, form: str, margin: float) -> Tensor:
    """¼(1 − E)² of pairs that belong together, and `negative_loss` of others.

    Parameters
    ----------
    E : tensor of shape (n_x, n_y)
        Cosines.
    P, N : tensor of shape (n_x, n_y)
        Weights of positive and of negative pairs.
    form, margin : str and float
        See `negative_loss`.

    Returns
    -------
    tensor
        The weighted mean.
    """
    total = 0.25 * (P * (1 - E).square()).sum() + (N * negative_loss(E, form, margin)).sum()
    return total / (P.sum() + N.sum()).clamp(min=1)


def triplet(E: Tensor, P: Tensor, N: Tensor, margin: float) -> Tensor:
    """max(0, m − E⁺ + E⁻), over the negatives of the row of each positive pair.

    Parameters
    ----------
    E : tensor of shape (n_x, n_y)
        Cosines.
    P, N : tensor of shape (n_x, n_y)
        Weights of positive and of negative pairs.
    margin : float
        m.

    Returns
    -------
    tensor
        The mean over triples that cost anything: easy ones would drown the rest.
    """
    rows, columns = P.nonzero(as_tuple=True)
    gaps = (margin - E[rows, columns, None] + E[rows]).clamp(min=0) * N[rows]
    return gaps.sum() / (gaps > 0).sum().clamp(min=1)


def softmax(E: Tensor, P: Tensor, N: Tensor, scale: float) -> Tensor:
    """log(1 + Σ exp(γ(E⁻ − E⁺))), over all negatives of the row of a positive pair.

    Parameters
    ----------
    E : tensor of shape (n_x, n_y)
        Cosines.
    P, N : tensor of shape (n_x, n_y)
        Weights of positive and of negative pairs.
    scale : float
        γ.

    Returns
    -------
    tensor
        The mean over positive pairs.
    """
    from torch.nn.functional import softplus

    # Not −∞, whose gradient is no number in a row without negatives.
    others = (scale * E + N.log().clamp(min=-1e4)).logsumexp(dim=1)
    rows, columns = P.nonzero(as_tuple=True)
    costs = softplus(others[rows] - scale * E[rows, columns])
    return costs.sum() / max(1, len(rows))
