import numpy as np
import pytest

from simviz.datasets import icons
from simviz.datasets.icons import MIN_USES, load_icons
from simviz.exceptions import DatasetError


@pytest.fixture(scope="module")
def pairs():
    return load_icons()


def test_keywords_are_frequent_and_icons_have_some(pairs):
    assert pairs.relevance.unjudged == "negative"
    assert pairs.relevance.positives.sum(axis=1).min() == MIN_USES
    assert 4.5 < pairs.relevance.positives.nnz / len(pairs.y) < 5.5


def test_keywords_are_trimmed_lower_case_words(pairs):
    assert all(w == w.strip().lower() and w for w in pairs.x.content)
    assert "user" in pairs.x.content
    assert "uer" not in pairs.x.content


def test_a_known_icon_has_its_keywords(pairs):
    heart = list(pairs.y.metadata["name"]).index("heart")
    words = pairs.x.content[pairs.relevance.T.positives[[heart]].indices]
    assert {"heart", "love"} <= set(words)
    assert pairs.y.labels[heart] == "Heart"


def test_pictures_are_dark_on_white_and_centred(pairs):
    pixels = pairs.y.content
    assert pixels.shape[1:] == (64, 64)
    assert pixels.dtype == np.uint8
    ink = pixels < 255
    for axis in (1, 2):
        profile = ink.any(axis=axis)
        assert profile.any(axis=1).all()
        # As much white before the first as after the last line of ink, up to one pixel.
        before = profile.argmax(axis=1)
        after = profile[:, ::-1].argmax(axis=1)
        assert before.min() > 0
        assert after.min() > 0
        assert np.abs(before - after).max() <= 1
    # Two icons differ by their place alone: a bar in the middle, a bar at the bottom.
    assert len({image.tobytes() for image in pixels}) >= len(pixels) - 1


def test_missing_file_names_the_release_to_install():
    with pytest.raises(DatasetError, match=r"no metadata/other\.json.*fontawesomefree>=6\.6"):
        icons._read("metadata/other.json")
