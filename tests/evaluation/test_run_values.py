"""Runs of other systems, against ir_measures and by hand."""

import gzip
import hashlib
import itertools
import json
import os

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, Judged, P, R, Rprec, Success, nDCG

from simviz.evaluation._forward_selection import ForwardSelection
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
    "MRR@3": RR @ 3,
    "Success@3": Success @ 3,
    "Rprec": Rprec,
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


@pytest.mark.parametrize("metric", [*METRICS, "Judged@10"])
def test_means_are_those_of_ir_measures(folder, metric):
    runs = [folder / f"{run}.trec" for run in "abc"]
    found = read_run_values(runs, folder / "qrels.txt", metric)
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    measure = METRICS.get(metric, Judged @ 10)
    for run, values in zip(runs, found.values.values(), strict=True):
        answers = ir_measures.read_trec_run(str(run))
        wanted = ir_measures.calc_aggregate([measure], qrels, answers)[measure]
        assert values.mean() == pytest.approx(wanted, abs=1e-9)
    assert len(found.queries) == 40 and list(found.values) == ["a", "b", "c"]
    assert any("b does not answer 1 of 40" in note for note in found.notes)
    empty = any(note.startswith("1 of 40 judged queries have no rel") for note in found.notes)
    assert empty == (metric != "Judged@10")
    if metric == "NDCG@10":
        share = read_run_values(runs, folder / "qrels.txt", "Judged@10").values["a"].mean()
        assert found.judged["a"] == pytest.approx(share)
    digest = hashlib.sha256((folder / "a.trec").read_bytes()).hexdigest()
    assert found.files["a.trec"] == digest and len(found.files) == 4


def _file(path, rows):
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def test_answers_that_nobody_judged_can_be_left_out(folder, tmp_path):
    run, qrels = folder / "a.trec", folder / "qrels.txt"
    judged = {tuple(line.split()[0:3:2]) for line in qrels.read_text().splitlines()}
    lines = run.read_text().splitlines()
    kept = [line for line in lines if tuple(line.split()[0:3:2]) in judged]
    assert 0 < len(kept) < len(lines)
    short = _file(tmp_path / "short.trec", kept)
    for metric in ("NDCG@10", "MAP", "P@5"):
        found = read_run_values([run], qrels, metric, judged_only=True)
        alone = read_run_values([short], qrels, metric)
        np.testing.assert_array_equal(found.values["a"], alone.values["short"])
        assert found.judged == {"a": 1.0}
        assert found.upper_bounds["a"] in (None, pytest.approx(found.values["a"].mean()))
    for metric in ("MAP", "Rprec"):  # of precision at relevant ranks nothing is the most
        found = read_run_values([run], qrels, metric)
        assert found.upper_bounds == {"a": None} and 0 < found.judged["a"] < 1


def test_answers_that_are_the_query_itself_can_be_left_out(tmp_path):
    run = _file(tmp_path / "run", ["d1 Q0 d1 1 9 r", "d1 Q0 d2 2 8 r", "d2 Q0 d1 1 7 r"])
    qrels = _file(tmp_path / "qrels", ["d1 0 d2 1", "d2 0 d1 1"])
    found = read_run_values([run], qrels, "MRR", ignore_self=True)
    assert found.values["run"].tolist() == [1, 1]
    assert "1 answer of run is its own query; left out." in found.notes
    assert read_run_values([run], qrels, "MRR").values["run"].tolist() == [0.5, 1]


@pytest.mark.parametrize(
    "metric", ["P@3", "recall@3", "top-1", "success@2", "MRR", "MRR@2", "ERR@3", "NDCG@3", "NDCG"]
)
@pytest.mark.parametrize("seed", range(3))
def test_no_judgment_of_open_answers_passes_the_most(metric, seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = _file(tmp_path / "run", [f"q Q0 d{d} 1 {rng.integers(4)} r" for d in range(5)])

    def measured(judged):
        return read_run_values([path], _file(tmp_path / "qrels", judged), metric)

    known = ["q 0 d0 2", "q 0 d9 1", "q 0 d1 0"][seed % 2 :]
    still = sorted({f"d{d}" for d in range(5)} - {line.split()[2] for line in known})
    grades = itertools.product(range(1 + max(int(line[-1]) for line in known)), repeat=len(still))
    bound = measured(known).upper_bounds["run"]
    more = ([f"q 0 {d} {g}" for d, g in zip(still, some, strict=True)] for some in grades)
    most = max(measured(known + judged).values["run"][0] for judged in more)
    if metric.startswith(("NDCG", "recall")):
        assert most <= bound + 1e-12 and bound <= 1
    else:
        assert most == pytest.approx(bound)


def test_white_space_tables_and_packed_files_are_the_same_run(folder, tmp_path):
    text, judged = ((folder / name).read_text() for name in ("a.trec", "qrels.txt"))
    rows = [line.split() for line in text.splitlines()]
    table = "score,query,docid\n" + "".join(f"{row[4]},{row[0]},{row[2]}\n" for row in rows)
    qrels = [line.split() for line in judged.splitlines()]
    beir = "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, _, d, g in qrels)
    lines = ({"query-id": q, "corpus-id": d, "score": int(g)} for q, _, d, g in qrels)
    runs = {
        "a.trec": text,
        "wide.trec": text.replace(" ", "   "),
        "tabs.txt.gz": text.replace(" ", "\t"),
        "table.csv": table,
    }
    judgments = {
        "qrels.txt.gz": judged,
        "test.tsv": beir,
        "test.tsv.gz": beir,
        "qrels.jsonl.gz": "".join(json.dumps(line) + "\n" for line in lines),
    }
    values = {"values.csv.gz": "query,A,B\na,1,0.5\nb,0,0.25\n"}
    for name, held in (runs | judgments | values).items():
        pack = gzip.compress if name.endswith("gz") else bytes
        (tmp_path / name).write_bytes(pack(held.encode()))
    wanted = read_run_values([folder / "a.trec"], folder / "qrels.txt").values["a"]
    for name in judgments:
        found = read_run_values([tmp_path / run for run in runs], tmp_path / name)
        assert found.metric == "NDCG@10 (linear gain)"
        assert list(found.values) == ["a", "wide", "tabs", "table"]
        for run, measured in found.values.items():
            np.testing.assert_array_equal(measured, wanted, err_msg=f"{run}, {name}")
    assert read_run_values([tmp_path / "values.csv.gz"]).values["B"].tolist() == [0.5, 0.25]


def test_equal_scores_count_with_the_mean_over_their_orders(tmp_path):
    run = _file(tmp_path / "run", [f"q Q0 {d} 1 0.5 r" for d in "abc"])
    found = read_run_values([run], _file(tmp_path / "q.txt", ["q 0 b 1"]), "MRR")
    assert found.values["run"][0] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert "trec_eval sorts by id" in found.notes[0]


RUN = "q1 Q0 d1 1 3 r\nq1 Q0 d2 2 2 r\nq2 Q0 d1 1 1 r\n"
QRELS = "q1 0 d2 1\nq1 0 d3 0\nq2 0 d1 2\n"
#: What is done to a run or its judgments, and what comes of it: a note, or a refusal.
REPEATED = {
    "a run twice": (RUN * 2, QRELS, "run.txt: 3 lines repeat others; each counts once."),
    "a tabbed run twice": (RUN.replace(" ", "\t") * 2, QRELS, "3 lines repeat others;"),
    "another rank and name": (RUN + "q1 Q0 d1 9 3.0 s\n", QRELS, "1 line repeats another"),
    "an answer nobody judged": (RUN + "q1 Q0 x 3 0 r\n" * 2, QRELS, "1 line repeats another"),
    "judgments twice": (RUN, QRELS * 2, "qrels.txt: 3 lines repeat others;"),
    "a grade in other digits": (RUN, QRELS + "q1 0 d2 1.0\n", "1 line repeats another"),
}
REFUSED = {
    "two scores": (
        RUN + "\nq1 Q0 d2 1 4 r\n",
        QRELS,
        r"run\.txt, line 5: the score is 4, but 2"
        r" for the same query and document in line 2\. Keep one of the two\.",
    ),
    "two scores of wide lines": (RUN + "q1  Q0 d2 1 4 r\n", QRELS, r"line 4: .* in line 2\."),
    "two scores of one nobody judged": (
        RUN + "q1 Q0 x 3 1 r\nq1 Q0 x 4 0 r\n",
        QRELS,
        r"line 5: .* in line 4\.",
    ),
    "two grades": (RUN, QRELS + "q1 0 d2 2\n", r"qrels\.txt, line 4: the grade is 2, but 1"),
    "relevant and not": (RUN, QRELS + "q1 0 d3 1\n", r"line 4: .* but 0 .* in line 2\."),
    **{
        f"{score} in line {line}": (
            "".join(RUN.splitlines(True)[: line - 1]) + f"q1 Q0 d7 1 {score} r\n",
            QRELS,
            rf"run\.txt, line {line}: the score '{score}' is no finite number",
        )
        for score in ("nan", "NaN", "inf", "-Infinity", "0x10", "1e400", "high", "1,5", "1_0")
        for line in (1, 3)
    },
    "a score of Inf in tabs": (
        RUN.replace(" ", "\t").replace("3", "Inf"),
        QRELS,
        "line 1: .*'Inf'",
    ),
    **{
        f"a grade of {grade}": (RUN, f"q1 0 d2 {grade}\n" + QRELS, f"line 1.*'{grade}'")
        for grade in ("nan", "inf", "0x1", "1e400", "yes")
    },
    "a short line": (RUN + "q1 Q0 d3 1\n", QRELS, "line 4 has 4 words"),
    "a long line": (RUN + "q1 Q0 d3 1 2 r s\n", QRELS, "line 4 has 7 words"),
    "a short judgment": (RUN, QRELS + "q1 0 d9\n", "line 4 has 3 words"),
    "nothing": ("\n\n", QRELS, r"run\.txt"),
    "a table with two scores": ("query,doc,score\nq1,d2,1\nq1,d2,2\n", QRELS, "line 3: .* line 2"),
    "a table with no number": ("query,doc,score\nq1,d2,1\nq1,d3,0x10\n", QRELS, "line 3.*'0x10'"),
    "a table with an infinite score": ("query,doc,score\nq1,d2,1e999\n", QRELS, "line 2.*'1e999'"),
    "a table without a score": ("query,doc,score\nq1,d2,1\nq1,d3,\n", QRELS, "line 3.*''"),
}


def _files(tmp_path, run, qrels):
    for name, text in (("run.txt", run), ("qrels.txt", qrels)):
        (tmp_path / name).write_text(text)
    return [tmp_path / "run.txt"], tmp_path / "qrels.txt"


@pytest.mark.parametrize("case", REPEATED)
def test_a_line_that_repeats_another_counts_once(case, tmp_path):
    run, qrels, note = REPEATED[case]
    for metric in METRICS:
        wanted = read_run_values(*_files(tmp_path, RUN, QRELS), metric)
        found = read_run_values(*_files(tmp_path, run, qrels), metric)
        np.testing.assert_array_equal(found.values["run"], wanted.values["run"])
        assert [n for n in found.notes if note in n] and wanted.notes == ()


@pytest.mark.parametrize("case", REFUSED)
def test_what_trec_eval_cannot_mean_is_refused_with_file_and_line(case, tmp_path):
    run, qrels, message = REFUSED[case]
    with pytest.raises(DatasetError, match=message):
        read_run_values(*_files(tmp_path, run, qrels))


def test_pipes_are_read_once_and_called_by_what_they_hold(tmp_path):
    ends = []
    for text in (RUN, QRELS, RUN.replace("r\n", "other\n").replace(" ", "  ")):
        reads, writes = os.pipe()
        os.write(writes, gzip.compress(text.encode()))
        os.close(writes)
        ends.append(reads)
    first, judged, second = (f"/dev/fd/{end}" for end in ends)
    found = read_run_values([first, second], judged)
    assert list(found.values) == ["r", "other"]
    wanted = read_run_values(*_files(tmp_path, RUN, QRELS)).values["run"]
    for values in found.values.values():
        np.testing.assert_array_equal(values, wanted)
    for end in ends:
        os.close(end)


#: Files, judgments (none, or those of the runs), a metric and options; what is said, and its kind.
UNREADABLE = [
    (["a.trec"], True, "AUC", {}, "asks about documents that runs do not list", ValueError),
    (["a.trec"], True, "NDGC@10", {}, "Known: top-1", ValueError),
    (["other.trec"], True, None, {}, "answers no query", DatasetError),
    (["a.trec"], False, None, {}, "TREC run.*--qrels", DatasetError),
    (["long.csv"], False, None, {}, "--qrels", DatasetError),
    (["values.csv"], False, None, {"judged_only": True}, "Values list no documents", ValueError),
    (["a.trec"], True, "MRR", {"fuse": True}, "Two runs or more are fused", ValueError),
    (["a.trec", "b.trec"], True, "Judged@10", {"fuse": True}, "Two runs or more", ValueError),
    (["a.trec"], False, None, {"fuse": True}, "cannot be fused", ValueError),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case[4])
def test_what_cannot_be_read_is_named(folder, case):
    names, with_qrels, metric, options, said, error = case
    _file(folder / "other.trec", ["x1 Q0 d1 1 0.5 r"])
    _file(folder / "long.csv", ["query,document,score", "a,b,1", "a,c,2"])
    _file(folder / "values.csv", ["id,a,b", "q,1,2", "r,2,3"])
    qrels = folder / "qrels.txt" if with_qrels else None
    with pytest.raises(error, match=said) as refused:
        read_run_values([folder / name for name in names], qrels, metric, **options)
    assert "pAUC" not in str(refused.value) and "Spearman" not in str(refused.value)


def test_values_of_tables_are_shared_by_their_first_column(tmp_path):
    wide = _file(tmp_path / "wide.csv", ["query,A,B", "a,1,0.5", "b,0,0.25", "c,1,"])
    one = _file(tmp_path / "one.csv", ["query,value", "b,0.75", "a,0.125"])
    found = read_run_values([wide, one])
    assert found.queries == ("a", "b")
    values = {name: values.tolist() for name, values in found.values.items()}
    assert values == {"A": [1, 0], "B": [0.5, 0.25], "one": [0.125, 0.75]}
    assert found.notes[0].startswith("1 more query left out")


def test_tasks_of_mteb_are_values(tmp_path):
    for model, shift in (("one", 0.0), ("two", 0.25)):
        place = tmp_path / f"org__{model}" / "revision"
        place.mkdir(parents=True)
        (place / "model_meta.json").write_text(json.dumps({"name": f"org/{model}"}))
        rows = [{"main_score": s + shift, "ndcg_at_10": shift} for s in (0.25, 0.5)]
        for task in ("Banking77", "STS12"):
            tree = {"task_name": task, "scores": {"test": rows}}
            (place / f"{task}.json").write_text(json.dumps(tree))
    found = read_run_values([tmp_path])
    assert found.unit == "task" and found.queries == ("Banking77", "STS12")
    assert found.values["org/two"].tolist() == [0.625, 0.625]
    folders = [tmp_path / "org__one", tmp_path / "org__two"]
    assert read_run_values(folders, metric="NDCG@10").values["org/one"].tolist() == [0, 0]
    with pytest.raises(DatasetError, match="Known scores: main_score, ndcg_at_10"):
        read_run_values([tmp_path], metric="MAP")


def _written(path, scores):
    """A run of queries that each list documents with scores."""
    rows = [(q, d, s) for q, row in enumerate(scores) for d, s in row.items()]
    return _file(path, [f"q{q} Q0 {d} 1 {s} {path.stem}" for q, d, s in rows])


def test_fused_ranks_and_sums_are_those_by_hand(tmp_path):
    # The answer is second in one run and third in the other, behind documents that nobody judged.
    one = [{"d1": 9.0, "a": 10.0, "b": 8.0}] * 2
    other = [{"c": 5.0, "d": 4.0, "d1": 2.9, "a": 1.0}] * 2
    runs = [_written(tmp_path / f"{n}.trec", s) for n, s in (("one", one), ("other", other))]
    qrels = _file(tmp_path / "qrels", ["q0 0 d1 1", "q1 0 d1 1"])
    found = read_run_values(runs, qrels, "MRR", fuse=True)
    assert list(found.values) == ["one", "other", "RRF", "weighted sum"]
    # d1: 1/62 + 1/63, a: 1/61 + 1/64; a is ahead by a hair.
    assert (1 / 61 + 1 / 64 > 1 / 62 + 1 / 63) and found.values["RRF"].tolist() == [0.5, 0.5]
    # Of one: a 1, d1 .5, b 0; of the other: c 1, d .75, d1 .475, a 0. No sum puts d1 first.
    assert found.values["weighted sum"].tolist() == [0.5, 0.5]
    assert any("no run that is added to one is sure" in note for note in found.notes)
    assert found.judged["RRF"] == pytest.approx(1 / 5)
    plain = read_run_values(runs, qrels, "MRR")
    assert list(plain.values) == ["one", "other"]
    assert all((found.values[name] == values).all() for name, values in plain.values.items())
    assert plain.judged == {name: found.judged[name] for name in ("one", "other")}


def test_equal_scores_share_their_mean_rank_when_ranks_are_fused(tmp_path):
    # d1 and b share ranks 1 and 2 (1/61.5 each); a has 1/63 and, in the other run, 1/61.
    one = _written(tmp_path / "one.trec", [{"d1": 2.0, "b": 2.0, "a": 1.0}])
    other = _written(tmp_path / "other.trec", [{"a": 4.0, "d1": 3.0, "c": 2.0}])
    qrels = _file(tmp_path / "qrels", ["q0 0 d1 1"])
    found = read_run_values([one, other], qrels, "MRR", fuse=True)
    assert 1 / 61.5 + 1 / 62 > 1 / 63 + 1 / 61 > 1 / 62 + 1 / 62
    assert found.values["RRF"].tolist() == [1.0]


def test_values_of_a_sum_are_those_of_the_folds(folder, monkeypatch):
    wanted = np.linspace(0, 1, 40)
    monkeypatch.setattr(ForwardSelection, "nested", lambda self: (wanted, wanted))
    paths = [folder / f"{run}.trec" for run in "ac"]
    found = read_run_values(paths, folder / "qrels.txt", "MRR", fuse=True)
    assert found.values["weighted sum"].tolist() == wanted.tolist()


def test_a_sum_is_measured_on_queries_that_did_not_choose_its_weights(tmp_path):
    rng, runs, scaled = np.random.default_rng(0), [], []
    for name in "ab":
        table = 2 * np.eye(60) + rng.standard_normal((60, 60))
        scores = [{f"d{j}": s for j, s in enumerate(row)} for row in table]
        runs.append(_written(tmp_path / f"{name}.trec", scores))
        scaled.append((table - table.min(1, keepdims=True)) / np.ptp(table, axis=1)[:, None])
    qrels = _file(tmp_path / "qrels", [f"q{i} 0 d{i} 1" for i in range(60)])
    found = read_run_values(runs, qrels, "MRR", fuse=True)
    means = {name: values.mean() for name, values in found.values.items()}
    assert means["weighted sum"] > max(means["a"], means["b"]) + 0.02
    assert means["RRF"] > max(means["a"], means["b"])
    said = next(note for note in found.notes if note.startswith("Weighted sum, chosen on all"))
    assert " a" in said and " b" in said and "5 folds" in said
    sums = [(1 - share) * scaled[0] + share * scaled[1] for share in np.linspace(0, 1, 11)]
    best = max((1 / (s >= np.diag(s)[:, None]).sum(axis=1)).mean() for s in sums)
    assert means["weighted sum"] <= best + 1e-9
