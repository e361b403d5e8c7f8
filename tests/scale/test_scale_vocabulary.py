"""A vocabulary counted file by file is that of all texts at once."""

import tempfile
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client
from hypothesis import given, settings, strategies as st
from local_cluster import cluster_here
from sklearn.base import clone

from simviz.features import HashedText, TextCounts, Tfidf
from simviz.scale import TextFolder, fit_vocabulary, write_features

LEARNED = ("vocabulary_", "idf_", "n_texts_")
WORDS = ["heart", "red", "car", "a", "sun", "Moon", "é", "naïve", "東京", "x-y", "42"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=7)
settings_of = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char_wb", "char"]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 3)]),
        "min_df": st.sampled_from([1, 2, 0.0, 0.2, 0.5]),
        "max_df": st.sampled_from([1.0, 0.9, 0.5, 3]),
        "max_features": st.sampled_from([None, 1, 4]),
        "lowercase": st.booleans(),
    }
)


def write(folder, files):
    for i, rows in enumerate(files):
        pq.write_table(
            pa.table({"text": pa.array(rows, pa.string())}), folder / f"{i:03d}.parquet"
        )
    return folder


def learned(features):
    return {name: getattr(features, name) for name in LEARNED if hasattr(features, name)}


def same(ours, theirs):
    ours, theirs = learned(ours), learned(theirs)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        np.testing.assert_array_equal(ours[name], value)


@settings(max_examples=60)
@given(st.lists(texts, min_size=1, max_size=5), settings_of, st.sampled_from([TextCounts, Tfidf]))
def test_vocabulary_and_weights_are_those_of_all_texts(files, options, cls):
    whole = [text for rows in files for text in rows]
    try:
        expected = cls(**options).fit(whole)
    except ValueError as error:
        expected = error
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), files)
        try:
            found = fit_vocabulary(cls(**options), TextFolder(folder, batch_rows=2))
        except ValueError as error:
            assert isinstance(expected, ValueError)
            if whole:
                assert str(error) == str(expected)
            return
    same(found, expected)


@pytest.mark.parametrize("features", [Tfidf(), HashedText(64)])
def test_several_folders_have_one_vocabulary(tmp_path, features):
    folders = []
    for i, files in enumerate(([["a red heart"], [], ["a car"]], [["sun", "a red sun"]])):
        (tmp_path / str(i)).mkdir()
        folders.append(TextFolder(write(tmp_path / str(i), files)))
    expected = clone(features).fit(["a red heart", "a car", "sun", "a red sun"])
    same(fit_vocabulary(features, *folders), expected)
    with pytest.raises(ValueError, match="got no source"):
        fit_vocabulary(features)


def test_workers_count_and_write_the_same(tmp_path):
    rng = np.random.default_rng(0)
    files = [[" ".join(rng.choice(WORDS, 5)) for _ in range(7)] for _ in range(5)]
    (tmp_path / "texts").mkdir()
    source = TextFolder(write(tmp_path / "texts", files), batch_rows=4)
    with cluster_here(2, processes=False, protocol="tcp://") as made, Client(made) as client:
        found = fit_vocabulary(Tfidf(min_df=2), source, client=client)
        there = write_features(found, source, tmp_path / "there", client=client)
    expected = Tfidf(min_df=2).fit(list(chain(*files)))
    same(found, expected)
    here = write_features(expected, source, tmp_path / "here")
    assert len(there) == 10
    for a, b in zip(there, here, strict=True):
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
