"""A search for settings is asked for, estimated, cancelled and kept like any job."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from waiting import LONG, until

from simviz.data import Items, PairSet, split
from simviz.evaluation.tuning import development, search
from simviz.exceptions import JobCancelled, StoreError
from simviz.jobs import JobError, JobQueue, JobSpec, SplitSpec, search_spec
from simviz.jobs.cost import Cost
from simviz.jobs.training import unit_of
from simviz.pipeline import default_pipeline

GRID = {"n_components": [2, 5, 9], "regularization": [0.1, 1.0]}


@pytest.mark.parametrize("folds", [1, 3])
def test_a_search_is_kept_with_its_job_and_answered_from_there(
    queue, store, ask, mine, theirs, sentences, folds
):
    spec = search_spec(ask("cca", n_components=7), GRID, folds=folds)
    assert spec.params == {}, "what is searched is no fixed parameter"
    status = queue.wait(queue.submit(spec), LONG)
    assert status.state == "succeeded" and status.run_id is None, status.message
    kept = queue.result(status.id, mine)
    found, parts = kept.value, split(sentences, "pair")
    pipeline = default_pipeline("cca", parts.train, n_components=2)
    pairs, cv = (parts.train, parts.validation) if folds == 1 else (
        development(sentences, parts), folds
    )  # fmt: skip
    ours = search(pipeline, pairs, GRID, cv=cv)
    assert [t.params for t in found.trials] == [t.params for t in ours.trials]
    np.testing.assert_allclose(
        [t.mean for t in found.trials], [t.mean for t in ours.trials], atol=1e-6
    )
    assert queue.submit(spec) == status.id and kept.seconds > 0
    with pytest.raises(StoreError):
        queue.result(status.id, theirs)
    assert not store.runs.find(mine), "a search is no run"
    with JobQueue(store) as later:
        assert later.status(status.id, mine).state == "succeeded"
        assert later.result(status.id, mine).value == found
    chosen = found.selected.params
    run = queue.wait(queue.submit(spec.training(**chosen)), LONG)
    assert store.runs.get(run.run_id, mine).spec["params"] == chosen


def test_a_lost_result_is_searched_anew(queue, ask):
    spec = search_spec(ask("bm25"), {"k1": [0.5, 1.5]})
    job_id = queue.submit(spec)
    queue.wait(job_id, LONG)
    kept = queue.store.jobs.folder(job_id) / "result.simviz"
    kept.write_bytes(kept.read_bytes()[:-40])
    with pytest.raises(StoreError, match="no result"):
        queue.result(job_id)
    assert queue.submit(spec) != job_id


def test_cancel_is_answered_and_the_worker_stops(store, ask):
    with JobQueue(store, max_workers=1) as queue:
        tried = {"margin": [0.5, 1.0, 2.0]}
        spec = search_spec(ask("ssi", max_iter=3_000, patience=3_000, n_components=100), tried)
        job_id = queue.submit(spec)
        until(lambda: queue.status(job_id).stage == "searching")
        assert queue.cancel(job_id)
        assert queue.status(job_id).state == "cancelled"
        # The only worker takes the next job, so it has left a search of many minutes.
        assert queue.wait(queue.submit(ask("bm25")), LONG).state == "succeeded"


def test_progress_goes_up_and_stops_the_search(sentences, ask):
    heard, spec = [], search_spec(ask("cca"), GRID, folds=3)
    spec.run(sentences, {}, lambda stage, done, _: heard.append((stage, done)))
    assert heard == sorted(heard) and {stage for stage, _ in heard} == {"searching"}
    assert heard[-1][1] == 1.0
    with pytest.raises(JobCancelled):
        spec.run(sentences, {}, lambda stage, done, _: done > 0.4)


def test_shared_fits_are_estimated_once(ask, sentences, monkeypatch):
    spec = ask("cca")
    folds = search_spec(spec, {"rank": [5, 9]}, folds=5)
    with monkeypatch.context() as fixed:
        # Costs are partly timed on the spot; here each fit takes as long as another.
        fixed.setattr("simviz.jobs.cost.estimate", lambda *_: Cost(1.0, 1_000))
        few = search_spec(spec, {"n_components": [5, 9]}).estimate(sentences)
        many = search_spec(spec, {"n_components": [5, 6, 7, 8, 9]}).estimate(sentences)
        assert few.reason_to_refuse is None and many.seconds == few.seconds
        # Ten fits on four fifths of what one fit had.
        assert folds.estimate(sentences).seconds == pytest.approx(8 * few.seconds)
    endless = search_spec(ask("ssi"), {"max_iter": [10_000_000]})
    assert "hours" in endless.estimate(sentences).reason_to_refuse


def test_the_request_survives_its_json_and_has_an_id_of_its_own(ask):
    plain, spec = ask("cca"), search_spec(ask("cca"), GRID, n_iter=3)
    assert JobSpec.from_json(spec.to_json(), spec.workspace) == spec
    assert "search" not in plain.to_json()
    assert len({plain.digest, spec.digest, search_spec(plain, GRID).digest}) == 3


def test_units_are_those_of_the_split(sentences):
    marks = {"split": np.array(["train"] * 60)}
    marked = Items(sentences.x.ids, sentences.x.content, "text", marks)
    pairs = PairSet(marked, sentences.y, sentences.relevance)
    links = PairSet(marked, marked, sentences.relevance)
    for given, how, unit in (
        (pairs, SplitSpec("group"), "group"),
        (pairs, SplitSpec("column", group_key="split"), "x"),
        (pairs.swap(), SplitSpec("column"), "y"),
        (pairs, SplitSpec("time", group_key="split"), "x"),
        (links, SplitSpec("column"), "pair"),
    ):
        assert unit_of(how, given) == unit


@pytest.mark.parametrize(
    ("params", "options", "words"),
    [
        ({"n_component": [1]}, {}, "did you mean|no parameter"),
        ({"shared": [True, False]}, {}, "no parameter"),
        ({"n_components": []}, {}, "values of n_components"),
        ({"n_components": [0]}, {}, "n_components"),
        ({"n_components": [2]}, {"folds": 0}, "1 to 10 folds"),
        ({"n_components": [2]}, {"folds": True}, "1 to 10 folds"),
        ({"n_components": [2]}, {"metric": "luck"}, "luck"),
        ({"n_components": [2]}, {"n_iter": 0}, "at least once"),
        ({"n_components": [*range(1, 31)], "rank": [*range(1, 31)]}, {}, "more than the 400"),
        ({}, {}, "at least one parameter"),
    ],
)
def test_wrong_requests_are_refused(ask, params, options, words):
    with pytest.raises(JobError, match=words):
        search_spec(ask("cca"), params, **options)
    with pytest.raises(JobError, match="pairs as they are"):
        search_spec(replace(ask("cca"), augment=({"kind": "typos", "share": 0.1},)), GRID)
    with pytest.raises(JobError, match="part of a search"):
        replace(search_spec(ask("cca"), GRID), search={"luck": 1}).check()
