"""Reading topics: leading terms and their coherence."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.explain.topics import (
    coherence,
    describe_topics,
    joined_terms,
    term_relevance,
    top_terms,
)
from simviz.methods import get_method

COUNTS = np.array([[2, 1, 0, 1], [1, 0, 0, 1], [0, 3, 0, 1], [0, 0, 1, 1]])


def test_coherence_is_the_formula_on_shares_of_items():
    p = np.array([0.5, 0.5, 0.25, 1.0])
    r01 = 0.25  # items with both of the first two terms
    expected = np.log(r01 / (p[0] * p[1])) / -np.log(r01)
    for counts in (COUNTS, sp.csr_array(COUNTS)):
        found = coherence(counts, [[0, 1], [0, 2], [2, 3]])
        np.testing.assert_allclose(found, [expected, -1, 0], atol=1e-12)
    three = coherence(COUNTS, [[0, 1, 2]])
    np.testing.assert_allclose(three, (expected - 1 - 1) / 3)


def test_terms_that_never_occur_have_no_say():
    counts = np.c_[COUNTS, np.zeros(4)]
    np.testing.assert_allclose(coherence(counts, [[0, 1, 4]]), coherence(COUNTS, [[0, 1]]))
    assert np.isnan(coherence(counts, [[0, 4]])).all()
    assert np.isnan(coherence(counts, [[0]])).all()
    np.testing.assert_allclose(coherence(COUNTS, [[0, 1, -1]]), coherence(COUNTS, [[0, 1]]))
    # Two terms of every item: neither tells of the other.
    assert coherence(np.ones((3, 2)), [[0, 1]]) == 0


def test_top_terms_descend_and_ties_keep_their_order():
    np.testing.assert_array_equal(top_terms([[0.2, 0.4, 0.4]], 5), [[1, 2, 0]])
    values = np.random.default_rng(0).integers(0, 5, (6, 40))
    everything = np.argsort(-values, axis=1, kind="stable")
    for n in (0, 1, 7, 40):
        np.testing.assert_array_equal(top_terms(values, n), everything[:, :n])


def test_relevance_is_the_formula_and_what_is_frequent_everywhere_steps_back():
    phi = np.array([[0.5, 0.3, 0.2, 0.0, 0.0], [0.5, 0.0, 0.1, 0.4, 0.0]])
    share = np.array([0.25, 0.75])
    found = term_relevance(phi, share, 0.4)
    p = share @ phi
    expected = 0.4 * np.log(phi[0, :3]) + 0.6 * np.log(phi[0, :3] / p[:3])
    np.testing.assert_allclose(found[0, :3], expected)
    assert np.isneginf(found[0, 3:]).all() and np.isneginf(found[:, 4]).all()
    assert found[0].argmax() == 1 and phi[0].argmax() == 0
    np.testing.assert_allclose(term_relevance(phi, share, 1)[phi > 0], np.log(phi[phi > 0]))


def test_ngrams_of_one_word_are_joined_and_others_are_not():
    assert joined_terms([]) == []
    hear = ["hear", " hea", "eart", "art ", "ear", " red", "red "]
    assert joined_terms(hear) == [("heart", 0), ("red", 5)]
    assert joined_terms(hear, 1) == [("heart", 0)]
    # Three characters in common are no word: "smile" and "miles" are not "smiles".
    apart = ["smil", "mile", "iles"]
    assert joined_terms(apart) == [("…smiles…", 0)]
    assert joined_terms(apart, known={"smil", "mile"}) == [("…smile…", 0), ("…iles…", 2)]
    assert joined_terms(["ab", "bc"]) == [("…ab…", 0), ("…bc…", 1)], "one character is too little"
    assert joined_terms(["abc", "bcd"]) == [("…abcd…", 0)], "of three, two are enough"


def test_topics_over_ngrams_are_told_as_words():
    names = [" ca", "cat", "at ", " su", "sun", "un "]
    phi = np.kron(np.eye(2), np.full((1, 3), 1 / 3))
    counts = np.kron(np.eye(2), np.ones((2, 3)))
    how = {"x_counts": counts, "relevance": 0.6, "pieces": (True, False)}
    found = describe_topics(phi, phi, names, names, **how)
    assert [t.x_terms for t in found] == [("cat",), ("sun",)]
    assert found[0].y_terms == (" ca", "cat", "at ")
    assert np.isnan(found[0].x_coherence), "one term is no pair"


def test_planted_topics_are_told_side_by_side():
    theta = np.eye(3)[np.r_[np.zeros(30, int), np.ones(20, int), np.full(10, 2)]]
    blocks = np.kron(np.eye(3), np.full((1, 4), 0.25))
    rng = np.random.default_rng(0)
    X, Y = (sp.csr_array(rng.poisson(30 * theta @ blocks).astype(float)) for _ in range(2))
    model = get_method("cplsa")(3, random_state=1).fit(X, Y)
    x_names = [f"{w}{i}" for w in ("cat", "car", "sun") for i in range(4)]
    y_names = [f"{w}{i}" for w in ("gato", "coche", "sol") for i in range(4)]
    found = describe_topics(
        model.x_topics_, model.y_topics_, x_names, y_names,
        n_terms=4, theta=model.transform(X), x_counts=X, y_counts=Y,
    )  # fmt: skip
    shares = [t.share for t in found]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1)
    told = [({t[:3] for t in f.x_terms}, {t.rstrip("0123") for t in f.y_terms}) for f in found]
    assert told == [({"cat"}, {"gato"}), ({"car"}, {"coche"}), ({"sun"}, {"sol"})]
    assert all(f.x_coherence > 0.9 and f.y_coherence > 0.9 for f in found)
    bare = describe_topics(model.x_topics_, model.y_topics_, x_names, y_names)
    assert [t.topic for t in bare] == [0, 1, 2]
    assert np.isnan([bare[0].share, bare[0].x_coherence]).all()
    # Terms of probability 0 are not named.
    phi = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert [t.x_terms for t in describe_topics(phi, phi, "ab", "ab")] == [("a",), ("a", "b")]
    with pytest.raises(ValueError, match="same topics; got 2 for x and 1"):
        describe_topics(phi, phi[:1], "ab", "ab")
    with pytest.raises(ValueError, match="over 2 terms need as many names, got 1"):
        describe_topics(phi, phi, "ab", "a")
