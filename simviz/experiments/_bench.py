"""Methods fitted to vectors of the parts, with every setting, and what validation says of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simviz.evaluation import Evaluation
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import Direction
from simviz.experiments._experiment import Grid, describe, tried
from simviz.experiments._parts import Part, Parts
from simviz.experiments._progress import Progress
from simviz.methods import get_method


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A fitted model, and how well it ranks validation items."""

    method: str
    k: int
    settings: str
    validation: float
    model: Any
    parts: Parts


def best(points: Iterable[Point]) -> Point:
    """The first of those that rank validation items best."""
    return max(points, key=lambda point: point.validation)


def best_by_size(points: Iterable[Point]) -> dict[int, Point]:
    """The best for each number of dimensions."""
    found: dict[int, list[Point]] = {}
    for point in points:
        found.setdefault(point.k, []).append(point)
    return {k: best(found[k]) for k in sorted(found)}


@dataclass(eq=False)
class Bench:
    """How settings are tried: what is measured of rankings, and what of it validation chooses by.

    `told` are the settings that stand beside others; all of them where it is empty.
    """

    metrics: Sequence[Metric | str]
    quality: Callable[[Evaluation], float]
    directions: Sequence[Direction]
    seed: int
    told: Sequence[str] = ()

    def points(
        self,
        method: str,
        grid: Grid,
        parts: Parts,
        progress: Progress,
        words: str = "",
        *,
        shared: bool = True,
        **fixed: Any,
    ) -> list[Point]:
        """Every setting of a method, with validation items where it watches them."""
        cls, usual = get_method(method), {"shared": shared, "random_state": self.seed}
        fixed |= {name: usual[name] for name in usual.keys() & cls._get_param_names()}

        def make(**params: Any) -> tuple[Any, tuple[Any, ...]]:
            made = cls(**fixed, **params)
            data: tuple[Any, ...] = parts.sides(made, "train")
            if getattr(made, "validation_fraction", 0):
                data += parts.sides(made, "validation")
            return made, data

        found = []
        for params, model in tried(method, grid, make, progress, paths=True):
            told = {n: v for n, v in params.items() if n in (self.told or params)}
            settings = ", ".join(filter(None, (words, describe(told))))
            quality = self.quality(self.ranked(model, parts, "validation"))
            k = getattr(model, "n_components_", 0)
            found.append(Point(method, k, settings, quality, model, parts))
        return found

    def ranked(self, model: Any, parts: Parts, part: Part = "test") -> Evaluation:
        """Rank the items of a part."""
        return parts.ranked(model, self.metrics, part, self.directions)
