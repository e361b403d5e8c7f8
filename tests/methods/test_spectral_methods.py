"""The spectral methods against brute force and against other implementations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cross_decomposition import PLSSVD
from sklearn.decomposition import TruncatedSVD

from simviz.base import unit_rows
from simviz.methods import _spectral, heterogeneous_svd
from simviz.methods.cca import RidgeCCA
from simviz.methods.cl_lsi import CLLSI
from simviz.methods.heterogeneous_svd import HeterogeneousSVD, signed_weights
from simviz.methods.lsa import LSA
from simviz.methods.opca import OPCA
from simviz.methods.pca import PCA
from simviz.relevance import Relevance

ITERATIVE = "_linalg.DENSE_FLOPS", "_linalg.GRAM_SIDE"
CAPPED = pytest.mark.filterwarnings("ignore:.*is more than the data can give:UserWarning")


@pytest.fixture
def several():
    """Unequal sides with graded relevance."""
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((12, 6)), rng.standard_normal((9, 5))
    rows, columns = rng.integers(0, 12, 25), rng.integers(0, 9, 25)
    return X, Y, rows, columns, rng.integers(1, 4, 25)


def same_directions(A, B):
    return np.abs(np.sum(unit_rows(A.T) * unit_rows(B.T), axis=1))


def test_lsa_is_truncated_svd(sides):
    X = sp.csr_array(np.maximum(sides[0], 0))
    ours = LSA(4).fit(X)
    peer = TruncatedSVD(4, algorithm="arpack", random_state=0).fit(sp.vstack([X]))
    assert_allclose(ours.spectrum_, peer.singular_values_, rtol=1e-8)
    assert_allclose(same_directions(ours.x_projection_, peer.components_.T), 1, atol=1e-8)


def test_lsa_folding_in_divides_by_singular_values(sides):
    plain, folded = LSA(3).fit(sides[0]), LSA(3, sigma_power=1.0).fit(sides[0])
    assert_allclose(folded.x_projection_ * folded.spectrum_, plain.x_projection_)


@pytest.mark.parametrize("shared", [False, True])
def test_cl_lsi_is_truncated_svd_of_the_concatenation_or_of_merged_documents(shared, sides):
    X, Y = (sides[0], sides[0][::-1]) if shared else sides
    ours = CLLSI(4, shared=shared).fit(X, Y)
    A = ours.x_projection_ if shared else np.vstack([ours.x_projection_, ours.y_projection_])
    peer = TruncatedSVD(4, algorithm="arpack", random_state=0)
    peer.fit(X + Y if shared else np.hstack([X, Y]))
    assert_allclose(ours.spectrum_, peer.singular_values_, rtol=1e-8)
    assert_allclose(same_directions(A, peer.components_.T), 1, atol=1e-8)
    assert (ours.x_projection_ is ours.y_projection_) == shared


@pytest.mark.parametrize("method", [CLLSI, RidgeCCA, OPCA])
@pytest.mark.parametrize("shared", [False, True])
def test_relevance_weighs_pairs_as_copied_rows_would(method, shared, several):
    X, Y, rows, columns, grades = several
    Y = np.hstack([Y, Y[:, :1] ** 2])
    R = Relevance.from_pairs(rows, columns, grades, shape=(12, 9))
    found = R.positives.tocoo()
    copies = np.repeat(np.arange(found.nnz), found.data.astype(int))
    through = method(3, shared=shared).fit(X, Y, R)
    copied = method(3, shared=shared).fit(X[found.row[copies]], Y[found.col[copies]])
    assert_allclose(through.similarity(X, Y), copied.similarity(X, Y), atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("few", [0, _spectral.FEW])
def test_cca_solves_the_ridge_eigenproblem(ridge, few, sides, monkeypatch):
    monkeypatch.setattr(_spectral, "FEW", few)  # by a factor, or by principal directions
    ours = RidgeCCA(3, regularization=ridge, correlation_power=0).fit(*sides)
    X, Y = (Z - Z.mean(axis=0) for Z in sides)
    n = len(X)
    Cx, Cy, Cxy = X.T @ X / n, Y.T @ Y / n, X.T @ Y / n
    Cx += ridge * np.trace(Cx) / 9 * np.eye(9)
    Cy += ridge * np.trace(Cy) / 7 * np.eye(7)
    roots = scipy.linalg.eigvals(np.linalg.solve(Cx, Cxy @ np.linalg.solve(Cy, Cxy.T)))
    expected = np.sqrt(np.sort(roots.real)[::-1][:3])
    assert_allclose(ours.spectrum_, expected, atol=1e-10)
    A, B = ours.x_projection_, ours.y_projection_
    assert_allclose(A.T @ Cx @ A, np.eye(3), atol=1e-8)
    assert_allclose(A.T @ Cxy @ B, np.diag(expected), atol=1e-8)
    assert_allclose(ours.similarity(*sides), unit_rows(X @ A) @ unit_rows(Y @ B).T, atol=1e-8)


def test_cca_shared_is_every_pair_in_both_orders(sides):
    X = sides[0]
    Y = X + 0.5 * np.random.default_rng(5).standard_normal(X.shape) + 2
    shared = RidgeCCA(2, shared=True).fit(X, Y)
    # Each side is centred about its own mean before it is taken in both orders.
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    both = RidgeCCA(2).fit(np.vstack([Xc, Yc]), np.vstack([Yc, Xc]))
    assert_allclose(shared.spectrum_, both.spectrum_, atol=1e-8)
    assert_allclose(shared.similarity(X, Y), both.similarity(Xc, Yc), atol=1e-7)


def grouped(seed=0):
    """Items of both sides in five groups, of which all members belong together."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((50, 120)) + 1, rng.standard_normal((40, 120)) - 2
    Y[:20] = X[:20]  # items of one side that stand on the other, too
    x, y = np.arange(50) % 5, np.arange(40) % 5
    row, column = np.nonzero(x[:, None] == y)
    return X, Y, Relevance.from_pairs(row, column, 1.0 + x[row] % 2, shape=(50, 40))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shared", [False, True])
def test_cca_of_few_kinds_of_partners_finds_the_same(shared, kind, monkeypatch):
    X, Y, relevance = grouped()
    sides = kind(X), kind(Y)
    model = RidgeCCA(4, shared=shared, regularization=0.7)
    every = clone(model).fit(*sides, relevance)
    used = []
    linked = _spectral.LinkedWhitening.forward
    monkeypatch.setattr(_spectral, "FEW", 12)
    monkeypatch.setattr(
        _spectral.LinkedWhitening, "forward", lambda w, B: used.append(w) or linked(w, B)
    )
    few = clone(model).fit(*sides, relevance)
    assert used and used[0].rank <= (8 if shared else 4)
    assert_allclose(few.spectrum_, every.spectrum_, atol=1e-10)
    assert_allclose(few.similarity(X, Y), every.similarity(X, Y), atol=1e-8)


@pytest.mark.parametrize("method", [RidgeCCA, OPCA])
def test_a_regularization_path_is_what_single_fits_give(method, sides):
    X, Y = sides
    model = method(3).set_callbacks(lambda *_: False)
    values = [0.01, 0.5, 3.0]
    path = list(model.regularization_path(X, Y, values=values))
    for value, found in zip(values, path, strict=True):
        alone = method(3, regularization=value).fit(X, Y)
        assert found.get_params() == alone.get_params()
        assert found.n_features_in_ == 9
        assert_allclose(found.spectrum_, alone.spectrum_, rtol=1e-9)
        assert_allclose(found.similarity(X, Y), alone.similarity(X, Y), atol=1e-9)
    assert not hasattr(model, "spectrum_")
    with pytest.raises(ValueError, match="regularization"):
        next(model.regularization_path(X, Y, values=[-1.0]))


@pytest.mark.parametrize("weight", ["balanced", "paper", "per_x", "per_y", 0.25])
@pytest.mark.parametrize("unjudged", ["negative", "ignore", "negative, some judged"])
def test_heterogeneous_svd_is_the_svd_of_the_signed_sum(weight, unjudged, several):
    X, Y, rows, columns, grades = several
    values = grades if unjudged == "negative" else np.where(grades == 1, -1.5, grades)
    unjudged = unjudged.partition(",")[0]
    relevance = Relevance.from_pairs(rows, columns, values, shape=(12, 9), unjudged=unjudged)
    R = brute_force_weights(relevance, weight)
    P, a, b = signed_weights(relevance, weight)
    assert_allclose(P.toarray() - np.outer(a, b), R, atol=1e-12)
    M = sum(R[i, j] * np.outer(Y[j], X[i]) for i in range(12) for j in range(9))
    U, s, Vt = np.linalg.svd(M)
    ours = HeterogeneousSVD(4, negative_weight=weight, measure="dot").fit(X, Y, relevance)
    assert_allclose(ours.spectrum_, s[:4], atol=1e-6)
    assert_allclose(ours.similarity(X, Y), X @ Vt[:4].T @ U[:, :4].T @ Y.T, atol=1e-6)


@pytest.mark.parametrize("weight", ["balanced", "paper", "per_x", "per_y", 0.25])
def test_items_that_are_judged_alike_are_added_up(weight):
    X, Y, relevance = grouped()
    M = Y.T @ brute_force_weights(relevance, weight).T @ X
    s = np.linalg.svd(M, compute_uv=False)
    ours = HeterogeneousSVD(3, negative_weight=weight).fit(X, Y, relevance)
    assert_allclose(ours.spectrum_, s[:3], rtol=1e-9)
    P, a, _ = signed_weights(relevance, weight)
    P, a, summed = heterogeneous_svd._summed(P, a, X)
    assert (P.shape, a.shape, summed.shape) == ((5, 40), (5,), (5, 120))


@pytest.mark.parametrize("weight", ["balanced", "paper", "per_x", "per_y"])
@pytest.mark.parametrize("few", [0, 3_000])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_one_map_holds_eigenvectors_of_the_symmetric_part(weight, few, kind, monkeypatch):
    monkeypatch.setattr("simviz.methods.heterogeneous_svd.FEW_ITEMS", few)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 12, 20))
    R = Relevance.from_pairs(
        [*range(12), 0, 3], [*range(12), 4, 7], [1] * 12 + [2, 3], shape=(12, 12)
    )
    signed = brute_force_weights(R, weight)
    M = Y.T @ signed.T @ X
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    L = vectors[:, ::-1][:, :4]
    ours = HeterogeneousSVD(4, negative_weight=weight, shared=True, measure="dot")
    ours.fit(kind(X), kind(Y), R)
    assert_allclose(ours.spectrum_, values[::-1][:4], rtol=1e-6)
    assert_array_equal(ours.x_projection_, ours.y_projection_)
    assert_allclose(ours.similarity(X, Y), X @ L @ L.T @ Y.T, atol=1e-6)


def test_one_map_of_sides_that_oppose_each_other_is_refused():
    X = np.random.default_rng(0).standard_normal((30, 4))
    with pytest.raises(ValueError, match="no direction on which relevant pairs agree"):
        HeterogeneousSVD(2, shared=True).fit(X, -X)
    assert HeterogeneousSVD(2).fit(X, -X).spectrum_[0] > 0


def brute_force_weights(relevance, weight):
    """R of M = Yᵀ Rᵀ X, entry by entry."""
    D = relevance.matrix.toarray()
    positive, rejected = np.maximum(D, 0), np.maximum(-D, 0)
    if relevance.unjudged == "ignore":
        signed, negative = positive, rejected
    else:
        signed, negative = positive - rejected, (D <= 0).astype(float)
        negative[(rejected.any(axis=1)) & ~positive.any(axis=1)] = 0
    if weight == "balanced":
        return signed / positive.sum() - negative / negative.sum()
    if weight in ("per_x", "per_y"):
        axis = 1 if weight == "per_x" else 0
        mass, others = (m.sum(axis=axis, keepdims=True) for m in (positive, negative))
        own = np.where(mass > 0, mass, rejected.sum(axis=axis, keepdims=True))
        rows = np.divide(signed, own, out=np.zeros_like(positive), where=own > 0)
        if relevance.unjudged == "negative":
            negative = negative * (mass > 0)
            others = np.where(mass > 0, others, 0)
        return rows - np.divide(negative, others, out=np.zeros_like(negative), where=others > 0)
    return signed - (1.0 if weight == "paper" else weight) * negative


def test_balanced_weights_are_those_of_pls_svd(sides):
    ours, peer = HeterogeneousSVD(3).fit(*sides), PLSSVD(3, scale=False).fit(*sides)
    assert_allclose(same_directions(ours.x_projection_, peer.x_weights_), 1, atol=1e-8)


@pytest.mark.parametrize("method", [CLLSI, RidgeCCA, OPCA, HeterogeneousSVD])
def test_nothing_relevant_is_an_error(method, sides):
    X, Y = sides
    nothing = Relevance.from_pairs([0], [0], [-1], shape=(60, 60))
    with pytest.raises(ValueError, match="relevant pair"):
        method(2).fit(X, Y, nothing)


@pytest.mark.parametrize("method", [RidgeCCA, OPCA])
def test_one_pair_cannot_correlate(method, sides):
    with pytest.raises(ValueError, match="at least 2 different pairs"):
        method(1).fit(sides[0][:1], sides[1][:1])


@CAPPED
def test_iterative_route_is_close_to_the_exact_one(monkeypatch):
    rng = np.random.default_rng(4)
    X, Y = (sp.random_array((300, d), density=0.05, rng=rng, format="csr") for d in (200, 150))
    exact = {m: m(10).fit(X, Y).spectrum_ for m in (CLLSI, HeterogeneousSVD)}
    for limit in ITERATIVE:
        monkeypatch.setattr(f"simviz.methods.{limit}", 0)
    for method, spectrum in exact.items():
        assert_allclose(method(10).fit(X, Y).spectrum_, spectrum, rtol=1e-3)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("method", [LSA, PCA, CLLSI, RidgeCCA, OPCA, HeterogeneousSVD])
def test_a_fit_that_is_ended_is_a_smaller_valid_model(method, shared, monkeypatch):
    for limit in (*ITERATIVE, "_linalg.LARGEST_GRAM", "_spectral.FEW"):
        monkeypatch.setattr(f"simviz.methods.{limit}", 0)
    rng = np.random.default_rng(4)
    X, Y = (sp.random_array((400, 350), density=0.05, rng=rng, format="csr") for _ in "xy")
    heard = []
    model = method(60) if method.tags.space != "either" else method(60, shared=shared)
    model.set_callbacks(lambda *step: heard.append(step) or True).fit(X, Y)
    assert heard
    assert 1 <= model.n_components_ < 60
    assert np.isfinite(model.similarity(X[:9], Y[:9])).all()
    assert model.truncate(1).transform(X[:9]).shape == (9, 1)


@pytest.mark.parametrize("method", [CLLSI, RidgeCCA, OPCA, HeterogeneousSVD])
@CAPPED
def test_many_items_without_any_feature_are_no_obstacle(method):
    """Equal eigenvalues by the hundred make some LAPACK solvers give up."""
    rng = np.random.default_rng(6)
    X, Y = (rng.random((500, 700)) * (rng.random((500, 700)) < 0.01) for _ in range(2))
    X[:300], Y[100:400] = 0, 0
    X[300:350] = X[300]
    model = method(100).fit(sp.csr_array(X), sp.csr_array(Y))
    assert np.isfinite(model.similarity(X[400:], Y[400:])).all()


def test_cl_lsi_keeps_fewer_than_all_directions(sides):
    """All of them leave either side to itself: nothing but rounding lies between the two."""
    X, Y = sides
    twice = np.hstack([X, X[:, :3]])  # fewer directions than features
    for A in (X, twice):
        with pytest.warns(UserWarning, match="n_components=16 .* 15 are kept"):
            model = CLLSI(16).fit(A, Y)
        assert np.abs(model.x_projection_ @ model.y_projection_.T).max() > 1e-3
    assert CLLSI(9, shared=True).fit(X, X).n_components_ == 9  # the cosine of the words
    apart = CLLSI(2).fit(np.eye(2)[:, :1], np.eye(2)[:, 1:])  # pairs that have nothing to tell
    assert apart.n_components_ == 2


def test_lsa_of_zeros_is_zero():
    with pytest.warns(UserWarning, match="1 are kept"):
        model = LSA(2, sigma_power=1).fit(np.zeros((4, 3)))
    assert_array_equal(model.similarity(np.zeros((4, 3))), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_beyond_single_precision(dtype, monkeypatch):
    """The iterative route squares products of products."""
    for limit in (*ITERATIVE, "_linalg.LARGEST_GRAM"):
        monkeypatch.setattr(f"simviz.methods.{limit}", 0)
    X = np.random.default_rng(0).standard_normal((40, 20)).astype(dtype)
    X[:, 5] = 0  # such a column has no direction either
    expected = LSA(3).fit(X).spectrum_
    for scale in (1e-12, 1e12):
        assert_allclose(LSA(3).fit(scale * X).spectrum_, scale * expected, rtol=1e-4)


def test_nobody_is_warned_of_a_default(recwarn):
    X = np.random.default_rng(0).standard_normal((40, 5))
    assert RidgeCCA().fit(X, X + 0.1).n_components_ == 5
    assert not recwarn
    with pytest.warns(UserWarning, match="n_components=7 is more"):
        RidgeCCA(7).fit(X, X + 0.1)
