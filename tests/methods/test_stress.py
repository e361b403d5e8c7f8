"""Data that break numerics: finite and repeatable results or a sentence, never anything else.

As many fits are tried as the environment variable SIMVIZ_STRESS_CASES says, 240 when
it says nothing; `make soak-numerics` tries 42,000. A case is known by its method and number:
``attempt("cca", 17)`` is always the same.
"""

import os
import traceback
import warnings
import zlib
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from simviz.base import EmbeddingModel
from simviz.data import PairSet
from simviz.exceptions import DatasetError
from simviz.methods import _linalg, _spectral, all_methods, heterogeneous_svd, pltm
from simviz.params import param_specs
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance

METHODS = all_methods()
CASES = int(os.environ.get("SIMVIZ_STRESS_CASES", "240"))
TEXTS = 0.1  # share of cases that are texts, through a pipeline

#: Sides from which on matrices count as large, so that small ones take every route.
LOWERED = [
    (_spectral, "FEW", 2),
    (_spectral, "PANEL", 4),
    (_spectral, "ALL_DIRECTIONS", 5),
    (_spectral, "MAX_DIRECTIONS", 4),
    (_spectral, "LARGEST_FACTOR", 9),
    (_spectral, "LEADING", 3),
    (_linalg, "DENSE_FLOPS", 0),
    (_linalg, "GRAM_SIDE", 3),
    (_linalg, "LARGEST_GRAM", 6),
    (_linalg, "COLUMNS", 5),
    (heterogeneous_svd, "FEW_ITEMS", 0),
]
#: What keeps a fit short, whatever else is drawn.
SHORT = {
    "max_iter": (1, 2, 12),
    "n_components": (1, 2, 4, 40),
    "n_constraints": (2, 50, 300),
    "n_init": (1, 2),
    "inner_iter": (1, 5),
    "fold_in_iter": (1, 5),
    "hidden_units": (3,),
    "embedding_size": (3,),
    "n_layers": (1, 2),
    "n_grams": (8192, 2),
    "convolution": (0,),
    "max_length": (1, 8),
    "device": ("cpu",),
    "batch_size": (2, 5, 1000),
    "max_landmarks": (1, 3, 2000),
    "random_state": (0, 7),
}
LETTERS = [
    *"aeioustnr", " ", "  ", "\n", "\t", "\u00a0", "\u200b", "\u200d", "\ufeff", "\u202e", "\0",
    "e\u0301", "ß", "İ", "ﷺ", "ǆ", "\U0001f468\u200d\U0001f469", "❤\ufe0f", "漢", "字", "ا", "ب",
    "ก", "ำ", "\U0001d49c", "'", '"', "-", "_", "#", "1", "²", "½", "the ", "and ", "heart ",
    "\ud83d",
]  # fmt: skip


SHORT_NETWORK = {"max_iter": (1, 2), "batch_size": (5, 1000), "n_components": (1, 4)}


def shape(rng):
    """Items and features of both sides: n < d, n = d, n > d, hardly any of either."""
    few, some = int(rng.integers(2, 11)), int(rng.integers(8, 25))
    n, d = [(few, some), (some, some), (some, few), (few, few), (some, 1), (few, 1), (1, few)][
        rng.choice(7, p=[0.25, 0.2, 0.25, 0.15, 0.06, 0.06, 0.03])
    ]
    n_y = n if rng.random() < 0.6 else int(rng.integers(1, 25))
    return n, n_y, d, (d if rng.random() < 0.5 else int(rng.integers(1, 25)))


def values(rng, n, d, counts):
    """Counts or real values of some rank."""
    if counts:
        topics = rng.gamma(0.3, size=(n, 3)) @ rng.gamma(0.3, size=(3, d))
        return rng.poisson(3 * topics / max(topics.mean(), 1e-9)).astype(float)
    kind = rng.integers(4)
    if kind == 0:
        rank = int(rng.integers(1, max(2, min(n, d))))
        return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    if kind == 1:
        return rng.random((n, d)) * (rng.random((n, d)) < 0.3)
    if kind == 2:
        return np.eye(max(n, d))[:n, :d]
    return rng.standard_normal((n, d))


def injured(rng, A):
    """Copies, zeros and constants among rows and columns; one loud direction; odd scales."""
    n, d = A.shape
    row, column = (rng.integers(size, size=int(rng.integers(1, size + 1))) for size in A.shape)
    for injury in rng.choice(12, int(rng.integers(0, 4)), replace=False):
        B, some = (A, row) if injury in (0, 2, 4, 7) else (A.T, column)
        if injury < 2:
            B[some] = B[some[0]]
        elif injury < 6:
            B[some] = injury // 4
        elif injury < 8:
            B[some[0]] *= 1e6
        elif injury == 8:
            A += 1e6 * np.outer(np.ones(n), np.abs(A).max() * (np.arange(d) == column[0]))
        elif injury < 11:
            A *= 1e-8 if injury == 9 else 1e8
        elif rng.random() < 0.3:
            A[:] = 0
    return A


def held(rng, A, dtype):
    """The same numbers as CSR, CSC, COO, rows, columns, integers, with stored zeros."""
    way = rng.integers(8)
    if way == 0:
        return A.astype(dtype)
    if way == 1:
        return np.asfortranarray(A, dtype=dtype)
    if way == 2 and np.abs(A).max(initial=0) < 2**62:
        return A.astype(np.int64)
    if way == 3:
        return sp.csc_array(A, dtype=dtype)
    if way == 4:
        return sp.coo_matrix(A, dtype=dtype)
    if way == 5:
        stored = sp.csr_array(A + 1, dtype=dtype)  # every entry, zeros too
        stored.data = A.astype(dtype).ravel()[np.flatnonzero((A + 1).ravel() != 0)]
        return stored
    if way == 6 and np.abs(A).max(initial=0) < 2**62:
        return sp.csr_matrix(A.astype(np.int64))
    return sp.csr_array(A, dtype=dtype)


def judgments(rng, n_x, n_y):
    """All alone, one pair, one query with everything, grades, scores, isolated items."""
    kind = rng.integers(9)
    if kind <= 1 and n_x == n_y:
        return None
    given = np.zeros((n_x, n_y))
    i, j = int(rng.integers(n_x)), int(rng.integers(n_y))
    if kind == 2:
        given[i, j] = 1
    elif kind == 3:
        given[i] = 1
    elif kind == 4:
        given[:] = 1
    elif kind == 5:
        given = rng.integers(-2, 4, (n_x, n_y)).astype(float)
    elif kind == 6:
        scores = sp.csr_array(rng.normal(size=(n_x, n_y)) * (rng.random((n_x, n_y)) < 0.5))
        return Relevance(scores, kind="score")
    elif kind == 7 and rng.random() < 0.3:
        given[i, j] = -1
    else:
        share = rng.choice([0.05, 0.5])
        given = (rng.random((n_x, n_y)) < share) * rng.integers(1, 4, (n_x, n_y)).astype(float)
    return Relevance(sp.csr_array(given))


def parameters(rng, cls):
    """Most parameters as they are, some at their limits or far from the usual."""
    chosen = {}
    limits = SHORT | (SHORT_NETWORK if cls.tags.input == "characters" else {})
    for spec in param_specs(cls):
        if spec.name in limits:
            pool = limits[spec.name]
            chosen[spec.name] = pool[rng.integers(len(pool))]
            continue
        if rng.random() < 0.6 or spec.kind == "other":
            continue
        pool = [None] if spec.optional else []
        if spec.kind == "choice":
            pool += [c for c in spec.choices if c != "precomputed"]
        elif spec.kind == "bool":
            pool += [True, False]
        else:
            low, high = spec.low, spec.high
            base = abs(spec.default) if isinstance(spec.default, (int, float)) else 1
            pool += [low] * (low is not None and spec.closed in ("left", "both"))
            pool += [high] * (high is not None and spec.closed in ("right", "both"))
            numbers = [(low or 0) + 1e-3, base / 10, base * 10, 1]
            if spec.kind == "int":
                numbers = [(low or 0) + 1, base + 3]
            least, most = (-np.inf if low is None else low), (np.inf if high is None else high)
            pool += [number for number in numbers if least < number < most]
        chosen[spec.name] = pool[rng.integers(len(pool))] if pool else spec.default
    return chosen


def numeric(rng, method):
    """A model, both sides and judgments."""
    cls = METHODS[method]
    model = cls(**parameters(rng, cls))
    counts = cls.tags.input in ("counts", "characters", "trigrams") or rng.random() < 0.2
    counts = counts or "chi2" in (getattr(model, f"{s}_kernel", "") for s in "xy")
    n_x, n_y, d_x, d_y = shape(rng)
    if cls.tags.space == "one" or (getattr(model, "shared", False) and rng.random() < 0.95):
        d_y = d_x
    dtype = rng.choice([np.float32, np.float64])
    X, Y = (injured(rng, values(rng, n, d, counts)) for n, d in ((n_x, d_x), (n_y, d_y)))
    if X.shape == Y.shape and rng.random() < 0.1:
        Y = X.copy()
    return model, held(rng, X, dtype), held(rng, Y, dtype), judgments(rng, n_x, n_y)


def texts(rng):
    """Pairs of texts that are empty, blank, of one letter, or of letters from anywhere."""

    def text():
        return "".join(rng.choice(LETTERS, int(rng.choice([0, 1, 3, 30]))))

    n_x, n_y, _, _ = shape(rng)
    x, y = [text() for _ in range(n_x)], [text() for _ in range(n_y)]
    if rng.random() < 0.3:
        y[: len(x)] = x[: len(y)]
    relevance = judgments(rng, n_x, n_y)
    return x, y, relevance


def said(error):
    """Refuse an error that no line of ours or of scikit-learn's validation has raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = frames[-1].filename
    meant = (frames[-1].line or "").startswith("raise ")
    ours = f"{os.sep}simviz{os.sep}" in where or f"sklearn{os.sep}utils{os.sep}" in where
    message = str(error)
    assert type(error) in (ValueError, DatasetError), repr(error)
    assert ours and meant, f"raised in {where}: {error!r}"
    assert len(message) > 30 and message.rstrip()[-1] in ".)", f"not a sentence: {message}"


def outcome(model, X, Y, relevance, use):
    """Similarities, or the sentence that says why there are none."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = use(model, X, Y, relevance)
        except ValueError as error:
            said(error)
            result = str(error)
    assert len(told) <= 1, [str(w.message) for w in told]
    for warning in told:
        assert issubclass(warning.category, UserWarning) and len(str(warning.message)) > 30, (
            warning
        )
    return result


def fitted(model, X, Y, relevance):
    learned = clone(model).fit(X, Y, relevance)
    S = learned.similarity(X, Y)
    parts = [S]
    if isinstance(learned, EmbeddingModel):
        parts += [learned.transform(X), learned.transform_y(Y)]
        parts += list(learned.coordinates(X, Y))
    if S.shape[0] == S.shape[1]:
        parts.append(learned.pair_score(X, Y))
    for part in parts:
        assert np.isfinite(part).all(), "not finite"
    try:
        score = learned.score(X, Y, relevance)
        assert 0 <= score <= 1, score
    except ValueError as error:
        said(error)
    return S


def read(pipeline, x, y, relevance):
    pairs = PairSet.from_texts(x, y, relevance)
    method, params = pipeline
    learned = default_pipeline(method, pairs, **params).fit(pairs)
    S = learned.similarity(pairs.x, pairs.y)
    assert np.isfinite(S).all(), "not finite"
    return S


def attempt(method, number):
    """Fit, every other time twice; raises where that breaks what is promised."""
    rng = np.random.default_rng([number, zlib.crc32(method.encode())])
    use = fitted
    if rng.random() < TEXTS:
        use = read
        cls = METHODS[method]
        case = ((method, parameters(rng, cls)), *texts(rng))
    else:
        case = numeric(rng, method)
    with ExitStack() as lowered:
        lowered.enter_context(patch.object(pltm, "MAX_TOKENS", 100_000))
        if rng.random() < 0.5:
            for module, name, value in LOWERED:
                lowered.enter_context(patch.object(module, name, value))
        results = [outcome(*case, use) for _ in range(1 + number % 2)]
    if len(results) == 1:
        return results[0]
    assert type(results[0]) is type(results[1])
    if isinstance(results[0], str):
        assert results[0] == results[1]
    else:
        np.testing.assert_array_equal(results[0], results[1])
    return results[0]


@pytest.mark.parametrize("method", METHODS)
def test_stress(method):
    broken = []
    for number in range(max(1, CASES // len(METHODS))):
        try:
            attempt(method, number)
        except Exception as error:
            broken.append(f"attempt({method!r}, {number}): {error!r}"[:300])
    assert not broken, "\n".join(broken[:20])
