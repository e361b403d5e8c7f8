import json
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from simviz.jobs import JobError, JobSpec, SplitSpec
from simviz.store.directory import LOCAL_WORKSPACE

TYPOS = {"kind": "typos", "share": 0.3}
BASE = JobSpec("d" * 32, "0" * 32, "cca", {"n_components": 5}, workspace="me")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def test_every_part_of_a_request_counts_but_not_the_order_of_parameters(monkeypatch):
    changes = [
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
        {"augment": (TYPOS,)},
        {"augment": (TYPOS | {"share": 0.2},)},
    ]
    digests = {BASE.digest, *(replace(BASE, **change).digest for change in changes)}
    params = {"n_components": 5, "measure": "dot"}, {"measure": "dot", "n_components": 5}
    digests |= {replace(BASE, params=either).digest for either in params}
    monkeypatch.setattr("simviz.jobs.spec._version", lambda: "99")
    assert len(digests | {BASE.digest}) == len(changes) + 3


@settings(max_examples=50)
@given(
    params=st.dictionaries(st.text(), json_values, max_size=3),
    seed=st.integers(0, 2**31),
    dimensions=st.none() | st.lists(st.integers(1, 500), max_size=4).map(tuple),
    features=st.sampled_from(["usual", "pretrained", "pretrained:/a: clip"]),
    augment=st.sampled_from([(), (TYPOS,)]),
)
def test_a_request_comes_back_from_json(seed, **changes):
    split = SplitSpec("group", (0.6, 0.2, 0.2), seed, "author")
    spec = replace(BASE, split=split, **changes)
    tree = json.loads(json.dumps(spec.to_json()))
    back = JobSpec.from_json(tree, "me")
    assert back == spec and back.digest == spec.digest
    assert ("augment" in tree) == bool(spec.augment), "old requests keep their ids"
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
        ({"augment": ({"kind": "typo"},)}, "Did you mean 'typos'"),
        ({"augment": (TYPOS | {"share": 3},)}, "between 0 and 1"),
        ({"augment": ({"kind": "synonyms", "synonyms": [["a"]]},)}, "lawyer = attorney"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(change, words):
    replace(BASE, augment=(TYPOS,)).check()
    with pytest.raises(JobError, match=words):
        replace(BASE, **change).check()


def test_only_who_sits_at_the_computer_names_a_model_of_it():
    named = replace(BASE, features="pretrained:/etc")
    replace(named, workspace=LOCAL_WORKSPACE).check()
    with pytest.raises(JobError, match="only whoever sits at the computer"):
        named.check()
