from dataclasses import replace

import numpy as np
import pytest

from simviz.data import Items, PairSet
from simviz.jobs import cost, estimate
from simviz.jobs.cost import MAX_SECONDS
from simviz.methods import all_methods, get_method
from simviz.methods.opca import OPCA
from simviz.methods.siamese_blstm import SiameseBLSTM
from simviz.relevance import Relevance


def vectors_of(items, width=300):
    return Items(items.ids, np.random.default_rng(0).random((len(items), width)), "vector")


@pytest.mark.parametrize("method", sorted(all_methods()))
def test_every_method_can_be_estimated_and_small_data_are_accepted(method, sentences):
    expected = estimate(method, sentences)
    assert expected.reason_to_refuse is None
    # Terms that training did not show need no memory of their own.
    most = 2**28 if method in ("bm25", "tfidf_cosine") else 2**31
    assert 0 < expected.seconds < 600 and 0 < expected.bytes < most


def test_more_of_anything_costs_more_and_either_way_round_as_much(sentences):
    def seconds(n, **params):
        texts = [sentences.x.content[i % 60] + f" w{i}" for i in range(n)]
        return estimate("ssi", PairSet.from_texts(texts, texts), params).seconds

    assert seconds(400) < seconds(400, max_iter=500) < seconds(400, max_iter=500, n_components=900)
    assert seconds(400, max_iter=500) < seconds(40_000, max_iter=500)
    pairs = replace(sentences, y=vectors_of(sentences.y, 400))
    there, back = (estimate("cl_lsi", given) for given in (pairs, pairs.swap()))
    assert there.stages["training"] == pytest.approx(back.stages["training"])
    assert there.bytes == back.bytes


@pytest.mark.parametrize("method", ["opca", "ridge_identity", "s2net"])
def test_fits_that_choose_a_ridge_count(sentences, method):
    fixed = {"regularization": 1.0}
    if method == "s2net":
        fixed = {"init": OPCA(**fixed), "max_iter": 1}
    dense = replace(sentences, x=vectors_of(sentences.x), y=vectors_of(sentences.y), space="one")
    for pairs, more in ((dense, True), (sentences, False)):
        if method == "ridge_identity" and not more:
            continue  # it reads vectors alone
        chosen, given = (
            estimate(method, pairs, params).stages["training"]
            for params in ({k: v for k, v in fixed.items() if k == "max_iter"}, fixed)
        )
        assert chosen > 2 * given if more else chosen == pytest.approx(given)


def test_encoding_counts_and_nothing_is_encoded_for_an_estimate(sentences, monkeypatch):
    monkeypatch.setattr("simviz.features.pretrained._encoder", None)
    usual, encoded = estimate("cca", sentences), estimate("cca", sentences, None, "pretrained")
    assert encoded.seconds > usual.seconds and encoded.reason_to_refuse is None
    ids = [f"{i}" for i in range(40)]
    pictures = Items(ids, np.zeros((40, 8, 8), dtype=np.uint8), "image")
    for words in (Items(ids, ids, "keyword"), Items(ids, ids, "text"), pictures):
        pairs = PairSet(words, pictures, Relevance.identity(40))
        expected = estimate("cca", pairs, None, "pretrained:clip")
        assert expected.reason_to_refuse is None and expected.seconds > 40 * 0.1


def test_a_network_on_long_texts_is_timed(monkeypatch):
    monkeypatch.setattr(SiameseBLSTM, "seconds_per_text", lambda _, X, Y, n_texts: 7 * X.nnz / 1e6)

    def seconds(length, n=1_400):
        texts = [f"{i:04d}" * (length // 4) for i in range(n)]
        return estimate("siamese_blstm", PairSet.from_texts(texts, texts)).seconds

    assert seconds(20, 100) < 20  # few short strings are counted
    assert 0.1 < seconds(40) / seconds(100) < 0.6
    assert seconds(200) == pytest.approx(seconds(100), rel=0.2)  # read no further
    assert seconds(100, 2_800) == pytest.approx(2 * seconds(100), rel=0.2)


def test_what_cannot_be_trained_is_refused_with_the_reason(sentences, monkeypatch):
    words = Items(["u", "v"], ["one", "two"], "keyword")
    pictures = Items(["a", "b"], np.zeros((2, 8, 8), dtype=np.uint8), "image")
    pairs = PairSet(words, pictures, Relevance.identity(2))
    assert "one feature space" in estimate("bm25", pairs).reason_to_refuse
    assert "parameter" in estimate("cca", pairs, {"n_components": -1}).reason_to_refuse
    too_long = estimate("ssi", sentences, {"max_iter": 10_000_000})
    assert too_long.seconds > MAX_SECONDS
    assert too_long.reason_to_refuse.startswith("SSI would take about")
    monkeypatch.setattr("simviz.jobs.cost.free_bytes", lambda: 1_000_000)
    too_large = estimate("cca", sentences).reason_to_refuse
    assert "GB of memory" in too_large and "Take a sample" in too_large


def test_what_is_too_wide_for_a_factor_needs_none():
    def needed(n, d):
        size = cost._Size((n, n), (d, d), (10.0 * n, 10.0 * n), (False, False), n, 100, 50)
        return cost._bytes(get_method("cca")(100), size)

    assert needed(200_000, 2**16) < 4e9 < needed(200_000, 24_000)
    assert needed(12_001, 2**16) < needed(12_000, 2**16)
