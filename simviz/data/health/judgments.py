"""Checks of judgments: which contradict one another, and which say nothing."""

from __future__ import annotations

import numpy as np

from simviz.data.health.finding import Finding
from simviz.data.health.remedies import CountUnlisted, DropItems, DropJudgments
from simviz.data.health.subject import Index, Subject
from simviz.data.wording import counted

_EXAMPLES = 8
#: Judged pairs a query, on average, from which a query's own judgments are ranked.
_RANKED = 2.0


def find_contradictions(subject: Subject) -> list[Finding]:
    """Pairs judged relevant and not relevant, by content.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none.
    """
    relevance = subject.pairs.relevance
    x, y, sign = [], [], []
    for matrix, told in ((relevance.positives, 1), (relevance.negatives, -1)):
        x.append(np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)))
        y.append(matrix.indices)
        sign.append(np.full(matrix.nnz, told))
    rows, columns, signs = (np.concatenate(parts).astype(np.int64) for parts in (x, y, sign))
    n_y = len(subject.items("y"))
    key = subject.codes["x"][rows] * n_y + subject.codes["y"][columns]
    both = np.intersect1d(key[signs > 0], key[signs < 0])
    listed = np.isin(key, both)
    # What the file itself said twice was read as relevant: only the account is left of it.
    told_twice = subject.disputed[:, 0].astype(np.int64) * n_y + subject.disputed[:, 1]
    listed |= np.isin(rows * n_y + columns, told_twice)
    found = np.unique(key[listed])
    if not len(found):
        return []
    _, first = np.unique(key[listed], return_index=True)
    at = np.flatnonzero(listed)[np.sort(first)][:_EXAMPLES]
    examples = [(subject.label("x", rows[i]), subject.label("y", columns[i])) for i in at]
    n = len(found)
    unlisted = relevance.unjudged == "negative"
    label = "Count as not relevant" if unlisted else "Forget these judgments"
    return [
        Finding(
            "contradictions",
            "act",
            f"{counted(n, 'pair is', 'pairs are')} judged both relevant and not relevant",
            n,
            "One of the two judgments is wrong, and training and figures rest on a guess. "
            + ("" if len(both) else "As read, they count as relevant. ")
            + "Best is to judge them anew in the file.",
            (subject.pairs.x_name, subject.pairs.y_name),
            tuple(examples),
            DropJudgments(
                label,
                rows[listed].astype(np.intp),
                columns[listed].astype(np.intp),
                subject.pairs.shape,
            ),
        )
    ]


def find_one_class(subject: Subject) -> list[Finding]:
    """Queries whose judgments are all of one kind, and all of them together.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none.
    """
    relevance = subject.pairs.relevance
    if relevance.unjudged == "negative":
        return []
    good, bad = (np.diff(m.indptr) for m in (relevance.positives, relevance.negatives))
    if not bad.any():
        return [
            Finding(
                "one-class",
                "act",
                "All judged pairs are relevant, and pairs that are not listed are unknown",
                int(good.sum()),
                "Nothing is known to be wrong, so nothing can be measured: every method that "
                "finds all pairs similar is right.",
                remedy=CountUnlisted("Count unlisted as not relevant", "negative"),
            )
        ]
    judged = good + bad > 0
    if (good + bad)[judged].mean() < _RANKED:
        return []  # judged pair by pair: figures are over pairs, not within a query
    one = np.flatnonzero(judged & ((good == 0) | (bad == 0)))
    if not len(one):
        return []
    only = np.where(good[one] > 0, "relevant", "not relevant")
    n_relevant = int((only == "relevant").sum())
    name = subject.name("x")
    return [
        Finding(
            "one-class",
            "look",
            f"{counted(len(one), 'item')} of {name} {'has' if len(one) == 1 else 'have'} "
            f"judgments of one kind only ({n_relevant:,} only relevant ones, "
            f"{len(one) - n_relevant:,} only not relevant ones)",
            len(one),
            "Where all judged answers are right, or all wrong, any order is as good as any "
            "other: such queries say nothing about a ranking. They still count in figures over "
            "all judged pairs, such as the AUC.",
            (subject.pairs.x_name, "its judgments"),
            tuple(
                (subject.label("x", i), f"only {o}")
                for i, o in zip(one[:_EXAMPLES], only, strict=False)
            ),
            _leave_out(one, subject),
        )
    ]


def find_unanswered(subject: Subject) -> list[Finding]:
    """Queries that nothing is relevant to.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none.
    """
    relevance = subject.pairs.relevance
    judged_alone = relevance.unjudged == "ignore"
    if subject.pairs.x is subject.pairs.y:
        return []
    lacking = np.diff(relevance.positives.indptr) == 0
    if judged_alone:  # those with negatives are told of as one-class
        lacking &= np.diff(relevance.matrix.indptr) == 0
    found = np.flatnonzero(lacking)
    if not len(found):
        return []
    n = len(found)
    what = "no judgment at all" if judged_alone else "nothing that is relevant to them"
    return [
        Finding(
            "unanswered",
            "look",
            f"{counted(n, 'item')} of {subject.name('x')} {'has' if n == 1 else 'have'} {what}",
            n,
            "They teach no method that learns from pairs, and no figure counts them as queries. "
            "They do no harm as answers to the other side.",
            (subject.pairs.x_name,),
            tuple((subject.label("x", i),) for i in found[:_EXAMPLES]),
            _leave_out(found, subject),
        )
    ]


def _leave_out(x: Index, subject: Subject) -> DropItems | None:
    """Leaving x items out; None where a collection is linked to itself or few would be left."""
    if subject.pairs.x is subject.pairs.y or 2 * len(x) >= len(subject.pairs.x):
        return None
    label = f"Leave {'it' if len(x) == 1 else 'them'} out"
    return DropItems(label, x, np.empty(0, dtype=np.intp), subject.pairs.shape)
