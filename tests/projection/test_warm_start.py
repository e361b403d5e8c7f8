"""A drawing that is carried on from another one stays where it was and follows the model."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.projection import joint_map


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((6, 8)) * 4
    return [centres[np.arange(60) % 6] + rng.standard_normal((60, 8)) for _ in "xy"]


@pytest.mark.parametrize("method", ["two-sided", "mds"])
def test_it_stays_where_it_was_but_for_what_moved(sides, method):
    x, y = sides
    first = joint_map(x, y, method)
    moved = x.copy()
    moved[0] = y[3]  # of another cluster
    fresh = joint_map(moved, y, method)
    then = joint_map(moved, y, method, start=first)
    extent = np.ptp(first.x, axis=0).max()
    away = np.linalg.norm(then.x - first.x, axis=1) / extent
    assert np.median(away) < 0.05
    assert away[0] > 4 * np.median(away)
    near = [np.linalg.norm(d.x[0] - d.y[3]) / extent for d in (first, then)]
    assert near[1] < near[0] / 2
    # The quality is that of a drawing that was made anew.
    assert then.quality.cross_overlap > fresh.quality.cross_overlap - 0.1
