import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.data.splitting import assign_parts
from simviz.exceptions import DatasetError


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.lists(st.integers(1, 50), min_size=3, max_size=60),
    st.sampled_from([(0.7, 0.1, 0.2), (0.34, 0.33, 0.33), (0.9, 0.1, 0.0)]),
    st.integers(0, 9),
)
def test_no_part_strays_from_its_share_by_more_than_two_units(weights, shares, seed):
    weights = np.array(weights)
    parts = assign_parts(weights, np.zeros(len(weights)), shares, np.random.default_rng(seed))
    got = np.bincount(parts, weights, minlength=3)
    assert got[np.array(shares) > 0].all() and not got[np.array(shares) == 0].any()
    assert (np.abs(got - np.array(shares) * weights.sum()) <= 2 * weights.max()).all()


def test_each_part_gets_heavy_and_light_units():
    weights = np.repeat([10, 1], 100)
    parts = assign_parts(weights, np.zeros(200), (0.7, 0.1, 0.2), np.random.default_rng(0))
    assert np.bincount(parts[:100]).tolist() == [70, 10, 20]
    assert np.bincount(parts[100:]).tolist() == [70, 10, 20]


def test_every_stratum_is_spread_by_the_same_shares():
    strata = np.repeat([0, 1, 2], [50, 100, 30])
    parts = assign_parts(np.ones(180), strata, (0.7, 0.1, 0.2), np.random.default_rng(0))
    counts = [np.bincount(parts[strata == s]).tolist() for s in range(3)]
    assert counts == [[35, 5, 10], [70, 10, 20], [21, 3, 6]]


def test_too_few_units_are_counted():
    with pytest.raises(DatasetError, match="2 groups with a relevant pair cannot fill 3 parts"):
        assign_parts([1, 1, 1], [0, 0, 1], (0.7, 0.1, 0.2), np.random.default_rng(0), "group")
