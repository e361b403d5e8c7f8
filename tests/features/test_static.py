"""Static encoders in a folder: read without torch, refused where they are hostile."""

import json
import sys

import numpy as np
import pytest

import simviz
from simviz import _extras
from simviz.features import PretrainedText, _static as static

tokenizers = pytest.importorskip("tokenizers", reason="belongs to the extra 'static'")
safetensors = pytest.importorskip("safetensors.numpy", reason="belongs to the extra 'static'")
WORDS = ("[UNK]", "red", "blue", "car", "sea")
ROWS = np.array([[9, 9, 9], [1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=np.float16)


def write(folder, rows=ROWS, name="embeddings", config=None):
    """A model of five words."""
    folder.mkdir(exist_ok=True)
    words = {word: i for i, word in enumerate(WORDS)}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model.save(str(folder / "tokenizer.json"))
    safetensors.save_file({name: rows}, folder / "model.safetensors")
    about = {"model_type": "model2vec"} if config is None else config
    (folder / "config.json").write_text(json.dumps(about))
    return str(folder)


def test_a_text_is_the_mean_of_its_tokens_without_torch(tmp_path, monkeypatch):
    for name in ("torch", "sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    texts = ["red car", "blue elephant", "", "elephant"]
    found = PretrainedText(write(tmp_path / "m")).fit_transform(texts)
    mean = np.array([2, 0, 1]) / 5**0.5
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [mean, [0, 1, 0], [0, 0, 0], [0, 0, 0]], atol=1e-6)


def test_a_folder_is_named_as_features_and_stays_with_the_model(tmp_path):
    folder = write(tmp_path / "m")
    pairs = simviz.data.PairSet.from_texts(["red", "blue"], ["red car", "blue sea"])
    made = simviz.default_pipeline("cosine", pairs, features=f"pretrained:{folder}").fit(pairs)
    assert made.similarity(pairs.x, pairs.y).argmax(axis=1).tolist() == [0, 1]
    made.save(tmp_path / "m.simviz")
    again = simviz.load_pipeline(tmp_path / "m.simviz")
    assert (again.similarity(pairs.x, pairs.y) == made.similarity(pairs.x, pairs.y)).all()


@pytest.mark.parametrize(
    ("rows", "name", "words"),
    [
        (ROWS.ravel(), "embeddings", "matrix of floating numbers"),
        (ROWS.astype(np.int64), "embeddings", "matrix of floating numbers"),
        (ROWS[:3], "embeddings", "knows 5 tokens, embeddings has 3"),
        (np.where(ROWS == 9, np.nan, ROWS), "embeddings", "not finite"),
        (ROWS, "weight", "one tensor, embeddings"),
    ],
)
def test_matrices_that_cannot_be_are_refused(tmp_path, rows, name, words):
    with pytest.raises(ValueError, match=words):
        PretrainedText(write(tmp_path / "bad", rows, name)).fit(["red"])


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_damaged_missing_and_large_files_are_refused(tmp_path, monkeypatch, name):
    folder = tmp_path / "m"
    write(folder)
    (folder / name).write_bytes(b"\x80\x04not a model")
    with pytest.raises(ValueError, match=f"{name} cannot be read"):
        static.StaticModel(str(folder))
    (folder / name).unlink()
    with pytest.raises(ValueError, match=f"{name} is not there"):
        static.StaticModel(str(folder))
    write(folder)
    monkeypatch.setitem(static._FILES, name, 5)
    with pytest.raises(ValueError, match="more than 5 bytes"):
        static.StaticModel(str(folder))


def test_what_is_missing_is_named_with_the_command(tmp_path, monkeypatch):
    folder = write(tmp_path / "m")
    monkeypatch.setitem(_extras.LIBRARIES, "static", ("no_such_library",))
    with pytest.raises(ImportError, match=r'pip install "simviz\[static\]"'):
        PretrainedText(folder).fit(["red"])


@pytest.mark.parametrize("config", [{"model_type": "bert"}, [], "model2vec"])
def test_other_folders_are_no_static_models(tmp_path, config):
    assert not static.is_static(write(tmp_path / "m", config=config))
    assert not static.is_static(str(tmp_path / "nowhere"))
