"""A dictionary induced from pairs that belong together."""

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.features.dictionary import InducedDictionary


def some_pairs(n=400, seed=0):
    """Items of 6 of 40 terms; term e becomes term 39 - e, and every y item has a 41st."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 40))
    for row in X:
        np.add.at(row, rng.choice(40, 6), 1)
    Y = np.hstack([X[:, ::-1], np.ones((n, 1))])
    return sp.csr_array(X), sp.csr_array(Y)


def by_the_book(X, Y, T, none, steps):
    """Model 1 term by term."""
    for _ in range(steps):
        counts = np.zeros_like(T)
        for x, y in zip(X, Y, strict=True):
            for f in np.flatnonzero(y):
                explained = x @ T[:, f] + none[f]
                counts[:, f] += y[f] * x * T[:, f] / explained
        T = counts / counts.sum(axis=1, keepdims=True)
    return T


def test_known_translations_are_found():
    X, Y = some_pairs()
    T = InducedDictionary().fit(X, Y).translation_.toarray()
    assert (T[:, :40].argmax(axis=1) == np.arange(39, -1, -1)).all()
    assert (T[:, :40].max(axis=1) > 0.8).all()
    assert (T.sum(axis=1) <= 1 + 1e-12).all()


def test_steps_are_those_of_the_book():
    X, Y = (side[:80] for side in some_pairs())
    settings = {"n_candidates": 41, "min_probability": 0.0}
    start = InducedDictionary(max_iter=0, **settings).fit(X, Y).translation_.toarray()
    none = Y.toarray().sum(axis=0) / Y.sum()
    found = InducedDictionary(max_iter=3, **settings).fit(X, Y).translation_.toarray()
    np.testing.assert_allclose(
        found, by_the_book(X.toarray(), Y.toarray(), start, none, 3), atol=1e-12
    )


def test_likelihood_never_falls():
    losses = InducedDictionary(max_iter=12).fit(*some_pairs()).loss_curve_
    assert len(losses) == 12
    assert (np.diff(losses) <= 1e-12).all()


def test_relevance_says_what_belongs_together():
    X, Y = some_pairs()
    order = np.random.default_rng(1).permutation(X.shape[0])
    relevance = sp.csr_array((np.ones(len(order)), (np.argsort(order), np.arange(len(order)))))
    mixed = InducedDictionary().fit(X[order], Y, relevance).translation_
    straight = InducedDictionary().fit(X, Y).translation_
    np.testing.assert_allclose(mixed.toarray(), straight.toarray(), atol=1e-12)


def test_few_candidates_are_the_best():
    X, Y = some_pairs()
    T = InducedDictionary(n_candidates=1).fit(X, Y).translation_
    assert (np.diff(T.indptr) == 1).all()


def test_unknown_terms_have_no_translation():
    X, Y = some_pairs()
    wide = sp.csr_array(sp.hstack([X, sp.csr_array((X.shape[0], 1))]))
    dictionary = InducedDictionary().fit(wide, Y)
    assert dictionary.translation_[[40]].nnz == 0
    query = sp.csr_array(np.eye(41)[[40, 0]])
    assert dictionary.transform(query).sum(axis=1).round(6).tolist()[0] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X * -1, Y), "never negative"),
        (lambda X, Y: (X, Y[:3]), "Rows are paired one to one"),
        (lambda X, Y: (X, Y, sp.csr_array((400, 400))), "none does here"),
    ],
)
def test_bad_input_is_explained(change, message):
    with pytest.raises(ValueError, match=message):
        InducedDictionary().fit(*change(*some_pairs()))


def test_other_columns_are_refused():
    dictionary = InducedDictionary().fit(*some_pairs())
    with pytest.raises(ValueError, match="knows 40 terms, got 3"):
        dictionary.transform(sp.csr_array(np.eye(3)))
