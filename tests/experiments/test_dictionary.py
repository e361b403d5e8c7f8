"""A dictionary induced from pairs that belong together."""

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.experiments.ssi_languages import TranslatedTfidf, induced_dictionary


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


def test_known_translations_are_found_and_likelihood_never_falls():
    X, Y = some_pairs()
    unknown = sp.csr_array((X.shape[0], 1))  # a term that no item has
    T, losses = induced_dictionary(sp.csr_array(sp.hstack([X, unknown])), Y, max_iter=12)
    T = T.toarray()
    assert (T[:40, :40].argmax(axis=1) == np.arange(39, -1, -1)).all()
    assert (T[:40, :40].max(axis=1) > 0.8).all()
    assert (T.sum(axis=1) <= 1 + 1e-12).all() and not T[40].any()
    assert len(losses) == 12 and (np.diff(losses) <= 1e-12).all()
    few, _ = induced_dictionary(X, Y, n_candidates=1)
    assert (np.diff(few.indptr) == 1).all()


def test_steps_are_those_of_the_book_whatever_the_order_of_pairs():
    X, Y = (side[:80] for side in some_pairs())
    order = np.random.default_rng(1).permutation(80)
    relevance = sp.csr_array((np.ones(80), (np.argsort(order), np.arange(80))))
    settings = {"n_candidates": 41, "min_probability": 0.0}
    start = induced_dictionary(X, Y, max_iter=0, **settings)[0].toarray()
    none = Y.toarray().sum(axis=0) / Y.sum()
    found = induced_dictionary(X[order], Y, relevance, max_iter=3, **settings)[0].toarray()
    expected = by_the_book(X.toarray(), Y.toarray(), start, none, 3)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_pairs_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="none does here"):
        induced_dictionary(*some_pairs(), sp.csr_array((400, 400)))


def test_sides_of_other_sizes_are_refused():
    X, Y = some_pairs()
    with pytest.raises(ValueError, match="Rows are paired one to one"):
        induced_dictionary(X, Y[:3])
    with pytest.raises(ValueError, match="40"):
        TranslatedTfidf().fit(X, Y).similarity(sp.csr_array(np.eye(3)), Y)
