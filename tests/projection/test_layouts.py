import numpy as np
import pytest
from scipy.spatial.distance import cdist

from simviz.projection import joint_map, mds_map, pca_map, umap_map
from simviz.projection.layout import nearest_points


def clusters(n_x=40, n_y=60, k=6, seed=0):
    rng = np.random.RandomState(seed)
    centres = rng.normal(size=(4, k)) * 6
    return tuple(centres[np.arange(n) % 4] + rng.normal(size=(n, k)) for n in (n_x, n_y))


def torgerson(points, d):
    """Classical scaling as the textbook has it, with the n × n matrix."""
    squared = cdist(points, points, "sqeuclidean")
    n = len(points)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centring @ squared @ centring / 2)
    return vectors[:, ::-1][:, :d] * np.sqrt(np.maximum(values[::-1][:d], 0))


@pytest.mark.parametrize("shape", [(40, 60, 6), (5, 4, 30), (3, 3, 2), (7, 5, 1)])
def test_mds_equals_the_textbook_on_distances(shape):
    x, y = clusters(*shape)
    drawn = np.concatenate(mds_map(x, y))
    expected = torgerson(np.concatenate([x, y]), 2)
    np.testing.assert_allclose(cdist(drawn, drawn), cdist(expected, expected), atol=1e-6)
    order = np.random.RandomState(1).permutation(len(x))
    np.testing.assert_allclose(mds_map(x[order], y)[0], drawn[: len(x)][order], atol=1e-9)


def test_pca_ignores_an_offset_that_takes_an_axis_of_mds():
    rng = np.random.RandomState(0)
    x = np.column_stack([rng.normal(size=(50, 2)), np.full(50, 40.0)])
    y = np.column_stack([rng.normal(size=(50, 2)), np.zeros(50)])
    centres = [[side.mean(axis=0) for side in draw(x, y)] for draw in (mds_map, pca_map)]
    by_mds, by_pca = (np.abs(a - b).max() for a, b in centres)
    assert by_mds > 39 and by_pca < 1


def test_pca_weighs_a_small_side_like_a_large_one():
    rng = np.random.RandomState(0)
    x = np.column_stack([rng.normal(size=20) * 3, np.zeros(20), np.zeros(20)])
    y = np.column_stack([np.zeros((2000, 1)), rng.normal(size=(2000, 2)) * [2, 1.9]])
    assert np.ptp(pca_map(x, y)[0][:, 0]) > 5  # the first axis is that of the 20
    assert np.ptp(mds_map(x, y)[0][:, 0]) < 1


def test_nearest_points_are_exact_and_in_order():
    points = np.random.RandomState(0).normal(size=(300, 5))
    indices, distances = nearest_points(points, 7)
    full = cdist(points, points)
    np.testing.assert_array_equal(indices, np.argsort(full, axis=1)[:, :8])
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :8], atol=1e-5, rtol=1e-5)


def test_umap_parts_clusters_and_repeats_itself():
    x, y = clusters()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    a, b = umap_map(x, y), umap_map(x, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(np.concatenate(a), np.concatenate(b))
    drawn, group = np.concatenate(a), np.r_[np.arange(40) % 4, np.arange(60) % 4]
    distances = cdist(drawn, drawn)
    np.fill_diagonal(distances, np.inf)
    assert (group[distances.argmin(axis=1)] == group).all()
    assert not np.array_equal(umap_map(x, y, random_state=1)[0], a[0])


def test_umap_can_be_stopped_and_is_then_valid():
    x, y = clusters(400, 400)
    seen = []

    def stop_at_once(step, total, metrics):
        seen.append((step, total))
        return True

    drawn = joint_map(x, y, "umap", callback=stop_at_once, quality=False)
    assert seen == [(seen[0][0], 500)]
    assert np.isfinite(drawn.x).all() and np.ptp(drawn.x) > 0
    assert any("stopped at epoch" in note for note in drawn.notes)
    assert not any("stopped" in n for n in joint_map(x, y, "umap", quality=False).notes)


@pytest.mark.parametrize("method", ["mds", "pca", "umap"])
@pytest.mark.parametrize("balance", ["none", "center", "rms", "rank"])
@pytest.mark.parametrize(
    ("n_x", "n_y", "k"), [(1, 1, 1), (1, 2, 3), (2, 1, 1), (3, 4, 1), (12, 9, 1), (2, 9, 40)]
)
@pytest.mark.parametrize("fill", ["random", "zeros", "identical", "half zero"])
def test_degenerate_input_gives_a_finite_map(method, balance, n_x, n_y, k, fill):
    rng = np.random.RandomState(0)
    x, y = rng.normal(size=(n_x, k)), rng.normal(size=(n_y, k))
    if fill == "zeros":
        x, y = x * 0, y * 0
    elif fill == "identical":
        x, y = np.full((n_x, k), 0.1), np.full((n_y, k), 0.1)
    elif fill == "half zero":
        x[::2], y[::2] = 0, 0
    drawn = joint_map(x, y, method, balance)
    assert drawn.x.shape == (n_x, 2) and drawn.y.shape == (n_y, 2)
    assert drawn.x.dtype == np.float64
    assert np.isfinite(drawn.x).all() and np.isfinite(drawn.y).all()
    if fill in ("zeros", "identical"):
        assert not drawn.x.any() and not drawn.y.any()
    kept = [getattr(drawn.quality, name) for name in ("trustworthiness", "continuity", "overlap")]
    assert 0 <= min(kept) <= max(kept) <= 1
    assert drawn.quality.random_overlap <= 1 and np.isfinite(drawn.gap.mixing)
