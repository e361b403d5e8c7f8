import numpy as np

from simviz.datasets.emoji import load_emoji, merge


def test_english_and_spanish_names():
    pairs = load_emoji()
    assert pairs.shape[0] >= 1_870  # 1,923 in emoji 2.16
    assert pairs.relevance.unjudged == "negative"
    x = list(pairs.x.content).index("red heart")
    (y,) = pairs.relevance.positives[[x]].indices
    assert pairs.y.content[y] == "corazón rojo"
    assert pairs.x.labels[x] == pairs.y.labels[y] == "❤️"
    assert pairs.x.ids[x] == "2764-fe0f"


def test_names_are_plain_text_without_skin_tones():
    for side in (load_emoji().x, load_emoji().y):
        assert not any("_" in t or ":" in t or t != t.strip() for t in side.content)
        assert not any(0x1F3FB <= ord(c) <= 0x1F3FF for label in side.labels for c in label)


def test_same_text_becomes_one_item_with_the_first_glyph():
    items, index = merge(["sun", "moon", "sun"], ["a", "b", "c"])
    np.testing.assert_array_equal(items.content, ["sun", "moon"])
    np.testing.assert_array_equal(items.labels, ["a", "b"])
    assert index == [0, 1, 0]
