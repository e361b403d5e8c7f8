"""Relevance: what a stored value means, and that slicing never changes it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from simviz.relevance import Relevance

quick = settings(max_examples=60)


@st.composite
def relevances(draw):
    n_x, n_y = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["grade", "score"]))
    value = st.sampled_from([-1.0, 1.0, 2.0, 3.0] if kind == "grade" else [-0.5, 0.0, 0.7, 2.5])
    entries = draw(
        st.dictionaries(st.tuples(st.integers(0, n_x - 1), st.integers(0, n_y - 1)), value)
    )
    return of(entries, (n_x, n_y), kind), entries


def of(entries, shape, kind):
    rows, columns = zip(*entries, strict=True) if entries else ((), ())
    return Relevance.from_pairs(rows, columns, [*entries.values()], shape=shape, kind=kind)


def meaning(relevance):
    """Every pair's verdict: relevant (and how much), not relevant, or unknown."""
    n_x, n_y = relevance.shape
    table = np.full((n_x, n_y), np.nan if relevance.unjudged == "ignore" else 0.0)
    for part, sign in ((relevance.positives, 1), (relevance.negatives, 0)):
        found = part.tocoo()
        table[found.row, found.col] = sign * found.data
    return table


@quick
@given(relevances(), st.data())
def test_slicing_never_changes_a_meaning(made, data):
    relevance, _ = made
    rows = data.draw(st.lists(st.integers(0, relevance.shape[0] - 1), max_size=6))
    columns = data.draw(st.lists(st.integers(0, relevance.shape[1] - 1), max_size=6))
    part = relevance.take(rows, columns)
    np.testing.assert_array_equal(meaning(part), meaning(relevance)[np.ix_(rows, columns)])
    for name in ("unjudged", "kind", "threshold"):
        assert getattr(part, name) == getattr(relevance, name)
    np.testing.assert_array_equal(meaning(relevance.T), meaning(relevance).T)


@quick
@given(relevances())
def test_judgments_survive_whatever_their_order(made):
    relevance, entries = made
    for (i, j), value in entries.items():
        row = relevance.take([i], [j]).matrix
        assert row.nnz == 1 and row.data[0] == value
    again = of(dict([*entries.items()][::-1]), relevance.shape, relevance.kind)
    assert again.digest == relevance.digest


def test_the_unjudged_are_guessed_and_identity_is_recognised():
    positive = sp.csr_array([[1.0, 0], [0, 2]])
    assert Relevance(positive).unjudged == "negative"
    assert Relevance(positive - sp.csr_array([[0, 1.0], [0, 0]])).unjudged == "ignore"
    assert Relevance(positive, kind="score").unjudged == "ignore"
    assert Relevance(positive, unjudged="ignore").unjudged == "ignore"
    assert Relevance.identity(4).is_identity
    assert not Relevance.identity(4).take([0, 1], [1, 0]).is_identity
    assert Relevance.coerce(sp.eye_array(3), 3, 3).is_identity


def test_a_pair_listed_twice_keeps_its_highest_value():
    twice = Relevance.from_pairs([0, 0, 0], [1, 1, 1], [2, 3, -1], shape=(1, 2))
    assert twice.matrix.toarray().tolist() == [[0, 3]]
    of_caller = sp.csr_array((np.ones(2), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert Relevance(of_caller).matrix.data.tolist() == [2] and of_caller.nnz == 2


def test_scores_are_relevant_from_the_threshold_on():
    r = Relevance.from_pairs([0, 0, 0], [0, 1, 2], [0, 5, 2.5], shape=(1, 3), kind="score")
    assert r.threshold == 2.5
    assert r.positives.toarray().tolist() == [[0, 1, 1]]
    assert r.negatives.toarray().tolist() == [[1, 0, 0]]
    assert r.matrix.nnz == 3, "a score of 0 is a judgment"


def test_pairs_judged_not_relevant_keep_the_size_of_their_grade():
    values = {"x_index": [0, 0, 1, 2], "y_index": [0, 1, 1, 0], "values": [2, -3, -0.5, 1]}
    r = Relevance.from_pairs(**values, shape=(4, 2), unjudged="negative")
    assert r.negatives.toarray().tolist() == [[0, 3], [0, 0.5], [0, 0], [0, 0]]
    assert r.only_rejected.tolist() == [False, True, False, False]
    r = Relevance.from_pairs(**values, shape=(4, 2))
    assert r.unjudged == "ignore" and not r.only_rejected.any()


ZERO = sp.csr_array((np.zeros(1), ([1], [0])), shape=(2, 2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Relevance(ZERO), "x item 1, y item 0"),
        (lambda: Relevance(sp.csr_array([[np.nan, 1]])), "finite"),
        (lambda: Relevance(sp.eye_array(2), unjudged="no"), "unjudged must be"),
        (lambda: Relevance(sp.eye_array(2), kind="no"), "kind must be"),
        (lambda: Relevance.from_pairs([0], [5], shape=(1, 2)), r"y indices must lie in 0\.\.1"),
        (lambda: Relevance.from_pairs([0], [0, 1], shape=(1, 2)), "equally long"),
        (lambda: Relevance.coerce(None, 2, 3), "X has 2 rows and y has 3"),
        (lambda: Relevance.coerce(sp.eye_array(2), 2, 3), r"shape \(2, 2\)"),
    ],
)
def test_errors_say_what_and_where(make, words):
    with pytest.raises(ValueError, match=words):
        make()
