"""Quality against the size of the training part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blocks import report
from simviz.evaluation.intervals import mean, standard_error
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.result import DIRECTIONS
from simviz.evaluation.scoring import Scorer, evaluate

if TYPE_CHECKING:
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet

Reals = NDArray[np.float64]

#: Shares of the training part that are looked at.
FRACTIONS = (0.0625, 0.125, 0.25, 0.5, 1.0)


class LearningRecord(TypedDict):
    """One point of a learning curve."""

    fraction: float
    n_pairs: int
    metric: str
    direction: str
    value: float
    standard_error: float
    n: int


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
        Values on the one test part; NaN for a query without a relevant
        candidate.
    """

    fractions: tuple[float, ...]
    n_pairs: tuple[int, ...]
    per_query: Mapping[tuple[Metric, str], Reals]

    def to_records(self) -> list[LearningRecord]:
        """Tidy table: one record per metric, direction and share.

        Returns
        -------
        list of dict
            With keys fraction, n_pairs, metric, direction, value,
            standard_error (over queries) and n (queries).
        """
        return [
            LearningRecord(
                fraction=fraction,
                n_pairs=n_pairs,
                metric=metric.name,
                direction=direction,
                value=mean(line),
                standard_error=standard_error(line),
                n=int((~np.isnan(line)).sum()),
            )
            for (metric, direction), lines in self.per_query.items()
            for fraction, n_pairs, line in zip(self.fractions, self.n_pairs, lines, strict=True)
        ]


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
        With the items of the other side that are judged with those. At 1 it
        is the whole itself.

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
    parts = []
    for share in shares:
        if share == 1:
            parts.append(train)
            continue
        x = np.sort(order[: max(1, round(share * len(order)))])
        y = np.unique(train.relevance.matrix[x].indices)
        parts.append(train.take(x, y))
    return parts


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
    seed : int, default=0
        Of the order in which pairs come in.
    side : {"x", "y"}, default="x"
        Of whose items shares are taken, see `nested_parts`.
    callback : callable, optional
        See `simviz.callbacks`; steps are shares of the training part.

    Returns
    -------
    LearningCurve
        Values of each query.

    Raises
    ------
    ValueError
        If a setting does not fit, or a metric pools all pairs.
    JobCancelled
        If the callback asked to stop.

    Examples
    --------
    >>> from simviz.data import PairSet
    >>> from simviz.pipeline import default_pipeline
    >>> texts = [f"{a} {b}" for a in "ox elk cow hen".split() for b in "red blue grey".split()]
    >>> pairs = PairSet.from_texts(texts, texts)
    >>> fit = lambda part: default_pipeline("bm25", part).fit(part)
    >>> learning_curve(fit, pairs, pairs, (0.5, 1)).n_pairs
    (6, 12)
    """
    asked = [parse_metric(m) if isinstance(m, str) else m for m in metrics]
    for metric in asked:
        if metric.level != "query":
            raise ValueError(
                f"{metric} is not a metric of ranks, and a learning curve follows those. "
                "Use MRR(), NDCG(3) or AUC(average='query')."
            )
    parts = nested_parts(train, fractions, seed, side)
    found: dict[tuple[Metric, str], list[Reals]] = {
        (metric, direction): [] for metric in asked for direction in DIRECTIONS
    }
    # What a share costs is about proportional to its size.
    sizes = [part.relevance.positives.nnz for part in parts]
    done = 0
    for part, size in zip(parts, sizes, strict=True):
        result = evaluate(fit(part), test.x, test.y, test.relevance, asked)
        for metric, direction in found:
            found[metric, direction].append(result.per_query(metric, direction))  # type: ignore[arg-type]
        done += size
        report(callback, done, sum(sizes))
    return LearningCurve(
        tuple(float(share) for share in fractions),
        tuple(sizes),
        {key: np.stack(lines) for key, lines in found.items()},
    )
