from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from simviz.ranking import Ranking, rank_block, rank_listed

blocks = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    st.tuples(st.integers(1, 5), st.integers(1, 12)),
    elements=st.integers(-3, 3).map(float),
)


def listed(shape: tuple[int, int], density: float, seed: int) -> sp.csr_array:
    mask = np.random.default_rng(seed).random(shape) < density
    return sp.csr_array(mask.astype(float))


def brute(scores, matrix, judged):
    """Count above and tied with full comparisons, one listed candidate at a time."""
    counts = []
    for i in range(matrix.shape[0]):
        columns = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
        pool = scores[i, columns] if judged else scores[i]
        counts += [((pool > scores[i, j]).sum(), (pool == scores[i, j]).sum()) for j in columns]
    return np.array(counts, dtype=int).reshape(-1, 2).T


@settings(max_examples=80)
@given(blocks, st.sampled_from([0.0, 0.15, 0.5, 1.0]), st.integers(0, 99), st.booleans())
def test_counts_equal_full_comparisons(scores, density, seed, judged):
    matrix = listed(scores.shape, density, seed)
    pool = "judged" if judged else "all"
    above, tied, own = rank_block(scores, matrix.indptr, matrix.indices, pool)
    expected = brute(scores, matrix, judged)
    np.testing.assert_array_equal(above, expected[0])
    np.testing.assert_array_equal(tied, expected[1])
    rows = np.repeat(np.arange(len(scores)), np.diff(matrix.indptr))
    np.testing.assert_array_equal(own, scores[rows, matrix.indices])


@pytest.mark.parametrize("density", [0.02, 0.3])
def test_counts_on_wide_rows(density):
    scores = np.random.default_rng(3).standard_normal((40, 500)).round(1)
    matrix = listed(scores.shape, density, 4)
    above, tied, _ = rank_block(scores, matrix.indptr, matrix.indices)
    np.testing.assert_array_equal([above, tied], brute(scores, matrix, judged=False))


@pytest.mark.parametrize("pool", ["all", "judged"])
def test_scale_multiplies_the_columns(pool):
    rng = np.random.default_rng(0)
    scores = rng.integers(-4, 4, (9, 20)).astype(np.float32)
    scale = rng.choice([0.0, 0.5, 1.0, 2.0], 20)
    matrix = listed(scores.shape, 0.2, 1)
    scaled = rank_block(scores * scale, matrix.indptr, matrix.indices, pool)
    fused = rank_block(scores, matrix.indptr, matrix.indices, pool, scale=scale)
    for a, b in zip(scaled, fused, strict=True):
        np.testing.assert_array_equal(a, b)


def test_whole_numbers_strided_views_and_infinite_scores_are_taken():
    above, tied, own = rank_block(np.arange(24).reshape(4, 6)[:, ::2], [0, 1, 1, 2, 3], [0, 1, 2])
    assert (above.tolist(), tied.tolist(), own.tolist()) == ([2, 1, 0], [1, 1, 1], [0, 14, 22])
    above, tied, _ = rank_block([[np.inf, np.inf, -np.inf]], [0, 2], [0, 2])
    assert (above.tolist(), tied.tolist()) == ([0, 2], [2, 1])


@pytest.mark.parametrize("columns", [[1], [0, 1], []])
def test_nan_is_refused_wherever_it_stands(columns):
    with pytest.raises(ValueError, match="1 of 3 are NaN"):
        rank_block([[0.0, 1.0, np.nan]], [0, len(columns)], columns)


def test_nan_outside_a_judged_pool_does_not_count():
    above, _, _ = rank_block([[0.0, 1.0, np.nan]], [0, 2], [0, 1], "judged")
    assert above.tolist() == [1, 0]
    with pytest.raises(ValueError, match="NaN"):
        rank_block([[0.0, 1.0, np.nan]], [0, 2], [0, 2], "judged")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: rank_block(np.zeros((2, 3)), [0, 1], [0]), "one more indptr than rows"),
        (lambda: rank_block(np.zeros((1, 3)), [0, 1], [3]), r"must lie in 0\.\.2"),
        (lambda: rank_block(np.zeros((1, 3)), [0, 1], [0], scale=[1.0]), "scale has shape"),
        (lambda: rank_block(np.zeros((1, 3)), [0, 1], [0], "some"), "pool must be"),
        (lambda: Ranking([0, 1], [0], [1], [0, 0], [1], [3]), "candidate 1, grade 1, above 2"),
        (lambda: Ranking([0, 1], [0], [1], [0], [1], [3, 3]), "has 2 values for 1 queries"),
        (lambda: Ranking([0, 1], [0], [1], [2], [2], [3]), "2 above and 2 tied in a pool of 3"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


def test_listed_candidates_alone_equal_a_judged_pool():
    scores = np.random.default_rng(5).integers(0, 4, (30, 15)).astype(float)
    matrix = listed(scores.shape, 0.3, 6)
    above, tied, own = rank_block(scores, matrix.indptr, matrix.indices, "judged")
    np.testing.assert_array_equal((above, tied), rank_listed(own, matrix.indptr))


def test_two_threads_rank_at_once():
    rng = np.random.default_rng(7)
    scores = rng.standard_normal((64, 900)).astype(np.float32)
    matrix = listed(scores.shape, 0.01, 8)
    alone = rank_block(scores, matrix.indptr, matrix.indices)

    def work(_: int) -> bool:
        again = rank_block(scores, matrix.indptr, matrix.indices)
        return all(np.array_equal(a, b) for a, b in zip(alone, again, strict=True))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(60)))


def test_a_ranking_counts_relevant_candidates():
    r = Ranking([0, 2, 2, 3], [0, 1, 0], [2, -1, 1], [0, 1, 0], [1, 1, 1], [2, 0, 1])
    assert (r.n_queries, r.query.tolist(), r.n_relevant.tolist()) == (3, [0, 0, 2], [1, 0, 1])
