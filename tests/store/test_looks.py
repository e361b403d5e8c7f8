import pytest

from simviz.exceptions import StoreError
from simviz.store import Store


def test_looks_at_a_test_part_are_counted(store, mine, pairs):
    data = store.put_dataset(pairs, mine)
    assert store.looks(data, mine, "part a") == (0, None)
    assert store.count_look(data, mine, "part a") == 1
    assert store.count_look(data, mine, "part a") == 2
    times, last = store.looks(data, mine, "part a")
    assert times == 2 and last is not None and last > 1e9
    assert store.looks(data, mine, "part b") == (0, None)
    assert Store(store.root).looks(data, mine, "part a")[0] == 2


def test_looks_belong_to_a_workspace_and_go_with_the_data(store, mine, theirs, pairs):
    data = store.put_dataset(pairs, mine)
    store.count_look(data, mine, "part")
    with pytest.raises(StoreError):
        store.count_look(data, theirs, "part")
    store.delete_dataset(data, mine)
    assert store.put_dataset(pairs, mine) == data
    assert store.looks(data, mine, "part") == (0, None)
