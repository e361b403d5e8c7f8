"""Methods compared over repeated random divisions of the same pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from simviz.callbacks import Callback
from simviz.data.pairs import PairSet
from simviz.data.splitting import By, split
from simviz.evaluation.comparisons import Comparisons, apply_correction, pairs_to_compare
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.result import DIRECTIONS, Asking, directions_of
from simviz.evaluation.scoring import evaluate
from simviz.evaluation.significance import corrected_resampled_t, mean
from simviz.exceptions import JobCancelled
from simviz.pipeline import Pipeline

#: RepeatedSplits of one comparison at least: fewer leave next to no degrees of freedom.
MIN_DIVISIONS = 3
_SEED = "model__random_state"


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedSplits:
    """What methods reached on each of several random divisions.

    Parameters
    ----------
    names : tuple of str
        What the methods are called.
    metric : str
        Name of what was measured.
    direction : {"x2y", "y2x", "mean"}
        Which side asked.
    values : ndarray of float, shape (n_divisions, n_methods)
        On the test part of each division.
    selected : ndarray of int, shape (n_divisions, n_methods)
        The setting of each method that was best on the division's validation part.
    test_fraction : float
        Share of the test part among what was trained and tested on.

    Raises
    ------
    ValueError
        From `comparisons`, if there are fewer than two methods or the baseline is none of them.
    """

    names: tuple[str, ...]
    metric: str
    direction: str
    values: NDArray[np.float64]
    selected: NDArray[np.int64] = field(metadata={"stored_as": "chosen"})
    test_fraction: float

    def comparisons(self, *, baseline: str | None = None) -> Comparisons:
        """Compare the methods by the corrected resampled t-test.

        Parameters
        ----------
        baseline : str, optional
            Compare this one with all others, and nothing else.

        Returns
        -------
        Comparisons
            By the names of the methods, with corrected p-values.
        """
        columns = self.values.T
        comparisons = {
            (i, j): corrected_resampled_t(columns[i], columns[j], test_fraction=self.test_fraction)
            for i, j in pairs_to_compare(self.names, baseline)
        }
        means = np.array([mean(column) for column in columns])
        higher = parse_metric(self.metric).higher_is_better
        return Comparisons(self.names, means, apply_correction(comparisons), higher)


def evaluate_repeated_splits(
    pairs: PairSet,
    candidates: Mapping[str, Sequence[Pipeline]],
    *,
    n: int = 10,
    by: By = "pair",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    group_key: str | None = None,
    metric: Metric | str = "MRR",
    direction: Asking = "x2y",
    seed: int = 1,
    callback: Callback | None = None,
) -> RepeatedSplits:
    """Train and test on repeated random divisions, each of which chooses for itself.

    In each division every setting of a method is trained on its training part, the best on its
    validation part is tested on its test part, and methods that draw at random draw by another
    seed. What is found tells how methods compare on other draws of the same data; the verdict on
    one fixed test part is another question, and is not to be mixed with it.

    Parameters
    ----------
    pairs : PairSet
        All pairs.
    candidates : mapping of str to sequence of pipelines
        Settings of each method, not fitted.
    n : int, default=10
        RepeatedSplits, from 3.
    by, fractions, group_key : optional
        As in `simviz.data.split`; columns and times draw nothing at random.
    metric : Metric or str, default="MRR"
        What chooses and is reported.
    direction : {"x2y", "y2x", "mean"}, default="x2y"
        Which side asks.
    seed : int, default=1
        Of the first division; the others count on.
    callback : callable, optional
        Hears of progress; a true answer stops.

    Returns
    -------
    RepeatedSplits

    Raises
    ------
    JobCancelled
        If the callback asked to stop.
    ValueError
        If there are too few divisions, no candidates, or nothing random to divide by.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error. Machine
    Learning 52.
    """
    if n < MIN_DIVISIONS:
        raise ValueError(f"Repeat at least {MIN_DIVISIONS} divisions, got n={n}.")
    if by in ("column", "time"):
        raise ValueError(
            f"A split by {by} draws nothing at random, so that it cannot be repeated. "
            "Divide by pair, x, y or group."
        )
    if not candidates or not all(candidates.values()):
        raise ValueError("Name at least one method, and at least one setting of each.")
    measured = parse_metric(metric)
    directions = directions_of(direction, DIRECTIONS)
    sign = 1.0 if measured.higher_is_better else -1.0
    total = n * sum(map(len, candidates.values()))
    values = np.full((n, len(candidates)), nan)
    selected = np.zeros(values.shape, dtype=np.int64)
    done, is_stopped = 0, False

    def callback_of_fit(step: int, of: int, metrics: Mapping[str, float], /) -> bool:
        nonlocal is_stopped
        share = min(1.0, step / of) if of else 0.0
        at = round(1_000 * (done + share)), 1_000 * total
        is_stopped = is_stopped or (callback is not None and bool(callback(*at, {})))
        return is_stopped

    def value(pipeline: Pipeline, part: PairSet) -> float:
        evaluation = evaluate(pipeline, part, metrics=[measured], directions=directions)
        return evaluation.value(measured, direction)

    for i in range(n):
        parts = split(pairs, by, fractions, seed + i, group_key)
        for j, settings in enumerate(candidates.values()):
            best = -inf
            for at, setting in enumerate(settings):
                pipeline = clone(setting)
                if _SEED in pipeline.get_params():
                    pipeline.set_params(**{_SEED: seed + i})
                pipeline.set_callbacks(callback_of_fit)
                pipeline.fit(parts.train, parts.validation)
                pipeline.set_callbacks()
                done += 1
                if callback_of_fit(0, 1, {}):
                    raise JobCancelled("Cancelled.")
                reached = 0.0  # nothing to choose from
                if len(settings) > 1:
                    reached = sign * value(pipeline, parts.validation)
                if reached > best:
                    best, selected[i, j] = reached, at
                    values[i, j] = value(pipeline, parts.test)
    share = fractions[2] / (fractions[0] + fractions[2])
    return RepeatedSplits(tuple(candidates), measured.name, direction, values, selected, share)
