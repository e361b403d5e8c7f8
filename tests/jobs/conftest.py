import numpy as np
import pytest

from simviz.data import PairSet
from simviz.jobs import JobQueue, JobSpec
from simviz.store import Store


@pytest.fixture(scope="session")
def pairs():
    rng = np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrs"]
    left = [" ".join(rng.choice(words, 8)) for _ in range(60)]
    right = [" ".join(word[::-1] for word in text.split()) for text in left]
    return PairSet.from_texts(left, right, name="reversed words")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def mine(store):
    return store.create_workspace()


@pytest.fixture
def theirs(store):
    return store.create_workspace()


@pytest.fixture
def queue(store):
    with JobQueue(store) as jobs:
        yield jobs


@pytest.fixture
def ask(store, mine, pairs):
    """A request on the small data set of this workspace."""
    dataset_id = store.put_dataset(pairs, mine)

    def make(method="bm25", workspace=mine, **params):
        return JobSpec(dataset_id, pairs.digest, method, params, workspace=workspace)

    return make


@pytest.fixture
def endless(ask):
    """A request that would take minutes."""
    return lambda: ask("ssi", max_iter=3_000, patience=3_000, n_components=200)
