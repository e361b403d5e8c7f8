import numpy as np
import pytest

from simviz.data import PairSet, split
from simviz.data.pairs import Items
from simviz.data.splitting import folds, repeated_splits, time_columns
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance


def dated(times, name="date", y_times=None):
    n = len(times)
    names = [f"item {i}" for i in range(n)]
    x = Items(names, names, "text", {name: np.array(times, dtype=object)})
    y = Items(names, names, "text", {} if y_times is None else {name: np.array(y_times)})
    return PairSet(x, y, Relevance.identity(n))


@pytest.mark.parametrize("by", ["pair", "x", "y"])
def test_every_item_is_tested_once(by):
    names = [f"item {i}" for i in range(47)]
    found = list(folds(PairSet.from_texts(names, names), n=5, by=by, seed=2))
    side = "y_index" if by == "y" else "x_index"
    tested = np.concatenate([getattr(parts, side)["test"] for parts in found])
    assert sorted(tested) == list(range(47))
    for parts in found:
        index = getattr(parts, side)
        together = np.concatenate([index[p] for p in ("train", "validation", "test")])
        assert sorted(together) == list(range(47))
        assert 9 <= len(index["test"]) <= 10
    assert found[1].notes[0] == "Fold 2 of 5."
    again = list(folds(PairSet.from_texts(names, names), n=5, by=by, seed=2))
    assert [p.test.digest for p in again] == [p.test.digest for p in found]


def test_folds_keep_groups_whole():
    names = [f"item {i}" for i in range(60)]
    groups = {"group": np.array([f"g{i // 3}" for i in range(60)])}
    x = Items(names, names, "text", groups)
    pairs = PairSet(x, Items(names, names, "text"), Relevance.identity(60))
    for parts in folds(pairs, n=4, by="group"):
        sets = [set(p.x.metadata["group"]) for p in (parts.train, parts.validation, parts.test)]
        assert sum(map(len, sets)) == len(set.union(*sets)) == 20


def test_folds_refuse_what_they_cannot_do():
    names = [f"item {i}" for i in range(9)]
    pairs = PairSet.from_texts(names, names)
    with pytest.raises(DatasetError, match="3 parts or more"):
        next(folds(pairs, n=2))
    with pytest.raises(DatasetError, match="Too few pairs"):
        next(folds(pairs, n=10))
    with pytest.raises(DatasetError, match="'pair', 'x', 'y' or 'group'"):
        next(folds(pairs, n=3, by="time"))


def test_repeated_splits_differ_by_their_seed():
    names = [f"item {i}" for i in range(50)]
    found = list(repeated_splits(PairSet.from_texts(names, names), n=3, seed=5))
    assert [parts.seed for parts in found] == [5, 6, 7]
    assert len({parts.test.digest for parts in found}) == 3
    assert found[1].test.digest == split(PairSet.from_texts(names, names), "x", seed=6).test.digest


def test_the_latest_items_are_the_test():
    times = [f"2026-{1 + i % 12:02d}-{1 + i // 12:02d}" for i in range(60)]
    pairs = dated(times)
    parts = split(pairs, by="time")
    newest_known = max(parts.validation.x.metadata["date"])
    assert max(parts.train.x.metadata["date"]) < min(parts.validation.x.metadata["date"])
    assert newest_known < min(parts.test.x.metadata["date"])
    assert len(parts.test.x) == 12 and len(parts.train.x) == 42
    assert split(pairs, by="time", seed=9).test.digest == parts.test.digest


def test_equal_times_stay_together_and_missing_ones_train():
    times = [2019] * 10 + [2020] * 20 + [2021] * 5 + [2022] * 9 + [""] * 2
    parts = split(dated(times, "year"), by="time", group_key="year")
    assert set(parts.test.x.metadata["year"]) == {2022}
    assert set(parts.validation.x.metadata["year"]) == {2021}
    assert "2 items without a time in training." in parts.notes


def test_both_sides_are_cut_at_the_same_moments():
    times = [float(i) for i in range(30)]
    later = [t + 1 for t in times]
    parts = split(dated(times, y_times=later), by="time")
    assert max(parts.train.x.metadata["date"]) < min(parts.test.y.metadata["date"])
    assert any("between different parts" in note for note in parts.notes)


def test_columns_of_time_are_known_by_their_cells():
    pairs = dated(["2020-01-01", "2021-05-05T10:00:00+02:00", "2022-01-01", ""], "when")
    assert time_columns(pairs) == ["when"]
    assert time_columns(dated(["a", "2021-01-01", "2022-01-01"], "when")) == []
    numbers = np.arange(5)
    x = Items(list("abcde"), list("abcde"), "text", {"year": numbers, "length": numbers})
    assert time_columns(PairSet(x, x, Relevance.identity(5))) == ["year"]


@pytest.mark.parametrize(
    ("times", "key", "message"),
    [
        (["soon", "later", "never"], "date", "'soon', which is neither a number nor a date"),
        ([1, 1, 2, 2], "date", "holds 2 different times"),
        ([1, 2, 3], "dat", "Did you mean 'date'"),
    ],
)
def test_what_is_no_time_is_refused(times, key, message):
    with pytest.raises(DatasetError, match=message):
        split(dated(times), by="time", group_key=key)
