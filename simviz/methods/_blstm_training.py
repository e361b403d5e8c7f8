"""Steps of Adam, and encoding, on texts of like lengths."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from simviz._types import Array
from simviz.base import unit_rows
from simviz.methods._blstm_network import (
    UNKNOWN,
    Dropout,
    Shape,
    Texts,
    as_texts,
    distinct,
    encode,
    known_characters,
    read_ids,
    threads_for,
)
from simviz.methods._spectral import pair_weights
from simviz.methods._training import (
    Values,
    Watch,
    default_directions,
    held_out_values,
    hold_out,
    validation_sample,
)
from simviz.relevance import Relevance

_FEWEST, _SMALLEST = 8, 64  # batches of a pass, unless they were smaller than this
_PARTNERS = 3  # of a query in one batch, where it has so many
_MAX_READINGS = 8  # a query is read in a pass
_NEAR = 8  # queries that stand together in a batch of near groups
_BLOCK = 1024

Tensor = Any
Index = NDArray[np.int64]
Tick = Callable[[], None]

_CHUNK = 64  # texts of like lengths that are read together in training
_MANY = 256  # the same without gradients
_MANY_ON_GPU = 1024
_RATIO = 4  # of what negatives and positives weigh in the contrastive loss, at most


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts of both sides, and which of their pairs count."""

    x: Index
    y: Index
    positive: NDArray[np.floating]
    negative: NDArray[np.floating]


class Batches:
    """Batches of pairs whose other items are negatives of one another."""

    def __init__(
        self,
        relevance: Relevance,
        texts: tuple[Index, Index] | None,
        size: int,
        n_negatives: int | None,
        rng: Any,
    ) -> None:
        self.texts, self.n_negatives, self.rng = texts, n_negatives, rng
        self.positives = relevance.positives
        self.judged = relevance.negatives if relevance.unjudged == "ignore" else None
        # Where unjudged pairs are negative: pairs that were judged so, and are read with their
        # queries. Of queries without any relevant item they are all that is known.
        rejected = relevance.negatives
        self.rejected = rejected if self.judged is None and rejected.nnz else None
        self.only_rejected = relevance.only_rejected
        pairs = self.positives.tocoo()
        self.pairs = np.stack([pairs.row, pairs.col], axis=1).astype(np.int64)
        self.alone = False  # whether no text has any partner but itself
        if texts is not None:
            other = texts[0][self.pairs[:, 0]] != texts[1][self.pairs[:, 1]]
            self.alone = not other.any()
            self.pairs = self.pairs if self.alone else self.pairs[other]
            n = 1 + max(int(side.max()) for side in texts)
            self.item_of = [_item_of(side, n) for side in texts]
        if self.rejected is not None:
            askers = np.ones(len(self.pairs)), (self.pairs[:, 1], self.pairs[:, 0])
            self.askers = sp.csr_array(askers, shape=relevance.shape[::-1])
        counts = np.bincount(self.pairs[:, 0], minlength=relevance.shape[0])
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        queries = np.flatnonzero((counts > 0) | self.only_rejected)
        readings = _readings(self.positives, None if self.rejected is None else rejected)
        self.queries = np.repeat(queries, readings[queries])
        n_texts = len(queries) + len(np.unique(self.pairs[:, 1]))
        if self.judged is not None:
            wrong = self.judged.tocoo()
            self.wrong = np.stack([wrong.row, wrong.col], axis=1).astype(np.int64)
            ratio = len(self.wrong) if n_negatives is None else n_negatives
            self.n_wrong = min(len(self.wrong), max(1, ratio * len(self.pairs)))
            n_texts = 2 * (len(self.pairs) + self.n_wrong)
        elif texts is not None:
            n_texts = len(np.unique(np.r_[texts[0][queries], texts[1][self.pairs[:, 1]]]))
        self.size = _batch_size(size, n_texts)
        self.n = max(1, n_texts // self.size)

    def epoch(self, near: NDArray[np.floating] | None = None) -> Iterator[Batch]:
        """Read every query about once, or go through judged pairs."""
        # A query whose best grade is some times the usual one is read as often.
        for x, y in self._judged() if self.judged is not None else self._groups(near):
            yield self._batch(np.unique(x), np.unique(y))

    def _judged(self) -> Iterator[tuple[Index, Index]]:
        drawn = self.wrong[self.rng.permutation(len(self.wrong))[: self.n_wrong]]
        both = np.concatenate([self.pairs, drawn])
        for part in np.array_split(both[self.rng.permutation(len(both))], self.n):
            yield part[:, 0], part[:, 1]

    def _groups(self, near: NDArray[np.floating] | None) -> Iterator[tuple[Index, Index]]:
        """Queries with some partners each, until a batch is full."""
        queries = self.rng.permutation(self.queries)
        if near is not None:
            queries = group_near_queries(queries, near[queries], self.rng)
        read = np.zeros(self.positives.shape[0], dtype=bool)
        x: list[int] = []
        y: list[Index] = []
        n, ended_early = 0, False
        for query in queries:
            if read[query]:
                continue
            partners = self._partners(query)
            if self.texts is not None:
                # A partner that is a query itself is compared as one, too.
                also = self.item_of[0][self.texts[1][partners]]
                read[also[also >= 0]] = True
            x.append(query)
            y.append(partners)
            n += 1 + len(partners)
            if self.rejected is not None:
                # With each a query to which it is relevant, so that it has what is above.
                wrong = self._some(self.rejected, query)
                askers = [q for item in wrong for q in self._some(self.askers, item, 1)]
                x += askers
                y.append(wrong)
                n += len(wrong) + len(askers)
            if n >= self.size:
                yield np.array(x), np.concatenate(y)
                x, y, n, ended_early = [], [], 0, True
        # A few that are left over have hardly any negatives; the next pass has them.
        if x and (not ended_early or n > self.size // 2):
            yield np.array(x), np.concatenate(y)

    def _partners(self, query: int) -> Index:
        start, stop = self.starts[query], self.starts[query + 1]
        if stop - start <= _PARTNERS:
            return self.pairs[start:stop, 1]
        drawn = start + self.rng.random_sample(_PARTNERS) * (stop - start)
        return np.unique(self.pairs[drawn.astype(np.int64), 1])

    def _some(self, matrix: sp.csr_array, row: int, limit: int = _PARTNERS) -> Index:
        stored = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        return np.sort(self.rng.permutation(stored)[:limit]).astype(np.int64)

    def _batch(self, x: Index, y: Index) -> Batch:
        same = None
        if self.texts is not None:
            read = np.unique(np.concatenate([self.texts[0][x], self.texts[1][y]]))
            x, y = (np.union1d(side, of[read][of[read] >= 0]) for side, of in
                    zip((x, y), self.item_of, strict=True))  # fmt: skip
            same = np.equal.outer(self.texts[0][x], self.texts[1][y])
        positive = self.positives[x][:, y].toarray() > 0
        negative = ~positive if self.judged is None else self.judged[x][:, y].toarray() > 0
        wrong = None
        if self.rejected is not None:
            wrong = self.rejected[x][:, y].toarray() > 0
            negative &= wrong | ~self.only_rejected[x][:, None]
        if same is not None:
            negative &= ~same
            positive &= ~same | self.alone
        weights = negative.astype(np.float32)
        if self.n_negatives is not None and (n := negative.sum()):
            share = self.n_negatives * positive.sum() / n
            if share < 1:
                weights *= self.rng.random_sample(weights.shape) < share
        if wrong is not None:
            weights[wrong & negative] = 1
        return Batch(x, y, positive.astype(np.float32), weights)


def _batch_size(size: int, n_texts: int) -> int:
    return min(size, max(_SMALLEST, n_texts // _FEWEST))


def _readings(positives: sp.csr_array, rejected: sp.csr_array | None = None) -> Index:
    median = np.median(positives.data) if positives.nnz else 1.0
    best = positives.max(axis=1).toarray().ravel()
    if rejected is not None:
        best = np.maximum(best, rejected.max(axis=1).toarray().ravel())
    return np.clip(np.rint(best / median), 1, _MAX_READINGS).astype(np.int64)


def _item_of(texts: Index, n: int) -> Index:
    """An item with each text; −1 for none."""
    items = np.full(n, -1, dtype=np.int64)
    items[texts] = np.arange(len(texts))
    return items


def group_near_queries(queries: Index, near: NDArray[np.floating], rng: Any) -> Index:
    """Reorder queries so that each is followed by near ones."""
    n = len(queries)
    n_near = min(n, 4 * _NEAR)
    neighbors = np.empty((n, n_near), dtype=np.int64)
    for start in range(0, n, _BLOCK):
        block = -(near[start : start + _BLOCK] @ near.T)
        neighbors[start : start + _BLOCK] = np.argpartition(block, n_near - 1, axis=1)[:, :n_near]
    left = np.ones(n, dtype=bool)
    bunches = []
    for seed in range(n):
        if left[seed]:
            left[seed] = False
            free = neighbors[seed][left[neighbors[seed]]]
            others = free[np.argsort(-(near[free] @ near[seed]))][: _NEAR - 1]
            left[others] = False
            bunches.append(np.concatenate([[seed], others]))
    return queries[np.concatenate([bunches[i] for i in rng.permutation(len(bunches))])]


def hold_out_groups(
    relevance: Relevance, texts: tuple[Index, Index], fraction: float, rng: Any
) -> tuple[Index, Index, Index, Index] | None:
    """Divide groups of texts into those to learn from and those to watch."""
    x, y = texts
    if np.isin(y, x).mean() < 0.5:
        return None
    pairs = relevance.positives.tocoo()
    n = 1 + max(int(x.max()), int(y.max()))
    graph = sp.coo_array((np.ones(pairs.nnz), (x[pairs.row], y[pairs.col])), shape=(n, n))
    group = connected_components(graph, directed=False)[1]
    sizes = np.bincount(group[x], minlength=group.max() + 1)
    if sizes.max() > len(x) / 4 or (sizes > 1).sum() < 20:
        return None
    order = rng.permutation(len(sizes))
    held = np.zeros(len(sizes), dtype=bool)
    held[order[np.cumsum(sizes[order]) <= fraction * len(x)]] = True
    if held[group[x]].sum() < 20:
        return None
    rows, columns = held[group[x]] & ~relevance.only_rejected, held[group[y]]
    return tuple(np.flatnonzero(part) for part in (~rows, ~columns, rows, columns))  # type: ignore[return-value]


def negative_loss(E: Tensor, form: str, margin: float) -> Tensor:
    """What the cosine of a pair that does not belong together costs."""
    if form == "hinge":
        return (E - margin).clamp(min=0).square()
    squares = E.square()
    if form == "above":
        return squares * (E > margin)
    if form == "below":
        return squares * (E < margin)
    return squares


def contrastive(E: Tensor, P: Tensor, N: Tensor, form: str, margin: float) -> Tensor:
    """¼(1 − E)² of pairs that belong together, and `negative_loss` of others."""
    total = 0.25 * (P * (1 - E).square()).sum() + (N * negative_loss(E, form, margin)).sum()
    return total / (P.sum() + N.sum()).clamp(min=1)


def triplet(E: Tensor, P: Tensor, N: Tensor, margin: float) -> Tensor:
    """max(0, m − E⁺ + E⁻), over the negatives of the row of each positive pair."""
    rows, columns = P.nonzero(as_tuple=True)
    gaps = (margin - E[rows, columns, None] + E[rows]).clamp(min=0) * N[rows]
    return gaps.sum() / (gaps > 0).sum().clamp(min=1)


def softmax(E: Tensor, P: Tensor, N: Tensor, scale: float) -> Tensor:
    """log(1 + Σ exp(γ(E⁻ − E⁺))), over all negatives of the row of a positive pair."""
    from torch.nn.functional import softplus

    # Not −∞, whose gradient is no number in a row without negatives.
    others = (scale * E + N.log().clamp(min=-1e4)).logsumexp(dim=1)
    rows, columns = P.nonzero(as_tuple=True)
    costs = softplus(others[rows] - scale * E[rows, columns])
    return costs.sum() / max(1, len(rows))


def batch_loss(model: Any, E: Tensor, P: Tensor, N: Tensor, *, pooled: bool) -> Tensor:
    """What is minimised; `pooled` pairs are compared whatever their rows are."""
    if model.loss == "contrastive":
        # All pairs of a batch are mostly negative: as many as are sampled weigh as much.
        N = N * (_RATIO * P.sum() / N.sum().clamp(min=1)).clamp(max=1)
        return contrastive(E, P, N, model.negative_loss, model.margin)
    way, width = (softmax, model.gamma) if model.loss == "softmax" else (triplet, model.margin)
    if pooled:
        E, P, N = (part.reshape(1, -1) for part in (E, P, N))
        return way(E, P, N, width)
    return 0.5 * (way(E, P, N, width) + way(E.T, P.T, N.T, width))


@dataclass(frozen=True, slots=True)
class Encoder:
    """Reads texts by a network."""

    shape: Shape
    fixed: int | None
    device: str

    def chunks(self, texts: Texts, rows: Index, size: int) -> Iterator[Index]:
        """Positions in `rows`, texts of like lengths together."""
        if self.device != "cpu":  # a GPU takes as long for a few as for many
            size = max(size, _MANY_ON_GPU)
        order = np.argsort(texts.lengths[rows], kind="stable")
        yield from np.array_split(order, max(1, -(-len(rows) // size)))

    def read(
        self,
        parts: Mapping[str, Any],
        texts: Texts,
        rows: Index,
        size: int,
        tick: Tick,
        noise: tuple[Dropout | None, Any] = (None, None),
    ) -> Any:
        import torch

        encoded, places = [], []
        dropout, rng = noise
        for chunk in self.chunks(texts, rows, size):
            tick()
            ids, lengths = (
                torch.from_numpy(part).to(self.device)
                for part in texts.steps(rows[chunk], self.fixed, rng)
            )
            if dropout is not None:
                ids = dropout.obscure(ids, UNKNOWN)
            with threads_for(ids.shape[1] * self.shape.hidden_units):
                encoded.append(encode(parts, self.shape, ids, lengths, dropout))
            if encoded[-1].requires_grad:
                # On the way back, which is the longer one, it can be stopped as well.
                encoded[-1].register_hook(lambda _: tick())
            places.append(chunk)
        back = np.argsort(np.concatenate(places), kind="stable")
        return torch.cat(encoded)[torch.from_numpy(back).to(self.device)]

    def split(self, theta: Array) -> dict[str, Array]:
        import torch

        parts = self.shape.split(torch.from_numpy(np.ascontiguousarray(theta)))
        return {name: part.numpy() for name, part in parts.items()}

    def vectors(self, arrays: Mapping[str, Array], texts: Texts, tick: Tick) -> Array:
        import torch

        with torch.inference_mode():
            parts = {k: torch.from_numpy(v).to(self.device) for k, v in arrays.items()}
            Z = self.read(parts, texts, np.arange(len(texts)), _MANY, tick).cpu().numpy()
        Z[texts.lengths == 0] = 0
        return np.asarray(Z)


class Trainer:
    """Adam on batches of texts, and the running average of its points where `model` wants it."""

    def __init__(self, model: Any, reader: Encoder, data: Data, rng: Any) -> None:
        import torch

        self.model, self.reader, self.data = model, reader, data
        generator = torch.Generator(reader.device).manual_seed(int(rng.randint(2**31)))
        shares = model.dropout, model.recurrent_dropout, model.character_dropout
        self.noise = Dropout(*shares, generator), rng

    def loss(self, theta: Any, batch: Batch, tick: Tick) -> Any:
        """Loss of a batch as a tensor; `theta` holds one row a network."""
        import torch
        from torch.nn.functional import normalize

        needed = [(network, place[rows]) for (network, place), rows in
                  zip(self.data.items, (batch.x, batch.y), strict=True)]  # fmt: skip
        vectors: list[Any] = [None, None]
        for network, texts in enumerate(self.data.texts):
            sides = [side for side in (0, 1) if needed[side][0] == network]
            rows, place = np.unique(
                np.concatenate([needed[side][1] for side in sides]), return_inverse=True
            )
            parts = self.reader.shape.split(theta[network])
            Z = normalize(self.reader.read(parts, texts, rows, _CHUNK, tick, self.noise))
            ends = np.cumsum([len(needed[side][1]) for side in sides])[:-1]
            for side, at in zip(sides, np.split(place, ends), strict=True):
                vectors[side] = Z[torch.from_numpy(at).to(Z.device)]
        E = vectors[0] @ vectors[1].T
        P, N = (torch.from_numpy(w).to(E) for w in (batch.positive, batch.negative))
        pooled = self.data.relevance.unjudged == "ignore"
        return batch_loss(self.model, E, P, N, pooled=pooled)

    def iterate(
        self, start: Array, batches: Batches, tick: Tick, near: Callable[[Array], Any]
    ) -> Iterator[tuple[float, Array]]:
        import torch

        theta = torch.from_numpy(start.copy()).to(self.reader.device).requires_grad_()
        point = theta.detach()
        average, mean, square = point.clone(), torch.zeros_like(point), torch.zeros_like(point)
        longest, step = self.model.max_gradient, 0
        while True:
            costs = []
            for batch in batches.epoch(near(average.cpu().numpy())):
                with threads_for(len(batch.positive) * self.reader.shape.hidden_units):
                    loss = self.loss(theta, batch, tick)
                    (gradient,) = torch.autograd.grad(loss, theta)
                step += 1
                if longest is not None:
                    gradient.mul_(min(1.0, longest / max(float(gradient.norm()), 1e-12)))
                mean.lerp_(gradient, 0.1)
                square.lerp_(gradient.square(), 0.001)
                scale = (square / (1 - 0.999**step)).sqrt_().add_(1e-8)
                point.addcdiv_(mean, scale, value=-self.model.learning_rate / (1 - 0.9**step))
                # The average looks back about one pass, but never at the very beginning.
                share = max(1 / step, 1 / (1 + batches.n)) if self.model.averaging else 1.0
                average.lerp_(point, share)
                costs.append(float(loss.detach()))
            yield float(np.mean(costs)), average.cpu().numpy()


@dataclass(frozen=True, slots=True)
class Data:
    """What a fit learns from."""

    characters: list[Index]
    texts: list[Texts]
    items: list[tuple[int, Index]]
    relevance: Relevance
    validation: Any

    @property
    def same(self) -> tuple[Index, Index] | None:
        """Numbers of the texts of both sides, where equal ones are equal texts."""
        return (self.items[0][1], self.items[1][1]) if len(self.texts) == 1 else None


def prepare(model: Any, data: tuple[Any, Any, Relevance], validation: Any, rng: Any) -> Data:
    """Read rows as texts, each once, and hold some out where none are given to watch."""
    X, Y, relevance = data
    pair_weights(model, relevance)  # refuses judgments without any relevant pair
    ids = [read_ids(side, model.max_length) for side in (X, Y)]
    if model.shared:
        known = [known_characters(*ids)] * 2
        both, places = distinct([as_texts(side, known[0]) for side in ids])
        texts, items = [both], [(0, place) for place in places]
    else:
        known = [known_characters(side) for side in ids]
        distinct_texts = [distinct([as_texts(*side)]) for side in zip(ids, known, strict=True)]
        texts = [side for side, _ in distinct_texts]
        items = [(network, places[0]) for network, (_, places) in enumerate(distinct_texts)]
    if validation is None:
        parts = None
        if model.shared:
            same = items[0][1], items[1][1]
            parts = hold_out_groups(relevance, same, model.validation_fraction, rng)
        side = getattr(model, "_divided", None) or "x"
        parts = parts or hold_out(relevance, model.validation_fraction, rng, side)
        if parts is not None:
            *train, x_held, y_held = parts
            validation = X[x_held], Y[y_held], relevance.take(x_held, y_held)
            relevance = relevance.take(*train)
            items = [(network, place[k]) for (network, place), k in zip(items, train, strict=True)]
    if validation is not None:
        validation = validation_sample(validation, rng)
    return Data(known, texts, items, relevance, validation)


def _begin(
    model: Any, reader: Encoder, data: Data, dtype: Any, rng: Any
) -> tuple[Array, Trainer, Batches]:
    """Random parameters, and what makes steps from them."""
    common = len(data.texts) == 1
    start = np.stack([reader.shape.start(rng, common=common) for _ in data.texts]).astype(dtype)
    trainer = Trainer(model, reader, data, rng)
    batches = Batches(data.relevance, data.same, model.batch_size, model.n_negatives, rng)
    return start, trainer, batches


def seconds_per_text(model: Any, X: Any, Y: Any, n_texts: int) -> float:
    """Time that training takes to read a text once, there and back, from steps on a few pairs."""
    size = _batch_size(model.batch_size, n_texts)
    n = max(1, min(size // 2, _CHUNK, X.shape[0], Y.shape[0]))  # larger batches come in pieces
    rng = np.random.RandomState(0)
    trial = clone(model).set_params(validation_fraction=0.0)
    data = prepare(trial, (X[:n], Y[:n], Relevance.identity(n)), None, rng)
    trial.x_characters_, trial.y_characters_ = data.characters
    start, trainer, batches = _begin(trial, trial._reader(), data, X.dtype, rng)
    batches.size = 2 * n  # all in one batch
    passes = trainer.iterate(start, batches, lambda: None, lambda _: None)
    moments = []
    for _ in range(4):  # the first one loads torch and takes memory
        next(passes)
        moments.append(time.perf_counter())
    return float(np.median(np.diff(moments))) / (2 * n)


def train_network(model: Any, reader: Encoder, data: Data, dtype: Any, rng: Any) -> Watch:
    start, trainer, batches = _begin(model, reader, data, dtype, rng)

    directions = default_directions(data.relevance)

    def values(theta: NDArray[Any]) -> Values:
        model._take(theta)
        return held_out_values(model, [data.validation], directions)

    def near(theta: NDArray[Any]) -> NDArray[Any] | None:
        if not model.near_groups:
            return None
        network, place = data.items[0]
        arrays = reader.split(theta[network])
        vectors = reader.vectors(arrays, data.texts[network], watch.tick)
        return np.asarray(unit_rows(vectors)[place])

    watched = None if data.validation is None else values
    watch = Watch(start, model._notify, watched, (model.max_iter, model.patience))
    model._tick = watch.tick
    try:
        watch.follow(trainer.iterate(start, batches, watch.tick, near), report=True)
    finally:
        del model._tick
    return watch
