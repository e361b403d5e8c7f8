"""Why two items score as they do: what pairs of terms, and parts of an item, contribute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from simviz._types import Index, Reals
from simviz.base import LinearPairModel, PairModel
from simviz.data.pairs import Items
from simviz.features.spans import word_shares
from simviz.features.text import TextCounts

if TYPE_CHECKING:
    from simviz.pipeline import PairPipeline, Pipeline

Matrix = Any  # array or CSR matrix
Groups = tuple[Sequence[str], Reals]

BLOCK_ENTRIES = 2**22  # 32 MB of contributions at a time
_EXACT = 1e-6
_WORD = re.compile(r"\S+")
#: Parts that are hidden one after another: more would take too long to ask about.
MAX_PARTS = 48
_PATCHES = 7  # a side of the grid that an image is cut into


@runtime_checkable
class TermWeighted(Protocol):
    """A model whose score of x and y is xᵀ W y, of items of length 1 or as they are."""

    @property
    def scales_items(self) -> bool:
        """Whether items are scaled to length 1 first."""

    def term_weights(self, x_index: Index, y_index: Index) -> Reals:
        """Block of W.

        Parameters
        ----------
        x_index, y_index : ndarray of int
            Features of the two sides.

        Returns
        -------
        ndarray of float64, shape (len(x_index), len(y_index))
        """


@dataclass(frozen=True, slots=True)
class TermPair:
    """What one feature of x and one of y add to a score together.

    Parameters
    ----------
    x_term, y_term : str
        Names of the features.
    value : float
        Below 0 where they speak against the pair.
    """

    x_term: str
    y_term: str
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """A score as a sum over pairs of terms.

    Parameters
    ----------
    x_terms, y_terms : ndarray of str, shape (m_x,) and (m_y,)
        Features that the two items have, in the order of the features.
    pairs : tuple of TermPair
        The pairs that contribute most, by absolute value.
    x_totals, y_totals : ndarray of float64, shape (m_x,) and (m_y,)
        What each term adds, over all terms of the other item.
    remainder : float
        What all pairs of terms add that are not among `pairs`.
    offset : float
        The part of the means, where a method centres its data; else 0.
    """

    x_terms: NDArray[np.object_]
    y_terms: NDArray[np.object_]
    pairs: tuple[TermPair, ...]
    x_totals: Reals
    y_totals: Reals
    remainder: float
    offset: float

    @property
    def score(self) -> float:
        """All pairs and the offset: the similarity of the two items."""
        return float(self.x_totals.sum() + self.offset)


def contributions(
    model: PairModel,
    x_row: Matrix,
    y_row: Matrix,
    *,
    n: int = 10,
    x_names: Sequence[str] | NDArray[np.object_] | None = None,
    y_names: Sequence[str] | NDArray[np.object_] | None = None,
    x_groups: Groups | None = None,
    y_groups: Groups | None = None,
) -> Contributions:
    r"""Split a similarity into what each pair of terms contributes, exactly.

    A score :math:`c\,(x A - a)(y B - b)^\top` is the sum over terms of
    :math:`c\, x_i y_j (A B^\top)_{ij}` and of an offset; a score :math:`c\, x^\top W y` has no
    offset. For cosines c divides by both lengths.

    Parameters
    ----------
    model : PairModel
        Fitted, and linear in the features of either item up to its length.
    x_row, y_row : array or CSR matrix of shape (d,) or (1, d)
        Features of the two items.
    n : int, default=10
        Pairs to name.
    x_names, y_names : sequence of str, optional
        Names of the features; their numbers when omitted.
    x_groups, y_groups : pair of sequence of str and ndarray, optional
        Names of groups, and how much of each term that the item has belongs to each: an array of
        shape (n_groups, m) whose columns add up to 1. `pairs` are then pairs of groups.

    Returns
    -------
    Contributions
        Computed in float64; its score is that of ``model.pair_score``.

    Raises
    ------
    ValueError
        If the score of the model is no such sum, or there is not one row a side.

    Examples
    --------
    >>> from simviz.methods import get_method
    >>> model = get_method("tfidf_cosine")().fit(np.eye(3))
    >>> found = contributions(model, [3, 4, 0], [4, 3, 0], x_names=["a", "b", "c"])
    >>> [(p.x_term, p.y_term, round(p.value, 2)) for p in found.pairs]
    [('a', '0', 0.48), ('b', '1', 0.48)]
    """
    check_is_fitted(model)
    x, y = _row(x_row, "x"), _row(y_row, "y")
    score = float(model.pair_score(x, y)[0])
    i, j = x.indices.astype(np.intp), y.indices.astype(np.intp)
    if isinstance(model, LinearPairModel):
        left, right, offset = _factors(model, x, y)
    elif isinstance(model, TermWeighted):
        scale = _inverse_lengths(x.data, y.data) if model.scales_items else 1.0
        left, right, offset = None, None, 0.0
    else:
        raise ValueError(_not_linear(model))
    x_totals, y_totals = np.zeros(len(i)), np.zeros(len(j))
    grouped = np.zeros((1, 1))
    top: list[tuple[int, int, float]] = []
    size = max(1, BLOCK_ENTRIES // max(1, len(j)))
    for start in range(0, len(i), size):
        rows = slice(start, start + size)
        if left is not None and right is not None:
            block = left[rows] @ right.T
        else:
            weights = cast(TermWeighted, model).term_weights(i[rows], j)
            block = x.data[rows, None] * weights * (scale * y.data)
        x_totals[rows] = block.sum(axis=1)
        y_totals += block.sum(axis=0)
        if x_groups is None and y_groups is None:
            top = _largest(top, block, start, n)
        else:
            left_share = np.eye(len(i))[:, rows] if x_groups is None else x_groups[1][:, rows]
            grouped = grouped + left_share @ (block if y_groups is None else block @ y_groups[1].T)
    x_terms, y_terms = _names(x_names, i), _names(y_names, j)
    x_named, y_named = x_terms, y_terms
    if x_groups is not None or y_groups is not None:
        top = _largest(top, np.atleast_2d(grouped), 0, n)
        x_named = x_terms if x_groups is None else np.asarray(x_groups[0], dtype=object)
        y_named = y_terms if y_groups is None else np.asarray(y_groups[0], dtype=object)
    result = Contributions(
        x_terms=x_terms,
        y_terms=y_terms,
        pairs=tuple(TermPair(str(x_named[a]), str(y_named[b]), value) for a, b, value in top),
        x_totals=x_totals,
        y_totals=y_totals,
        remainder=float(x_totals.sum() - sum(value for *_, value in top)),
        offset=offset,
    )
    if abs(result.score - score) > _EXACT * max(1.0, abs(score)):
        raise ValueError(_not_linear(model))
    return result


def explain(
    pipeline: PairPipeline, x: Items, y: Items, *, n: int = 10, by_word: bool = False
) -> Contributions:
    """Split the similarity of two items into what each pair of terms contributes.

    Parameters
    ----------
    pipeline : PairPipeline
        Fitted, with a method that `contributions` can split.
    x, y : Items
        One item of each side.
    n : int, default=10
        Pairs to name.
    by_word : bool, default=False
        Whether to name pairs of words where the features are parts of words.

    Returns
    -------
    Contributions

    Raises
    ------
    ValueError
        If the score of the method is no sum over terms, or there is not one item a side.
    """
    check_is_fitted(pipeline)
    sides = ((pipeline.x_features_, pipeline.x_content(x)), (pipeline.y_features_, y.content))
    rows = [features.transform(content) for features, content in sides]
    names = [
        features.names_in(str(content[0]))
        if isinstance(features, TextCounts)
        else features.get_feature_names_out()
        for features, content in sides
    ]
    groups: list[Groups | None] = [None, None]
    if by_word:
        groups = [
            word_shares(features, str(content[0]), list(own[_row(row, "x").indices]))
            for (features, content), row, own in zip(sides, rows, names, strict=True)
        ]
    named: Any = {"x_names": names[0], "y_names": names[1]}
    named |= {"x_groups": groups[0], "y_groups": groups[1]}
    return contributions(pipeline.model_, *rows, n=n, **named)


def _largest(
    pairs: list[tuple[int, int, float]], block: Reals, start: int, n: int
) -> list[tuple[int, int, float]]:
    """The n largest of some entries and those of a block of rows, by absolute value."""
    flat = np.abs(block).ravel()
    count = min(n, int(np.count_nonzero(flat)))
    flat_index = np.argpartition(-flat, count - 1)[:count] if count else np.empty(0, np.intp)
    rows, columns = np.unravel_index(flat_index, block.shape)
    values = block[rows, columns].tolist()
    pairs = [*pairs, *zip((start + rows).tolist(), columns.tolist(), values, strict=True)]
    return sorted(pairs, key=lambda pair: (-abs(pair[2]), pair[0], pair[1]))[:n]


def _factors(
    model: LinearPairModel, x: sp.csr_array, y: sp.csr_array
) -> tuple[Reals, Reals, float]:
    """Vectors of the single terms, scaled so that their products contribute; the offset."""
    A = x.data[:, None] * model.x_projection_[x.indices].astype(np.float64)
    B = y.data[:, None] * model.y_projection_[y.indices].astype(np.float64)
    nothing = np.zeros(A.shape[1])
    a, b = (
        nothing if mean is None or not Z.nnz else mean.astype(np.float64)
        for Z, mean in ((x, model.x_offset_), (y, model.y_offset_))
    )
    p, q = A.sum(axis=0), B.sum(axis=0)
    scale = _inverse_lengths(p - a, q - b) if model.similarity_kind == "cosine" else 1.0
    return A * scale, B, float(scale * (a @ b - p @ b - a @ q))


def _inverse_lengths(x: Reals, y: Reals) -> float:
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    return 1 / lengths if lengths else 0.0


def _row(row: Matrix, side: str) -> sp.csr_array:
    Z = row if sp.issparse(row) else np.atleast_2d(np.asarray(row))
    if Z.ndim != 2 or Z.shape[0] != 1:
        raise ValueError(f"Explain one {side} item at a time; got shape {Z.shape}.")
    Z = sp.csr_array(Z, dtype=np.float64, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    return Z


def _names(names: Any, index: Index) -> NDArray[np.object_]:
    if names is None:
        return index.astype(str).astype(object)
    return np.asarray(names, dtype=object)[index]


def _not_linear(model: PairModel) -> str:
    return (
        f"The score of {model.tags.title} is not a sum over pairs of terms, so no part of it "
        "belongs to one pair. Explain a linear method, such as tfidf_cosine, cca or ssi."
    )


@dataclass(frozen=True, slots=True, eq=False)
class Occlusion:
    """What hiding each part of an item takes from a score.

    Parameters
    ----------
    score : float
        Of the whole items.
    parts : tuple of tuple of int
        Where each part of a text starts and stops; top, left, bottom and right of each patch of an
        image.
    effects : ndarray of float64, shape (n_parts,)
        The score less that of the item without the part. They need not add up to the score.
    """

    score: float
    parts: tuple[tuple[int, ...], ...]
    effects: Reals


def occlude(pipeline: Pipeline, x: Items, y: Items, side: str = "x") -> Occlusion | None:
    """Hide the parts of one item one after another, and see what becomes of the score.

    Words are taken out of texts, a few at a time where there are many; patches of images get the
    colour of the upper left corner.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        Fitted.
    x, y : Items
        One item of each side.
    side : {"x", "y"}, default="x"
        Whose parts are hidden.

    Returns
    -------
    Occlusion or None
        None where the item has no parts: a vector, or a text of one word.

    Raises
    ------
    ValueError
        If there is not one item a side, or no such side.

    References
    ----------
    Zeiler, M. D. and Fergus, R. (2014). Visualizing and understanding
    convolutional networks. ECCV, 818-833.

    Examples
    --------
    >>> from simviz.data import PairSet
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["a red car", "the sun is up"], ["red cars", "up to the sun"])
    >>> fitted = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> found = occlude(fitted, pairs.x.take([1]), pairs.y.take([1]))
    >>> ["the sun is up"[slice(*part)] for part, e in zip(found.parts, found.effects) if e < 0]
    ['is']
    """
    if side not in ("x", "y"):
        raise ValueError(f"side is 'x' or 'y', got {side!r}.")
    if len(x) != 1 or len(y) != 1:
        raise ValueError(f"Explain one pair of items; got {len(x)} and {len(y)}.")
    item = x if side == "x" else y
    parts, variants = _variants(item)
    if not parts:
        return None
    ids = [str(i) for i in range(len(variants))]
    hidden = Items(ids, variants, item.kind)
    other: Any = "y" if side == "x" else "x"
    score = pipeline._scorer(pipeline._encoded(y if side == "x" else x, other), other)
    scores = np.asarray(score(pipeline._encoded(hidden, cast(Any, side)))[:, 0], dtype=np.float64)
    return Occlusion(float(scores[0]), tuple(parts), scores[0] - scores[1:])


def _variants(item: Items) -> tuple[list[tuple[int, ...]], Any]:
    """The parts of an item; its content, then that without each part."""
    parts: list[tuple[int, ...]]
    if item.kind == "image":
        pixels: NDArray[np.uint8] = item.content[0]
        sides = pixels.shape[:2]
        cuts = (np.linspace(0, n, min(_PATCHES, n) + 1) for n in sides)
        rows, columns = (cut.astype(int).tolist() for cut in cuts)
        cells = product(pairwise(rows), pairwise(columns))
        parts = [(top, left, bottom, right) for (top, bottom), (left, right) in cells]
        variants = np.repeat(pixels[None], len(parts) + 1, axis=0)
        for variant, (top, left, bottom, right) in zip(variants[1:], parts, strict=True):
            variant[top:bottom, left:right] = pixels[0, 0]
        return parts, variants
    text = str(item.content[0]) if item.kind in ("text", "keyword") else ""
    spans = [m.span() for m in _WORD.finditer(text)]
    if len(spans) < 2:
        return [], []
    groups = np.array_split(np.arange(len(spans)), min(len(spans), MAX_PARTS))
    parts = [(spans[g[0]][0], spans[g[-1]][1]) for g in groups]
    return parts, [text, *(f"{text[:start]} {text[stop:]}" for start, stop in parts)]
