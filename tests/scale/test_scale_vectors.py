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

from simviz.data import PairSet
from simviz.data.pairs import Items
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


def test_half_precision_halves_the_files(model, sides, tmp_path):
    found = products(model, sides, tmp_path, dtype="float16")
    np.testing.assert_allclose(found, model.similarity(*sides), atol=2e-3)
    assert VectorShards(tmp_path).dtype == np.float16


def test_pipelines_take_texts_items_and_ready_features(tmp_path):
    pairs = PairSet.from_texts(ENGLISH, SPANISH)
    pipeline = default_pipeline("cca", pairs, n_components=3).fit(pairs)
    texts = write_vectors(pipeline, [SPANISH[:3], SPANISH[3:]], tmp_path / "texts", "y")
    items = write_vectors(pipeline, pairs.y, tmp_path / "items", "y")
    features = sp.csr_array(pipeline.y_features_.transform(pairs.y.content))
    shards = SparseShards.write(tmp_path / "csr", [features], [["a", "b", "é", "\ud800"]])
    ready = write_vectors(pipeline, shards, tmp_path / "ready", "y")
    expected = pipeline.similarity(pairs.x, pairs.y)
    for vectors in (texts, items, ready):
        found = embed(pipeline, pairs.x, "x") @ np.concatenate(list(vectors)).T
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert texts.ids(0) is None and items.ids(0) == pairs.y.ids.tolist()
    assert ready.ids(0) == ["a", "b", "é", "\ud800"] and ready.ids_at([3, 0]) == ["\ud800", "a"]
    found = exact_search(ready, embed(pipeline, ["a blue car"], "x"), k=1)
    assert found.ids(ready) == [["b"]]


def test_a_model_is_known_again(model, sides, tmp_path):
    vectors = write_vectors(model, [sides[1]], tmp_path / "a", "y")
    vectors.require_model(model)
    other = get_method("cca")(4).fit(*sides)
    with pytest.raises(StoreError, match="another model"):
        vectors.require_model(other)
    same = write_vectors(model, [sides[1]], tmp_path / "b", "y")
    other_vectors = write_vectors(other, [sides[1]], tmp_path / "c", "y")
    assert same.digest == vectors.digest != other_vectors.digest


def test_a_stored_model_is_known_again(tmp_path):
    pairs = PairSet.from_texts(ENGLISH, SPANISH)
    for method in ("cca", "jplsa", "ssi"):
        how = {"cca": {}, "ssi": {"shared": False, "max_iter": 2}, "jplsa": {"max_iter": 2}}
        pipeline = default_pipeline(method, pairs, n_components=2, **how[method])
        if method == "jplsa":
            pipeline.model.set_params(measure="cosine")
        pipeline.fit(pairs).save(tmp_path / "model.simviz")
        vectors = write_vectors(pipeline, [SPANISH], tmp_path / method, "y")
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


def lie(folder, **told):
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | told))


@pytest.mark.parametrize(
    "told",
    [
        {"format": "simviz-csr-1"},
        {"names": ["../../etc/passwd", "part-00001"]},
        {"names": ["part-00000"]},
        {"rows": [25, 16]},
        {"rows": [25, -1]},
        {"rows": [25, True]},
        {"rows": 3},
        {"rows": [10**30, 1]},
        {"n_components": 4},
        {"n_components": 0},
        {"dtype": "float16"},
        {"dtype": "object"},
        {"dtype": "no type"},
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
    lie(tmp_path, **told)
    with pytest.raises(StoreError):
        VectorShards(tmp_path)


def test_hostile_files_are_refused(model, sides, tmp_path):
    ids = [f"id {i}" for i in range(40)]
    items = Items(ids, sides[1], "vector")
    part = tmp_path / "part-00000.npy"
    write_vectors(model, SparseShards.write(tmp_path / "f", [sp.csr_array(sides[1])], [items.ids]),
                  tmp_path, "y")  # fmt: skip
    good = part.read_bytes()
    vectors = VectorShards(tmp_path)

    class Evil:
        def __reduce__(self):
            return (Path(tmp_path / "ran").touch, ())

    np.save(part, np.array([Evil()], dtype=object), allow_pickle=True)
    with pytest.raises(StoreError, match="Python objects"):
        VectorShards(tmp_path)
    part.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(StoreError):
        VectorShards(tmp_path)
    assert not (tmp_path / "ran").exists()
    for bad in (good[:-4], b"", np.zeros((40, 5)), np.zeros((40, 6), np.float32)):
        if isinstance(bad, bytes):
            part.write_bytes(bad)
        else:
            np.save(part, bad)
        with pytest.raises(StoreError, match="Write the folder again"):
            VectorShards(tmp_path)
    part.write_bytes(good[:-1] + b"\0")
    with pytest.raises(StoreError, match="not what was written"):
        VectorShards(tmp_path).verify()
    part.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        VectorShards(tmp_path)
    part.write_bytes(good)
    assert VectorShards(tmp_path).ids(0) == ids
    ends = tmp_path / "part-00000.id_ends.npy"
    for wrong in ([10**12] * 40, [5] + [1] * 38 + [240]):
        np.save(ends, np.array(wrong, dtype=np.int64))
        with pytest.raises(StoreError):
            VectorShards(tmp_path).ids(0)
    ends.unlink()
    assert vectors.n_items == 40
    with pytest.raises(StoreError, match="cannot be read"):
        VectorShards(tmp_path).ids_at([0])


def test_what_is_there_is_not_overwritten(model, sides, tmp_path):
    products(model, sides, tmp_path)
    with pytest.raises(StoreError, match="holds shards already"):
        write_vectors(model, [sides[1]], tmp_path, "y")


def test_workers_write_the_same(model, sides, tmp_path):
    Y = sp.csr_array(sides[1])
    shards = SparseShards.write(tmp_path / "csr", [Y[i : i + 6] for i in range(0, 40, 6)])
    here = write_vectors(model, shards, tmp_path / "here", "y")
    with cluster_here(1, processes=False, protocol="tcp://") as made, Client(made) as client:
        there = write_vectors(model, shards, tmp_path / "there", "y", client=client)
    assert there.digest == here.digest and len(there) == 7
