"""Metrics as values: hashable, compared by what they measure, shown by name.

Every rank metric is its expected value over random orders of tied candidates
(`simviz.ranking`), so a constant scorer gets chance in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from simviz.discovery import unknown_name
from simviz.evaluation._metric import Level, Metric
from simviz.evaluation._pair_metrics import AUC, PartialAUC, Pearson, RankLoss, Spearman
from simviz.evaluation._rank_metrics import MAP, MRR, NDCG, Precision, Recall, TopOne

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
        Such as "MRR", "P@5" or "NDCG@3 (linear)"; capitals do not matter.

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
        examples = [_BUILDERS[s](None, "").name for s in _BUILDERS]
        raise ValueError(unknown_name("metric", str(name), examples))
    try:
        metric = _BUILDERS[stem](match["at"], (match["options"] or "").casefold())
    except ValueError as error:
        raise ValueError(f"{name!r} is no metric: {error}") from error
    # A part that the metric does not know was ignored above: tell, don't guess.
    if metric.name.casefold() != wanted.casefold():
        raise ValueError(f"There is no metric {name!r}. Did you mean {metric.name!r}?")
    return metric
