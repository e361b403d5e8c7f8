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


def test_known_translations_are_found():
    X, Y = some_pairs()
    T = induced_dictionary(X, Y)[0].toarray()
    assert (T[:, :40].argmax(axis=1) == np.arange(39, -1, -1)).all()
    assert (T[:, :40].max(axis=1) > 0.8).all()
    assert (T.sum(axis=1) <= 1 + 1e-12).all()


def test_steps_are_those_of_the_book():
    X, Y = (side[:80] for side in some_pairs())
    settings = {"n_candidates": 41, "min_probability": 0.0}
    start = induced_dictionary(X, Y, max_iter=0, **settings)[0].toarray()
    none = Y.toarray().sum(axis=0) / Y.sum()
    found = induced_dictionary(X, Y, max_iter=3, **settings)[0].toarray()
    np.testing.assert_allclose(
        found, by_the_book(X.toarray(), Y.toarray(), start, none, 3), atol=1e-12
    )


def test_likelihood_never_falls():
    _, losses = induced_dictionary(*some_pairs(), max_iter=12)
    assert len(losses) == 12
    assert (np.diff(losses) <= 1e-12).all()


def test_relevance_says_what_belongs_together():
    X, Y = some_pairs()
    order = np.random.default_rng(1).permutation(X.shape[0])
    relevance = sp.csr_array((np.ones(len(order)), (np.argsort(order), np.arange(len(order)))))
    mixed, _ = induced_dictionary(X[order], Y, relevance)
    straight, _ = induced_dictionary(X, Y)
    np.testing.assert_allclose(mixed.toarray(), straight.toarray(), atol=1e-12)


def test_few_candidates_are_the_best():
    X, Y = some_pairs()
    T, _ = induced_dictionary(X, Y, n_candidates=1)
    assert (np.diff(T.indptr) == 1).all()


def test_unknown_terms_have_no_translation():
    X, Y = some_pairs()
    wide = sp.csr_array(sp.hstack([X, sp.csr_array((X.shape[0], 1))]))
    T, _ = induced_dictionary(wide, Y)
    assert T[[40]].nnz == 0 < T[[0]].nnz


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X, Y[:3]), "Rows are paired one to one"),
        (lambda X, Y: (X, Y, sp.csr_array((400, 400))), "none does here"),
    ],
)
def test_bad_input_is_explained(change, message):
    with pytest.raises(ValueError, match=message):
        induced_dictionary(*change(*some_pairs()))


def test_other_columns_are_refused():
    X, Y = some_pairs()
    model = TranslatedTfidf().fit(X, Y)
    with pytest.raises(ValueError, match="40"):
        model.similarity(sp.csr_array(np.eye(3)), Y)
