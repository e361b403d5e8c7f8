"""Runs and judgments that other programs read as they were meant, and runs of theirs."""

from __future__ import annotations

from urllib.parse import unquote

import ir_measures
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from ir_measures import AP, RR, nDCG
from made_up import saved

from simviz.data import Items, PairSet
from simviz.evaluation import MAP, MRR, NDCG, evaluate
from simviz.evaluation.trec import read_run, trec_id, trec_qrels, trec_run, why_no_qrels
from simviz.exceptions import DatasetError, JobError
from simviz.jobs import SplitSpec
from simviz.jobs.spec import import_run
from simviz.pipeline import default_pipeline, load_pipeline
from simviz.relevance import Relevance

N_X, N_Y = 40, 30


class Table:
    """Scores that are given, in blocks of a few rows."""

    def __init__(self, scores):
        self.scores = scores

    def iter_similarity(self, x, y, *, block_size=None):
        rows = [int(i.split()[-1]) for i in x.ids]
        columns = [int(i.split()[-1]) for i in y.ids]
        step = block_size or 7
        for start in range(0, len(rows), step):
            yield self.scores[np.ix_(rows[start : start + step], columns)]


def judged(rng, unjudged, with_negatives=False):
    values = np.where(rng.random((N_X, N_Y)) < 0.12, rng.integers(1, 4, (N_X, N_Y)), 0)
    if with_negatives:
        values = np.where((values == 0) & (rng.random((N_X, N_Y)) < 0.3), -1, values)
    values[3] = values[:, 5] = 0  # queries without an answer
    relevance = Relevance(sp.csr_array(values.astype(float)), unjudged=unjudged)
    x_items = Items([f"the x {i}" for i in range(N_X)], ["a"] * N_X, "text")
    y_items = Items([f"50%\u2028y {i}" for i in range(N_Y)], ["b"] * N_Y, "text")
    return PairSet(x_items, y_items, relevance)


def read(lines, tmp_path, reader):
    path = tmp_path / "file"
    path.write_text("".join(lines), encoding="utf-8")
    return list(reader(str(path)))


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
@pytest.mark.parametrize("direction", ["x2y", "y2x"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ir_measures_finds_the_same_figures(unjudged, direction, dtype, tmp_path):
    rng = np.random.default_rng(3)
    pairs = judged(rng, unjudged, with_negatives=unjudged == "ignore")
    # No two pairs share a score, in single precision too.
    scores = rng.permutation(N_X * N_Y).reshape(N_X, N_Y) / 4096 - 0.1
    table = Table(scores.astype(dtype))
    found = evaluate(table, pairs.x, pairs.y, pairs.relevance)
    run = read(trec_run(table, pairs, direction=direction), tmp_path, ir_measures.read_trec_run)
    qrels = read(trec_qrels(pairs, direction=direction), tmp_path, ir_measures.read_trec_qrels)
    ours = {RR: MRR(), nDCG @ 10: NDCG(10, gain="linear"), AP: MAP()}
    theirs = ir_measures.calc_aggregate(list(ours), qrels, run)
    for measure, metric in ours.items():
        assert theirs[measure] == pytest.approx(found.value(metric, direction), abs=1e-9)


@pytest.mark.parametrize("direction", ["x2y", "y2x"])
@pytest.mark.parametrize("k", [1, 4, 1000])
def test_the_best_stand_first_whatever_the_blocks(direction, k, monkeypatch):
    monkeypatch.setattr("simviz.evaluation.trec.GATHERED", 50)  # a few columns at a time
    rng = np.random.default_rng(4)
    pairs = judged(rng, "negative")
    scores = rng.integers(0, 5, (N_X, N_Y)).astype(np.float64)  # many ties
    how = {"direction": direction, "k": k}
    runs = (trec_run(Table(scores), pairs, block_size=size, **how) for size in (1, 7, 100))
    (text,) = {"".join(run) for run in runs}
    told = scores if direction == "x2y" else scores.T
    lines = [line.split() for line in text.splitlines()]
    assert len(lines) == told.shape[0] * min(k, told.shape[1])
    for query in range(told.shape[0]):
        own = [line for line in lines if line[0].endswith(f"%20{query}")]
        order = np.argsort(-told[query], kind="stable")[:k]
        assert [int(unquote(line[2]).split()[-1]) for line in own] == order.tolist()
        assert [line[3] for line in own] == [str(rank) for rank in range(1, len(own) + 1)]
        assert [float(line[4]) for line in own] == told[query][order].tolist()


@given(st.lists(st.text(), unique=True))
def test_ids_hold_no_white_space_and_stay_apart(texts):
    ids = [trec_id(text) for text in texts]
    assert len(set(ids)) == len(texts)
    for text, written in zip(texts, ids, strict=True):
        assert written.split() == [written]
        assert not text or unquote(written, errors="surrogatepass") == text


def test_what_trec_cannot_write_is_refused():
    pairs = PairSet.from_texts(["a", "b"], ["c", "d"], Relevance([[0.5, -1], [0, 2]]))
    scores = Relevance([[0.5, 0.1], [0.2, 0.3]], kind="score")
    real = PairSet.from_texts(["a", "b"], ["c", "d"], scores)
    plain = PairSet.from_texts(["a"], ["b"])
    assert "0.5" in why_no_qrels(pairs.relevance)
    for write, words in (
        (lambda: trec_qrels(pairs), r"whole numbers; found 0\.5"),
        (lambda: trec_qrels(real), "real-valued"),
        (lambda: trec_qrels(pairs, direction="mean"), "Directions here"),
        (lambda: trec_run(Table(np.array([[np.nan]])), plain), "NaN"),
        (lambda: trec_run(Table(np.array([[1.0]])), plain, k=0), "k must"),
    ):
        with pytest.raises(ValueError, match=words):
            list(write())


def test_judged_not_relevant_is_grade_0():
    judged = Relevance([[2, -1, 0], [0, 1, 0], [-1, 0, 0]])
    pairs = PairSet.from_texts(["a", "b", "c"], ["d", "e", "f"], judged)
    assert "".join(trec_qrels(pairs)) == "0 0 0 2\n0 0 1 0\n1 0 1 1\n"
    assert "".join(trec_qrels(pairs, direction="y2x")) == "0 0 0 2\n0 0 2 0\n1 0 0 0\n1 0 1 1\n"


WORDS = "red blue green gold car bus tram ship".split()
TEXTS = [f"{a} {b}" for a in WORDS[:4] for b in WORDS[4:]]


def pairs_of(texts=TEXTS):
    ids = [f"q {i}" for i in range(len(texts))]
    sides = [Items(ids, [f"{t} {s}" for t in texts], "text") for s in ("x", "y")]
    return PairSet(*sides, Relevance.identity(len(texts)), name="colours")


def test_a_run_that_simviz_wrote_is_measured_the_same():
    pairs = pairs_of()
    pipeline = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    run = read_run("".join(trec_run(pipeline, pairs, tag="mine")).encode(), pairs, "mine.run")
    assert run.name == "mine"
    ours, theirs = (evaluate(one, pairs.x, pairs.y) for one in (pipeline, run.pipeline))
    for metric in ("MRR", "top-1", "MAP"):
        assert theirs.value(metric, "x2y") == pytest.approx(ours.value(metric, "x2y"))


def test_answers_beyond_the_run_are_tied_below_it():
    pairs = pairs_of(TEXTS[:4])
    # The right answer is not among those that were given: one of three left.
    text = "q%200 Q0 q%201 1 5 s\nq%201 Q0 q%201 1 -7 s\n"
    run = read_run(text.encode(), pairs, "a.txt")
    values = evaluate(run.pipeline, pairs.x, pairs.y, metrics=["MRR"]).per_query("MRR", "x2y")
    expected = [np.mean([1 / 2, 1 / 3, 1 / 4]), 1.0, np.mean([1, 1 / 2, 1 / 3, 1 / 4])]
    np.testing.assert_allclose(values[:3], expected)
    assert any("2 scores for 2 of 4 x items" in note for note in run.notes)


def test_tables_and_matrices_of_scores_are_read():
    pairs = pairs_of(TEXTS[:3])
    matrix = np.array([[3.0, -1, 2], [0, 5, 1], [0, 1, 0]])
    lines = (f"q {i},q {j},{score}\n" for (i, j), score in np.ndenumerate(matrix))
    table = "query_id,doc_id,score\n" + "".join(lines)
    files = {"s.csv": table.encode(), "s.npy": saved(np.save, matrix)}
    files["s.npz"] = saved(sp.save_npz, sp.csr_array(matrix + 2.0))
    for name, data in files.items():
        scores = read_run(data, pairs, name).scores.toarray()
        assert np.corrcoef(scores.ravel(), matrix.ravel())[0, 1] > 0.999, name


REFUSED = {
    "strange ids": (b"a Q0 b 1 2 s\n", "no row names an x and a y item"),
    "short line": (b"q%200 Q0 q%201 1 5 s\nq Q0\n", r"line 2 has 2 words"),
    "no score": (b"query,document,note\nq 0,q 1,fine\n", "no column with scores"),
    "word": (b"q%200 Q0 q%201 1 5 s\nq%200 Q0 q%202 1 high s\n", "line 2: the score 'high'"),
    "first line": (b"q%200 Q0 q%201 1 nan s\n", "line 1: the score 'nan' is no finite number"),
    "twice": (b"q%200 Q0 q%201 1 5 s\nq%200 Q0 q%201 1 4 s\n", r"line 2: the score is 4, but 5 "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_run_is_refused(case):
    data, message = REFUSED[case]
    with pytest.raises(DatasetError, match=message):
        read_run(data, pairs_of(), "r.txt")
    with pytest.raises(DatasetError, match="16 x and 16 y items"):
        read_run(saved(np.save, np.eye(3)), pairs_of(), "r.npy")


def test_a_line_that_repeats_another_counts_once():
    line = b"q%200 Q0 q%201 1 5 s\n"
    once, twice = (read_run(line * n, pairs_of(), "r.txt") for n in (1, 2))
    assert (once.scores != twice.scores).nnz == 0
    note = "r.txt: 1 line repeats another; each counts once."
    assert [note in run.notes for run in (once, twice)] == [False, True]


def test_items_that_differ_in_their_id_only_share_scores():
    pairs = pairs_of(["a b", "a b", "c d"])
    run = read_run(b"q%201 Q0 q%202 1 5 s\n", pairs, "r.txt")
    assert any("2 items equal another" in note for note in run.notes)
    assert run.pipeline.similarity(pairs.x, pairs.y)[0, 2] > 0


def test_an_imported_run_is_kept_and_read_back(store, mine):
    pairs = pairs_of()
    dataset_id = store.datasets.put(pairs, mine)
    pipeline = default_pipeline("bm25", pairs).fit(pairs)
    run = read_run("".join(trec_run(pipeline, pairs)).encode(), pairs, "bm25.run")
    split = SplitSpec("pair", (0.4, 0.2, 0.4), 3)
    run_id = import_run(store, dataset_id, pairs, run, split, mine)
    assert import_run(store, dataset_id, pairs, run, split, mine) == run_id
    kept = store.runs.get(run_id, mine)
    assert kept.info.method == "imported" and kept.info.summary
    assert kept.part("test").evaluation.value("top-1", "x2y") == 1.0
    same = load_pipeline(kept.folder / "pipeline.simviz").similarity(pairs.x, pairs.y)
    assert same.tolist() == run.pipeline.similarity(pairs.x, pairs.y).tolist()
    assert not run.pipeline.similarity(Items(["new"], ["never seen"], "text"), pairs.y).any()
    with pytest.raises(JobError, match="seen by all visitors"):
        import_run(store, "demo:emoji", pairs, run, split, mine)
