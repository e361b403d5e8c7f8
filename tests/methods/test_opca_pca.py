"""OPCA against the dense pencil, its kinship with CCA, and PCA against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.base import clone

from simviz.methods import _linalg, _spectral
from simviz.methods._training import held_out_values, hold_out_parts, initial_model, mean_score
from simviz.methods.cca import RidgeCCA
from simviz.methods.opca import OPCA
from simviz.methods.pca import PCA
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance

N, D, K = 120, 15, 6


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((N, 5))
    X, Y = (Z @ rng.standard_normal((5, D)) + rng.standard_normal((N, D)) for _ in range(2))
    return X + 1, Y - 0.5


def pencil(X, Y, regularization, *, shared, noise="centered", signal="mean"):
    """Eigenvalues and vectors of the generalised problem, as the paper states it."""
    if not shared:
        X, Y = np.hstack([X, 0 * Y]), np.hstack([0 * X, Y])
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    S = (Xc + Yc).T @ (Xc + Yc) / (4 * N)
    C = (Xc - Yc).T @ (Xc - Yc) / (4 * N)
    gamma = regularization * np.trace(C) / len(C) * np.eye(len(C))
    if noise == "raw":
        C = (X - Y).T @ (X - Y) / (4 * N)
    if signal == "cross":
        S = S + gamma
    values, V = scipy.linalg.eigh(S, C + gamma)
    return values[::-1][:K], V[:, ::-1][:, :K], C + gamma


def stacked_directions(model):
    if model.shared:
        assert model.x_projection_ is model.y_projection_
        return model.x_projection_
    return np.vstack([model.x_projection_, model.y_projection_])


@pytest.mark.parametrize("route", ["directions", "factor"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    ("noise", "signal"), [("centered", "mean"), ("raw", "mean"), ("centered", "cross")]
)
def test_opca_solves_the_dense_pencil(route, shared, noise, signal, sides, monkeypatch):
    if route == "factor":
        monkeypatch.setattr(_spectral, "FEW", 0)
    values, V, noise_matrix = pencil(*sides, 0.7, shared=shared, noise=noise, signal=signal)
    model = OPCA(K, regularization=0.7, shared=shared, noise=noise, signal=signal).fit(*sides)
    np.testing.assert_allclose(model.spectrum_, values, rtol=1e-9)
    A = stacked_directions(model)
    np.testing.assert_allclose(A.T @ noise_matrix @ A, np.eye(K), atol=1e-9)
    np.testing.assert_allclose(np.abs(V.T @ noise_matrix @ A), np.eye(K), atol=1e-8)


@pytest.mark.parametrize("shared", [True, False])
def test_opca_by_block_lanczos_is_opca_by_lapack(shared, sides, monkeypatch):
    exact = OPCA(K, shared=shared).fit(*sides)
    monkeypatch.setattr(_spectral, "FEW", 0)
    monkeypatch.setattr(_linalg, "GRAM_SIDE", 0)
    monkeypatch.setattr(_linalg, "LARGEST_GRAM", 0)
    iterated = OPCA(K, shared=shared).fit(*sides)
    np.testing.assert_allclose(iterated.spectrum_, exact.spectrum_, rtol=1e-6)
    np.testing.assert_allclose(iterated.similarity(*sides), exact.similarity(*sides), atol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("model", [OPCA(4), OPCA(4, noise="raw"), RidgeCCA(4)])
def test_fewer_items_than_features_are_factored_by_items(kind, shared, model, sides, monkeypatch):
    X, Y = (np.hstack([Z[:12], Z[12:24]]) for Z in sides)
    X[4], X[5], Y[4] = X[3], 0, Y[3]  # a copy and an empty row
    X, Y = kind(X), kind(Y)
    model = clone(model).set_params(shared=shared)
    spectral = clone(model).fit(X, Y)
    monkeypatch.setattr(_spectral, "FEW", 0)
    by_factor = clone(model).fit(X, Y)
    np.testing.assert_allclose(by_factor.spectrum_, spectral.spectrum_, rtol=1e-6)
    np.testing.assert_allclose(by_factor.similarity(X, Y), spectral.similarity(X, Y), atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_without_ridge_features_that_never_occur_need_no_factor(shared, sides, monkeypatch):
    monkeypatch.setattr(_spectral, "FEW", 0)
    X, Y = (np.hstack([Z, np.zeros((N, 2)), Z[:, :1]]) for Z in sides)
    cca = RidgeCCA(4, regularization=0, shared=shared).fit(X, Y)
    bare = RidgeCCA(4, regularization=0, shared=shared).fit(*sides)
    np.testing.assert_allclose(cca.spectrum_, bare.spectrum_, rtol=1e-6)
    assert np.isfinite(cca.similarity(X, Y)).all()


def test_opca_without_ridge_on_separate_vocabularies_is_cca(sides):
    opca = OPCA(4, regularization=0).fit(*sides)
    cca = RidgeCCA(4, regularization=0, correlation_power=0).fit(*sides)
    rho = cca.spectrum_
    np.testing.assert_allclose(opca.spectrum_, (1 + rho) / (1 - rho), rtol=1e-9)
    A, B = (one.x_projection_ / np.linalg.norm(one.x_projection_, axis=0) for one in (opca, cca))
    np.testing.assert_allclose(np.abs(np.sum(A * B, axis=0)), 1, atol=1e-9)


def test_noise_that_is_nowhere_is_an_error_only_without_ridge(sides):
    X, Y = (Z[:10] for Z in sides)
    with pytest.raises(ValueError, match="regularization > 0"):
        OPCA(3, regularization=0).fit(X, Y)
    assert np.isfinite(OPCA(3).fit(X, Y).similarity(X, Y)).all()


@pytest.mark.parametrize("model", [RidgeCCA(2, shared=True), OPCA(2, shared=True, signal="cross")])
def test_pairs_that_oppose_each_other_everywhere_are_told(model, sides):
    with pytest.raises(ValueError, match="no direction on which relevant pairs agree"):
        model.fit(sides[0], -sides[0])


def test_pairs_of_equal_items_and_constant_columns_are_no_obstacle(sides):
    X = np.hstack([sides[0], np.ones((N, 1))])
    model = OPCA(3, shared=True).fit(X, X.copy())
    assert (model.similarity(X, X).argmax(axis=1) == np.arange(N)).mean() > 0.5
    with pytest.raises(ValueError, match="constant"):
        OPCA(3).fit(np.ones((5, 3)), sides[1][:5])


@pytest.mark.parametrize("sparse", [False, True])
def test_pca_is_scikit_learns(sparse, sides):
    X = sides[0]
    ours = PCA(K, center_at_transform=True).fit(sp.csr_array(X) if sparse else X)
    peer = decomposition.PCA(K).fit(X)
    np.testing.assert_allclose(ours.spectrum_, np.sqrt(peer.explained_variance_), rtol=1e-8)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(peer.transform(X)), atol=1e-8)


def test_pca_keeps_the_mean_unless_asked(sides):
    X = sides[0]
    plain, centred = (PCA(K, center_at_transform=asked).fit(X) for asked in (False, True))
    away = plain.transform(X) - plain.transform(X.mean(axis=0)[None])
    np.testing.assert_allclose(away, centred.transform(X), atol=1e-10)


def test_opca_chooses_its_ridge_on_dense_features_alone(sides):
    data = (*sides, Relevance.identity(N))
    chosen = OPCA(K).fit(*sides)
    held = hold_out_parts(chosen, data, None, np.random.RandomState(0))
    scores = {}
    for value in OPCA.ridges:
        model = OPCA(K, regularization=value).fit(*held.data)
        scores[value] = mean_score(held_out_values(model, held.parts, ("x2y", "y2x")))
    assert scores[chosen.regularization_] == max(scores.values()) > min(scores.values())
    given = OPCA(K, regularization=chosen.regularization_).fit(*sides)
    np.testing.assert_array_equal(given.x_projection_, chosen.x_projection_)
    assert OPCA(K).fit(*map(sp.csr_array, sides)).regularization_ == 0.1
    # S2Net starts from what was chosen.
    start, _ = initial_model(S2Net(K), data, shared=False)
    assert start.regularization_ == chosen.regularization_
