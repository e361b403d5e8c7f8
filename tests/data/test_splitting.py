"""Splits never leak, keep their shares, and are suggested."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from simviz.data.pairs import Items, PairSet
from simviz.data.splitting import (
    MIN_GROUPS,
    PARTS,
    assign_parts,
    folds,
    group_columns,
    part_columns,
    split,
    suggest_split,
    time_columns,
)
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance


def pair_set(
    rows, columns, values=None, *, shape, x=None, y=None, x_kind="text", y_kind="text", **options
):
    sides = []
    for n, kind, metadata in ((shape[0], x_kind, x), (shape[1], y_kind, y)):
        names = [f"item {i}" for i in range(n)]
        content = np.zeros((n, 4, 4), np.uint8) if kind == "image" else names
        metadata = {k: np.array(v) for k, v in (metadata or {}).items()}
        sides.append(Items(names, content, kind, metadata))
    return PairSet(*sides, Relevance.from_pairs(rows, columns, values, shape=shape, **options))


def one_to_one(n, **metadata):
    return pair_set(range(n), range(n), shape=(n, n), **metadata)


def judged(pairs):
    """The judgments of a part by the ids of their items."""
    matrix = pairs.relevance.matrix.tocoo()
    ids = zip(pairs.x.ids[matrix.row], pairs.y.ids[matrix.col], matrix.data.tolist(), strict=True)
    return set(ids)


def parts_of(result):
    return {name: getattr(result, name) for name in PARTS}


def assert_partition(index, n):
    """No item in two parts, none lost."""
    together = np.concatenate([index[p] for p in PARTS])
    assert len(together) == len(set(together.tolist())) == n
    assert all((np.diff(index[p]) > 0).all() for p in PARTS)


@st.composite
def graded_sets(draw):
    n_x, n_y = draw(st.integers(6, 25)), draw(st.integers(6, 25))
    n = draw(st.integers(6, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.choice([-1.0, 1.0, 2.0] if draw(st.booleans()) else [1.0, 3.0], n)
    unjudged = draw(st.sampled_from(["negative", "ignore", None]))
    groups = {"group": rng.choice(list("abcdefgh"), n_x)}
    kind = draw(st.sampled_from(["text", "keyword"]))
    columns = rng.integers(0, n_y, n)
    rows = rng.integers(0, n_x, n)
    return pair_set(
        rows, columns, values, shape=(n_x, n_y), x=groups, y_kind=kind, unjudged=unjudged
    )


def split_or_refuse(pairs, **options):
    try:
        return split(pairs, **options)
    except DatasetError:
        assume(False)


@pytest.mark.parametrize("by", ["pair", "x", "group"])
@settings(max_examples=100)
@given(pairs=graded_sets(), seed=st.integers(0, 100))
def test_parts_are_disjoint_complete_and_mean_what_the_whole_means(by, pairs, seed):
    result = split_or_refuse(pairs, by=by, seed=seed)
    assert_partition(result.x_index, len(pairs.x))
    whole = judged(pairs)
    for name, part in parts_of(result).items():
        assert part.relevance.unjudged == pairs.relevance.unjudged
        assert part.relevance.positives.nnz > 0
        assert judged(part) <= whole
        assert list(part.x.ids) == list(pairs.x.ids[result.x_index[name]])
        assert list(part.y.ids) == list(pairs.y.ids[result.y_index[name]])
    if by == "pair":
        assert_partition(result.y_index, len(pairs.y))
        lost = whole - set.union(*map(judged, parts_of(result).values()))
        assert all(value < 0 for _, _, value in lost), "no relevant pair is lost"
        if pairs.relevance.unjudged == "ignore" and lost:
            assert any(f"{len(lost)} judged negative" in note for note in result.notes)
    if by == "group":
        groups = [set(part.x.metadata["group"]) for part in parts_of(result).values()]
        assert sum(map(len, groups)) == len(set.union(*groups))


@settings(max_examples=100)
@given(pairs=graded_sets(), seed=st.integers(0, 100))
def test_by_x_held_out_items_meet_all_items_of_the_other_side(pairs, seed):
    relevance = pairs.relevance
    graph = relevance.matrix if relevance.unjudged == "ignore" else relevance.positives
    for candidates in ("all", "judged"):
        result = split_or_refuse(pairs, by="x", seed=seed, candidates=candidates)
        learned = set(relevance.positives[result.x_index["train"]].indices.tolist())
        for name in PARTS:
            expected = set(graph[result.x_index[name]].indices.tolist())
            if pairs.y.kind == "keyword":
                expected = learned
            elif candidates == "all" and relevance.unjudged == "negative" and name != "train":
                expected = set(range(len(pairs.y)))
            assert set(result.y_index[name].tolist()) == expected


@pytest.mark.parametrize("by", ["group", "column", "time"])
def test_the_side_that_a_column_does_not_divide_competes_whole(by):
    words = ["train"] * 60 + ["validation"] * 20 + ["test"] * 20
    columns = {"split": words, "group": [str(i // 2) for i in range(100)]}
    columns["date"] = [f"2026-01-{1 + i // 4:02d}" for i in range(100)]
    result = split(one_to_one(100, x=columns), by=by)
    assert [len(result.y_index[part]) for part in PARTS][1:] == [100, 100]
    assert len(result.y_index["train"]) == len(result.x_index["train"])
    other = split(one_to_one(100, x=columns), by=by, candidates="judged")
    assert len(other.y_index["test"]) == len(other.x_index["test"])


def test_parts_know_the_side_that_was_divided():
    pairs = one_to_one(60)
    for by, expected in (("x", "x"), ("y", "y"), ("pair", None)):
        parts = split(pairs, by)
        assert {part.divided for part in parts_of(parts).values()} == {expected}
        assert parts.train.take([0, 1]).divided == expected
    assert split(pairs, "x").train.swap().divided == "y"
    assert split(split(pairs, "x").train, "pair").train.divided is None


@settings(max_examples=50)
@given(pairs=graded_sets(), seed=st.integers(0, 100))
def test_by_y_is_by_x_of_the_swapped_pairs(pairs, seed):
    result = split_or_refuse(pairs, by="y", seed=seed)
    swapped = split(pairs.swap(), by="x", seed=seed)
    for name in PARTS:
        assert getattr(result, name).digest == getattr(swapped, name).swap().digest


def test_the_same_seed_gives_the_same_split_on_any_machine():
    test = split(one_to_one(40), seed=3).x_index["test"].tolist()
    assert test == [0, 13, 15, 26, 30, 33, 36, 38]
    assert test != split(one_to_one(40), seed=4).x_index["test"].tolist()


def test_one_giant_component_advises_another_split():
    pairs = pair_set(range(20), [0] * 20, shape=(20, 1))
    with pytest.raises(DatasetError, match=r"100 % of the pairs hang together.*by 'x'.*by 'y'"):
        split(pairs, by="pair")
    assert len(split(pairs, by="x").train.x) == 14


def test_negatives_are_kept_whole_where_that_is_possible():
    # Blocks of one relevant and one negative pair: nothing needs to be lost.
    rows = np.repeat(np.arange(50), 2)
    columns = np.arange(100)
    pairs = pair_set(rows, columns, [1, -1] * 50, shape=(50, 100))
    result = split(pairs, by="pair")
    assert sum(len(judged(p)) for p in parts_of(result).values()) == 100 and result.notes == ()
    # One negative from each item to the next ties everything together.
    rows, columns = np.r_[:50, :50], np.r_[:50, (np.arange(50) + 1) % 50]
    pairs = pair_set(rows, columns, [1] * 50 + [-1] * 50, shape=(50, 50))
    result = split(pairs, by="pair")
    assert sum(p.relevance.positives.nnz for p in parts_of(result).values()) == 50
    assert any("tie too many items together" in note for note in result.notes)
    assert any("judged negative pairs dropped: they fall between parts" in n for n in result.notes)


def test_items_that_nothing_is_judged_with_are_spread_too():
    result = split(pair_set(range(50), range(50), shape=(70, 150)), by="pair")
    assert_partition(result.y_index, 150)
    assert [len(result.x_index[p]) for p in PARTS] == [49, 7, 14]
    assert [len(result.y_index[p]) for p in PARTS] == [105, 15, 30]


def test_keywords_that_train_lacks_are_left_out_with_a_note():
    # Pictures 0..49 share keyword 0; each also has a keyword of its own.
    columns = np.r_[np.zeros(50, int), 1 + np.arange(50)]
    pairs = pair_set(np.r_[:50, :50], columns, shape=(50, 51), y_kind="keyword")
    result = split(pairs, by="x")
    assert len(result.train.y) == 36
    assert result.notes == ("y: 15 without a relevant pair in train left out.",)


def test_shared_and_unused_items_of_the_other_side_are_noted():
    result = split(pair_set(range(10), [0] * 10, shape=(10, 3)), by="x", candidates="judged")
    assert result.notes == (
        "y: 1 in several parts.",
        "y: 2 without a relevant pair, left out of all parts.",
    )


def test_groups_on_both_sides_stay_whole_and_lost_pairs_are_counted():
    group = np.repeat([f"g{i}" for i in range(10)], 4)
    pairs = pair_set(
        np.r_[:40, 0], np.r_[:40, 39], shape=(40, 40), x={"group": group}, y={"group": group}
    )
    lost = ("1 relevant pair dropped: it falls between parts.",)
    for seed, notes in ((0, lost), (1, ())):
        result = split(pairs, by="group", seed=seed)
        for part in parts_of(result).values():
            assert set(part.x.metadata["group"]) == set(part.y.metadata["group"])
        assert result.notes == notes


def test_items_without_a_group_stand_alone():
    group = np.array([""] * 20 + ["a"] * 10 + ["b"] * 10, dtype=object)
    result = split(one_to_one(40, x={"kin": group}), by="group", group_key="kin")
    assert [len(result.x_index[p]) for p in PARTS] == [28, 4, 8]


TWO_PARTS = ["train"] * 5 + ["test"] * 4


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ({"group": ["a"] * 8 + ["b", "c"]}, {"by": "group"}, "Group 'a' .* holds 80 % of the"),
        (
            {"topic": range(10)},
            {"by": "group", "group_key": "topc"},
            "'topc'. Did you mean 'topic'",
        ),
        (None, {"by": "group"}, "no metadata at all"),
        ({"split": ["train"] * 10}, {"by": "column"}, "names no item for test"),
        ({"split": [*TWO_PARTS, ""]}, {"by": "column"}, "Item 'item 9' of the x side has ''"),
        ({"split": [*TWO_PARTS, "7"]}, {"by": "column"}, "has '7' in column 'split'. Write train"),
        ({"date": list("abcdefghij")}, {"by": "time"}, "'a', which is neither a number nor a"),
        ({"date": [1, 2] * 5}, {"by": "time"}, "holds 2 different times"),
        ({"date": range(10)}, {"by": "time", "group_key": "dat"}, "Did you mean 'date'"),
        (None, {"candidates": "some"}, "candidates must be 'all' or 'judged', got 'some'"),
        (None, {"by": "query"}, "way to split by 'query'"),
        *(
            (None, {"fractions": fractions}, "three numbers above 0 that add up to 1")
            for fractions in [(0.7, 0.3), (0.7, 0.2, 0.2), (0.8, 0.0, 0.2), (1.2, -0.4, 0.2)]
        ),
    ],
)
def test_what_cannot_be_split_is_refused(x, options, message):
    with pytest.raises(DatasetError, match=message):
        split(one_to_one(10, x=x), **options)


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (9, {"n": 2}, "3 parts or more"),
        (9, {"n": 10}, "Too few pairs to split: 9 x items with a relevant pair cannot fill 10"),
        (9, {"n": 3, "by": "time"}, "'pair', 'x', 'y' or 'group'"),
    ],
)
def test_folds_refuse_what_they_cannot_do(n, options, message):
    with pytest.raises(DatasetError, match=message):
        next(folds(one_to_one(n), **options))


def test_a_part_without_a_relevant_pair_is_refused():
    pairs = one_to_one(10, x={"split": ["train"] * 8 + ["validation", "test"]})
    with pytest.raises(DatasetError, match="The test part would hold no relevant pair"):
        split(pairs.take(None, range(9)), by="column")


def test_a_split_column_is_obeyed():
    words = ["train"] * 5 + ["dev"] * 2 + ["TEST"] * 3
    result = split(one_to_one(10, x={"split": words}), by="column", candidates="judged")
    assert [result.x_index[p].tolist() for p in PARTS] == [[0, 1, 2, 3, 4], [5, 6], [7, 8, 9]]
    assert [result.y_index[p].tolist() for p in PARTS] == [[0, 1, 2, 3, 4], [5, 6], [7, 8, 9]]


@pytest.mark.parametrize("sides", [("x",), ("y",), ("x", "y")])
def test_a_missing_validation_part_is_drawn_from_train(sides):
    words = ["train"] * 80 + ["test"] * 20
    pairs = one_to_one(100, **{s: {"part": words} for s in sides})
    result = split(pairs, by="column", group_key="part", candidates="judged")
    assert result.x_index["test"].tolist() == list(range(80, 100))
    assert [len(result.y_index[p]) for p in PARTS] == [70, 10, 20]
    assert any("no validation items" in note for note in result.notes)


def test_a_collection_linked_to_itself_stays_one():
    items = Items([str(i) for i in range(60)], ["text"] * 60, "text")
    links = Relevance.from_pairs(range(0, 60, 2), range(1, 60, 2), shape=(60, 60))
    result = split(PairSet(items, items, links), by="pair")
    for name, part in parts_of(result).items():
        assert part.x is part.y
        link = result.x_index[name] // 2
        assert link[::2].tolist() == link[1::2].tolist()


@pytest.mark.parametrize("by", ["pair", "x", "y"])
def test_too_few_pairs_are_refused(by):
    with pytest.raises(DatasetError, match="Too few pairs to split: 2 "):
        split(one_to_one(2), by=by)
    result = split(one_to_one(3), by=by, candidates="judged")
    assert all(len(part.x) == 1 for part in parts_of(result).values())


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 50), min_size=3, max_size=60),
    st.sampled_from([(0.7, 0.1, 0.2), (0.34, 0.33, 0.33), (0.9, 0.1, 0.0)]),
    st.integers(0, 9),
)
def test_no_part_strays_from_its_share_by_more_than_two_units(weights, shares, seed):
    weights = np.array(weights)
    parts = assign_parts(weights, np.zeros(len(weights)), shares, np.random.default_rng(seed))
    got = np.bincount(parts, weights, minlength=3)
    assert got[np.array(shares) > 0].all() and not got[np.array(shares) == 0].any()
    assert (np.abs(got - np.array(shares) * weights.sum()) <= 2 * weights.max()).all()


def test_heavy_and_light_units_of_every_stratum_are_spread_by_the_same_shares():
    strata, weights = np.repeat([0, 0, 1, 2], [100, 100, 50, 30]), np.repeat([10, 1], [100, 180])
    parts = assign_parts(weights, strata, (0.7, 0.1, 0.2), np.random.default_rng(0))
    counts = [np.bincount(some).tolist() for some in np.split(parts, [100, 200, 250])]
    assert counts == [[70, 10, 20], [70, 10, 20], [35, 5, 10], [21, 3, 6]]


def dated(times, name="date", y_times=None):
    y = {} if y_times is None else {name: y_times}
    return one_to_one(len(times), x={name: np.array(times, dtype=object)}, y=y)


@pytest.mark.parametrize("by", ["pair", "x", "y"])
def test_every_item_is_tested_once(by):
    found, again = (list(folds(one_to_one(47), n=5, by=by, seed=2)) for _ in range(2))
    side = "y_index" if by == "y" else "x_index"
    tested = np.concatenate([getattr(parts, side)["test"] for parts in found])
    assert sorted(tested) == list(range(47))
    for parts in found:
        index = getattr(parts, side)
        assert_partition(index, 47)
        assert 9 <= len(index["test"]) <= 10
    assert found[1].notes[0] == "Fold 2 of 5."
    assert [parts.test.digest for parts in again] == [parts.test.digest for parts in found]


def test_folds_keep_groups_whole():
    pairs = one_to_one(60, x={"group": [f"g{i // 3}" for i in range(60)]})
    for parts in folds(pairs, n=4, by="group"):
        sets = [set(part.x.metadata["group"]) for part in parts_of(parts).values()]
        assert sum(map(len, sets)) == len(set.union(*sets)) == 20


def test_the_latest_items_are_the_test():
    times = [f"2026-{1 + i % 12:02d}-{1 + i // 12:02d}" for i in range(60)]
    pairs = dated(times)
    parts = split(pairs, by="time")
    dates = [part.x.metadata["date"].tolist() for part in parts_of(parts).values()]
    assert sorted(map(sorted, dates)) == [
        sorted(times)[:42],
        sorted(times)[42:48],
        sorted(times)[48:],
    ]
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
    assert any("fall between parts" in note for note in parts.notes)


def test_columns_of_time_are_known_by_their_cells():
    pairs = dated(["2020-01-01", "2021-05-05T10:00:00+02:00", "2022-01-01", ""], "when")
    assert time_columns(pairs) == ["when"]
    assert time_columns(dated(["a", "2021-01-01", "2022-01-01"], "when")) == []
    numbers = np.arange(5)
    x = Items(list("abcde"), list("abcde"), "text", {"year": numbers, "length": numbers})
    assert time_columns(PairSet(x, x, Relevance.identity(5))) == ["year"]


N = 60


def pairs_of(matrix, **options):
    rows, columns = matrix.nonzero()
    return pair_set(rows, columns, matrix[rows, columns], shape=matrix.shape, **options)


def classes(n_classes):
    return np.eye(n_classes)[np.arange(N) % n_classes]


def tied():
    """Every x item with the y item after its own: one chain through all."""
    return np.eye(N) + np.roll(np.eye(N), 1, axis=1)


def parts(n):
    return {"split": np.array(["train", "validation", "test"] * (n // 3), dtype=object)}


@pytest.mark.parametrize(
    ("pairs", "by", "key"),
    [
        (pairs_of(np.eye(N)), "pair", None),
        (pairs_of(tied()), "x", None),
        (pairs_of(classes(6)), "x", None),
        (pairs_of(classes(6).T, x_kind="keyword", y_kind="image"), "y", None),
        (pairs_of(classes(6), x_kind="image", y_kind="keyword"), "x", None),
        (pairs_of(np.eye(N), x=parts(N)), "column", "split"),
        (pairs_of(np.eye(N), y={"group": np.arange(N) // 2}), "group", "group"),
        # Too few groups for a test on new ones.
        (pairs_of(np.eye(N), y={"group": np.arange(N) % (MIN_GROUPS - 1)}), "pair", None),
        # A split without a test part is no split.
        (pairs_of(np.eye(N), x={"split": np.array(["train"] * N)}), "pair", None),
    ],
)
def test_suggestion_is_the_fair_one_and_works(pairs, by, key):
    suggestion = suggest_split(pairs)
    assert (suggestion.by, suggestion.group_key) == (by, key)
    assert suggestion.reason.endswith(".")
    found = split(pairs, suggestion.by, group_key=suggestion.group_key)
    assert all(part.relevance.positives.nnz for part in parts_of(found).values())


def test_reason_says_which_side_is_new_or_what_keeps_from_splitting():
    pairs = pairs_of(classes(6).T, x_kind="keyword", y_kind="image")
    assert "new items of 'y' among known items of 'x'" in suggest_split(pairs).reason
    suggestion = suggest_split(pairs_of(np.eye(2)))
    assert suggestion.by == "pair" and "Too few pairs" in suggestion.reason


def test_columns_that_can_split_are_found_on_both_sides():
    pairs = pairs_of(
        np.eye(N),
        x={"source": np.arange(N) % 5, "unique": np.arange(N), "flag": np.arange(N) % 2},
        y={"source": np.arange(N) % 4, "topic": np.arange(N) % 7} | parts(N),
    )
    assert group_columns(pairs) == ["source", "topic"]
    assert part_columns(pairs) == ["split"]
    contradicted = pairs_of(np.eye(N), x={"split": ["maybe"] * N}, y=parts(N))
    assert part_columns(contradicted) == []


def test_suggested_split_keeps_rejected_pairs_in_every_part():
    # Each query has two relevant documents of its own, and is denied two of others.
    query, turn = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    columns = np.where(turn < 2, 2 * query + turn, (2 * query + 13 * turn) % 80)
    grades = np.where(turn < 2, 1 + turn, -1)
    pairs = pair_set(query, columns, grades, shape=(40, 80))
    found = split(pairs, suggest_split(pairs).by)
    kept = [part.relevance.negatives.nnz for part in parts_of(found).values()]
    assert kept == [56, 8, 16]


def test_items_without_a_rejected_pair_may_be_fewer_than_the_parts():
    # Item i belongs to i; all but the last are denied the next.
    rows, columns = np.r_[:20, :19], np.r_[:20, 1:20]
    pairs = pair_set(rows, columns, [1] * 20 + [-1] * 19, shape=(20, 20))
    found = split(pairs, by="x")
    kept = [part.relevance.negatives.nnz for part in parts_of(found).values()]
    assert min(kept) > 0 and sum(kept) == 19


def test_a_split_of_the_data_that_cannot_be_used_is_not_passed_over_in_silence():
    marks = {"split": ["dev", "test"] * 30}
    found = suggest_split(one_to_one(60, x=marks, y=marks))
    assert found.by == "pair"
    assert "not used: Column 'split' names no item for train" in found.reason
    assert "not used" not in suggest_split(one_to_one(60)).reason
