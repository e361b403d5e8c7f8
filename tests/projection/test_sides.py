import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from simviz.projection import (
    align_sides,
    joint_map,
    nearest_across,
    neighbor_preservation,
    side_gap,
    unfold,
)


def sides(seed=0, n_x=50, n_y=80, k=5):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n_x, k)), rng.normal(size=(n_y, k))


def test_distance_ratio_is_what_pairs_of_points_say():
    x, y = sides()
    y = y + 3.0
    within = (np.mean(cdist(x, x) ** 2) + np.mean(cdist(y, y) ** 2)) / 2
    expected = np.sqrt(within / np.mean(cdist(x, y) ** 2))
    assert side_gap(x, y).distance_ratio == pytest.approx(expected)


def test_islands_do_not_mix_and_one_cloud_does():
    x, y = sides(n_x=400, n_y=600)
    assert side_gap(x, y + 50).mixing == 0
    assert side_gap(x, y).mixing == pytest.approx(1, abs=0.05)
    assert side_gap(x, y, max_points=300).mixing == pytest.approx(1, abs=0.1)


def test_centring_keeps_distances_within_a_side_and_closes_the_gap():
    x, y = sides()
    near_x, near_y = align_sides(x, y * 4 + 7, "center")
    np.testing.assert_allclose(cdist(near_x, near_x), cdist(x, x))
    np.testing.assert_allclose(cdist(near_y, near_y), cdist(y, y) * 4)
    assert side_gap(near_x, near_y).distance_ratio == pytest.approx(1)


def test_rms_gives_both_sides_one_size_and_one_item_or_a_side_without_spread_is_finite():
    x, y = sides()
    near_x, near_y = align_sides(x, 9 * y, "rms")
    assert (near_x**2).sum(axis=1).mean() == pytest.approx((near_y**2).sum(axis=1).mean())
    x, y = align_sides(np.ones((1, 3)), np.arange(12.0).reshape(4, 3), "rms")
    assert not x.any() and np.isfinite(y).all() and y.any()


def test_a_map_reports_its_gap_before_and_after():
    x, y = sides()
    drawn = joint_map(x, y + 20, "mds", quality=False)
    assert drawn.gap.distance_ratio < 0.2 and drawn.gap_balanced.distance_ratio == 1
    assert "moved together" in drawn.notes[0] and drawn.quality is None
    plain = joint_map(x, y + 20, "mds", balance="none")
    assert plain.gap == plain.gap_balanced and plain.notes == ()
    assert abs(plain.x[:, 0].mean() - plain.y[:, 0].mean()) > 40
    x[:3] = 0
    assert any("3 items are empty" in note for note in joint_map(x, y).notes)


def test_unfolding_gives_back_the_centred_similarities():
    x, y = sides(k=3)
    table = x @ y.T + np.linspace(0, 9, 80)[None, :] + np.linspace(5, 0, 50)[:, None]
    given = table.copy()
    u, v = unfold(given, n_components=3)
    np.testing.assert_array_equal(given, table)
    centred = (x - x.mean(axis=0)) @ (y - y.mean(axis=0)).T
    np.testing.assert_allclose(u @ v.T, centred, atol=1e-9)
    np.testing.assert_allclose((u**2).sum(axis=0), (v**2).sum(axis=0))  # scaled alike


def test_unfolding_blocks_and_large_tables_agree_with_the_full_decomposition():
    rng = np.random.RandomState(0)
    table = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 260)) + 3.0
    u, v = unfold(table, n_components=6)  # by Lanczos iterations
    centred = table - table.mean(0) - table.mean(1, keepdims=True) + table.mean()
    np.testing.assert_allclose(u @ v.T, centred, atol=1e-8)
    a, b = unfold((table[i : i + 70] for i in range(0, 300, 70)), n_components=6)
    np.testing.assert_allclose(a @ b.T, centred, atol=1e-3)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 1), (3, 3)])
def test_unfolding_a_constant_table_puts_all_in_one_place(shape):
    u, v = unfold(np.full(shape, 0.3), n_components=10)
    assert not u.any() and not v.any() and u.shape[1] == v.shape[1] >= 1


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("side", ["x", "y"])
def test_nearest_across_is_the_top_of_the_full_table(similarity, side):
    x, y = sides()
    own, other = (x, y) if side == "x" else (y, x)
    found = nearest_across(x, y, 7, side, 10, similarity)
    if similarity == "cosine":
        table = 1 - cdist(own, other, "cosine")
    else:
        table = own @ other.T if similarity == "dot" else -cdist(own, other, "sqeuclidean")
    np.testing.assert_array_equal(found.index, np.argsort(-table[7])[:10])
    np.testing.assert_allclose(found.scores, np.sort(table[7])[::-1][:10])
    assert found.side == ("y" if side == "x" else "x")
    few = nearest_across(np.zeros((1, 2)), np.array([[1.0, 0], [0, 0]]), 0, k=9)
    assert few.index.tolist() == [0, 1] and few.scores.tolist() == [0, 0]


def test_neighbor_preservation_counts_what_the_drawing_kept():
    x, y = sides(k=2)
    found = nearest_across(x, y, 3, k=5, similarity="euclidean")
    assert neighbor_preservation(x, y, 3, found).all()
    moved = y.copy()
    moved[found.index[0]] += 100
    assert neighbor_preservation(x, moved, 3, found).tolist() == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x_vectors": np.ones((3, 2))}, "one space"),
        ({"x_vectors": np.ones(3)}, "one row per item"),
        ({"x_vectors": np.empty((0, 5))}, "at least one row"),
        ({"x_vectors": sp.eye_array(5, format="csr")}, "dense"),
        ({"method": "tsne"}, "mds, umap, pca"),
        ({"method": "mds", "balance": "both"}, "none, center, rms"),
    ],
)
def test_refusals(arguments, message):
    x, y = sides()
    with pytest.raises(ValueError, match=message):
        joint_map(**({"x_vectors": x, "y_vectors": y} | arguments))
