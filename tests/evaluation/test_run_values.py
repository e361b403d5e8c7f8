"""Runs of other systems, against ir_measures and by hand."""

import json

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, P, R, Success, nDCG

from simviz.evaluation.run_values import read_run_values
from simviz.exceptions import DatasetError

METRICS = {
    "NDCG@10": nDCG @ 10,
    "NDCG": nDCG,
    "MAP": AP,
    "MRR": RR,
    "P@5": P @ 5,
    "recall@20": R @ 20,
    "top-1": Success @ 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three runs of 40 queries: one of them unanswered, one without a relevant document."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(0)
    draws = ((rng.choice(60, 12, False), rng.integers(-1, 4, 12)) for _ in range(40))
    grades = {q: dict(zip(*both, strict=True)) for q, both in enumerate(draws)}
    grades[5] = dict.fromkeys(grades[5], 0)
    lines = [f"q{q} 0 d{d} {g}\n" for q, row in grades.items() for d, g in row.items()]
    (folder / "qrels.txt").write_text("".join(lines))
    for run in "abc":
        lines = []
        for q in grades:
            documents = rng.permutation(60)[:30]
            scores = rng.permutation(30) + 4.0 * np.array([grades[q].get(d, 0) for d in documents])
            scores += np.arange(30) / 64  # no two are equal, not even in single precision
            order = np.argsort(-scores) if run == "a" else np.arange(30)
            if run != "b" or q != 7:
                lines += [f"q{q} Q0 d{documents[i]} 1 {scores[i]} {run}\n" for i in order]
        lines.append(f"unjudged Q0 d1 1 2.5 {run}\n")
        (folder / f"{run}.trec").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("metric", METRICS)
def test_means_are_those_of_ir_measures(folder, metric):
    runs = [folder / f"{run}.trec" for run in "abc"]
    found = read_run_values(runs, folder / "qrels.txt", metric)
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    for run, values in zip(runs, found.values.values(), strict=True):
        answers = ir_measures.read_trec_run(str(run))
        wanted = ir_measures.calc_aggregate([METRICS[metric]], qrels, answers)[METRICS[metric]]
        assert values.mean() == pytest.approx(wanted, abs=1e-9)
    assert len(found.queries) == 40 and list(found.values) == ["a", "b", "c"]
    assert any("b does not answer 1 of 40" in note for note in found.notes)
    assert any(note.startswith("1 of 40 judged queries have no relevant") for note in found.notes)


def test_white_space_tables_and_packed_files_are_the_same_run(folder, tmp_path):
    import gzip

    text = (folder / "a.trec").read_text()
    (tmp_path / "wide.trec").write_text(text.replace(" ", "   "))
    (tmp_path / "tabs.txt.gz").write_bytes(gzip.compress(text.replace(" ", "\t").encode()))
    rows = [line.split() for line in text.splitlines()]
    table = "score,query,docid\n" + "".join(f"{row[4]},{row[0]},{row[2]}\n" for row in rows)
    (tmp_path / "table.csv").write_text(table)
    qrels = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    beir = "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, _, d, g in qrels)
    (tmp_path / "test.tsv").write_text(beir)
    runs = [folder / "a.trec", *(tmp_path / f for f in ("wide.trec", "tabs.txt.gz", "table.csv"))]
    for judged in (folder / "qrels.txt", tmp_path / "test.tsv"):
        found = read_run_values(runs, judged)
        assert found.metric == "NDCG@10 (linear gain)"
        assert list(found.values) == ["a", "wide", "tabs", "table"]
        for values in found.values.values():
            np.testing.assert_array_equal(values, found.values["a"])


def test_equal_scores_count_with_the_mean_over_their_orders(tmp_path):
    (tmp_path / "q.txt").write_text("q 0 b 1\n")
    (tmp_path / "run").write_text("".join(f"q Q0 {d} 1 0.5 r\n" for d in "abb"))
    found = read_run_values([tmp_path / "run"], tmp_path / "q.txt", "MRR")
    assert found.values["run"][0] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert "trec_eval sorts by id" in found.notes[0]


def test_what_cannot_be_read_is_named(folder, tmp_path):
    (tmp_path / "broken.trec").write_text("q1 Q0 d1 1 0.5 r\nq1 Q0 d2 2 high r\n")
    with pytest.raises(DatasetError, match=r"line 2.*'high'"):
        read_run_values([tmp_path / "broken.trec"], folder / "qrels.txt")
    with pytest.raises(ValueError, match="asks about documents that runs do not list"):
        read_run_values([folder / "a.trec"], folder / "qrels.txt", "AUC")
    (tmp_path / "other.trec").write_text("x1 Q0 d1 1 0.5 r\n")
    with pytest.raises(DatasetError, match="answers no query"):
        read_run_values([tmp_path / "other.trec"], folder / "qrels.txt")
    with pytest.raises(DatasetError, match=r"TREC run.*--qrels"):
        read_run_values([folder / "a.trec"])
    (tmp_path / "long.csv").write_text("query,document,score\na,b,1\na,c,2\n")
    with pytest.raises(DatasetError, match="--qrels"):
        read_run_values([tmp_path / "long.csv"])


def test_values_of_tables_are_shared_by_their_first_column(tmp_path):
    (tmp_path / "wide.csv").write_text("query,A,B\na,1,0.5\nb,0,0.25\nc,1,\n")
    (tmp_path / "one.csv").write_text("query,value\nb,0.75\na,0.125\n")
    found = read_run_values([tmp_path / "wide.csv", tmp_path / "one.csv"])
    assert found.queries == ("a", "b")
    assert {name: values.tolist() for name, values in found.values.items()} == {
        "A": [1, 0],
        "B": [0.5, 0.25],
        "one": [0.125, 0.75],
    }
    assert found.notes[0].startswith("1 more query left out")


def test_tasks_of_mteb_are_values(tmp_path):
    for model, shift in (("one", 0.0), ("two", 0.25)):
        place = tmp_path / f"org__{model}" / "revision"
        place.mkdir(parents=True)
        (place / "model_meta.json").write_text(json.dumps({"name": f"org/{model}"}))
        for task in ("Banking77", "STS12"):
            rows = [{"main_score": s + shift, "ndcg_at_10": shift} for s in (0.25, 0.5)]
            tree = {"task_name": task, "scores": {"test": rows}}
            (place / f"{task}.json").write_text(json.dumps(tree))
    found = read_run_values([tmp_path])
    assert found.unit == "task" and found.queries == ("Banking77", "STS12")
    assert found.values["org/two"].tolist() == [0.625, 0.625]
    folders = [tmp_path / "org__one", tmp_path / "org__two"]
    assert read_run_values(folders, metric="NDCG@10").values["org/one"].tolist() == [0, 0]
    with pytest.raises(DatasetError, match="Known scores: main_score, ndcg_at_10"):
        read_run_values([tmp_path], metric="MAP")
