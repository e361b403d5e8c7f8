"""Fixtures of more than one directory."""

import os

# Before torch is loaded: threads that wait busily starve tests that run beside them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import importlib.util
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from tiny_clip import TINY_CLIP, make

from simviz.data import PairSet
from simviz.evaluation import ChanceScorer, evaluate
from simviz.evaluation.curves import dimension_curve
from simviz.evaluation.result import PartResult
from simviz.jobs import JobQueue, JobSpec
from simviz.pipeline import default_pipeline
from simviz.projection import draw
from simviz.store import RunResult, Store

# A machine may be slow, or make its tables of characters for the first time; a test that tries
# the same examples every time fails only for a fault.
settings.register_profile(
    "simviz", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("simviz")

# Scripts that make golden numbers need a library that does not fit beside ours. No doctests
# are collected from files of fixtures: Python would take the second of that name for the first.
_FIXTURES = (".", "app", "e2e")
collect_ignore = ["methods/golden", *(f"{folder}/conftest.py" for folder in _FIXTURES)]


# What is made while tests are collected stays: to look for garbage among it takes seconds then,
# and a part of each second later.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory):
    """What names no store is kept in one of the tests, not in that of whoever runs them.

    Pages start no process that compiles: jobs would wait for it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMVIZ_HOME", str(tmp_path_factory.mktemp("nobody")))
        patch.setattr("simviz.compilation.start", lambda: None)
        yield


@pytest.fixture(scope="session")
def tiny_clip():
    """The folder of a small model that reads texts and pictures, where it can be made."""
    if importlib.util.find_spec("sentence_transformers") is None:
        yield TINY_CLIP
        return
    make()
    yield TINY_CLIP
    shutil.rmtree(TINY_CLIP)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def mine(store):
    return store.workspaces.create()


@pytest.fixture
def theirs(store):
    return store.workspaces.create()


@pytest.fixture(scope="session")
def pairs():
    words = [f"word {i}" for i in range(12)]
    return PairSet.from_texts(words, [f"wort {i}" for i in range(12)], name="words")


@pytest.fixture(scope="session")
def result(pairs):
    pipeline = default_pipeline("cca", pairs, n_components=2).fit(pairs)
    measured = {}
    for part, at in (("validation", np.arange(4)), ("test", np.arange(4, 12))):
        some = pairs.take(at, at)
        sides = some.x, some.y, some.relevance
        curve = dimension_curve(
            pipeline.transform(some.x), pipeline.transform_y(some.y), some.relevance
        )
        base = {"chance": evaluate(ChanceScorer(), *sides)}
        measured[part] = PartResult.of(evaluate(pipeline, *sides), base, curve.to_records())
    return RunResult(
        pipeline=pipeline,
        measured=measured,
        parts={"x_test": np.arange(4, 12)},
        notes=("a",),
        seconds={"training": 1.0, "scoring": 0.5},
    )


@pytest.fixture(scope="session")
def drawn(result, pairs):
    """A drawing of that result, and the items on it."""
    drawing, x_drawn, y_drawn = draw(result.pipeline, pairs)
    return replace(drawing, notes=("näher",)), x_drawn, y_drawn


@pytest.fixture(scope="session")
def sentences():
    rng = np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrs"]
    left = [" ".join(rng.choice(words, 8)) for _ in range(60)]
    right = [" ".join(word[::-1] for word in text.split()) for text in left]
    return PairSet.from_texts(left, right, name="reversed words")


@pytest.fixture
def queue(store):
    with JobQueue(store) as jobs:
        yield jobs


@pytest.fixture
def ask(store, mine, sentences):
    """A request on the small data set of this workspace."""
    dataset_id = store.datasets.put(sentences, mine)

    def make(method="bm25", workspace=mine, **params):
        return JobSpec(dataset_id, sentences.digest, method, params, workspace=workspace)

    return make


@pytest.fixture
def endless(ask):
    """A request that would take minutes."""
    return lambda: ask("ssi", max_iter=3_000, patience=3_000, n_components=200)
