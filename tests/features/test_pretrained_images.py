"""Pictures and texts by one pretrained encoder: a tiny one with random weights, made here."""

import importlib.util

import numpy as np
import pytest

from simviz.data import Items, PairSet
from simviz.exceptions import MissingLibraryError
from simviz.features import MultiHot, PretrainedImages, PretrainedText
from simviz.methods import get_method
from simviz.pipeline import PairPipeline, default_pipeline, load_pipeline
from simviz.relevance import Relevance

# To import it takes seconds, and here it is only asked whether it is there.
if importlib.util.find_spec("sentence_transformers") is None:
    pytest.skip("an optional library", allow_module_level=True)


@pytest.fixture
def folder(tiny_clip):
    return tiny_clip


def pictures(n, *channels):
    return np.random.default_rng(0).integers(0, 256, (n, 20, 20, *channels), dtype=np.uint8)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_pictures_become_unit_vectors_of_the_space_of_texts(folder, channels):
    X = pictures(70, *channels)
    images = PretrainedImages(folder).fit(X)
    rows = images.transform(X)
    assert rows.shape == (70, 8) and rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(images.transform(X[::-1]), rows[::-1])
    assert PretrainedText(folder).fit(["red"]).n_dimensions_ == images.n_dimensions_
    assert len(images.get_feature_names_out()) == 8


def paired(kind):
    ids = [f"{i}" for i in range(30)]
    content = [f"{a}{b}" for a in "abcdef" for b in "uvwxy"]
    x = Items(ids, pictures(30) if kind == "image" else content, kind)
    return PairSet(x, Items(ids, pictures(30, 3), "image"), Relevance.identity(30))


@pytest.mark.parametrize(
    ("kind", "reader"),
    [("text", PretrainedText), ("keyword", MultiHot), ("image", PretrainedImages)],
)
def test_a_model_that_is_named_reads_what_it_can(folder, kind, reader):
    pairs = paired(kind)
    made = default_pipeline("cca", pairs, features=f"pretrained:{folder}", n_components=3)
    sides = made.x_features, made.y_features
    assert [type(side) for side in sides] == [reader, PretrainedImages]
    assert all(side.model == folder for side in sides if not isinstance(side, MultiHot))
    assert made.fit(pairs).transform_y(pairs.y).shape == (30, 3)
    unnamed = default_pipeline("cca", pairs, features="pretrained")
    assert repr(unnamed.y_features) == "PretrainedImages()"


def test_without_the_extra_pictures_are_not_encoded(folder, monkeypatch):
    monkeypatch.setattr("simviz.pipeline._defaults.why_unavailable", lambda: "Install it.")
    with pytest.raises(MissingLibraryError, match="Install it"):
        default_pipeline("cca", paired("keyword"), features=f"pretrained:{folder}")


def test_words_and_pictures_are_adapted_and_stored(folder, tmp_path):
    pairs = paired("keyword")
    sides = PretrainedText(folder), PretrainedImages(folder)
    fitted = PairPipeline(get_method("cca")(3), *sides).fit(pairs)
    fitted.save(tmp_path / "clip.simviz")
    again = load_pipeline(tmp_path / "clip.simviz")
    expected = fitted.similarity(pairs.x, pairs.y)
    np.testing.assert_array_equal(again.similarity(pairs.x, pairs.y), expected)


def test_what_cannot_be_read_is_refused(folder):
    with pytest.raises(ValueError, match="reads texts only"):
        PretrainedImages("all-MiniLM-L6-v2").fit(pictures(2))
    with pytest.raises(ValueError, match="PretrainedImages takes a uint8 array"):
        PretrainedImages(folder).fit(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="batch_size"):
        PretrainedImages(folder, batch_size=0).fit(pictures(2))
