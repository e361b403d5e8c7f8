"""CSLS: similarities without hubs, among the queries given or the training items."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import LEFT, RIGHT

from simviz import compare, draw
from simviz.data import Items, PairSet
from simviz.evaluation import csls, evaluate, read_run
from simviz.evaluation.hubs import csls_values
from simviz.evaluation.metrics import MRR
from simviz.exceptions import StoreError
from simviz.persistence import load_state, save_state
from simviz.pipeline import (
    BlendPipeline,
    CSLSPipeline,
    default_pipeline,
    load_index,
    load_pipeline,
)
from simviz.projection.pipeline_map import Space

BOTH = pytest.mark.parametrize("queries", ["given", "training"])


@pytest.fixture(scope="module")
def pairs():
    return PairSet.from_texts(LEFT, RIGHT)


@pytest.fixture(scope="module")
def fitted(pairs):
    return default_pipeline("cl_lsi", pairs, n_components=3, shared=True).fit(pairs)


@pytest.fixture(scope="module")
def strange():
    """Items of which the first is unknown."""
    return Items(["1", "2"], ["ЖЖЖ ЖЖЖЖ", "a red car today"], "text")


def nearest(scores, k):
    return np.sort(scores, axis=1)[:, -k:].mean(axis=1)


@BOTH
def test_it_ranks_as_the_paper_has_it(pairs, fitted, strange, queries):
    S = fitted.similarity(pairs.x, pairs.y).astype(float)
    published = 2 * S - nearest(S, 4)[:, None] - nearest(S.T, 4)
    made = CSLSPipeline.of(fitted, pairs, 4, queries=queries)
    for block_size in (None, 3):
        found = np.concatenate(list(made.iter_similarity(pairs.x, pairs.y, block_size)))
        # Half of it, less one constant.
        gap = found - published / 2
        np.testing.assert_allclose(gap, gap[0, 0], atol=1e-6)
    alone = made.similarity(pairs.x.take([4]), pairs.y)[0]
    assert made.looks_at_queries == (queries == "given")
    if made.looks_at_queries:
        assert np.abs(alone - found[4]).max() > 1e-3
        return
    # A score depends on its two items alone.
    np.testing.assert_allclose(alone, found[4], atol=1e-6)
    np.testing.assert_allclose(made.score_pairs(LEFT, RIGHT), np.diag(found), atol=1e-6)
    asked = [strange.content[i] for i in (0, 1, 1)], [RIGHT[j] for j in (3, 3, 0)]
    cells = made.similarity(strange, pairs.y)[[0, 1, 1], [3, 3, 0]]
    np.testing.assert_allclose(made.score_pairs(*asked), cells, atol=1e-6)


def test_a_hub_no_longer_is_the_nearest_of_all(pairs, tmp_path):
    # The last answer is nearer to every query than its own answer is.
    S = 0.5 * np.eye(20) + 0.1 * np.random.default_rng(0).random((20, 20))
    S[:, 19] = 0.75
    np.save(tmp_path / "scores.npy", S)
    run = read_run(tmp_path / "scores.npy", pairs).pipeline
    asked = pairs.take(range(19), None)
    assert evaluate(run, asked).value("top-1") == 0
    assert evaluate(CSLSPipeline.of(run, pairs, 5), asked).value("top-1") == 1


@BOTH
def test_what_is_unknown_scores_0_with_everything(pairs, fitted, strange, queries):
    made = CSLSPipeline.of(fitted, pairs, 3, queries=queries)
    rows = made.similarity(strange, pairs.y)
    assert (rows[0] == 0).all() and (rows[1] != 0).all()
    assert (made.similarity(pairs.x, strange)[:, 0] == 0).all()
    assert made.score_pairs(["ЖЖЖ"], RIGHT[:1]) == [0]
    assert made.empty_share(strange, pairs.y) == (0.5, 0.0)
    # Scores lie around that 0.
    means = [one.similarity(pairs.x, pairs.y).mean() for one in (made, fitted)]
    assert abs(means[0] - means[1]) < 1e-3


@BOTH
def test_single_queries_of_an_index_find_neighbours_in_training(pairs, fitted, queries, tmp_path):
    made = CSLSPipeline.of(fitted, pairs, 3, queries=queries)
    alone = CSLSPipeline.of(fitted, pairs, 3, queries="training")
    wanted = alone.similarity(pairs.x.take([2]), pairs.y)[0]
    index = made.index(pairs.y)
    found = index.search(LEFT[2], k=len(RIGHT))
    np.testing.assert_allclose(found["score"], np.sort(wanted)[::-1], atol=1e-6)
    index.save(tmp_path / "items.simviz")
    assert load_index(tmp_path / "items.simviz").search(LEFT[2], k=20).equals(found)
    back = made.index(pairs.x, side="x").search(RIGHT[2], k=1)
    column = alone.similarity(pairs.x, pairs.y.take([2]))[:, 0]
    assert back["score"][0] == pytest.approx(column.max(), abs=1e-6)
    space = Space.of(made, pairs)
    assert space.nearest("x", 2, 1).scores[0] == pytest.approx(wanted.max(), abs=1e-6)


@BOTH
def test_it_is_saved_and_loaded(pairs, fitted, queries, tmp_path):
    made = CSLSPipeline.of(fitted, pairs, 3, queries=queries)
    made.save(tmp_path / "scaled.simviz")
    again = load_pipeline(tmp_path / "scaled.simviz")
    assert (again.k, again.queries) == (3, queries)
    for x in (pairs.x, pairs.x.take([1])):
        assert (again.similarity(x, pairs.y) == made.similarity(x, pairs.y)).all()
    assert (again.score_pairs(LEFT, RIGHT) == made.score_pairs(LEFT, RIGHT)).all()
    blend = BlendPipeline.of(made, default_pipeline("bm25", pairs).fit(pairs), pairs, 0.3)
    blend.save(tmp_path / "blend.simviz")
    whole = load_pipeline(tmp_path / "blend.simviz")
    assert whole.looks_at_queries == (queries == "given")
    assert (whole.similarity(pairs.x, pairs.y) == blend.similarity(pairs.x, pairs.y)).all()


def test_a_damaged_file_is_refused(pairs, fitted, tmp_path):
    path = tmp_path / "scaled.simviz"
    CSLSPipeline.of(fitted, pairs, 3).save(path)
    pictures = {"content": np.zeros((4, 8, 8), np.uint8), "kind": "image"}
    references = load_state(path)["csls"]["references"]
    for name, wrong in (
        ("k", 0),
        ("k", "3"),
        ("queries", "all"),
        ("means", [float("nan"), 0.0]),
        ("references", {}),
        ("references", references | {"x": pictures}),
    ):
        CSLSPipeline.of(fitted, pairs, 3).save(path)
        objects = load_state(path)
        objects["csls"][name] = wrong
        save_state(objects, path)
        with pytest.raises(StoreError, match="cannot be read"):
            load_pipeline(path)


def test_parameters_are_checked(pairs, fitted):
    for k in (0, 2.5, True):
        with pytest.raises(ValueError, match="whole number from 1"):
            CSLSPipeline.of(fitted, pairs, k)
    with pytest.raises(ValueError, match="Did you mean 'given'"):
        CSLSPipeline.of(fitted, pairs, queries="givn")
    with pytest.raises(ValueError, match="default_pipeline"):
        CSLSPipeline(fitted.model_).fit(pairs)
    with pytest.raises(ValueError, match="frequencies='training'"):
        CSLSPipeline.of(fitted, pairs).index(pairs.y, frequencies="items")


@BOTH
def test_it_is_compared_like_a_method_and_its_k_chosen_by_such_values(pairs, fitted, queries):
    values = csls_values(fitted, pairs, pairs, queries, MRR(), "mean", (1, 3, 40))
    for k, value in values.items():
        made = CSLSPipeline.of(fitted, pairs, k, queries=queries) if k else fitted
        assert evaluate(made, pairs).value("MRR", "mean") == pytest.approx(value), k
    scaled = CSLSPipeline(default_pipeline("cl_lsi", pairs, n_components=3), k=2, queries=queries)
    compared = compare(pairs, ["bm25", scaled])["cl_lsi CSLS"]
    assert draw(compared, pairs, method="pca").quality is not None
    chosen = csls(fitted, pairs, pairs, queries=queries, direction="mean", ks=(1, 3, 40))
    assert values[chosen.k] == max(values[k] for k in (1, 3, 40))
    assert chosen.queries == queries
