"""How a data set is looked at is kept a workspace."""

from __future__ import annotations

import pytest

from simviz.exceptions import StoreError
from simviz.store import Store


def test_choices_are_kept_a_workspace_and_go_with_their_data(tmp_path, sentences):
    store = Store(tmp_path)
    mine, other = store.create_workspace(), store.create_workspace()
    data = store.put_dataset(sentences, mine)
    assert store.shown(data, mine, "direction") is None
    store.keep_shown(data, mine, "part", "test")
    store.keep_shown(data, mine, "direction", "y2x")
    store.keep_shown(data, mine, "direction", "mean")
    store.keep_shown("demo:icons", other, "direction", "x2y")
    again = Store(tmp_path)
    assert again.shown(data, mine, "part") == "test"
    assert again.shown(data, mine, "direction") == "mean"
    assert again.shown("demo:icons", mine, "direction") is None
    assert again.shown("demo:icons", other, "direction") == "x2y"
    store.delete_dataset(data, mine)
    assert store.shown(data, mine, "part") is None


def test_what_cannot_be_chosen_is_refused(tmp_path, sentences):
    store = Store(tmp_path)
    mine = store.create_workspace()
    data = store.put_dataset(sentences, mine)
    with pytest.raises(ValueError, match="part must be 'validation' or 'test', got 'train'"):
        store.keep_shown(data, mine, "part", "train")
    with pytest.raises(ValueError, match="direction must be 'x2y' or 'y2x' or 'mean'"):
        store.keep_shown(data, mine, "direction", "test")
    with pytest.raises(ValueError, match="name must be 'part' or 'direction', got 'metric'"):
        store.keep_shown(data, mine, "metric", "MRR")
    with pytest.raises(StoreError):
        store.keep_shown(data, store.create_workspace(), "part", "test")
