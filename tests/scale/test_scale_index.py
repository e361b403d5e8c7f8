"""The approximate index: what it finds, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from simviz import _extras
from simviz.data import PairSet
from simviz.exceptions import MissingLibraryError, StoreError
from simviz.methods import get_method
from simviz.pipeline import default_pipeline
from simviz.scale import ApproximateIndex, VectorShards, embed, exact_search, write_vectors

pytest.importorskip("faiss")

N, K = 3_000, 12


def stored(folder, spread, seed=0):
    """A model of inner products, vectors whose lengths differ by a factor, queries."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(30, K))
    X, Y = (centres[rng.integers(0, 30, n)] + 0.7 * rng.normal(size=(n, K)) for n in (200, N))
    Y *= np.exp(spread * rng.normal(size=(N, 1)))
    model = get_method("mlc")(K, measure="dot" if spread else "cosine")
    model.fit(X[:50], Y[:50])
    model.x_projection_ = model.y_projection_ = np.eye(K)
    model.n_components_, model.x_offset_, model.y_offset_ = K, None, None
    vectors = write_vectors(model, [Y[:1000], Y[1000:1001], Y[1001:]], folder, "y")
    return model, vectors, embed(model, X, "x")


@pytest.mark.parametrize("storage", ["float16", "int8"])
@pytest.mark.parametrize(
    ("spread", "how"), [(0.0, {}), (0.4, {"n_lists": 40}), (1.5, {"n_lists": 20})]
)
def test_it_finds_nearly_all(tmp_path, spread, how, storage):
    _, vectors, Q = stored(tmp_path / "v", spread)
    told = []
    index = ApproximateIndex.build(
        vectors, tmp_path / "i", storage=storage, callback=lambda *now: told.append(now), **how
    )
    assert told[-1] == (N, N)
    recall = index.recall(Q, 10, n_probe=24)
    assert recall.mean > 0.97 and recall.per_query.shape == (200,)
    assert recall.interval[0] <= recall.mean <= recall.interval[1]
    # What is found has the very scores of an exact search.
    exact, found = exact_search(vectors, Q, 10), index.search(Q, 10, n_probe=24)
    same = exact.positions == found.positions
    assert same.mean() > 0.9 and (exact.scores[same] == found.scores[same]).all()
    assert (np.diff(found.scores, axis=1) <= 0).all()
    assert index.recall(Q, 10, n_probe=24, exact=exact).mean == recall.mean


def test_it_opens_again_builds_alike_and_more_candidates_find_more(tmp_path):
    _, vectors, Q = stored(tmp_path / "v", 0.0)
    for name in "ij":
        ApproximateIndex.build(vectors, tmp_path / name, n_lists=64)
    index = ApproximateIndex.open(tmp_path / "i", VectorShards(tmp_path / "v"))
    assert index.settings == {"storage": "float16", "n_lists": 64} and index.storage == "float16"
    files = [tmp_path / name / "index.faiss" for name in "ij"]
    assert files[0].read_bytes() == files[1].read_bytes()
    means = [index.recall(Q, 10, n_probe=n).mean for n in (1, 8, 64)]
    assert means[0] < means[1] < means[2] == 1


def test_few_items_and_a_single_one(tmp_path):
    model = get_method("cca")(3).fit(np.eye(5), np.eye(5))
    vectors = write_vectors(model, [np.eye(5)[:1], np.zeros((2, 5))], tmp_path / "v", "y")
    index = ApproximateIndex.build(vectors, tmp_path / "i")
    found = index.search(embed(model, np.eye(5)[:2], "x"), k=10)
    assert found.positions.shape == (2, 3) and sorted(found.positions[0].tolist()) == [0, 1, 2]
    assert found.positions[0, 0] == 0
    assert index.search(np.zeros((1, 3)), 1).scores.tolist() == [[0.0]]
    empty = write_vectors(model, [np.empty((0, 5))], tmp_path / "e", "y")
    assert exact_search(empty, np.zeros((2, 3))).positions.shape == (2, 0)
    with pytest.raises(ValueError, match="no items"):
        ApproximateIndex.build(empty, tmp_path / "no")


def test_from_a_text_to_ids(tmp_path):
    words = [f"word{i} word{i % 7}" for i in range(60)]
    pairs = PairSet.from_texts(words, [text.replace("word", "palabra") for text in words])
    pipeline = default_pipeline("cca", pairs, n_components=20).fit(pairs)
    vectors = write_vectors(pipeline, pairs.y, tmp_path / "v", "y")
    index = ApproximateIndex.build(vectors, tmp_path / "i")
    vectors.require_model(pipeline)
    found = index.search(embed(pipeline, pairs.x, "x"), 3)
    S = pipeline.similarity(pairs.x, pairs.y)
    np.testing.assert_allclose(found.scores, np.take_along_axis(S, found.positions, 1), atol=1e-6)
    assert found.ids(vectors)[0][0] == pairs.y.ids[S[0].argmax()]


def test_damaged_and_foreign_ones_are_refused(tmp_path):
    _, vectors, Q = stored(tmp_path / "v", 0.0)
    home = tmp_path / "i"
    ApproximateIndex.build(vectors, home)
    file, note = home / "index.faiss", home / "meta.json"
    good, meta = file.read_bytes(), json.loads(note.read_text())
    _, others, _ = stored(tmp_path / "w", 0.0, seed=1)
    with pytest.raises(StoreError, match="not built of the vectors"):
        ApproximateIndex.open(home, others)
    for bad in (b"", good[: len(good) // 2], b"IxFI" + good[4:], b"\xff" * 300, good[:9] + good):
        file.write_bytes(bad)
        for verify in (True, False):
            with pytest.raises(StoreError, match="Build it again"):
                ApproximateIndex.open(home, vectors, verify=verify)
    bad = bytearray(good)
    bad[len(bad) // 2] ^= 1
    file.write_bytes(bad)
    with pytest.raises(StoreError, match="not what was written"):
        ApproximateIndex.open(home, vectors)
    file.write_bytes(good)
    ApproximateIndex.open(home, vectors, verify=False).search(Q[:20], 3)
    for told in ({"format": "no"}, {"settings": None}, {"vectors": 3}):
        note.write_text(json.dumps(meta | told))
        with pytest.raises(StoreError):
            ApproximateIndex.open(home, vectors)
    note.unlink()
    with pytest.raises(StoreError, match=r"has no meta\.json"):
        ApproximateIndex.open(home, vectors)


def test_parameters_out_of_range_are_refused(tmp_path, monkeypatch):
    _, vectors, Q = stored(tmp_path / "v", 0.0)
    for how in ({"storage": "bits"}, {"n_lists": 0}):
        with pytest.raises(ValueError, match="storage is float16 or int8"):
            ApproximateIndex.build(vectors, tmp_path / "i", **how)
    index = ApproximateIndex.build(vectors, tmp_path / "i")
    with pytest.raises(ValueError, match="n_probe"):
        index.search(Q, n_probe=0)
    with pytest.raises(ValueError, match="12 dimensions"):
        index.search(Q[:, :3])
    with pytest.raises(StoreError, match="holds shards already"):
        ApproximateIndex.build(vectors, tmp_path / "i")
    monkeypatch.setattr(_extras, "find_spec", lambda name: None)
    with pytest.raises(MissingLibraryError, match=r'pip install "simviz\[search\]"'):
        ApproximateIndex.build(vectors, tmp_path / "j")
