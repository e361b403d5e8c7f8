"""What methods share that learn step by step: where they start, what they watch and keep."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.utils import check_random_state

from simviz._extras import missing, require
from simviz._types import Array
from simviz.base import LinearPairModel, Matrix
from simviz.methods._spectral import fewer_components_unwarned, is_default
from simviz.relevance import Relevance

Data = tuple[Matrix, Matrix, Relevance]
Part = tuple[Matrix, Matrix, Relevance]
Values = list[Array]  # one array a part, one value a query

PAUSE = 0.2  # seconds between two calls inside an iteration
_FEWEST = 20  # held-out queries that can tell one model from another
_POOL = 4096  # queries and candidates of a validation set that are looked at


class Stopped(Exception):  # noqa: N818 -- a wish, not an error
    """A callback asked to stop."""


class Watch:
    """Progress, what every iteration scores on held-out items, and the best parameters."""

    # `values` gives the score of each query of each held-out part; see `held_out_values`.

    def __init__(
        self, theta: Array, notify: Callable[..., bool],
        values: Callable[[Array], Values] | None, limits: tuple[int, int], rate: float = 0.0,
    ) -> None:  # fmt: skip
        self.notify, self.values, self.rate = notify, values, rate
        self.max_iter, self.patience = limits
        self.losses: list[float] = []
        self.scores: list[float] = []
        self.first = self.best = theta
        self.best_iter, self.best_score = 0, -np.inf
        self.first_values = self.best_values = Values()
        self._heard = time.monotonic()

    def follow(self, steps: Iterable[tuple[float, Array]], *, report: bool) -> bool:
        """Score the start, then iterations until the last; true where a callback said stop."""
        try:
            self._keep(self.best, 0)
            if report:
                self._report()
            for loss, theta in steps:
                if self.step(loss, theta):
                    break
        except Stopped:
            return True
        finally:
            if isinstance(steps, Generator):  # what it holds is let go now, on workers too
                steps.close()
        return False

    def tick(self) -> None:
        """Tell that it goes on; raise `Stopped` where it should not."""
        if time.monotonic() - self._heard > PAUSE:
            self._report()

    def step(self, loss: float, theta: Array) -> bool:
        """Note an iteration; true where it was the last. `theta` is copied if needed."""
        self.losses.append(loss)
        n = len(self.losses)
        self._keep(theta, n)
        self._report()
        waited = self.values is not None and n - self.best_iter >= self.patience
        return n >= self.max_iter or waited

    def _keep(self, theta: Array, n: int) -> None:
        if self.values is None:
            self.best, self.best_iter = theta, n
            return
        values = self.values(theta)
        score = mean_score(values)
        if n:
            self.scores.append(score)
        else:
            self.first_values = values
        if score > self.best_score:
            self.best_score, self.best_iter, self.best_values = score, n, values
            self.best = theta.copy() if n else theta

    def _report(self) -> None:
        self._heard = time.monotonic()
        metrics = {"loss": self.losses[-1]} if self.losses else {}
        if self.scores or self.best_score > -np.inf:
            metrics["validation"] = self.scores[-1] if self.scores else self.best_score
        if self.notify(len(self.losses), self.max_iter, **metrics):
            raise Stopped

    def keep_start(self) -> None:
        self.best, self.best_iter, self.best_values = self.first, 0, self.first_values

    def record(self, model: Any) -> None:
        model.n_iter_, model.best_iter_ = len(self.losses), self.best_iter
        model.loss_curve_, model.validation_scores_ = self.losses, self.scores


def mean_score(values: Values) -> float:
    """Return the mean over parts of the mean over queries; parts weigh the same."""
    return float(np.mean([part.mean() for part in values]))


def exceeds_standard_error(values: Values, others: Values) -> bool:
    """Whether a mean score exceeds another by more than one standard error of the difference."""
    differences = [part - other for part, other in zip(values, others, strict=True)]
    variances = [d.var(ddof=1) / len(d) if len(d) > 1 else 0.0 for d in differences]
    error = np.sqrt(np.sum(variances)) / len(values)
    return mean_score(values) - mean_score(others) > error


def least_change(watches: Sequence[Watch]) -> Watch:
    """Return, of descents from one start, the one that changed it least among the best."""
    # Those whose best score lies within one standard error of the best of all are among them; so
    # is the start, to which the first descent is set back then.
    best = max(watches, key=lambda watch: watch.best_score)
    if best.values is None:
        return best
    if not exceeds_standard_error(best.best_values, best.first_values):
        watches[0].keep_start()
        return watches[0]
    good = [w for w in watches if not exceeds_standard_error(best.best_values, w.best_values)]
    if len(good) == 1:
        return best
    return min(good, key=lambda watch: float(np.linalg.norm(watch.best - watch.first)))


def default_directions(relevance: Relevance) -> tuple[str, ...]:
    """Return both directions where pairs are one to one, else that of x items that ask."""
    return ("x2y", "y2x") if one_to_one(relevance) else ("x2y",)


def held_out_values(model: Any, parts: Sequence[Part], directions: Sequence[str]) -> Values:
    """Return what each query of each part scores with a model, by the metric of its task."""
    return [
        query_values(np.concatenate(list(model.iter_similarity(X, Y))), relevance, directions)
        for X, Y, relevance in parts
    ]


def query_values(scores: Array, relevance: Relevance, directions: Sequence[str]) -> Array:
    """Return what each query scores, by the metric of its task."""
    # For the AUC, of each relevant pair the share of the other judged pairs that it stands above.
    if (metric := relevance.training_metric) == "AUC":
        return placements(scores, relevance)
    sides = [
        by_query(scores if way == "x2y" else np.ascontiguousarray(scores.T), judged, metric)
        for way, judged in (("x2y", relevance), ("y2x", relevance.T))
        if way in directions
    ]
    return np.concatenate(sides)


def by_query(scores: Array, relevance: Relevance, metric: str) -> Array:
    from simviz.ranking import Ranking, expected_average_precision, expected_ndcg_at, rank_block

    judged = relevance.positives
    above, tied, _ = rank_block(scores, judged.indptr, judged.indices)
    n_candidates = np.full(judged.shape[0], judged.shape[1])
    ranking = Ranking(judged.indptr, judged.indices, judged.data, above, tied, n_candidates)
    if metric == "NDCG":
        values = expected_ndcg_at(ranking, judged.shape[1])
    else:
        values = expected_average_precision(ranking)
    return values[~np.isnan(values)]


def placements(scores: Array, relevance: Relevance) -> Array:
    """Of each relevant pair the share of other judged pairs that it stands above."""
    relevant, others = (
        np.sort(scores[part.tocoo().coords].astype(np.float64))
        for part in (relevance.positives, relevance.negatives)
    )
    below, not_above = (np.searchsorted(others, relevant, side=s) for s in ("left", "right"))
    return (below + not_above) / (2 * len(others))


class HeldOut(NamedTuple):
    """What a fit learns from, what it watches, and whether that was taken from its own data."""

    data: Data
    parts: list[Part]
    own: bool


def hold_out_parts(
    model: Any,
    data: Data,
    validation: Any,
    rng: Any,
    queries: int = _POOL,
    sides: Sequence[str] = ("x", "y"),
) -> HeldOut:
    """Watch what was given, else hold out some of the training items of these sides."""
    # Pairs are held out whole where they hang together in small groups. Else, where it is not
    # known which items will be new, some of each side are: a keyword that nobody has seen says
    # nothing of pictures, and new pictures say nothing of queries that are new.
    if validation is not None:
        return HeldOut(data, [validation_sample(validation, rng, queries)], own=False)
    divided = getattr(model, "_divided", None)
    parts: list[Part] = []
    for side in sides[::-1] if divided == "y" else sides:
        X, Y, relevance = data
        held_out = hold_out(relevance, model.validation_fraction, rng, side)
        if held_out is None:
            continue
        rows, columns, x_held, y_held = held_out
        part = X[x_held], Y[y_held], relevance.take(x_held, y_held)
        parts.append(validation_sample(part, rng, queries))
        data = X[rows], Y[columns], relevance.take(rows, columns)
        if divided or one_to_one(relevance) or not relevance.take(rows, y_held).matrix.nnz:
            break
    return HeldOut(data, parts, own=bool(parts))


def best_on_held_out(
    model: Any,
    data: Data,
    values: Sequence[float],
    path: Callable[[Matrix, Matrix, Relevance, Sequence[float]], Iterator[Any]],
    default: float,
) -> float:
    """Return the value whose model does best on held-out items, else `default`."""
    held = hold_out_parts(model, data, None, check_random_state(model.random_state))
    if not held.parts:
        return default
    fits = path(*held.data, values)
    scores = [mean_score(held_out_values(one, held.parts, ("x2y", "y2x"))) for one in fits]
    return values[int(np.argmax(scores))]


def one_to_one(relevance: Relevance) -> bool:
    """Whether no item has more than one relevant partner."""
    positives = relevance.positives
    return bool(
        np.diff(positives.indptr).max(initial=0) <= 1
        and np.bincount(positives.indices, minlength=1).max(initial=0) <= 1
    )


def split_validation(model: Any, data: Data, validation: Any, rng: Any) -> tuple[Data, Any]:
    """Training items, and some of the validation items: those given, else those held out."""
    side = getattr(model, "_divided", None) or "x"
    held = hold_out_parts(model, data, validation, rng, sides=(side,))
    return held.data, held.parts[0] if held.parts else None


def validation_sample(
    validation: tuple[Matrix, Matrix, object], rng: Any, queries: int = _POOL
) -> tuple[Matrix, Matrix, Relevance]:
    """At most so many queries, and a pool of candidates with the relevant ones among them."""
    # Raises ValueError where nothing is left to compare.
    X, Y, relevance = validation
    judged = Relevance.coerce(relevance, X.shape[0], Y.shape[0])
    rows, columns = np.arange(X.shape[0]), np.arange(Y.shape[0])
    if len(rows) > queries:
        rows = np.sort(rng.permutation(rows)[:queries])
    if len(columns) > _POOL:
        needed = np.unique(judged.matrix[rows].indices)
        if len(needed) > _POOL:
            # Their scores are held at once: fewer queries, lest many partners fill the memory.
            rows = rng.permutation(rows)
            partners = np.cumsum(np.diff(judged.matrix[rows].indptr))
            rows = np.sort(rows[: max(_FEWEST, int(np.searchsorted(partners, _POOL)))])
            needed = np.unique(judged.matrix[rows].indices)
        others = rng.permutation(np.setdiff1d(columns, needed))
        columns = np.sort(np.r_[needed, others[: max(0, _POOL - len(needed))]])
    watched = judged.take(rows, columns)
    needs_negatives = watched.unjudged == "ignore"
    if not watched.positives.nnz or (needs_negatives and not watched.negatives.nnz):
        raise ValueError(
            "A validation set compares relevant pairs with others; got "
            f"{watched.positives.nnz} relevant and {watched.negatives.nnz} judged not relevant. "
            "Bring pairs that belong together, and others where unjudged pairs are ignored."
        )
    return X[rows], Y[columns], watched


def hold_out(
    relevance: Relevance, fraction: float, rng: Any, side: str = "x"
) -> tuple[Any, Any, Any, Any] | None:
    """Rows and columns to learn from, and those to watch, where some of a side are held out."""
    if side == "y":
        parts = hold_out(relevance.T, fraction, rng)
        return parts and (parts[1], parts[0], parts[3], parts[2])
    # Queries are held out; their partners too where nobody else has them, so that one-to-one
    # pairs stay whole.
    matrix = relevance.matrix
    queries = np.flatnonzero((np.diff(matrix.indptr) > 0) & ~relevance.only_rejected)
    n = round(fraction * len(queries))
    if n < _FEWEST or n == len(queries):
        return None
    held = np.zeros(matrix.shape[0], dtype=bool)
    held[_whole_groups(matrix, rng.permutation(queries), n)] = True
    watched, learned = relevance.take(held.nonzero()[0]), relevance.take((~held).nonzero()[0])
    judged = relevance.unjudged == "ignore"
    if not watched.positives.nnz or (judged and not watched.negatives.nnz):
        return None
    seen, spared = (np.diff(r.T.matrix.indptr) > 0 for r in (learned, watched))
    # Candidates of one query are new with it; those of many are all there always.
    alone = not (seen & spared).any()
    columns = spared.nonzero()[0] if alone else np.arange(matrix.shape[1])
    return (~held).nonzero()[0], (seen | ~spared).nonzero()[0], held.nonzero()[0], columns


def _whole_groups(matrix: sp.csr_array, order: Any, n: int) -> Any:
    """The first n queries of an order, those that share partners together."""
    # A query whose neighbours were learned from is easier than a new one. Where a group is more
    # than half of what is held out, queries are taken one by one.
    links = sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    _, label = connected_components(sp.block_array([[None, links], [links.T, None]]), False)
    _, first, group, sizes = np.unique(
        label[order], return_index=True, return_inverse=True, return_counts=True
    )
    if 2 * sizes.max() > n:
        return order[:n]
    by_place = np.argsort(first)
    taken = np.zeros(len(sizes), dtype=bool)
    taken[by_place] = np.cumsum(sizes[by_place]) <= n
    return order[taken[group]]


def initial_model(model: Any, data: Data, *, shared: bool) -> tuple[LinearPairModel, bool]:
    """Resolve ``model.init``: fit what is named or not fitted, cut what is too large."""
    # Answers with the model, and whether a callback has asked to stop meanwhile.
    linear: LinearPairModel = model.init
    stopped = False

    def notify(*_: Any) -> bool:
        nonlocal stopped
        stopped = stopped or model._notify(0, model.max_iter)
        return stopped

    if isinstance(model.init, str):
        from simviz.methods import get_method

        cls = get_method(model.init)
        known = cls._get_param_names()
        same = {name: getattr(model, name) for name in ("n_components", "random_state")}
        expected = {"shared": shared, **same}
        linear = cls(**{name: value for name, value in expected.items() if name in known})
    elif not hasattr(linear, "x_projection_"):
        linear = clone(linear)
    if not hasattr(linear, "x_projection_"):
        linear.set_callbacks(notify)
        with fewer_components_unwarned():
            linear.fit(*data)
        linear.set_callbacks()
    widths = linear.x_projection_.shape[0], linear.y_projection_.shape[0]
    shape = data[0].shape[1], data[1].shape[1]
    if widths != shape:
        raise ValueError(
            f"init was fitted on {widths[0]} and {widths[1]} features, X and y have "
            f"{shape[0]} and {shape[1]}. Fit it on the same features."
        )
    k = linear.n_components_
    if k > model.n_components and linear.tags.nested:
        return linear.truncate(model.n_components), stopped
    if k < model.n_components and not is_default(model):
        warnings.warn(
            f"{type(model).__name__}: n_components={model.n_components} is more than the data "
            f"can give {type(linear).__name__} to start from, {k} are kept.",
            UserWarning,
            stacklevel=4,
        )
    return linear, stopped


def torch_device(name: str) -> str:
    """The device that a parameter asks for."""
    if name == "cpu" or (name == "auto" and missing(["torch"])):
        return "cpu"
    if name == "auto" and version("torch").endswith("+cpu"):  # importing it takes 200 MB
        return "cpu"
    require("neural", f"device={name!r}")
    import torch

    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ValueError(
            "device='cuda' needs a GPU that torch can use, and found none. "
            "Use device='auto' or 'cpu'."
        )
    return "cuda" if there else "cpu"
