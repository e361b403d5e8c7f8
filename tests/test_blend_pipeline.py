"""Blends: a weighted sum of two pipelines, stored without code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from made_up import LEFT, RIGHT, words_and_pictures
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from simviz.data import Items, PairSet
from simviz.pipeline import BlendPipeline, PairPipeline, default_pipeline, load_pipeline
from simviz.pipeline._pipelines import scaled

#: How the similarities of a part are put on a scale, row by row where queries have one each.
NORMALIZATIONS = {
    "none": lambda S: S,
    "global_std": lambda S: S / S.std(),
    "minmax_query": lambda S: (S - S.min(1)[:, None]) / np.ptp(S, axis=1)[:, None],
    "z_query": lambda S: (S - S.mean(1)[:, None]) / S.std(1)[:, None],
}


@pytest.fixture(scope="module")
def pairs():
    return PairSet.from_texts(LEFT, RIGHT)


@pytest.fixture(scope="module")
def parts(pairs):
    learned = default_pipeline("cl_lsi", pairs, n_components=3, shared=True).fit(pairs)
    return learned, default_pipeline("bm25", pairs).fit(pairs)


@pytest.fixture(scope="module")
def strange():
    """Items of which the first is unknown to words of the training pairs."""
    return Items(["1", "2"], ["ЖЖЖ ЖЖЖЖ", "a red car today"], "text")


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_it_is_the_weighted_sum(pairs, parts, strange, name):
    learned, lexical = (
        NORMALIZATIONS[name](part.similarity(pairs.x, pairs.y).astype(float)) for part in parts
    )
    blend = BlendPipeline.of(*parts, pairs, alpha=0.3, normalization=name)
    other = blend.with_alpha(0.8)
    assert other.learned_ is blend.learned_ and (blend.alpha, other.alpha) == (0.3, 0.8)
    ends = (0, blend.with_alpha(0)), (1, blend.with_alpha(1))
    for alpha, one in (*ends, (0.3, blend), (0.8, other)):
        for size in (1, 3, 100):
            blocks = [*one.iter_similarity(pairs.x, pairs.y, size)]
            assert blocks[0].dtype == np.float64
            wanted = alpha * learned + (1 - alpha) * lexical
            np.testing.assert_allclose(np.concatenate(blocks), wanted, rtol=1e-4, atol=1e-5)
    asked = [strange.content[at] for at in (0, 1, 1)], [RIGHT[at] for at in (3, 3, 0)]
    if name.endswith("query"):
        with pytest.raises(ValueError, match="depends on all candidates"):
            blend.score_pairs(*asked)
        return
    cells = blend.similarity(strange, pairs.y)[[0, 1, 1], [3, 3, 0]]
    np.testing.assert_allclose(blend.score_pairs(*asked), cells, rtol=1e-6)


def test_fitting_trains_both_parts(pairs, parts):
    blend = BlendPipeline(*(clone(part) for part in parts), alpha=0.4).fit(pairs)
    of = BlendPipeline.of(*parts, pairs, alpha=0.4)
    np.testing.assert_array_equal(
        blend.similarity(pairs.x, pairs.y), of.similarity(pairs.x, pairs.y)
    )
    assert blend.learned_ is not blend.learned
    alike = PairSet.from_texts(["one word"], ["one word"])
    assert BlendPipeline.of(*parts, alike).spreads_ == (1.0, 1.0), "no score differs"
    with pytest.raises(NotFittedError):
        BlendPipeline(*parts).similarity(pairs.x, pairs.y)


def test_what_was_not_learned_falls_back_to_the_lexical_score(pairs):
    # Only the learned part has a word map so small that it misses some words.
    few = PairSet.from_texts(LEFT[:4], RIGHT[:4])
    learned = default_pipeline("cl_lsi", few, n_components=2, shared=True).fit(few)
    lexical = default_pipeline("bm25", pairs).fit(pairs)
    x = Items(["known", "new"], ["red car of gold", "gold grey gold"], "text")
    y = Items(["k", "n"], ["a red car, of gold", "gold, grey: all of it"], "text")
    zero = np.abs(learned.transform(x)).sum(axis=1) == 0, learned.transform_y(y)
    assert zero[0].tolist() == [False, True] and not np.abs(zero[1][1]).sum()
    lexical_scores = lexical.similarity(x, y)
    for alpha in (0.2, 0.9, 1.0):
        blend = BlendPipeline.of(learned, lexical, few, alpha, normalization="none")
        S = blend.similarity(x, y)
        np.testing.assert_allclose(S[1], lexical_scores[1], rtol=1e-6)
        np.testing.assert_allclose(S[:, 1], lexical_scores[:, 1], rtol=1e-6)
        assert S[0, 1] > 0 and S[1, 0] > 0
        known = alpha * learned.similarity(x, y)[0, 0] + (1 - alpha) * lexical_scores[0, 0]
        assert S[0, 0] == pytest.approx(known, rel=1e-6)
        np.testing.assert_allclose(blend.similarity(x.take([0]), y), S[:1], rtol=1e-6)
        np.testing.assert_allclose(blend.similarity(x, y.take([0])), S[:, :1], rtol=1e-6)


def test_empty_is_what_neither_part_knows(pairs, parts, strange):
    blend = BlendPipeline.of(*parts, pairs)
    assert blend.empty_share(strange, pairs.y) == (0.0, 0.0)
    blank = Items(["a"], [" "], "text")
    assert blend.empty_share(blank, pairs.y) == (1.0, 0.0)
    assert (blend.similarity(blank, pairs.y)[0] == 0).all()
    assert blend.unknown_share(strange, pairs.y) == parts[0].unknown_share(strange, pairs.y)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_saved_and_loaded_scores_are_the_same_bits(pairs, parts, normalization, tmp_path):
    blend = BlendPipeline.of(*parts, pairs, alpha=0.37, normalization=normalization)
    blend.save(tmp_path / "blend.simviz")
    again = load_pipeline(tmp_path / "blend.simviz")
    assert isinstance(again, BlendPipeline)
    assert (again.alpha, again.normalization) == (0.37, normalization)
    outer = BlendPipeline.of(blend, parts[1], pairs, alpha=0.25, normalization="none")
    outer.save(tmp_path / "outer")
    for kept, read in ((blend, again), (outer, load_pipeline(tmp_path / "outer"))):
        assert (read.similarity(pairs.x, pairs.y) == kept.similarity(pairs.x, pairs.y)).all()
    inner, lexical = (part.similarity(pairs.x, pairs.y) for part in (blend, parts[1]))
    wanted = 0.25 * inner + 0.75 * lexical
    np.testing.assert_allclose(outer.similarity(pairs.x, pairs.y), wanted, rtol=1e-6)
    parts[0].save(tmp_path / "one.simviz")
    assert isinstance(load_pipeline(tmp_path / "one.simviz"), PairPipeline)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"alpha": 1.2}, "from 0 to 1"),
        ({"alpha": True}, "from 0 to 1"),
        ({"normalization": "minmax"}, "minmax_query"),
    ],
)
def test_wrong_parameters_are_refused(pairs, parts, wrong, words):
    with pytest.raises(ValueError, match=words):
        BlendPipeline.of(*parts, pairs, **wrong)
    with pytest.raises(ValueError, match=words):
        BlendPipeline(*parts, **wrong).fit(pairs)


def test_parts_for_other_items_are_refused(pairs, parts):
    drawn = words_and_pictures()
    pictured = default_pipeline("heterogeneous_svd", drawn, n_components=2).fit(drawn)
    with pytest.raises(ValueError, match=r"learned part .* text items.*same kinds of items"):
        BlendPipeline.of(pictured, parts[1], pairs)
    with pytest.raises(ValueError, match=r"lexical part .* keyword and image items"):
        BlendPipeline(pictured, parts[1]).fit(drawn)
    with pytest.raises(ValueError, match="default_pipeline"):
        BlendPipeline(parts[0].model_, parts[1]).fit(pairs)


def rows(n=6):
    numbers = st.floats(-5, 5, width=32)
    return st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=1, max_size=4)


@settings(max_examples=60)
@given(rows())
def test_normalised_rows_keep_their_order(given_rows):
    S = np.array(given_rows)
    for name in NORMALIZATIONS:
        told = scaled(S, name, 2.0)
        for before, after in zip(S, told, strict=True):
            order = np.argsort(before, kind="stable")
            assert (np.diff(after[order]) >= -1e-9).all(), name
    unit = scaled(S, "minmax_query", 1.0)
    assert unit.min() >= 0 and unit.max() <= 1
    z = scaled(S, "z_query", 1.0)
    flat = np.ptp(S, axis=1) == 0
    np.testing.assert_allclose(z.mean(axis=1), 0, atol=1e-6)
    assert (z[flat] == 0).all() and np.isfinite(z).all()
