"""The command's values beside those of trec_eval, on files as they come from anywhere."""

import gzip
import itertools

import numpy as np
import pytest
import pytrec_eval

from simviz.evaluation.run_values import read_run_values

METRICS = {
    "NDCG@5": "ndcg_cut_5",
    "NDCG": "ndcg",
    "MAP": "map",
    "MRR": "recip_rank",
    "P@5": "P_5",
    "recall@5": "recall_5",
    "top-1": "success_1",
    "success@5": "success_5",
    "Rprec": "Rprec",
}
MEASURES = {
    *("ndcg_cut.5", "ndcg", "map", "recip_rank", "P.5", "recall.5", "success.1,5", "Rprec")
}


def _drawn(seed):
    """Judgments and a run of a few queries, by id: some queries in one of them alone."""
    rng = np.random.default_rng(seed)
    with_ties = seed % 2
    qrels, run = {}, {}
    for q in range(rng.integers(2, 7)):
        judged = rng.choice(14, rng.integers(1, 9), replace=False)
        grades = rng.integers(-1, 4, len(judged)) * (rng.random() > 0.1)
        qrels[f"q{q}"] = {f"d{d}": int(g) for d, g in zip(judged, grades, strict=True)}
    for q in range(rng.integers(1, 9)):
        listed = rng.choice(14, rng.integers(1, 9), replace=False)
        scores = rng.permutation(len(listed)) / 8 - 0.5
        if with_ties:  # no more than three in a group: every order is measured
            scores = np.floor(scores * 8 / rng.integers(1, 4))
        run[f"q{q}"] = {f"d{d}": float(s) for d, s in zip(listed, scores, strict=True)}
    run.setdefault("q0", {"d0": 0.5})
    return qrels, run


def _written(lines, rng):
    """Lines in any order, with some way to separate words and to end lines, maybe packed."""
    between = rng.choice([" ", "\t", "  ", " \t"])
    end = rng.choice(["\n", "\r\n"])
    text = ""
    for at in rng.permutation(len(lines)):
        text += between.join(lines[at]) + end + end * (rng.random() < 0.2)
    data = text.encode()
    return gzip.compress(data) if rng.random() < 0.4 else data


def _orders(scores):
    """A run for each order of the answers that are tied, best first."""
    groups = [
        list(itertools.permutations(d for d in scores if scores[d] == s))
        for s in sorted(set(scores.values()), reverse=True)
    ]
    for order in itertools.product(*groups):
        documents = list(itertools.chain(*order))
        yield {d: float(-at) for at, d in enumerate(documents)}


def _by_trec_eval(qrels, run):
    """Means over all judged queries, each the mean over the orders of its ties."""
    runs, judged = {}, {}
    for query in qrels.keys() & run.keys():
        # pytrec_eval does not end on a query whose grades are all below 0.
        if max(qrels[query].values()) < 0:
            qrels = {**qrels, query: dict.fromkeys(qrels[query], 0)}
        for n, order in enumerate(_orders(run[query])):
            runs[f"{query} {n}"], judged[f"{query} {n}"] = order, qrels[query]
    if not runs:
        return dict.fromkeys(METRICS, 0.0)
    found = pytrec_eval.RelevanceEvaluator(judged, MEASURES).evaluate(runs)
    values = {}
    for metric, measure in METRICS.items():
        by_query = {}
        for name, one in found.items():
            by_query.setdefault(name.split()[0], []).append(one[measure])
        # As trec_eval -c: what is not answered counts 0.
        values[metric] = sum(map(np.mean, by_query.values())) / len(qrels)
    return values


SOAK = pytest.mark.soak("160 more pairs of files")


@pytest.mark.parametrize(
    "seed", [*range(40), *(pytest.param(seed, marks=SOAK) for seed in range(40, 200))]
)
def test_means_are_those_of_trec_eval_over_the_orders_of_ties(seed, tmp_path):
    qrels, run = _drawn(seed)
    rng = np.random.default_rng([seed, 1])
    judged = [(q, "0", d, str(g)) for q, row in qrels.items() for d, g in row.items()]
    answers = [(q, "Q0", d, "1", str(s), "r") for q, row in run.items() for d, s in row.items()]
    (tmp_path / "run").write_bytes(_written(answers, rng))
    (tmp_path / "qrels").write_bytes(_written(judged, rng))
    wanted = _by_trec_eval(qrels, run)
    for metric in METRICS:
        found = read_run_values([tmp_path / "run"], tmp_path / "qrels", metric).values["run"]
        assert len(found) == len(qrels)
        assert found.mean() == pytest.approx(wanted[metric], abs=1e-9), metric
