"""Metrics as values: hashable, compared by what they measure, shown by name.

Every rank metric is its expected value over random orders of tied candidates
(`simviz.ranking`), so a constant scorer gets chance in all of them.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simviz import ranking as ranks
from simviz._types import Reals
from simviz.ranking import Discount, Gain, Ranking
from simviz.registry import unknown_name

if TYPE_CHECKING:
    from simviz.evaluation.roc import Roc
    from simviz.relevance import Relevance

Level = Literal["query", "roc", "scores"]

#: Values this close are level: equal expectations may differ in their last bits.
TIE_TOLERANCE = 1e-12
#: How far rounding may carry a value out of its range.
_ROUNDED = 1e-9
#: Highest k: what is not listed stands below every rank up to it.
_MAX_K = 10**9


@dataclass(frozen=True, repr=False)
class Metric(ABC):
    """A number that says how good a ranking or a score is.

    Two metrics are equal when they measure the same; ``repr`` is the name that every table shows,
    and `parse_metric` reads it back. A subclass gives the texts ``_name`` and ``_description``,
    which may quote its parameters, and what `per_query`, `of_roc` or `of_scores` computes with an
    underscore before the name.

    Raises
    ------
    ValueError
        If a parameter is out of range, or a method does not go with the metric's `level`.
    ArithmeticError
        If a value lies outside `range`, as where a candidate is counted twice.
    """

    _name: ClassVar[str]
    _description: ClassVar[str]
    _level: ClassVar[Level] = "query"
    #: Whether a query of one grade has one value, but one of several grades has not.
    _is_graded: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = True
    #: Lowest and highest value.
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        k: int | None = getattr(self, "k", None)  # of metrics that look at so many candidates
        if k is not None:
            check_k(k)

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
        return self._level

    def per_query(self, ranking: Ranking) -> Reals:
        """Value of each query, for metrics whose `level` is "query".

        Parameters
        ----------
        ranking : Ranking
            Where the candidates stand.

        Returns
        -------
        ndarray of float64, shape (n_queries,)
            NaN for a query without a relevant candidate.
        """
        return self._in_range(self._per_query(ranking))

    def _per_query(self, ranking: Ranking) -> Reals:
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
            True where all candidates are relevant, and of one grade where grades count.
        """
        n_relevant = ranking.n_relevant
        is_certain = np.asarray((n_relevant > 0) & (n_relevant == ranking.n_candidates))
        if self._is_graded:
            lowest, highest = _grades_by(ranking.query, ranking.grade, ranking.n_queries)
            is_certain &= lowest == highest
        return is_certain

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
        """
        return float(self._in_range(self._of_roc(roc)))

    def _of_roc(self, roc: Roc) -> float:
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
        """
        return float(self._in_range(self._of_scores(judged, predicted)))

    def _of_scores(self, judged: Reals, predicted: Reals) -> float:
        raise ValueError(f"{self.name} does not compare scores; it is computed by {self.level}.")

    def _in_range(self, values: Reals | float) -> Reals:
        """Values without what rounding adds to the lowest or highest; others are refused."""
        low, high = self.range
        outside = np.asarray((values < low - _ROUNDED) | (values > high + _ROUNDED))
        if outside.any():
            wrong = np.asarray(values)[outside]
            raise ArithmeticError(
                f"{self.name} is {wrong.flat[0]:.6g}, outside {low:g} to {high:g}. Count every "
                "candidate and every judgment once; if they are, this is a fault of simviz."
            )
        return np.clip(values, low, high)

    def __repr__(self) -> str:
        return self.name


def check_k(k: int) -> None:
    """Refuse a number of candidates that is not a whole number from 1."""
    if isinstance(k, bool) or int(k) != k or not 1 <= k <= _MAX_K:
        raise ValueError(f"k counts candidates: a whole number from 1 to {_MAX_K:,}, got {k!r}.")


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not among the choices."""
    if value not in choices:
        raise ValueError(f"{what} must be {' or '.join(map(repr, choices))}, got {value!r}.")


@dataclass(frozen=True, repr=False)
class TopOne(Metric):
    """Top-1 accuracy: the first candidate is relevant.

    Examples
    --------
    >>> TopOne(), TopOne() == TopOne()
    (top-1, True)
    """

    _name = "top-1"
    _description = "Share of queries whose first answer is relevant."

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_success_at(ranking, 1)


@dataclass(frozen=True, repr=False)
class Success(Metric):
    """Whether one of the first k candidates is relevant; for the first alone see `TopOne`.

    Parameters
    ----------
    k : int, default=5
        How many candidates count.

    Raises
    ------
    ValueError
        If `k` is no whole number from 2.
    """

    _name = "success@{k}"
    _description = "Share of queries with a relevant answer among the first {k}."
    k: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k == 1:
            raise ValueError("success@1 is top-1: take TopOne().")

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_success_at(ranking, self.k)


@dataclass(frozen=True, repr=False)
class MRR(Metric):
    """Mean reciprocal rank of the first relevant candidate.

    Parameters
    ----------
    k : int, optional
        Rank, from 1, below which nothing counts; all ranks do when omitted.
    """

    _description = "Mean of 1 / rank of the first relevant answer."
    k: int | None = None

    @property
    def name(self) -> str:
        """What tables show."""
        return "MRR" if self.k is None else f"MRR@{self.k}"

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_reciprocal_rank(ranking, self.k)


@dataclass(frozen=True, repr=False)
class MAP(Metric):
    """Mean average precision over all relevant candidates."""

    _name = "MAP"
    _description = "Mean precision at the ranks of all relevant answers."

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_average_precision(ranking)


@dataclass(frozen=True, repr=False)
class Precision(Metric):
    """Share of relevant candidates among the first k.

    Parameters
    ----------
    k : int, default=5
        How many candidates count, from 1; also the divisor when there are fewer.
    """

    _name = "P@{k}"
    _description = "Share of the first {k} answers that are relevant."
    k: int = 5

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_precision_at(ranking, self.k)


@dataclass(frozen=True, repr=False)
class Recall(Metric):
    """Share of the relevant candidates that is among the first k.

    Parameters
    ----------
    k : int, default=10
        How many candidates count, from 1.
    """

    _name = "recall@{k}"
    _description = "Share of all relevant answers found among the first {k}."
    k: int = 10

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_recall_at(ranking, self.k)


@dataclass(frozen=True, repr=False)
class RPrecision(Metric):
    """Share of relevant candidates among the first R, of which R are relevant."""

    _name = "R-precision"
    _description = "Share of relevant answers among the first R, where R are relevant."

    @property
    def aliases(self) -> tuple[str, ...]:
        """The name that trec_eval has for it."""
        return ("Rprec",)

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_r_precision(ranking)


@dataclass(frozen=True, repr=False)
class NDCG(Metric):
    """Normalised discounted cumulative gain of the first k.

    Parameters
    ----------
    k : int or None, default=3
        How many candidates count, from 1; None counts all.
    gain : {"exp2", "linear"}, default="exp2"
        A grade g is worth 2^g - 1, or g.
    discount : {"log2", "jk"}, default="log2"
        Rank r divides by log2(1 + r), or by max(1, log2(r)).

    Examples
    --------
    >>> NDCG(3), NDCG(10, gain="linear"), NDCG(None, discount="jk")
    (NDCG@3 (exponential gain), NDCG@10 (linear gain), NDCG (exponential gain, jk))
    """

    _is_graded = True
    _description = "Gain of the graded answers, later ranks counting less, over the best possible."
    k: int | None = 3
    gain: Gain = "exp2"
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("gain", self.gain, ("exp2", "linear"))
        check_choice("discount", self.discount, ("log2", "jk"))

    @property
    def name(self) -> str:
        """What tables show: always the gain, since tools differ in what they mean by NDCG."""
        gain = "exponential gain" if self.gain == "exp2" else "linear gain"
        return f"NDCG{self._at} ({gain}{', jk' if self.discount == 'jk' else ''})"

    @property
    def aliases(self) -> tuple[str, ...]:
        """Shorter names, in which the default gain and discount go without saying."""
        if self.discount == "jk":
            return (f"NDCG{self._at} ({self.gain}, jk)",)
        return (f"NDCG{self._at}" + ("" if self.gain == "exp2" else f" ({self.gain})"),)

    @property
    def _at(self) -> str:
        return "" if self.k is None else f"@{self.k}"

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_ndcg_at(ranking, self.k, gain=self.gain, discount=self.discount)


def _grades_by(owner: NDArray[np.integer], grades: Reals, n: int) -> tuple[Reals, Reals]:
    """Lowest and highest grade of each of n owners; NaN of one without any."""
    lowest, highest = np.full((2, n), np.nan)
    np.fmin.at(lowest, owner, grades)
    np.fmax.at(highest, owner, grades)
    return lowest, highest


@dataclass(frozen=True, repr=False)
class ERR(Metric):
    """Expected reciprocal rank at which a reader has found enough.

    Parameters
    ----------
    k : int, default=20
        How many candidates count.
    highest_grade : float, default=4
        The highest grade of the scale: a candidate of this grade satisfies nearly every
        reader. Figures of two scales cannot be compared.

    Raises
    ------
    ValueError
        If `k` is no whole number from 1, or the highest grade is not above 0.

    References
    ----------
    .. [1] O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan. "Expected
       reciprocal rank for graded relevance." CIKM 2009, equations 4 and 5.

    Examples
    --------
    >>> ERR(10), ERR(highest_grade=2)
    (ERR@10, ERR@20 (grades to 2))
    """

    _is_graded = True
    _description = "Mean of 1 / rank where a reader stops, who stops sooner at higher grades."
    k: int = 20
    highest_grade: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.highest_grade <= 1000:
            raise ValueError(f"highest_grade must lie in (0, 1000], got {self.highest_grade}.")

    @property
    def name(self) -> str:
        """What tables show: the scale too, unless it is the usual one of five grades."""
        grades = "" if self.highest_grade == 4 else f" (grades to {self.highest_grade:g})"
        return f"ERR@{self.k}{grades}"

    def _per_query(self, ranking: Ranking) -> Reals:
        return ranks.expected_err_at(ranking, self.k, highest_grade=self.highest_grade)


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

    def _per_query(self, ranking: Ranking) -> Reals:
        """AUC of each query; NaN also where all candidates are relevant."""
        return super()._per_query(ranking) if self.level == "roc" else ranks.expected_auc(ranking)

    def _of_roc(self, roc: Roc) -> float:
        return super()._of_roc(roc) if self.level == "query" else roc.auc


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

    def _per_query(self, ranking: Ranking) -> Reals:
        """Rank loss of each query; NaN also where all candidates are relevant."""
        return 1 - super()._per_query(ranking)

    def _of_roc(self, roc: Roc) -> float:
        return 1 - super()._of_roc(roc)


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

    _level = "roc"
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

    def _of_roc(self, roc: Roc) -> float:
        return roc.partial_auc(self.max_fpr, standardized=self.standardized)


@dataclass(frozen=True, repr=False)
class Pearson(Metric):
    """Linear correlation of judged and predicted scores."""

    _name = "Pearson"
    _level = "scores"
    _description = "Linear correlation between judged and predicted scores."
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def _of_scores(self, judged: Reals, predicted: Reals) -> float:
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

    def _of_scores(self, judged: Reals, predicted: Reals) -> float:
        """Correlation of mid-ranks; 0 where the predicted scores are all equal."""
        from scipy.stats import rankdata

        return super()._of_scores(rankdata(judged), rankdata(predicted))


#: What `simviz.evaluation.evaluate` reports unless told otherwise.
DEFAULT_METRICS: tuple[Metric, ...] = (TopOne(), MRR(), MAP(), Precision(5), NDCG(3), AUC())

_NAME = re.compile(
    r"(?P<stem>[^@()]+?)(?:@(?P<at>\d+(?:\.\d+)?))?(?:\s*\((?P<options>[^()]*)\))?", re.ASCII
)
#: How the parts of a name, "stem@at (options)", make a metric.
_BUILDERS: dict[str, Callable[[str | None, str], Metric]] = {
    "top-1": lambda at, options: TopOne(),
    "success": lambda at, options: TopOne() if at == "1" else Success(int(at or 5)),
    "MRR": lambda at, options: MRR(int(at) if at else None),
    "MAP": lambda at, options: MAP(),
    "P": lambda at, options: Precision(int(at or 5)),
    "recall": lambda at, options: Recall(int(at or 10)),
    "R-precision": lambda at, options: RPrecision(),
    "ERR": lambda at, options: ERR(int(at or 20), float(options.removeprefix("grades to ") or 4)),
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


#: Classes of metrics of the candidates that were found; others ask about those that were not.
LISTED = (TopOne, Success, MRR, MAP, Precision, Recall, RPrecision, NDCG, ERR)
#: Classes of all metrics that have a name of their own.
METRICS: tuple[type[Metric], ...] = (*LISTED, AUC, RankLoss, PartialAUC, Pearson, Spearman)
#: Metrics made of functions, by name.
OWN: dict[str, Metric] = {}
#: Orders of ties over which the mean of a function is taken.
_ORDERS = 100


@dataclass(frozen=True, repr=False)
class _Function(Metric):
    """A function of the grades in the order of the ranking."""

    fn: Callable[[Reals], float]
    label: str
    _name = "{label}"
    range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    @property
    def description(self) -> str:
        return (inspect.getdoc(self.fn) or self.label).partition("\n")[0]

    def _per_query(self, ranking: Ranking) -> Reals:
        """Value of each query, the mean over 100 orders where candidates tie."""
        means = np.full(ranking.n_queries, np.nan)
        columns = ranking.grade.clip(0), ranking.above, ranking.tied
        for query in np.flatnonzero(ranking.n_relevant):
            listed = slice(*ranking.indptr[query : query + 2])
            grade, above, tied = (column[listed] for column in columns)
            rng = np.random.default_rng(0)
            values = []
            for _ in range(1 if (tied == 1).all() else _ORDERS):
                grades = np.zeros(ranking.n_candidates[query])
                for start in np.unique(above):
                    here = above == start
                    places = rng.permutation(tied[here][0])[: here.sum()]
                    grades[start + places] = grade[here]
                values.append(float(self.fn(grades)))
            means[query] = np.mean(values)
        return means


def metric(fn: Callable[[Reals], float], name: str | None = None) -> Metric:
    """A metric of ranks of your own, which is then known by its name.

    Parameters
    ----------
    fn : callable
        Takes the grades of a query's candidates, the best ranked first, 0 where not
        relevant, and returns a number, larger for better.
    name : str, optional
        What tables show and `parse_metric` reads while Python runs; the name of the
        function when omitted.

    Returns
    -------
    Metric
        For `evaluate`, `simviz.compare` and `tune`. Where candidates tie, its value is
        the mean over 100 random orders, where our own metrics have the exact mean.

    Raises
    ------
    ValueError
        If there is no name, or it is one of ours.

    Examples
    --------
    >>> from simviz.ranking import Ranking
    >>> late = metric(lambda grades: -float(grades.argmax()), name="answers before")
    >>> late.per_query(Ranking([0, 1], [3], [1.0], above=[2], tied=[1], n_candidates=[9]))
    array([-2.])
    >>> parse_metric("answers before") is late
    True
    """
    name = " ".join((name or str(getattr(fn, "__name__", ""))).split())
    if not callable(fn) or name in ("", "<lambda>"):
        raise ValueError("A metric is a function with a name: metric(fn, name='...').")
    try:
        taken = not isinstance(parse_metric(name), _Function)
    except ValueError:
        taken = False
    if taken:
        raise ValueError(f"{name!r} is a metric already. Name yours otherwise.")
    OWN[name] = _Function(fn, name)
    return OWN[name]


#: Names of ir_measures and trec_eval, and what they are called here. Their gains are grades.
_ELSEWHERE = (
    (re.compile(r"R@(\d+)|recall_(\d+)"), "recall@{}"),
    (re.compile(r"nDCG@(\d+)|ndcg_cut[_.](\d+)"), "NDCG@{} (linear gain)"),
    (re.compile(r"nDCG()"), "NDCG (linear gain)"),
    (re.compile(r"P_(\d+)"), "P@{}"),
    (re.compile(r"AP()"), "MAP"),
    (re.compile(r"RR()|recip_rank()"), "MRR"),
    (re.compile(r"RR@(\d+)"), "MRR@{}"),
    (re.compile(r"success[@_]1()", re.IGNORECASE), "top-1"),
    (re.compile(r"success_(\d+)"), "success@{}"),
    (re.compile(r"R-?prec()", re.IGNORECASE), "R-precision"),
)


def parse_metric(name: Metric | str, among: Sequence[type[Metric]] = (Metric,)) -> Metric:
    """Read a metric's name, as tables show it.

    Parameters
    ----------
    name : str or Metric
        Such as "MRR", "P@5" or "NDCG@3 (linear gain)"; capitals do not matter. "NDCG@3" is that of
        exponential gain. Names of ir_measures and trec_eval are read as they mean them, in their
        spelling: "R@100", "recall_100", "AP", "RR@10", "recip_rank", "Success@1", "Rprec", and
        "nDCG@10" or "ndcg_cut_10", whose gain is linear. A metric stays as it is.
    among : sequence of Metric types, optional
        Which can be computed here: others are refused, and the message names these.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        If there is none, or none that can be computed here; names the nearest one.

    Examples
    --------
    >>> parse_metric("nDCG@10"), parse_metric("NDCG@10"), parse_metric("R@100")
    (NDCG@10 (linear gain), NDCG@10 (exponential gain), recall@100)
    >>> parse_metric("MMR")
    Traceback (most recent call last):
    ...
    ValueError: There is no metric 'MMR'. Did you mean 'MRR'? Known: top-1, ...
    """
    if isinstance(name, Metric):
        return name
    text = " ".join(str(name).split())
    if text in OWN:
        return OWN[text]
    for pattern, own in _ELSEWHERE:
        if matched := pattern.fullmatch(text):
            text = own.format(*filter(None, matched.groups()))
            break
    match = _NAME.fullmatch(text)
    stems = {stem.casefold(): stem for stem in _BUILDERS}
    stem = stems.get(match["stem"].casefold()) if match else None
    if match is None or stem is None:
        every = (build(None, "") for build in _BUILDERS.values())
        known = [one for one in every if isinstance(one, tuple(among))]
        examples = [*(min((m.name, *m.aliases), key=len) for m in known), *OWN]
        raise ValueError(unknown_name("metric", str(name), examples))
    try:
        metric = _BUILDERS[stem](match["at"], (match["options"] or "").casefold())
    except ValueError as error:
        raise ValueError(f"{name!r} is no metric: {error}") from error
    # A part that the metric does not know was ignored above: tell, don't guess.
    if text.casefold() not in {n.casefold() for n in (metric.name, *metric.aliases)}:
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
    """Whether some relevant pairs are more so than others."""
    grades = relevance.matrix.data
    return relevance.kind == "grade" and len(np.unique(grades[grades > 0])) > 1


def _nothing_to_rank(relevance: Relevance) -> bool:
    """Whether the judged candidates of every item, of either side, are of one grade."""
    entries = relevance.matrix.tocoo()
    sides = zip((entries.row, entries.col), relevance.shape, strict=True)
    ranges = (_grades_by(item, np.maximum(entries.data, 0), n) for item, n in sides)
    return not any((lowest < highest).any() for lowest, highest in ranges)
