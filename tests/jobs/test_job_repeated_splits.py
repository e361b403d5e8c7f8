"""The job that repeats random divisions: what it asks, refuses and finds."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import numpy as np
import pytest
from made_up import COLOURS, THINGS

from simviz.data import PairSet
from simviz.evaluation import RepeatedSplits
from simviz.exceptions import JobError
from simviz.jobs import JobSpec, SplitSpec, divisions_spec
from simviz.jobs.spec import DivisionsSpec, JobResult
from simviz.jobs.status import JobFolder

TEXTS = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS[:5]]
PAIRS = PairSet.from_texts(TEXTS, TEXTS)


def asked(method, **params):
    return JobSpec("d", PAIRS.digest, method, params, workspace="w")


def test_settings_of_one_method_are_chosen_among():
    spec = divisions_spec(
        [asked("bm25"), asked("lsa", n_components=2), asked("lsa", n_components=4)], n=3
    )
    trainings = spec.trainings()
    assert [len(specs) for specs in trainings.values()] == [1, 2]
    assert {s.dataset_id for specs in trainings.values() for s in specs} == {"d"}
    again, heard = JobSpec.from_json(spec.to_json(), "w"), []
    assert isinstance(again, DivisionsSpec) and again.digest == spec.digest
    found = again.run(PAIRS, {}, lambda _, done, __: heard.append(done)).value
    assert found.names == tuple(trainings) and found.values.shape == (3, 2)
    assert np.isfinite(found.values).all() and set(found.selected[:, 0]) == {0}
    assert heard[-1] == 1.0


def test_it_is_estimated_as_all_its_trainings():
    one, spec = asked("bm25"), divisions_spec([asked("bm25")], n=5)
    assert spec.estimate(PAIRS).seconds == pytest.approx(5 * one.estimate(PAIRS).seconds, rel=0.9)


@pytest.mark.parametrize(
    ("specs", "options"),
    [
        ([], {}),
        ([asked("bm25")], {"n": 2}),
        ([asked("bm25")], {"n": 51}),
        ([asked("bm25")], {"n": True}),
        ([asked("bm25")], {"metric": "?"}),
        ([asked("bm25")], {"direction": "up"}),
        ([asked("lsa", n_components=-1)], {}),
        ([asked("bm25"), replace(asked("lsa"), split=SplitSpec(seed=1))], {}),
        ([replace(asked("bm25"), split=SplitSpec("time", group_key="date"))], {}),
        ([replace(asked("bm25"), augment=({"kind": "typos"},))], {}),
    ],
)
def test_what_cannot_be_asked_is_refused(specs, options):
    with pytest.raises(JobError):
        divisions_spec(specs, **options)


def test_a_request_from_outside_is_checked():
    tree = divisions_spec([asked("bm25")], n=3).to_json()
    for candidates in (None, [], [{"method": "divisions"}], [{"method": "bm25", "split": {}}]):
        broken = tree | {"params": tree["params"] | {"candidates": candidates}}
        with pytest.raises((JobError, ValueError)):
            JobSpec.from_json(broken, "w").check()


def test_what_was_found_is_kept_as_it_is(tmp_path):
    values = np.array([[0.5, np.nan], [0.25, 1.0], [0.125, 0.75]])
    found = RepeatedSplits(("a", "b"), "MRR", "x2y", values, np.array([[0, 1]] * 3), 2 / 9)
    folder = JobFolder(tmp_path)
    folder.write_result(JobResult(found, 1.5))
    again = folder.read_result()
    assert again.seconds == 1.5 and str(again.value) == str(found)
    np.testing.assert_array_equal(again.value.values, values)
    [file] = tmp_path.iterdir()
    tree = zipfile.ZipFile(file).read("objects.json").decode()
    assert '"found"' in tree and '"chosen"' in tree, "as files of earlier versions call them"
