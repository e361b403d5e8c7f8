"""Contributions of pairs of terms add up to the score they explain."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.explain import terms as attribution
from simviz.explain.terms import contributions, explain
from simviz.methods import get_method
from simviz.pipeline import default_pipeline

rng = np.random.default_rng(0)
X = sp.random_array((40, 15), density=0.4, rng=rng, format="csr")
Y = sp.csr_array(X + 0.3 * sp.random_array((40, 15), density=0.2, rng=rng, format="csr"))
LINEAR = {
    "tfidf_cosine": {},
    "lsa": {"n_components": 5},
    "cca": {"n_components": 5},
    "cca shared": {"n_components": 5, "shared": True},
    "cl_lsi": {"n_components": 5},
    "heterogeneous_svd": {"n_components": 5, "measure": "dot"},
    "pamir": {"max_iter": 2},
    "pamir as is": {"max_iter": 2, "normalize": False},
    "ssi": {"n_components": 3, "max_iter": 2},
}
for form in ("low_rank", "symmetric", "diagonal", "full"):
    LINEAR[f"ssi {form}"] = LINEAR["ssi"] | {"shared": True, "form": form}


@pytest.fixture(params=LINEAR, scope="module")
def model(request):
    return get_method(request.param.split()[0])(**LINEAR[request.param]).fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_remainder_and_offset_are_the_score(model, dtype):
    for i, j in ((0, 0), (3, 8)):
        x, y = X[[i]].astype(dtype), Y[[j]].astype(dtype)
        found = contributions(model, x, y, n=7)
        expected = model.pair_score(x, y)[0]
        assert found.score == pytest.approx(expected, abs=1e-6)
        named = sum(pair.value for pair in found.pairs)
        assert named + found.remainder + found.offset == pytest.approx(expected, abs=1e-6)
        assert found.y_totals.sum() == pytest.approx(found.x_totals.sum())
        assert found.x_terms.tolist() == [str(t) for t in x.indices]


def test_a_pair_is_both_values_times_their_weight(model):
    x, y = X[[2]].toarray(), Y[[5]].toarray()
    found = contributions(model, x, y, n=10**6)
    values = {(int(p.x_term), int(p.y_term)): p.value for p in found.pairs}
    if hasattr(model, "x_projection_"):
        W = model.x_projection_ @ model.y_projection_.T
        P, Q = model.transform(x)[0], model.transform_y(y)[0]
        cosine = model.similarity_kind == "cosine"
        scale = np.linalg.norm(P) * np.linalg.norm(Q) if cosine else 1.0
    else:
        W = model.term_weights(np.arange(15), np.arange(15))
        scale = np.linalg.norm(x) * np.linalg.norm(y) if model.scales_items else 1.0
    expected = x.T * W * y / scale
    for i, j in np.ndindex(15, 15):
        assert values.get((i, j), 0.0) == pytest.approx(expected[i, j], abs=1e-12)
    assert expected.sum() + found.offset == pytest.approx(found.score)


def test_the_largest_pairs_come_first_from_any_block(monkeypatch):
    model = get_method("cca")(5).fit(X, Y)
    whole = contributions(model, X[[1]], Y[[1]], n=9)
    monkeypatch.setattr(attribution, "BLOCK_ENTRIES", 1)
    blocks = contributions(model, X[[1]], Y[[1]], n=9)
    for a, b in zip(blocks.pairs, whole.pairs, strict=True):
        assert (a.x_term, a.y_term, a.value) == (b.x_term, b.y_term, pytest.approx(b.value))
    every = contributions(model, X[[1]], Y[[1]], n=10**6)
    assert every.pairs[:9] == blocks.pairs
    sizes = [abs(p.value) for p in every.pairs]
    assert sizes == sorted(sizes, reverse=True)
    assert every.remainder == pytest.approx(0, abs=1e-12)


def test_items_without_terms_have_no_pairs():
    nothing = contributions(get_method("cca")(5).fit(X, Y), np.zeros(15), Y[[1]])
    assert nothing.score == nothing.offset == 0 and not nothing.pairs


def test_what_is_no_sum_over_pairs_of_terms_is_refused():
    counts = sp.csr_array(np.ceil(X.toarray() * 5))
    lsa = get_method("lsa")(5).fit(X)
    bent = type("Bent", (type(lsa),), {"_embed_x": lambda self, X: np.tanh(lsa.transform(X))})(5)
    vars(bent).update(vars(lsa))
    for model, y, words in (
        (get_method("bm25")().fit(counts, counts), counts[[1]], "BM25 is not a sum over pairs of"),
        (bent, X[[1]], "not a sum"),
        (lsa, X[[0, 1]], r"one y item at a time; got shape \(2, 15\)"),
    ):
        with pytest.raises(ValueError, match=words):
            contributions(model, X[[0]], y)


def test_only_terms_that_are_there_are_looked_at():
    """A matrix over all pairs of these terms would need 80 GB."""
    d = 100_000
    x = sp.csr_array(([3.0, 4.0], ([0, 0], [7, 70_000])), shape=(1, d))
    model = get_method("tfidf_cosine")().fit(x)
    found = contributions(model, x, x)
    assert [p.x_term for p in found.pairs] == ["70000", "7"]
    assert [p.value for p in found.pairs] == pytest.approx([0.64, 0.36])


def test_pairs_of_words_hold_what_their_letters_add(sentences):
    pipeline = default_pipeline("cca", sentences, n_components=4, shared=False)
    pipeline.set_params(x_features__analyzer="char_wb", x_features__ngram_range=(3, 4))
    fitted = pipeline.fit(sentences)
    x, y = sentences.x.take([3]), sentences.y.take([4])
    terms, words = explain(fitted, x, y, n=10_000), explain(fitted, x, y, n=10_000, by_word=True)
    score = fitted.similarity(sentences.x, sentences.y)[3, 4]
    assert words.score == pytest.approx(terms.score) == pytest.approx(score, abs=1e-6)
    assert set(terms.x_terms) <= set(fitted.x_features_.get_feature_names_out())
    assert set(terms.y_terms) <= set(fitted.y_features_.get_feature_names_out())
    assert all(p.x_term in terms.x_terms and p.y_term in terms.y_terms for p in terms.pairs)
    of_words, of_terms = (sum(p.value for p in found.pairs) for found in (words, terms))
    assert of_words == pytest.approx(of_terms)
    assert {pair.x_term for pair in words.pairs} <= set(x.content[0].split())
    assert len(terms.pairs) > len(words.pairs), "they are asked for"
    assert abs(words.remainder) < 1e-9
