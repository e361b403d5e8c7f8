import numpy as np
import pytest

from simviz.data import PairSet
from simviz.pipeline import default_pipeline
from simviz.store import RunFiles, Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "home")


@pytest.fixture
def mine(store):
    return store.create_workspace()


@pytest.fixture
def theirs(store):
    return store.create_workspace()


@pytest.fixture(scope="session")
def pairs():
    words = [f"word {i}" for i in range(12)]
    return PairSet.from_texts(words, [f"wort {i}" for i in range(12)], name="words")


@pytest.fixture(scope="session")
def files(pairs):
    pipeline = default_pipeline("cca", pairs, n_components=2).fit(pairs)
    return RunFiles(
        spec={"method": "cca", "params": {"n_components": 2}},
        pipeline=pipeline,
        evaluation={"records": [{"metric": "MRR", "value": float("nan")}], "pool": "split"},
        per_query={"x2y:MRR": np.array([1.0, np.nan])},
        roc={"false_positives": np.arange(3), "true_positives": np.arange(3)},
        arrays={"x_test": np.arange(4)},
        curve=[{"dimension": 2, "value": 0.5}],
        maps={"mds-2": ({"x": np.zeros((2, 2)), "y": np.ones((3, 2))}, {"notes": ["näher"]})},
        meta={"notes": ["a"]},
        summary={"mrr": 0.5},
        seconds=1.5,
    )
