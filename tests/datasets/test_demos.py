import re
import subprocess
import sys

import pytest

from simviz.datasets import DEMOS, load_demo
from simviz.exceptions import DatasetError


def test_cards_show_without_reading_anything():
    code = (
        "import sys, simviz.datasets as d; [i.title for i in d.DEMOS.values()]; "
        "heavy = {'PIL', 'emoji', 'fontawesomefree', 'pandas', 'sklearn', 'torch'}; "
        "heavy &= set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_discovery_found_the_demos_in_the_order_of_the_cards():
    assert {"icons", "emoji", "pydocs", "pydocs_links"} <= set(DEMOS)
    positions = [info.position for info in DEMOS.values()]
    assert positions == sorted(positions)


@pytest.mark.parametrize("demo_id", DEMOS)
def test_card_tells_what_the_data_are(demo_id):
    info = DEMOS[demo_id]
    assert info.id == demo_id
    assert all([info.title, info.source, info.licence, info.methods])
    assert info.description.endswith(".")
    pairs = load_demo(demo_id)
    assert (pairs.name, pairs.x_name, pairs.y_name) == (demo_id, info.x_name, info.y_name)


def test_variants_name_a_demo_that_has_a_card():
    parents = [info.variant_of for info in DEMOS.values() if info.variant_of is not None]
    assert parents
    assert all(DEMOS[parent].variant_of is None for parent in parents)


@pytest.mark.parametrize("demo_id", DEMOS)
def test_loading_twice_gives_the_same_pairs(demo_id):
    assert load_demo(demo_id).digest == load_demo(demo_id).digest


@pytest.mark.parametrize("demo_id", DEMOS)
def test_every_item_belongs_to_something(demo_id):
    positives = load_demo(demo_id).relevance.positives
    assert (positives.sum(axis=0) > 0).all()
    assert (positives.sum(axis=1) > 0).all()


def test_near_miss_is_answered_with_the_demo_meant():
    with pytest.raises(DatasetError, match="Did you mean 'icons'"):
        load_demo("icon")


def test_no_other_attribute_is_invented():
    import simviz.datasets

    with pytest.raises(AttributeError, match="DEMO_LIST"):
        _ = simviz.datasets.DEMO_LIST


@pytest.mark.parametrize("demo", DEMOS)
def test_suggested_methods_and_metrics_exist(demo):
    from simviz.evaluation import parse_metric
    from simviz.methods import get_method

    for method, params in DEMOS[demo].methods.items():
        get_method(method)(**params)
    assert repr(parse_metric(DEMOS[demo].metric)) == DEMOS[demo].metric


@pytest.mark.parametrize("demo", DEMOS)
def test_size_on_the_card_is_the_size_of_the_data(demo):
    pairs = load_demo(demo)
    counts = {f"{n:,}" for n in (*pairs.shape, pairs.relevance.positives.nnz)}
    said = set(re.findall(r"[\d,]*\d", DEMOS[demo].size))
    assert said <= counts
