"""What every metric is: a value with a name, a sentence, a direction, a range."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.ranking import Ranking

if TYPE_CHECKING:
    from simviz.evaluation.roc import Roc

Reals = NDArray[np.float64]
Level = Literal["query", "roc", "scores"]


@dataclass(frozen=True, repr=False)
class Metric(ABC):
    """A number that says how good a ranking or a score is.

    Two metrics are equal when they measure the same; ``repr`` is the name
    that every table shows, and `parse_metric` reads it back. A subclass gives
    the texts ``_name`` and ``_description``, which may quote its parameters,
    and one of `per_query`, `of_roc` and `of_scores`.
    """

    _name: ClassVar[str]
    _description: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    #: Lowest and highest value.
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def name(self) -> str:
        """What tables show."""
        return self._name.format(**vars(self))

    @property
    def description(self) -> str:
        """One plain sentence."""
        return self._description.format(**vars(self))

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that `parse_metric` reads, such as those of stored runs."""
        return ()

    @property
    def level(self) -> Level:
        """What it is computed from: each query's ranks, the ROC of all pairs, or scores."""
        return "query"

    def per_query(self, ranking: Ranking) -> Reals:
        """Value of each query.

        Parameters
        ----------
        ranking : Ranking
            Where the candidates stand.

        Returns
        -------
        ndarray of float64, shape (n_queries,)
            NaN for a query without a relevant candidate.

        Raises
        ------
        ValueError
            If the metric pools the pairs of all queries.
        """
        raise ValueError(
            f"{self.name} pools the pairs of all queries and has no value per query. "
            "Use AUC(average='query'), or any metric of ranks."
        )

    def certain(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Queries that cannot fail: every order of their candidates has one value.

        Parameters
        ----------
        ranking : Ranking
            Of a judged pool, whose candidates are all listed.

        Returns
        -------
        ndarray of bool, shape (n_queries,)
            True where all candidates are relevant.
        """
        n_relevant = ranking.n_relevant
        return np.asarray((n_relevant > 0) & (n_relevant == ranking.n_candidates))

    def of_roc(self, roc: Roc) -> float:
        """Value of a ROC curve, for metrics whose `level` is "roc".

        Parameters
        ----------
        roc : Roc
            Curve over all pairs.

        Returns
        -------
        float
            NaN where one of the classes is empty.

        Raises
        ------
        ValueError
            If the metric has another level.
        """
        raise ValueError(f"{self.name} is not computed from a ROC curve, but from {self.level}.")

    def of_scores(self, judged: Reals, predicted: Reals) -> float:
        """Agreement of two lists of scores, for metrics whose `level` is "scores".

        Parameters
        ----------
        judged, predicted : ndarray of shape (n_pairs,)
            What was judged and what the model says.

        Returns
        -------
        float
            NaN where the judged scores do not differ.

        Raises
        ------
        ValueError
            If the metric has another level.
        """
        raise ValueError(f"{self.name} does not compare scores; it is computed by {self.level}.")

    def __repr__(self) -> str:
        return self.name


def check_k(k: int) -> None:
    """Refuse a number of candidates that is not a whole number from 1."""
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise ValueError(f"k counts candidates: a whole number from 1, got {k!r}.")


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not among the choices."""
    if value not in choices:
        raise ValueError(f"{what} must be {' or '.join(map(repr, choices))}, got {value!r}.")
