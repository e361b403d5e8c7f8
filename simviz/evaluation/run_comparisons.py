"""Runs compared by any metric: query by query, or by drawing judged pairs again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from simviz.discovery import unknown_name
from simviz.evaluation.differences import query_metric
from simviz.evaluation.groups import Comparisons, Correction, correct, pairs_to_compare
from simviz.evaluation.intervals import mean
from simviz.evaluation.metrics import Metric
from simviz.evaluation.pair_tests import bootstrap_pairs, delong_pairs, judged_pairs
from simviz.evaluation.result import Direction, Evaluation
from simviz.evaluation.significance import TESTS, compare
from simviz.evaluation.units import compared_metric, query_values
from simviz.evaluation.verdict import Comparison


def compare_all_evaluations(
    evaluations: Mapping[str, Evaluation],
    metric: Metric | str,
    directions: Sequence[Direction] | None = None,
    test: str = "randomization",
    *,
    correction: Correction = "holm",
    baseline: str | None = None,
    **settings: float,
) -> Comparisons:
    """Compare several runs by any metric: by queries, or by judged pairs.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        Of the same test part, against the same pool.
    metric : Metric or str
        What to compare; see `compared_metric` for what is tested.
    directions : sequence of {"x2y", "y2x"}, optional
        Which sides ask; the first that the first run was evaluated in when
        omitted. Pairs are the same in every direction.
    test : str, default="randomization"
        As in `compare`. Judged pairs are tested by the bootstrap of
        `bootstrap_pairs` whichever is named, unless that is "delong".
    correction : {"holm", "bonferroni", "none"}, default="holm"
        See `adjust`.
    baseline : str, optional
        As in `compare_all`.
    **settings : float
        Settings of the test, such as ``level`` and ``random_state``.

    Returns
    -------
    Comparisons
        All of them, with corrected p-values. Their unit is "judged pair"
        where pairs were drawn.

    Raises
    ------
    ValueError
        As in `compare_all`; and of "delong" if the metric is not the AUC or
        rank loss of judged pairs, or items are in several of them.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer, evaluate
    >>> from simviz.relevance import Relevance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 8))
    >>> label = np.where(np.arange(200) % 2, 1, -1)
    >>> pairs = Relevance.from_pairs(range(200), range(200), label, shape=(200, 200))
    >>> runs = {
    ...     name: evaluate(VectorScorer(), X, label[:, None] * X + noise * X[::-1], pairs)
    ...     for name, noise in {"A": 0.5, "B": 3.0}.items()
    ... }
    >>> found = compare_all_evaluations(runs, "AUC")
    >>> found.between("A", "B").in_words("A", "B", "AUC")[-38:]
    'bootstrap over pairs, 200 judged pairs'
    """
    names = tuple(evaluations)
    wanted = pairs_to_compare(names, baseline)
    tested = {compared_metric(one, metric) for one in evaluations.values()}
    # One that was stored without the scores of its pairs makes all stand back.
    what = next(iter(tested)) if len(tested) == 1 else query_metric(metric)
    if what.level == "query":
        if directions is None:
            directions = next(iter(evaluations.values())).directions[:1]
        values = {name: query_values(one, what, directions) for name, one in evaluations.items()}
        found = {
            (i, j): replace(
                compare(values[names[i]].values, values[names[j]].values, test, **settings),
                unit=values[names[i]].unit,
            )
            for i, j in wanted
        }
        means = np.array([mean(one.values) for one in values.values()])
    else:
        if test not in (*TESTS, "delong"):
            raise ValueError(unknown_name("test", test, (*TESTS, "delong")))
        runs = [pairs for one in evaluations.values() if (pairs := judged_pairs(one)) is not None]
        by_pairs = delong_pairs if test == "delong" else bootstrap_pairs
        every = by_pairs(runs, what, **settings)
        found = {pair: every[pair] for pair in wanted}
        means = np.array([one.value(what) for one in evaluations.values()])
    return Comparisons(names, means, correct(found, correction), what.higher_is_better)


def compare_evaluations(
    a: Evaluation,
    b: Evaluation,
    metric: Metric | str,
    directions: Sequence[Direction] | None = None,
    test: str = "randomization",
    **settings: float,
) -> Comparison:
    """Compare two runs by any metric: by queries, or by judged pairs.

    Parameters
    ----------
    a, b : Evaluation
        Of the same test part, against the same pool.
    metric : Metric or str
        What to compare; see `compared_metric` for what is tested.
    directions : sequence of {"x2y", "y2x"}, optional
        Which sides ask; the first that `a` was evaluated in when omitted.
    test : str, default="randomization"
        As in `compare_all_evaluations`.
    **settings : float
        Settings of the test, such as ``level`` and ``random_state``.

    Returns
    -------
    Comparison
        Of `a` against `b`.

    Raises
    ------
    ValueError
        As in `compare_all_evaluations`.
    """
    found = compare_all_evaluations(
        {"a": a, "b": b}, metric, directions, test, correction="none", baseline=None, **settings
    )
    return found.pairs[0, 1]
