"""Runs fused: blends chosen by validation, and reciprocal ranks, which choose nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._types import Reals
from simviz.callbacks import Callback
from simviz.data.pairs import Items, PairSet
from simviz.evaluation._forward_selection import (
    FOLDS,
    MAX_RUNS,
    RRF_K,
    SHARES,
    ForwardSelection,
    Path,
    shares,
)
from simviz.evaluation.blends import blend_curve
from simviz.evaluation.differences import query_metric
from simviz.evaluation.metrics import Metric, default_metric, parse_metric
from simviz.evaluation.result import DIRECTIONS, Asking, Direction, Evaluation, directions_of
from simviz.evaluation.scoring import evaluate
from simviz.exceptions import JobCancelled
from simviz.pipeline import BlendPipeline, Normalization, PairPipeline, Pipeline

#: Entries of a block.
_ENTRIES = 2**21


@dataclass(frozen=True, slots=True, eq=False)
class ChosenBlend:
    """A blend that validation pairs chose.

    Parameters
    ----------
    pipeline : BlendPipeline or Pipeline
        Fitted; the best run alone where no blend is better.
    path : tuple of (str, float)
        The runs in the order in which they were added, each with the share it was given.
    single : str
        The best run alone.
    value, single_value : float
        On the validation pairs, by what their other folds choose: so that choosing does not
        flatter.
    """

    pipeline: Pipeline
    path: tuple[tuple[str, float], ...]
    single: str
    value: float
    single_value: float

    @property
    def shares(self) -> dict[str, float]:
        """The weight of each run, on one scale; together 1."""
        return shares(self.path)


def choose_blend(
    pipelines: Mapping[str, Pipeline],
    train: PairSet,
    validation: PairSet,
    metric: Metric | str | None = None,
    direction: Asking = "x2y",
    *,
    normalization: Normalization = "global_std",
    max_runs: int = MAX_RUNS,
    callback: Callback | None = None,
) -> ChosenBlend:
    """Choose runs and weights of a blend on validation pairs, by forward selection.

    Parameters
    ----------
    pipelines : mapping of str to pipeline
        Fitted on the same training pairs.
    train, validation : PairSet
        Those pairs, from which spreads are taken, and pairs that none was trained on.
    metric : Metric or str, optional
        What chooses; that of `simviz.evaluation.default_metric` when omitted. Where queries
        are ranked among all items, `query_metric` stands for one that compares all pairs.
    direction : {"x2y", "y2x", "mean"}, default="x2y"
        Which side asks.
    normalization : str, default="global_std"
        See `simviz.pipeline.BlendPipeline`.
    max_runs : int, default=4
        Runs of a blend at most.
    callback : callable, optional
        See `simviz.callbacks`; called before each curve of weights.

    Returns
    -------
    ChosenBlend

    Raises
    ------
    ValueError
        If there are no pipelines, or no query of the validation pairs has an answer.
    JobCancelled
        If `callback` asked to stop.
    """
    if not pipelines:
        raise ValueError("There is nothing to blend. Give fitted pipelines by their names.")
    measured = parse_metric(default_metric(validation.relevance) if metric is None else metric)
    if validation.relevance.unjudged != "ignore":
        measured = query_metric(measured)
    names, parts = list(pipelines), list(pipelines.values())
    directions = directions_of(direction, DIRECTIONS)
    sign = 1.0 if measured.higher_is_better else -1.0
    held = [validation]
    if measured.level != "query":  # a fold is measured as a whole, and stands for a query
        rows = np.random.default_rng(0).permutation(len(validation.x))
        held = [validation.take(np.sort(part)) for part in np.array_split(rows, FOLDS)]
    done = 0
    about: dict[str, Any] = {"metrics": [measured], "directions": directions}

    def alone(part: Pipeline) -> Reals:
        results = [evaluate(part, some, **about) for some in held]
        if measured.level != "query":
            return sign * np.array([one.value(measured) for one in results])
        return sign * np.concatenate([results[0].per_query(measured, d) for d in directions])

    @cache
    def pipeline(path: Path) -> Pipeline:
        run, share = path[-1]
        if len(path) == 1:
            return parts[run]
        return added(pipeline(path[:-1]), parts[run], train, share, normalization)

    def curve(path: Path, run: int) -> Reals:
        nonlocal done
        done += 1
        if callback is not None and callback(done, max(done, len(parts) ** 2), {}):
            raise JobCancelled("The choice of a blend was stopped.")
        blend = added(pipeline(path), parts[run], train, 0.5, normalization)
        is_learned = blend.learned_ is parts[run]
        curves = [blend_curve(blend, h.x, h.y, h.relevance, SHARES, **about) for h in held]
        if measured.level == "query":
            lines = [curves[0].per_query[measured.name, side] for side in directions]
            results = np.concatenate(lines, axis=-1)
        else:
            results = np.stack([one.pooled[measured.name] for one in curves], axis=-1)
        return np.nan_to_num(sign * (results if is_learned else results[::-1]))

    singles = np.stack([alone(part) for part in parts])
    counted = np.isfinite(singles).all(axis=0)
    if not counted.any():
        raise ValueError("No query of the validation pairs has an answer: no blend is chosen.")
    sizes = [len(validation.x if side == "x2y" else validation.y) for side in directions]
    if measured.level != "query":
        sizes = [singles.shape[1]]
    # Each direction counts as much as the other, and queries without an answer nothing.
    lines = np.split(counted.astype(float), np.cumsum(sizes)[:-1])
    weight = np.concatenate([line / max(line.sum(), 1.0) for line in lines])
    unit = np.concatenate([np.arange(size) for size in sizes])
    selection = ForwardSelection(np.nan_to_num(singles), curve, weight, unit, max_runs)
    path = selection.select()
    mean, single = (sign * float(v @ weight / weight.sum()) for v in selection.nested())
    named_path = tuple((names[run], share) for run, share in path)
    return ChosenBlend(pipeline(path), named_path, names[path[0][0]], mean, single)


def added(
    base: Pipeline,
    pipeline: Pipeline,
    train: PairSet,
    share: float,
    normalization: Normalization = "global_std",
) -> BlendPipeline:
    """A fitted pipeline blended with a further one, which gets the share."""
    # Where nothing was learned of an item its lexical score stands in: it has to be the other.
    if _is_lexical(pipeline) and not _is_lexical(base):
        alpha = round(1 - share, 6)
        return BlendPipeline.of(base, pipeline, train, alpha, normalization=normalization)
    return BlendPipeline.of(pipeline, base, train, share, normalization=normalization)


def _is_lexical(pipeline: Pipeline) -> bool:
    return isinstance(pipeline, PairPipeline) and pipeline.model.tags.family == "lexical"


# -- reciprocal ranks -----------------------------------------------------------------


def reciprocal_ranks(scores: NDArray[np.floating[Any]], k: int = RRF_K) -> Reals:
    """1 / (k + rank) of the scores of each row; equal ones take their mean rank."""
    from scipy.stats import rankdata

    return np.asarray(1 / (k + rankdata(-scores, axis=-1)), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class RankFusion:
    """Reciprocal rank fusion (RRF) of pipelines: what stands high in several runs goes first.

    Nothing is chosen, so it is what a chosen blend has to be held against. It looks at the
    other candidates of a query: a score is no property of two items.

    Parameters
    ----------
    pipelines : sequence of pipelines
        Fitted.
    k : int, default=60
        Added to each rank.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke & S. Büttcher. "Reciprocal rank fusion outperforms Condorcet
    and individual rank learning methods." SIGIR 2009.
    """

    pipelines: Sequence[Pipeline]
    k: int = RRF_K

    def iter_similarity(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[Reals]:
        """Sums of reciprocal ranks of the y items, in blocks of x items.

        Parameters
        ----------
        x, y : Items
            Queries and candidates.
        block_size : int, optional
            Rows of a block.

        Yields
        ------
        ndarray of shape (rows, n_y)
            Larger means higher in the ranks.
        """
        size = block_size or max(16, _ENTRIES // max(1, len(y)))
        blocks = (part.iter_similarity(x, y, size) for part in self.pipelines)
        for together in zip(*blocks, strict=True):
            yield sum((reciprocal_ranks(block, self.k) for block in together), np.zeros(()))

    def evaluate(
        self,
        pairs: PairSet,
        metrics: Sequence[Metric | str] | None = None,
        *,
        directions: Sequence[Direction] = DIRECTIONS,
    ) -> Evaluation:
        """Evaluate, in each direction by the ranks of its own queries.

        Parameters
        ----------
        pairs : PairSet
            Held-out pairs.
        metrics, directions : optional
            As in `simviz.evaluation.evaluate`.

        Returns
        -------
        Evaluation
            Metrics of all pairs are those of x items asking.
        """
        evaluation = evaluate(self, pairs, metrics=metrics, directions=["x2y"])
        rankings = {"x2y": evaluation.rankings["x2y"]}
        if "y2x" in directions:
            back = evaluate(_Transposed(self), pairs.swap(), metrics=["MRR"], directions=["x2y"])
            rankings["y2x"] = back.rankings["x2y"]
        return replace(evaluation, rankings={side: rankings[side] for side in directions})


@dataclass(frozen=True, slots=True, eq=False)
class _Transposed:
    """The same fusion with y items as queries."""

    fusion: RankFusion

    def iter_similarity(
        self, y: Items, x: Items, /, *, block_size: int | None = None
    ) -> Iterator[Reals]:
        size = block_size or max(16, _ENTRIES // max(1, len(x)))
        for start in range(0, len(y), size):
            some = y.take(np.arange(start, min(len(y), start + size)))
            blocks = (part.similarity(x, some).T for part in self.fusion.pipelines)
            ranks = (reciprocal_ranks(block, self.fusion.k) for block in blocks)
            yield sum(ranks, np.zeros(()))
