"""Blocked evaluation against counting by hand, and scorers to compare with."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from made_up import LEFT, RIGHT
from scipy.stats import pearsonr, rankdata, spearmanr
from scorers import Table
from sklearn.metrics import roc_auc_score

import simviz.evaluation._blocks
from simviz.data.pairs import PairSet
from simviz.evaluation import (
    AUC,
    MAP,
    MRR,
    NDCG,
    ChanceScorer,
    PartialAUC,
    PopularityScorer,
    Precision,
    RankLoss,
    Recall,
    Spearman,
    TopOne,
    VectorScorer,
    evaluate,
)
from simviz.exceptions import JobCancelled
from simviz.methods import get_method
from simviz.pipeline import default_pipeline
from simviz.ranking import Ranking
from simviz.relevance import Relevance

RANK_METRICS = [TopOne(), MRR(), MAP(), Precision(2), Recall(3), NDCG(3), AUC("query")]


@st.composite
def problems(draw):
    n_x, n_y = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    scores = rng.integers(-2, 4, (n_x, n_y)).astype(draw(st.sampled_from(["f4", "f8"])))
    scores[rng.random(n_x) < 0.2] = 0  # empty items
    grades = np.where(rng.random((n_x, n_y)) < 0.35, rng.integers(1, 4, (n_x, n_y)), 0)
    grades[(rng.random((n_x, n_y)) < draw(st.sampled_from([0.0, 0.3]))) & (grades == 0)] = -1
    unjudged = draw(st.sampled_from(["negative", "ignore"]))
    return scores, Relevance(sp.csr_array(grades), unjudged=unjudged)


def expected_ranking(scores, grades, in_pool):
    """Rank with full rows: by scipy, one query at a time."""
    listed, above, tied, sizes = [], [], [], []
    for row, grade, pool in zip(scores, grades, in_pool, strict=True):
        highest = rankdata(-row[pool], method="min") - 1
        size = rankdata(-row[pool], method="max") - highest
        # A judged pool lists all of its candidates, else only the relevant ones count.
        keep = np.ones(pool.sum(), bool) if not pool.all() else grade[pool] > 0
        listed.append(np.flatnonzero(pool)[keep])
        above.append(highest[keep])
        tied.append(size[keep])
        sizes.append(pool.sum())
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in listed])])
    flat = np.concatenate(listed).astype(int)
    query = np.repeat(np.arange(len(scores)), np.diff(indptr))
    counts = np.concatenate(above), np.concatenate(tied)
    return Ranking(indptr, flat, grades[query, flat], *counts, sizes)


@settings(max_examples=120)
@given(problems())
def test_equals_full_matrices(problem):
    scores, relevance = problem
    grades = relevance.matrix.toarray()
    judged = grades != 0 if relevance.unjudged == "ignore" else np.ones_like(grades, bool)
    sides = np.ones((len(scores), 1)), np.ones((scores.shape[1], 1))
    result = evaluate(Table(scores), *sides, relevance)
    views = {"x2y": (scores, grades, judged), "y2x": (scores.T, grades.T, judged.T)}
    for direction, side in views.items():
        expected = expected_ranking(*side)
        for metric in RANK_METRICS:
            values = metric.per_query(expected)
            if result.pool == "judged":
                # Relevant only: for NDCG a query may still fail if grades differ.
                levels = [set(g[g != 0].clip(0) if metric == NDCG(3) else g[g != 0] > 0)
                          for g in side[1]]  # fmt: skip
                values[[len(known) < 2 for known in levels]] = np.nan
            np.testing.assert_allclose(
                result.per_query(metric, direction), values, err_msg=metric.name
            )
        can_fail = (side[1] > 0).any(axis=1)
        if result.pool == "judged":
            certain = can_fail & (side[1] >= 0).all(axis=1)
            assert result.n_certain(direction) == certain.sum()
            can_fail &= ~certain
        assert result.n_queries(direction) == can_fail.sum()
    relevant = grades[judged] > 0
    if relevant.any() and not relevant.all():
        assert result.value(AUC()) == pytest.approx(roc_auc_score(relevant, scores[judged]))
        assert result.value(RankLoss()) == pytest.approx(1 - result.value("AUC"))
        standard = roc_auc_score(relevant, scores[judged], max_fpr=0.25)
        assert result.value(PartialAUC(0.25, True)) == pytest.approx(standard)
    else:
        assert math.isnan(result.value(AUC()))
    assert result.pool == ("judged" if relevance.unjudged == "ignore" else "split")


@settings(max_examples=30)
@given(problems(), st.integers(1, 10), st.booleans())
def test_blocks_of_any_size_give_the_same(problem, block_size, keep):
    scores, relevance = problem
    sides = np.ones((len(scores), 1)), np.ones((scores.shape[1], 1))
    whole = evaluate(Table(scores), *sides, relevance, block_size=100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simviz.evaluation._blocks, "CACHE_BYTES", 2**26 if keep else 0)
        blocked = evaluate(Table(scores), *sides, relevance, block_size=block_size)
    for direction in ("x2y", "y2x"):
        for name in ("indptr", "candidate", "grade", "above", "tied", "n_candidates"):
            a, b = (getattr(r.rankings[direction], name) for r in (whole, blocked))
            np.testing.assert_array_equal(a, b)
    for name in ("false_positives", "true_positives", "thresholds"):
        np.testing.assert_array_equal(getattr(whole.roc, name), getattr(blocked.roc, name))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1.0, 1e-30, 1e300])
def test_many_real_scores(dtype, spread):
    spread = min(spread, float(np.finfo(dtype).max) / 1e8)
    rng = np.random.default_rng(5)
    scores = (rng.standard_normal((300, 700)) ** 3 * spread).astype(dtype)
    scores[:, 600:] = scores[:, :100]  # ties between columns
    relevance = Relevance(sp.random_array((300, 700), density=0.01, rng=rng), "negative")
    result = evaluate(Table(scores), np.ones((300, 1)), np.ones((700, 1)), relevance)
    grades = relevance.matrix.toarray()
    for direction, side in {"x2y": (scores, grades), "y2x": (scores.T, grades.T)}.items():
        expected = expected_ranking(*side, np.ones_like(side[1], bool))
        np.testing.assert_array_equal(result.rankings[direction].above, expected.above)
        np.testing.assert_array_equal(result.rankings[direction].tied, expected.tied)
    assert result.roc.auc == pytest.approx(roc_auc_score(grades.ravel() > 0, scores.ravel()))
    assert result.roc.n_positive + result.roc.n_negative == scores.size


def test_infinite_scores_are_ordered_too():
    scores = np.array([[np.inf, 0.0, -np.inf], [np.inf, -np.inf, 1.0]])
    relevance = sp.csr_array([[1, 0, 1], [1, 1, 0]])
    result = evaluate(Table(scores), np.ones((2, 1)), np.ones((3, 1)), relevance)
    np.testing.assert_allclose(result.per_query("MAP"), [(1 + 2 / 3) / 2, (1 + 2 / 3) / 2])
    assert result.value("AUC") == pytest.approx((2 * 2) / 8)


def test_a_judged_pool_can_be_asked_for():
    scores = np.array([[3.0, 2.0, 1.0, 9.0]])
    relevance = Relevance(sp.csr_array([[-1.0, 1, -1, 0]]), unjudged="negative")
    for pool, value in (("split", 1 / 3), ("judged", 1 / 2), ("all", 1 / 3)):
        found = evaluate(Table(scores), np.ones((1, 1)), np.ones((4, 1)), relevance, pool=pool)
        assert found.value("MRR", "x2y") == pytest.approx(value)
        assert found.pool == found.to_records()[0]["pool"] == pool
        assert found.value("AUC") == (0.5 if pool == "judged" else pytest.approx(1 / 3))


def test_scores_as_judgments_give_correlations():
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((12, 9)).round(1)
    rows, columns = np.nonzero(rng.random((12, 9)) < 0.4)
    predicted = scores[rows, columns]
    judged = (predicted + rng.standard_normal(len(rows))).round(1)
    how = {"shape": (12, 9), "kind": "score", "threshold": 0.5}
    relevance = Relevance.from_pairs(rows, columns, judged, **how)
    result = evaluate(Table(scores), np.ones((12, 1)), np.ones((9, 1)), relevance)
    assert result.value("Pearson") == pytest.approx(pearsonr(judged, predicted).statistic)
    assert result.value(Spearman()) == pytest.approx(spearmanr(judged, predicted).statistic)
    assert result.value("AUC") == pytest.approx(roc_auc_score(judged >= 0.5, predicted))
    lines = {r["metric"]: r["n"] for r in result.to_records()}
    assert lines["Pearson"] == lines["AUC"] == lines["Spearman"] == len(rows)
    assert "MRR" in lines


def test_a_constant_scorer_gets_chance_in_every_metric():
    n = 50
    result = evaluate(ChanceScorer(), np.eye(n), np.eye(n))
    harmonic = sum(1 / i for i in range(1, n + 1))
    chance = {"top-1": 1 / n, "MRR": harmonic / n, "MAP": harmonic / n, "P@5": 1 / n, "AUC": 0.5}
    for name, value in chance.items():
        assert result.value(name) == pytest.approx(value), name
    assert result.value("pAUC@0.1 (McClish)") == pytest.approx(0.5)


def test_queries_that_cannot_fail_leave_the_rank_metrics_of_a_judged_pool():
    # Three questions with candidates of both kinds, one whose only candidate is right;
    # each answer belongs to one question, so answers that ask cannot fail.
    x, grades = [0, 0, 1, 1, 1, 2, 2, 3], [1, -1, 1, -1, -1, -1, 1, 2]
    relevance = Relevance.from_pairs(x, range(8), grades, shape=(4, 8))
    sides = ChanceScorer(), np.ones((4, 1)), np.ones((8, 1))
    result = evaluate(*sides, relevance)
    assert [result.n_certain(d) for d in ("x2y", "y2x", None, "mean")] == [1, 4, 1, 5]
    assert [result.n_queries(d) for d in ("x2y", "y2x")] == [3, 0]
    assert np.isnan(result.per_query("MRR")).tolist() == [False, False, False, True]
    assert result.value("MRR", "x2y") == pytest.approx((0.75 + 11 / 18 + 0.75) / 3)
    lines = [r for r in result.to_records() if r["metric"] == "MRR"]
    told = [(r["direction"], r["n"], r["n_certain"]) for r in lines]
    assert told == [("x2y", 3, 1), ("mean", 3, 5)]
    assert not any(math.isnan(r["value"]) for r in result.to_records())
    assert "3 queries, 1 left out that cannot fail" in repr(result) and "nan" not in repr(result)
    # In a pool of all candidates each of them can fail.
    whole = evaluate(*sides, Relevance(relevance.matrix, unjudged="negative"))
    assert (whole.n_certain(), whole.n_queries("x2y")) == (0, 4)


def test_no_rank_metric_is_reported_where_no_query_can_fail():
    relevance = Relevance.from_pairs(range(4), range(4), [1, -1, 1, -1], shape=(4, 4))
    result = evaluate(Table(np.eye(4)), np.eye(4), np.eye(4), relevance)
    assert [(r["metric"], r["direction"]) for r in result.to_records()] == [("AUC", "pairs")]
    assert repr(result).startswith("Evaluation(AUC 0.500; 0 queries, 2 left out")


def test_grades_of_relevant_candidates_can_be_ranked():
    pairs = [0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [2, 1, 1, 1, -1]
    relevance = Relevance.from_pairs(*pairs, shape=(3, 2))
    result = evaluate(Table(np.arange(6.0).reshape(3, 2)), np.eye(3), np.ones((2, 1)), relevance)
    assert np.isnan(result.per_query("MRR")).all()
    assert np.isnan(result.per_query(NDCG(10))).tolist() == [False, True, True]
    assert result.per_query(NDCG(10))[0] < 1
    assert (result.n_certain("x2y"), result.n_certain("x2y", NDCG(10))) == (2, 1)
    assert NDCG(10) in result.metrics  # grades differ


def test_small_similarities_are_computed_once_and_large_ones_are_not_kept(monkeypatch):
    sides = np.ones((8, 1)), np.ones((8, 1))
    table = Table(np.eye(8))
    evaluate(table, *sides)
    assert table.passes == 1
    monkeypatch.setattr(simviz.evaluation._blocks, "CACHE_BYTES", 0)
    evaluate(table, *sides)
    assert table.passes == 3
    evaluate(table, *sides, metrics=["MRR"], directions=["x2y"])
    assert table.passes == 4


def test_a_scorer_may_fill_one_array_again_and_again():
    class Reusing:
        def iter_similarity(self, x, y, /, *, block_size=None):
            buffer = np.empty((1, 3))
            for row in scores:
                buffer[0] = row
                yield buffer

    scores = np.random.default_rng(3).standard_normal((3, 3))
    sides = np.ones((3, 1)), np.ones((3, 1))
    ours, theirs = evaluate(Reusing(), *sides), evaluate(Table(scores), *sides)
    assert ours.value("MRR", "y2x") == theirs.value("MRR", "y2x")
    assert ours.value("AUC") == theirs.value("AUC")


def test_no_relevant_pair_at_all():
    none = Relevance(sp.csr_array((3, 4)), unjudged="negative")
    result = evaluate(Table(np.ones((3, 4))), np.ones((3, 1)), np.ones((4, 1)), none)
    assert (result.n_queries(), result.roc.n_negative) == (0, 12)
    values = [result.value("MRR"), *(r["value"] for r in result.to_records())]
    assert np.isnan(values).all() and "AUC" in {r["metric"] for r in result.to_records()}


def test_records_are_tidy():
    scores = np.array([[3.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
    relevance = Relevance.from_pairs([0, 1, 2], [0, 0, 1], shape=(3, 2))
    sides = np.ones((3, 1)), np.ones((2, 1))
    result = evaluate(Table(scores), *sides, relevance, ["top-1", "AUC", "P@2"])
    top, back, mean, pairs = result.to_records()[:4]
    names = ("metric", "direction", "value", "standard_error", "n", "n_certain", "pool")
    assert top == dict(zip(names, ("top-1", "x2y", 1.0, 0.0, 3, 0, "split"), strict=True))
    assert (back["direction"], back["value"], back["n"]) == ("y2x", 0.75, 2)
    assert (mean["direction"], mean["value"], mean["n"]) == ("mean", 0.875, 5)
    assert mean["standard_error"] == back["standard_error"] / 2 == pytest.approx(0.125)
    assert (pairs["metric"], pairs["direction"], pairs["n"]) == ("AUC", "pairs", 6)
    assert [r["metric"] for r in result.to_records(["MRR"])] == ["MRR"] * 3
    assert "AUC 0.944" in repr(result)


def test_one_direction_alone():
    result = evaluate(Table(np.eye(3)), np.eye(3), np.eye(3), metrics=[MRR()], directions=["y2x"])
    assert result.directions == ("y2x",)
    assert [r["direction"] for r in result.to_records()] == ["y2x"]
    for ask, words in (
        (lambda: result.per_query("MRR", "x2y"), r"Directions here are 'y2x', got \('x2y',\)"),
        (lambda: result.value("AUC"), "did not trace"),
        (lambda: result.value("Spearman"), "compares scores, but these judgments are grades"),
        (lambda: result.per_query("AUC", "y2x"), "pools the pairs"),
    ):
        with pytest.raises(ValueError, match=words):
            ask()


def test_empty_items_are_told():
    X = sp.csr_array(np.array([[1.0, 0], [0, 0], [0, 2]]))
    Y = np.array([[0.0, 0], [0, 0], [0, 2], [1, 1]])
    result = evaluate(Table(np.ones((3, 4))), X, Y, sp.csr_array((3, 4)))
    assert (result.x_empty, result.y_empty) == (pytest.approx(1 / 3), 0.5)

    class Telling(Table):
        def empty_share(self, x, y):
            return 0.25, 1

    told = evaluate(Telling(np.eye(2)), ["a", "b"], ["c", "d"])
    assert (told.x_empty, told.y_empty) == (0.25, 1.0)
    unknown = evaluate(Table(np.eye(2)), ["a", "b"], ["c", "d"])
    assert (unknown.x_empty, unknown.y_empty) == (None, None)


def test_progress_is_told_and_can_stop(monkeypatch):
    monkeypatch.setattr(simviz.evaluation._blocks, "CACHE_BYTES", 0)
    seen = []
    evaluate(Table(np.eye(6)), np.eye(6), np.eye(6), callback=lambda *a: seen.append(a[:2]))
    assert seen == [(4, 12), (6, 12), (10, 12), (12, 12)]
    with pytest.raises(JobCancelled, match="after 4 of 12 rows"):
        evaluate(Table(np.eye(6)), np.eye(6), np.eye(6), callback=lambda *a: True)


@pytest.mark.parametrize(
    ("blocks", "says"),
    [
        ([np.ones((2, 3))], "gave 2 rows of similarities for 3 x items"),
        ([np.ones((4, 3))], r"block of shape \(4, 3\) at row 0"),
        ([np.ones((3, 2))], r"block of shape \(3, 2\)"),
        ([np.ones(3)], r"block of shape \(3,\)"),
        (
            [np.ones((1, 3)), np.ones((2, 3), np.float32)],
            "gave float32 similarities after float64",
        ),
        ([np.full((3, 3), np.nan)], "NaN"),
    ],
)
def test_a_scorer_that_does_not_keep_to_its_part_is_refused(blocks, says):
    class Faulty:
        def iter_similarity(self, x, y, /, *, block_size=None):
            yield from blocks

    with pytest.raises(ValueError, match=says):
        evaluate(Faulty(), np.eye(3), np.eye(3))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"directions": ["left"]}, "Directions here are"),
        ({"directions": []}, "Directions here are"),
        ({"pool": "some"}, "pool must be"),
        ({"x": np.ones((0, 1)), "relevance": sp.csr_array((0, 2))}, "at least one each"),
        ({"metrics": ["MMR"]}, "Did you mean 'MRR'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options, says):
    x = options.pop("x", np.eye(2))
    with pytest.raises(ValueError, match=says):
        evaluate(Table(np.ones((len(x), 2))), x, np.eye(2), **options)


def test_two_threads_evaluate_at_once():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((2, 200, 8)).astype(np.float32)
    alone = evaluate(VectorScorer(), X, Y, block_size=32)

    def work(_):
        again = evaluate(VectorScorer(), X, Y, block_size=32)
        return [again.value(m) == alone.value(m) for m in ("MRR", "AUC")]

    with ThreadPoolExecutor(3) as pool:
        assert all(all(same) for same in pool.map(work, range(12)))


def test_models_and_pipelines_are_scorers():
    X, noise = np.random.default_rng(6).random((2, 40, 12))
    model = get_method("lsa")(n_components=4).fit(X, X + noise)
    result = evaluate(model, X, X + noise)
    assert result.value("MRR", "x2y") == pytest.approx(model.score(X, X + noise))
    pairs = PairSet.from_texts([*LEFT, ""], [*RIGHT, "red"])
    pipeline = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    result = evaluate(pipeline, pairs.x, pairs.y, pairs.relevance, block_size=3)
    table = Table(np.asarray(pipeline.similarity(pairs.x, pairs.y)))
    whole = evaluate(table, pairs.x, pairs.y, pairs.relevance)
    np.testing.assert_allclose(result.per_query("MRR"), whole.per_query("MRR"))
    assert result.x_empty == pytest.approx(1 / 21)


def test_popularity_knows_the_popular_items_only():
    judged = Relevance.from_pairs([0, 1, 2, 2], [0, 0, 0, 1], [1, 1, 1, -1], shape=(3, 3))
    train = PairSet.from_texts(["a", "b", "c"], ["p", "q", "r"], judged)
    # Items are known by their ids "0", "1", ...; judged negatives are no partners.
    [scores] = PopularityScorer(train).iter_similarity(train.x, train.y)
    np.testing.assert_array_equal(scores, [[4, 1, 1]] * 3)
    test = train.take([2, 0], [1, 0])
    result = evaluate(PopularityScorer(train), test.x, test.y, np.array([[0, 1], [0, 1]]))
    assert result.value("top-1", "x2y") == 1.0
    assert result.value("top-1", "y2x") == 1.0  # both are relevant, whatever the order
    # What was never seen counts 0.
    known, other = PairSet.from_texts(["a"], ["p"]), PairSet.from_texts(["x", "y"], ["z", "w"])
    [scores] = PopularityScorer(known).iter_similarity(other.x, other.y)
    np.testing.assert_array_equal(scores, [[2, 1], [1, 0]])


def test_popularity_serves_both_directions():
    train = PairSet.from_texts(["a", "b"], ["p", "q", "r"], np.array([[1, 1, 0], [0, 0, 0]]))
    sides = train.x, train.y, np.array([[0, 0, 1], [0, 1, 0]])
    result = evaluate(PopularityScorer(train), *sides, block_size=1)
    np.testing.assert_array_equal(result.per_query("MRR", "x2y"), [1 / 3, 3 / 4])
    np.testing.assert_array_equal(result.per_query("MRR", "y2x"), [np.nan, 1 / 2, 1])


def test_chance_takes_any_sides():
    assert evaluate(ChanceScorer(), ["a", "b"], ["c", "d"]).value("MRR") == 0.75
    blocks = list(ChanceScorer().iter_similarity(sp.eye_array(5), np.eye(2), block_size=2))
    assert [b.shape for b in blocks] == [(2, 2), (2, 2), (1, 2)]


def test_vectors_compare_by_cosine_or_product():
    X, Y = np.array([[1, 0], [3, 4]]), np.array([[2, 0], [0, 0]])
    np.testing.assert_allclose(next(VectorScorer().iter_similarity(X, Y)), [[1, 0], [0.6, 0]])
    products = next(VectorScorer("dot").iter_similarity(X, Y))
    np.testing.assert_array_equal(products, [[2, 0], [6, 0]])
    with pytest.raises(ValueError, match="'cosine' or 'dot', got 'js'"):
        VectorScorer("js")
