"""Kernel methods against closed forms, brute force, and the linear methods."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import pairwise_kernels

from simviz.exceptions import StoreError
from simviz.methods._kernels import (
    Kernel,
    default_gamma,
    kernel_features,
    pivoted_cholesky,
    singular_triplets,
)
from simviz.methods.cca import RidgeCCA
from simviz.methods.heterogeneous_svd import HeterogeneousSVD
from simviz.methods.kernel_cca import KernelCCA
from simviz.methods.kernel_heterogeneous_svd import KernelHeterogeneousSVD
from simviz.persistence import load_state, save_state
from simviz.relevance import Relevance

RBF = {"x_kernel": "rbf", "y_kernel": "rbf"}
METHODS = [
    pytest.param(partial(KernelHeterogeneousSVD, **RBF), id="KernelHeterogeneousSVD"),
    KernelCCA,
]
CAPPED = pytest.mark.filterwarnings("ignore:.*is more than the data can give:UserWarning")
LINEAR = {"x_kernel": "linear", "y_kernel": "linear"}


def quiet(step, total):
    return False


def features(kernel, X, *, means=None, max_landmarks=2_000):
    rng = np.random.RandomState(0)
    return kernel_features(
        kernel, X, means=means, max_landmarks=max_landmarks, rng=rng, notify=quiet
    )


def psd_power(K, power):
    values, U = np.linalg.eigh(K)
    keep = values > 1e-10 * values[-1]
    return (U[:, keep] * values[keep] ** power) @ U[:, keep].T


@pytest.fixture
def repeated():
    """80 pairs of 12 different queries with 17 different documents."""
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((12, 30)), rng.standard_normal((17, 25))
    X, Y = X[np.arange(80) % 12], Y[np.arange(80) % 17]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    r = np.where(rng.random(80) < 0.5, 1.0, -1.0)
    relevance = Relevance(sp.csr_array(sp.diags_array(r)), unjudged="ignore")
    return X, Y, r, relevance


# --- Kernels -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "cosine", "rbf", "polynomial", "chi2"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_kernels_are_scikit_learns(name, kind, monkeypatch):
    rng = np.random.default_rng(3)
    A, B = (np.where(rng.random((n, 8)) < 0.5, rng.random((n, 8)), 0) for n in (40, 30))
    A[0], B[0] = 0.1, 0.2
    settings = {"gamma": 0.7} if name in ("rbf", "chi2", "polynomial") else {}
    if name == "polynomial":
        settings |= {"degree": 2, "coef0": 0.5}
    monkeypatch.setattr("simviz.methods._kernels.BLOCK_ENTRIES", 1)  # blocks of 16 rows
    kernel = Kernel(name, **settings)
    K = kernel.against(kind(A), kind(B))
    expected = pairwise_kernels(A, B, metric=name, **settings)
    known = (A != 0).any(axis=1)
    assert_allclose(K, expected * known[:, None], atol=1e-12)
    expected = pairwise_kernels(A, A, metric=name, **settings).diagonal()
    assert_allclose(kernel.diagonal(kind(A)), expected * known, atol=1e-12)
    # Landmarks decide on the kind; later items may come as either.
    assert_allclose(kernel.against(A, kind(B)), K, atol=1e-12)
    assert_allclose(kernel.against(sp.csr_array(A), kind(B)), K, atol=1e-12)


def test_rbf_does_not_mind_where_the_origin_is():
    A = np.random.default_rng(4).standard_normal((20, 3))
    near, far = (Kernel("rbf", 0.5).against(A + shift, A + shift) for shift in (0.0, 1e6))
    assert_allclose(far, near, atol=1e-7)


def test_default_gamma_looks_at_neighbours_and_at_all():
    # Eight corners of a cube: the nearest at 1, all at 1, 2 and 3 (median 2 > 4 · 1 is not so).
    cube = np.array(np.meshgrid([1, 2], [1, 2], [1, 2])).reshape(3, -1).T.astype(float)
    assert default_gamma("rbf", cube) == 1.0
    assert default_gamma("rbf", np.vstack([cube, cube, 0 * cube])) == 1.0
    # Many points of a line: neighbours are as near as one likes, the median distance decides.
    line = np.linspace(1, 2, 301)[:, None]
    distances = (line - line.T)[~np.eye(301, dtype=bool)] ** 2
    assert default_gamma("rbf", line) == pytest.approx(4 / np.median(distances))
    assert default_gamma("polynomial", 3 * np.eye(4)) == pytest.approx(1 / 9)
    assert default_gamma("linear", cube) is None
    assert default_gamma("rbf", np.ones((5, 2))) == 1.0
    assert default_gamma("polynomial", np.zeros((5, 2))) == 1.0
    for kernel in ("polynomial", "rbf", "chi2"):  # squares below the smallest number
        assert np.isfinite(default_gamma(kernel, 1e-300 * cube))
    assert_allclose(default_gamma("chi2", sp.csr_array(cube)), default_gamma("chi2", cube))


# --- Features ----------------------------------------------------------------------------


def test_few_landmarks_come_near_the_best_approximation():
    X = np.random.default_rng(5).standard_normal((400, 3))
    kernel = Kernel("rbf", 0.2)
    K = kernel.against(X, X)
    F, index = pivoted_cholesky(kernel, X, 60, np.random.RandomState(0), quiet)
    assert len(index) == 60
    assert_allclose((F @ F.T)[index], K[index], atol=1e-8)  # exact at landmarks
    best = np.linalg.eigvalsh(K)[: 400 - 60].sum()
    left = np.trace(K - F @ F.T)
    assert best <= left < 6 * best
    assert left < 1e-2 * np.trace(K)


@pytest.mark.parametrize("max_landmarks", [2_000, 58])  # the rank is 55
@pytest.mark.parametrize("n_groups", [1, 2])
def test_centred_later_items_are_those_of_a_centred_joint_matrix(sides, max_landmarks, n_groups):
    X, new = sides[0], sides[0][::7] * 1.1 - 0.2
    group = np.arange(60) * n_groups // 60
    means = np.random.default_rng(6).random((60, n_groups)) * (group[:, None] == range(n_groups))
    means /= means.sum(axis=0)
    kernel = Kernel("polynomial", 0.1, 2, 1.0)
    found = features(kernel, X, means=means, max_landmarks=max_landmarks)
    together = np.vstack([X, new])
    K = kernel.against(together, together)
    of = np.r_[group, np.full(len(new), n_groups - 1)]  # later items belong to the last group
    H = np.eye(len(K))
    H[:, :60] -= means.T[of]
    centred = H @ K @ H.T
    G = kernel.against(together, found.landmarks) @ found.weights - found.offsets[of]
    assert_allclose(G @ G[:60].T, centred[:, :60], atol=1e-6 * centred.max())
    scaled = G[:60] * np.sqrt(means.sum(axis=1))[:, None]
    assert_allclose(scaled, found.U * found.s, atol=1e-6 * found.s[0])


def test_triplets_of_a_large_matrix_are_those_of_a_small_one(monkeypatch):
    C = np.random.default_rng(7).standard_normal((12, 9))
    C[:, 8] = C[:, 0]
    exact = singular_triplets(C)
    monkeypatch.setattr("simviz.methods._kernels.LAPACK_SIDE", 1)
    for Z in (C, C.T):
        U, s, Vt = singular_triplets(Z)
        assert_allclose(s, exact[1], atol=1e-6)
        assert_allclose((U * s) @ Vt, Z, atol=1e-6)


# --- Kernel heterogeneous SVD ------------------------------------------------------------


@pytest.mark.parametrize("weight", ["balanced", "paper", "per_x", 0.25])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_linear_kernels_are_the_primal(weight, power, sides):
    X, Y = sides
    rng = np.random.default_rng(8)
    R = sp.random_array((60, 50), density=0.05, rng=rng, format="csr")
    R.data[:] = rng.integers(1, 4, R.nnz)
    settings = {"negative_weight": weight, "sigma_power": power, "measure": "dot"}
    primal = HeterogeneousSVD(5, **settings).fit(X, Y[:50], R)
    dual = KernelHeterogeneousSVD(5, **LINEAR, **settings).fit(X, Y[:50], R)
    assert_allclose(dual.spectrum_, primal.spectrum_, rtol=1e-10)
    assert_allclose(dual.similarity(X[::2], Y[::3]), primal.similarity(X[::2], Y[::3]), atol=1e-8)


def test_rank_deficient_kernels_against_brute_force(repeated):
    """The paper's own dual over 80 pairs, of 12 and 17 different items."""
    X, Y, r, relevance = repeated
    settings = {**RBF, "negative_weight": "paper", "measure": "dot"}
    model = KernelHeterogeneousSVD(6, **settings).fit(X, Y, relevance)
    Kx = Kernel("rbf", model.x_gamma_).against(X, X)
    Ky = Kernel("rbf", model.y_gamma_).against(Y, Y)
    assert np.linalg.matrix_rank(Kx, 1e-8) == 12
    U, s, Vt = np.linalg.svd(psd_power(Ky, 0.5) @ np.diag(r) @ psd_power(Kx, 0.5))
    assert_allclose(model.spectrum_, s[:6], rtol=1e-10)
    alpha_x = psd_power(Kx, -0.5) @ Vt[:6].T
    alpha_y = psd_power(Ky, -0.5) @ U[:, :6]
    assert_allclose(model.similarity(X, Y), Kx @ alpha_x @ alpha_y.T @ Ky.T, atol=1e-9)


@pytest.fixture
def rings():
    """150 points of the plane, and whether they are near the middle."""
    X = np.random.default_rng(9).standard_normal((150, 2)) * 2
    return X, np.eye(2), sp.csr_array(np.eye(2)[(np.linalg.norm(X, axis=1) < 2).astype(int)])


def test_auto_is_straight_unless_curves_rank_better(rings, sides):
    curved = KernelHeterogeneousSVD(1).fit(*rings)
    assert (curved.x_kernel_, curved.y_kernel_, curved.y_gamma_) == ("rbf", "linear", None)
    assert curved.x_gamma_ / default_gamma("rbf", rings[0]) in (0.25, 1, 4)
    given = {"x_kernel": "rbf", "y_kernel": "linear", "x_gamma": curved.x_gamma_}
    again = KernelHeterogeneousSVD(1, **given).fit(*rings)
    assert_array_equal(again.similarity(*rings[:2]), curved.similarity(*rings[:2]))
    sides = [side - side.mean(axis=0) for side in sides]
    for k, n in ((4, 60), (1, 9)):  # nine are too few to hold some out
        straight = KernelHeterogeneousSVD(k).fit(*(side[:n] for side in sides))
        assert straight.x_kernel_ == straight.y_kernel_ == "linear"


def test_auto_learns_from_judged_pairs_alone(rings):
    X, Y, R = rings
    judged = Relevance(sp.csr_array(2 * R.toarray() - 1), unjudged="ignore")
    model = KernelHeterogeneousSVD(1).fit(X, Y, judged)
    assert model.x_kernel_ == "rbf" and model.y_kernel_ == "linear"


def test_auto_holds_out_what_can_be_learned(rings):
    """Many keywords of few points: a keyword says nothing about another, a point does."""
    X, _, R = rings
    words = sp.csr_array(np.repeat(R.toarray(), 100, axis=1))  # 100 synonyms of each class
    assert KernelHeterogeneousSVD(1).fit(X, np.eye(200), words).x_kernel_ == "rbf"
    alone = KernelHeterogeneousSVD(1).fit(np.eye(150), np.eye(200), words)
    assert (alone.x_kernel_, alone.y_kernel_) == ("linear", "linear")


def test_auto_keeps_what_was_set(rings):
    X, Y, R = rings
    model = KernelHeterogeneousSVD(1, x_gamma=0.7, y_kernel="precomputed").fit(X, Y @ Y.T, R)
    assert (model.x_kernel_, model.x_gamma_) == ("rbf", 0.7)
    assert model.y_kernel_ == "precomputed"


def test_straight_kernels_of_many_items_need_no_landmarks(sides):
    model = KernelHeterogeneousSVD(4, **LINEAR, max_landmarks=3).fit(*sides)
    expected = HeterogeneousSVD(4).fit(*sides).similarity(*sides)
    assert_allclose(model.similarity(*sides), expected, atol=1e-10)
    assert model.x_landmarks_ is None


# --- Kernel CCA --------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_linear_kernels_are_ridge_cca(shared, sides):
    X, Y = sides
    if shared:
        Y = X + 0.5 * np.random.default_rng(10).standard_normal(X.shape)
    R = sp.csr_array(np.random.default_rng(11).integers(0, 3, (60, 60)) * np.eye(60))
    settings = {"regularization": 0.7, "shared": shared}
    primal = RidgeCCA(4, **settings).fit(X, Y, R)
    dual = KernelCCA(4, **LINEAR, **settings).fit(X, Y, R)
    assert_allclose(dual.spectrum_, primal.spectrum_, rtol=1e-8)
    assert_allclose(dual.similarity(X[::2], Y), primal.similarity(X[::2], Y), atol=1e-6)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"y_kernel": "linear"}, "'rbf' with gamma=None on the x side and 'linear'"),
        ({"y_gamma": 2.0}, r"gamma=2\.0 on the y side"),
        (LINEAR, "no direction on which relevant pairs agree"),
    ],
)
def test_shared_kernel_has_to_be_one_on_which_sides_agree(params, message):
    Z = np.eye(2)
    with pytest.raises(ValueError, match=message):
        KernelCCA(1, shared=True, **params).fit(Z, Z[::-1])


# --- Both --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_landmarks", [2_000, 30])
def test_precomputed_and_callable_are_the_named_kernel(method, max_landmarks, sides, tmp_path):
    X, Y = sides
    settings = {"n_components": 3, "max_landmarks": max_landmarks}
    named = method(**settings).fit(X, Y)
    rbf_x, rbf_y = (
        partial(pairwise_kernels, metric="rbf", gamma=gamma)
        for gamma in (named.x_gamma_, named.y_gamma_)
    )
    expected = named.similarity(X[5:20], Y[::2])
    called = method(x_kernel=rbf_x, y_kernel=rbf_y, **settings).fit(X, Y)
    assert_allclose(called.similarity(X[5:20], Y[::2]), expected, atol=1e-7)
    given = method(x_kernel="precomputed", y_kernel="precomputed", **settings)
    for kind in (sp.csr_array, np.asarray):
        given.fit(kind(rbf_x(X, X)), kind(rbf_y(Y, Y)))
        S = given.similarity(kind(rbf_x(X[5:20], X)), kind(rbf_y(Y[::2], Y)))
        assert_allclose(S, expected, atol=1e-7)
    assert given.x_landmarks_.dtype == np.int64
    cut = given.truncate(2)
    save_state({"model": cut}, tmp_path / "model")
    again, before = (
        one.similarity(rbf_x(X, X), rbf_y(Y, Y))
        for one in (load_state(tmp_path / "model")["model"], cut)
    )
    assert_array_equal(again, before)


@pytest.mark.parametrize("method", METHODS)
def test_landmarks_are_enough_where_they_span_the_kernel(method, repeated):
    X, Y = repeated[:2]
    exact = method(4).fit(X, Y)
    some = method(4, max_landmarks=40).fit(X, Y)
    assert len(exact.x_landmarks_) == 80
    assert len(some.x_landmarks_) == 12
    assert_allclose(some.spectrum_, exact.spectrum_, atol=1e-8)
    assert_allclose(some.similarity(X, Y), exact.similarity(X, Y), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_cancelling_ends_with_the_landmarks_so_far(method, monkeypatch):
    monkeypatch.setattr("simviz.methods._kernels.CANDIDATES", 8)
    rng = np.random.default_rng(12)
    X, Y = rng.standard_normal((300, 5)), rng.standard_normal((300, 4))
    seen = []
    model = method(2, max_landmarks=100).set_callbacks(lambda *step: seen.append(step) or True)
    model.fit(X, Y)
    assert len(seen) == 1 and len(model.x_landmarks_) <= 8
    assert np.isfinite(model.similarity(X, Y)).all()
    seen.clear()
    model.set_callbacks(lambda step, total, _: seen.append((step, total))).fit(X, Y)
    assert seen == sorted(seen) and {total for _, total in seen} == {200}
    assert seen[-1][0] < 200


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_landmarks", [2_000, 20])
def test_what_is_no_kernel_is_refused(method, max_landmarks, sides):
    X, Y = sides
    one_way = np.eye(9) + np.triu(np.ones((9, 9)), 1) - np.tril(np.ones((9, 9)), -1)

    def distance(A, B):
        return np.sqrt(np.maximum(pairwise_kernels(A, B, metric="rbf", gamma=0.1) * -2 + 2, 0))

    cases = [
        (lambda A, B: np.sign(A @ B.T), X, r"no kernel: .* has no negative eigenvalues"),
        ("precomputed", np.sign(X @ X.T), r"no kernel: .*K @ K\.T"),
        (lambda A, B: A @ one_way @ B.T, X, "symmetric"),
    ]
    if max_landmarks == 2_000:
        cases.append((distance, X, "no kernel"))
    for kernel, Z, message in cases:
        with pytest.raises(ValueError, match=message):
            method(1, x_kernel=kernel, y_kernel="linear", max_landmarks=max_landmarks).fit(Z, Y)


@pytest.mark.parametrize("method", METHODS)
def test_rounding_is_no_reason_to_refuse(method, repeated):
    X, Y, _, _ = repeated
    K = Kernel("rbf", 0.5).against(X, X)
    noisy = (K + 1e-9 * np.random.default_rng(13).standard_normal(K.shape)).astype(np.float32)
    model = method(2, x_kernel="precomputed").fit((noisy + noisy.T) / 2, Y.astype(np.float32))
    assert model.transform(noisy).dtype == np.float32


@pytest.mark.parametrize("method", METHODS)
def test_wrong_kernel_input_is_told(method, sides):
    X, Y = sides
    for params, message in (
        ({"x_kernel": "precomputed"}, r"square matrix; got 60 × 9"),
        ({"x_kernel": "chi2"}, r"x_kernel='chi2' .* never negative; got -"),
        ({"y_kernel": lambda A, B: A[:, 0]}, r"60 and 60 rows it gave the shape \(60,\)"),
        ({"x_kernel": "polynomial", "x_gamma": 1e200}, "lower the degree"),
        ({"x_kernel": "sigmoid"}, r"'x_kernel' parameter .* must be"),
    ):
        with pytest.raises(ValueError, match=message), np.errstate(over="ignore"):
            method(2, **params).fit(X, Y)
    with pytest.raises(ValueError, match="never negative"):
        method(2, x_kernel="chi2").fit(abs(X), Y).transform(X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_landmarks", [2_000, 20])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine"])
@pytest.mark.parametrize("scale", [0, 1])
def test_items_that_are_all_alike_teach_nothing(method, max_landmarks, kernel, scale, sides):
    alike = scale * np.tile([[3.0, 1.0, 7.0]], (60, 1))
    with pytest.raises(ValueError, match="at least 2 different pairs"):
        method(2, x_kernel=kernel, max_landmarks=max_landmarks).fit(alike, sides[1])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_landmarks", [2_000, 20])
@CAPPED
def test_items_without_features_have_no_place(method, max_landmarks, sides):
    X, Y = (Z.copy() for Z in sides)
    X[::3], Y[1::4] = 0, 0
    model = method(10, max_landmarks=max_landmarks).fit(X, Y)
    assert (model.x_landmarks_ != 0).any(axis=1).all()
    assert (model.transform(X)[::3] == 0).all()
    assert (model.transform_y(Y)[1::4] == 0).all()
    assert np.isfinite(model.similarity(X, Y)).all()


@pytest.mark.parametrize("method", METHODS)
def test_functions_are_stored_by_their_names_alone(method, sides, tmp_path):
    def my_kernel(A, B):
        return A @ B.T

    model = method(2, x_kernel=my_kernel).fit(*sides)
    save_state({"model": model}, tmp_path / "model")
    with pytest.raises(StoreError, match="function 'my_kernel', and code is never stored"):
        load_state(tmp_path / "model")
    again = load_state(tmp_path / "model", trusted=[my_kernel])["model"]
    assert_array_equal(again.similarity(*sides[:2]), model.similarity(*sides[:2]))


def test_vectors_beyond_single_precision_are_told():
    X = 1e14 * np.random.default_rng(0).random((6, 3)).astype(np.float32)
    model = KernelHeterogeneousSVD(1, x_kernel="polynomial", x_gamma=1.0, degree=6)
    with pytest.raises(ValueError, match="lower the degree"):
        model.fit(X, np.eye(6)).transform(X)
