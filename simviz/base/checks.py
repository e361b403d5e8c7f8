"""The contract of a method, executable: `yield_checks` says what must hold.

scikit-learn's ``check_estimator`` covers its grammar; what is checked here is
what simviz adds: two sides, judgments, blocks, truncation, cancelling,
storing. A new method is checked by giving an instance with quick parameters.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from simviz.base import EmbeddingModel, IterativeMixin, PairModel
from simviz.base.stored import check_stored, check_values
from simviz.relevance import Relevance

Check = Callable[[], None]


@dataclass(frozen=True)
class _Again:
    """What a second fit leaves behind, on copies of the data and with a callback set."""

    fitted: Any
    X: Any
    Y: Any
    #: numpy's global random state before and after.
    states: tuple[str, str]


@dataclass(frozen=True)
class Fixture:
    """Small data of one shape of the world."""

    name: str
    X: Any
    Y: Any
    relevance: Relevance | None
    X_new: Any
    Y_new: Any
    #: What each model learned from it; a fixture made by `replace` begins anew.
    _fitted: dict[PairModel, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _again: dict[PairModel, _Again] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )


def fixtures(model: PairModel, seed: int = 0) -> list[Fixture]:
    """Data that a model has to cope with, of the kind it is made for."""
    rng = np.random.default_rng(seed)
    one_space = model.tags.space == "one" or bool(getattr(model, "shared", False))
    d_x, d_y = (14, 14) if one_space else (14, 11)
    topics = rng.dirichlet(np.full(6, 0.3), size=40)
    side_x = _side(rng, topics, d_x)
    side_y = _side(rng, topics, d_y, like=side_x if one_space else None)
    X, Y = side_x[:30], side_y[:30]
    new = {"X_new": _with_unknown(side_x[30:]), "Y_new": _with_unknown(side_y[30:])}
    n_x, n_y = 30, 20
    rows, columns = rng.integers(0, n_x, 90), rng.integers(0, n_y, 90)
    grades = rng.integers(1, 4, 90)
    wide = Relevance.from_pairs(rows, columns, shape=(n_x, n_y))
    judged = Relevance.from_pairs(
        rows, columns, np.where(rng.random(90) < 0.4, -1, grades), shape=(n_x, n_y)
    )
    scored = Relevance.from_pairs(
        rows, columns, rng.normal(size=90), shape=(n_x, n_y), kind="score"
    )
    hollow = X.toarray()
    hollow[[0, 7]] = 0
    return [
        Fixture("paired rows", X, Y, None, **new),
        Fixture("several partners, unequal sides", X, Y[:n_y], wide, **new),
        Fixture("grades and judged negatives", X, Y[:n_y], judged, **new),
        Fixture("real-valued scores", X, Y[:n_y], scored, **new),
        Fixture("empty rows on one side", sp.csr_array(hollow), Y, None, **new),
    ]


def _side(rng: np.random.Generator, topics: Any, d: int, like: Any = None) -> sp.csr_array:
    """Sparse term counts of documents with the given topics."""
    words = rng.dirichlet(np.full(d, 0.4), size=topics.shape[1])
    counts = rng.poisson(12 * topics @ words) + (rng.random((len(topics), d)) < 0.02)
    if like is not None:
        counts = np.minimum(like.toarray() + rng.poisson(0.3, counts.shape), 9)
    counts[:, 0] += counts.sum(axis=1) == 0
    return sp.csr_array(counts, dtype=np.float64)


def _with_unknown(X: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.vstack([X, sp.csr_array((1, X.shape[1]))]))


def yield_checks(model: PairModel) -> Iterator[tuple[str, Check]]:
    """Everything the contract asks of a model, one check a promise and fixture."""
    promises: list[Callable[[PairModel, Fixture], None]] = [
        check_pair_score_is_the_diagonal,
        check_blocks_change_nothing,
        check_same_seed_same_result,
        check_global_random_state_untouched,
        check_sparse_equals_dense,
        check_preserves_float32,
        check_one_item_is_its_row,
        check_unknown_item_scores_nothing,
        check_finite,
        check_callback_cancels,
        check_copies_drop_callbacks,
        check_score_is_a_share,
        check_input_unchanged,
        check_declares_what_it_stores,
    ]
    if isinstance(model, EmbeddingModel):
        promises += [check_similarity_of_vectors, check_coordinates]
        if model.tags.nested:
            promises.append(check_truncate_equals_fit)
    if isinstance(model, IterativeMixin) and not model.tags.stops_early:
        promises.append(check_validation_changes_nothing)
    data = fixtures(model)
    for fixture in data:
        for promise in promises:
            name = promise.__name__.removeprefix("check_").replace("_", " ")
            yield f"{name}: {fixture.name}", partial(promise, model, fixture)
    yield "identity is row-aligned", partial(check_identity, model, data[0])
    yield "wrong widths are refused", partial(check_wrong_width, model, data[0])


def _fitted(model: PairModel, f: Fixture) -> Any:
    """A copy of what the model learns from the data, which it does once."""
    if model not in f._fitted:
        f._fitted[model] = _fit(model, f)
    return deepcopy(f._fitted[model])


def _again(model: PairModel, f: Fixture) -> _Again:
    """A second fit and its use, which several checks look at."""
    if model not in f._again:
        X, Y = f.X.copy(), f.Y.copy()
        before = np.random.get_state(legacy=False)  # noqa: NPY002 -- what is checked is global
        fitted = _fit(model, replace(f, X=X, Y=Y), dtype=None, callback=lambda *_: False)
        fitted.similarity(X, Y)
        after = np.random.get_state(legacy=False)  # noqa: NPY002
        f._again[model] = _Again(fitted, X, Y, (str(before), str(after)))
    return f._again[model]


def _fit(
    model: PairModel, f: Fixture, *watched: Any, dtype: Any = np.float64, callback: Any = None
) -> Any:
    """A fresh fit; asking for more components than the data has is part of the world."""
    copy: Any = clone(model) if callback is None else clone(model).set_callbacks(callback)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
        # Copies, or what was given where it matters that it stays as it is.
        X, Y = (Z if dtype is None else Z.astype(dtype) for Z in (f.X, f.Y))
        return copy.fit(X, Y, f.relevance, *watched)


def check_pair_score_is_the_diagonal(model: PairModel, f: Fixture) -> None:
    """``pair_score`` is the diagonal of ``similarity``."""
    fitted = _fitted(model, f)
    n = min(f.X_new.shape[0], f.Y_new.shape[0])
    S = fitted.similarity(f.X_new[:n], f.Y_new[:n])
    np.testing.assert_allclose(fitted.pair_score(f.X_new[:n], f.Y_new[:n]), np.diag(S), atol=1e-9)


def check_blocks_change_nothing(model: PairModel, f: Fixture) -> None:
    """Blocks of any size are rows of the same matrix."""
    fitted = _fitted(model, f)
    S = fitted.similarity(f.X_new, f.Y_new)
    assert S.shape == (f.X_new.shape[0], f.Y_new.shape[0])
    for size in (1, 4):
        blocks = list(fitted.iter_similarity(f.X_new, f.Y_new, block_size=size))
        assert max(len(b) for b in blocks) <= size
        np.testing.assert_allclose(np.concatenate(blocks), S, atol=1e-9)


def check_same_seed_same_result(model: PairModel, f: Fixture) -> None:
    """Fitting twice with the same seed gives the same similarities."""
    first, second = _fitted(model, f), _again(model, f).fitted
    np.testing.assert_array_equal(*(one.similarity(f.X_new, f.Y_new) for one in (first, second)))


def check_global_random_state_untouched(model: PairModel, f: Fixture) -> None:
    """Fitting neither reads nor moves numpy's global random state."""
    before, after = _again(model, f).states
    assert before == after, "the global random state moved"


def check_sparse_equals_dense(model: PairModel, f: Fixture) -> None:
    """CSR and dense arrays of the same numbers are the same data."""
    sparse = _fitted(model, f).similarity(f.X_new, f.Y_new)
    dense = _fit(model, replace(f, X=f.X.toarray(), Y=f.Y.toarray()))
    S = dense.similarity(f.X_new.toarray(), f.Y_new.toarray())
    np.testing.assert_allclose(S, sparse, atol=1e-7)


def check_preserves_float32(model: PairModel, f: Fixture) -> None:
    """Single precision in gives single precision out, close to double precision."""
    single = _fit(model, f, dtype=np.float32)
    S = single.similarity(f.X_new.astype(np.float32), f.Y_new.astype(np.float32))
    assert S.dtype == np.float32, f"float32 became {S.dtype}"
    double = _fitted(model, f).similarity(f.X_new, f.Y_new)
    if isinstance(model, IterativeMixin):
        # A rounding error may decide whether a step is taken at all: paths part, ends agree.
        agreement = np.corrcoef(S.ravel(), double.ravel())[0, 1]
        assert agreement > 0.95, agreement
        return
    np.testing.assert_allclose(S, double, atol=2e-3 * max(1.0, np.abs(double).max()))


def check_one_item_is_its_row(model: PairModel, f: Fixture) -> None:
    """An item alone gets the scores it gets among others."""
    fitted = _fitted(model, f)
    S = fitted.similarity(f.X_new, f.Y_new)
    np.testing.assert_allclose(fitted.similarity(f.X_new[[2]], f.Y_new), S[[2]], atol=1e-9)
    np.testing.assert_allclose(fitted.similarity(f.X_new, f.Y_new[[3]]), S[:, [3]], atol=1e-9)


def check_unknown_item_scores_nothing(model: PairModel, f: Fixture) -> None:
    """An item without any known feature scores 0 against everything."""
    S = _fitted(model, f).similarity(f.X_new, f.Y_new)
    np.testing.assert_allclose(S[-1], 0, atol=1e-12)
    np.testing.assert_allclose(S[:, -1], 0, atol=1e-12)


def check_finite(model: PairModel, f: Fixture) -> None:
    """Similarities are numbers, on training items too."""
    assert np.isfinite(_fitted(model, f).similarity(f.X, f.Y)).all()


def check_callback_cancels(model: PairModel, f: Fixture) -> None:
    """A callback that asks to stop leaves a valid model."""
    seen: list[tuple[int, int]] = []

    def stop(step: int, total: int, metrics: Any) -> bool:
        seen.append((step, total))
        return True

    fitted = _fit(model, f, callback=stop)
    assert np.isfinite(fitted.similarity(f.X_new, f.Y_new)).all()
    assert len(seen) <= 2, f"called {len(seen)} times after asking to stop"
    assert all(0 <= step <= total for step, total in seen)
    if hasattr(fitted, "n_iter_") and seen:
        assert fitted.n_iter_ <= 1, f"stopped at once, yet n_iter_ is {fitted.n_iter_}"


def check_copies_drop_callbacks(model: PairModel, f: Fixture) -> None:
    """Cloning and pickling forget callbacks; a pickled model scores the same."""
    fitted = _again(model, f).fitted
    assert not hasattr(clone(fitted), "_callbacks")
    copy = pickle.loads(pickle.dumps(fitted))
    assert not hasattr(copy, "_callbacks")
    np.testing.assert_array_equal(
        copy.similarity(f.X_new, f.Y_new), fitted.similarity(f.X_new, f.Y_new)
    )


def check_score_is_a_share(model: PairModel, f: Fixture) -> None:
    """``score`` lies between 0 and 1."""
    score = _fitted(model, f).score(f.X, f.Y, f.relevance)
    assert 0 <= score <= 1, score


def check_input_unchanged(model: PairModel, f: Fixture) -> None:
    """Fitting and scoring leave the caller's arrays alone."""
    again = _again(model, f)
    assert abs(again.X - f.X).sum() == 0
    assert abs(again.Y - f.Y).sum() == 0


def check_declares_what_it_stores(model: PairModel, f: Fixture) -> None:
    """A fitted model passes the checks of one that is read from a file; huge numbers do not."""
    fitted = _fitted(model, f)
    _, pending = check_stored(fitted)
    check_values(pending)
    for name, check in pending:
        value: Any = getattr(fitted, name.rpartition(".")[2], None)
        numbers = value.data if sp.issparse(value) else value
        if not isinstance(numbers, np.ndarray) or numbers.dtype.kind != "f" or not numbers.size:
            continue
        numbers.flat[0], original = np.finfo(numbers.dtype).max, numbers.flat[0]
        try:
            check()
        except ValueError:
            numbers.flat[0] = original
        else:
            raise AssertionError(f"{name} may hold numbers whose products overflow")


def check_similarity_of_vectors(model: PairModel, f: Fixture) -> None:
    """Similarity is the cosine or dot product of the transformed items."""
    fitted = _fitted(model, f)
    P, Q = fitted.transform(f.X_new), fitted.transform_y(f.Y_new)
    assert P.shape[1] == Q.shape[1] == fitted.n_components_
    if fitted.similarity_kind == "cosine":
        P, Q = (Z / np.maximum(np.linalg.norm(Z, axis=1), 1e-300)[:, None] for Z in (P, Q))
    if fitted.similarity_kind in ("cosine", "dot"):
        np.testing.assert_allclose(fitted.similarity(f.X_new, f.Y_new), P @ Q.T, atol=1e-9)


def check_coordinates(model: PairModel, f: Fixture) -> None:
    """On the map's coordinates the nearest candidate is the most similar one."""
    fitted = _fitted(model, f)
    if fitted.similarity_kind != "cosine":
        return  # dot products order by length too, which no distance can
    x, y = fitted.coordinates(f.X_new[:-1], f.Y_new[:-1])
    distance = ((x[:, None] - y[None]) ** 2).sum(axis=-1)
    S = fitted.similarity(f.X_new[:-1], f.Y_new[:-1])
    known = np.linalg.norm(x, axis=1) > 0
    best = np.take_along_axis(S, distance.argmin(axis=1)[:, None], axis=1).ravel()
    reachable = S[:, np.linalg.norm(y, axis=1) > 0].max(axis=1)
    np.testing.assert_allclose(best[known], reachable[known], atol=1e-7)


def check_truncate_equals_fit(model: EmbeddingModel, f: Fixture) -> None:
    """``truncate(k)`` is the model fitted with k components."""
    fitted = _fitted(model, f)
    k = max(1, fitted.n_components_ // 2)
    small = _fit(clone(model).set_params(n_components=k), f)
    cut = fitted.truncate(k)
    assert cut.n_components_ == k
    views = [name for name in model._component_arrays if getattr(fitted, name, None) is not None]
    assert views
    for name in views:
        assert np.shares_memory(getattr(cut, name), getattr(fitted, name)), name
    np.testing.assert_allclose(
        cut.similarity(f.X_new, f.Y_new), small.similarity(f.X_new, f.Y_new), atol=1e-6
    )


def check_validation_changes_nothing(model: PairModel, f: Fixture) -> None:
    """A method whose tags do not say that it stops early learns the same, whatever it watches."""
    watching = _fit(model, f, f.X_new, f.Y_new[::-1])
    learned = (one.similarity(f.X_new, f.Y_new) for one in (_fitted(model, f), watching))
    np.testing.assert_array_equal(*learned)


def check_identity(model: PairModel, f: Fixture) -> None:
    """No relevance, an identity matrix and `Relevance.identity` mean the same."""
    n = f.X.shape[0]
    expected = _fitted(model, f).similarity(f.X_new, f.Y_new)
    for same in (sp.eye_array(n, format="csr"), Relevance.identity(n)):
        again = _fit(model, replace(f, relevance=same)).similarity(f.X_new, f.Y_new)
        np.testing.assert_array_equal(again, expected)


def check_wrong_width(model: PairModel, f: Fixture) -> None:
    """Items of another width are refused on either side, with a ValueError."""
    fitted = _fitted(model, f)
    for X, Y in ((f.X_new[:, :-1], f.Y_new), (f.X_new, f.Y_new[:, :-1])):
        try:
            fitted.similarity(X, Y)
        except ValueError:
            continue
        raise AssertionError(f"{X.shape[1]} and {Y.shape[1]} features were accepted")
