"""What every transformer keeps to, so that a pipeline can train and store it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tiny_clip import TINY_CLIP

import simviz.features
from simviz.features import (
    Characters,
    HashedText,
    ImageDescriptor,
    MultiHot,
    PretrainedImages,
    PretrainedText,
    TextCounts,
    Tfidf,
    Trigrams,
    Vectors,
)
from simviz.persistence import load_state, save_state

pytestmark = pytest.mark.usefixtures("tiny_clip")
TEXTS = np.array(["a red heart", "a car, a red car", "sun; moon"], dtype=object)
IMAGES = np.random.default_rng(0).integers(0, 255, (3, 20, 20, 3), dtype=np.uint8)
CASES = [
    (TextCounts(ngram_range=(1, 2)), TEXTS),
    (TextCounts("char_wb", (3, 5)), TEXTS),
    (Tfidf(tf="log1p", stop_words=["a"]), TEXTS),
    (HashedText(64, "char_wb", (2, 3), tf="log1p"), TEXTS),
    (HashedText(64, idf=False, signed=False), TEXTS),
    (Characters(12, min_count=1), TEXTS),
    (Trigrams(n_unseen=4), TEXTS),
    (PretrainedText(), TEXTS),
    (PretrainedImages(TINY_CLIP), IMAGES),
    (MultiHot(), TEXTS),
    (MultiHot(";"), TEXTS),
    (ImageDescriptor(), IMAGES),
    (Vectors(normalize=True), np.eye(3, dtype=np.float32)),
    (Vectors(), sp.csr_array(np.eye(3))),
]
every = pytest.mark.parametrize(("model", "content"), CASES, ids=lambda v: repr(v)[:30])


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def test_every_exported_transformer_is_checked():
    public = {getattr(simviz.features, name) for name in simviz.features.__all__}
    classes = {c for c in public if isinstance(c, type)}
    assert classes == {type(model) for model, _ in CASES}


@every
def test_clone_has_the_parameters_and_nothing_learned(model, content):
    copy = clone(clone(model).fit(content))
    assert copy.get_params() == model.get_params()
    assert vars(copy).keys() == model.get_params().keys()
    with pytest.raises(NotFittedError):
        copy.transform(content)


@every
def test_fits_alike_in_one_step_or_two_and_keeps_its_state(model, content, tmp_path):
    before = dense(content).copy()
    fitted = clone(model).fit(content)
    assert all(name.endswith("_") for name in vars(fitted).keys() - fitted.get_params().keys())
    matrix, names = fitted.transform(content), fitted.get_feature_names_out()
    np.testing.assert_array_equal(dense(content), before)
    np.testing.assert_array_equal(dense(clone(model).fit_transform(content)), dense(matrix))
    assert matrix.dtype in (np.float32, np.float64)
    assert not sp.issparse(matrix) or isinstance(matrix, sp.csr_array)
    assert names.shape == (matrix.shape[1],) and len(set(names)) == len(names)
    save_state({"features": fitted}, tmp_path / "state")
    loaded = load_state(tmp_path / "state")["features"]
    np.testing.assert_array_equal(dense(loaded.transform(content)), dense(matrix))
