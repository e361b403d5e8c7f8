"""What methods learn from pairs judged not relevant where all unjudged ones are negative, too."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.features import Characters, TextCounts
from simviz.methods._blstm_training import Batches
from simviz.methods._metric import draw_constraints
from simviz.methods._spectral import signed_weights
from simviz.methods._triples import TripleSource
from simviz.methods.heterogeneous_svd import HeterogeneousSVD
from simviz.methods.kernel_heterogeneous_svd import KernelHeterogeneousSVD
from simviz.methods.pamir import PAMIR
from simviz.methods.s2net import S2Net
from simviz.methods.siamese_blstm import SiameseBLSTM
from simviz.methods.ssi import SSI
from simviz.relevance import Relevance

WORDS = ["clerk", "baker", "nurse", "welder", "pilot", "tailor"]
PLACES = ["bank", "ship", "town", "farm"]
TITLES = [f"{word} {place}" for word in WORDS for place in PLACES]
INPUTS = [f"{place} {word}" for word in WORDS for place in PLACES] + ["clerk pilot"]
#: Titles of a word are one group; the last input was only judged.
GROUP = np.repeat(np.arange(len(WORDS)), len(PLACES))
ASKED, WRONG = 3, 19  # of one place, of another word
LAST = len(INPUTS) - 1

NETWORK = {
    "n_components": 16, "hidden_units": 8, "embedding_size": 8, "max_iter": 30,
    "validation_fraction": 0.0, "learning_rate": 0.01, "batch_size": 16,
}  # fmt: skip
MODELS = {
    "blstm": SiameseBLSTM(**NETWORK),
    "blstm, two networks": SiameseBLSTM(**NETWORK, shared=False),
    "blstm, contrastive": SiameseBLSTM(**NETWORK, loss="contrastive", n_negatives=4, n_grams=0),
    "ssi": SSI(8, shared=True, validation_fraction=0.0, margin=1.0),
    "ssi, paper": SSI(8, **SSI.presets["paper"]),
    "pamir": PAMIR(),
    "svd": HeterogeneousSVD(5),
    "svd, paper": HeterogeneousSVD(5, **HeterogeneousSVD.presets["paper"]),
    "svd, per_x": HeterogeneousSVD(5, negative_weight="per_x"),
    "svd, per_y": HeterogeneousSVD(5, negative_weight="per_y"),
    "kernel svd": KernelHeterogeneousSVD(5, x_kernel="rbf", y_kernel="linear"),
}


def taxonomy(*rejected, grade=-1.0):
    """Inputs and titles of a group belong together; some pairs are rejected."""
    together = np.zeros((len(INPUTS), len(TITLES)))
    together[:LAST] = np.equal.outer(GROUP, GROUP)
    for pair in rejected:
        together[pair] = grade
    return Relevance(sp.csr_array(together), unjudged="negative")


def sides(model):
    cls = Characters(min_count=1) if model.tags.input == "characters" else TextCounts()
    features = cls.fit([*INPUTS, *TITLES])
    return features.transform(INPUTS), features.transform(TITLES)


def heights(model, columns, relevance):
    """How high pairs stand, from the mean of relevant pairs, in the spread of all scores."""
    S = model.fit(*sides(model), relevance).similarity(*sides(model))
    together = np.equal.outer(GROUP, GROUP)
    relevant = S[: len(GROUP)][together].mean()
    return [(S[i, columns].mean() - relevant) / S.std() for i in (ASKED, LAST)]


@pytest.mark.filterwarnings("ignore:.*more than the data can give")
@pytest.mark.parametrize("name", MODELS)
def test_a_rejected_pair_moves_down(name):
    """Of an input that has relevant pairs too, and of one that was only judged."""
    model, columns = MODELS[name], np.flatnonzero(GROUP == GROUP[WRONG])
    before = heights(model, columns, taxonomy())
    for i, asked in enumerate((ASKED, LAST)):
        judged = taxonomy(*((asked, j) for j in columns), grade=-5.0)
        assert heights(model, columns, judged)[i] < before[i] - 0.15


def test_only_rejected_items_are_negatives_of_nothing_else():
    judged = taxonomy((LAST, WRONG), (ASKED, WRONG), grade=-2.0)
    assert np.flatnonzero(judged.only_rejected).tolist() == [LAST]
    for weight in ("balanced", "paper", "per_x", "per_y", 0.25):
        P, a, b = signed_weights(judged, weight)
        row = (P.toarray() - np.outer(a, b))[LAST]
        assert row[WRONG] < 0 and not np.delete(row, WRONG).any(), weight
    triples = TripleSource(judged, links=False).draw(20_000, 1)
    own = triples[triples[:, 0] == LAST]
    assert set(own[:, 2]) == {WRONG} and len(set(own[:, 1])) == len(TITLES) - 1
    batches = Batches(judged, None, 256, None, np.random.RandomState(0))
    assert (batches.queries == LAST).sum() == 2, "as often as its grade is times the usual"
    met = [(batch, at) for batch in batches.epoch() for at in np.flatnonzero(batch.x == LAST)]
    assert met
    for batch, at in met:
        assert not batch.positive[at].any()
        assert batch.y[batch.negative[at] > 0].tolist() == [WRONG]
        assert batch.positive[:, batch.y == WRONG].any(), "something stands above it"
    data = (*map(np.eye, judged.shape), judged)
    drawn = draw_constraints(data, 400, np.random.RandomState(0), "")
    own = drawn.x == LAST
    assert drawn.y[own].tolist() == [WRONG] and drawn.sign[own].tolist() == [-1]
    X, Y = sides(S2Net())
    with_it = S2Net(5, max_iter=5, random_state=0).fit(X, Y, judged)
    without = S2Net(5, max_iter=5, random_state=0).fit(X[:LAST], Y, judged.take(range(LAST)))
    np.testing.assert_array_equal(with_it.x_projection_, without.x_projection_)


@pytest.mark.parametrize("group", [1, 4])
def test_rejected_pairs_are_drawn_as_often_as_relevant_ones(group):
    R = np.array([[1, 1, -3, 0, 0], [0, 0, 0, -1, 0], [0, 1, 0, 0, 1]], float)
    judged = Relevance(sp.csr_array(R), unjudged="negative")
    source = TripleSource(judged, links=False, group=group)
    assert len(source) == 6
    triples = source.draw(60_002, 3)
    first = triples[::group]
    of_rejected = R[first[:, 0], first[:, 2]] < 0
    # One other of row 0 in three is the rejected one as well.
    named = (first[:, 0] == 1) | (of_rejected & (first[:, 0] == 0))
    assert named.mean() == pytest.approx((1 + 1 + 2 / 3) / 6, rel=0.05)
    better = first[first[:, 0] == 1]
    assert set(better[:, 2]) == {3} and set(better[:, 1]) == {0, 1, 2, 4}
    _, counts = np.unique(better[:, 1], return_counts=True)
    np.testing.assert_allclose(counts / counts.sum(), 0.25, rtol=0.1)
    assert (R[first[:, 0], first[:, 1]] > 0)[first[:, 0] != 1].all()
    pairs = triples[: 60_000 // group * group].reshape(-1, group, 3)
    assert (pairs[:, :, :2] == pairs[:, :1, :2]).all(), "others of a group share a pair"


def test_items_of_one_collection_are_never_rejected_with_themselves():
    R = np.array([[1, 1, -1], [1, -1, 0], [-1, 0, -1]], float)
    judged = Relevance(sp.csr_array(R), unjudged="negative")
    found = np.unique(TripleSource(judged, links=True).draw(3_000, 1), axis=0)
    assert found.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]


def digest(arrays):
    joined = b"".join(np.ascontiguousarray(array, dtype=np.int64).tobytes() for array in arrays)
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


def test_nothing_is_drawn_otherwise_where_nothing_was_rejected():
    judged = taxonomy()
    triples = [TripleSource(judged, links=False, group=g).draw(999, 5) for g in (1, 4)]
    assert digest(triples) == "fb1b051bdc4cdda3"
    drawn = []
    for n_negatives in (None, 4):
        batches = Batches(judged, None, 32, n_negatives, np.random.RandomState(0))
        for batch in batches.epoch():
            drawn += [batch.x, batch.y, batch.positive, batch.negative]
    assert digest(drawn) == "1831b8df761949a4"
    data = (*map(np.eye, judged.shape), judged)
    drawn = draw_constraints(data, 60, np.random.RandomState(0), "")
    assert digest([drawn.x, drawn.y, drawn.sign]) == "2b4fb4f9cdbbc54b"
