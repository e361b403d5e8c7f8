"""Metrics as values: hashable, compared by what they measure, shown by name.

Every rank metric is its expected value over random orders of tied candidates
(`simviz.ranking`), so a constant scorer gets chance in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from simviz.discovery import unknown_name
from simviz.evaluation._metric import Level, Metric
from simviz.evaluation._pair_metrics import AUC, PartialAUC, Pearson, RankLoss, Spearman
from simviz.evaluation._rank_metrics import MAP, MRR, NDCG, Precision, Recall, TopOne

if TYPE_CHECKING:
    from simviz.relevance import Relevance

__all__ = [
    "AUC",
    "DEFAULT_METRICS",
    "MAP",
    "MRR",
    "NDCG",
    "Level",
    "Metric",
    "PartialAUC",
    "Pearson",
    "Precision",
    "RankLoss",
    "Recall",
    "Spearman",
    "TopOne",
    "default_metric",
    "is_graded",
    "parse_metric",
]

#: What `simviz.evaluation.evaluate` reports unless told otherwise.
DEFAULT_METRICS: tuple[Metric, ...] = (TopOne(), MRR(), MAP(), Precision(5), NDCG(3), AUC())

_NAME = re.compile(
    r"(?P<stem>[^@()]+?)(?:@(?P<at>\d+(?:\.\d+)?))?(?:\s*\((?P<options>[^()]*)\))?", re.ASCII
)
#: How the parts of a name, "stem@at (options)", make a metric.
_BUILDERS: dict[str, Callable[[str | None, str], Metric]] = {
    "top-1": lambda at, options: TopOne(),
    "MRR": lambda at, options: MRR(),
    "MAP": lambda at, options: MAP(),
    "P": lambda at, options: Precision(int(at or 5)),
    "recall": lambda at, options: Recall(int(at or 10)),
    "NDCG": lambda at, options: NDCG(
        int(at) if at else None,
        "linear" if "linear" in options else "exp2",
        "jk" if "jk" in options else "log2",
    ),
    "AUC": lambda at, options: AUC("query" if options else "pooled"),
    "rank loss": lambda at, options: RankLoss("query" if options else "pooled"),
    "pAUC": lambda at, options: PartialAUC(float(at or 0.25), bool(options)),
    "Pearson": lambda at, options: Pearson(),
    "Spearman": lambda at, options: Spearman(),
}


def parse_metric(name: str) -> Metric:
    """Read a metric's name, as tables show it.

    Parameters
    ----------
    name : str
        Such as "MRR", "P@5" or "NDCG@3 (linear gain)"; capitals do not
        matter. "NDCG@3" is that of exponential gain.

    Returns
    -------
    Metric
        The metric of that name.

    Raises
    ------
    ValueError
        If there is none; names the nearest one.

    Examples
    --------
    >>> parse_metric("p@5") == Precision(k=5)
    True
    >>> parse_metric("MMR")
    Traceback (most recent call last):
    ...
    ValueError: There is no metric 'MMR'. Did you mean 'MRR'? Known: top-1, MRR, ...
    """
    wanted = " ".join(str(name).split())
    match = _NAME.fullmatch(wanted)
    stems = {stem.casefold(): stem for stem in _BUILDERS}
    stem = stems.get(match["stem"].casefold()) if match else None
    if match is None or stem is None:
        known = [_BUILDERS[s](None, "") for s in _BUILDERS]
        examples = [min((m.name, *m.aliases), key=len) for m in known]
        raise ValueError(unknown_name("metric", str(name), examples))
    try:
        metric = _BUILDERS[stem](match["at"], (match["options"] or "").casefold())
    except ValueError as error:
        raise ValueError(f"{name!r} is no metric: {error}") from error
    # A part that the metric does not know was ignored above: tell, don't guess.
    if wanted.casefold() not in {n.casefold() for n in (metric.name, *metric.aliases)}:
        raise ValueError(f"There is no metric {name!r}. Did you mean {metric.name!r}?")
    return metric


def default_metric(relevance: Relevance) -> Metric:
    """The metric to look at first, by what judgments are.

    Parameters
    ----------
    relevance : Relevance
        Of the whole data set.

    Returns
    -------
    Metric
        Spearman for scores; NDCG@10 for several grades of relevance; AUC
        where only judged pairs count; MRR otherwise.

    Notes
    -----
    Where only judged pairs count and no item has judged candidates of
    different grades, nothing can be ranked: then AUC, whatever the grades.

    Examples
    --------
    >>> from simviz.relevance import Relevance
    >>> default_metric(Relevance.from_pairs([0, 0, 1], [0, 1, 1], [2, 1, 1], shape=(2, 2)))
    NDCG@10 (exponential gain)
    """
    if relevance.kind == "score":
        return Spearman()
    judged = relevance.unjudged == "ignore"
    if is_graded(relevance) and not (judged and _nothing_to_rank(relevance)):
        return NDCG(10)
    return AUC() if judged else MRR()


def is_graded(relevance: Relevance) -> bool:
    """Whether some relevant pairs are more so than others.

    Parameters
    ----------
    relevance : Relevance
        Any judgments.

    Returns
    -------
    bool
        False for scores.
    """
    grades = relevance.matrix.data
    return relevance.kind == "grade" and len(np.unique(grades[grades > 0])) > 1


def _nothing_to_rank(relevance: Relevance) -> bool:
    """Whether the judged candidates of every item, of either side, are of one grade."""
    entries = relevance.matrix.tocoo()
    for item, n in zip((entries.row, entries.col), relevance.shape, strict=True):
        lowest, highest = np.full((2, n), np.nan)
        np.fmin.at(lowest, item, np.maximum(entries.data, 0))
        np.fmax.at(highest, item, np.maximum(entries.data, 0))
        if (lowest < highest).any():
            return False
    return True
