"""Quality against dimension, for nested models, in about one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._blas import add_product
from simviz._types import Ints, Reals
from simviz.callbacks import Callback
from simviz.evaluation._blocks import Queries, as_vectors, bounds, queries_of, report
from simviz.evaluation.metrics import MRR, Metric, check_choice, parse_metric
from simviz.evaluation.result import (
    DIRECTIONS,
    Asking,
    Direction,
    Pool,
    check_directions,
    curve_records,
    directions_of,
    mean_curve,
    values_in,
)
from simviz.evaluation.scoring import Scorer, evaluate
from simviz.ranking import rank_block, rank_listed
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.data.pairs import Items, PairSet

Vectors = NDArray[np.floating[Any]]

#: Entries of a block of products. Every dimension visits each block, so there
#: should be few of them.
BLOCK_ENTRIES = 2**23


@dataclass(frozen=True, slots=True, eq=False)
class DimensionCurve:
    """One metric for each number of leading dimensions.

    Parameters
    ----------
    dimensions : tuple of int
        Ascending.
    metric : Metric
        What was measured.
    per_query : mapping of direction to ndarray of shape (n_dimensions, n_queries)
        Its value for each query; NaN for a query without a relevant candidate.
    pool : {"split", "judged"}
        What a query was ranked against.
    """

    dimensions: tuple[int, ...]
    metric: Metric
    per_query: Mapping[Direction, Reals]
    pool: Pool

    def values(self, direction: Asking | None = None) -> Reals:
        """The curve: means over queries.

        Parameters
        ----------
        direction : {"x2y", "y2x", "mean"}, optional
            Which side asks; the first when omitted.

        Returns
        -------
        ndarray of float64, shape (n_dimensions,)
            NaN where no query counts.

        Raises
        ------
        ValueError
            If the direction was not evaluated.
        """
        requested = directions_of(direction, tuple(self.per_query))
        return mean_curve([self.per_query[d] for d in requested])

    def to_records(self) -> list[dict[str, Any]]:
        """Tidy table: one record per dimension and direction."""
        points = [{"dimension": k} for k in self.dimensions]
        lines = {(self.metric.name, d): values for d, values in self.per_query.items()}
        return curve_records(points, lines, pool=self.pool)


def dimension_grid(n_components: int, n_points: int = 12) -> tuple[int, ...]:
    """Numbers of dimensions to look at, denser where they are few.

    Parameters
    ----------
    n_components : int
        The largest, at least 1.
    n_points : int, default=12
        How many at most.

    Returns
    -------
    tuple of int
        Ascending, without repetition, ending at `n_components`.

    Examples
    --------
    >>> dimension_grid(200, 6)
    (2, 5, 13, 32, 80, 200)
    """
    start = min(2, n_components)
    grid = np.geomspace(start, n_components, n_points).round().astype(int)
    return tuple(sorted(set(grid.tolist())))


def dimension_curve(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    relevance: object = None,
    dimensions: Sequence[int] | None = None,
    *,
    similarity: Literal["cosine", "dot"] = "cosine",
    metric: Metric | str = MRR(),  # noqa: B008 -- a value, not a call that matters
    directions: Sequence[Direction] = DIRECTIONS,
    callback: Callback | None = None,
) -> DimensionCurve:
    """Measure the first k dimensions of a nested model, for several k at once.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, K) and (n_y, K)
        Embeddings whose first k columns are the k-dimensional model.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Judgments; row i belongs to row i when omitted.
    dimensions : sequence of int, optional
        Numbers of leading columns, at most K; `dimension_grid` when omitted.
    similarity : {"cosine", "dot"}, default="cosine"
        How vectors compare; zero vectors score 0 against everything.
    metric : Metric or str, default=MRR()
        A metric of ranks.
    directions : sequence of {"x2y", "y2x"}
        Which sides ask, the default of the curve first.
    callback : callable, optional
        See `simviz.callbacks`; steps are queries.

    Returns
    -------
    DimensionCurve

    Raises
    ------
    ValueError
        If shapes or settings do not fit, or the metric pools all pairs.

    Notes
    -----
    Products of all pairs grow by the columns between one k and the next, so all points together
    cost the products of the largest one. The length of the query does not change its ranking; that
    of the candidates is applied while counting. Each direction goes over its own blocks, whose
    rows hold all that ties with a judged candidate.

    Examples
    --------
    >>> Z = np.eye(4)[:, [3, 0, 1, 2]]
    >>> dimension_curve(Z, Z, dimensions=[1, 2, 4]).values().round(3)
    array([0.641, 0.76 , 1.   ])
    """
    X, Y = as_vectors(x_vectors), as_vectors(y_vectors)
    if 0 in X.shape or 0 in Y.shape:
        raise ValueError(f"Vectors of shape {X.shape} and {Y.shape} hold nothing to compare.")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"x vectors have {X.shape[1]} dimensions and y vectors {Y.shape[1]}. "
            "Both sides must come from one model."
        )
    asked = dimension_grid(X.shape[1]) if dimensions is None else dimensions
    ks = tuple(sorted(set(map(int, asked))))
    if not ks or ks[0] < 1 or ks[-1] > X.shape[1]:
        raise ValueError(
            f"dimensions must lie in 1..{X.shape[1]}, the columns of the vectors, got {list(ks)}."
        )
    check_choice("similarity", similarity, ("cosine", "dot"))
    measured = parse_metric(metric)
    if measured.level != "query":
        raise ValueError(
            f"{measured} is not a metric of ranks, and a curve follows those. "
            "Use MRR(), TopOne() or AUC(average='query')."
        )
    check_directions(directions)
    rel = Relevance.coerce(relevance, len(X), len(Y))
    pool: Pool = "judged" if rel.unjudged == "ignore" else "split"
    requested = tuple(dict.fromkeys(directions))
    total = sum(rel.shape[d == "y2x"] for d in requested)
    done = 0
    per_query: dict[Direction, Reals] = {}
    for direction in requested:
        queries = queries_of(rel, pool)[direction == "y2x"]
        sides = (X, Y) if direction == "x2y" else (Y, X)
        products = _Products(*sides, ks, cosine=similarity == "cosine")
        counts = np.zeros((len(ks), 2, len(queries.candidate)), dtype=np.int64)
        n, n_other = products.shape
        for start, stop in bounds(n, n_other, max(16, BLOCK_ENTRIES // n_other)):
            inside = slice(*queries.indptr[[start, stop]])
            rank = products.rank_judged if pool == "judged" else products.rank_all
            for i, (above, tied) in enumerate(rank(queries.part(start, stop), start)):
                counts[i, :, inside] = above, tied
            done += stop - start
            report(callback, done, total)
        rankings = (queries.ranking(above, tied) for above, tied in counts)
        per_query[direction] = np.stack([values_in(pool, measured, one) for one in rankings])
    return DimensionCurve(ks, measured, per_query, pool)


class _Products:
    """Products of query and candidate vectors, grown from one k to the next."""

    def __init__(self, A: Vectors, B: Vectors, ks: tuple[int, ...], *, cosine: bool) -> None:
        dtype = np.result_type(A, B)
        cuts = list(zip((0, *ks[:-1]), ks, strict=True))
        self.A = [np.ascontiguousarray(A[:, a:b], dtype=dtype) for a, b in cuts]
        self.B = [np.ascontiguousarray(B[:, a:b], dtype=dtype) for a, b in cuts]
        self.shape = len(A), len(B)
        # The query's length scales all of its scores alike and may be left out.
        self.scale = np.ones((len(ks), len(B)), dtype=dtype)
        if cosine:
            squares = [np.einsum("ik,ik->i", part, part, dtype=np.float64) for part in self.B]
            lengths = np.sqrt(np.cumsum(squares, axis=0))
            inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            self.scale = inverse.astype(dtype)

    def rank_all(self, part: Queries, start: int) -> Iterator[tuple[Ints, Ints]]:
        """Above and tied of some queries among all candidates, k by k."""
        products = np.zeros((len(part), self.shape[1]), dtype=self.scale.dtype)
        for A, B, scale in zip(self.A, self.B, self.scale, strict=True):
            add_product(products, A[start : start + len(part)], B.T)
            yield rank_block(products, part.indptr, part.candidate, scale=scale)[:2]

    def rank_judged(self, part: Queries, start: int) -> Iterator[tuple[Ints, Ints]]:
        """Above and tied of some queries among their judged candidates, k by k."""
        listed, rows = part.candidate, start + part.query
        products = np.zeros(len(listed), dtype=self.scale.dtype)
        for A, B, scale in zip(self.A, self.B, self.scale, strict=True):
            for a, b in bounds(len(listed), A.shape[1]):
                products[a:b] += np.einsum("ik,ik->i", A[rows[a:b]], B[listed[a:b]])
            yield rank_listed(products * scale[listed], part.indptr)


#: Shares of the training part that are looked at.
FRACTIONS = (0.0625, 0.125, 0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class LearningCurve:
    """Metrics of one method, trained on ever more of the same pairs.

    Parameters
    ----------
    fractions : tuple of float
        Shares of the training part, ascending.
    n_pairs : tuple of int
        Relevant pairs that each share holds.
    per_query : mapping of (metric, direction) to ndarray, shape (n_fractions, n_queries)
        Values on the one test part; NaN for a query without a relevant candidate.
    """

    fractions: tuple[float, ...]
    n_pairs: tuple[int, ...]
    per_query: Mapping[tuple[Metric, str], Reals]

    def to_records(self) -> list[dict[str, Any]]:
        """Tidy table: one record per metric, direction and share."""
        shares = zip(self.fractions, self.n_pairs, strict=True)
        points = [{"fraction": fraction, "n_pairs": n} for fraction, n in shares]
        lines = {(metric.name, d): values for (metric, d), values in self.per_query.items()}
        return curve_records(points, lines)


def nested_parts(
    train: PairSet,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    side: Literal["x", "y"] = "x",
) -> list[PairSet]:
    """Take growing shares of a training part, each within the next.

    Parameters
    ----------
    train : PairSet
        The whole.
    fractions : sequence of float
        Shares of the items of one side, above 0 and at most 1, ascending.
    seed : int, default=0
        Of the order in which items come in.
    side : {"x", "y"}, default="x"
        Which side that is; the one whose items a split keeps apart.

    Returns
    -------
    list of PairSet
        With the items of the other side that are judged with those. At 1 it is the whole itself.

    Raises
    ------
    ValueError
        If a share is out of range or they do not ascend.
    """
    shares = [float(share) for share in fractions]
    if not shares or min(shares) <= 0 or max(shares) > 1 or (np.diff(shares) <= 0).any():
        raise ValueError(
            f"fractions are shares above 0 and at most 1, ascending; got {list(fractions)}."
        )
    if side == "y":
        return [part.swap() for part in nested_parts(train.swap(), fractions, seed)]
    judged = np.flatnonzero(np.diff(train.relevance.positives.indptr))
    order = np.random.default_rng(seed).permutation(judged)

    def part(share: float) -> PairSet:
        x = np.sort(order[: max(1, round(share * len(order)))])
        return train.take(x, np.unique(train.relevance.matrix[x].indices))

    return [train if share == 1 else part(share) for share in shares]


def learning_curve(
    fit: Callable[[PairSet], Scorer[Items]],
    train: PairSet,
    test: PairSet,
    fractions: Sequence[float] = FRACTIONS,
    *,
    metrics: Sequence[Metric | str] = ("MRR", "NDCG@3", "AUC (by query)"),
    seed: int = 0,
    side: Literal["x", "y"] = "x",
    callback: Callback | None = None,
) -> LearningCurve:
    """Train on ever more pairs and measure on one test part.

    Parameters
    ----------
    fit : callable
        Trains on a `PairSet` and answers with what scores items.
    train, test : PairSet
        Both parts of a split.
    fractions : sequence of float
        See `nested_parts`.
    metrics : sequence of Metric or str
        Metrics of ranks.
    seed, side : int, {"x", "y"}
        As in `nested_parts`.
    callback : callable, optional
        See `simviz.callbacks`; steps are shares of the training part.

    Returns
    -------
    LearningCurve

    Raises
    ------
    ValueError
        As in `nested_parts` and `evaluate`, or if a metric pools all pairs.
    """
    parsed = [parse_metric(m) for m in metrics]
    for metric in parsed:
        if metric.level != "query":
            raise ValueError(
                f"{metric} is not a metric of ranks, and a learning curve follows those. "
                "Use MRR(), NDCG(3) or AUC(average='query')."
            )
    parts = nested_parts(train, fractions, seed, side)
    results: dict[tuple[Metric, str], list[Reals]] = {
        (metric, direction): [] for metric in parsed for direction in DIRECTIONS
    }
    # What a share costs is about proportional to its size.
    sizes = [part.relevance.positives.nnz for part in parts]
    done = 0
    for part, size in zip(parts, sizes, strict=True):
        result = evaluate(fit(part), test, metrics=parsed)
        for metric, direction in results:
            results[metric, direction].append(result.per_query(metric, direction))  # type: ignore[arg-type]
        done += size
        report(callback, done, sum(sizes))
    per_query = {key: np.stack(lines) for key, lines in results.items()}
    return LearningCurve(tuple(map(float, fractions)), tuple(sizes), per_query)
