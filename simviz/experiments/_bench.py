"""Methods fitted to the parts, with every setting, and what validation and test say of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation import Evaluation
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import Direction
from simviz.experiments._experiment import Grid, describe, tried
from simviz.experiments._findings import Cell, Table
from simviz.experiments._parts import Part, Parts
from simviz.experiments._progress import Progress
from simviz.methods import get_method


@dataclass(frozen=True, eq=False)
class Point:
    """A fitted model, and how it ranks validation items and, if asked, those of the test."""

    bench: Bench
    method: str
    settings: str
    model: Any
    parts: Parts
    watched: Evaluation

    @property
    def k(self) -> int:
        """Its dimensions; 0 where it has none."""
        return getattr(self.model, "n_components_", 0)

    @property
    def validation(self) -> float:
        """What validation chooses by."""
        return self.bench.quality(self.watched)

    @cached_property
    def tested(self) -> Evaluation:
        return self.bench.ranked(self.model, self.parts)

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        x, y, _ = self.parts.sides(self.model, "test")
        return np.asarray(self.model.similarity(x, y), np.float32)


def best(points: Iterable[Point]) -> Point:
    """The first of those that rank validation items best."""
    return max(points, key=lambda point: point.validation)


def best_by_size(points: Iterable[Point]) -> dict[int, Point]:
    by_size: dict[int, list[Point]] = {}
    for point in points:
        by_size.setdefault(point.k, []).append(point)
    return {k: best(by_size[k]) for k in sorted(by_size)}


@dataclass(eq=False)
class Bench:
    """How settings are tried: what is measured of rankings, and what of it validation chooses by.

    `shown_params` are the settings that stand beside others; all of them where it is empty. What
    is measured of the test alone is `late`.
    """

    metrics: Sequence[Metric | str]
    quality: Callable[[Evaluation], float]
    directions: Sequence[Direction]
    seed: int
    shown_params: Sequence[str] = ()
    late: Sequence[Metric | str] = ()
    #: Processor seconds of all fits, by method.
    spent: dict[str, float] = field(default_factory=dict)

    def points(
        self,
        method: str,
        grid: Grid,
        parts: Parts,
        progress: Progress,
        text: str = "",
        *,
        shared: bool = True,
        **fixed: Any,
    ) -> list[Point]:
        """Every setting of a method, with validation items where it watches them."""
        cls, fixed_params = get_method(method), {"shared": shared, "random_state": self.seed}
        fixed |= {
            name: fixed_params[name] for name in fixed_params.keys() & cls._get_param_names()
        }

        def make(**params: Any) -> tuple[Any, tuple[Any, ...]]:
            made = cls(**fixed, **params)
            data: tuple[Any, ...] = parts.sides(made, "train")
            if getattr(made, "validation_fraction", 0):
                data += parts.sides(made, "validation")
            return made, data

        found, before = [], progress.spent
        for params, model in tried(method, grid, make, progress, paths=True):
            shown = {n: v for n, v in params.items() if n in (self.shown_params or params)}
            settings = ", ".join(filter(None, (text, describe(shown))))
            watched = self.ranked(model, parts, "validation")
            found.append(Point(self, method, settings, model, parts, watched))
        self.spent[method] = self.spent.get(method, 0.0) + progress.spent - before
        return found

    def times(self, name: Callable[[str], str], methods: Iterable[str]) -> Table:
        """What training took, of methods by their names."""
        rows: Iterable[dict[str, Cell]] = (
            {"method": name(m), "processor seconds": self.spent[m]} for m in methods
        )
        return Table.of(
            "Training times",
            rows,
            "All settings of a method together, on one thread; dimensions that one fit gives, and "
            "ridges of one decomposition, are trained once.",
        )

    def ranked(self, model: Any, parts: Parts, part: Part = "test") -> Evaluation:
        metrics = [*self.metrics, *(self.late if part == "test" else ())]
        return parts.ranked(model, metrics, part, self.directions)
