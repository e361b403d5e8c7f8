"""Both sides on one map, and the gap between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from simviz._blas import eigh
from simviz.callbacks import Callback
from simviz.projection import layout
from simviz.projection.layout import FloatArray
from simviz.projection.quality import Quality, map_quality
from simviz.projection.two_sided import SHARE, Similarity, two_sided_map
from simviz.registry import unknown_name
from simviz.relevance import Relevance

Method = Literal["two-sided", "mds", "umap", "pca"]
METHODS: tuple[Method, ...] = ("two-sided", "mds", "umap", "pca")
Balance = Literal["none", "center", "rms", "rank"]
BALANCES: tuple[Balance, ...] = ("none", "center", "rms", "rank")
#: Items whose distances are looked at; the others are placed by theirs to these.
MAX_LANDMARKS = 1_500
_DIMENSIONS = 50


@dataclass(frozen=True, slots=True)
class ModalityGap:
    """How far apart two clouds of points lie.

    Parameters
    ----------
    distance_ratio : float
        Root mean square distance within a side (the two counted alike) over that across the
        sides: 1 where both are centred on one point, near 0 for two islands.
    mixing : float
        How often the ten nearest neighbours of an item lie on the other side, relative to
        chance: 1 in a perfect mixture, 0 for islands.

    Examples
    --------
    >>> side_gap([[0.0], [1.0], [2.0]], [[9.0], [10.0], [11.0]])
    ModalityGap(distance_ratio=0.127, mixing=0.000)
    """

    distance_ratio: float
    mixing: float

    def __repr__(self) -> str:
        return f"ModalityGap(distance_ratio={self.distance_ratio:.3f}, mixing={self.mixing:.3f})"


@dataclass(frozen=True, slots=True, eq=False)
class JointMap:
    """Positions of both sides on one map, and what is known about it.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n_x, 2) and (n_y, 2)
        Positions.
    method : {"two-sided", "mds", "umap", "pca"}
        How they were found.
    balance : {"none", "center", "rms", "rank"}
        What was done about the gap between the sides.
    seed : int
        Seed of what is random in it.
    quality : Quality or None
        How far to trust it, against the model's own space (before any balancing).
    gap, gap_balanced : ModalityGap
        Distance between the sides in the model's space, before and after.
    notes : tuple of str
        Sentences that belong beside the drawing.
    share : float or None
        Share of the forces across the sides of a two-sided drawing.
    """

    x: FloatArray
    y: FloatArray
    method: Method
    balance: Balance
    seed: int
    quality: Quality | None
    gap: ModalityGap
    gap_balanced: ModalityGap
    notes: tuple[str, ...] = ()
    share: float | None = None

    def __repr__(self) -> str:
        sides = f"{len(self.x):,} x + {len(self.y):,} y"
        return f"JointMap({sides}, {self.method}, balance={self.balance!r})"

    def turned_onto(self, other: JointMap) -> JointMap:
        """The same map, moved as a whole to lie on another as well as it can.

        Parameters
        ----------
        other : JointMap
            Of the same items.

        Returns
        -------
        JointMap
            Turned, mirrored and shifted, see `align`, and as large as the other.
        """
        own, onto = (np.concatenate([drawn.x, drawn.y]) for drawn in (self, other))
        middle = onto.mean(axis=0)
        points = layout.align(own, onto) - middle
        # What two drawings have in common decides how they are turned, not how large one is.
        wide, target_size = np.linalg.norm(points), np.linalg.norm(onto - middle)
        if wide <= 1e-9 * np.linalg.norm(own) or target_size <= 1e-9 * np.linalg.norm(onto):
            return self  # all in one place, or nothing in common
        points = points * (target_size / wide) + middle
        return replace(self, x=points[: len(self.x)], y=points[len(self.x) :])


def joint_map(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    method: Method = "two-sided",
    balance: Balance = "center",
    random_state: int = 0,
    callback: Callback | None = None,
    *,
    share: float = SHARE,
    similarity: Similarity | ArrayLike = "euclidean",
    relevance: Relevance | sp.sparray | None = None,
    quality: bool = True,
    start: JointMap | None = None,
) -> JointMap:
    """Draw both sides of a model in one picture.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in the model's space: rows of unit length for a model that compares by cosine.
    method : {"two-sided", "mds", "umap", "pca"}, default="two-sided"
        "two-sided" keeps what is near within a side and across the sides, "mds" keeps distances,
        "umap" keeps neighbourhoods of all points as one cloud, "pca" shows what differs within
        the sides, weighing both alike.
    balance : {"none", "center", "rms", "rank"}, default="center"
        See `align_sides`. The default takes away only the constant offset of the sides, which
        says nothing about which item belongs to which. A two-sided drawing needs none.
    random_state : int, default=0
        Seed of UMAP, of the two-sided drawing and of sampled figures.
    callback : callable, optional
        See `simviz.callbacks`. A true answer ends an optimisation early and keeps what it has
        reached.
    share : float, default=0.7
        Of the forces of a two-sided drawing, see `two_sided_map`.
    similarity : {"euclidean", "dot"} or array-like of shape (n_x, n_y), default="euclidean"
        How the model compares items of different sides, see `two_sided_map`; quality across the
        sides is measured by it.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Adds to the quality how well the drawing itself retrieves.
    quality : bool, default=True
        Whether to measure the quality.
    start : JointMap, optional
        A drawing of the same items, by the same way, as a slightly different model sees them:
        a two-sided one is carried on from there, others are turned onto it.

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
    JointMap(2 x + 3 y, two-sided, balance='none')
    >>> drawn.quality.trustworthiness
    1.0
    """
    if method not in METHODS:
        raise ValueError(unknown_name("way to draw", method, METHODS))
    x, y = layout.check_sides(x_vectors, y_vectors)
    if method == "two-sided":
        balance = "none"
    near_x, near_y = align_sides(x, y, balance)
    gap = side_gap(x, y, random_state=random_state)
    gap_balanced = gap
    notes: list[str] = []
    if balance != "none":
        gap_balanced = side_gap(near_x, near_y, random_state=random_state)
        notes.append(_balance_note(balance, gap, gap_balanced))

    if method in ("umap", "two-sided"):
        stopped_at: list[int] = []

        def report(step: int, total: int, metrics: object, /) -> bool:
            """Pass progress on, and remember where it was stopped."""
            if callback is not None and callback(step, total, {}):
                stopped_at[:] = step, total
            return bool(stopped_at)

        step_callback = None if callback is None else report
        if method == "umap":
            map_x, map_y = layout.umap_map(
                near_x, near_y, random_state=random_state, callback=step_callback
            )
        else:
            map_x, map_y = two_sided_map(
                x, y, similarity=similarity, share=share, random_state=random_state,
                callback=step_callback, start=None if start is None else (start.x, start.y),
            )  # fmt: skip
        if method == "umap" and len(x) + len(y) < layout.MIN_POINTS:
            notes.append(
                f"UMAP needs at least {layout.MIN_POINTS} points; drawn by classical scaling "
                "instead."
            )
        if stopped_at:
            name = "UMAP" if method == "umap" else "The drawing"
            notes.append("{} was stopped at epoch {} of {}.".format(name, *stopped_at))
    else:
        draw = layout.mds_map if method == "mds" else layout.pca_map
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
        measured = map_quality(
            x, y, map_x, map_y,
            similarity=similarity, relevance=relevance, random_state=random_state,
        )  # fmt: skip
        if measured.n_sampled < measured.n_points:
            sample = f"{measured.n_sampled:,} of {measured.n_points:,} points"
            notes.append(f"Quality was measured on a sample of {sample}.")
    made = JointMap(
        map_x, map_y, method, balance, random_state, measured, gap, gap_balanced, tuple(notes),
        share if method == "two-sided" else None,
    )  # fmt: skip
    return made if start is None or method == "two-sided" else made.turned_onto(start)


def _balance_note(balance: Balance, before: ModalityGap, after: ModalityGap) -> str:
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


def side_gap(
    x_vectors: ArrayLike, y_vectors: ArrayLike, *, max_points: int = 1000, random_state: int = 0
) -> ModalityGap:
    """Measure the gap between the sides.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in one space, of a model or of a map.
    max_points : int, default=1000
        Points whose neighbours are looked at; a sample where there are more.
    random_state : int, default=0
        Seed of the sample.

    Returns
    -------
    ModalityGap
        Two ratios; where all points coincide both are 1.

    References
    ----------
    Liang, W., Zhang, Y., Kwon, Y., Yeung, S., Zou, J. (2022). Mind the Gap:
    Understanding the Modality Gap in Multi-modal Contrastive Representation
    Learning. NeurIPS.
    """
    x, y = layout.check_sides(x_vectors, y_vectors)
    # Mean squared distances follow from the variances: no pair is visited.
    spread = x.var(axis=0).sum() + y.var(axis=0).sum()
    offset = x.mean(axis=0) - y.mean(axis=0)
    cross = spread + offset @ offset
    points = layout.centred(np.concatenate([x, y]))
    n, n_x = len(points), len(x)
    if not points.any():
        return ModalityGap(1.0, 1.0)
    rows = np.arange(n)
    if n > max_points:
        rng = np.random.RandomState(random_state)
        rows = np.sort(rng.choice(n, max_points, replace=False))
    k = max(1, min(10, (n - 1) // 2))
    seen, expected = 0.0, 0.0
    for block, squared in layout.distance_blocks(points, rows):
        near = np.argpartition(squared, k - 1, axis=1)[:, :k]
        on_x = (block < n_x)[:, None]
        seen += float(((near < n_x) != on_x).sum())
        expected += k * float(np.where(on_x, n - n_x, n_x).sum()) / (n - 1)
    return ModalityGap(float(np.sqrt(spread / cross)) if cross > 0 else 1.0, seen / expected)


def align_sides(
    x_vectors: ArrayLike, y_vectors: ArrayLike, balance: Balance
) -> tuple[FloatArray, FloatArray]:
    """Move the sides together before they are drawn.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in the model's space.
    balance : {"none", "center", "rms", "rank"}
        "none" leaves every distance as the model has it. "center" subtracts each side's mean: the
        constant offset between the sides goes. "rms" also scales both sides to the same root mean
        square length. "rank" gives the item of some rank on the other side the distance that the
        item of this rank has on the own side.

    Returns
    -------
    x, y : ndarray
        New coordinates. A side without spread is not scaled. "rank" may change the number of
        dimensions.

    Raises
    ------
    ValueError
        If `balance` is unknown.

    Examples
    --------
    >>> x, y = align_sides([[0.0], [2.0]], [[5.0], [6.0]], "center")
    >>> x.ravel().tolist(), y.ravel().tolist()
    ([-1.0, 1.0], [-0.5, 0.5])
    """
    if balance not in BALANCES:
        raise ValueError(unknown_name("balance", balance, BALANCES))
    x, y = layout.check_sides(x_vectors, y_vectors)
    if balance == "none":
        return x, y
    if balance == "rank":
        return rank_matched(x, y)
    x, y = layout.centred(x), layout.centred(y)
    if balance == "rms":
        lengths = [float(np.sqrt((side**2).sum() / len(side))) for side in (x, y)]
        if min(lengths) > 1e-12 * max(*lengths, 1e-300):
            common = float(np.sqrt(lengths[0] * lengths[1]))
            x, y = x * (common / lengths[0]), y * (common / lengths[1])
    return x, y


def rank_matched(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates in which the other side is as near as the own side."""
    # The j-th nearest item of the other side gets the distance that the item of the same rank
    # has on the own side; what the two items of a pair say is averaged. So each item's list of
    # the other side keeps its order as far as both sides agree on it, and a gap between the
    # sides, which is in every distance across, is in no rank.
    if min(len(x), len(y)) < 3:
        return layout.centred(x), layout.centred(y)
    rng = np.random.default_rng(0)
    share = min(1.0, MAX_LANDMARKS / (len(x) + len(y)))
    n_marks = [max(3, round(share * len(side))) for side in (x, y)]
    drawn = [rng.permutation(len(side))[:n] for side, n in zip((x, y), n_marks, strict=True)]
    marks = [x[np.sort(drawn[0])], y[np.sort(drawn[1])]]

    def of_x(side: FloatArray) -> FloatArray:
        return np.concatenate(_to_marks(side, *marks), axis=1)

    def of_y(side: FloatArray) -> FloatArray:
        return np.concatenate(_to_marks(side, *marks[::-1])[::-1], axis=1)

    squared = np.concatenate([of_x(marks[0]), of_y(marks[1])])
    # Both sides say the same of a pair up to the ties of their ranks.
    squared = (squared + squared.T) / 2
    middle = squared.mean(axis=0)
    axes = _leading(-0.5 * (squared - middle - middle[:, None] + middle.mean()))
    if not axes.shape[1]:
        return layout.centred(x), layout.centred(y)
    return 0.5 * (middle - of_x(x)) @ axes, 0.5 * (middle - of_y(y)) @ axes


def _to_marks(
    side: FloatArray, own: FloatArray, other: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Squared distances from items to the landmarks of their side, and matched ones across."""
    within, across = _distances(side, own), _distances(side, other)
    # As the item sees it: the rank of a landmark in its list.
    ranks = across.argsort(axis=1).argsort(axis=1) / max(across.shape[1] - 1, 1)
    matched = _quantiles(np.sort(within, axis=1), ranks)
    # As the landmark sees it: the rank of the item in its list.
    lists = np.sort(_distances(own, other), axis=0)
    goals = np.sort(_distances(other, other), axis=1)
    for j in range(across.shape[1]):
        place = np.searchsorted(lists[:, j], across[:, j]) / len(lists)
        matched[:, j] += _quantiles(goals[[j]], np.minimum(place, 1.0)[None])[0]
    return within**2, (matched / 2) ** 2


def _quantiles(ascending: FloatArray, shares: FloatArray) -> FloatArray:
    """Row by row the value at a share of ascending ones, the first of them left out."""
    # That is the item itself; one that is no landmark loses its nearest landmark, one of many.
    ascending = ascending[:, 1:]
    at = shares * (ascending.shape[1] - 1)
    low = np.minimum(at.astype(np.intp), max(ascending.shape[1] - 2, 0))
    high = np.minimum(low + 1, ascending.shape[1] - 1)
    first = np.take_along_axis(ascending, low, axis=1)
    return first + (at - low) * (np.take_along_axis(ascending, high, axis=1) - first)


def _leading(gram: FloatArray) -> FloatArray:
    """Eigenvectors of the largest positive eigenvalues, each over the root of its own."""
    values, vectors = eigh(gram)
    values, vectors = values[-_DIMENSIONS:], vectors[:, -_DIMENSIONS:]
    real = values > 1e-10 * max(values[-1], 0.0)
    return vectors[:, real][:, ::-1] / np.sqrt(values[real][::-1])


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    squared = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2.0 * (a @ b.T)
    return np.sqrt(np.maximum(squared, 0.0))
