"""Every template is read without a complaint, in the roles that it shows."""

import pytest

from simviz.data import read_collection
from simviz.data.templates import TEMPLATES, make_template
from simviz.exceptions import DatasetError


def read(name):
    return read_collection({name: make_template(name)})


SHAPES = {
    "groups.csv": ("groups", "text", "text"),
    "triplets.csv": ("triplets", "text", "text"),
    "pictures.zip": ("pairs", "keyword", "image"),
    "folders.zip": ("pairs", "keyword", "image"),
    "captions.zip": ("pairs", "text", "image"),
    "vectors.npz": ("pairs", "vector", "vector"),
    "texts-and-vectors.jsonl": ("pairs", "text", "vector"),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_is_read_whole_and_has_the_shape_that_it_shows(name):
    result, (shape, *kinds) = read(name), SHAPES.get(name, ("pairs", "text", "text"))
    pairs = result.pairs
    assert not result.left_out and make_template(name) == make_template(name)
    assert (result.roles.shape, pairs.x.kind, pairs.y.kind) == (shape, *kinds)
    assert pairs.relevance.positives.nnz >= 2
    assert pairs.relevance.kind == ("score" if name == "scores.csv" else "grade")
    if name == "titles.jsonl":
        assert [*pairs.y.ids, *pairs.y.content] == ["g1", "g2", "nurses", "drivers"]
    if name == "pictures.zip":
        assert list(pairs.x.content) == ["red", "square", "blue", "circle"]
        assert pairs.relevance.positives.nnz == 6


def test_four_layouts_hold_the_same_judgments():
    names = ("judgments.csv", "judgments.parquet", "collection.zip", "trec.zip")
    found = [read(name).pairs.relevance.matrix.toarray().tolist() for name in names]
    assert found == found[:1] * 4
    assert sorted(value for row in found[0] for value in row if value) == [-1, -1, 1, 2, 2]


def test_unknown_template_is_named():
    with pytest.raises(DatasetError, match=r"'groups\.csw'.*'groups\.csv'"):
        make_template("groups.csw")
