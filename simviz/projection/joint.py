"""Both sides on one map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import scipy.sparse as sp
from numpy.typing import ArrayLike

from simviz.callbacks import Callback
from simviz.projection._sides import FloatArray, check_sides
from simviz.projection.gap import Balance, Gap, balance_sides, side_gap
from simviz.projection.layout import MIN_POINTS, mds_map, pca_map, umap_map
from simviz.projection.quality import Quality, map_quality
from simviz.relevance import Relevance

Method = Literal["mds", "umap", "pca"]
METHODS: tuple[Method, ...] = ("mds", "umap", "pca")


@dataclass(frozen=True, slots=True, eq=False)
class JointMap:
    """Positions of both sides on one map, and what is known about it.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n_x, 2) and (n_y, 2)
        Positions.
    method : {"mds", "umap", "pca"}
        How they were found.
    balance : {"none", "center", "rms", "rank"}
        What was done about the gap between the sides.
    seed : int
        Seed of what is random in it.
    quality : Quality or None
        How far to trust it, against the model's own space (before any
        balancing).
    gap, gap_balanced : Gap
        Distance between the sides in the model's space, before and after.
    notes : tuple of str
        Sentences that belong beside the drawing.
    """

    x: FloatArray
    y: FloatArray
    method: Method
    balance: Balance
    seed: int
    quality: Quality | None
    gap: Gap
    gap_balanced: Gap
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"JointMap({len(self.x):,} x + {len(self.y):,} y, {self.method}, "
            f"balance={self.balance!r})"
        )


def joint_map(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    method: Method = "mds",
    balance: Balance = "center",
    random_state: int = 0,
    callback: Callback | None = None,
    *,
    relevance: Relevance | sp.sparray | None = None,
    quality: bool = True,
) -> JointMap:
    """Draw both sides of a model in one picture.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in the model's space: rows of unit length for a model
        that compares by cosine, the plain projections for one that compares
        by dot product.
    method : {"mds", "umap", "pca"}, default="mds"
        "mds" keeps distances, "umap" keeps neighbourhoods, "pca" shows what
        differs within the sides, weighing both alike.
    balance : {"none", "center", "rms", "rank"}, default="center"
        See `balance_sides`. The default moves the centres of the two sides
        together. Distances within a side stay exact and only the constant
        offset goes, which says nothing about which item belongs to which.
        On the icon and emoji demos, whose gaps are small, the picture hardly
        changes; where a model leaves two islands, it becomes readable.
    random_state : int, default=0
        Seed of UMAP and of sampled figures.
    callback : callable, optional
        See `simviz.callbacks`. A true answer ends a UMAP early and keeps
        what it has reached.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Adds to the quality how well the drawing itself retrieves.
    quality : bool, default=True
        Whether to measure the quality.

    Returns
    -------
    JointMap
        Finite positions for any finite input, however degenerate.

    Raises
    ------
    ValueError
        If the sides do not lie in one space or an option is unknown.

    Examples
    --------
    >>> drawn = joint_map([[0.0, 1.0], [1.0, 0.0]], [[0.1, 0.9], [0.8, 0.3], [0.5, 0.5]])
    >>> drawn
    JointMap(2 x + 3 y, mds, balance='center')
    >>> drawn.quality.trustworthiness
    1.0
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    x, y = check_sides(x_vectors, y_vectors)
    near_x, near_y = balance_sides(x, y, balance)
    gap = side_gap(x, y, random_state=random_state)
    gap_balanced = (
        gap if balance == "none" else side_gap(near_x, near_y, random_state=random_state)
    )
    notes: list[str] = []
    if balance != "none":
        notes.append(_balance_note(balance, gap, gap_balanced))

    if method == "umap":
        stop = _Listener(callback)
        map_x, map_y = umap_map(near_x, near_y, random_state=random_state, callback=stop.callback)
        if len(x) + len(y) < MIN_POINTS:
            notes.append(
                f"UMAP needs at least {MIN_POINTS} points; drawn by classical scaling instead."
            )
        if stop.stopped_at:
            notes.append("UMAP was stopped at epoch {} of {}.".format(*stop.stopped_at))
    else:
        draw = mds_map if method == "mds" else pca_map
        map_x, map_y = draw(near_x, near_y)
        if callback is not None:
            callback(1, 1, {})
    empty = int((~x.any(axis=1)).sum() + (~y.any(axis=1)).sum())
    if empty:
        notes.append(
            f"{empty:,} items are empty in the model's space (nothing in them was known) "
            "and are drawn in one place."
        )
    measured = None
    if quality:
        measured = map_quality(x, y, map_x, map_y, relevance=relevance, random_state=random_state)
        if measured.n_sampled < measured.n_points:
            notes.append(
                f"Quality was measured on a sample of {measured.n_sampled:,} "
                f"of {measured.n_points:,} points."
            )
    return JointMap(
        map_x, map_y, method, balance, random_state, measured, gap, gap_balanced, tuple(notes)
    )


class _Listener:
    """Passes progress on and remembers where it was stopped."""

    def __init__(self, callback: Callback | None) -> None:
        self._inner = callback
        self.callback: Callback | None = None if callback is None else self._hear
        self.stopped_at: tuple[int, int] | None = None

    def _hear(self, step: int, total: int, metrics: object, /) -> bool:
        if self._inner is not None and self._inner(step, total, {}):
            self.stopped_at = (step, total)
        return self.stopped_at is not None


def _balance_note(balance: Balance, before: Gap, after: Gap) -> str:
    """Say what was moved, and how much it mattered."""
    done = {
        "center": "The centres of the two sides were moved together",
        "rms": "The two sides were centred and scaled to one size",
        "rank": "Distances across the sides were matched by rank to those within them",
    }[balance]
    return (
        f"{done} (distances within a side over those across: {before.distance_ratio:.2f} before, "
        f"{after.distance_ratio:.2f} after; 1 means no gap)."
    )
