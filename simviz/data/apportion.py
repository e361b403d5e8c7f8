"""Handing out units of unequal weight so that parts come near their shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.data.wording import counted
from simviz.exceptions import DatasetError

Parts = NDArray[np.int8]


def apportion(
    weights: ArrayLike,
    strata: ArrayLike,
    shares: ArrayLike,
    rng: np.random.Generator,
    what: str = "item",
) -> Parts:
    """Assign every unit to one part.

    Within a stratum, units go from heavy to light (equal ones in random
    order), each to the part that lacks most of its share among those it fits
    in. So parts come as near their shares as the units allow, and each gets
    large and small ones alike.

    Parameters
    ----------
    weights : array-like of shape (n,)
        Above 0.
    strata : array-like of int, shape (n,)
        Each stratum is spread by the same shares. Every part with a share
        gets at least one unit of stratum 0.
    shares : array-like of shape (n_parts,)
        Adding up to 1; a part with share 0 gets nothing.
    rng : numpy.random.Generator
        Order of equal units.
    what : str
        What a unit is called in messages.

    Returns
    -------
    array of int8, shape (n,)
        The part of each unit.

    Raises
    ------
    DatasetError
        If stratum 0 has fewer units than there are parts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parts = apportion(np.ones(1923), np.zeros(1923), [0.7, 0.1, 0.2], rng)
    >>> np.bincount(parts)
    array([1346,  192,  385])
    """
    weights = np.asarray(weights, dtype=np.float64)
    strata = np.asarray(strata)
    shares = np.asarray(shares, dtype=np.float64)
    n_parts = int((shares > 0).sum())
    n_first = int((strata == 0).sum())
    if n_first < n_parts:
        raise DatasetError(
            f"Too few pairs to split: {counted(n_first, what)} with a relevant pair cannot fill "
            f"{n_parts} parts. Bring more pairs that belong together."
        )
    parts = np.full(len(weights), -1, dtype=np.int8)
    for stratum in np.unique(strata):
        units = np.flatnonzero(strata == stratum)
        units = units[rng.permutation(len(units))]
        units = units[np.argsort(-weights[units], kind="stable")]
        parts[units] = _fill(weights[units], shares)
        if stratum == 0:
            _leave_none_empty(parts, units, shares)
    return parts


def _fill(weights: NDArray[np.float64], shares: NDArray[np.float64]) -> Parts:
    """Parts of units that come heavy first."""
    # Plain floats: this loop runs once a unit.
    lacking = (shares * weights.sum()).tolist()
    share = shares.tolist()
    open_parts = [p for p, s in enumerate(share) if s > 0]
    parts = np.empty(len(weights), dtype=np.int8)
    for i, weight in enumerate(weights.tolist()):
        fitting = [p for p in open_parts if lacking[p] >= weight]
        if fitting:
            part = max(fitting, key=lambda p: lacking[p] / share[p])
        else:
            part = max(open_parts, key=lacking.__getitem__)
        lacking[part] -= weight
        parts[i] = part
    return parts


def _leave_none_empty(parts: Parts, units: NDArray[np.intp], shares: NDArray[np.float64]) -> None:
    """Move the lightest unit of the fullest part to each empty one, in place."""
    for part in np.flatnonzero(shares > 0):
        counts = np.bincount(parts[units], minlength=len(shares))
        if counts[part] == 0:
            fullest = units[parts[units] == np.argmax(counts)]
            parts[fullest[-1]] = part
