"""Losses at the ends of their range, and the network beside torch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simviz.methods._blstm_network import Shape, Texts, encode
from simviz.methods._blstm_training import (
    Batches,
    Encoder,
    contrastive,
    group_near_queries,
    negative_loss,
    softmax,
    triplet,
)
from simviz.relevance import Relevance

COSINES = torch.tensor([-1.0, -0.1, 0.0, 0.2, 0.3, 1.0], dtype=torch.float64)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("above", [0, 0, 0, 0, 0.09, 1]),
        ("below", [1, 0.01, 0, 0, 0, 0]),
        ("always", [1, 0.01, 0, 0.04, 0.09, 1]),
        ("hinge", [0, 0, 0, 0, 0.01, 0.64]),
    ],
)
def test_negative_pairs_cost_what_the_form_says(form, expected):
    np.testing.assert_allclose(negative_loss(COSINES, form, 0.2), expected, atol=1e-15)


def test_losses_of_a_batch():
    """Contrastive, a mean over the pairs drawn; the others, over rows that have negatives."""
    E, P, N = torch.tensor([[0.5, 0.5], [0.5, -1.0]]), torch.eye(2), torch.tensor([[0, 1], [0, 0]])
    assert contrastive(E, P, N, "above", 0.0) == pytest.approx((0.0625 + 1 + 0.25) / 3)
    E = torch.tensor([[0.9, 0.7, 0.1], [0.0, 0.5, 0.5]], requires_grad=True)
    P, N = torch.tensor([[[1.0, 0, 0], [0, 1, 0]], [[0, 1, 1], [0, 0, 1]]])
    assert triplet(E, P, N, 0.4).item() == pytest.approx((0.2 + 0.4) / 2)
    first = np.log1p(np.exp(-2.0) + np.exp(-8.0))
    assert softmax(E, P, N, 10.0).item() == pytest.approx((first + np.log(2)) / 2, abs=1e-6)
    for loss, scale in ((softmax, 10.0), (triplet, 0.4)):
        value = loss(E, P, 0 * N, scale)
        assert value == 0 and not torch.autograd.grad(value, E)[0].any()


def network(convolution=0):
    shape = Shape(6, 3, convolution, 2, 4, 5)
    return shape, torch.from_numpy(shape.start(np.random.RandomState(0)))


def numbers(lengths, T):
    rng = np.random.default_rng(0)
    ids = np.zeros((T, len(lengths)), dtype=np.int64)
    for i, length in enumerate(lengths):
        ids[:length, i] = rng.integers(1, 7, length)
    return torch.from_numpy(ids), torch.tensor(lengths)


@pytest.mark.parametrize("steps", [[7, 5, 2, 1], [7, 7, 7]])
def test_the_network_is_the_bidirectional_one_of_torch_on_packed_texts(steps):
    shape, theta = network()
    parts = shape.split(theta)
    ids, lengths = numbers(steps, 7)
    peer = torch.nn.LSTM(3, 4, 2, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for layer in range(2):
            for way, suffix in (("forward", ""), ("backward", "_reverse")):
                name, mine = f"l{layer}{suffix}", f"{way}_{layer}"
                getattr(peer, f"weight_ih_{name}").copy_(parts[f"{mine}_input"])
                getattr(peer, f"weight_hh_{name}").copy_(parts[f"{mine}_recurrent"])
                getattr(peer, f"bias_ih_{name}").copy_(parts[f"{mine}_bias"])
                getattr(peer, f"bias_hh_{name}").zero_()
        packed = torch.nn.utils.rnn.pack_padded_sequence(parts["characters"][ids], lengths)
        states, _ = torch.nn.utils.rnn.pad_packed_sequence(peer(packed)[0])
        mean = states.sum(dim=0) / lengths[:, None]
        expected = mean @ parts["projection"].T + parts["projection_bias"]
        np.testing.assert_allclose(encode(parts, shape, ids, lengths), expected, atol=1e-12)


@pytest.mark.parametrize("convolution", [0, 2, 3])
def test_what_stands_behind_the_end_changes_nothing(convolution):
    shape, theta = network(convolution)
    parts = shape.split(theta)
    ids, lengths = numbers([4, 3], 4)
    wide = torch.cat([ids, torch.zeros(5, 2, dtype=torch.int64)])
    np.testing.assert_allclose(
        encode(parts, shape, ids, lengths), encode(parts, shape, wide, lengths), atol=1e-12
    )


@pytest.mark.parametrize("convolution", [0, 3])
def test_gradients_are_those_of_finite_differences(convolution):
    shape, theta = network(convolution)
    ids, lengths = numbers([3, 2, 2], 3)
    P = torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=torch.float64)
    N = 1 - P - torch.eye(3, dtype=torch.float64)

    def loss(learned):
        # No character has no vector, and none is learned for it.
        theta = torch.cat([learned.new_zeros(3), learned])
        Z = torch.nn.functional.normalize(encode(shape.split(theta), shape, ids, lengths))
        return softmax(Z @ Z.T, P, N, 10.0) + contrastive(Z @ Z.T, P, N, "hinge", 0.0)

    assert torch.autograd.gradcheck(loss, theta[3:].clone().requires_grad_(), fast_mode=True)


def test_a_gpu_reads_more_texts_at_once():
    texts = Texts(np.ones((700, 4), dtype=np.int64), np.arange(700) % 4 + 1)
    for device, n_chunks in (("cpu", 11), ("cuda", 1)):
        chunks = list(Encoder(network()[0], None, device).chunks(texts, np.arange(700), 64))
        assert len(chunks) == n_chunks
        assert (np.diff(texts.lengths[np.concatenate(chunks)]) >= 0).all()
        assert sorted(np.concatenate(chunks)) == list(range(700))


def test_texts_begin_anywhere_in_training_and_stand_in_the_middle_later():
    texts = Texts(np.array([[3, 4, 5], [6, 0, 0]]), np.array([3, 1]))
    ids, lengths = texts.steps(np.array([1, 0]), 7)
    np.testing.assert_array_equal(ids.T, [[0, 0, 0, 6, 0, 0, 0], [0, 0, 3, 4, 5, 0, 0]])
    assert lengths.tolist() == [7, 7]
    rng = np.random.RandomState(0)
    begins = {int(texts.steps(np.array([0]), 7, rng)[0].argmax()) - 2 for _ in range(60)}
    assert begins == set(range(5))
    ids, lengths = texts.steps(np.array([1, 0]), None)
    np.testing.assert_array_equal(ids.T, [[6, 0, 0], [3, 4, 5]])
    assert lengths.tolist() == [1, 3]


def test_a_text_is_no_partner_of_itself_and_is_compared_on_both_sides():
    groups = np.repeat(np.eye(5), 4, axis=0)
    same = np.arange(20), np.arange(20)
    batches = Batches(Relevance(groups @ groups.T), same, 20, None, np.random.RandomState(0))
    for batch in batches.epoch():
        np.testing.assert_array_equal(batch.x, batch.y)
        together = batch.x[:, None] // 4 == batch.y // 4
        np.testing.assert_array_equal(batch.positive, together ^ np.eye(len(batch.x), dtype=bool))
        np.testing.assert_array_equal(batch.negative, ~together)


def test_negatives_are_drawn_in_proportion():
    batches = Batches(Relevance.identity(400), None, 400, 4, np.random.RandomState(0))
    for batch in batches.epoch():
        ratio = batch.negative.sum() / batch.positive.sum()
        assert 3 < ratio < 5 and not (batch.negative * batch.positive).any()


def test_a_query_of_higher_grade_is_read_more_often():
    grades = np.ones(200)
    grades[[3, 50, 51]] = 2, 5, 1_000
    relevance = Relevance.from_pairs(range(200), range(200), grades, shape=(200, 200))
    read = Batches(relevance, None, 64, None, np.random.RandomState(0)).queries
    assert np.bincount(read)[[0, 3, 50, 51]].tolist() == [1, 2, 5, 8]


def test_near_queries_stand_together():
    points = np.repeat(np.eye(10), 8, axis=0)
    order = np.random.RandomState(1).permutation(80)
    found = group_near_queries(order, points[order], np.random.RandomState(0))
    assert sorted(found) == list(range(80))
    assert all(len(set(bunch // 8)) == 1 for bunch in found.reshape(10, 8))
