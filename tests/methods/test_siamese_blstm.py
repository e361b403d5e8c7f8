"""The Siamese network: what it reads, what it learns, and what it keeps."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from simviz.base.checks import yield_checks
from simviz.data import PairSet
from simviz.features import Characters
from simviz.methods import _blstm_training
from simviz.methods._blstm_network import as_texts, letter_n_grams, read_ids
from simviz.methods._blstm_training import Encoder
from simviz.methods._training import Stopped, held_out_values
from simviz.methods.siamese_blstm import SiameseBLSTM
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance

QUICK = {"n_components": 8, "hidden_units": 8, "embedding_size": 8}
WORDS = ["clerk", "baker", "nurse", "welder", "pilot", "tailor"]
PLACES = ["bank", "ship", "town", "farm"]


@pytest.fixture(scope="module")
def titles():
    """Titles of groups, each said in two ways."""
    x = [f"{word} of the {place}" for word in WORDS for place in PLACES]
    y = [f"{place} {word}" for word in WORDS for place in PLACES]
    characters = Characters(min_count=1).fit([*x, *y])
    return characters.transform(x), characters.transform(y)


def learned(X, Y, relevance=None, **params):
    return SiameseBLSTM(**{**QUICK, "max_iter": 3, **params}).fit(X, Y, relevance)


CONTRACT = {
    "two networks": {"shared": False},
    "paper": {**SiameseBLSTM.presets["paper"], "n_layers": 2, "max_length": 16},
    "characters alone": {"n_grams": 0},
    "convolution": {"convolution": 2, "near_groups": True, "loss": "triplet", "margin": 0.4},
}
CHECKS = [
    pytest.param(check, id=f"{name}: {what}")
    for name, params in CONTRACT.items()
    for what, check in yield_checks(SiameseBLSTM(**{**params, **QUICK, "max_iter": 2}))
    if "several partners" in what or ":" not in what
]


@pytest.mark.parametrize("check", CHECKS)
def test_contract_of_every_kind_of_network(check):
    check()


def test_n_grams_are_averaged_wherever_a_text_stands():
    """Two texts of one alphabet, read at once and placed anywhere, against a loop."""
    table = torch.randn(1_000, 4, dtype=torch.float64, generator=torch.manual_seed(0))
    words = {0: [5, 3, 5, 4], 1: [7]}
    ids = torch.zeros(9, 2, dtype=torch.int64)
    ids[2:6, 0] = torch.tensor(words[0])
    ids[8, 1] = 7
    found = letter_n_grams(table, ids)
    for i, word in words.items():
        marked = [0, *word, 0]
        grams = [marked[j : j + n] for n in (2, 3) for j in range(len(marked) - n + 1)]
        grams = [gram for gram in grams if sum(c > 0 for c in gram) >= len(gram) - 1]
        places = []
        for gram in grams:
            code = 0x811C9DC5
            for c in gram:
                code = (code ^ c) * 0x01000193 % 2**32
            places.append((code ^ code >> 15) % 1_000)
        torch.testing.assert_close(found[i], table[places].mean(dim=0))


def test_common_words_are_seen_before_anything_is_learned(titles):
    """Random vectors of n-grams keep the cosines of their counts, nearly."""
    X, _ = titles
    S = learned(X, X, max_iter=1, learning_rate=1e-9, n_components=128).similarity(X, X)
    word, place = np.divmod(np.arange(len(S)), len(PLACES))
    shared = np.equal.outer(word, word).astype(int) + np.equal.outer(place, place)
    assert S[shared == 1].mean() > S[shared == 0].mean() + 0.2, "by .15 without n-grams"


def test_it_learns_pairs_by_heart(titles):
    without = {"dropout": 0.0, "character_dropout": 0.0}
    model = learned(*titles, max_iter=40, hidden_units=24, n_components=16, **without)
    assert model.score(*titles) > 0.95
    assert model.loss_curve_[-1] < 0.3 < model.loss_curve_[0]


@pytest.mark.parametrize(
    "params",
    [{}, {**SiameseBLSTM.presets["paper"], "n_layers": 1, "max_length": 40, "max_iter": 3}],
)
def test_equal_texts_are_equal_and_sides_can_be_exchanged(titles, params):
    X, Y = titles
    model = learned(X, Y, **params)
    np.testing.assert_allclose(model.pair_score(X, X), 1, atol=1e-6)
    np.testing.assert_array_equal(model.transform(Y), model.transform_y(Y))
    np.testing.assert_allclose(model.similarity(X, Y), model.similarity(Y, X).T, atol=1e-6)


def test_ids_that_training_did_not_show_are_the_unknown_character(titles):
    model, width = learned(*titles), titles[0].shape[1]
    texts = np.zeros((3, width))
    texts[:2, :4] = [[2, 4, 999, 3], [2, 4, 12_345, 3]]
    one, other, empty = model.transform(sp.csr_array(texts))
    np.testing.assert_array_equal(one, other)
    assert np.isfinite(one).all() and one.any() and not empty.any()


def test_only_so_many_characters_are_read(titles):
    X, Y = titles
    model = learned(X, Y, max_length=6)
    cut = X.copy()
    cut.data[cut.indices >= 6] = 0
    np.testing.assert_array_equal(model.transform(X), model.transform(cut))


def test_torch_keeps_its_random_state_and_threads(titles):
    before = torch.random.get_rng_state(), torch.get_num_threads()
    first, other = (
        learned(*titles, dropout=0.3, recurrent_dropout=0.2, random_state=seed) for seed in (0, 1)
    )
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert torch.get_num_threads() == before[1]
    assert np.abs(first.transform(titles[0]) - other.transform(titles[0])).max() > 1e-3


def test_an_average_is_kept_or_the_last_point(titles):
    average, last = (learned(*titles, averaging=kind, max_iter=3) for kind in (True, False))
    assert average.loss_curve_ == last.loss_curve_
    assert np.abs(average.transform(titles[0]) - last.transform(titles[0])).max() > 1e-4


def test_the_printed_loss_does_not_move_similar_negatives_apart(titles):
    """E² where E < m lets the most similar negatives be; E² where E > m does not."""
    how = {"loss": "contrastive", "n_negatives": None, "max_iter": 10}
    others = ~np.eye(len(WORDS) * len(PLACES), dtype=bool)
    above, below = (
        learned(*titles, negative_loss=form, **how).similarity(*titles)[others].mean()
        for form in ("above", "below")
    )
    assert above < 0.2 and below > 0.4


def test_gradients_are_clipped_where_a_norm_is_given(titles):
    def moved(most):
        few, more = (learned(*titles, max_gradient=most, max_iter=n) for n in (1, 4))
        return np.abs(few.transform(titles[0]) - more.transform(titles[0])).max()

    # What is left of so short a gradient is nothing beside the 1e-8 that Adam divides by.
    assert moved(1e-20) < 1e-6 < 1e-2 < moved(None)


def test_the_pipeline_keeps_as_many_characters_as_the_network_reads():
    pairs = PairSet.from_texts(["a long text", "another"], ["ab" * 90, "c"])
    for shared in (True, False):
        pipeline = default_pipeline("siamese_blstm", pairs, shared=shared, max_length=150)
        assert pipeline.x_features.max_length == 150
    assert default_pipeline("siamese_blstm", pairs).x_features.max_length == 100
    assert default_pipeline("ngram_matcher", pairs).model is not None


@pytest.mark.parametrize("shared", [True, False])
def test_a_timed_step_is_told_a_text(titles, shared, monkeypatch):
    """By a clock that ticks with each text that is read."""
    model = SiameseBLSTM(shared=shared, max_iter=4, validation_fraction=0.0)
    before, read = model.get_params(), []
    reads = Encoder.read

    def counting(self, parts, texts, rows, *others):
        read.append(len(rows))
        return reads(self, parts, texts, rows, *others)

    monkeypatch.setattr(Encoder, "read", counting)
    monkeypatch.setattr(_blstm_training, "time", SimpleNamespace(perf_counter=lambda: sum(read)))
    assert model.seconds_per_text(*titles, n_texts=48) == 1
    assert model.get_params() == before


def test_a_wish_to_stop_is_heard_on_the_way_back_as_well(titles):
    model = learned(*titles)
    texts = as_texts(read_ids(titles[0], 100), model.x_characters_)
    parts = {k: torch.from_numpy(v.copy()).requires_grad_() for k, v in model.x_weights_.items()}
    tick = Mock(side_effect=[None, None, Stopped])
    Z = model._reader().read(parts, texts, np.arange(len(texts)), 12, tick)
    assert tick.call_count == 2
    with pytest.raises(Stopped):
        Z.sum().backward()


def test_stopping_keeps_the_best_so_far(titles):
    X, Y = titles
    steps = []
    model = SiameseBLSTM(**QUICK, max_iter=50)
    model.set_callbacks(lambda step, *_: steps.append(step) or step == 4)
    model.fit(X, Y, X_val=X, y_val=Y)
    assert model.n_iter_ == len(model.loss_curve_) == 4
    assert len(model.validation_scores_) in (3, 4), "stopped while the fourth was looked at"
    best = max(model.validation_scores_)
    assert model.validation_scores_[model.best_iter_ - 1] == best
    (values,) = held_out_values(model, [(X, Y, Relevance.identity(X.shape[0]))], ["x2y", "y2x"])
    assert values.mean() == pytest.approx(best)
    assert steps[0] == 0 and not hasattr(model, "_tick")


def test_patience_ends_what_no_longer_improves(titles):
    X, Y = titles
    model = SiameseBLSTM(**QUICK, max_iter=60, patience=2, learning_rate=0.3)
    model.fit(X, Y, X_val=X, y_val=Y)
    assert model.n_iter_ == model.best_iter_ + 2 < 60


@pytest.mark.parametrize("loss", ["softmax", "contrastive", "triplet"])
def test_judged_pairs_alone_are_learned_where_others_are_unknown(titles, loss):
    X, Y = titles
    own = np.arange(X.shape[0])
    rows, columns = np.tile(own, 2), np.r_[own, np.roll(own, -1)]
    judged = Relevance.from_pairs(rows, columns, np.repeat([1, -1], len(own)), shape=(24, 24))
    model = learned(X, Y, judged, loss=loss, margin=0.2, max_iter=30, hidden_units=16)
    assert model.score(X, Y, judged) > 0.8
    learned(X, Y, Relevance(sp.eye_array(24), unjudged="ignore"), loss=loss, max_iter=1)


def test_sequences_of_unequal_width_share_a_network(titles):
    X, Y = titles
    narrow = Y[:, : int(Y.indices.max()) + 1]
    np.testing.assert_allclose(
        learned(X, narrow).similarity(X, narrow), learned(X, Y).similarity(X, Y), atol=1e-6
    )
    with pytest.raises(ValueError, match="requires y to be passed"):
        SiameseBLSTM(shared=False).fit(X)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_named(titles):
    with pytest.raises(ValueError, match="found none"):
        learned(*titles, device="cuda")
    assert learned(*titles, device="auto", max_iter=1).n_iter_ == 1
