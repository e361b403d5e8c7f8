"""Runs fused: reciprocal ranks, and blends that validation chooses without flattering itself."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from made_up import LEFT, RIGHT

import simviz
from simviz.data import PairSet
from simviz.evaluation import RankFusion, choose_blend, evaluate, read_run
from simviz.evaluation._forward_selection import SHARES, ForwardSelection
from simviz.evaluation.fusion import added, reciprocal_ranks
from simviz.exceptions import JobCancelled
from simviz.pipeline import BlendPipeline, default_pipeline, load_pipeline
from simviz.relevance import Relevance

N = 60


@pytest.fixture(scope="module")
def pairs():
    texts = [f"{i}" for i in range(N)]
    return PairSet.from_texts([f"x{t}" for t in texts], [f"y{t}" for t in texts])


@pytest.fixture(scope="module")
def runs(pairs, tmp_path_factory):
    """Two runs that each know one half of what there is to know, a copy, and a bad one."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("runs")
    noise = rng.standard_normal((3, N, N))
    tables = {"a": np.eye(N) + 0.45 * noise[0], "b": np.eye(N) + 0.5 * noise[1], "bad": noise[2]}
    tables["copy"] = tables["a"]
    found = {}
    for name, table in tables.items():
        np.save(folder / f"{name}.npy", table)
        found[name] = read_run(folder / f"{name}.npy", pairs).pipeline
    return found


def test_ranks_are_reciprocal_and_ties_take_their_mean():
    found = reciprocal_ranks(np.array([[0.9, 0.1, 0.5], [1.0, 1.0, 0.0]]), 60)
    np.testing.assert_allclose(found, [[1 / 61, 1 / 63, 1 / 62], [1 / 61.5, 1 / 61.5, 1 / 63]])


@pytest.mark.parametrize("block_size", [None, 7])
def test_fusion_sums_over_runs_and_asks_each_side_by_its_own_ranks(pairs, runs, block_size):
    two = [runs["a"], runs["b"]]
    S = [one.similarity(pairs.x, pairs.y) for one in two]
    blocks = RankFusion(two).iter_similarity(pairs.x, pairs.y, block_size=block_size)
    np.testing.assert_allclose(np.concatenate(list(blocks)), sum(map(reciprocal_ranks, S)))
    found = RankFusion(two).evaluate(pairs, ["MRR"])
    turned = sum(reciprocal_ranks(s.T) for s in S)
    better = (turned > np.diag(turned)[:, None]).sum(axis=1)
    assert found.value("MRR", "y2x") == pytest.approx(np.mean(1 / (1 + better)), abs=0.01)
    assert found.directions == ("x2y", "y2x")


@pytest.mark.parametrize("direction", ["x2y", "y2x", "mean"])
def test_a_blend_is_chosen_and_is_a_pipeline(pairs, runs, direction, tmp_path):
    chosen = choose_blend(runs, pairs, pairs, "MRR", direction)
    assert chosen.single in ("a", "copy")
    assert chosen.shares.get("bad", 0) <= 0.1, "which luck may give: noise helps some queries"
    assert sum(chosen.shares.values()) == pytest.approx(1)
    assert 0.2 < chosen.shares["b"] < 0.8
    blend = chosen.pipeline
    value, single = (
        evaluate(one, pairs, metrics=["MRR"]).value("MRR", direction) for one in (blend, runs["a"])
    )
    assert chosen.single_value <= single + 1e-9
    assert single < chosen.value <= value + 1e-9, "cross-validated, it is not flattered"
    blend.save(tmp_path / "blend.simviz")
    again = load_pipeline(tmp_path / "blend.simviz")
    assert (again.similarity(pairs.x, pairs.y) == blend.similarity(pairs.x, pairs.y)).all()
    assert len(blend.index(pairs.y).search(pairs.x.take([0]), k=3)) == 3


def test_nothing_is_added_to_a_run_that_is_best_alone(pairs, runs):
    chosen = choose_blend({"a": runs["a"], "bad": runs["bad"]}, pairs, pairs, "MRR")
    assert chosen.path == (("a", 1.0),) and chosen.pipeline is runs["a"]
    assert chosen.value == pytest.approx(chosen.single_value, abs=0.02)


def test_metrics_of_all_judged_pairs_are_folded_by_queries(pairs, runs):
    own = np.arange(N)
    other = (own + 1 + np.random.default_rng(1).integers(0, 9, N)) % N
    values = np.r_[np.ones(N), -np.ones(N)]
    judged = Relevance.from_pairs(
        np.r_[own, own], np.r_[own, other], values, shape=(N, N), unjudged="ignore"
    )
    told = PairSet(pairs.x, pairs.y, judged)
    chosen = choose_blend({"a": runs["a"], "b": runs["b"]}, told, told, "AUC")
    assert set(chosen.shares) == {"a", "b"}
    assert chosen.value == pytest.approx(evaluate(chosen.pipeline, told).value("AUC"), abs=0.03)


def test_what_is_lexical_stands_in_for_what_was_not_learned():
    pairs = PairSet.from_texts(LEFT, RIGHT)
    lexical = default_pipeline("bm25", pairs).fit(pairs)
    learned = default_pipeline("cl_lsi", pairs, n_components=2, shared=True).fit(pairs)
    for base, further, alpha in ((lexical, learned, 0.3), (learned, lexical, 0.7)):
        blend = added(base, further, pairs, 0.3)
        assert isinstance(blend, BlendPipeline)
        assert blend.lexical_ is lexical and blend.learned_ is learned
        assert blend.alpha == alpha


def test_each_fold_is_measured_by_what_the_others_choose():
    # Run 0 is best on even queries, run 1 on odd ones; a fold never sees its own.
    singles = np.array([[1.0, 0.0] * 10, [0.0, 0.9] * 10])
    unit = np.arange(20) % 2  # all even queries are one fold, all odd ones the other
    none = ForwardSelection(singles, lambda path, run: np.zeros((9, 20)), np.ones(20), unit)
    found, alone = none.nested()
    assert found.max() == alone.max() == 0
    assert none.select() == ((0, 1.0),)
    half = np.full((9, 20), 0.5)
    half[4] = 0.8
    pays = ForwardSelection(singles, lambda path, run: half, np.ones(20), np.arange(20))
    assert pays.select() == ((0, 1.0), (1, SHARES[4]))
    assert (pays.nested()[0] == 0.8).all()


def test_it_can_be_stopped_and_needs_answers(pairs, runs):
    with pytest.raises(JobCancelled):
        choose_blend(runs, pairs, pairs, "MRR", callback=lambda *_: True)
    nothing = PairSet(pairs.x, pairs.y, Relevance.from_pairs([], [], [], shape=(N, N)))
    with pytest.raises(ValueError, match="No query"):
        choose_blend(runs, pairs, nothing, "MRR")
    with pytest.raises(ValueError, match="nothing to blend"):
        choose_blend({}, pairs, pairs)


def test_the_runs_of_a_comparison_are_blended_and_the_gain_is_tested(pairs, tmp_path):
    rng = np.random.default_rng(0)
    for name, spread in (("a", 0.45), ("b", 0.5)):
        np.save(tmp_path / f"{name}.npy", np.eye(N) + spread * rng.standard_normal((N, N)))
    given = {name: simviz.read_run(tmp_path / f"{name}.npy", pairs) for name in "ab"}
    split = simviz.split(pairs, by="pair", fractions=(0.2, 0.4, 0.4))
    found = simviz.blend(simviz.compare(pairs, given, split=split, metric="MRR"))
    assert set(found.shares) == {"a", "b"}
    best, single, control = found.evaluations
    assert (best, single) == ("best blend", found.single)
    assert control in ("RRF of a, b", "RRF of b, a")
    values = {name: one.value("MRR") for name, one in found.evaluations.items()}
    for name, one in found.against.items():
        assert one.difference == pytest.approx(values[best] - values[name])
        assert one.low <= one.difference <= one.high
    assert "best blend: " in repr(found) and f"to {single}" in repr(found)
    scores = found.best.similarity(pairs.x, pairs.y)
    np.testing.assert_array_equal(deepcopy(found).similarity(pairs.x, pairs.y), scores)
    assert simviz.draw(found, pairs, method="pca").quality is not None
