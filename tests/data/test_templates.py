"""Every template is read without a complaint, in the roles that it shows."""

from __future__ import annotations

import pytest

from simviz.data import read_collection, read_images, read_pairs
from simviz.data.templates import TEMPLATES, make_template
from simviz.exceptions import DatasetError


def read(name):
    return read_collection({name: make_template(name)})


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_is_read_whole(name):
    result = read(name)
    assert not result.left_out
    assert result.pairs.relevance.positives.nnz >= 2
    assert make_template(name) == make_template(name)


SHAPES = {
    "pairs.tsv": ("pairs", "text", "text"),
    "scores.csv": ("pairs", "text", "text"),
    "groups.csv": ("groups", "text", "text"),
    "triplets.csv": ("triplets", "text", "text"),
    "collection.zip": ("pairs", "text", "text"),
    "trec.zip": ("pairs", "text", "text"),
    "pictures.zip": ("pairs", "keyword", "image"),
    "folders.zip": ("pairs", "keyword", "image"),
    "captions.zip": ("pairs", "text", "image"),
    "vectors.npz": ("pairs", "vector", "vector"),
    "texts-and-vectors.jsonl": ("pairs", "text", "vector"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_template_has_the_shape_that_it_shows(name):
    result = read(name)
    assert (result.roles.shape, result.pairs.x.kind, result.pairs.y.kind) == SHAPES[name]


@pytest.mark.parametrize("name", ["judgments.csv", "judgments.parquet"])
def test_graded_tables_are_understood_alike(name):
    result = read_pairs(make_template(name), name)
    assert (result.roles.x, result.roles.y, result.roles.label) == ("query", "document", "grade")
    assert result.pairs.relevance.unjudged == "ignore"
    assert sorted(result.pairs.relevance.matrix.data) == [-1, -1, 1, 2, 2]


def test_three_layouts_hold_the_same_judgments():
    matrices = [
        read(name).pairs.relevance.matrix.toarray().tolist()
        for name in ("judgments.csv", "collection.zip", "trec.zip")
    ]
    assert matrices[0] == matrices[1] == matrices[2]


def test_scores_stay_scores():
    assert read("scores.csv").pairs.relevance.kind == "score"


def test_titles_keep_their_group_ids():
    pairs = read_pairs(make_template("titles.jsonl"), "titles.jsonl").pairs
    assert list(pairs.y.ids) == ["g1", "g2"]
    assert list(pairs.y.content) == ["nurses", "drivers"]


def test_pictures_have_their_keywords():
    result = read_images(make_template("pictures.zip"), name="pictures.zip")
    assert list(result.pairs.x.content) == ["red", "square", "blue", "circle"]
    assert result.pairs.y.content.shape == (3, 64, 64, 3)
    assert result.pairs.relevance.positives.nnz == 6


def test_unknown_template_is_named():
    with pytest.raises(DatasetError, match=r"'groups\.csw'.*'groups\.csv'"):
        make_template("groups.csw")
