"""The verdict: the best run against the next one and against the strongest baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simviz.evaluation.comparisons import (
    Comparisons,
    compare_all_evaluations,
    compare_evaluations,
    compared_metric,
)
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import Direction, Evaluation
from simviz.evaluation.significance import Comparison, State, describe_p


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """How the best run stands; pages, reports, Python and the command say the same.

    Parameters
    ----------
    best : str
        The run that was chosen.
    against : mapping of str to Comparison
        The best run against others, by their names, the next one first; p-values
        are corrected for all that were compared.
    metric : str
        What was tested.
    higher_is_better : bool
        False for metrics such as rank loss.
    adapted : tuple of (str, str, Comparison), optional
        The best run that learned from ready vectors, their plain cosine, and the one against
        the other, without a correction.
    """

    best: str
    against: Mapping[str, Comparison]
    metric: str
    higher_is_better: bool = True
    adapted: tuple[str, str, Comparison] | None = None

    @classmethod
    def of(
        cls,
        comparisons: Comparisons,
        order: Sequence[str],
        metric: str,
        baseline: str | None = None,
    ) -> Verdict:
        """Take the verdict out of comparisons.

        Parameters
        ----------
        comparisons : Comparisons
            All pairs of the runs, or one run with all others.
        order : sequence of str
            The runs, the best first as they were chosen.
        metric : str
            What was tested.
        baseline : str, optional
            The strongest baseline, one of the runs.

        Returns
        -------
        Verdict
            The first run against the second and the baseline, where these were compared.

        Examples
        --------
        >>> from simviz.evaluation import compare_all
        >>> values = {"A": [0.9, 0.8, 0.7, 0.9], "B": [0.5, 0.6, 0.6, 0.8]}
        >>> print(Verdict.of(compare_all(values, "t"), ["A", "B"], "MRR"))
        A and B cannot be told apart: MRR +0.200 [−0.025, +0.425], p = 0.066, paired t, 4 queries.
        """
        best, *others = order
        rivals = dict.fromkeys([*others[:1], *([] if baseline is None else [baseline])])
        compared = [{comparisons.names[i], comparisons.names[j]} for i, j in comparisons.pairs]
        tested = [name for name in rivals if {best, name} in compared]
        against = {name: comparisons.between(best, name) for name in tested}
        return cls(best, against, metric, comparisons.higher_is_better)

    @property
    def state(self) -> State:
        """How it stands against the next run; ahead only if it is ahead of the baseline, too."""
        rises = self.higher_is_better
        states = [one.state(higher_is_better=rises) for one in self.against.values()]
        return next((state for state in states if state != "ahead"), "ahead")

    def speaks_of(self, a: str, b: str) -> bool:
        """Whether one of two runs is the best, and was compared with the other.

        Parameters
        ----------
        a, b : str
            Names of runs.

        Returns
        -------
        bool
        """
        return (a == self.best and b in self.against) or (b == self.best and a in self.against)

    def describe(self, *, with_p: bool = True) -> str:
        """Sentences with differences and intervals, and by which test.

        Parameters
        ----------
        with_p : bool, default=True
            Whether p-values and the test are said. They belong to a part that
            nothing was chosen by.

        Returns
        -------
        str
        """
        texts = self._comparisons_text(with_p=with_p), self._alone(with_p=with_p)
        return " ".join(filter(None, texts))

    def _comparisons_text(self, *, with_p: bool) -> str:
        first = next(iter(self.against.values()))
        texts = [
            one.finding(self.best, name, self.metric, higher_is_better=self.higher_is_better)
            for name, one in self.against.items()
        ]
        if first.state() != "undecided":
            rests = first.basis if with_p else first.counted
            if with_p:
                tested = zip(texts, self.against.values(), strict=True)
                texts = [f"{said}, {describe_p(one.p_value)}" for said, one in tested]
            if len(texts) == 1:
                return f"{texts[0]}, {rests}."
            texts.append(rests[0].upper() + rests[1:])
        return " ".join(f"{said}." for said in texts)

    def _alone(self, *, with_p: bool) -> str:
        """Whether the cosine of ready vectors is as good as what was learned from them."""
        if self.adapted is None:
            return ""
        learned, vectors, one = self.adapted
        state = one.state(higher_is_better=self.higher_is_better)
        if state not in ("level", "behind"):
            return ""
        text = "The vectors alone do " + ("as well" if state == "level" else "better")
        if self.speaks_of(learned, vectors):
            return f"{text}."
        rises = self.higher_is_better
        finding = one.finding(learned, vectors, self.metric, higher_is_better=rises)
        return f"{text} ({finding}{f', {describe_p(one.p_value)}' if with_p else ''})."

    def __str__(self) -> str:
        return self.describe()


def verdict(
    evaluations: Mapping[str, Evaluation],
    metric: Metric | str,
    directions: Sequence[Direction] | None = None,
    *,
    baseline: str | None = None,
    vectors: tuple[str, str] | None = None,
    is_chosen_here: bool = False,
) -> Verdict:
    """Say whether the best run is ahead of the next one and of the strongest baseline.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        Of one part of a split, the best run first as it was chosen.
    metric : Metric or str
        What to compare; see `compared_metric` for what is tested.
    directions : sequence of {"x2y", "y2x"}, optional
        Which sides ask; the first that the first run was evaluated in when omitted.
    baseline : str, optional
        The strongest baseline, one of the names; it may be the second run.
    vectors : tuple of two str, optional
        Of the names, the best run that learned from ready vectors, and their plain cosine:
        where that is not behind, the verdict says so. It is a question of its own, which no
        correction counts unless the best run is one of the two.
    is_chosen_here : bool, default=False
        Whether the best was chosen by these same evaluations. All pairs then
        count for Holm's correction, since the best of many is ahead by luck
        more often; else those that the verdict speaks of, two at most.

    Returns
    -------
    Verdict
        By the paired randomisation test of queries, or the bootstrap of judged pairs.

    Raises
    ------
    ValueError
        As in `compare_all_evaluations`.

    Examples
    --------
    >>> import numpy as np
    >>> from simviz.evaluation import ChanceScorer, VectorScorer, evaluate
    >>> Z, noise = np.random.default_rng(0).normal(size=(2, 60, 8))
    >>> runs = {f"{k}": evaluate(VectorScorer(), Z, Z + k * noise) for k in (1, 2)}
    >>> runs["chance"] = evaluate(ChanceScorer(), Z, Z)
    >>> found = verdict(runs, "MRR", baseline="chance")
    >>> found.state, list(found.against), found.against["2"].correction
    ('ahead', ['2', 'chance'], 'Holm, 2 comparisons')
    """
    scored, order = evaluations, list(evaluations)
    named = {*order[:2], baseline}
    if not is_chosen_here:
        evaluations = {name: one for name, one in evaluations.items() if name in named}
    best = None if is_chosen_here else order[0]
    comparisons = compare_all_evaluations(evaluations, metric, directions, baseline=best)
    tested = compared_metric(scored.values(), metric)
    result = Verdict.of(comparisons, order, tested.name, baseline)
    if vectors is None:
        return result
    if result.speaks_of(*vectors):
        one = comparisons.between(*vectors)
    else:
        one = compare_evaluations(scored[vectors[0]], scored[vectors[1]], metric, directions)
    return replace(result, adapted=(*vectors, one))
