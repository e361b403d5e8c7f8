"""Which runs to add to the best one, and with which shares: forward selection by queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simviz._types import Mask, Reals

Run = TypeVar("Run")
#: The constant of reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009).
RRF_K = 60
#: Positions of runs in the order in which they were added, each with the share it was given;
#: those before it keep the rest in their proportions.
Path = tuple[tuple[int, float], ...]
#: Shares that a run is tried with, folds of the queries, and runs of a blend at most.
SHARES = tuple(round(0.1 * i, 1) for i in range(1, 10))
FOLDS, MAX_RUNS = 5, 4
_TIE_TOLERANCE = 1e-12


def shares(path: Sequence[tuple[Run, float]]) -> dict[Run, float]:
    """The weight of each run of a path; together 1."""
    weights: dict[Run, float] = {}
    for run, share in path:
        weights = {known: (1 - share) * rest for known, rest in weights.items()} | {run: share}
    return weights


class ForwardSelection:
    """Runs added to the best one while that pays, with the shares that do best on queries.

    Of several numbers of runs the lowest is taken that is within one standard error of the best,
    where each fold counts what was chosen on the others (Caruana et al., "Ensemble selection from
    libraries of models", ICML 2004).
    """

    # `singles` are values of each run (n_runs, n_queries), larger is better; `curve` gives those
    # of a path with one more run at each of `SHARES`. Queries count by `weight`, and those of one
    # `unit` stay in one fold.

    def __init__(
        self,
        singles: Reals,
        curve: Callable[[Path, int], Reals],
        weight: Reals,
        unit: NDArray[np.int64],
        max_runs: int = MAX_RUNS,
    ) -> None:
        self._singles, self._curve, self._weight = singles, cache(curve), weight
        self._max_runs = min(max_runs, len(singles))
        self._place = np.random.default_rng(0).permutation(int(unit.max(initial=0)) + 1)[unit]

    def select(self, queries: Mask | None = None) -> Path:
        """The path that is best on queries, as long as cross-validation among them says."""
        mask = np.ones(len(self._weight), dtype=bool) if queries is None else queries
        nested = np.zeros((self._max_runs, len(mask)))
        for fold in self._folds(mask):
            for at, path in enumerate(self._paths(mask & ~fold)):
                nested[at, fold] = self.values(path)[fold]
        means = [self._mean(line, mask) for line in nested]
        best = nested[means.index(max(means))]
        # The fewest runs whose values are within one standard error of the best.
        fits = (self._mean(best - line, mask) <= self._error(best - line, mask) for line in nested)
        return self._paths(mask)[next(at for at, one in enumerate(fits) if one)]

    def nested(self) -> tuple[Reals, Reals]:
        """Values of each query by what the other folds choose: a path, and a run alone."""
        mask = np.ones(len(self._weight), dtype=bool)
        values, alone = np.zeros(len(mask)), np.zeros(len(mask))
        for fold in self._folds(mask):
            values[fold] = self.values(self.select(mask & ~fold))[fold]
            alone[fold] = self.values(self._paths(mask & ~fold)[0])[fold]
        return values, alone

    def values(self, path: Path) -> Reals:
        run, share = path[-1]
        if len(path) == 1:
            return self._singles[run]
        return self._curve(path[:-1], run)[SHARES.index(share)]

    def _paths(self, mask: Mask) -> list[Path]:
        """The best run, and the best paths that begin with it; one that ends early again."""
        means = [self._mean(line, mask) for line in self._singles]
        best = max(means)
        paths: list[Path] = [((means.index(best), 1.0),)]
        while len(paths) < self._max_runs:
            path = paths[-1]
            for run in set(range(len(self._singles))) - {run for run, _ in path}:
                for share, line in zip(SHARES, self._curve(path, run), strict=True):
                    if (value := self._mean(line, mask)) > best + _TIE_TOLERANCE:
                        best, paths[len(path) :] = value, [(*path, (run, share))]
            if len(paths) == len(path):
                paths += [path] * (self._max_runs - len(paths))
        return paths

    def _mean(self, values: Reals, mask: Mask) -> float:
        weight = self._weight[mask]
        return float(values[mask] @ weight / weight.sum()) if weight.any() else 0.0

    def _error(self, values: Reals, mask: Mask) -> float:
        """Standard error of the mean, a little above that of rounding."""
        counted = values[mask & (self._weight > 0)]
        error = float(counted.std(ddof=1)) / len(counted) ** 0.5 if len(counted) > 1 else 0
        return _TIE_TOLERANCE + error

    def _folds(self, mask: Mask) -> Iterator[Mask]:
        """Parts of the queries, of about one size; all at once where there is but one."""
        units = np.unique(self._place[mask])
        for part in np.array_split(units, max(1, min(FOLDS, len(units)))):
            yield mask & np.isin(self._place, part)
