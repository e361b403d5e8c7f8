"""A page answers as the pipeline does that it was made of: the same terms, scores and reasons."""

import base64
import json
import logging
import re
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nodejs import NODE
from test_exports import FEATURES, X, Y, odd_pipelines

import simviz
from simviz.charts.canvas import Part, unpack
from simviz.data import Items, PairSet
from simviz.explain.terms import explain
from simviz.exports import model_page, why_not
from simviz.features import MultiHot, TextCounts, Tfidf, Vectors
from simviz.features._analysis import build_analyzer
from simviz.methods import get_method
from simviz.pipeline import PairPipeline, default_pipeline
from simviz.projection import joint_map
from simviz.relevance import Relevance

HERE = Path(__file__).parent
#: What both sides of a page have to make of a text, see `answers.mjs`.
CASES = [
    {"kind": "text", "ngram_range": [1, 1], "lowercase": True, "stop_words": [], **case}
    for case in json.loads((HERE / "terms.json").read_text(encoding="utf-8"))
]
TYPED = ["red moon", "", "nothing_known zzz", "a blue heart, a blue tree", "Cafe\u0301 \U0001f600"]


def asked(**question):
    """What the scripts of a page answer."""
    command = [NODE, "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", HERE / "answers.mjs"]
    return json.loads(subprocess.check_output(command, input=json.dumps(question), text=True))


def saved(pipeline, pairs, folder):
    """A page with a map of no meaning, which is quick to draw."""
    points = np.random.default_rng(0).normal(size=(len(pairs.x) + len(pairs.y), 2))
    made = joint_map(points[: len(pairs.x)], points[len(pairs.x) :], "pca")
    path = folder / "model.html"
    page = model_page(pipeline, pairs, drawing=simviz.Drawing(made, pairs))
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["text"]))
def test_python_finds_the_terms_of_the_table(case):
    if case["kind"] == "keywords":
        find = MultiHot(case["delimiter"])._keywords
    else:
        ngrams, words = tuple(case["ngram_range"]), frozenset(case["stop_words"])
        find = build_analyzer(case["analyzer"], ngrams, case["lowercase"], words)
    assert list(find(case["text"])) == case["terms"]


def test_a_page_finds_the_terms_of_the_table():
    assert asked(cases=CASES)["terms"] == [case["terms"] for case in CASES]


@pytest.fixture(scope="module")
def pairs():
    return PairSet.from_texts(X, Y, x_name="English", y_name="Spanish", name="words")


MODELS = {
    **{
        f"{method}, {name}": PairPipeline(get_method(method)(3), *features)
        for method in ("cca", "s2net", "heterogeneous_svd")
        for name, features in [*FEATURES.items(), ("one vocabulary", (Tfidf(), None))]
    },
    "one matrix": PairPipeline(get_method("lsa")(3), Tfidf("char_wb", (2, 3))),
    "TF-IDF": PairPipeline(get_method("tfidf_cosine")(), Tfidf("char", (1, 2), n_unseen=5)),
    "BM25": PairPipeline(get_method("bm25")(), TextCounts("char", (1, 2), n_unseen=2**18)),
    "BM25 of queries": PairPipeline(
        get_method("bm25")(1.2, symmetric=False, idf="robertson"), TextCounts("char", (1, 2))
    ),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_scores_are_those_of_the_pipeline(pairs, tmp_path, model):
    pipeline, texts = model.fit(pairs), [*X, *TYPED]
    found = asked(
        page=str(saved(pipeline, pairs, tmp_path)),
        typed=[[side, text] for side in "xy" for text in texts],
        items=[[side, i] for side in "xy" for i in range(6)],
    )
    both = pipeline.similarity(texts, pairs.y), pipeline.similarity(pairs.x, texts).T
    items = pipeline.similarity(pairs.x, pairs.y)
    size = np.abs(both[0]).max()
    assert size > 0.1
    for name, expected in (("typed", both), ("items", (items, items.T))):
        atol = 2e-3 * max(1, size)
        np.testing.assert_allclose(found[name], np.concatenate(expected), atol=atol)


@pytest.mark.parametrize("name", ["cca, characters", "one matrix", "TF-IDF"])
def test_reasons_are_those_of_the_pipeline(pairs, tmp_path, name):
    pipeline, text = MODELS[name].fit(pairs), "RED  cars, red moon"
    for side, item in (("x", 1), ("y", 5)):
        path = str(saved(pipeline, pairs, tmp_path))
        (told,) = asked(page=path, why=[[side, text, item]])["why"]
        mine = Items(["0"], [text], "text")
        x, y = (mine, pairs.y.take([item])) if side == "x" else (pairs.x.take([item]), mine)
        reasons = explain(pipeline, x, y, n=100, by_word=True)
        found = {tuple(pair): value for *pair, value in told["pairs"]}
        lower = {}
        for pair in reasons.pairs:
            # Words are named as they were written, and on a page as they are read.
            names = (pair.x_term.lower(), pair.y_term.lower())
            names = names if side == "x" else names[::-1]
            lower[names] = lower.get(names, 0) + pair.value
        assert lower and found.keys() == lower.keys()
        np.testing.assert_allclose([found[k] for k in lower], [*lower.values()], atol=2e-3)
        assert told["score"] == pytest.approx(reasons.score, abs=2e-3)
        assert told["offset"] == pytest.approx(reasons.offset, abs=2e-3)
        assert told["rest"] == pytest.approx(0, abs=1e-9)


def test_what_is_the_same_is_sent_once(pairs, tmp_path):
    page = saved(MODELS["one matrix"].fit(pairs), pairs, tmp_path).read_text(encoding="utf-8")
    packed = re.search('id="model-state">([^<]*)<', page)[1]
    _, arrays = unpack(Part("", zlib.decompress(base64.b64decode(packed))))
    assert {*arrays} == {"x_offset", "y_offset", "x_places", "x_projection"}
    # Parts of a word that one text has alone.
    assert len(arrays["x_projection"]) < 2 * 3 * len(arrays["x_places"])


def test_what_all_texts_have_says_nothing(tmp_path):
    pairs = PairSet.from_texts([f"the {text}" for text in X], Y)
    pipeline = default_pipeline("cca", pairs, features={"analyzer": "word"}, n_components=3)
    path = str(saved(pipeline.fit(pairs), pairs, tmp_path))
    assert asked(page=path, typed=[["x", "the the"]])["typed"] == [[0] * 6]
    assert (pipeline.similarity(["the the"], pairs.y) == 0).all()


def test_pictures_are_found_by_words_and_words_by_pictures(tmp_path):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (6, 12, 12), dtype=np.uint8)
    ids = "012345"
    y = Items(ids, pictures, "image", {"label": [f"picture {i}" for i in range(6)]})
    pairs = PairSet(Items(ids, X, "keyword"), y, Relevance.identity(6))
    pipeline = default_pipeline("cca", pairs, n_components=3).fit(pairs)
    path = str(saved(pipeline, pairs, tmp_path))
    found = asked(page=path, typed=[["x", X[1]]], items=[["y", 2]], why=[["x", X[1], 2]])
    expected = pipeline.similarity(pairs.x, pairs.y)
    np.testing.assert_allclose(found["typed"][0], expected[1], atol=2e-3)
    np.testing.assert_allclose(found["items"][0], expected[:, 2], atol=2e-3)
    ((word, other, value),) = found["why"][0]["pairs"]
    # Of the item as a whole, its mean is a part.
    assert (word, other) == (X[1], "")
    assert value + found["why"][0]["offset"] == pytest.approx(expected[1, 2], abs=2e-3)


def test_shared_terms_are_all_that_adds_to_bm25(pairs, tmp_path):
    pipeline = MODELS["BM25"].fit(pairs)
    path = str(saved(pipeline, pairs, tmp_path))
    (told,) = asked(page=path, why=[["x", "coche rojo", 5]])["why"]
    whole = pipeline.similarity(["coche rojo"], pairs.y)[0, 5]
    # The space between words is in none.
    terms = sum(value for *_, value in told["pairs"])
    assert terms + told["rest"] == pytest.approx(whole, rel=1e-5)
    assert told["offset"] == pytest.approx(0, abs=1e-9)


def test_it_is_said_whose_texts_leave(pairs, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "simviz.exports.html"):
        saved(MODELS["TF-IDF"].fit(pairs), pairs, tmp_path)
    said = "The file holds 6 English and 6 Spanish of 'words': whoever has it can read them."
    assert caplog.messages == [said]


def test_a_page_holds_no_markup_of_the_data(tmp_path):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--"
    content = [f"{hostile} {i}" for i in range(6)]
    pairs = PairSet.from_texts(content, content, name=hostile, x_name=hostile, y_name="b<!--")
    pipeline = default_pipeline("cca", pairs, n_components=2).fit(pairs)
    page = saved(pipeline, pairs, tmp_path).read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script") == 3
    assert "<img" not in page and "<!--" not in page
    assert "default-src &#39;none&#39;" in page
    assert not re.search(r"(src|href|url)\s*[=(:]\s*[\"']?https?:", page)


def test_what_cannot_leave_says_why(pairs):
    bent, topics, _, blend = odd_pipelines(pairs)
    numbers = np.random.default_rng(0).normal(size=(6, 3))
    x, y = (Items("012345", side, "vector") for side in (numbers, numbers[:, ::-1]))
    apart = replace(pairs, x=x, y=y)
    encoded = PairPipeline(get_method("cca")(2), Vectors(), Vectors()).fit(apart)
    words = default_pipeline("ngram_matcher", pairs).fit(pairs)
    for pipeline, word in (
        (bent, "tanh"),
        (blend, "mixes scores"),
        (encoded, "makes features of words only"),
        (topics, "cannot be computed in a page"),
        (words, "cannot be computed in a page"),
    ):
        assert word in why_not(pipeline, "page")
        with pytest.raises(ValueError, match=word):
            model_page(pipeline, pairs)
