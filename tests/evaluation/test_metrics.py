from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import pearsonr, spearmanr

from simviz.evaluation import metrics
from simviz.evaluation.metrics import (
    AUC,
    ERR,
    MAP,
    MRR,
    NDCG,
    PartialAUC,
    Pearson,
    Precision,
    RankLoss,
    Recall,
    RPrecision,
    Spearman,
    Success,
    TopOne,
    default_metric,
    parse_metric,
)
from simviz.evaluation.roc import Roc
from simviz.ranking import Ranking, expected_auc
from simviz.relevance import Relevance

NAMES = {
    "top-1": TopOne(),
    "success@5": Success(),
    "MRR": MRR(),
    "MRR@10": MRR(10),
    "R-precision": RPrecision(),
    "ERR@20": ERR(),
    "ERR@10 (grades to 2)": ERR(10, highest_grade=2),
    "MAP": MAP(),
    "P@5": Precision(k=5),
    "P@12": Precision(12),
    "recall@10": Recall(10),
    "NDCG@3 (exponential gain)": NDCG(),
    "NDCG (exponential gain)": NDCG(None),
    "NDCG@10 (linear gain)": NDCG(10, gain="linear"),
    "NDCG@3 (linear gain, jk)": NDCG(3, "linear", "jk"),
    "NDCG@3 (exponential gain, jk)": NDCG(3, discount="jk"),
    "AUC": AUC(),
    "AUC (by query)": AUC(average="query"),
    "pAUC@0.25": PartialAUC(),
    "pAUC@0.05 (McClish)": PartialAUC(0.05, standardized=True),
    "rank loss": RankLoss(),
    "rank loss (by query)": RankLoss("query"),
    "Pearson": Pearson(),
    "Spearman": Spearman(),
}
# Two queries: ranks 2 and 4 relevant of 5; rank 1 of 5.
RANKING = Ranking([0, 2, 3], [0, 1, 0], [1, 2, 1], [1, 3, 0], [1, 1, 1], [5, 5])


@pytest.mark.parametrize("name", NAMES)
def test_name_shows_the_metric_and_reads_back(name):
    metric = NAMES[name]
    assert repr(metric) == str(metric) == metric.name == name
    assert parse_metric(name) == parse_metric(f"  {name.upper()} ") == metric
    assert metric.description.endswith(".") and "{" not in metric.description
    assert metric.range == ((-1, 1) if metric.level == "scores" else (0, 1))
    assert metric.higher_is_better == (not isinstance(metric, RankLoss))
    assert [other for other in NAMES.values() if other == metric] == [metric]


#: Names of stored runs, and those of trec_eval.
MEANT = {
    "NDCG@10": NDCG(10),
    "ndcg": NDCG(None),
    "NDCG@10 (linear)": NDCG(10, "linear"),
    "NDCG@3 (exp2, jk)": NDCG(3, discount="jk"),
    "NDCG@3 (linear, jk)": NDCG(3, "linear", "jk"),
    "ndcg_cut_10": NDCG(10, "linear"),
    "ndcg_cut.5": NDCG(5, "linear"),
    "recall_100": Recall(100),
    "P_5": Precision(5),
    "map": MAP(),
    "recip_rank": MRR(),
    "success_1": TopOne(),
    "success_5": Success(5),
    "Rprec": RPrecision(),
}


def test_other_names_mean_what_they_meant():
    assert {name: parse_metric(name) for name in MEANT} == MEANT


@pytest.mark.parametrize(
    ("y", "values", "options", "metric"),
    [
        ([0, 1, 1], [1, 1, 1], {}, "MRR"),
        ([0, 1, 1], [2, 2, 2], {}, "MRR"),
        ([0, 1, 1], [2, 1, 1], {}, "NDCG@10"),
        ([0, 1, 1], [1, -1, 1], {}, "AUC"),
        ([0, 1, 1], [2, -1, 1], {}, "NDCG@10"),
        ([0, 1, 2], [2, 1, -1], {}, "NDCG@10"),
        ([0, 1, 1], [0.2, 0.7, 0.1], {"kind": "score"}, "Spearman"),
    ],
)
def test_what_to_look_at_first(y, values, options, metric):
    # The first two pairs have one query.
    relevance = Relevance.from_pairs([0, 0, 1], y, values, shape=(2, 3), **options)
    assert default_metric(relevance) == parse_metric(metric)


def test_grades_of_single_candidates_give_nothing_to_rank():
    alone, again = (
        Relevance.from_pairs([0, 1, 2], y, [2, 1, -1], shape=(3, 3))
        for y in ([0, 1, 2], [0, 1, 1])
    )
    assert default_metric(alone) == AUC()
    assert default_metric(again) == NDCG(10)  # the second y item has two


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("MMR", "Did you mean 'MRR'"),
        ("NDGC@3", "Did you mean 'NDCG'"),
        ("P", r"There is no metric 'P'. Did you mean 'P@5'"),
        ("NDCG@3 (log10)", r"Did you mean 'NDCG@3 \(exponential gain\)'"),
        ("ERR@10 (grades to x)", "no metric"),
        ("P@0", "a whole number from 1 to 1,000,000,000, got 0"),
        ("P@99999999999999999999", "got 99999999999999999999"),
        ("NDCG@1000000001", "got 1000000001"),
        ("pAUC@2", r"max_fpr must lie in \(0, 1\], got 2"),
        ("", "There is no metric ''"),
        ("P@1.5", "no metric"),
        ("AUC (by", "There is no metric"),
    ],
)
def test_names_that_are_none_get_a_hint(name, says):
    with pytest.raises(ValueError, match=says):
        parse_metric(name)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Precision(0), "got 0"),
        (lambda: Recall(1.5), "got 1.5"),
        (lambda: NDCG(True), "got True"),
        (lambda: MRR(0), "got 0"),
        (lambda: Success(1), "take TopOne"),
        (lambda: ERR(highest_grade=0), "highest_grade"),
        (lambda: ERR(highest_grade=1).per_query(RANKING), "grade 2 above the highest, 1"),
        (lambda: NDCG(gain="cube"), "gain must be 'exp2' or 'linear'"),
        (lambda: NDCG(discount="none"), "discount must be 'log2' or 'jk'"),
        (lambda: AUC("all"), "average must be 'pooled' or 'query'"),
        (lambda: PartialAUC(0), "max_fpr"),
    ],
)
def test_settings_that_mean_nothing_are_refused(build, says):
    with pytest.raises(ValueError, match=says):
        build()


def test_values_per_query():
    expected = {
        TopOne(): [0, 1],
        MRR(): [1 / 2, 1],
        MAP(): [(1 / 2 + 2 / 4) / 2, 1],
        Success(2): [1, 1],
        MRR(1): [0, 1],
        RPrecision(): [1 / 2, 1],
        ERR(3): [1 / 16 / 2, 1 / 16],
        ERR(4, highest_grade=2): [1 / 4 / 2 + (1 - 1 / 4) * 3 / 4 / 4, 1 / 4],
        Precision(4): [2 / 4, 1 / 4],
        Recall(2): [1 / 2, 1],
        NDCG(2, gain="linear"): [1 / math.log2(3) / (2 + 1 / math.log2(3)), 1],
        AUC("query"): [(2 + 1) / 6, 1],
        RankLoss("query"): [3 / 6, 0],
    }
    for metric, values in expected.items():
        np.testing.assert_allclose(metric.per_query(RANKING), values, err_msg=str(metric))
    np.testing.assert_array_equal(AUC("query").per_query(RANKING), expected_auc(RANKING))


def test_pooled_metrics_read_the_roc():
    roc = Roc.from_scores([3, 2, 1, 0], [True, False, True, False])
    assert (AUC().of_roc(roc), RankLoss().of_roc(roc)) == (0.75, 0.25)
    assert PartialAUC(0.5).of_roc(roc) == pytest.approx(0.5)
    standardized = roc.partial_auc(0.5, standardized=True)
    assert PartialAUC(0.5, standardized=True).of_roc(roc) == pytest.approx(standardized)


@pytest.mark.parametrize("metric", [TopOne(), AUC(), AUC("query"), Spearman()], ids=str)
def test_each_metric_answers_for_its_own_level_only(metric):
    asked = {
        "query": lambda: metric.per_query(RANKING),
        "roc": lambda: metric.of_roc(Roc.from_scores([1, 0], [True, False])),
        "scores": lambda: metric.of_scores(np.arange(3.0), np.arange(3.0)),
    }
    asked.pop(metric.level)()
    for ask in asked.values():
        with pytest.raises(ValueError, match=r"pools|not computed|does not compare"):
            ask()


def test_correlations_equal_scipy_and_a_constant_prediction_is_chance():
    rng = np.random.default_rng(0)
    judged = rng.integers(0, 6, 50).astype(float)
    predicted = (judged + rng.normal(0, 2, 50)).round()
    for metric, scipys in ((Pearson(), pearsonr), (Spearman(), spearmanr)):
        expected = scipys(judged, predicted).statistic
        assert metric.of_scores(judged, predicted) == pytest.approx(expected)
        assert metric.of_scores(judged, np.full(50, 0.3)) == 0
        assert math.isnan(metric.of_scores(np.ones(50), predicted))
        assert math.isnan(metric.of_scores(judged[:1], predicted[:1]))


@pytest.mark.parametrize(
    "name", ["R@2", "AP", "RR", "RR@2", "Success@1", "Success@2", "nDCG@3", "nDCG", "P@2", "Rprec"]
)
def test_names_of_ir_measures_mean_what_they_mean_there(name):
    import ir_measures

    from simviz.evaluation import VectorScorer, evaluate

    rng = np.random.default_rng(5)
    X, Y = rng.random((6, 4)), rng.random((8, 4))
    grades = rng.integers(0, 4, (6, 8)) * (rng.random((6, 8)) < 0.5)
    grades[:, 0] = 3
    found = evaluate(VectorScorer(), X, Y, sp.csr_array(grades.astype(float)), [name])
    qrels = [ir_measures.Qrel(f"{i}", f"{j}", int(grades[i, j])) for i, j in np.argwhere(grades)]
    scores = (X / np.linalg.norm(X, axis=1)[:, None]) @ (Y / np.linalg.norm(Y, axis=1)[:, None]).T
    run = [ir_measures.ScoredDoc(f"{i}", f"{j}", scores[i, j]) for i in range(6) for j in range(8)]
    measure = ir_measures.parse_measure(name)
    expected = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    assert found.value(name) == pytest.approx(expected, abs=1e-9)


def ranked_first(grades):
    """Whether the first is relevant."""
    return grades[0] > 0


@pytest.fixture
def own(monkeypatch):
    monkeypatch.setattr(metrics, "OWN", {})
    return metrics.metric(ranked_first)


def test_a_function_is_a_metric_and_known_by_its_name(own):
    ranking = Ranking([0, 2, 3, 3], [0, 1, 0], [2, 1, 1], [0, 2, 3], [1, 1, 1], [4, 4, 4])
    np.testing.assert_array_equal(own.per_query(ranking), [1, 0, np.nan])
    assert parse_metric("ranked_first") is own and repr(own) == "ranked_first"
    assert own.description == "Whether the first is relevant."
    with pytest.raises(ValueError, match="Did you mean 'ranked_first'"):
        parse_metric("rankd_first")


def test_a_function_sees_all_grades_and_orders_of_ties(own):
    seen = []
    gains = metrics.metric(lambda grades: seen.append(grades.tolist()) or 0.0, name="gains")
    gains.per_query(Ranking([0, 2], [0, 4], [2.0, -1.0], [1, 3], [1, 1], n_candidates=[5]))
    assert seen == [[0, 2, 0, 0, 0]]
    tied = Ranking([0, 2], [0, 4], [1.0, 1.0], [0, 0], [4, 4], n_candidates=[4])
    assert own.per_query(tied)[0] == pytest.approx(TopOne().per_query(tied)[0], abs=0.15)
    assert own.per_query(tied) == own.per_query(tied)
    place = metrics.metric(lambda grades: float(grades.argmax()), name="place")
    second_or_third = Ranking([0, 1], [0], [1.0], [1], [2], n_candidates=[4])
    assert place.per_query(second_or_third)[0] == pytest.approx(1.5, abs=0.15)


def test_a_function_needs_a_name_of_its_own(own):
    for name in ("MRR", "R@5", "p@3"):
        with pytest.raises(ValueError, match="a metric already"):
            metrics.metric(ranked_first, name)
    with pytest.raises(ValueError, match="with a name"):
        metrics.metric(lambda grades: 1.0)
    again = metrics.metric(lambda grades: 1.0, "ranked_first")
    assert parse_metric("ranked_first") is again


def test_a_candidate_that_counts_twice_makes_no_value():
    # Two judgments of the one candidate that stands first.
    twice = Ranking([0, 2], [0, 0], [1, 1], [0, 0], [1, 1], [5])
    with pytest.raises(ArithmeticError, match=r"P@1 is 2, outside 0 to 1\. Count every candidate"):
        Precision(1).per_query(twice)
    with pytest.raises(ArithmeticError, match=r"\(linear gain\) is 1\.22629, outside 0 to 1"):
        NDCG(3, "linear").per_query(twice)


def test_rounding_carries_no_value_out_of_its_range():
    class Rounded(metrics.TopOne):
        def _per_query(self, ranking):
            return np.array([1 + 1e-15, -1e-17, np.nan])

    found = Rounded().per_query(RANKING)
    assert found[:2].tolist() == [1, 0] and np.isnan(found[2])
