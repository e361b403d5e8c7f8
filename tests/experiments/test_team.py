"""Experiments whose parts workers do find what one process finds."""

from __future__ import annotations

import gzip
import json
import time

import numpy as np
import pytest

from simviz.data import PairSet
from simviz.exceptions import JobCancelled, SimvizError
from simviz.experiments import Progress, Team, get_experiment
from simviz.experiments.__main__ import main
from simviz.jobs.local_cluster import cluster_here
from simviz.jobs.worker import limit_threads
from simviz.relevance import Relevance


@pytest.fixture(scope="module")
def address():
    with cluster_here(2, processes=False, protocol="tcp://") as made:
        yield made.scheduler_address


@pytest.fixture
def team(address):
    with Team(address) as made:
        yield made


def pairs(n=100):
    """Questions and documents on five subjects, which share some words."""
    rng = np.random.default_rng(0)
    own = [[f"own{j}" for j in rng.integers(90, size=3)] for _ in range(n)]
    x = [" ".join([f"word{i % 5}", f"about{rng.integers(9)}", *own[i]]) for i in range(n)]
    y = [" ".join([f"word{i % 5}", f"story{rng.integers(9)}", *own[i]]) for i in range(n)]
    of, to = zip(*((i, j) for i in range(n) for j in (i, (i + 5) % n)), strict=True)
    relevance = Relevance.from_pairs(of, to, shape=(n, n), unjudged="negative")
    return PairSet.from_texts(x, y, relevance, name="subjects")


@pytest.mark.filterwarnings("ignore:.*more than the data can give")
@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("web_ranking", ["lsa", "opca"]),
        ("ssi_languages", ["cl_lsi"]),
        ("s2net_graded", ["pca"]),
        ("s2net_languages", ["cl_lsi", "opca", "s2net"]),
    ],
)
def test_what_is_found_is_the_same(team, name, methods, few_settings):
    limit_threads(1)
    experiment = get_experiment(name)
    data = experiment.prepared(pairs())
    told: list[float] = []

    def heard(words, fraction):
        told.append(fraction)
        return False

    shared = experiment.run(data, methods=methods, progress=Progress(heard, helpers=team))
    assert told == sorted(told)
    alone = experiment.run(data, methods=methods)
    assert json.dumps(shared.to_json()) == json.dumps(alone.to_json())


@pytest.mark.filterwarnings("ignore:.*more than the data can give")
def test_the_command_line_asks_workers(address, tmp_path, monkeypatch):
    made, found = pairs(), []
    for side, items in (("x", made.x), ("y", made.y)):
        rows = [{"id": f"{side}{i}", "text": text} for i, text in enumerate(items.content)]
        with gzip.open(tmp_path / f"{side}.jsonl.gz", "wt") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
    judged = [f"x{i}\ty{j}\t1" for i, j in zip(*made.relevance.matrix.nonzero(), strict=True)]
    (tmp_path / "relevance.tsv").write_text("\n".join(["x_id\ty_id\tgrade", *judged]) + "\n")
    call = ["ssi_links", "--data", str(tmp_path), "--size", "demo"]
    monkeypatch.setattr(Team, "__call__", counted(Team.__call__, found))
    for i, how in enumerate(([], ["--scheduler", address])):
        assert main([*call, *how, "--output", str(tmp_path / f"{i}.json")]) == 0
    here, there = (json.loads((tmp_path / f"{i}.json").read_text()) for i in range(2))
    assert found == [3]
    assert {**here, "seconds": 0} == {**there, "seconds": 0}


def counted(call, found):
    def wrapped(self, do, parts, tell):
        found.append(len(parts))
        return call(self, do, parts, tell)

    return wrapped


def test_parts_come_back_in_order_and_are_told_together(team):
    told = []

    def do(k, part):
        part(f"part {k}", 0.5)
        return k**2

    def heard(words, fraction):
        told.append((words, fraction))
        return False

    things = {3: 1.0, 1: 5.0, 2: 4.0}
    assert Progress(heard, helpers=team).each(do, things) == {3: 9, 1: 1, 2: 4}
    assert list(Progress(helpers=team).each(do, things)) == [3, 1, 2]
    assert all(fraction <= 1 for _, fraction in told)


def test_errors_come_back_and_stopping_stops_workers(team):
    def fail(k, part):
        raise SimvizError("inner")

    def long(k, part):
        while True:
            part("on and on")

    with pytest.raises(SimvizError, match="inner"):
        Progress(helpers=team).each(fail, [1])
    with pytest.raises(JobCancelled):
        Progress(lambda words, fraction: True, helpers=team).each(long, [1, 2, 3])
    assert Progress(helpers=team).each(lambda k, part: k, [1, 2]) == {1: 1, 2: 2}


def test_another_version_and_no_scheduler_are_said(team, monkeypatch):
    monkeypatch.setattr("simviz.experiments._progress.version", lambda name: "1")
    with pytest.raises(SimvizError, match="same version"):
        Progress(helpers=team).each(lambda k, part: k, [1])
    monkeypatch.setattr("simviz.scale.dask._CONNECT_SECONDS", 0.2)
    with pytest.raises(SimvizError, match="cannot be reached"):
        Team("tcp://127.0.0.1:9")


def test_a_scheduler_that_is_lost_is_said():
    with cluster_here(1, processes=False, protocol="tcp://") as made:
        with Team(made.scheduler_address) as team:

            def long(k, part):
                while True:
                    part("on and on")
                    time.sleep(0.01)

            def heard(words, fraction):
                # As if its machine had lost power.
                team._client.loop.add_callback(team._client.scheduler_comm.comm.abort)
                made.close()
                return False

            with pytest.raises(SimvizError, match="cannot be reached"):
                Progress(heard, helpers=team).each(long, [1, 2])
