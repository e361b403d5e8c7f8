import re

import pytest

from simviz import _extras
from simviz.datasets import DEMOS, load_demo
from simviz.exceptions import DatasetError, MissingLibraryError, StoreError
from simviz.store.datasets import _demo


def test_discovery_found_the_demos_in_the_order_of_the_cards():
    assert {"icons", "emoji", "pydocs", "pydocs_links"} <= set(DEMOS)
    positions = [info.position for info in DEMOS.values()]
    assert positions == sorted(positions)


@pytest.mark.parametrize("demo_id", DEMOS)
def test_card_tells_what_the_data_are(demo_id):
    from simviz.evaluation import parse_metric
    from simviz.methods import get_method

    info = DEMOS[demo_id]
    assert info.id == demo_id
    assert all([info.title, info.source, info.licence, info.methods])
    assert info.description.endswith(".")
    pairs = load_demo(demo_id)
    assert (pairs.name, pairs.x_name, pairs.y_name) == (demo_id, info.x_name, info.y_name)
    assert pairs.digest == load_demo(demo_id).digest
    positives = pairs.relevance.positives
    assert all((positives.sum(axis=axis) > 0).all() for axis in (0, 1)), "all belong to something"
    counts = {f"{n:,}" for n in (*pairs.shape, positives.nnz)}
    assert set(re.findall(r"[\d,]*\d", info.size)) <= counts
    for method, params in info.methods.items():
        get_method(method)(**params)
    assert repr(parse_metric(info.metric)) == info.metric


def test_variants_name_a_demo_that_has_a_card():
    parents = [info.variant_of for info in DEMOS.values() if info.variant_of is not None]
    assert parents
    assert all(DEMOS[parent].variant_of is None for parent in parents)


def test_near_miss_is_answered_with_the_demo_meant():
    with pytest.raises(DatasetError, match="Did you mean 'icons'"):
        load_demo("icon")


def test_a_demo_whose_package_is_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(_extras.LIBRARIES, "demos", ("no_such_library",))
    with pytest.raises(MissingLibraryError, match=r'pip install "simviz\[demos\]"'):
        load_demo("icons")
    with pytest.raises(StoreError, match=r"needs no_such_library"):
        _demo.__wrapped__("icons")
    assert len(load_demo("emoji").x)
