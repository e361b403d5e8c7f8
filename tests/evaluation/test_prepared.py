import numpy as np
import pytest
import scipy.sparse as sp

from simviz.base._jensen_shannon import Distributions, JensenShannon
from simviz.evaluation import evaluate
from simviz.exceptions import JobCancelled
from simviz.relevance import Relevance


class LongWay:
    """Jensen-Shannon similarity of rows of shares, all pairs, pass by pass."""

    def iter_similarity(self, x, y, *, block_size=None):
        return self._sides(x, y).iter_similarity(block_size)

    def _sides(self, x, y):
        return JensenShannon(Distributions.of(x), Distributions.of(y))


class ShortWay(LongWay):
    """The same, ready to list and to rank; counts who is asked for all pairs."""

    passes = 0

    def iter_similarity(self, x, y, *, block_size=None):
        raise AssertionError("nobody should need this")

    def prepared(self, x, y):
        outer = self

        class Counting(JensenShannon):
            def iter_similarity(self, block_size=None):
                outer.passes += 1
                return JensenShannon.iter_similarity(self, block_size)

        sides = self._sides(x, y)
        return Counting(sides.p, sides.q)


class NotReady(LongWay):
    def prepared(self, x, y):
        return None


N_X, N_Y = 23, 17
rng = np.random.default_rng(0)
# Counts of few topics: many pairs are equally alike, and some items have none.
x, y = rng.poisson(0.5, (N_X, 5)).astype(float), rng.poisson(0.5, (N_Y, 5)).astype(float)
cells = rng.random((N_X, N_Y)) < 0.15
grades = sp.csr_array(cells * rng.integers(1, 4, cells.shape), dtype=float)
signed = sp.csr_array(cells * rng.choice([-1.0, 1.0, 2.0], cells.shape))
RELEVANCE = {
    "grades": Relevance(grades),
    "signed": Relevance(signed),
    "signed, unjudged negative": Relevance(signed, unjudged="negative"),
    "scores": Relevance(
        sp.csr_array(cells * rng.random(cells.shape)), kind="score", threshold=0.5
    ),
}


@pytest.mark.parametrize("metrics", [None, ("MRR", "NDCG@3")])
@pytest.mark.parametrize("directions", [("x2y",), ("y2x",), ("x2y", "y2x")])
@pytest.mark.parametrize("name", RELEVANCE)
@pytest.mark.parametrize("block_size", [None, 4])
def test_short_way_ends_where_the_long_way_does(name, directions, metrics, block_size):
    options = {"metrics": metrics, "directions": directions, "block_size": block_size}
    short_way = ShortWay()
    short, long, unready = (
        evaluate(scorer, x, y, RELEVANCE[name], **options)
        for scorer in (short_way, LongWay(), NotReady())
    )
    assert repr(short.to_records()) == repr(long.to_records()) == repr(unready.to_records())
    assert short.pool == long.pool
    assert set(short.rankings) == set(directions)
    for direction in directions:
        for part in ("indptr", "candidate", "grade", "above", "tied", "n_candidates"):
            both = (getattr(one.rankings[direction], part) for one in (short, long))
            np.testing.assert_array_equal(*both)
    np.testing.assert_array_equal(short.predicted, long.predicted)
    assert short_way.passes == (metrics is None and short.pool != "judged")


@pytest.mark.parametrize("name", ["grades", "signed"])
@pytest.mark.parametrize("metrics", [None, ("MRR",)])
def test_progress_ends_at_the_total(name, metrics):
    told = []

    def callback(step, total, _):
        told.append((step, total))

    evaluate(ShortWay(), x, y, RELEVANCE[name], metrics, block_size=5, callback=callback)
    steps, totals = zip(*told, strict=True)
    assert list(steps) == sorted(set(steps))
    assert steps[-1] == totals[0]
    assert len(set(totals)) == 1


@pytest.mark.parametrize("metrics", [None, ("MRR",)])
def test_stops_when_told(metrics):
    with pytest.raises(JobCancelled):
        evaluate(ShortWay(), x, y, RELEVANCE["grades"], metrics, callback=lambda *_: True)
