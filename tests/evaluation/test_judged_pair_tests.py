from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, spearmanr
from scorers import Table

from simviz.evaluation import (
    AUC,
    MRR,
    Evaluation,
    JudgedPairs,
    PartialAUC,
    Pearson,
    RankLoss,
    Roc,
    Spearman,
    bootstrap_pairs,
    compare_all_evaluations,
    compare_evaluations,
    compared_metric,
    delong,
    evaluate,
    judged_pairs,
)
from simviz.evaluation.judged_pair_tests import delong_pairs, interval_of_pairs, resample, weighted
from simviz.relevance import Relevance

STRUCTURES = ["once", "queries", "both"]


def structure(kind, n, rng):
    """Items of n pairs: each once, several pairs an x item, or both sides repeating."""
    if kind == "once":
        return np.arange(n), np.arange(n)
    if kind == "queries":
        return np.sort(rng.integers(0, n // 5, n)), np.arange(n)
    side = n // 5
    cells = np.sort(rng.choice(side * side, n, replace=False))
    return cells // side, cells % side


def equal_runs(kind, n, rng, n_runs=2, ahead=0.0):
    """Runs that are equally good; labels and scores follow items, so pairs of one are alike."""
    x, y = structure(kind, n, rng)

    def noise():
        return rng.normal(size=x.max() + 1)[x] + rng.normal(size=y.max() + 1)[y]

    label = noise() + rng.normal(size=n)
    relevant = label > np.quantile(label, 0.7)
    common = 0.7 * (relevant + rng.normal(size=n))
    scores = [common + noise() + rng.normal(size=n) for _ in range(n_runs)]
    scores[0] += ahead * relevant
    return [JudgedPairs(x, y, relevant, score, label) for score in scores]


def of(metric, pairs):
    return weighted(metric, pairs.score, pairs.relevant, pairs.judged)


def evaluated(pairs, **options):
    """The same pairs as an evaluation measures them."""
    shape = pairs.x.max() + 1, pairs.y.max() + 1
    scores = np.zeros(shape)
    scores[pairs.x, pairs.y] = pairs.score
    values = np.where(pairs.relevant, 1, -1) if not options else pairs.judged
    relevance = Relevance.from_pairs(pairs.x, pairs.y, values, shape=shape, **options)
    return evaluate(Table(scores), np.ones((shape[0], 1)), np.ones((shape[1], 1)), relevance)


@pytest.mark.parametrize(
    "metric",
    [AUC(), RankLoss(), PartialAUC(0.2), PartialAUC(0.1, True), Pearson(), Spearman()],
    ids=str,
)
@pytest.mark.parametrize("rounded", [0, 3])
def test_a_draw_has_the_value_of_its_pairs_repeated(metric, rounded):
    rng = np.random.default_rng(rounded)
    pairs = equal_runs("queries", 60, rng)[0]
    score, judged = pairs.score.round(rounded), pairs.judged.round(rounded)
    pairs = JudgedPairs(pairs.x, pairs.y, pairs.relevant, score, judged)
    counts = rng.integers(0, 3, (5, 12))
    for drawn, value in zip(counts, of(metric, pairs)(counts, pairs.x), strict=True):
        again = np.repeat(np.arange(60), drawn[pairs.x])
        if metric.level == "roc":
            expected = metric.of_roc(Roc.from_scores(score[again], pairs.relevant[again]))
        else:
            expected = metric.of_scores(judged[again], score[again])
        assert value == pytest.approx(expected, abs=1e-9)


def test_draws_without_a_class_or_a_difference():
    one, up, ones = np.ones(4, dtype=bool), np.arange(4.0), np.ones(4)
    drawn = np.ones((1, 4), dtype=np.int64), np.arange(4)
    pairs = JudgedPairs(np.arange(4), np.arange(4), one, up, ones)
    constant = JudgedPairs(np.arange(4), np.arange(4), one, ones, up)
    assert np.isnan(of(AUC(), pairs)(*drawn)).all()
    for metric in (Pearson(), Spearman()):
        assert np.isnan(of(metric, pairs)(*drawn)).all()
        assert of(metric, constant)(*drawn) == 0


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("metric", [AUC(), RankLoss()], ids=str)
def test_the_interval_of_a_run_is_that_of_its_lead_on_a_constant(kind, metric):
    (run, _) = equal_runs(kind, 150, np.random.default_rng(5))
    constant = JudgedPairs(run.x, run.y, run.relevant, np.zeros(150))
    lead = bootstrap_pairs([run, constant], metric, random_state=3)[0, 1]
    found = interval_of_pairs(run, metric, random_state=3)
    assert found == pytest.approx((lead.low + 0.5, lead.high + 0.5), abs=1e-9)
    alone = JudgedPairs(run.x[:1], run.y[:1], run.relevant[:1], run.score[:1])
    assert np.isnan(interval_of_pairs(alone, metric)).all()


@pytest.mark.parametrize("kind", STRUCTURES)
def test_false_alarms_are_as_rare_as_they_should_be(kind):
    alarms = 0
    for seed in range(300):
        runs = equal_runs(kind, 150, np.random.default_rng([7, seed]))
        found = bootstrap_pairs(runs, AUC(), n_resamples=200, random_state=seed)[0, 1]
        alarms += found.is_significant()
    # 99 % of such counts if 5 % are false alarms; all of 1,000 are in benchmarks/README.md.
    low, high = binom.interval(0.99, 300, 0.05)
    assert low <= alarms <= high


def test_pairs_that_share_y_items_are_tested_as_those_that_share_x_items():
    runs = equal_runs("queries", 150, np.random.default_rng(9), ahead=0.3)
    turned = [JudgedPairs(run.y, run.x, run.relevant, run.score) for run in runs]
    one, other = (bootstrap_pairs(both, AUC(), random_state=1)[0, 1] for both in (runs, turned))
    assert (one.test, other.test) == ("bootstrap over x items", "bootstrap over y items")
    assert (one.p_value, one.low, one.high) == (other.p_value, other.low, other.high)
    same = bootstrap_pairs([runs[0], runs[0]], AUC(), n_resamples=50)[0, 1]
    assert (same.p_value, same.difference, same.low, same.high) == (1, 0, 0, 0)
    # What is drawn are items, with all of their pairs.
    first = [lambda counts, place: counts[:, place] @ [1, 1, 0, 0, 0]]
    sums, m = resample(first, np.array([4, 4, 9, 9, 9]), 400, np.random.default_rng(0))
    assert m == 2 and set(np.unique(sums)) == {0, 2, 4}


def test_the_bootstrap_agrees_with_delong_where_no_item_is_shared():
    for seed in range(5):
        runs = equal_runs("once", 800, np.random.default_rng(seed), ahead=0.2)
        found = bootstrap_pairs(runs, AUC(), random_state=seed)[0, 1]
        check = delong_pairs(runs, AUC())[0, 1]
        assert found.difference == pytest.approx(check.difference)
        assert found.statistic == pytest.approx(check.statistic, rel=0.06)
        assert (found.low, found.high) == pytest.approx((check.low, check.high), abs=0.004)
        assert (found.n, found.unit) == (check.n, check.unit) == (800, "judged pair")
        assert found.effect_size == pytest.approx(check.effect_size, rel=0.06)


def test_delong_by_its_definition():
    rng = np.random.default_rng(1)
    relevant = rng.random(40) < 0.4
    a, b = (relevant + rng.normal(size=(2, 40))).round(1)
    parts = []
    for score in (a, b):
        p, q = score[relevant][:, None], score[~relevant]
        parts.append((p > q) + 0.5 * (p == q))
    d = parts[0] - parts[1]
    variance = d.mean(1).var(ddof=1) / d.shape[0] + d.mean(0).var(ddof=1) / d.shape[1]
    found = delong(a, b, relevant)
    assert found.difference == pytest.approx(d.mean())
    assert found.statistic == pytest.approx(d.mean() / np.sqrt(variance))
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(variance))
    assert found.swapped().p_value == delong(b, a, relevant).p_value


@pytest.mark.parametrize("kind", STRUCTURES)
def test_an_evaluation_keeps_its_judged_pairs(kind):
    (pairs, *_) = equal_runs(kind, 40, np.random.default_rng(3))
    for result in (evaluated(pairs), evaluated(pairs, kind="score")):
        kept = judged_pairs(result)
        np.testing.assert_array_equal(kept.score, pairs.score)
        np.testing.assert_array_equal((kept.x, kept.y), (pairs.x, pairs.y))
    np.testing.assert_array_equal(kept.judged, pairs.judged)
    back = Evaluation({"y2x": result.rankings["y2x"]}, "judged", (), predicted=result.predicted)
    np.testing.assert_array_equal(judged_pairs(back).x, pairs.x)
    assert compared_metric(result, "Spearman") == Spearman()
    assert compared_metric(evaluated(pairs), "Spearman") == MRR()
    assert judged_pairs(evaluate(Table(np.eye(3)), np.eye(3), np.eye(3))) is None


def test_runs_with_one_candidate_a_query_are_told_apart():
    runs = equal_runs("once", 400, np.random.default_rng(0), n_runs=3, ahead=3.0)
    results = {name: evaluated(run) for name, run in zip("ABC", runs, strict=True)}
    found = compare_all_evaluations(results, "AUC", random_state=1)
    assert found.letters() == {"A": "a", "B": "b", "C": "b"}
    assert found.means.tolist() == [result.value("AUC") for result in results.values()]
    one = found.between("A", "B")
    assert (one.n, one.unit, one.correction) == (400, "judged pair", "Holm, 3 comparisons")
    loss = compare_all_evaluations(results, "rank loss", baseline="B", random_state=1)
    assert set(loss.pairs) == {(0, 1), (1, 2)} and not loss.higher_is_better
    assert loss.between("A", "B").difference == pytest.approx(-one.difference)
    two = results["A"], results["B"]
    alone = compare_evaluations(*two, "AUC", random_state=1)
    assert 3 * alone.p_value == pytest.approx(one.p_value, abs=1e-12)
    check = compare_evaluations(*two, "AUC", test="delong")
    assert (check.test, check.difference) == ("DeLong", pytest.approx(alone.difference))
    # Nothing is left to say query by query.
    assert np.isnan(compare_evaluations(*two, "MRR").p_value)


def test_scores_are_compared_by_their_correlation():
    runs = equal_runs("once", 300, np.random.default_rng(2))
    one, other = (evaluated(run, kind="score") for run in runs)
    found = compare_evaluations(one, other, "Spearman")
    values = [spearmanr(run.judged, run.score).statistic for run in runs]
    assert found.difference == pytest.approx(values[0] - values[1])
    assert found.low < found.difference < found.high


def test_metrics_of_ranks_are_compared_query_by_query():
    runs = equal_runs("queries", 300, np.random.default_rng(4), ahead=2.0)
    results = [evaluated(run) for run in runs]
    found = compare_evaluations(*results, "MRR", ["x2y"], "t")
    assert (found.test, found.unit) == ("paired t", "query")
    assert found.n == results[0].n_queries("x2y") < 60
    # A run stored before scores were kept: both stand back to what has a value per query.
    old = Evaluation(results[1].rankings, "judged", (), results[1].roc)
    assert compare_evaluations(results[0], old, "AUC", ["x2y"]).unit == "query"


def test_what_cannot_be_tested_is_refused():
    once, shared = (equal_runs(k, 30, np.random.default_rng(5)) for k in ("once", "both"))
    evaluations = [*map(evaluated, once)]
    for ask, words in (
        (lambda: bootstrap_pairs([once[0], shared[0]], AUC()), "30 and 30 judged pairs, or not"),
        (lambda: bootstrap_pairs(once, MRR()), "MRR is not among the metrics"),
        (lambda: delong_pairs(shared, AUC()), "these share x items and y items"),
        (lambda: delong_pairs(once, PartialAUC()), r"of the pooled AUC, got pAUC@0\.25"),
        (lambda: delong([1, 2], [1, 2, 3], [0, 1, 1]), "lengths"),
        (lambda: delong([1, np.nan], [1, 2], [0, 1]), "lengths"),
        (lambda: compare_evaluations(*evaluations, "AUC", test="delon"), "Did you mean 'delong'"),
        (lambda: compare_evaluations(*evaluations, "AUC", n_resamples=0), "n_resamples"),
    ):
        with pytest.raises(ValueError, match=words):
            ask()
    assert delong([1, 2, 3, 4], [1, 2, 3, 4], [0, 0, 1, 1]).p_value == 1
    assert np.isnan(delong([1, 2, 3], [3, 2, 1], [0, 0, 1]).p_value)
