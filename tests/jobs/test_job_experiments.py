"""Experiments as jobs: asked for, run, kept, answered again."""

from __future__ import annotations

import dataclasses

import pytest
from waiting import LONG

from simviz.data import PairSet
from simviz.experiments import Claim, Figure, Findings, Series, Table, get_experiment
from simviz.jobs import JobError, JobQueue, experiment_spec
from simviz.store import Store

NAME = "s2net_languages"


@pytest.fixture
def quick(monkeypatch):
    """An experiment that trains nothing, but says how far it is and may be stopped."""
    asked = []

    def run(self, data, *, size="demo", seed=0, methods=None, progress=None):
        progress("Looking", 0.5)
        asked.append((data.name, size, seed, len(data.train.x)))
        table = Table("Table 1", ("method", "MRR"), (("CCA", 0.5), ("OPCA", None)))
        figure = Figure("Figure 2", "dimensions", (Series("CCA", (2.0,), (0.5,), "cca"),))
        claim = Claim("CCA is ahead.", 0.1, p_value=0.01)
        about = self.id, data.name, data.describe(), size, seed
        return Findings(*about, (table,), (figure,), (claim,))

    monkeypatch.setattr(type(get_experiment(NAME)), "run", run)
    return asked


@pytest.fixture
def asking(tmp_path):
    store = Store(tmp_path)
    with JobQueue(store, max_workers=1) as queue:
        yield queue, store.workspaces.create()


def spec_of(queue, mine, dataset_id="demo:emoji", **settings):
    digest = queue.store.datasets.get(dataset_id).digest
    return experiment_spec(NAME, dataset_id, digest, workspace=mine, **settings)


def test_an_experiment_is_run_kept_and_answered_from_there(quick, asking):
    queue, mine = asking
    status = queue.wait(queue.submit(spec_of(queue, mine)), timeout=LONG)
    assert (status.state, status.run_id) == ("succeeded", None), status.message
    found = queue.result(status.id, mine).value
    assert found.experiment == NAME and found.data == "emoji"
    assert found.tables[0].rows == (("CCA", 0.5), ("OPCA", None))
    assert found.figures[0].series[0].x == (2.0,)
    assert found.claims[0].verdict == "holds"
    assert found.command == f"python -m simviz.experiments {NAME} --size demo --seed 0"
    other = queue.store.workspaces.create()
    assert queue.submit(spec_of(queue, mine)) == status.id
    assert queue.submit(spec_of(queue, other)) == status.id, "demos belong to all"
    assert quick == [("emoji", "demo", 0, 1346)]
    assert queue.submit(spec_of(queue, mine, size="full")) != status.id


def test_pairs_that_somebody_brought_are_taken_where_they_fit(quick, asking):
    queue, mine = asking
    words = [f"word {i}" for i in range(60)]
    whole = PairSet.from_texts(words, [w.upper() for w in words], name="mine")
    own = queue.store.datasets.put(whole, mine)
    status = queue.wait(queue.submit(spec_of(queue, mine, own)), timeout=LONG)
    assert status.state == "succeeded", status.message
    assert quick[-1][0] == "mine"
    assert "--data FOLDER" in queue.result(status.id, mine).value.command


def test_what_takes_hours_or_needs_other_data_is_refused(quick, asking, monkeypatch):
    queue, mine = asking
    monkeypatch.setattr(type(get_experiment(NAME)), "full_minutes", {"emoji": 200.0})
    hours, other = spec_of(queue, mine, size="full"), spec_of(queue, mine, "demo:pydocs")
    for spec, words in ((hours, "command line"), (other, "aligned texts")):
        status = queue.wait(queue.submit(spec), timeout=LONG)
        assert status.state == "failed" and words in status.message
    assert not quick


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("s2net_language", {}, "Did you mean 's2net_languages'"),
        (NAME, {"size": "large"}, "no size"),
        (NAME, {"methods": ["bm25"]}, "no method of"),
    ],
)
def test_what_cannot_be_asked_is_refused(name, options, words):
    with pytest.raises(JobError, match=words):
        experiment_spec(name, "demo:emoji", "0" * 32, **options)
    spec = experiment_spec(NAME, "demo:emoji", "0" * 32)
    with pytest.raises(JobError, match="no parameter of an experiment 'seed'"):
        dataclasses.replace(spec, params={**spec.params, "seed": 1}).check()
