"""Maps between vectors of one space: ridge towards the identity, and orthogonal Procrustes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from simviz.base import unit_rows
from simviz.methods.cosine import Cosine
from simviz.methods.procrustes import Procrustes
from simviz.methods.ridge_identity import RidgeIdentity
from simviz.relevance import Relevance

N, D = 200, 12


@pytest.fixture(scope="module")
def sides():
    """Unit rows; y is x turned a little, with noise."""
    rng = np.random.default_rng(0)
    X = unit_rows(rng.standard_normal((N, D)))
    turn = scipy.linalg.expm(0.3 * (A := rng.standard_normal((D, D))) - 0.3 * A.T)
    return X, unit_rows(X @ turn + 0.1 * rng.standard_normal((N, D)))


def least_squares(X, Y, ridge):
    """min ‖XW − Y‖² + λ‖W − I‖², as one regression with λ more rows a dimension."""
    d = X.shape[1]
    more = np.sqrt(ridge) * np.eye(d)
    return np.linalg.lstsq(np.vstack([X, more]), np.vstack([Y, more]), rcond=None)[0]


@pytest.mark.parametrize("value", [0.01, 1.0, 100.0])
def test_ridge_is_the_regression_with_the_identity_as_further_rows(sides, value):
    X, Y = sides
    # Pairs weigh 1/N, and unit rows have a mean variance of 1/d.
    W, V = (least_squares(*pair, value * N / D) for pair in ((X, Y), (Y, X)))
    for mapped, product in (("x", W), ("y", V.T), ("both", (W + V.T) / 2)):
        model = RidgeIdentity(mapped, regularization=value).fit(3 * X, Y)
        found = model.x_projection_ @ model.y_projection_.T
        np.testing.assert_allclose(found, product, atol=1e-10)


def test_neither_side_is_preferred_where_both_are_mapped(sides):
    X, Y = sides
    forth, back = (RidgeIdentity(regularization=0.1).fit(*pair) for pair in (sides, sides[::-1]))
    np.testing.assert_allclose(forth.similarity(X, Y), back.similarity(Y, X).T, atol=1e-10)


def test_grades_weigh_pairs_as_copies_would(sides):
    X, Y = (side[:30] for side in sides)
    relevance = Relevance(sp.diags_array(np.repeat([2.0, 1.0], 15)).tocsr(), unjudged="negative")
    copied = [np.vstack([side, side[:15]]) for side in (X, Y)]
    for model in (RidgeIdentity(regularization=0.1), Procrustes()):
        found = model.fit(X, Y, relevance).similarity(X, Y)
        np.testing.assert_allclose(found, model.fit(*copied).similarity(X, Y), atol=1e-10)


def test_lambda_is_chosen_by_what_is_held_out(sides):
    X, Y = sides
    assert RidgeIdentity().fit(X, Y).regularization_ < 1
    # Nothing is to be learned: of values that do equally well the largest is kept.
    assert RidgeIdentity().fit(X, X).regularization_ == 1_000
    few = RidgeIdentity().fit(X[:50], Y[:50])
    assert few.regularization_ == 1.0  # a fifth of them could not tell


def test_ridge_is_far_ahead_of_the_vectors_on_what_is_turned_and_level_on_what_is_not(sides):
    X, Y = sides
    noisy = unit_rows(X + 0.15 * np.random.default_rng(2).standard_normal(X.shape))
    (turned, before), (kept, plain) = (
        [m.fit(X[:120], Z[:120]).score(X[120:], Z[120:]) for m in (RidgeIdentity(), Cosine())]
        for Z in (Y, noisy)
    )
    assert turned > 2 * before and kept > plain - 0.02


def test_procrustes_is_scipys(sides):
    X, Y = sides
    W, _ = scipy.linalg.orthogonal_procrustes(X, Y)
    model = Procrustes().fit(X, Y)
    np.testing.assert_allclose(model.x_projection_ @ model.y_projection_.T, W, atol=1e-4)
    np.testing.assert_allclose(model.similarity(X, Y), X @ W @ Y.T, atol=1e-4)


def test_procrustes_leaves_alone_what_no_pair_speaks_of():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    model = Procrustes().fit(basis[:4], basis[[1, 0, 2, 3]])
    exchanged = basis[[1, 0, *range(2, D)]]
    W = model.x_projection_ @ model.y_projection_.T
    np.testing.assert_allclose(W, basis.T @ exchanged, atol=1e-4)


@pytest.mark.parametrize("cls", [RidgeIdentity, Procrustes])
def test_sparse_rows_teach_the_same_and_wide_ones_are_refused(cls, sides, monkeypatch):
    X, Y = sides
    dense = cls().fit(X, Y)
    sparse = cls().fit(sp.csr_array(X), sp.csr_array(Y))
    np.testing.assert_allclose(sparse.x_projection_, dense.x_projection_, atol=1e-8)
    wide = sp.random_array((30, 5_000), density=0.01, format="csr", rng=0)
    with pytest.raises(ValueError, match="at most 4,096 features"):
        cls().fit(wide, wide)
