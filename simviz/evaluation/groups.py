"""Many runs at once: corrected p-values, and groups that cannot be told apart."""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.evaluation import _paired
from simviz.evaluation.significance import compare
from simviz.evaluation.verdict import ALPHA, Comparison

Reals = NDArray[np.float64]
Correction = Literal["holm", "bonferroni", "none"]

_ALPHABET = string.ascii_lowercase + string.ascii_uppercase


def adjust(p_values: ArrayLike, correction: Correction = "holm") -> Reals:
    """Correct p-values for how many there are.

    Compared with α as usual, the corrected ones make any false alarm among
    all comparisons as rare as α.

    Parameters
    ----------
    p_values : array-like of float, shape (n,)
        Of all comparisons that were made; NaN stays NaN and does not count.
    correction : {"holm", "bonferroni", "none"}, default="holm"
        Bonferroni multiplies each by n. Holm multiplies the smallest by n,
        the next by n − 1 and so on: it keeps the same promise and finds more.

    Returns
    -------
    ndarray of float64, shape (n,)
        In the same order, at most 1.

    Raises
    ------
    ValueError
        If a p-value lies outside [0, 1] or the correction is unknown.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.
    Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    >>> adjust([0.01, 0.04, 0.03], "bonferroni").tolist()
    [0.03, 0.12, 0.09]
    """
    if correction not in ("holm", "bonferroni", "none"):
        raise ValueError(f"correction must be 'holm', 'bonferroni' or 'none', got {correction!r}.")
    p = np.array(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, got {p[known].tolist()}.")
    if correction == "holm":
        order = known[np.argsort(p[known], kind="stable")]
        p[order] = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    elif correction == "bonferroni":
        p[known] *= len(known)
    return np.minimum(p, 1.0)


def tie_groups(
    p_values: ArrayLike, order: Sequence[int] | None = None, *, alpha: float = ALPHA
) -> list[tuple[int, ...]]:
    """The largest groups none of whose members can be told apart.

    Insert and absorb: begin with one group of all; divide each group that
    holds a pair that differs into one without the first and one without the
    second; drop groups inside others.

    Parameters
    ----------
    p_values : array-like of float, shape (n, n)
        Corrected p-value of each pair; symmetric. The diagonal is not read,
        NaN tells nothing apart.
    order : sequence of int, optional
        All runs, the best first; as they are numbered when omitted.
    alpha : float, default=0.05
        Highest p-value that tells a pair apart.

    Returns
    -------
    list of tuple of int
        Each group in the given order; the group of the best run first.

    Raises
    ------
    ValueError
        If the matrix is not square and symmetric or the order leaves runs out.

    Notes
    -----
    A run may be in several groups, since "cannot be told apart" does not
    carry over from neighbour to neighbour. It does not mean "equal" either:
    with more queries groups divide.

    References
    ----------
    Piepho (2004), An algorithm for a letter-based representation of
    all-pairwise comparisons. Journal of Computational and Graphical
    Statistics 13.

    Examples
    --------
    The first and the last differ, the one between them from neither:

    >>> tie_groups([[1, 0.6, 0.01], [0.6, 1, 0.3], [0.01, 0.3, 1]])
    [(0, 1), (1, 2)]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 2 or p.shape[0] != p.shape[1] or not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError(
            f"p_values of shape {p.shape} must be a symmetric table of all pairs of runs."
        )
    ranked = list(range(len(p))) if order is None else [int(i) for i in order]
    if sorted(ranked) != list(range(len(p))):
        raise ValueError(f"order must name each of the {len(p)} runs once, got {ranked}.")
    groups = [frozenset(range(len(p)))] if len(p) else []
    for i, j in itertools.combinations(range(len(p)), 2):
        if p[i, j] <= alpha:
            groups = _absorbed([part for g in groups for part in _divided(g, i, j)])
    place = {run: at for at, run in enumerate(ranked)}
    return sorted(
        (tuple(sorted(group, key=place.__getitem__)) for group in groups),
        key=lambda group: [place[run] for run in group],
    )


def letters(groups: Sequence[Sequence[int]]) -> list[str]:
    """Letters of each run: runs that share one cannot be told apart.

    Parameters
    ----------
    groups : sequence of sequence of int
        As `tie_groups` gives them; the first is "a".

    Returns
    -------
    list of str
        One a run. After "z" come capitals, then "a1" and so on.

    Examples
    --------
    >>> letters([(0, 1), (1, 2)])
    ['a', 'ab', 'b']
    """
    marks = [""] * (1 + max((run for group in groups for run in group), default=-1))
    for at, group in enumerate(groups):
        again, letter = divmod(at, len(_ALPHABET))
        for run in group:
            marks[run] += _ALPHABET[letter] + (str(again) if again else "")
    return marks


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Several runs, compared in pairs.

    Parameters
    ----------
    names : tuple of str
        What the runs are called.
    means : ndarray of float, shape (n_runs,)
        Mean value of each.
    pairs : dict of (int, int) to Comparison
        First run number below the second; p-values are corrected.
    higher_is_better : bool
        False for metrics such as rank loss.
    """

    names: tuple[str, ...]
    means: Reals
    pairs: dict[tuple[int, int], Comparison]
    higher_is_better: bool = True

    @property
    def p_values(self) -> Reals:
        """Corrected p-values, shape (n_runs, n_runs); NaN where nothing was compared."""
        p = np.full((len(self.names), len(self.names)), np.nan)
        for (i, j), found in self.pairs.items():
            p[i, j] = p[j, i] = found.p_value
        return p

    def between(self, a: str, b: str) -> Comparison:
        """What was found about two runs.

        Parameters
        ----------
        a, b : str
            Their names.

        Returns
        -------
        Comparison
            Of `a` against `b`, the p-value corrected.

        Raises
        ------
        ValueError
            If they were not compared.
        """
        known = {name: i for i, name in enumerate(self.names)}
        at = known.get(a, -1), known.get(b, -1)
        if at in self.pairs:
            return self.pairs[at]
        if at[::-1] in self.pairs:
            return self.pairs[at[::-1]].swapped()
        raise ValueError(
            f"{a!r} and {b!r} were not compared. Known: {', '.join(map(repr, self.names))}."
        )

    def order(self) -> list[int]:
        """Runs by their mean, the best first; runs without a value last.

        Returns
        -------
        list of int
            Run numbers.
        """
        sign = -1.0 if self.higher_is_better else 1.0
        return [int(i) for i in np.argsort(sign * self.means, kind="stable")]

    def letters(self, alpha: float = ALPHA) -> dict[str, str]:
        """Letters of each run: those who share one cannot be told apart.

        Parameters
        ----------
        alpha : float, default=0.05
            Highest p-value that tells a pair apart.

        Returns
        -------
        dict of str to str
            Name to letters; "a" is the best group.

        Raises
        ------
        ValueError
            If only a baseline was compared with the others.
        """
        n = len(self.names)
        if len(self.pairs) < n * (n - 1) // 2:
            raise ValueError(
                "Groups need all pairs of runs; here only a baseline was compared with the "
                "others. Leave out baseline."
            )
        marks = letters(tie_groups(self.p_values, self.order(), alpha=alpha))
        return dict(zip(self.names, marks, strict=True))


def compare_all(
    values: Mapping[str, ArrayLike],
    test: str = "randomization",
    *,
    correction: Correction = "holm",
    baseline: str | None = None,
    higher_is_better: bool = True,
    **settings: float,
) -> Comparisons:
    """Compare several runs in pairs, and correct for how many pairs there are.

    Parameters
    ----------
    values : mapping of str to array-like of float, shape (n_queries,)
        Name of each run to the value of each query.
    test : str, default="randomization"
        As in `compare`.
    correction : {"holm", "bonferroni", "none"}, default="holm"
        See `adjust`.
    baseline : str, optional
        Compare this one with all others, and nothing else: fewer pairs, so a
        milder correction. All pairs when omitted.
    higher_is_better : bool, default=True
        False for metrics such as rank loss.
    **settings : float
        Settings of the test, such as ``level``.

    Returns
    -------
    Comparisons
        All of them, with corrected p-values.

    Raises
    ------
    ValueError
        If there are fewer than two runs, the baseline is none of them, or as
        in the test.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> base = rng.random(200)
    >>> runs = {"A": base + 0.1 * rng.random(200), "B": base, "C": base + 0.1 * rng.random(200)}
    >>> compare_all(runs).letters()
    {'A': 'a', 'B': 'b', 'C': 'a'}
    """
    names = tuple(values)
    pairs = pairs_to_compare(names, baseline)
    found = {
        (i, j): compare(values[names[i]], values[names[j]], test, **settings) for i, j in pairs
    }
    means = np.array([_mean(values[name]) for name in names])
    return Comparisons(names, means, correct(found, correction), higher_is_better)


def correct(
    found: Mapping[tuple[int, int], Comparison], correction: Correction = "holm"
) -> dict[tuple[int, int], Comparison]:
    """Correct comparisons that were made one by one, as `compare_all` does.

    Parameters
    ----------
    found : mapping of (int, int) to Comparison
        All comparisons of a table, with the p-values of their tests.
    correction : {"holm", "bonferroni", "none"}, default="holm"
        See `adjust`.

    Returns
    -------
    dict of (int, int) to Comparison
        The same with corrected p-values, each saying how it was corrected.

    Raises
    ------
    ValueError
        If the correction is unknown.

    Examples
    --------
    >>> from simviz.evaluation import paired_t
    >>> one = paired_t([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5])
    >>> correct({(0, 1): one, (0, 2): one}, "bonferroni")[0, 1].correction
    'Bonferroni, 2 comparisons'
    """
    p_values = adjust([one.p_value for one in found.values()], correction)
    told = "" if correction == "none" or len(found) == 1 else _told(correction, len(found))
    return {
        pair: replace(one, p_value=float(p), correction=told)
        for (pair, one), p in zip(found.items(), p_values, strict=True)
    }


def pairs_to_compare(names: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    """Which runs are compared, by their numbers."""
    if len(names) < 2 or (baseline is not None and baseline not in names):
        raise ValueError(
            f"Comparing needs two runs or more, and a baseline among them; got "
            f"{', '.join(map(repr, names)) or 'none'} and the baseline {baseline!r}."
        )
    return [
        (i, j)
        for i, j in itertools.combinations(range(len(names)), 2)
        if baseline in (None, names[i], names[j])
    ]


def _told(correction: str, n: int) -> str:
    return f"{correction.capitalize()}, {n:,} comparisons"


def _mean(values: ArrayLike) -> float:
    array = _paired.flat(values, "values")
    return _paired.mean(array[~np.isnan(array)])


def _divided(group: frozenset[int], i: int, j: int) -> list[frozenset[int]]:
    return [group - {i}, group - {j}] if {i, j} <= group else [group]


def _absorbed(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """Each group once, without those inside others."""
    distinct = list(dict.fromkeys(groups))
    return [g for g in distinct if not any(g < other for other in distinct)]
