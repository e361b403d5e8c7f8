"""Metrics of scored pairs: the order of relevant and other pairs, and correlation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation._metric import Level, Metric, check_choice
from simviz.ranking import Ranking, expected_auc

if TYPE_CHECKING:
    from simviz.evaluation.roc import Roc

Reals = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class AUC(Metric):
    """Probability that a relevant pair scores above one that is not, ties one half.

    Parameters
    ----------
    average : {"pooled", "query"}, default="pooled"
        Compare the pairs of all queries with one another (does one threshold
        serve all?), or those of each query, and take the mean.

    Examples
    --------
    >>> AUC(), AUC("query")
    (AUC, AUC (by query))
    """

    _name = "AUC"
    _description = "Probability that a relevant pair scores above one that is not relevant."
    average: Literal["pooled", "query"] = "pooled"

    def __post_init__(self) -> None:
        check_choice("average", self.average, ("pooled", "query"))

    @property
    def name(self) -> str:
        """What tables show."""
        return super().name + (" (by query)" if self.average == "query" else "")

    @property
    def level(self) -> Level:
        """What it is computed from."""
        return "roc" if self.average == "pooled" else "query"

    def per_query(self, ranking: Ranking) -> Reals:
        """AUC of each query; NaN also where all candidates are relevant."""
        return super().per_query(ranking) if self.level == "roc" else expected_auc(ranking)

    def of_roc(self, roc: Roc) -> float:
        """Area under the curve."""
        return super().of_roc(roc) if self.level == "query" else roc.auc


@dataclass(frozen=True, repr=False)
class RankLoss(AUC):
    """Share of (relevant, not relevant) pairs in the wrong order: 1 - AUC.

    Parameters
    ----------
    average : {"pooled", "query"}, default="pooled"
        As in `AUC`.
    """

    _name = "rank loss"
    _description = "Share of relevant pairs that score below one that is not relevant."
    higher_is_better: ClassVar[bool] = False

    def per_query(self, ranking: Ranking) -> Reals:
        """Rank loss of each query; NaN also where all candidates are relevant."""
        return 1 - super().per_query(ranking)

    def of_roc(self, roc: Roc) -> float:
        """Area above the curve."""
        return 1 - super().of_roc(roc)


@dataclass(frozen=True, repr=False)
class PartialAUC(Metric):
    """Area under the ROC curve up to a false-positive rate.

    Parameters
    ----------
    max_fpr : float, default=0.25
        Where the area ends, above 0 and at most 1.
    standardized : bool, default=False
        Divide the area by `max_fpr` (then chance is max_fpr / 2), or rescale
        it so that chance is 0.5 and the best is 1, as McClish did.

    Raises
    ------
    ValueError
        If `max_fpr` is out of range.

    Examples
    --------
    >>> PartialAUC(), PartialAUC(0.1, standardized=True)
    (pAUC@0.25, pAUC@0.1 (McClish))
    """

    _description = "Mean recall of relevant pairs while at most {max_fpr:.0%} of the others pass."
    max_fpr: float = 0.25
    standardized: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.max_fpr <= 1:
            raise ValueError(f"max_fpr must lie in (0, 1], got {self.max_fpr}.")

    @property
    def name(self) -> str:
        """What tables show."""
        return f"pAUC@{self.max_fpr:g}" + (" (McClish)" if self.standardized else "")

    @property
    def level(self) -> Level:
        """What it is computed from."""
        return "roc"

    def of_roc(self, roc: Roc) -> float:
        """Partial area under the curve."""
        return roc.partial_auc(self.max_fpr, standardized=self.standardized)


@dataclass(frozen=True, repr=False)
class Pearson(Metric):
    """Linear correlation of judged and predicted scores."""

    _name = "Pearson"
    _description = "Linear correlation between judged and predicted scores."
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @property
    def level(self) -> Level:
        """What it is computed from."""
        return "scores"

    def of_scores(self, judged: Reals, predicted: Reals) -> float:
        """Correlation; 0, which is chance, where the predicted scores are all equal."""
        a, b = np.asarray(judged, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
        if len(a) < 2 or (a == a[0]).all():
            return float("nan")
        if (b == b[0]).all():
            return 0.0
        a, b = a - a.mean(), b - b.mean()
        return float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


@dataclass(frozen=True, repr=False)
class Spearman(Pearson):
    """Correlation of the ranks of judged and predicted scores."""

    _name = "Spearman"
    _description = "Correlation between the ranks of judged and predicted scores."

    def of_scores(self, judged: Reals, predicted: Reals) -> float:
        """Correlation of mid-ranks; 0 where the predicted scores are all equal."""
        from scipy.stats import rankdata

        return super().of_scores(rankdata(judged), rankdata(predicted))
