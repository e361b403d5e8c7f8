"""Runs and judgments that other programs read as they were meant."""

from __future__ import annotations

from urllib.parse import unquote

import ir_measures
import numpy as np
import pytest
from hypothesis import given, strategies as st

from simviz.data import Items, PairSet
from simviz.evaluation import MAP, MRR, NDCG, evaluate
from simviz.evaluation.trec import trec_id, trec_qrels, trec_run, why_no_qrels
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
    x, y = np.nonzero(values)
    relevance = Relevance.from_pairs(
        x, y, values[x, y], shape=(N_X, N_Y), unjudged=unjudged, kind="grade"
    )
    return PairSet(
        Items([f"the x {i}" for i in range(N_X)], ["a"] * N_X, "text"),
        Items([f"50%\u2028y {i}" for i in range(N_Y)], ["b"] * N_Y, "text"),
        relevance,
    )


def spread(rng):
    """Scores that no two pairs share, in single precision too."""
    return rng.permutation(N_X * N_Y).reshape(N_X, N_Y) / 4096 - 0.1


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
    table = Table(spread(rng).astype(dtype))
    found = evaluate(table, pairs.x, pairs.y, pairs.relevance)
    run = read(trec_run(table, pairs, direction=direction), tmp_path, ir_measures.read_trec_run)
    qrels = read(trec_qrels(pairs, direction=direction), tmp_path, ir_measures.read_trec_qrels)
    theirs = ir_measures.calc_aggregate(
        [ir_measures.RR, ir_measures.nDCG @ 10, ir_measures.AP], qrels, run
    )
    ours = {
        ir_measures.RR: MRR(),
        ir_measures.nDCG @ 10: NDCG(10, gain="linear"),
        ir_measures.AP: MAP(),
    }
    for measure, metric in ours.items():
        assert theirs[measure] == pytest.approx(found.value(metric, direction), abs=1e-9)


@pytest.mark.parametrize("direction", ["x2y", "y2x"])
@pytest.mark.parametrize("k", [1, 4, 1000])
def test_the_best_stand_first_whatever_the_blocks(direction, k, monkeypatch):
    monkeypatch.setattr("simviz.evaluation.trec.GATHERED", 50)  # a few columns at a time
    rng = np.random.default_rng(4)
    pairs = judged(rng, "negative")
    scores = rng.integers(0, 5, (N_X, N_Y)).astype(np.float64)  # many ties
    texts = {
        "".join(trec_run(Table(scores), pairs, direction=direction, k=k, block_size=size))
        for size in (1, 7, 100)
    }
    (text,) = texts
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
    assert "0.5" in why_no_qrels(pairs.relevance)
    with pytest.raises(ValueError, match=r"whole numbers; found 0\.5"):
        list(trec_qrels(pairs))
    scores = Relevance([[0.5, 0.1], [0.2, 0.3]], kind="score")
    with pytest.raises(ValueError, match="real-valued"):
        list(trec_qrels(PairSet.from_texts(["a", "b"], ["c", "d"], scores)))
    with pytest.raises(ValueError, match="Directions here"):
        list(trec_qrels(pairs, direction="mean"))
    plain = PairSet(Items(["0"], ["a"], "text"), Items(["0"], ["b"], "text"), Relevance([[1]]))
    with pytest.raises(ValueError, match="NaN"):
        list(trec_run(Table(np.array([[np.nan]])), plain))
    with pytest.raises(ValueError, match="k must"):
        list(trec_run(Table(np.array([[1.0]])), plain, k=0))


def test_judged_not_relevant_is_grade_0():
    pairs = PairSet.from_texts(
        ["a", "b", "c"], ["d", "e", "f"], Relevance([[2, -1, 0], [0, 1, 0], [-1, 0, 0]])
    )
    assert "".join(trec_qrels(pairs)) == "0 0 0 2\n0 0 1 0\n1 0 1 1\n"
    assert "".join(trec_qrels(pairs, direction="y2x")) == "0 0 0 2\n0 0 2 0\n1 0 0 0\n1 0 1 1\n"
