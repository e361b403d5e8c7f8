"""Which part of the split an item of a run belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.splitting import PARTS

#: What an item is called that is in every part, or in none.
EVERY_PART, NO_PART = "every part", "left out"


def part_labels(
    arrays: Mapping[str, NDArray[Any]], side: str, n_items: int
) -> NDArray[np.object_]:
    """Name the parts that each item of a side is in.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        What `simviz.store.Run.arrays` answers: "x_train", "y_test", ...
    side : {"x", "y"}
        Which side.
    n_items : int
        Items of that side.

    Returns
    -------
    ndarray of str, shape (n_items,)
        Such as "train"; where a split keeps the other side apart, an item may
        be in several ("train and test") or in every part.

    Examples
    --------
    >>> parts = {"x_train": np.array([0, 1]), "x_test": np.array([1])}
    >>> part_labels(parts, "x", 3).tolist()
    ['train', 'train and test', 'left out']
    """
    inside = np.zeros((n_items, len(PARTS)), dtype=bool)
    for column, part in enumerate(PARTS):
        inside[arrays.get(f"{side}_{part}", np.empty(0, dtype=np.intp)), column] = True
    labels = np.empty(n_items, dtype=object)
    patterns, which = np.unique(inside, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        labels[which.ravel() == i] = _name(pattern)
    return labels


def is_in_part(labels: NDArray[np.object_], part: str) -> NDArray[np.bool_]:
    """Which items are in a part, whatever else they are in.

    Parameters
    ----------
    labels : ndarray of str
        What `part_labels` answered.
    part : str
        Such as "test", or `NO_PART`.

    Returns
    -------
    ndarray of bool
        One for each label.

    Examples
    --------
    >>> is_in_part(np.array(["train", "train and test", "every part"]), "test").tolist()
    [False, True, True]
    """
    if part == NO_PART:
        return np.asarray(labels == NO_PART)
    return np.array(
        [label == EVERY_PART or part in label.split(" and ") for label in labels], dtype=bool
    )


def parts_present(labels: NDArray[np.object_]) -> tuple[str, ...]:
    """Names of the parts that any item is in, in the order of the split."""
    known = set(labels.tolist())
    return tuple(
        part
        for part in (*PARTS, NO_PART)
        if is_in_part(np.array([*known], dtype=object), part).any()
    )


def _name(pattern: NDArray[np.bool_]) -> str:
    named = [part for part, is_in in zip(PARTS, pattern, strict=True) if is_in]
    if not named:
        return NO_PART
    return EVERY_PART if len(named) == len(PARTS) else " and ".join(named)
