"""Exact search over shards finds what sorting all scores finds, ties by position."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.exceptions import StoreError
from simviz.methods import get_method
from simviz.scale import exact_search, index, write_vectors


def stored(folder, parts, dtype="float32"):
    """Vectors of a model that takes its features for vectors."""
    k = parts[0].shape[1]
    model = get_method("mlc")(k, measure="dot")
    rng = np.random.default_rng(0)
    model.fit(rng.random((k + 2, k)), rng.random((k + 2, k)))
    model.x_projection_ = model.y_projection_ = np.eye(k, dtype=np.float32)
    model.n_components_ = k
    model.x_offset_ = model.y_offset_ = None
    return write_vectors(model, parts, folder, "y", dtype=dtype)


def brute(Y, Q, k):
    S = (Q.astype(np.float64)[:, None] * Y.astype(np.float64)[None]).sum(axis=2)
    S = S.astype(np.float32)
    order = np.lexsort((np.broadcast_to(np.arange(len(Y)), S.shape), -S), axis=1)[:, :k]
    return order, np.take_along_axis(S, order, axis=1)


@st.composite
def cases(draw):
    width = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(0, 12), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Few values make many ties; a factor makes sums that are rounded.
    values = draw(st.integers(1, 3)), draw(st.sampled_from([1.0, 0.1, 1e-3, 1e3]))
    parts = [rng.integers(-values[0], values[0] + 1, (n, width)) * values[1] for n in sizes]
    Q = rng.integers(-values[0], values[0] + 1, (draw(st.integers(1, 5)), width)) * values[1]
    return [p.astype(np.float32) for p in parts], Q.astype(np.float32), draw(st.integers(1, 40))


@settings(max_examples=60)
@given(cases())
def test_it_finds_what_sorting_finds(case):
    parts, Q, k = case
    Y = np.concatenate(parts)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "ROWS_AT_ONCE", 5)
        patch.setattr(index, "MAX_ROWS", 5)
        patch.setattr(index, "QUERIES", 2)
        patch.setattr(index, "LISTED", 8)
        found = exact_search(stored(Path(folder), parts), Q, k)
    positions, scores = brute(Y, Q, k)
    assert found.positions.tolist() == positions.tolist()
    assert found.scores.tolist() == scores.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_blocks_of_any_size_find_the_same(tmp_path, monkeypatch, dtype):
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(3000, 24)).astype(np.float32)
    Y[2000:] = Y[:1000]  # everything twice, in other shards
    vectors = stored(tmp_path, np.split(Y, [100, 1700, 2400]), dtype)
    Q = rng.normal(size=(40, 24)).astype(np.float32)
    expected = brute(Y.astype(dtype), Q, 10)
    for rows, queries in ((7, 3), (1000, 64), (2**13, 1)):
        monkeypatch.setattr(index, "ROWS_AT_ONCE", rows)
        monkeypatch.setattr(index, "MAX_ROWS", rows)
        monkeypatch.setattr(index, "QUERIES", queries)
        found = exact_search(vectors, Q, 10)
        assert (found.positions == expected[0]).all()
        assert (found.scores == expected[1]).all()


def test_one_query_and_a_query_of_zeros(tmp_path):
    vectors = stored(tmp_path, [np.eye(4, dtype=np.float32)])
    assert exact_search(vectors, [0, 1, 0, 0], 2).positions.tolist() == [[1, 0]]
    found = exact_search(vectors, np.zeros((1, 4)), 3)
    assert found.positions.tolist() == [[0, 1, 2]] and found.scores.tolist() == [[0, 0, 0]]
    assert found.ids(vectors) == [["0", "1", "2"]]
    assert exact_search(vectors, np.empty((0, 4)), 3).positions.shape == (0, 3)


def test_bad_queries_and_nan_in_a_shard_are_refused(tmp_path):
    vectors = stored(tmp_path, [np.eye(4, dtype=np.float32)])
    for queries, k, message in (
        (np.zeros((2, 3)), 1, "4 dimensions"),
        (np.full((1, 4), np.nan), 1, "finite"),
        (np.zeros((1, 4)), 0, "at least 1"),
        (np.zeros((1, 1, 4)), 1, "4 dimensions"),
    ):
        with pytest.raises(ValueError, match=message):
            exact_search(vectors, queries, k)
    np.save(tmp_path / "part-00000.npy", np.full((4, 4), np.nan, np.float32))
    with pytest.raises(StoreError, match="NaN"):
        exact_search(vectors, np.ones((1, 4)), 2)
