"""Pipelines: features and method together, stored without code."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from made_up import words_and_pictures, zipped
from safetensors.numpy import load, save
from sklearn.model_selection import cross_val_score

import simviz
from simviz.data.pairs import Items, PairSet
from simviz.evaluation import evaluate
from simviz.exceptions import DatasetError, StoreError
from simviz.explain.terms import explain
from simviz.methods import all_methods
from simviz.persistence import load_state, save_state
from simviz.pipeline import (
    BlendPipeline,
    default_pipeline,
    load_index,
    load_pipeline,
    same_vocabulary,
)
from simviz.projection.pipeline_map import Space
from simviz.relevance import Relevance

WORDS = ["red heart", "blue car", "green tree", "red car", "small green bird", "big blue whale"]
PALABRAS = [
    "corazón rojo", "coche azul", "árbol verde", "coche rojo", "pájaro verde", "ballena azul",
]  # fmt: skip


@pytest.fixture
def bilingual():
    return PairSet.from_texts(WORDS, PALABRAS)


@pytest.fixture
def heterogeneous():
    return words_and_pictures()


@pytest.fixture
def long_texts():
    """Texts of words alone, one of which is its own."""
    texts = [f"one two three four five six word{i}" for i in range(8)]
    return PairSet.from_texts(texts, texts)


def quick(method, pairs):
    allowed = all_methods()[method]._get_param_names()
    wanted = {"n_components": 2, "max_iter": 2}
    return default_pipeline(method, pairs, **{k: v for k, v in wanted.items() if k in allowed})


@pytest.mark.parametrize("method", all_methods())
@pytest.mark.filterwarnings("ignore:.*is more than the data can give:UserWarning")
def test_a_model_of_texts_or_of_words_and_pictures_scores_and_is_loaded(
    method, bilingual, heterogeneous, tmp_path
):
    path, tags = tmp_path / "run.simviz", all_methods()[method].tags
    reads_pictures = tags.space != "one" and tags.input not in ("counts", "characters")
    for pairs in (bilingual, heterogeneous) if reads_pictures else (bilingual,):
        pipeline = quick(method, pairs).fit(pairs)
        pipeline.save(path)
        with zipfile.ZipFile(path) as archive:
            assert sorted(archive.namelist()) == ["arrays.safetensors", "objects.json"]
        assert [*tmp_path.iterdir()] == [path]
        loaded = load_pipeline(path)
        assert loaded.model.get_params() == pipeline.model.get_params()
        scores = pipeline.similarity(pairs.x, pairs.y)
        assert np.isfinite(scores).all()
        np.testing.assert_array_equal(loaded.similarity(pairs.x, pairs.y), scores)
        i, j = [0, 1, 2, 3], [1, 0, 5, 3]
        found = pipeline.score_pairs(pairs.x.take(i), pairs.y.take(j))
        np.testing.assert_allclose(found, scores[i, j], rtol=1e-5, atol=1e-6)
        assert found.dtype == np.float64


def test_shared_vocabulary_is_decided_by_common_words(bilingual):
    assert not same_vocabulary(bilingual)
    questions = PairSet.from_texts(WORDS, [f"about {w} and more" for w in WORDS])
    assert same_vocabulary(questions)
    pipeline = default_pipeline("ssi", questions)
    assert pipeline.model.shared and pipeline.y_features is None
    assert not default_pipeline("ssi", questions, shared=False).model.shared


def test_validation_reaches_methods_that_watch_it(bilingual):
    fitted = quick("ssi", bilingual).fit(bilingual, validation=bilingual)
    assert len(fitted.model_.validation_scores_) == 2


def test_fewer_dimensions_and_unknown_items(bilingual):
    pipeline = quick("cl_lsi", bilingual).fit(bilingual)
    vectors = pipeline.transform(bilingual.x)
    np.testing.assert_array_equal(pipeline.truncate(1).transform(bilingual.x), vectors[:, :1])
    strange = Items(["1", "2"], ["red heart", "ЖЖЖ"], "text")
    assert pipeline.empty_share(strange, bilingual.y) == (0.5, 0.0)
    assert (pipeline.similarity(strange, bilingual.y)[1] == 0).all()


def test_what_a_method_cannot_read_is_refused_in_words(bilingual, heterogeneous):
    with pytest.raises(ValueError, match="pairs keyword items with image items"):
        default_pipeline("lsa", heterogeneous)
    with pytest.raises(ValueError, match="Did you mean 'n_components'"):
        default_pipeline("cca", bilingual, n_componets=2)
    with pytest.raises(TypeError, match=r"simviz\.tune"):
        cross_val_score(default_pipeline("cca", bilingual), bilingual)
    preset = default_pipeline("s2net", bilingual, preset="paper", loss="softmax").model
    assert (preset.loss, preset.solver, preset.fit_intercept) == ("softmax", "lbfgs", False)
    for method, name, words in (
        ("s2net", "papr", r"no preset of S2Net 'papr'\. Did you mean 'paper'"),
        ("tfidf_cosine", "paper", "Known: none"),
    ):
        with pytest.raises(ValueError, match=words):
            default_pipeline(method, bilingual, preset=name)
    pairs = simviz.from_frame(x=np.eye(9)[:, :4], y=np.eye(9)).pairs
    for method, cls in all_methods().items():
        if cls.tags.space == "one":
            with pytest.raises(ValueError, match=r"those of x have 4 numbers, those of y 9"):
                default_pipeline(method, pairs)
    with pytest.raises(ValueError, match="or shared=False"):
        default_pipeline("cca", pairs, shared=True)


def test_what_has_no_vectors_has_no_transform_and_says_why(bilingual):
    bm25, cca = (quick(method, bilingual) for method in ("bm25", "cca"))
    blend = BlendPipeline(cca, bm25).fit(bilingual)
    for pipeline, reason in ((bm25, "without vectors"), (blend, "transform of its parts")):
        for name in ("transform", "transform_x", "transform_y"):
            assert not hasattr(pipeline, name) and hasattr(cca, name)
            with pytest.raises(AttributeError, match=reason):
                getattr(pipeline, name)
    fitted = cca.fit(bilingual)
    np.testing.assert_array_equal(fitted.transform_x(bilingual.x), fitted.transform(bilingual.x))


def test_foreign_and_damaged_files_are_refused(tmp_path):
    path, pairs = tmp_path / "run", PairSet.from_texts(WORDS, WORDS)
    quick("lsa", pairs).fit(pairs).save(path)
    whole = path.read_bytes()
    with pytest.raises(StoreError, match="more than the 10"):
        load_state(path, max_bytes=10)
    popen = {"class": "Popen", "params": {}, "fitted": {}}
    old = r"written by simviz 0\.9\.7 in the format 'simviz-1'; simviz .* reads 'simviz-2'"
    for change, words in (
        ({"format": "simviz-1", "simviz": "0.9.7"}, old),
        ({"format": "other"}, "in the format 'other'"),
        ({"objects": {"model": popen}}, "class 'Popen'"),
        ({"objects": {"model": {"array": "nowhere"}}}, "cannot be read"),
        ({"objects": {}}, "not a pipeline"),
    ):
        path.write_bytes(whole)
        rewrite(path, lambda tree, arrays, change=change: tree.update(change))
        with pytest.raises(StoreError, match=words):
            load_pipeline(path)
    path.write_bytes(whole[:100])
    with pytest.raises(StoreError, match="cannot be read"):
        load_pipeline(path)
    path.write_text("a,b\n")
    for read in (load_pipeline, load_index):
        with pytest.raises(StoreError, match="it is none"):
            read(path)
    with pytest.raises(FileNotFoundError):
        load_pipeline(tmp_path / "missing")


def rewrite(path, change):
    """Change the tree and the arrays of a file of a model in their places."""
    with zipfile.ZipFile(path) as archive:
        tree = json.loads(archive.read("objects.json"))
        arrays = load(archive.read("arrays.safetensors"))
    change(tree, arrays)
    path.write_bytes(
        zipped({"objects.json": json.dumps(tree), "arrays.safetensors": save(arrays)})
    )


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        ("indptr", lambda a: a[:-1]),
        ("indices", lambda a: a[None]),
        ("indices", lambda a: a[:-1]),
        ("indices", lambda a: a.astype(np.int16)),
    ],
)
def test_a_sparse_matrix_that_is_none_is_refused(part, damage, tmp_path):
    path, matrix = tmp_path / "model", sp.csr_array(np.eye(3))
    save_state({"weights": {"matrix": matrix}}, path)
    assert (load_state(path)["weights"]["matrix"] != matrix).nnz == 0

    def change(tree, arrays):
        (name,) = [name for name in arrays if name.endswith(f".{part}")]
        arrays[name] = np.ascontiguousarray(damage(arrays[name]))

    rewrite(path, change)
    with pytest.raises(StoreError, match="is no CSR array"):
        load_state(path)


def test_a_model_that_packs_well_is_read_and_what_packs_better_refused(tmp_path):
    path, zeros = tmp_path / "model", np.zeros(2**19)
    save_state({"weights": {"zeros": zeros}}, path)
    assert load_state(path)["weights"]["zeros"].shape == zeros.shape
    path.write_bytes(zipped({"arrays.safetensors": zeros.tobytes()}))
    with pytest.raises(StoreError, match="unpacks to 4,194,304 bytes"):
        load_state(path)


def test_a_saved_pipeline_is_the_old_one_until_the_new_one_is_whole(
    tmp_path, bilingual, monkeypatch
):
    fitted, path, seen = quick("cca", bilingual).fit(bilingual), tmp_path / "run", []
    fitted.save(path)
    old, write = path.read_bytes(), zipfile.ZipFile.writestr

    def look(archive, name, data):
        write(archive, name, data)
        seen.append(path.read_bytes())

    monkeypatch.setattr(zipfile.ZipFile, "writestr", look)
    fitted.save(path)
    assert seen == [old, old] and [*tmp_path.iterdir()] == [path]


FULL = {"form": "full", "shared": False, "max_iter": 1}


def test_full_ssi_keeps_as_many_terms_as_it_can_hold(bilingual, monkeypatch):
    def widths(pairs=bilingual, **given):
        return default_pipeline("ssi", pairs, **FULL, **given).fit(pairs).model_.weights_.shape

    def at_most(entries):
        monkeypatch.setattr("simviz.methods.ssi.MAX_ENTRIES", entries)
        monkeypatch.setattr("simviz.methods._triples.MAX_ENTRIES", entries)

    all_terms = widths()
    at_most(60)
    keywords = Items([*"abcdef"], ["sun", "moon", "star", "sun", "moon", "star"], "keyword")
    narrow = PairSet(keywords, bilingual.y, bilingual.relevance)
    assert widths(narrow) == (3, 20), "a narrow side leaves the other room"
    at_most(400)
    assert min(all_terms) > 20 and widths() == (20, 20)
    assert widths(max_features=7) == (7, 7)
    with pytest.raises(ValueError, match="max_features of the features or of default_pipeline"):
        widths(max_features=21)
    at_most(all_terms[0] * all_terms[1])
    assert default_pipeline("ssi", bilingual, **FULL).x_features.max_features is None


def test_terms_are_what_is_asked_for(bilingual):
    wanted = {"analyzer": "word", "ngram_range": [1, 2], "tf": "log1p", "max_features": 9}
    pipeline = default_pipeline("cca", bilingual, features=wanted, n_components=2)
    pipeline.fit(bilingual)
    for features in (pipeline.x_features_, pipeline.y_features_):
        assert {n: features.get_params()[n] for n in wanted} == wanted
        assert len(features.vocabulary_) <= 9
    counts = default_pipeline("jplsa", bilingual, features=wanted).x_features
    assert counts.analyzer == "word" and not hasattr(counts, "tf")
    spelt = default_pipeline("ngram_matcher", bilingual, features=wanted).x_features
    assert not hasattr(spelt, "analyzer")
    with pytest.raises(ValueError, match=r"no parameter of Tfidf 'weights'"):
        default_pipeline("cca", bilingual, features={"weights": "log1p"})
    with pytest.raises(ValueError, match="stop_words are words"):
        default_pipeline("cca", bilingual, features={"analyzer": "char", "stop_words": "english"})


def test_a_column_is_read_with_x_items(tmp_path):
    words = ["red", "blue", "green", "gold"]
    found = np.array([f"{w} car by the road" for w in words[:3]] + [None], dtype=object)
    x = Items([*"abcd"], [f"q{i}" for i in range(4)], "text", {"found": found})
    y = Items([*"abcd"], [f"one {w} car" for w in words], "text")
    pairs = PairSet(x, y, Relevance.identity(4))
    terms = {"analyzer": "word", "x_column": "found"}
    pipeline = default_pipeline("tfidf_cosine", pairs, features=terms).fit(pairs)
    assert pipeline.similarity(x, y).argmax(axis=1)[:3].tolist() == [0, 1, 2]
    assert not pipeline.similarity(x, y)[3].any()
    assert not pipeline.similarity(["q0"], y).any(), "a query alone is read alone"
    assert explain(pipeline, x.take([1]), y.take([1])).score > 0.3
    space = Space.of(pipeline, pairs)
    np.testing.assert_allclose(space.scores("x", x.take([1])), pipeline.similarity(x, y)[1])
    pipeline.save(tmp_path / "model.simviz")
    again = load_pipeline(tmp_path / "model.simviz")
    np.testing.assert_array_equal(again.similarity(x, y), pipeline.similarity(x, y))
    index = again.index(x, side="x")
    index.save(tmp_path / "index.simviz")
    found = load_index(tmp_path / "index.simviz").search(["one gold car", "one blue car"], k=1)
    assert found["id"].iloc[-1] == "b"
    with pytest.raises(ValueError, match="Did you mean 'found'"):
        default_pipeline("cca", pairs, features={"x_column": "fund"})


def test_pairs_come_as_frames_series_items_or_columns(bilingual, heterogeneous):
    pipeline = quick("bm25", bilingual).fit(bilingual)
    wanted = pipeline.score_pairs(WORDS, PALABRAS)
    frame = pd.DataFrame({"left": WORDS, "right": PALABRAS}, index=list("fedcba"))
    for given in (
        (frame,),
        (pa.table({"a": WORDS, "b": PALABRAS}),),
        (frame["left"], frame["right"]),
        (bilingual.x, bilingual.y),
        (np.array(WORDS), bilingual.y),
    ):
        np.testing.assert_array_equal(pipeline.score_pairs(*given), wanted)
    assert pipeline.score_pairs([], []).shape == (0,)
    assert pipeline.score_pairs(["ЖЖЖ"], ["red heart"]).tolist() == [0.0]
    some = np.resize(np.arange(6), 9_000)
    many = pipeline.score_pairs([WORDS[i] for i in some], [PALABRAS[i] for i in some])
    np.testing.assert_array_equal(many, wanted[some])
    three = pa.table({name: ["word"] for name in "abc"})
    for given, words in (
        ((["a", "b"], ["c"]), "x has 2 rows, y has 1"),
        (("a", "b"), r"x is one text; give a sequence, such as \['a'\]"),
        ((["a", None], ["c", "d"]), r"row 1 of x is 'None' \(NoneType\)"),
        ((["a"], [3]), r"row 0 of y is '3' \(int\)"),
        ((["a"],), "A list alone is no pairs"),
        ((three,), r"the frame has 3 \('a', 'b', 'c'\)"),
        ((heterogeneous.x, heterogeneous.y.take(range(4))), "does not read such items"),
    ):
        with pytest.raises(ValueError, match=words):
            pipeline.score_pairs(*given)


def test_frames_of_both_sides_are_made_where_they_are_asked(bilingual):
    pipeline = quick("cca", bilingual).fit(bilingual).set_output(transform="pandas")
    for transform, model_transform, items in (
        (pipeline.transform, pipeline.model_.transform, bilingual.x),
        (pipeline.transform_y, pipeline.model_.transform_y, bilingual.y),
    ):
        frame = transform(items)
        assert frame.columns.tolist() == ["cca0", "cca1"] and len(frame) == 6
        rows = pipeline._x(items) if items is bilingual.x else pipeline._y(items)
        np.testing.assert_array_equal(frame, model_transform(rows))
        pipeline.model_.set_output(transform="pandas")
        assert model_transform(rows).equals(frame)
        pipeline.model_.set_output(transform="default")
    assert isinstance(pipeline.set_output(transform="default").transform_y(WORDS), np.ndarray)


def test_what_is_no_pair_set_is_refused_in_a_sentence(bilingual, tmp_path):
    fitted = quick("cca", bilingual).fit(bilingual)
    for call in (
        fitted.fit,
        fitted.score,
        simviz.split,
        simviz.PopularityScorer,
        lambda pairs: default_pipeline("cca", pairs),
        lambda pairs: simviz.compare(pairs, ["cca"]),
        lambda pairs: simviz.tune("cca", pairs, {"n_components": [1]}),
        lambda pairs: simviz.evaluate(fitted, pairs),
        lambda pairs: simviz.draw(fitted, pairs),
        lambda pairs: simviz.write_pairs(pairs, tmp_path / "pairs.csv"),
    ):
        with pytest.raises(ValueError, match="Pairs are wanted, got a list"):
            call(WORDS)
    read = simviz.from_frame(x=WORDS, y=PALABRAS)
    assert fitted.score(read) == fitted.score(read.pairs) == fitted.fit(read).score(bilingual)
    frame, columns = {"left": WORDS, "right": PALABRAS}, {"x": "left", "y": "right"}
    made = default_pipeline("cca", frame, **columns, n_components=2).fit(frame, **columns)
    sides = bilingual.x, bilingual.y
    assert (made.similarity(*sides) == fitted.fit(read).similarity(*sides)).all()
    with pytest.raises(DatasetError, match="got a dict"):
        made.fit(frame)


@pytest.mark.parametrize("method", ["tfidf_cosine", "bm25", "query_expansion", "ngram_matcher"])
def test_what_learns_nothing_matches_terms_that_training_did_not_show(method, tmp_path):
    texts = [f"one two three four five six word{i}" for i in range(8)]
    pairs = PairSet.from_texts(texts, [text[::-1] for text in texts])
    fitted = default_pipeline(method, pairs).fit(pairs)
    fitted.save(tmp_path / "model")
    items = ["the lazy dog sleeps", "quick brown foxes run"]
    for pipeline in (fitted, load_pipeline(tmp_path / "model")):
        scores = pipeline.similarity(["brown foxes"], items)[0]
        assert scores[1] > scores[0]
        # A score depends on its two items alone.
        assert pipeline.score_pairs(["brown foxes"], ["quick brown foxes run"])[0] == scores[1]


@pytest.mark.parametrize(
    ("method", "params", "is_open"),
    [
        ("tfidf_cosine", {}, True),
        ("query_expansion", {}, True),
        ("query_expansion", {"base": "lsa"}, False),
        ("lsa", {}, False),
        ("cca", {"shared": True}, False),
    ],
)
def test_what_is_learned_keeps_its_vocabulary(bilingual, method, params, is_open):
    made = default_pipeline(method, bilingual, **params).x_features
    assert (bool(made.n_unseen), made.tf) == (is_open, "log1p" if is_open else "raw")
    asked = {"n_unseen": 0, "tf": "log2"}
    made = default_pipeline(method, bilingual, features=asked, **params).x_features
    assert (made.n_unseen, made.tf) == (0, "log2")


def test_terms_that_training_did_not_show_are_named_unless_the_vocabulary_was_chosen(long_texts):
    fitted = default_pipeline("tfidf_cosine", long_texts).fit(long_texts)
    x, y = Items(["q"], ["brown foxes"], "text"), Items(["d"], ["quick foxes run"], "text")
    found = explain(fitted, x, y)
    assert [(pair.x_term, pair.y_term) for pair in found.pairs] == [("foxes", "foxes")]
    for features in ({"n_unseen": 0}, {"min_df": 2}, {"max_features": 5}):
        closed = default_pipeline("tfidf_cosine", long_texts, features=features).fit(long_texts)
        assert not closed.score_pairs(x, x)[0], features


def test_the_share_of_unknown_terms_is_told(long_texts):
    held = PairSet.from_texts(["one zebra okapi"], ["one one two zebra"])
    for method, params in {"tfidf_cosine": {}, "lsa": {"n_components": 2}, "bm25": {}}.items():
        fitted = default_pipeline(method, long_texts, **params).fit(long_texts)
        found = evaluate(fitted, held)
        assert (found.x_unknown, found.y_unknown) == (pytest.approx(2 / 3), 0.25)
    assert fitted.unknown_share(Items(["a"], [" "], "text"), held.y)[0] == 0
