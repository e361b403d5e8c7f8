"""Two models of the same items: what changed between them, and one drawing turned onto another."""

import numpy as np
import pytest

from simviz.data import PairSet
from simviz.projection import joint_map, neighbors_changed


class Told:
    """A pipeline that says what a table says."""

    def __init__(self, table):
        self.tables = {"y": np.array(table, float), "x": np.array(table, float).T}

    def _encoded(self, items, side):
        return np.array([[1 + int(text)] for text in items.content])

    def _scorer(self, rows, side):
        return lambda queries: self.tables[side][np.ix_(queries[:, 0] - 1, rows[:, 0] - 1)]


@pytest.fixture
def pairs():
    return PairSet.from_texts(list("0123"), list("0123"))


FIRST = [[4, 3, 2, 1], [5, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
SECOND = [[4, 1, 3, 2], [5, 4, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
#: Of two nearest one is another; one of two is new, for others were tied; all of one; none known.
CHANGED = [1 / 2, 1 / 2, 1, np.nan]


def test_what_changed_is_the_share_of_neighbours_that_one_model_alone_has(pairs, monkeypatch):
    found = neighbors_changed(Told(FIRST), Told(SECOND), pairs)
    np.testing.assert_array_equal(found[:4], CHANGED)
    # By columns: [4 5 0 0] and [4 5 1 0], [3 1 0 0] and [1 4 0 0], [2 1 0 0] and [3 1 0 0], ...
    np.testing.assert_array_equal(found[4:], [0, 0, 0, 1 / 2])
    np.testing.assert_array_equal(neighbors_changed(Told(SECOND), Told(FIRST), pairs), found)
    same = neighbors_changed(Told(FIRST), Told(FIRST), pairs)
    np.testing.assert_array_equal(same, [0, 0, np.nan, np.nan, 0, 0, 0, 0])
    monkeypatch.setattr("simviz.projection.pipeline_map.BLOCK", 8)  # two rows at a time
    np.testing.assert_array_equal(neighbors_changed(Told(FIRST), Told(SECOND), pairs), found)


def test_a_drawing_is_turned_onto_another_of_the_same_items_and_as_large():
    rng = np.random.default_rng(0)
    first = joint_map(rng.normal(size=(20, 3)), rng.normal(size=(30, 3)), "pca")
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    mirrored = joint_map(first.x @ turn, first.y @ turn, "pca")
    there = mirrored.turned_onto(first)
    np.testing.assert_allclose(there.x, first.x, atol=1e-9)
    np.testing.assert_allclose(there.y, first.y, atol=1e-9)
    # Another drawing, with which it has little in common, does not shrink.
    other = joint_map(rng.normal(size=(20, 3)), rng.normal(size=(30, 3)), "pca").turned_onto(first)
    clouds = [np.concatenate([drawn.x, drawn.y]) for drawn in (first, other)]
    sizes = [np.linalg.norm(cloud - clouds[0].mean(axis=0)) for cloud in clouds]
    assert sizes[0] == pytest.approx(sizes[1])
    # Where all stand in one place, there is nothing to turn, or to turn onto.
    point = joint_map(np.ones((20, 3)), np.ones((30, 3)), "pca")
    for one, onto in ((point, first), (first, point)):
        np.testing.assert_array_equal(one.turned_onto(onto).x, one.x)
