"""One value a query, ready for a test: what a run did, in units that stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.differences import query_metric
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.pair_tests import pools_judged_pairs
from simviz.evaluation.result import Direction, Evaluation, check_directions

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class QueryValues:
    """What a run did, query by query.

    Parameters
    ----------
    metric : Metric
        What was measured, see `query_metric`.
    values : ndarray of float64, shape (n,)
        Their mean is the metric's value; NaN where a query does not count.
    unit : {"query", "pair"}
        What a value belongs to: a query, or an aligned pair that asks from
        both sides.
    is_independent : bool
        False where queries of both sides stand side by side although they
        depend on each other through shared judgments. Tests then find a
        little too much.
    """

    metric: Metric
    values: Reals
    unit: str
    is_independent: bool


def query_values(
    evaluation: Evaluation, metric: Metric | str, directions: Sequence[Direction] | None = None
) -> QueryValues:
    """Values of one metric for the tests of `simviz.evaluation.significance`.

    Parameters
    ----------
    evaluation : Evaluation
        Of one run.
    metric : Metric or str
        Any metric; what stands for it query by query, where it pools pairs.
    directions : sequence of {"x2y", "y2x"}, optional
        Which sides ask; the first that was evaluated when omitted.

    Returns
    -------
    QueryValues
        Of one direction: its queries. Of two, where every query has one
        answer and every answer one query: the mean of both, one value a
        pair. Of two otherwise: the queries of both sides, weighted so that
        both sides count alike.

    Raises
    ------
    ValueError
        If a direction was not evaluated.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer, evaluate
    >>> Y = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1.0]])
    >>> found = evaluate(VectorScorer(), np.eye(3), Y, directions=("y2x", "x2y"))
    >>> values = query_values(found, "MRR")
    >>> values.unit, values.values.round(3).tolist(), round(found.value("MRR"), 3)
    ('query', [1.0, 1.0, 0.75], 0.917)
    >>> query_values(found, "MRR", ["x2y", "y2x"]).values.round(3).tolist()  # one a pair
    [1.0, 1.0, 0.875]
    """
    metric = query_metric(metric)
    wanted = evaluation.directions[:1] if directions is None else tuple(directions)
    check_directions(wanted, evaluation.directions)
    sides = [evaluation.per_query(metric, direction) for direction in wanted]
    if len(sides) == 1:
        return QueryValues(metric, sides[0], "query", True)
    pairs = _aligned(evaluation)
    if pairs is not None:
        both = dict(zip(wanted, sides, strict=True))
        asked, back = both["x2y"][pairs[0]], both["y2x"][pairs[1]]
        # In a judged pool one side of a pair may be unable to fail, and not count.
        if np.array_equal(np.isnan(asked), np.isnan(back)):
            return QueryValues(metric, (asked + back) / 2, "pair", True)
    counts = [max(1, int((~np.isnan(values)).sum())) for values in sides]
    weighted = [
        values * (sum(counts) / (len(sides) * n)) for values, n in zip(sides, counts, strict=True)
    ]
    return QueryValues(metric, np.concatenate(weighted), "query", False)


def compared_metric(evaluation: Evaluation, metric: Metric | str) -> Metric:
    """What `compare_evaluations` tests: a metric, or what stands for it query by query.

    Parameters
    ----------
    evaluation : Evaluation
        One of the runs.
    metric : Metric or str
        Any metric.

    Returns
    -------
    Metric
        The same where its judged pairs are drawn, else that of `query_metric`.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer, evaluate
    >>> compared_metric(evaluate(VectorScorer(), np.eye(3), np.eye(3)), "AUC")
    AUC (by query)
    """
    metric = parse_metric(metric) if isinstance(metric, str) else metric
    return metric if pools_judged_pairs(evaluation, metric) else query_metric(metric)


def _aligned(evaluation: Evaluation) -> tuple[Ints, Ints] | None:
    """Both positions of each relevant pair, if no item is in two of them."""
    ranking = evaluation.rankings["x2y"]
    relevant = ranking.grade > 0
    x, y = ranking.query[relevant], ranking.candidate[relevant]
    if len(np.unique(x)) < len(x) or len(np.unique(y)) < len(y):
        return None
    return x.astype(np.int64), y.astype(np.int64)
