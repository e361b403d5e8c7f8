from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from simviz.jobs import JobError, JobSpec, SplitSpec
from simviz.store.directory import LOCAL_WORKSPACE

BASE = JobSpec("d" * 32, "0" * 32, "cca", {"n_components": 5}, workspace="me")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    "change",
    [
        {"dataset_id": "e" * 32},
        {"dataset_digest": "1" * 32},
        {"method": "cl_lsi"},
        {"params": {"n_components": 6}},
        {"params": {}},
        {"split": SplitSpec(seed=1)},
        {"split": SplitSpec(by="x")},
        {"dimensions": (2, 4)},
        {"workspace": "you"},
        {"features": "pretrained"},
        {"features": "pretrained:clip"},
    ],
)
def test_every_part_of_a_request_counts(change):
    assert replace(BASE, **change).digest != BASE.digest


def test_the_version_counts(monkeypatch):
    before = BASE.digest
    monkeypatch.setattr("simviz.jobs.spec._version", lambda: "99")
    assert BASE.digest != before


def test_the_order_of_parameters_does_not_count():
    one = replace(BASE, params={"n_components": 5, "measure": "dot"})
    two = replace(BASE, params={"measure": "dot", "n_components": 5})
    assert one.digest == two.digest


@settings(max_examples=50)
@given(
    params=st.dictionaries(st.text(), json_values, max_size=3),
    seed=st.integers(0, 2**31),
    dimensions=st.none() | st.lists(st.integers(1, 500), max_size=4).map(tuple),
    features=st.sampled_from(["usual", "pretrained", "pretrained:/a: clip"]),
)
def test_a_request_comes_back_from_json(params, seed, dimensions, features):
    import json

    split = SplitSpec("group", (0.6, 0.2, 0.2), seed, "author")
    changes = {"params": params, "split": split, "dimensions": dimensions, "features": features}
    spec = replace(BASE, **changes)
    back = JobSpec.from_json(json.loads(json.dumps(spec.to_json())), "me")
    assert back == spec and back.digest == spec.digest
    assert "me" not in json.dumps(replace(spec, params={}).to_json()).split('"')


@pytest.mark.parametrize("tree", [{}, None, [], {"split": 3}, BASE.to_json() | {"split": {}}])
def test_a_damaged_request_is_said_to_be_one(tree):
    with pytest.raises(JobError, match="cannot be read"):
        JobSpec.from_json(tree)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "cc"}, "Did you mean 'cca'"),
        ({"params": {"n_component": 3}}, "Did you mean 'n_components'"),
        ({"params": {"n_components": 0}}, "n_components"),
        ({"params": {"n_components": "many"}}, "n_components"),
        ({"params": {"random_state": {1}}}, "random_state"),
        ({"features": "pretrain"}, "Did you mean 'pretrained'"),
        ({"features": "pretrained:"}, "Did you mean 'pretrained'"),
        ({"features": "usual:clip"}, "kind of features"),
        ({"features": "pretrained", "method": "bm25", "params": {}}, "BM25 reads counts"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(change, words):
    BASE.check()
    with pytest.raises(JobError, match=words):
        replace(BASE, **change).check()


def test_only_who_sits_at_the_computer_names_a_model_of_it():
    named = replace(BASE, features="pretrained:/etc")
    replace(named, workspace=LOCAL_WORKSPACE).check()
    with pytest.raises(JobError, match="only whoever sits at the computer"):
        named.check()
