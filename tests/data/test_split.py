import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from simviz.data.pairs import Items, PairSet
from simviz.data.splitting import PARTS, split
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance


def pair_set(rows, columns, values=None, *, shape, x=None, y=None, y_kind="text", **options):
    relevance = Relevance.from_pairs(rows, columns, values, shape=shape, **options)
    sides = []
    for n, kind, metadata in ((shape[0], "text", x), (shape[1], y_kind, y)):
        names = [f"item {i}" for i in range(n)]
        metadata = {k: np.array(v) for k, v in (metadata or {}).items()}
        sides.append(Items(names, names, kind, metadata))
    return PairSet(sides[0], sides[1], relevance)


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


@pytest.mark.parametrize("by", ["pair", "x", "y", "group"])
@settings(deadline=None, derandomize=True, max_examples=100)
@given(pairs=graded_sets(), seed=st.integers(0, 100))
def test_parts_are_disjoint_complete_and_mean_what_the_whole_means(by, pairs, seed):
    result = split_or_refuse(pairs, by=by, seed=seed)
    if by != "y":
        assert_partition(result.x_index, len(pairs.x))
    if by in ("pair", "y"):
        assert_partition(result.y_index, len(pairs.y))
    whole = judged(pairs)
    for name, part in parts_of(result).items():
        assert part.relevance.unjudged == pairs.relevance.unjudged
        assert part.relevance.positives.nnz > 0
        assert judged(part) <= whole
        assert list(part.x.ids) == list(pairs.x.ids[result.x_index[name]])
        assert list(part.y.ids) == list(pairs.y.ids[result.y_index[name]])
    if by == "group":
        groups = [set(part.x.metadata["group"]) for part in parts_of(result).values()]
        assert sum(map(len, groups)) == len(set.union(*groups))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(pairs=graded_sets(), seed=st.integers(0, 100))
def test_by_pair_loses_no_relevant_pair(pairs, seed):
    result = split_or_refuse(pairs, by="pair", seed=seed)
    kept = set.union(*(judged(p) for p in parts_of(result).values()))
    lost = judged(pairs) - kept
    assert all(value < 0 for _, _, value in lost)
    if pairs.relevance.unjudged == "ignore" and lost:
        assert any(f"{len(lost)} judged negative" in note for note in result.notes)


@settings(deadline=None, derandomize=True, max_examples=100)
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
    pairs = PairSet.from_texts([f"a{i}" for i in range(60)], [f"b{i}" for i in range(60)])
    for by, expected in (("x", "x"), ("y", "y"), ("pair", None)):
        parts = split(pairs, by)
        known = {part.divided for part in (parts.train, parts.validation, parts.test)}
        assert known == {expected}
        assert parts.train.take([0, 1]).divided == expected
    assert split(pairs, "x").train.swap().divided == "y"
    assert split(split(pairs, "x").train, "pair").train.divided is None


def test_unknown_candidates_are_refused():
    with pytest.raises(DatasetError, match="candidates must be 'all' or 'judged', got 'some'"):
        split(one_to_one(100), candidates="some")


@settings(deadline=None, derandomize=True, max_examples=50)
@given(pairs=graded_sets(), seed=st.integers(0, 100))
def test_by_y_is_by_x_of_the_swapped_pairs(pairs, seed):
    result = split_or_refuse(pairs, by="y", seed=seed)
    swapped = split(pairs.swap(), by="x", seed=seed)
    for name in PARTS:
        assert getattr(result, name).digest == getattr(swapped, name).swap().digest


@pytest.mark.parametrize("by", ["pair", "x", "y"])
def test_one_to_one_pairs_split_to_the_requested_sizes(by):
    result = split(one_to_one(1923), by=by, candidates="judged")
    assert [len(result.x_index[p]) for p in PARTS] == [1346, 192, 385]
    assert [len(result.y_index[p]) for p in PARTS] == [1346, 192, 385]
    assert all((result.x_index[p] == result.y_index[p]).all() for p in PARTS)
    assert result.notes == ()


def test_the_same_seed_gives_the_same_split_on_any_machine():
    test = split(one_to_one(40), seed=3).x_index["test"].tolist()
    assert test == [0, 13, 15, 26, 30, 33, 36, 38]
    assert test != split(one_to_one(40), seed=4).x_index["test"].tolist()


def test_linked_items_stay_together():
    # Chains x0-y0-x1-y1-..., five items a side each.
    rows, columns = [], []
    for start in range(0, 100, 5):
        for i in range(5):
            rows += [start + i, start + i]
            columns += [start + i, start + (i + 1) % 5]
    result = split(pair_set(rows, columns, shape=(100, 100)), by="pair")
    for name in PARTS:
        chains = result.x_index[name].reshape(-1, 5)
        assert (chains // 5 == chains[:, :1] // 5).all()
        assert (result.x_index[name] == result.y_index[name]).all()
    assert [len(result.x_index[p]) for p in PARTS] == [70, 10, 20]


def test_one_giant_component_advises_another_split():
    pairs = pair_set(range(20), [0] * 20, shape=(20, 1))
    with pytest.raises(DatasetError, match=r"100 % of the pairs hang together.*by='x'.*by='y'"):
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
    assert any("judged negative pairs between different parts" in n for n in result.notes)


def test_items_that_nothing_is_judged_with_are_spread_too():
    result = split(pair_set(range(50), range(50), shape=(70, 150)), by="pair")
    assert_partition(result.y_index, 150)
    assert [len(result.x_index[p]) for p in PARTS] == [49, 7, 14]
    assert [len(result.y_index[p]) for p in PARTS] == [105, 15, 30]


def test_keywords_that_train_lacks_are_left_out_with_a_note():
    # Pictures 0..49 share keyword 0; each also has a keyword of its own.
    rows = np.r_[:50, :50]
    columns = np.r_[np.zeros(50, int), 1 + np.arange(50)]
    result = split(pair_set(rows, columns, shape=(50, 51), y_kind="keyword"), by="x")
    assert len(result.train.y) == 36
    for part in parts_of(result).values():
        assert list(part.y.ids) == list(result.train.y.ids)
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
    result = split(pairs, by="group", seed=1)
    for part in parts_of(result).values():
        assert set(part.x.metadata["group"]) == set(part.y.metadata["group"])
    apart = not any(0 in result.x_index[p] and 39 in result.y_index[p] for p in PARTS)
    lost = ("1 relevant pair between different parts in none of them.",)
    assert result.notes == (lost if apart else ())


def test_items_without_a_group_stand_alone():
    group = np.array([""] * 20 + ["a"] * 10 + ["b"] * 10, dtype=object)
    result = split(one_to_one(40, x={"kin": group}), by="group", group_key="kin")
    assert [len(result.x_index[p]) for p in PARTS] == [28, 4, 8]


def test_a_group_that_is_too_large_and_a_missing_column_are_named():
    with pytest.raises(DatasetError, match=r"Group 'a' of column 'group' holds 80 % of the items"):
        split(one_to_one(10, x={"group": ["a"] * 8 + ["b", "c"]}), by="group")
    with pytest.raises(DatasetError, match=r"No side .*'topc'\. Did you mean 'topic'"):
        split(one_to_one(10, x={"topic": list("abcdefghij")}), by="group", group_key="topc")
    with pytest.raises(DatasetError, match="no metadata at all"):
        split(one_to_one(10), by="group")


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train"] * 10, "names no item for test"),
        (
            ["train"] * 5 + ["test"] * 4 + [""],
            r"Item 'item 9' of the x side has '' in column 'spl",
        ),
        (["train"] * 5 + ["test"] * 4 + ["7"], "has '7' in column 'split'. Write train"),
    ],
)
def test_a_split_column_that_cannot_be_obeyed(words, message):
    with pytest.raises(DatasetError, match=message):
        split(one_to_one(10, x={"split": words}), by="column")


def test_a_collection_linked_to_itself_stays_one():
    items = Items([str(i) for i in range(60)], ["text"] * 60, "text")
    links = Relevance.from_pairs(range(0, 60, 2), range(1, 60, 2), shape=(60, 60))
    result = split(PairSet(items, items, links), by="pair")
    for name, part in parts_of(result).items():
        assert part.x is part.y
        assert (result.x_index[name] // 2)[::2].tolist() == (result.x_index[name] // 2)[
            1::2
        ].tolist()


@pytest.mark.parametrize("by", ["pair", "x", "y"])
def test_too_few_pairs_are_refused(by):
    with pytest.raises(DatasetError, match="Too few pairs to split: 2 "):
        split(one_to_one(2), by=by)
    result = split(one_to_one(3), by=by, candidates="judged")
    assert all(len(part.x) == 1 for part in parts_of(result).values())


def test_a_part_without_a_relevant_pair_is_refused():
    pairs = one_to_one(10, x={"split": ["train"] * 8 + ["validation", "test"]})
    pairs = pairs.take(None, range(9))
    with pytest.raises(DatasetError, match="The test part would hold no relevant pair"):
        split(pairs, by="column")


@pytest.mark.parametrize(
    "fractions", [(0.7, 0.3), (0.7, 0.2, 0.2), (0.8, 0.0, 0.2), (1.2, -0.4, 0.2)]
)
def test_fractions_are_checked(fractions):
    with pytest.raises(DatasetError, match="three numbers above 0 that add up to 1"):
        split(one_to_one(10), fractions=fractions)


def test_an_unknown_way_of_splitting_is_refused():
    with pytest.raises(DatasetError, match="got 'query'"):
        split(one_to_one(10), by="query")
