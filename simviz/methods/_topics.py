"""What the topic models share: expectation maximisation, where it starts, folding in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz._types import Array
from simviz.base import IterativeMixin, Matrix, TopicSimilarity, unit_rows
from simviz.base.stored import Declared, Number, Numbers, StoredArray
from simviz.methods._linalg import inverse
from simviz.methods._spectral import all_rows, fewer_components_unwarned, pair_weights
from simviz.methods._training import Stopped
from simviz.params import interval, options
from simviz.relevance import Relevance

Index = NDArray[np.integer]

_FEWEST_STEPS = 10  # equal topics part slowly: the first steps gain little
STEPS_A_CALL = 3e8  # a fraction of a second, so that a wish to stop is heard
_COUNTS_A_CALL = 2**24  # the same where each count has room for its topics
_PARTS_A_CALL = 32  # of equal work, for the threads to share
_BLOCK = 2**22  # entries that elementwise passes take at a time
_MAX_DIRECTIONS = 100  # more would tell clusters apart by noise
_MAX_WATCHED = 1_000  # pairs or items: watching should cost less than a step


@dataclass
class Run:
    """Topics on their way, from one start."""

    topics: Topics
    objectives: list[float] = field(default_factory=list)
    perplexities: list[float] = field(default_factory=list)


class TopicModel(IterativeMixin, TopicSimilarity):
    """A model that describes items by shares of topics."""

    # ``_paired`` tells whether the two items of a pair share their topics or each has its own.

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [interval(Real, 1, None)],
        "beta": [interval(Real, 1, None)],
        "init": [options("documents", "random", "cl_lsi")],
        "n_init": [interval(Integral, 1, None)],
        "fold_in_iter": [interval(Integral, 1, 10_000)],
        "measure": [options(*TopicSimilarity.measures)],
    }
    n_components: int
    alpha: float
    beta: float
    init: str
    n_init: int
    max_iter: int
    tol: float
    fold_in_iter: int
    random_state: Any

    x_topics_: Array
    y_topics_: Array
    topic_prior_: Array

    _stored: ClassVar[Declared] = {
        "x_topics_": StoredArray(("components", "x_features"), low=0),
        "y_topics_": StoredArray(("components", "y_features"), low=0),
        "topic_prior_": StoredArray(("components",), low=0, high=1e15),  # added to counts
        "n_iter_": Number(0, whole=True),
        "objective_curve_": Numbers(),
        "perplexity_curve_": Numbers(),
    }
    _paired = True

    def _learner(self, sides: list[Side], weights: Array) -> EM:
        """Who takes steps with these sides and weights of units; here to the likeliest point."""
        return self._made(EM, sides, weights, self.alpha - 1, self.beta - 1)

    def _made(
        self, cls: type[EM], sides: list[Side], weights: Array, a: float, b: float, **more: Any
    ) -> EM:
        """One that adds `a` to counts of topics, and `b` to those of words."""
        shared, priors = bool(getattr(self, "shared", False)), np.full(self.n_components, float(a))
        return cls(sides, weights, priors, float(b), shared, self._is_stopped, **more)

    def _fit_iter(self, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        for side in (X, Y):
            checked_counts(self, side)
        sides, weights = self._units(X, Y, relevance)
        self.n_components_ = int(self.n_components)
        self.n_iter_ = 0
        self._metrics: dict[str, float] = {}
        try:
            em = self._learner(sides, weights)
            watch = None if validation is None else Watch(self, *validation)
            run = self._best_run(em, watch, (X, Y, relevance))
        finally:
            del self._metrics
        self.n_iter_ = len(run.objectives)
        self.objective_curve_, self.perplexity_curve_ = run.objectives, run.perplexities
        self._keep(em, run.topics)

    def _units(self, X: Matrix, Y: Matrix, relevance: Relevance) -> tuple[list[Side], Array]:
        """Sides and weights of what has topics: pairs, or single items."""
        if self._paired:
            pair_weights(self, relevance)  # refuses judgments without any relevant pair
            pairs = relevance.positives.tocoo()
            weights = np.asarray(pairs.data, np.float64)
            return [Side(X, pairs.row, weights), Side(Y, pairs.col, weights)], weights
        Z = all_rows(X, Y)
        weights = np.ones(Z.shape[0])
        return [Side(Z, np.arange(Z.shape[0]), weights)], weights

    def _best_run(self, em: EM, watch: Watch | None, data: tuple[Any, ...]) -> Run:
        """Some steps from each start, then the best of them to its end."""
        rng = check_random_state(self.random_state)
        trial = max(5, self.max_iter // 10) if self.n_init > 1 else 0
        best = Run(first_topics(self, em, rng, *data))
        stopped = self._climb(em, best, watch, min(trial, self.max_iter))
        for _ in range(1, self.n_init):
            if stopped:
                return best
            run = Run(first_topics(self, em, rng, *data))
            stopped = self._climb(em, run, watch, min(trial, self.max_iter))
            if run.objectives and run.objectives[-1] > best.objectives[-1]:
                best = run
        if not stopped:
            self._climb(em, best, watch, self.max_iter)
        return best

    def _climb(self, em: EM, run: Run, watch: Watch | None, limit: int) -> bool:
        """Take steps until they gain little; True where a callback asked to stop."""
        while (done := len(run.objectives)) < limit:
            self.n_iter_ = done
            try:
                progress = em.step(run.topics)
            except Stopped:
                return True
            run.objectives.append(progress.objective)
            if watch is None:
                seen = np.exp(-progress.log_likelihood / max(em.n_tokens, 1))
            else:
                seen = watch.perplexity(em, run.topics)
            run.perplexities.append(float(seen))
            self.n_iter_ = done + 1
            self._metrics = {"objective": progress.objective, "perplexity": float(seen)}
            if self._is_stopped():
                return True
            if self.n_iter_ > _FEWEST_STEPS and em.settled(run.objectives, self.tol):
                return False
        return False

    def _is_stopped(self) -> bool:
        return self._notify(self.n_iter_, self.max_iter, **self._metrics)

    def _keep(self, em: EM, topics: Topics) -> None:
        last = len(em.sides) - 1
        self.x_topics_ = em.phi(topics, 0).T
        self.y_topics_ = em.phi(topics, last).T
        self.topic_prior_ = (em.a if topics.prior is None else topics.prior).copy()

    def _embed_x(self, X: Matrix) -> Array:
        return self._shares(X, self.x_topics_)

    def _embed_y(self, Y: Matrix) -> Array:
        return self._shares(Y, self.y_topics_)

    def _shares(self, Z: Matrix, topics: Array) -> Array:
        """Topics (n, K) of items that were not trained on."""
        counts = Counts(checked_counts(self, Z))
        return folded(counts, topics, self.topic_prior_, self.fold_in_iter)


def checked_counts(model: Any, Z: Matrix) -> Matrix:
    """The same matrix."""
    values = Z.data if hasattr(Z, "tocsr") else Z
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to {type(model).__name__}: it needs counts, got "
            f"{values.min()}. Use counts of terms rather than centred or projected vectors."
        )
    return Z


class Counts:
    """Counts of one side by items, of the form that kernels read."""

    def __init__(self, C: Any, known: Any = None, dtype: Any = None) -> None:
        self.matrix = self._clean(C, known, dtype or C.dtype)
        self.ptr = self.matrix.indptr.astype(np.int64)
        self.idx = self.matrix.indices.astype(np.int32)
        self.val = self.matrix.data
        self.totals = np.asarray(self.matrix.sum(axis=1, dtype=np.float64)).ravel()

    @staticmethod
    def _clean(C: Any, known: Any, dtype: Any) -> sp.csr_array:
        C = sp.csr_array(C, dtype=dtype, copy=True)
        C.sum_duplicates()
        if known is not None:
            C.data[~known[C.indices]] = 0
        C.eliminate_zeros()
        return C

    @property
    def rows(self) -> tuple[Any, Any, Any]:
        return self.ptr, self.idx, self.val

    @property
    def lengths(self) -> Index:
        return np.diff(self.ptr)


class Side(Counts):
    """Counts of one side, by items and by words, and the units its items are in."""

    def __init__(self, C: Any, items: Index, weights: Array) -> None:
        super().__init__(C)
        self.items = items.astype(np.int64)
        order = np.argsort(items, kind="stable")
        self.units = order.astype(np.int64)
        n_items = self.matrix.shape[0]
        self.unit_ptr = np.searchsorted(items[order], np.arange(n_items + 1)).astype(np.int64)
        self.weights = weights.astype(self.val.dtype)
        degrees = np.diff(self.unit_ptr)
        self.columns: tuple[Any, ...] | None = None
        if (degrees == 1).all():
            columns = sp.csr_array(self.matrix.T)
            columns.sort_indices()
            units = self.units[columns.indices]
            values = columns.data * self.weights[units]
            self.columns = columns.indptr.astype(np.int64), units.astype(np.int32), values
        # Words that occur in a unit at all: what there is to learn about.
        used = np.bincount(items, weights, minlength=n_items)
        self.word_totals = np.asarray(used @ self.matrix.astype(np.float64)).ravel()
        self.unit_work = self.lengths[self.items]
        self.item_work = self.lengths * degrees


def run_kernel(name: str, n_steps: int, *args: Any) -> Any:
    """Run a compiled loop, which is imported with numba by the first fit only."""
    from simviz._numba import threads_for
    from simviz.methods import _topic_kernels

    with threads_for(n_steps):
        return getattr(_topic_kernels, name)(*args)


class Progress(NamedTuple):
    """What a step found before it changed anything."""

    objective: float
    log_likelihood: float


def equal_parts(work: NDArray[Any], n_topics: int, max_steps: float = np.inf) -> list[Index]:
    """Limits of parts of equal work, one array a call, of so many steps at most."""
    total = np.concatenate([[0.0], np.cumsum(work, dtype=np.float64)])
    n_calls = max(1, int(np.ceil(total[-1] * n_topics / min(max_steps, STEPS_A_CALL))))
    shares = np.linspace(0, total[-1], n_calls * _PARTS_A_CALL + 1)
    bounds = np.searchsorted(total, shares).astype(np.int64)
    bounds[0], bounds[-1] = 0, len(work)
    return [
        bounds[start : start + _PARTS_A_CALL + 1]
        for start in range(0, len(bounds) - 1, _PARTS_A_CALL)
    ]


@dataclass
class Topics:
    """Shares of topics of the units, and words of the topics."""

    theta: Array
    phis: list[Array]
    prior: Array | None = None  # where it is learned from each start


@dataclass
class EM:
    r"""Steps that raise Σ_u w_u (Σ c log θ_u·φ_w + a Σ log θ_u) + b Σ log φ."""

    sides: list[Side]
    weights: Array
    a: Array
    b: float
    shared: bool
    notify: Callable[[], bool]
    known: list[NDArray[np.bool_]] = field(init=False)
    _space: Topics | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        totals = [side.word_totals for side in self.sides]
        if self.shared:
            totals = [sum(totals[1:], start=totals[0])]
        self.known = [total > 0 for total in totals]
        self.dtype = self.sides[0].val.dtype
        k = len(self.a)
        self.unit_work = np.sum([side.unit_work for side in self.sides], axis=0)
        self._unit_parts = equal_parts(self.unit_work, k)
        self._item_parts = [equal_parts(side.item_work, k) for side in self.sides]
        self._word_parts = [
            equal_parts(side.item_work, k, _COUNTS_A_CALL)
            if side.columns is None
            else equal_parts(np.diff(side.columns[0]), k)
            for side in self.sides
        ]
        self._steps = int(self.unit_work.sum()) * k

    @property
    def n_units(self) -> int:
        return len(self.weights)

    @property
    def n_tokens(self) -> float:
        return float(sum(side.word_totals.sum() for side in self.sides))

    def begin(self, topics: Topics) -> Topics:
        """Topics in the form that steps change."""
        return topics

    def uniform(self) -> Array:
        return np.full((self.n_units, len(self.a)), 1 / len(self.a), self.dtype)

    def phi(self, topics: Topics, side: int) -> Array:
        """φ that a side reads."""
        return topics.phis[0 if self.shared else side]

    def word_shares(self, topics: Topics, side: int) -> Array:
        """Distributions (V, K) over the words of a side, one a column."""
        return self.phi(topics, side)

    def step(self, topics: Topics) -> Progress:
        """Replace θ by a better one, then φ, already expecting with the new θ."""
        objective = self.log_prior(topics)
        seen, cost = self.tilted(topics)
        new, logs = self._space_like(topics), np.empty(self.n_units)
        for s, side in enumerate(self.sides):
            args = *side.rows, side.unit_ptr, side.units, seen[s], self.phi(topics, s), s > 0
            self._run(self._item_parts[s], "expect_rows", *args, into=(new.theta, logs))
        self._share(new.theta)
        seen = self.tilted_again(new.theta)
        for s in range(len(self.sides)):
            self._expect_words(s, seen[s], self.phi(topics, s), self.phi(new, s))
        for phi, known in zip(new.phis, self.known, strict=True):
            normalized_words(phi, self.b, known)
        topics.theta, new.theta = new.theta, topics.theta
        topics.phis, new.phis = new.phis, topics.phis
        log_likelihood = float(self.weights @ logs)
        return Progress(objective + cost + log_likelihood, log_likelihood)

    def settled(self, objectives: list[float], tol: float) -> bool:
        """Whether the last step gained less than this share of the objective."""
        gain = abs(objectives[-1] - objectives[-2])
        return gain < tol * abs(objectives[-1])

    def tilted(self, topics: Topics) -> tuple[list[Array], float]:
        """θ as each side sees it, and what that adds to the objective."""
        return [topics.theta] * len(self.sides), 0.0

    def tilted_again(self, theta: Array) -> list[Array]:
        """A new θ as each side sees it, φ being what it is."""
        return [theta] * len(self.sides)

    def log_prior(self, topics: Topics) -> float:
        """Σ w a log θ + b Σ log φ, over words that occur."""
        total = 0.0
        if self.a.any():
            total += float(self.weights @ _log_sums(topics.theta, self.a))
        if self.b:
            each = np.full(len(self.a), self.b)
            for phi, known in zip(topics.phis, self.known, strict=True):
                total += float(_log_sums(phi, each)[known].sum())
        return total

    def _space_like(self, topics: Topics) -> Topics:
        """Room for the next θ and φ: what the step before left."""
        if self._space is None:
            empty = [np.empty_like(phi) for phi in topics.phis]
            self._space = Topics(np.empty_like(topics.theta), empty)
        return self._space

    def _share(self, counts: Array) -> None:
        """Turn expected counts into θ, in place. A unit without any word has equal shares."""
        run_kernel("share_rows", counts.size, counts, self.a.astype(self.dtype))

    def _expect_words(self, s: int, theta: Array, phi: Array, into: Array) -> None:
        """Expected counts of a side's words, added to those of the other where they share φ."""
        side, more = self.sides[s], self.shared and s > 0
        if side.columns is not None:
            args = *side.columns, theta, phi, more
            self._run(self._word_parts[s], "expect_columns", *args, into=(into,))
            return
        if not more:
            into[:] = 0
        for bounds in self._calls(self._word_parts[s]):
            first, last = side.ptr[bounds[[0, -1]]]
            expected = np.empty((last - first, len(self.a)), self.dtype)
            args = side.unit_ptr, side.units, side.weights, theta, phi, bounds, expected
            run_kernel("expect_counts", _COUNTS_A_CALL, *side.rows, *args)
            run_kernel("add_counts", expected.size, side.idx[first:last], expected, phi, into)

    def _run(self, parts: list[Index], kernel: str, *args: Any, into: tuple[Any, ...]) -> None:
        for bounds in self._calls(parts):
            run_kernel(kernel, self._steps // len(parts), *args, bounds, *into)

    def _calls(self, parts: Iterable[Any]) -> Iterator[Any]:
        """Parts of the work, one a call; raise `Stopped` where a callback says so in between."""
        for call, part in enumerate(parts):
            if call and self.notify():
                raise Stopped
            yield part


def folded(counts: Counts, topics: Array, prior: Array, n_iter: int) -> Array:
    """Topics of items, those of words being given."""
    dtype = counts.val.dtype
    phi = np.ascontiguousarray(topics.T, dtype=dtype)
    out = np.empty((len(counts.totals), len(prior)), dtype)
    for bounds in equal_parts(counts.lengths * n_iter, len(prior)):
        n_steps = int(counts.ptr[-1]) * n_iter * len(prior)
        args = *counts.rows, phi, prior.astype(dtype), n_iter, bounds, out
        run_kernel("fold_in", n_steps, *args)
    return out


def normalized_words(N: Array, b: float, known: NDArray[np.bool_]) -> Array:
    """φ ∝ N + b over known words, in place; a topic without any word stays 0."""
    parts = np.linspace(0, len(N), _PARTS_A_CALL + 1).astype(np.int64)
    sums = np.empty((_PARTS_A_CALL, N.shape[1]))
    run_kernel("add_and_sum", N.size, N, N.dtype.type(b), known, parts, sums)
    total = sums.sum(axis=0)
    run_kernel("scale_columns", N.size, N, inverse(total).astype(N.dtype))
    return N


def blocks(A: Array) -> list[slice]:
    """Rows that elementwise passes take at a time."""
    size = max(1, _BLOCK // A.shape[1])
    return [slice(start, start + size) for start in range(0, len(A), size)]


def _log_sums(A: Array, weights: Array) -> Array:
    out = np.empty(len(A))
    run_kernel("sum_logs", A.size, A, weights.astype(A.dtype), out)
    return out


def first_topics(
    model: Any, em: EM, rng: Any, X: Matrix, Y: Matrix, relevance: Relevance
) -> Topics:
    """Equal shares of topics, and topics that differ."""
    if model.init == "random":
        phis = [_noise(len(known), model.n_components, rng, em.dtype) for known in em.known]
    else:
        if model.init == "documents":
            members = _single_units(em, model.n_components, rng)
        else:
            members = _clusters(model, em, X, Y, relevance, rng)
        phis = [_words_of(em, vocabulary, members, rng) for vocabulary in range(len(em.known))]
    for phi, known in zip(phis, em.known, strict=True):
        phi[~known] = 0
        normalized_words(phi, 0, known)
    return em.begin(Topics(em.uniform(), phis))


def _noise(n_words: int, k: int, rng: Any, dtype: Any) -> Array:
    """Equally likely distributions over words: Dirichlet(1), once scaled."""
    phi = np.empty((n_words, k), dtype)
    for rows in blocks(phi):
        phi[rows] = rng.standard_exponential(phi[rows].shape)
    return phi


def _single_units(em: EM, k: int, rng: Any) -> sp.csr_array:
    """One unit a topic, drawn among those with words."""
    filled = np.flatnonzero(em.unit_work > 0)
    if not len(filled):
        filled = np.arange(em.n_units)
    drawn = rng.choice(filled, k, replace=k > len(filled))
    return sp.csr_array((np.ones(k), (drawn, np.arange(k))), shape=(em.n_units, k))


def _clusters(
    model: Any, em: EM, X: Matrix, Y: Matrix, relevance: Relevance, rng: Any
) -> sp.csr_array:
    """One cluster of units a topic, by k-means in the space of (CL-)LSI."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from simviz.methods import get_method

    k = model.n_components
    seed = rng.randint(2**31 - 1)
    paired = len(em.sides) == 2
    shared = {"shared": model.shared} if paired else {}
    lsi: Any = get_method(model.init)(min(k, _MAX_DIRECTIONS), random_state=seed, **shared)
    lsi.set_callbacks(lambda *_: em.notify())
    items = [_weighed(Z) for Z in ((X, Y) if paired else (all_rows(X, Y),))]
    with fewer_components_unwarned():  # fewer directions than topics are no matter
        lsi.fit(*items, relevance if paired else None)
    vectors = [lsi.transform(items[0]), *([lsi.transform_y(items[1])] if paired else [])]
    units = unit_rows(
        sum(unit_rows(P)[side.items] for P, side in zip(vectors, em.sides, strict=True))
    )
    n = min(k, len(np.unique(units, axis=0)))
    # Sums in one order, whatever the cores.
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        # Units that differ by rounding are one cluster: fewer than asked are no matter.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(n, n_init=1, max_iter=20, random_state=seed).fit_predict(
            units, sample_weight=em.weights
        )
    return sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), (len(labels), k))


def _weighed(Z: Matrix) -> sp.csr_array:
    """(1 + log c) log(n / df) of counts: long items and common words do not decide all."""
    C = Counts(Z).matrix
    df = np.bincount(C.indices, minlength=C.shape[1])
    idf = np.log(C.shape[0] / np.maximum(df, 1))
    C.data = (np.log1p(C.data) * idf[C.indices]).astype(C.dtype)
    return unit_rows(C)


def _words_of(em: EM, vocabulary: int, members: sp.csr_array, rng: Any) -> Array:
    """Words of each topic's units, mixed half and half with all words, a little shaken."""
    sides = em.sides if em.shared else [em.sides[vocabulary]]
    words = np.zeros((sides[0].matrix.shape[1], members.shape[1]))
    common = np.zeros(len(words))
    for side in sides:
        n_items = side.matrix.shape[0]
        at = side.items, np.arange(em.n_units)
        pick = sp.csr_array((em.weights, at), shape=(n_items, em.n_units))
        words += (side.matrix.T.astype(np.float64) @ (pick @ members)).toarray()
        common += side.word_totals
    for column in (words, common):
        total = column.sum(axis=0)
        column /= np.where(total > 0, total, 1)
    # Topics that begin equal would stay so, hence the noise.
    for rows in blocks(words):
        words[rows] += common[rows, None] * rng.uniform(0.5, 1.5, words[rows].shape)
    return words.astype(em.dtype)


class Watch:
    """Foretells words that the topics were not asked about."""

    # Of a pair, each item's words are foretold from its partner's; where items have topics of
    # their own, every second word from the others of its item.

    def __init__(self, model: Any, X: Matrix, Y: Matrix, relevance: object) -> None:
        self.model = model
        # Each task: side and counts to fold in, side and counts to foretell.
        self.tasks: list[tuple[int, Matrix, int, Matrix]] = []
        if not model._paired:
            Z = Counts(all_rows(X, Y)).matrix
            Z = Z[_spread(np.arange(Z.shape[0]))]
            even, odd = _halves(Z)
            self.tasks = [(0, even, 0, odd), (0, odd, 0, even)]
            return
        pairs = Relevance.coerce(relevance, X.shape[0], Y.shape[0]).positives.tocoo()
        watched = _spread(np.arange(pairs.nnz))
        A, B = (sp.csr_array(Z)[i[watched]] for Z, i in ((X, pairs.row), (Y, pairs.col)))
        self.tasks = [(0, A, 1, B), (1, B, 0, A)]

    def perplexity(self, em: EM, topics: Topics) -> float:
        """The number of equally likely words that would be as hard to foretell."""
        total = n_words = 0.0
        self.model._keep(em, topics)
        for source, observed, target, held_out in self.tasks:
            shares = (self.model._embed_x, self.model._embed_y)[source](observed)
            phi = em.word_shares(topics, target)
            counts = Counts(held_out, em.known[0 if em.shared else target], phi.dtype)
            rows = np.flatnonzero(shares.any(axis=1))
            logs = np.empty(len(rows))
            args = *counts.rows, rows, shares.astype(phi.dtype), rows, phi, logs
            run_kernel("likelihoods", counts.val.size * len(phi.T), *args)
            total += float(logs.sum())
            n_words += float(counts.totals[rows].sum())
        return float(np.exp(-total / n_words)) if n_words else float("nan")


def _spread(index: NDArray[np.integer]) -> NDArray[np.integer]:
    """At most so many, evenly spread."""
    positions = np.linspace(0, len(index) - 1, min(_MAX_WATCHED, len(index)))
    return index[np.unique(positions.astype(np.int64))] if len(index) else index


def _halves(Z: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array]:
    """Every second word of each row, and the others."""
    position = np.arange(Z.nnz) - np.repeat(Z.indptr[:-1], np.diff(Z.indptr))
    even, odd = Z.copy(), Z.copy()
    for part, rest in ((even, 0), (odd, 1)):
        part.data[position % 2 != rest] = 0
        part.eliminate_zeros()
    return even, odd
