"""A store written before validation and test were kept alike opens whole."""

from __future__ import annotations

import json
import sqlite3
import time
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from simviz.evaluation import parse_metric
from simviz.exceptions import StoreError
from simviz.jobs.background import measure_run, why_not_measured
from simviz.store import Store, load_evaluation
from simviz.store.run import load_figures

OLD = Path(__file__).with_name("version-5.zip")
MINE = "someone"


@pytest.fixture
def old(tmp_path):
    """CCA, BM25, their blend and imported scores on 60 pairs, shares, a look, a correction."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path)
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db, db:
        db.execute("UPDATE workspaces SET touched=?", (time.time(),))  # else it is swept
    return Store(tmp_path)


@pytest.fixture
def runs(old):
    return {info.method: old.runs.get(info.id, MINE) for info in old.runs.find(MINE)}


def test_nothing_is_lost(old, runs):
    assert set(runs) == {"cca", "bm25", "blend", "imported"}
    (info,) = (info for info in old.datasets.find(MINE) if not info.is_demo)
    pairs = old.datasets.get(info.id, MINE)
    for run in runs.values():
        assert run.measured == ("test",)
        evaluation = load_evaluation(run)
        told = {(r["metric"], r["direction"]): r["value"] for r in run.part("test").records()}
        assert evaluation.value("MRR", "x2y") == told["MRR", "x2y"] > 0
        assert len(run.arrays()["x_validation"]) == 6
        assert np.isfinite(run.pipeline().similarity(pairs.x, pairs.y)).all()
    assert runs["cca"].part("test").curve() and runs["cca"].maps()
    assert len(old.shares.find(MINE)) == 2
    assert len(old.feedback.find(info.id, MINE)) == 1
    assert old.choices.get(info.id, MINE, "part") is None
    with pytest.raises(StoreError, match="validation"):
        runs["cca"].part("validation")


def test_figures_of_the_test_part_rank_no_run_any_more(runs):
    assert runs["cca"].info.summary["MRR"] > 0  # of the validation part, as it always was
    assert runs["imported"].info.summary == {}  # it was of the test part


def test_metrics_go_by_the_names_they_have_now(runs):
    run = runs["cca"]
    raw = json.loads((run.folder / "evaluation.json").read_text())
    assert "NDCG@3" in raw["metrics"]
    now, kept = "NDCG@3 (exponential gain)", run.part("test")
    told = kept.evaluation()
    every = [*told["records"], *told["baselines"]["popularity"], *told["baselines"]["chance"]]
    names = [*told["metrics"], *(record["metric"] for record in every), *run.info.summary]
    names += [key.partition(":")[2] for key in kept.per_query()]
    assert now in names and not [name for name in names if parse_metric(name).name != name]
    before, after = (
        {(r["metric"], r["direction"]): r["value"] for r in records}
        for records in (raw["records"], kept.records())
    )
    assert before["NDCG@3", "x2y"] == after[now, "x2y"] == load_evaluation(run).value(now, "x2y")
    assert load_figures(run) == told  # of all candidates, where nothing is certain


def test_the_part_that_is_missing_is_measured_when_asked_for(old, runs):
    run = runs["cca"]
    pairs = old.datasets.get(run.info.dataset_id, MINE)
    heard = []
    measure_run(old, run, pairs, "validation", lambda done: bool(heard.append(done)))
    assert heard == sorted(heard) and heard[-1] == 1.0
    run = old.runs.get(run.id, MINE)
    assert run.measured == ("validation", "test")
    evaluation = load_evaluation(run, "validation")
    at = run.arrays()
    assert evaluation.n_queries("x2y") == len(at["x_validation"])
    assert run.part("validation").curve() and run.part("validation").evaluation()["baselines"]
    assert run.info.summary["MRR"] == pytest.approx(evaluation.value("MRR"))
    for name, other in runs.items():
        reason = why_not_measured(other, "validation", pairs)
        assert bool(reason) == (name == "imported"), reason


def test_measuring_again_changes_nothing_and_a_deleted_run_stays_away(old, runs):
    run = runs["bm25"]
    pairs = old.datasets.get(run.info.dataset_id, MINE)
    for _ in range(2):
        measure_run(old, run, pairs, "validation", lambda done: False)
    before = run.part("validation").records()
    assert str(old.runs.get(run.id).part("validation").records()) == str(before)
    old.runs.drop(runs["blend"].id)
    with pytest.raises(StoreError, match="deleted"):
        measure_run(
            old,
            runs["cca"].__class__(runs["blend"].info, run.folder),
            pairs,
            "validation",
            lambda done: False,
        )
