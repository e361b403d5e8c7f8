import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon
from scorers import Shares

from simviz.base import PairModel, TopicSimilarity, _jensen_shannon, _jensen_shannon as bounds
from simviz.base._jensen_shannon import Distributions, js_listed, js_pairs, js_ranks, js_similarity
from simviz.base.checks import yield_checks
from simviz.ranking import rank_block
from simviz.relevance import Relevance

DTYPES = (np.float32, np.float64)
ERROR = {np.float32: 2e-6, np.float64: 1e-14}
modest = settings(max_examples=60)


def by_scipy(P, Q):
    """The definition: one minus the divergence in bits, 0 for rows of zeros."""
    out = np.zeros((len(P), len(Q)))
    for i, p in enumerate(P.astype(np.float64)):
        for j, q in enumerate(Q.astype(np.float64)):
            if p.any() and q.any():
                out[i, j] = 1 - jensenshannon(p, q, base=2) ** 2
    return out


def shares(n, k, concentration, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, concentration), n).astype(dtype)


def ranks(P, Q, listed, **options):
    blocks = js_ranks(P, Q, listed.indptr, listed.indices, **options)
    return tuple(np.concatenate(part) for part in zip(*blocks, strict=True))


def assert_ranks_are_those_of_all_similarities(P, Q, listed, **options):
    expected = rank_block(js_similarity(P, Q), listed.indptr, listed.indices)
    for got, wanted in zip(ranks(P, Q, listed, **options), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


# Few distinct rows, zeros, single topics: everything that ties.
few_counts = arrays(float, st.tuples(st.integers(1, 14), st.just(4)), elements=st.integers(0, 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [2, 64, 300])
@pytest.mark.parametrize("concentration", [0.02, 0.3, 2.0])
def test_equals_the_definition(dtype, k, concentration):
    P, Q = (shares(12, k, concentration, seed, dtype) for seed in (0, 1))
    Q[3], Q[4], P[5, ::2], Q[5, 1::2] = P[3], 0, 0, 0  # equal, empty, without a common topic
    S = js_similarity(3 * P, Q)
    assert S.dtype == dtype and S[5, 5] == 0 and not S[:, 4].any()
    np.testing.assert_allclose(S, by_scipy(P, Q), atol=ERROR[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_smallest_and_largest_numbers(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    P = np.array([[tiny, 1, 0], [2.0**-40, 1, 0], [tiny, tiny, 0], [1e30, 1e30, 0]], dtype=dtype)
    np.testing.assert_allclose(js_similarity(P, P), by_scipy(P * 1.0, P * 1.0), atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_either_side_says_the_same_to_the_last_bit(dtype):
    P, Q = shares(40, 100, 0.2, 0, dtype), shares(33, 100, 0.2, 1, dtype)
    S = js_similarity(P, Q)
    np.testing.assert_array_equal(js_similarity(Q, P), S.T)
    for rows, columns in ((slice(7, 8), slice(None)), (slice(16, 39), slice(5, 6))):
        np.testing.assert_array_equal(js_similarity(P[rows], Q[columns]), S[rows, columns])
    np.testing.assert_array_equal(js_pairs(P[:33], Q), np.diag(S))
    listed = sp.csr_array(np.random.default_rng(0).random(S.shape) < 0.2)
    found = js_listed(*map(Distributions.of, (P, Q)), listed.indptr, listed.indices)
    np.testing.assert_array_equal(found, S[listed.nonzero()])


def test_mixed_types_are_compared_in_double_precision():
    P = shares(6, 9, 1.0, 0)
    S = js_similarity(P.astype(np.float32), P)
    assert S.dtype == np.float64
    np.testing.assert_allclose(S, js_similarity(P, P), atol=1e-7)


@modest
@given(
    few_counts, few_counts, st.sampled_from(DTYPES), st.sampled_from([0, 1]), st.integers(0, 99)
)
def test_ranks_among_many_ties(P, Q, dtype, second_bound_from, seed):
    rng = np.random.default_rng(seed)
    drawn = rng.random((2, len(P), len(Q)))
    listed = sp.csr_array((drawn[0] < np.where(drawn[1] < 0.5, 0.1, 0.6)) * 1.0)
    P, Q = P.astype(dtype), Q.astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_jensen_shannon, "MANY", second_bound_from)
        assert_ranks_are_those_of_all_similarities(P, Q, listed)
        assert_ranks_are_those_of_all_similarities(Q, P, sp.csr_array(listed.T), block_size=3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("concentration", [0.05, 1.1])
@pytest.mark.parametrize("noise", [1e-7, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("second_bound_from", [0, 1])
def test_ranks_near_and_far(dtype, concentration, noise, second_bound_from, monkeypatch):
    monkeypatch.setattr(_jensen_shannon, "MANY", second_bound_from)
    P = shares(90, 130, concentration, 0)
    Q = (1 - noise) * P + noise * shares(90, 130, concentration, 1)
    # Near duplicates of a few rows, closer to one another than the bounds can tell.
    Q[60:] = (1 - 1e-6) * Q[:30] + 1e-6 * shares(30, 130, concentration, 2)
    P, Q = P.astype(dtype), Q.astype(dtype)
    mates = sp.eye_array(90, format="csr")
    assert_ranks_are_those_of_all_similarities(P, Q, mates)
    several = sp.csr_array(np.random.default_rng(3).random((90, 90)) < 0.1)
    assert_ranks_are_those_of_all_similarities(P, Q, several, block_size=40)


@pytest.mark.parametrize("concentration, kept, most", [(0.1, 0.8, 1_000), (1.1, 0.1, 8_000)])
def test_most_candidates_are_settled_by_their_bounds(concentration, kept, most, monkeypatch):
    compared = []
    compare = _jensen_shannon._compare

    def count(p, q, start, stop, *rest):
        compared.append(int((stop - start).sum()))
        compare(p, q, start, stop, *rest)

    monkeypatch.setattr(_jensen_shannon, "_compare", count)
    P = shares(200, 50, concentration, 0)
    Q = kept * P + (1 - kept) * shares(200, 50, concentration, 1)
    ranks(P, Q, sp.eye_array(200, format="csr"))
    judged, left_open = compared
    assert judged == 200
    assert 200 <= left_open < most
    low, high = bounds.window(np.array([0.0, 1e-5, 0.3, 0.99, 1.0]), 64)
    assert (high - low).max() < 0.16  # the first bound alone settles the others


@modest
@given(
    arrays(np.float64, (2, 6), elements=st.floats(0, 1)).filter(
        lambda Z: (Z.sum(axis=1) > 0).all()
    )
)
def test_bounds_hold(Z):
    P, Q = Z[:1] / Z[0].sum(), Z[1:] / Z[1].sum()
    s, B = js_pairs(P, Q), np.minimum(1, np.sqrt(P * Q).sum(axis=1))
    assert bounds.least(B) - 1e-12 <= s <= B + 1e-12
    p, q = Distributions.of(P), Distributions.of(Q)
    B, C = p.roots @ q.roots.T, bounds.WEIGHT * p.waves @ q.waves.T
    # Any edge is true everywhere, not only where it is nearest.
    low, low_slope, high, high_slope = bounds.edges().T
    slack = bounds.slack_of(p.shares.shape[1])
    assert np.abs([low_slope, high_slope]).max() < 2  # `slack_of` allows for so much
    assert (low + low_slope * B + C - slack <= s).all()
    assert (high + high_slope * B + C + slack >= s).all()


def test_number_of_threads_changes_nothing():
    P, Q = shares(150, 200, 0.3, 0, np.float32), shares(150, 200, 0.3, 1, np.float32)
    told, before = [], numba.get_num_threads()
    try:
        for n in (1, before):
            numba.set_num_threads(n)
            told.append((js_similarity(P, Q), *ranks(P, Q, sp.eye_array(150, format="csr"))))
    finally:
        numba.set_num_threads(before)
    for one, other in zip(*told, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_to_compare():
    P = shares(3, 5, 1.0, 0)
    assert js_similarity(P[:0], P).shape == (0, 3) and js_similarity(P, P[:0]).shape == (3, 0)
    assert [len(part) for part in ranks(P, P, sp.csr_array((3, 3)))] == [0, 0, 0]


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_refuses_what_is_no_share(bad):
    P = shares(3, 5, 1.0, 0)
    P[1, 2] = bad
    with pytest.raises(ValueError, match="Shares of topics must be 0 or more and finite"):
        js_similarity(P, P)


def test_refuses_unequal_widths_and_unsorted_candidates():
    P = shares(3, 70, 1.0, 0)
    with pytest.raises(ValueError, match="must come from one model"):
        js_similarity(P, P[:, :69])
    with pytest.raises(ValueError, match="rows of a matrix"):
        js_similarity(P[0], P)
    p = Distributions.of(P)
    with pytest.raises(ValueError, match="ascend"):
        js_listed(p, p, np.array([0, 2, 2, 3]), np.array([2, 1, 0]))


@pytest.mark.parametrize("measure", TopicSimilarity.measures)
def test_a_topic_model_keeps_the_contract(measure):
    checks = list(yield_checks(Shares(measure)))
    assert len(checks) > 50
    for _, check in checks:
        check()


RELEVANCE = {
    "pairs": None,
    "several": sp.csr_array(np.arange(225).reshape(15, 15) % 4 == 1, dtype=float),
    "judged": Relevance(
        sp.csr_array((np.arange(225).reshape(15, 15) % 5 - 2.0) * np.eye(15, k=1))
    ),
}


def counts(seed):
    return np.random.default_rng(seed).poisson(0.7, (15, 8)).astype(np.float64)


@pytest.mark.parametrize("measure", TopicSimilarity.measures)
@pytest.mark.parametrize("name", RELEVANCE)
def test_shortcut_is_the_long_way(measure, name):
    X, Y = counts(0), counts(1)
    Y[4] = 0
    model = Shares(measure).fit(X, Y)
    short, long = (
        [np.concatenate(part) for part in zip(*blocks, strict=True)]
        for blocks in (
            model.iter_ranks(X, Y, RELEVANCE[name]),
            PairModel.iter_ranks(model, X, Y, RELEVANCE[name]),
        )
    )
    for one, other in zip(short, long, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("measure", TopicSimilarity.measures)
def test_coordinates_tell_the_similarity(measure):
    X = counts(0)
    X[3] = 0
    model = Shares(measure).fit(X)
    x, y = model.coordinates(X, X[::-1])
    P = model.transform(X) if measure == "cosine" else np.sqrt(model.transform(X))
    unit = P / np.maximum(np.linalg.norm(P, axis=1, keepdims=True), 1e-300)
    S = by_scipy(X, X[::-1]) if measure == "js" else unit @ unit[::-1].T
    np.testing.assert_allclose(model.similarity(X, X[::-1]), S, atol=1e-14)
    np.testing.assert_allclose(model._point_scorer(y)(x), S, atol=1e-14)
    np.testing.assert_allclose(model._point_scorer(x)(y), S.T, atol=1e-14)
    np.testing.assert_allclose(x, unit, atol=1e-14)
