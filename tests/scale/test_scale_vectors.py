"""Vectors in shards: written from models and pipelines, opened with suspicion."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client
from local_cluster import cluster_here
from made_up import saved

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.methods import get_method
from simviz.pipeline import BlendPipeline, default_pipeline, load_pipeline
from simviz.scale import SparseShards, VectorShards, embed, exact_search, write_vectors

ENGLISH = ["red heart", "blue car", "green tree", "white snow"]
SPANISH = ["corazón rojo", "coche azul", "árbol verde", "nieve blanca"]


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    return rng.random((40, 12)), rng.random((40, 9))


@pytest.fixture(scope="module")
def model(sides):
    return get_method("cca")(5).fit(*sides)


def products(model, sides, folder, **how):
    """Scores by stored vectors."""
    X, Y = sides
    vectors = write_vectors(model, [Y[:25], Y[25:]], folder, "y", **how)
    return embed(model, X, "x") @ np.concatenate(list(vectors)).astype(np.float32).T


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("cca", {}),
        ("mlc", {"measure": "dot"}),
        ("opca", {}),
        ("ssi", {"shared": False, "max_iter": 2}),
        ("ssi", {"shared": False, "max_iter": 2, "normalize": False}),
        ("jplsa", {"measure": "hellinger", "shared": False, "max_iter": 5}),
        ("kernel_cca", {}),
    ],
)
def test_inner_products_are_the_similarities(sides, tmp_path, method, settings):
    X, Y = sides if method != "mlc" else (sides[0], sides[0][::-1].copy())
    model = get_method(method)(4, **settings).fit(X, Y)
    found = products(model, (X, Y), tmp_path)
    np.testing.assert_allclose(found, model.similarity(X, Y), atol=2e-6, rtol=1e-5)


def test_half_precision_halves_the_files_and_nothing_is_overwritten(model, sides, tmp_path):
    found = products(model, sides, tmp_path, dtype="float16")
    np.testing.assert_allclose(found, model.similarity(*sides), atol=2e-3)
    assert VectorShards(tmp_path).dtype == np.float16
    with pytest.raises(StoreError, match="holds shards already"):
        write_vectors(model, [sides[1]], tmp_path, "y")


def test_pipelines_take_texts_items_and_ready_features(tmp_path):
    pairs = PairSet.from_texts(ENGLISH, SPANISH)
    pipeline = default_pipeline("cca", pairs, n_components=3).fit(pairs)
    features = sp.csr_array(pipeline.y_features_.transform(pairs.y.content))
    ids = ["a", "b", "é", "\ud800"]
    texts, items, ready = (
        write_vectors(pipeline, given, tmp_path / name, "y")
        for name, given in (
            ("texts", [SPANISH[:3], SPANISH[3:]]),
            ("items", pairs.y),
            ("ready", SparseShards.write(tmp_path / "csr", [features], [ids])),
        )
    )
    expected = pipeline.similarity(pairs.x, pairs.y)
    for vectors in (texts, items, ready):
        found = embed(pipeline, pairs.x, "x") @ np.concatenate(list(vectors)).T
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert texts.ids(0) is None and items.ids(0) == pairs.y.ids.tolist()
    assert ready.ids(0) == ids and ready.ids_at([3, 0]) == ["\ud800", "a"]
    found = exact_search(ready, embed(pipeline, ["a blue car"], "x"), k=1)
    assert found.ids(ready) == [["b"]]


def test_a_model_is_known_again(model, sides, tmp_path):
    other = get_method("cca")(4).fit(*sides)
    first, same, different = (
        write_vectors(made, [sides[1]], tmp_path / name, "y")
        for name, made in (("a", model), ("b", model), ("c", other))
    )
    first.require_model(model)
    with pytest.raises(StoreError, match="another model"):
        first.require_model(other)
    assert same.digest == first.digest != different.digest


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("cca", {}),
        ("jplsa", {"max_iter": 2, "measure": "cosine"}),
        ("ssi", {"shared": False, "max_iter": 2}),
    ],
)
def test_a_stored_model_is_known_again(tmp_path, method, params):
    pairs = PairSet.from_texts(ENGLISH, SPANISH)
    pipeline = default_pipeline(method, pairs, n_components=2, **params).fit(pairs)
    pipeline.save(tmp_path / "model.simviz")
    vectors = write_vectors(pipeline, [SPANISH], tmp_path / "vectors", "y")
    vectors.require_model(load_pipeline(tmp_path / "model.simviz"))


def test_rows_of_any_number_are_copied_in_order(model, sides, tmp_path, monkeypatch):
    Y = sides[1]
    vectors = write_vectors(model, [Y[:7], Y[:0], Y[7:]], tmp_path, "y")
    whole = np.concatenate(list(vectors))
    for few in (0, 100):
        monkeypatch.setattr("simviz.scale.vectors.COPY_SINGLY", few)
        wanted = np.random.default_rng(0).integers(0, 40, 30)
        assert (vectors.take(wanted) == whole[wanted]).all()
    with pytest.raises(IndexError, match="from 0 to 39"):
        vectors.take([40])
    again = pickle.loads(pickle.dumps(vectors))
    assert (again.take([3]) == whole[3]).all()
    vectors.verify()


def test_models_without_such_vectors_are_refused(sides, tmp_path):
    X = sides[0]
    pairs = PairSet.from_texts(ENGLISH, SPANISH)
    blend = BlendPipeline(
        default_pipeline("cca", pairs, n_components=2), default_pipeline("ngram_matcher", pairs)
    )
    refused = [
        (get_method("ssi")(2, shared=True, max_iter=1).fit(X, X), X, "shared=False"),
        (get_method("bm25")().fit(X, X), X, "no inner product"),
        (get_method("jplsa")(3, max_iter=2).fit(X, X), X, "hellinger"),
        (blend.fit(pairs), [SPANISH], "a blend mixes"),
    ]
    for model, items, message in refused:
        with pytest.raises(ValueError, match=message):
            write_vectors(model, items, tmp_path / "no", "y")
    assert not (tmp_path / "no").exists()


def test_bad_batches_are_refused(model, sides, tmp_path):
    Y = sides[1]
    pairs = PairSet.from_texts(ENGLISH, SPANISH)
    pipeline = default_pipeline("cca", pairs, n_components=2).fit(pairs)
    huge = get_method("mlc")(3, measure="dot").fit(Y, Y)
    huge.y_projection_ = huge.y_projection_ * 1e6
    calls = [
        ((model, [], "y"), "nothing to embed", {}),
        ((pipeline, SPANISH, "y"), "list of lists", {}),
        ((model, [Y], "z"), "side must be", {}),
        ((model, [Y], "y"), "dtype must be", {"dtype": "int8"}),
        ((model, [Y], "y"), "SparseShards", {"client": object()}),
        ((pipeline, [pairs.y, SPANISH], "y"), "Some batches have ids", {}),
        ((huge, [Y], "y"), "too long for float16", {"dtype": "float16"}),
    ]
    for i, ((what, items, side), message, how) in enumerate(calls):
        with pytest.raises(ValueError, match=message):
            write_vectors(what, items, tmp_path / str(i), side, **how)
        with pytest.raises(StoreError, match=r"has no meta\.json"):
            VectorShards(tmp_path / str(i))


@pytest.mark.parametrize(
    "told",
    [
        {"format": "simviz-csr-1"},
        {"names": ["../../etc/passwd", "part-00001"]},
        {"names": ["part-00000"]},
        *({"rows": rows} for rows in ([25, 16], [25, -1], [25, True], 3, [10**30, 1])),
        *({"n_components": number} for number in (4, 0)),
        *({"dtype": name} for name in ("float16", "object", "no type")),
        {"side": "z"},
        {"similarity": "euclidean"},
        {"longest": [float("nan"), 1]},
        {"shortest": ["a", 1]},
        {"sha256": []},
        {"model": None, "ids": None, "rows": None},
    ],
)
def test_a_note_that_lies_is_refused(model, sides, tmp_path, told):
    products(model, sides, tmp_path)
    note = tmp_path / "meta.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | told))
    with pytest.raises(StoreError):
        VectorShards(tmp_path)


def test_hostile_files_are_refused(model, sides, tmp_path):
    ids = [f"id {i}" for i in range(40)]
    part, ends = tmp_path / "part-00000.npy", tmp_path / "part-00000.id_ends.npy"
    shards = SparseShards.write(tmp_path / "f", [sp.csr_array(sides[1])], [ids])
    vectors = write_vectors(model, shards, tmp_path, "y")
    good = part.read_bytes()

    class Evil:
        def __reduce__(self):
            return (Path(tmp_path / "ran").touch, ())

    def saved_as(array):
        return saved(np.save, array, allow_pickle=True)

    for bad, words in (
        (saved_as(np.array([Evil()], dtype=object)), "Python objects"),
        (pickle.dumps(Evil()), "part-00000"),
        *((cut, "Write the folder again") for cut in (good[:-4], b"")),
        (saved_as(np.zeros((40, 5))), "Write the folder again"),
        (saved_as(np.zeros((40, 6), np.float32)), "Write the folder again"),
    ):
        part.write_bytes(bad)
        with pytest.raises(StoreError, match=words):
            VectorShards(tmp_path)
    assert not (tmp_path / "ran").exists()
    part.write_bytes(good[:-1] + b"\0")
    with pytest.raises(StoreError, match="not what was written"):
        VectorShards(tmp_path).verify()
    part.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        VectorShards(tmp_path)
    part.write_bytes(good)
    assert VectorShards(tmp_path).ids(0) == ids
    for wrong in ([10**12] * 40, [5] + [1] * 38 + [240]):
        np.save(ends, np.array(wrong, dtype=np.int64))
        with pytest.raises(StoreError):
            VectorShards(tmp_path).ids(0)
    ends.unlink()
    assert vectors.n_items == 40
    with pytest.raises(StoreError, match="cannot be read"):
        VectorShards(tmp_path).ids_at([0])


def test_workers_write_the_same(model, sides, tmp_path):
    Y = sp.csr_array(sides[1])
    shards = SparseShards.write(tmp_path / "csr", [Y[i : i + 6] for i in range(0, 40, 6)])
    here = write_vectors(model, shards, tmp_path / "here", "y")
    with cluster_here(1, processes=False, protocol="tcp://") as made, Client(made) as client:
        there = write_vectors(model, shards, tmp_path / "there", "y", client=client)
    assert there.digest == here.digest and len(there) == 7
