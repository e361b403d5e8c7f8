import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scorers import Table

from simviz.data import Items, PairSet
from simviz.datasets import load_demo
from simviz.evaluation.assignment import assign, group_names, keeping_threshold
from simviz.pipeline import default_pipeline

NAMES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=2, unique=True)


def items(n):
    return Items([str(i) for i in range(n)], [f"text {i}" for i in range(n)], "text")


@settings(max_examples=60)
@given(st.integers(1, 9), st.lists(NAMES, min_size=1, max_size=7), st.integers(0, 100))
def test_the_best_group_is_that_of_the_nearest_item(n, groups, seed):
    scores = np.random.default_rng(seed).random((n, len(groups)))
    found = assign(Table(scores), items(n), items(len(groups)), groups)
    for i in range(n):
        best = int(scores[i].argmax())
        assert found.nearest[i] == best or len(groups) == 1
        assert found.names[found.group[i]] in groups[best]
        assert found.score[i] == scores[i, best]
        others = {
            name: max(scores[i, j] for j, g in enumerate(groups) if name in g)
            for name in found.names
            if name != found.names[found.group[i]]
        }
        if others:
            assert found.runner_up_score[i] == max(others.values())
            assert others[found.names[found.runner_up[i]]] == max(others.values())
        else:
            assert found.runner_up[i] == -1 and np.isnan(found.runner_up_score[i])


def test_what_scores_the_same_everywhere_belongs_nowhere():
    found = assign(Table(np.array([[0.5, 0.5], [0.1, 0.2]])), items(2), items(2), [["a"], ["b"]])
    assert found.group.tolist() == [-1, 1]
    assert np.isnan(found.score[0]) and found.nearest.tolist() == [-1, 1]


def test_titles_of_the_demo_fall_into_their_own_groups():
    pairs = load_demo("job_titles")
    groups = group_names(pairs)
    fitted = default_pipeline("ngram_matcher", pairs).fit(pairs)
    found = assign(fitted, pairs.y.take(np.arange(0, len(pairs.y), 40)), pairs.y, groups)
    hits = [found.names[g] in names for g, names in zip(found.group, groups[::40], strict=True)]
    assert np.mean(hits) > 0.95 and len(found.names) > 100


def test_without_groups_each_item_is_one():
    pairs = PairSet.from_texts(["a", "b"], ["cook", "nurse"])
    assert group_names(pairs) == [("cook",), ("nurse",)]
    with pytest.raises(ValueError, match="as many lists"):
        assign(Table(np.array([[1.0, 2.0]])), items(1), items(2), [["a"]])


def test_a_threshold_keeps_its_share_of_what_is_right():
    rng = np.random.default_rng(0)
    scores, right = rng.random(200), rng.random(200) < 0.7
    for share in (0.5, 0.9, 0.95):
        at = keeping_threshold(scores, right, share)
        assert (scores[right] >= at).mean() >= share
        assert (scores[right] > at).sum() < share * (right.sum() + 1)
    assert np.isnan(keeping_threshold([0.3, np.nan], [False, True]))
    # Of n + 1 places for one more right answer, 19 of 20 lie above the lowest of 19.
    assert keeping_threshold(np.arange(19.0), np.ones(19, bool)) == 0
    assert keeping_threshold(np.arange(18.0), np.ones(18, bool)) == -np.inf
    with pytest.raises(ValueError, match="share"):
        keeping_threshold([0.3], [True], 0)
