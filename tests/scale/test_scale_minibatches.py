"""A fit that streams over shards learns what a fit in memory learns."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance
from simviz.scale import PairRows, SparseShards, fit_s2net
from simviz.scale.minibatches import Stream

LEARNED = ("x_projection_", "y_projection_", "x_offset_", "y_offset_")


def sides(n=600, d=(60, 50), topics=8, seed=0):
    """Two sides that share topics and nothing else."""
    rng = np.random.default_rng(seed)
    Z = rng.random((n, topics)) ** 4
    found = []
    for width in d:
        W = rng.random((topics, width)) ** 6
        dense = rng.poisson(Z @ W * 2)
        dense[:, 0] += 1
        found.append(sp.csr_array(dense, dtype=np.float32))
    return found


def written(folder, X, n_shards=3):
    edges = np.linspace(0, X.shape[0], n_shards + 1).astype(int)
    return SparseShards.write(folder, [X[a:b] for a, b in pairwise(edges)])


def model(**changed):
    usual = {"n_components": 6, "init": "cl_lsi", "max_iter": 5, "device": "cpu"}
    return S2Net(**usual | {"learning_rate": 0.3} | changed)


def same(ours, theirs):
    assert ours.n_iter_ == theirs.n_iter_ and ours.best_iter_ == theirs.best_iter_
    assert ours.validation_scores_ == theirs.validation_scores_
    for name in (*LEARNED, "loss_curve_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize(
    "changed", [{}, {"init": "random", "loss": "logistic"}, {"activation": "tanh"}]
)
def test_one_buffer_is_the_fit_in_memory_to_the_last_bit(tmp_path, changed):
    X, Y = sides()
    V = tuple(Z[500:] for Z in (X, Y))
    X, Y = X[:500], Y[:500]
    theirs = model(**changed).fit(X, Y, X_val=V[0], y_val=V[1])
    shards = written(tmp_path / "x", X), written(tmp_path / "y", Y, 2)
    ours = fit_s2net(model(**changed), *shards, validation=(*V, None))
    same(ours, theirs)
    np.testing.assert_array_equal(ours.similarity(*V), theirs.similarity(*V))


def test_pairs_with_grades_are_the_relevance_in_memory(tmp_path):
    X, Y = sides(400)
    rng = np.random.default_rng(1)
    x, y = np.unique(rng.integers(0, (390, 120), (900, 2)), axis=0)[:800].T
    grade = rng.integers(1, 3, len(x))
    relevance = Relevance.from_pairs(x, y, grade, shape=(400, 120))
    # In memory, items without judgments have no part in batches either.
    V = X[:100], Y[:120], relevance.take(np.arange(100), np.arange(120))
    validated = dict(zip(("X_val", "y_val", "relevance_val"), V, strict=True))
    theirs = model(init="random").fit(X, Y[:120], relevance, **validated)
    shards = written(tmp_path / "x", X), written(tmp_path / "y", Y[:120], 1)
    ours = fit_s2net(model(init="random"), *shards, PairRows(x, y, grade), validation=V)
    # The start is scaled on items that have judgments.
    np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=0.02)


def test_small_buffers_learn_as_well(tmp_path):
    X, Y = sides(3_000)
    shards = written(tmp_path / "x", X[:2600], 5), written(tmp_path / "y", Y[:2600], 4)
    V = X[2600:], Y[2600:]
    usual = {"max_iter": 12, "batch_size": 64}
    theirs = model(**usual).fit(X[:2600], Y[:2600])
    ours = fit_s2net(model(**usual), *shards, buffer_size=260, n_start=500)
    start = model(init="cl_lsi", max_iter=1, learning_rate=1e-9).fit(X[:2600], Y[:2600])
    base, whole, streamed = (m.score(*V) for m in (start, theirs, ours))
    assert whole > base + 0.02
    assert streamed > base + 0.8 * (whole - base)
    assert ours.validation_scores_ and ours.best_iter_ <= ours.n_iter_


@settings(max_examples=30)
@given(st.integers(2, 90), st.integers(2, 60), st.integers(2, 40))
def test_a_pass_takes_each_query_once_and_holds_no_more_than_a_buffer(n, batch, buffer):
    stream = Stream(None, None, PairRows.identity(n), np.arange(n), batch, buffer)
    stream.rng = np.random.RandomState(0)
    held = []

    def load(queries):
        held.append(len(queries))
        Z = sp.csr_array(np.arange(1.0, n + 1)[queries][:, None])
        return Z, Z, Relevance.identity(len(queries))

    stream.load = load
    for _ in range(2):
        held.clear()
        batches = [X.toarray().ravel() - 1 for X, Y, R in stream]
        assert len(batches) == stream.n and min(map(len, batches)) > 0
        assert sorted(np.concatenate(batches)) == list(range(n))
        assert max(held) <= max(2 * batch, 2 * buffer)


def peak_of_a_stream(folder):
    """How many rows a stream hands on, of how many bytes, and the most bytes that it holds."""
    n, buffer = 20_000, 500
    rng = np.random.default_rng(0)
    words = rng.integers(0, 500, (n, 40))
    X = sp.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 40)))
    X.sum_duplicates()
    shards = written(folder, X.astype(np.float32), 8)
    stream = Stream(shards, shards, PairRows.identity(n), np.arange(n), 200, buffer)
    stream.rng = np.random.RandomState(0)
    del X, words
    next(iter(stream))  # what is imported on the way counts for nothing
    tracemalloc.start()
    rows = sum(x.shape[0] for x, y, r in stream)
    return rows, shards.n_items * 40 * 8 * 2, tracemalloc.get_traced_memory()[1]


def test_memory_is_that_of_a_buffer(tmp_path):
    # In a process of its own: threads that other tests left behind take memory, too.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        rows, size, peak = pool.submit(peak_of_a_stream, tmp_path).result()
    assert rows == 20_000
    assert peak < size / 8, peak


def test_progress_and_stopping(tmp_path):
    X, Y = sides()
    shards, told = (written(tmp_path / "x", X), written(tmp_path / "y", Y)), []

    def stop(step, total, metrics):
        told.append((step, total, sorted(metrics)))
        return step == 2

    fitted = fit_s2net(model().set_callbacks(stop), *shards, buffer_size=100)
    assert fitted.n_iter_ == 2 and told[-1] == (2, 5, ["loss", "validation"])
    one, two = (fit_s2net(model(), *shards, buffer_size=100).x_projection_ for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_held_out_candidates_of_many_queries_are_all_there(tmp_path):
    X, Y = sides(800)
    x = np.arange(800)
    shards = written(tmp_path / "x", X), written(tmp_path / "y", Y[:100])
    for grade in (None, np.where(x % 3, 1, -1)):
        fitted = fit_s2net(model(), *shards, PairRows(x, x % 90, grade))
        assert len(fitted.validation_scores_) == fitted.n_iter_
    none = fit_s2net(model(validation_fraction=0), *shards, PairRows(x, x % 90))
    assert none.validation_scores_ == [] and none.n_iter_ == 5


def test_bad_input_is_told(tmp_path):
    X, Y = sides(50)
    x, y = written(tmp_path / "x", X), written(tmp_path / "y", Y[:40])
    for asked, sides_given, how, words in (
        ({"solver": "lbfgs"}, (x, x), {}, "compares all pairs in every iteration"),
        ({}, (x, y), {}, "got 50 x items and 40 y items"),
        ({}, (x, y, PairRows([0, 1], [3, 40])), {}, "y row 40, the last of the y side is 39"),
        ({}, (x, x), {"buffer_size": 1}, "buffer_size is a number of queries"),
        ({"shared": True}, (x, y, PairRows([0, 1], [0, 1])), {}, "equal widths"),
    ):
        with pytest.raises(ValueError, match=words):
            fit_s2net(model(**asked), *sides_given, **how)


judged = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([-1, 1, 2]))


@given(st.lists(judged, min_size=1, max_size=40))
def test_pairs_are_the_relevance_of_their_rows(listed):
    x, y, grade = map(list, zip(*listed, strict=True))
    expected = Relevance.from_pairs(x, y, grade, shape=(10, 10))
    pairs = PairRows(x, y, grade)
    assert pairs.unjudged == expected.unjudged
    assert len(pairs) == expected.matrix.nnz
    queries = pairs.queries()[::2]
    candidates, found = pairs.between(queries)
    wanted = expected.take(queries, candidates)
    np.testing.assert_array_equal(found.matrix.toarray(), wanted.matrix.toarray())
    assert found.unjudged == expected.unjudged


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (([0, 1], [0]), r"got \[2, 1\]"),
        (([], []), "at least one pair"),
        (([0, 1], [0, -1]), "y holds int64 from -1 to 0"),
        (([0.5], [0]), "x holds float64"),
        (([0], [0], [0]), r"got 0\.0\. Leave pairs out"),
    ],
)
def test_pairs_that_mean_nothing_are_refused(pairs, words):
    with pytest.raises(ValueError, match=words):
        PairRows(*pairs)
