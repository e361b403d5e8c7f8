from dataclasses import replace

import numba
import numpy as np
import pytest

from simviz.data import PairSet
from simviz.pipeline import default_pipeline
from simviz.projection import joint_map, mds_map, two_sided, two_sided_map
from simviz.projection.pipeline_map import draw
from simviz.projection.two_sided import Block, place_new
from simviz.relevance import Relevance


def two_clouds(n=60, gap=1.0, seed=0):
    """Pairs about twelve topics; a direction of its own keeps the sides apart."""
    rng = np.random.default_rng(seed)
    topics = 1.5 * rng.normal(size=(12, 10))
    meant = topics[np.arange(n) % 12] + rng.normal(size=(n, 10))
    sides = [meant + 0.5 * rng.normal(size=meant.shape) for _ in range(2)]
    sides = [side / np.linalg.norm(side, axis=1)[:, None] for side in sides]
    return [np.column_stack([sides[s], np.full(n, (gap, -gap)[s])]) for s in range(2)]


def mean_reciprocal_rank(x, y):
    cost = ((x[:, None] - y) ** 2).sum(axis=2)
    return (1 / (1 + (cost < np.diag(cost)[:, None]).sum(axis=1))).mean()


def test_pairs_stay_together_across_a_gap_that_other_drawings_keep():
    x, y = two_clouds()
    in_space = mean_reciprocal_rank(x, y)
    drawn = mean_reciprocal_rank(*two_sided_map(x, y))
    flat = mean_reciprocal_rank(*mds_map(x - x.mean(axis=0), y - y.mean(axis=0)))
    assert drawn > 0.95 * in_space
    assert flat < 0.7 * in_space


@pytest.mark.parametrize("side", [0, 1], ids=["x", "y"])
@pytest.mark.parametrize("away", [0, 1e5], ids=["here", "far away"])
def test_a_ring_stays_open(side, away):
    """Each side: what pushes the wrong way in one direction folds it, or draws it together."""
    angle = 2 * np.pi * np.arange(24) / 24
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    sides = [np.column_stack([ring, np.full(24, height)]) for height in (1, -1)]
    drawn = two_sided_map(*(points + away for points in sides))[side]
    spread, radius = drawn.std(axis=0), np.linalg.norm(drawn, axis=1)
    step = np.linalg.norm(drawn - np.roll(drawn, 1, axis=0), axis=1)
    assert spread.min() > 0.9 * spread.max()
    assert 0.7 * radius.max() < radius.min()
    # The kernel 1 / (1 + d²) gives the unit of length.
    assert 1 < step.min() < step.max() < 4


def test_the_gradient_is_that_of_the_published_cost():
    """Of row-conditional KL divergences, by differences of the cost itself."""
    rng = np.random.default_rng(1)
    n_x, n, share = 7, 16, 0.7
    at, side = rng.normal(size=(2, n)), (np.arange(n) >= n_x).astype(int)

    def kernels(at):
        u = 1 / (1 + ((at[:, :, None] - at[:, None]) ** 2).sum(axis=0))
        np.fill_diagonal(u, 0)
        return u

    def conditional(table):
        """Shares of each row in all of its side, or of the other."""
        return table / (table @ np.eye(2)[side])[:, side]

    others = ~np.eye(n, dtype=bool)
    goals = conditional(rng.random((n, n)) * others)
    goals *= np.where(side[:, None] == side, 1 - share, share) / n

    def cost(at):
        return -(goals[others] * np.log(conditional(kernels(at))[others])).sum()

    attraction = (goals + goals.T) / 2
    single = at.astype(np.float32)
    push = np.empty((4, n), dtype=np.float32)
    charges = np.zeros((2, n), dtype=np.float32)
    two_sided.repelled(single, n_x, charges, push)
    charges[:] = np.array([[1 - share], [share]]) / (2 * n) / push[2:]
    two_sided.repelled(single, n_x, charges, push)
    away = at[:, :, None] - at[:, None]
    pull = (attraction * kernels(at) * away).sum(axis=2)
    gradient = 4 * (pull - push[:2])
    for c in range(2):
        for i in range(n):
            step = np.zeros_like(at)
            step[c, i] = 1e-5
            slope = (cost(at + step) - cost(at - step)) / 2e-5
            assert gradient[c, i] == pytest.approx(slope, abs=2e-5)


@pytest.mark.parametrize(("n_cells", "spread"), [(8, 40), (40, 40), (8, 2), (8, 1e-3)])
def test_points_by_cell_push_as_single_ones_do(n_cells, spread):
    rng = np.random.default_rng(2)
    at = (spread * rng.normal(size=(2, 3_000))).astype(np.float32)
    charges = rng.random((2, 3_000)).astype(np.float32)
    found = []
    for n in (1, n_cells):
        push = np.empty((4, 3_000), dtype=np.float32)
        two_sided.repelled(at, 1_000, charges, push, n)
        found.append(push)
    scale = np.abs(found[0]).mean(axis=1, keepdims=True)
    assert (np.abs(found[1] - found[0]) / scale).mean(axis=1).max() < 5e-3


@pytest.mark.parametrize("perplexity", [5.0, 20.0])
def test_rows_have_the_perplexity_that_was_asked_for(perplexity):
    rng = np.random.default_rng(3)
    index = np.tile(np.arange(90, dtype=np.int32), (20, 1))
    cost = np.sort(rng.random((20, 90)) * 10 ** rng.uniform(-3, 3, (20, 1)), axis=1)
    shares = Block(index, cost.astype(np.float32), 90).shares(perplexity)
    for row in shares.toarray():
        row = row[row > 0]
        assert np.exp(-(row * np.log(row)).sum()) == pytest.approx(perplexity, rel=1e-3)
        assert row.sum() == pytest.approx(1, abs=1e-5)


def test_of_equally_near_items_all_count_or_none():
    cost = np.array([[0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]], dtype=np.float32)
    index = np.tile(np.arange(7, dtype=np.int32), (2, 1))
    shares = Block(index, cost, 12).shares(2.0).toarray()  # looks at six
    np.testing.assert_allclose(shares[0], [1, *[0] * 11], atol=1e-6)
    assert not shares[1].any()


def test_the_same_picture_whatever_the_judgments_and_the_threads(monkeypatch):
    monkeypatch.setattr("simviz._numba.SHORT", 0)  # so that few items take several threads, too
    x, y = two_clouds()
    first = joint_map(x, y, "two-sided", relevance=Relevance.identity(60))
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        order = np.random.default_rng(0).permutation(60)
        permuted = Relevance.coerce(np.eye(60)[order], 60, 60)
        second = joint_map(x, y, "two-sided", relevance=permuted)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_array_equal(first.y, second.y)
    assert first.quality.mrr_map != second.quality.mrr_map


@pytest.mark.parametrize("method", ["pca", "two-sided"])
def test_judgments_of_a_data_set_do_not_move_its_drawing(method):
    words = [f"{a} {b}" for a in ("red", "blue", "green", "old") for b in ("car", "bus", "tram")]
    pairs = PairSet.from_texts(words, [word.upper() for word in words])
    pipeline = default_pipeline("cca", pairs, n_components=4).fit(pairs)
    shuffled = replace(pairs, relevance=Relevance(np.roll(np.eye(12), 5, axis=1)))
    one, other = (draw(pipeline, p, method=method)[0] for p in (pairs, shuffled))
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.y, other.y)


def test_a_method_without_vectors_is_drawn_from_its_similarities():
    words = [f"{a} {b}" for a in "abcdefgh" for b in ("car", "bus", "tram", "ship")]
    words = [word.replace(word[0], word[0] * 3) for word in words]
    pairs = PairSet.from_texts(words, words)
    pipeline = default_pipeline("bm25", pairs).fit(pairs)
    drawing = draw(pipeline, pairs, method="two-sided")[0]
    assert mean_reciprocal_rank(drawing.x, drawing.y) > 0.9


def test_inner_products_are_compared_as_such():
    x, y = two_clouds(n=40, gap=0.0)
    y = y * np.geomspace(0.2, 5, 40)[:, None]  # long vectors are near to everything by products
    table = two_sided_map(x, y, similarity=x @ y.T)
    dot = two_sided_map(x, y, similarity="dot")
    by_table, by_dot = (mean_reciprocal_rank(*drawn) for drawn in (table, dot))
    assert by_dot == pytest.approx(by_table, abs=0.15) and by_dot > 0.6


def test_unknown_items_lie_in_one_place_beside_the_others():
    x, y = two_clouds()
    x[[3, 5]], y[7] = 0, 0
    drawn_x, drawn_y = two_sided_map(x, y)
    aside = np.array([drawn_x[3], drawn_x[5], drawn_y[7]])
    assert (aside == aside[0]).all()
    known = np.concatenate([np.delete(drawn_x, [3, 5], axis=0), np.delete(drawn_y, 7, axis=0)])
    assert (aside[0] < known.min(axis=0)).all()


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.ones((5, 3)), np.ones((4, 3))),
        (np.zeros((5, 3)), np.zeros((4, 3))),
        (np.eye(2), np.eye(2)),
        (np.eye(4)[:1], np.eye(4)),
        (np.repeat(np.eye(4), 30, axis=0), np.eye(4)),
    ],
)
def test_degenerate_sides_give_finite_places(x, y):
    drawn = two_sided_map(x, y)
    assert [side.shape for side in drawn] == [(len(x), 2), (len(y), 2)]
    assert all(np.isfinite(side).all() for side in drawn)


def test_it_can_be_stopped():
    x, y = two_clouds()
    drawn = joint_map(x, y, "two-sided", callback=lambda step, total, metrics: step >= 3)
    assert any("stopped at epoch 3 of 800" in note for note in drawn.notes)
    assert np.isfinite(drawn.x).all()


def test_a_new_item_stands_where_it_would_be_drawn():
    x, y = two_clouds(n=120)
    new = np.arange(0, 120, 6)
    old = np.setdiff1d(np.arange(120), new)
    _, ground = two_sided_map(x[old], y)
    placed = np.array([place_new(ground, y @ x[i]) for i in new])
    cost = ((placed[:, None] - ground) ** 2).sum(axis=2)
    found = (1 / (1 + (cost < cost[np.arange(len(new)), new][:, None]).sum(axis=1))).mean()
    assert found > 0.8 * mean_reciprocal_rank(x, y)
    np.testing.assert_array_equal(placed[0], place_new(ground, y @ x[new[0]]))
    points = np.array([[0.0, 0], [2, 0], [4, 6]])  # finds all alike
    np.testing.assert_allclose(place_new(np.tile(points, (20, 1)), np.ones(60)), [2, 2])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 1.0}, "share must lie between 0 and 1"),
        ({"similarity": "cosine"}, "similarity must be"),
        ({"similarity": np.ones((3, 3))}, "of shape"),
    ],
)
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        two_sided_map(np.eye(4), np.eye(4), **options)
    with pytest.raises(ValueError, match="do not make a place"):
        place_new(np.empty((0, 2)), [])
