"""Items and pair sets: frozen, distinct, with a digest of their content."""

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data.pairs import Items, PairSet
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance


def make(ids=("a", "b"), content=("one", "two"), kind="text", **metadata):
    return Items(ids, content, kind, metadata)


def test_items_are_frozen():
    items = make(colour=["red", "blue"])
    for array in (items.ids, items.content, items.metadata["colour"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = "x"
    with pytest.raises(TypeError):
        items.metadata["new"] = np.zeros(2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": ("a", "a")}, "'a' occurs more than once"),
        ({"content": ("one",)}, "2 ids and 1 contents"),
        ({"content": ("one", 2)}, "item 1 is a int"),
        ({"kind": "sound"}, "kind must be one of"),
        ({"colour": ["red"]}, "'colour' has 1 values for 2 items"),
        ({"kind": "image", "content": np.zeros((2, 4, 4))}, "uint8"),
        ({"kind": "vector", "content": np.array([[1.0], [np.nan]])}, "finite"),
        ({"kind": "vector", "content": np.zeros(2)}, "numeric matrix"),
    ],
)
def test_content_that_does_not_fit_is_refused(change, words):
    with pytest.raises(DatasetError, match=words):
        make(**change)


def test_digest_tells_content_apart_and_boundaries_count():
    base = make()
    assert base.digest == make().digest
    different = [
        make(content=("onet", "wo")),
        make(ids=("a", "c")),
        make(kind="keyword"),
        make(colour=["red", "blue"]),
        base.take([1, 0]),
        make(kind="vector", content=np.eye(2)),
        make(kind="vector", content=sp.csr_array(np.eye(2))),
        make(kind="vector", content=sp.csr_array(2 * np.eye(2))),
    ]
    assert len({base.digest, *(d.digest for d in different)}) == 9


def test_labels_prefer_the_label_then_the_text_then_the_id():
    assert make(label=["x", "y"]).labels.tolist() == ["x", "y"]
    assert make().labels.tolist() == ["one", "two"]
    assert make(kind="vector", content=np.eye(2)).labels.tolist() == ["a", "b"]


def test_pairs_slice_and_swap():
    pairs = PairSet.from_texts(["a", "b", "c"], ["d", "e", "f"], name="letters")
    part = pairs.take([2, 0], [0, 1, 2])
    assert part.relevance.matrix.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert part.x.content.tolist() == ["c", "a"]
    assert part.swap().shape == (3, 2)
    assert part.swap().swap().digest == part.digest
    assert part.name == "letters"


def test_empty_side_and_wrong_shape_are_refused():
    items = make()
    with pytest.raises(DatasetError, match="y side is empty"):
        PairSet(items, items.take([]), Relevance(sp.csr_array((2, 0))))
    with pytest.raises(DatasetError, match="2 and 2 items"):
        PairSet(items, items, Relevance.identity(3))


def test_digest_is_taken_once_and_never_inherited(monkeypatch):
    pairs = PairSet.from_texts(["a", "b"], ["c", "d"])
    first = pairs.digest
    part = pairs.take([0])
    monkeypatch.setattr(Items, "digest", property(lambda self: "another"))
    assert pairs.digest == first
    assert part.digest != first


@pytest.mark.parametrize("kind", ["text", "keyword"])
@pytest.mark.parametrize("as_array", [False, True])
def test_halves_of_characters_are_replaced_where_items_are_made(kind, as_array):
    texts = ["a\ud800", "\udc00é", "\U0001f600"]
    given = np.array(texts, dtype=object) if as_array else texts
    if as_array:
        given.flags.writeable = False
    mixed = np.array(["\ud800", None, 2.5], object)
    items = Items(given, given, kind, {"label\ud800": given, "n": [1, 2, 3], "mixed": mixed})
    wanted = ["a\ufffd", "\ufffdé", "\U0001f600"]
    assert list(items.ids) == list(items.content) == wanted
    assert list(items.metadata) == ["label\ufffd", "n", "mixed"]
    assert list(items.metadata["label\ufffd"]) == wanted
    assert list(items.metadata["mixed"]) == ["\ufffd", None, 2.5]
    assert texts[0] == "a\ud800" and given[0] == "a\ud800"
    assert list(PairSet.from_texts(texts, wanted).x.content) == wanted
