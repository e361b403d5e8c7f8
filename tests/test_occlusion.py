import numpy as np
import pytest
from made_up import COLOURS

from simviz.data import Items, PairSet
from simviz.datasets import load_demo
from simviz.explain.terms import MAX_PARTS, occlude
from simviz.pipeline import default_pipeline


@pytest.fixture(scope="module")
def colours():
    words = [*COLOURS, "pink"]
    x, y = [f"{word} car on a road" for word in words], [f"one {word} thing" for word in words]
    return PairSet.from_texts(x, y)


@pytest.mark.parametrize("side", ["x", "y"])
def test_an_effect_is_the_score_less_that_without_the_part(colours, side):
    fitted = default_pipeline("cca", colours, n_components=3, shared=True).fit(colours)
    items = {"x": colours.x.take([1]), "y": colours.y.take([4])}
    found = occlude(fitted, *items.values(), side)
    assert found.score == pytest.approx(fitted.similarity(*items.values())[0, 0])
    text = str(items[side].content[0])
    assert [text[slice(*part)] for part in found.parts] == text.split()
    for (start, stop), effect in zip(found.parts, found.effects, strict=True):
        items[side] = Items(["w"], [f"{text[:start]} {text[stop:]}"], "text")
        score = fitted.similarity(*items.values())[0, 0]
        assert found.score - score == pytest.approx(effect, abs=1e-6)


def test_long_texts_are_hidden_a_few_words_at_a_time(colours):
    fitted = default_pipeline("tfidf_cosine", colours).fit(colours)
    text = " ".join(f"w{i}" for i in range(500)) + " green"
    found = occlude(fitted, Items(["q"], [text], "text"), colours.y.take([2]))
    assert len(found.parts) == MAX_PARTS
    assert found.parts[0][0] == 0 and found.parts[-1][1] == len(text)
    assert found.effects.argmax() == MAX_PARTS - 1


def test_patches_of_a_picture_cover_it():
    pairs = load_demo("icons")
    fitted = default_pipeline("heterogeneous_svd", pairs, n_components=10).fit(pairs)
    found = occlude(fitted, pairs.x.take([0]), pairs.y.take([0]), "y")
    covered = np.zeros(pairs.y.content.shape[1:3], dtype=int)
    for top, left, bottom, right in found.parts:
        covered[top:bottom, left:right] += 1
    assert (covered == 1).all()
    assert np.isfinite(found.effects).all() and found.effects.any()


def test_what_has_no_parts_is_not_explained(colours):
    fitted = default_pipeline("tfidf_cosine", colours).fit(colours)
    assert occlude(fitted, Items(["q"], ["green"], "text"), colours.y.take([0])) is None
    with pytest.raises(ValueError, match="one pair of items"):
        occlude(fitted, colours.x, colours.y.take([0]))
    with pytest.raises(ValueError, match="side is"):
        occlude(fitted, colours.x.take([0]), colours.y.take([0]), "z")
