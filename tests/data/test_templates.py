"""Every template is read without a complaint, in the roles that it shows."""

from __future__ import annotations

import pytest

from simviz.data import read_images, read_pairs
from simviz.data.templates import TEMPLATES, make_template
from simviz.exceptions import DatasetError


@pytest.mark.parametrize("suffix", [s for s in TEMPLATES if s != ".zip"])
def test_table_is_read_whole(suffix):
    result = read_pairs(make_template(suffix), f"template{suffix}")
    assert not result.left_out
    assert result.pairs.relevance.positives.nnz >= 3
    assert make_template(suffix) == make_template(suffix)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_graded_tables_are_understood_alike(suffix):
    result = read_pairs(make_template(suffix), f"template{suffix}")
    assert (result.roles.x, result.roles.y, result.roles.label) == ("query", "document", "grade")
    assert result.pairs.relevance.unjudged == "ignore"
    assert sorted(result.pairs.relevance.matrix.data) == [-1, -1, 1, 2, 2]


def test_titles_keep_their_group_ids():
    pairs = read_pairs(make_template(".jsonl"), "titles.jsonl").pairs
    assert list(pairs.y.ids) == ["g1", "g2"]
    assert list(pairs.y.content) == ["nurses", "drivers"]


def test_pictures_have_their_keywords():
    result = read_images(make_template(".zip"), name="pictures.zip")
    assert list(result.pairs.x.content) == ["red", "square", "blue", "circle"]
    assert result.pairs.y.content.shape == (3, 64, 64, 3)
    assert result.pairs.relevance.positives.nnz == 6


def test_unknown_ending_is_named():
    with pytest.raises(DatasetError, match=r"'\.csw'.*'\.csv'"):
        make_template(".csw")
