"""How a data set is looked at is kept a workspace."""

from __future__ import annotations

import pytest

from simviz.exceptions import StoreError
from simviz.store import Store


def test_choices_are_kept_a_workspace_and_go_with_their_data(tmp_path, sentences):
    store = Store(tmp_path)
    mine, other = store.workspaces.create(), store.workspaces.create()
    data = store.datasets.put(sentences, mine)
    assert store.choices.get(data, mine, "direction") is None
    store.choices.put(data, mine, "part", "test")
    store.choices.put(data, mine, "direction", "y2x")
    store.choices.put(data, mine, "direction", "mean")
    store.choices.put("demo:icons", other, "direction", "x2y")
    again = Store(tmp_path)
    assert again.choices.get(data, mine, "part") == "test"
    assert again.choices.get(data, mine, "direction") == "mean"
    assert again.choices.get("demo:icons", mine, "direction") is None
    assert again.choices.get("demo:icons", other, "direction") == "x2y"
    store.datasets.delete(data, mine)
    assert store.choices.get(data, mine, "part") is None


def test_what_cannot_be_chosen_is_refused(tmp_path, sentences):
    store = Store(tmp_path)
    mine = store.workspaces.create()
    data = store.datasets.put(sentences, mine)
    with pytest.raises(ValueError, match="part must be 'validation' or 'test', got 'train'"):
        store.choices.put(data, mine, "part", "train")
    with pytest.raises(ValueError, match="direction must be 'x2y' or 'y2x' or 'mean'"):
        store.choices.put(data, mine, "direction", "test")
    with pytest.raises(ValueError, match="name must be 'part' or 'direction', got 'metric'"):
        store.choices.put(data, mine, "metric", "MRR")
    with pytest.raises(StoreError):
        store.choices.put(data, store.workspaces.create(), "part", "test")
