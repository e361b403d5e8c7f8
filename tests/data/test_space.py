"""Whether vectors of both sides are of one space: guessed from the pairs, or said."""

import numpy as np
import pytest

import simviz
from simviz.data import guess_space
from simviz.data.pairs import PairSet, as_items
from simviz.exceptions import DatasetError
from simviz.pipeline import default_pipeline, same_vocabulary
from simviz.relevance import Relevance
from simviz.store.datasets import read_pairs, write_pairs

N, D = 120, 16


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    turn = np.linalg.qr(rng.standard_normal((D, D)))[0]
    return X, X + rng.standard_normal((N, D)), X @ turn


def test_one_encoder_is_told_from_two(vectors):
    X, near, turned = vectors
    one, two = (simviz.from_frame(x=X, y=Y).pairs for Y in (near, turned))
    assert guess_space(one).space == "one"
    assert "nearer than others in cosine: AUC 0." in guess_space(one).reason
    assert guess_space(two).space == "two"
    # The usual way to train follows.
    assert default_pipeline("cca", one).model.shared
    assert not default_pipeline("cca", two).model.shared


def test_the_interval_decides_and_covers_the_auc(vectors):
    X, near, _ = vectors
    pairs = PairSet(as_items(X), as_items(near), Relevance.identity(N))
    words = guess_space(pairs).reason
    auc, low, high = (
        float(word.strip(".,")) for word in words.split() if word[:2] in ("0.", "1.")
    )
    unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (X, near)]
    scores = unit[0] @ unit[1].T
    others = scores[~np.eye(N, dtype=bool)]
    exact = float(np.mean(scores.diagonal()[:, None] > others))
    assert low <= exact <= high and low < auc < high
    # Little said by few pairs: the interval is wide, or there is none.
    assert guess_space(pairs.take(range(9), range(9))).space == "two"
    weak = np.random.default_rng(1).standard_normal((20, D))
    small = PairSet(as_items(X[:20]), as_items(0.12 * X[:20] + weak), Relevance.identity(20))
    assert guess_space(small).space == "two"


def test_what_is_said_wins_and_stays(vectors, tmp_path):
    X, near, _ = vectors
    guessed = simviz.from_frame(x=X, y=near).pairs
    said = simviz.from_frame(x=X, y=near, space="two").pairs
    assert (guessed.space, said.space) == (None, "two")
    assert said.digest != guessed.digest
    assert not same_vocabulary(said)
    assert said.take(range(50)).space == said.swap().space == "two"
    assert simviz.split(said).train.space == "two"
    write_pairs(said, tmp_path)
    again = read_pairs(tmp_path)
    assert (again.space, again.digest) == (said.space, said.digest)


def test_sides_that_cannot_be_of_one_space_are_refused(vectors):
    X, *_ = vectors
    with pytest.raises(DatasetError, match="of one width"):
        simviz.from_frame(x=X, y=X[:, :3], space="one")
    with pytest.raises(DatasetError, match="'one' or 'two'"):
        simviz.from_frame(x=X, y=X, space="both")


def test_texts_of_one_language_may_be_said_to_be_of_two():
    texts = [f"number {i}" for i in range(20)]
    assert same_vocabulary(simviz.from_frame(x=texts, y=texts[::-1]).pairs)
    said = simviz.from_frame(x=texts, y=texts[::-1], space="two").pairs
    assert not same_vocabulary(said)
