"""Rankings alone and blended: settings and weights chosen on validation pairs, then one test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.callbacks import Callback
from simviz.data import Items, PairSet
from simviz.evaluation.blends import blend_curve
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import Evaluation
from simviz.evaluation.scoring import evaluate
from simviz.experiments._findings import Cell, Table
from simviz.experiments._progress import Progress
from simviz.pipeline import BlendPipeline, PairPipeline

Block = NDArray[np.floating[Any]]

#: Weights of the learned scores that are tried.
ALPHAS = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Queries, what is ranked for them, and what is relevant."""

    pairs: PairSet
    one_collection: bool = False

    def evaluate(
        self, scorer: Any, metrics: Sequence[Metric], callback: Callback | None = None
    ) -> Evaluation:
        """Rank y items for every x item."""
        if self.one_collection:
            scorer = WithoutItself(scorer)
        pairs = self.pairs
        return evaluate(
            scorer, pairs.x, pairs.y, pairs.relevance, metrics,
            directions=["x2y"], callback=callback,
        )  # fmt: skip

    def curve(
        self, blend: BlendPipeline, metric: Metric, callback: Callback | None = None
    ) -> NDArray[np.float64]:
        """A metric at each weight of `ALPHAS`."""
        pairs = self.pairs
        found = blend_curve(
            WithoutItself(blend) if self.one_collection else blend,
            pairs.x, pairs.y, pairs.relevance, ALPHAS,
            metrics=[metric], directions=["x2y"], callback=callback,
        )  # fmt: skip
        return found.values(metric, "x2y") if metric.level == "query" else found.values(metric)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Pairs to learn from, and queries to choose by and to test on."""

    name: str
    train: PairSet
    validation: Asked
    test: Asked
    about: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What a scorer reaches on test queries, and on validation with what was chosen there."""

    result: Evaluation
    chosen: str = ""
    validation: float = math.nan


def score_table(
    title: str, first: str, scored: Mapping[str, Scored], metrics: Sequence[Metric], note: str
) -> Table:
    """A row for each scorer: its metrics, and what validation chose."""
    rows: list[tuple[Cell, ...]] = [
        (name, *(one.result.value(metric, "x2y") for metric in metrics), one.chosen)
        for name, one in scored.items()
    ]
    columns = (first, *map(str, metrics), "chosen by validation")
    return Table(title, columns, tuple(rows), note)


def alone_and_blended(
    titles: tuple[str, str],
    candidates: Callable[[Progress], Mapping[str, PairPipeline]],
    lexical: PairPipeline,
    task: Task,
    metrics: Sequence[Metric],
    metric: Metric,
    progress: Progress,
) -> dict[str, Scored]:
    """Test the best candidate alone and the best one blended, under their titles."""
    name, blend = titles
    progress(f"Training {name}")
    found = choose(
        candidates(progress.part(0, 0.75)), lexical, task.train, task.validation, metric,
        callback=progress.part(0.75, 0.9).listen(f"Weighing {name}"),
    )  # fmt: skip
    progress(f"Testing {name}", 0.9)
    alone, mixed = (task.test.evaluate(s, metrics) for s in (found.learned, found.blend))
    weight = f"α = {found.alpha:.2f}, {found.blend_setting}"
    return {
        name: Scored(alone, found.setting, found.value),
        blend: Scored(mixed, weight, found.blend_value),
    }


class WithoutItself:
    """Scores in which an item never is an answer to itself."""

    def __init__(self, scorer: Any) -> None:
        self._scorer = scorer

    def iter_similarity(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[Block]:
        """Similarities in blocks of rows, an item's own below all others of its row."""
        blocks = self._scorer.iter_similarity(x, y, block_size=block_size)
        for block, rows, columns in _own(blocks, x, y):
            yield _lowered(block, rows, columns)

    def iter_parts(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, Block]]:
        """Both similarities of a blend, treated in the same way."""
        parts = self._scorer.iter_parts(x, y, block_size=block_size)
        for (learned, lexical), rows, columns in _own(parts, x, y):
            yield _lowered(learned, rows, columns), _lowered(lexical, rows, columns)


def _own(blocks: Iterator[Any], x: Items, y: Items) -> Iterator[tuple[Any, Any, Any]]:
    """Each block with the rows whose item stands in the pool, and where."""
    place = {name: j for j, name in enumerate(y.ids)}
    own = np.array([place.get(name, -1) for name in x.ids], dtype=np.int64)
    start = 0
    for block in blocks:
        n = len(block[0] if isinstance(block, tuple) else block)
        rows = np.flatnonzero(own[start : start + n] >= 0)
        yield block, rows, own[start + rows]
        start += n


def _lowered(block: Block, rows: NDArray[np.intp], columns: NDArray[np.int64]) -> Block:
    lowered = block.copy()
    # A finite number, which any weight keeps below all others of its row.
    lowered[rows, columns] = block[rows].min(axis=1) - 1
    return lowered


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """What validation chose."""

    setting: str
    learned: PairPipeline
    value: float
    alpha: float
    blend: BlendPipeline
    blend_setting: str
    blend_value: float


def choose(
    candidates: Mapping[str, PairPipeline],
    lexical: PairPipeline,
    train: PairSet,
    validation: Asked,
    metric: Metric,
    callback: Callback | None = None,
) -> Chosen:
    """Choose a setting alone, and a setting and a weight for the blend."""
    sign = 1.0 if metric.higher_is_better else -1.0
    best: tuple[float, str] | None = None
    best_blend: tuple[float, str, BlendPipeline] | None = None
    for setting, pipeline in candidates.items():
        made = BlendPipeline.of(pipeline, lexical, train, normalization="global_std")
        values = sign * validation.curve(made, metric, callback)
        if best is None or values[-1] > best[0]:
            best = float(values[-1]), setting
        if best_blend is None or values.max() > best_blend[0]:
            level = np.flatnonzero(values >= values.max() - 1e-12)
            alpha = float(ALPHAS[level[(len(level) - 1) // 2]])
            best_blend = float(values.max()), setting, made.with_alpha(alpha)
    if best is None or best_blend is None:
        raise ValueError("There is nothing to choose from. Bring at least one setting.")
    blend_value, blend_setting, blend = best_blend
    return Chosen(
        best[1], candidates[best[1]], sign * best[0],
        float(blend.alpha), blend, blend_setting, sign * blend_value,
    )  # fmt: skip
