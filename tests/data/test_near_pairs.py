"""Near duplicates are found exactly as if all pairs had been compared."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.data.health.near import _similar, _weighted, gram_sets, near_pairs

SLIPS = [
    "secondary school teacher",
    "secondry school teacher",
    "secondary school teachers",
    "secondary school taecher",
]
OTHERS = ["primary school teacher", "secondary school", "school teacher secondary level two"]


def found(texts, **options):
    first, second, similarity = near_pairs(texts, **options)
    assert (first < second).all() and ((similarity > 0) & (similarity <= 1 + 1e-9)).all()
    return set(zip(first.tolist(), second.tolist(), strict=True))


def test_slips_are_near_and_other_words_are_not():
    pairs = found([*SLIPS, *OTHERS], threshold=0.6)
    assert pairs <= {(i, j) for i in range(4) for j in range(i + 1, 4)}
    assert {(0, 1), (0, 2), (0, 3)} <= pairs


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order number 1234 of may", "order number 1235 of may"),
        ("model x100 in black", "model x200 in black"),
        ("short", "shorts"),
        ("a man with a turban", "a woman with a turban"),
    ],
)
def test_what_differs_on_purpose_is_not_near(one, other):
    assert found([one, other]) == set()


def test_boilerplate_makes_nothing_alike():
    words = ["".join(w) for w in itertools.product("bdfgl", "aeiou", "mnprst", "aeo")][:200]
    texts = [f"read more about {w} in the user guide which is on the web" for w in words]
    assert found(texts) == set()


def test_nothing_to_compare():
    assert found([]) == found(["one text that is long"]) == set()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.text("ab c", min_size=4, max_size=24), min_size=2, max_size=25, unique=True))
def test_blocking_loses_nothing(texts):
    grams, weights = _weighted(gram_sets(texts))
    dense = grams.toarray() * weights
    shared = (grams.toarray() * weights) @ grams.toarray().T
    total = dense.sum(axis=1)
    union = total[:, None] + total[None] - shared
    similarity = np.divide(shared, union, out=np.zeros_like(shared), where=union > 1e-9)
    wanted = {(i, j) for i, j in np.argwhere(similarity >= 0.6 + 1e-6) if i < j}
    first, second, _ = _similar(grams, weights, 0.6)
    got = set(zip(first.tolist(), second.tolist(), strict=True))
    assert wanted <= got
    assert all(similarity[i, j] >= 0.6 - 1e-5 for i, j in got)
