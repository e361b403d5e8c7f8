"""Every template is read without a complaint, in the roles that it shows."""

from __future__ import annotations

import pytest

from simviz.data import read_collection, read_pairs
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


@pytest.mark.parametrize("name", ["judgments.csv", "judgments.parquet"])
def test_graded_tables_are_understood_alike(name):
    result = read_pairs(make_template(name), name)
    assert (result.roles.x, result.roles.y, result.roles.label) == ("query", "document", "grade")
    assert result.pairs.relevance.unjudged == "ignore"
    assert sorted(result.pairs.relevance.matrix.data) == [-1, -1, 1, 2, 2]


def test_three_layouts_hold_the_same_judgments():
    names = ("judgments.csv", "collection.zip", "trec.zip")
    one, two, three = (read(name).pairs.relevance.matrix.toarray().tolist() for name in names)
    assert one == two == three


def test_unknown_template_is_named():
    with pytest.raises(DatasetError, match=r"'groups\.csw'.*'groups\.csv'"):
        make_template("groups.csw")
