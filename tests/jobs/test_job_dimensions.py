"""Smaller models of a run's method: trained on request, kept as ranks, read by any metric."""

from __future__ import annotations

from dataclasses import replace

import pytest
from waiting import finished

from simviz.data.splitting import PARTS
from simviz.evaluation import evaluate
from simviz.exceptions import JobCancelled
from simviz.jobs import JobSpec
from simviz.jobs.run_curves import smaller_dimensions, train_dimensions
from simviz.jobs.training import fit
from simviz.reports.run_summary import RunEntry, records_by_dimension


@pytest.fixture
def trained(queue, ask):
    return lambda method, **params: finished(queue, ask(method, **params))


def entry_of(run, part="test"):
    return RunEntry(run, "a run", run.info.method, part)


@pytest.mark.parametrize(
    ("method", "params"),
    [("plsa", {"max_iter": 5}), ("s2net", {"max_iter": 3, "learning_rate": 0.1})],
)
def test_a_curve_ends_at_the_run_and_answers_any_metric(trained, sentences, method, params):
    run = trained(method, n_components=12, **params)
    assert smaller_dimensions(run) == [5, 10]
    assert records_by_dimension(entry_of(run), "MRR", sentences) == []
    heard = []
    train_dimensions(run, sentences, lambda fraction: heard.append(fraction) or False)
    assert heard == sorted(heard) and heard[-1] == pytest.approx(1)
    for part in ("validation", "test"):
        entry = entry_of(run, part)
        for metric in ("MRR", "top-1", "recall@7"):
            records = records_by_dimension(entry, metric, sentences)
            assert [r["dimension"] for r in records if r["direction"] == "x2y"] == [5, 10, 12]
        last = records_by_dimension(entry, "MRR", sentences)[2]
        told = entry.record("MRR", "x2y")
        assert last["value"] == pytest.approx(told["value"], abs=1e-12)


def test_each_point_is_the_method_trained_at_that_size(trained, sentences):
    run = trained("plsa", n_components=12, max_iter=5)
    train_dimensions(run, sentences, lambda fraction: False)
    train, validation, test = (run.take(sentences, part) for part in PARTS)
    spec = JobSpec.from_json(run.spec)
    small = replace(spec, params={**spec.params, "n_components": 5})
    pipeline, _ = fit(small, train, validation, test, lambda step, total, metrics: False)
    found = evaluate(pipeline, test.x, test.y, test.relevance)
    first = records_by_dimension(entry_of(run), "MRR", sentences)[0]
    assert first["value"] == pytest.approx(found.value("MRR", "x2y"), abs=1e-9)


def test_what_was_stopped_keeps_nothing(trained, sentences):
    run = trained("plsa", n_components=12, max_iter=5)
    with pytest.raises(JobCancelled):
        train_dimensions(run, sentences, lambda fraction: fraction > 0)
    assert not run.read_objects("test/smaller")


def test_only_models_that_are_not_nested_are_trained_again(trained):
    assert smaller_dimensions(trained("lsa", n_components=2)) == []
    assert smaller_dimensions(trained("bm25")) == []
