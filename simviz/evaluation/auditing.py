"""Which given pairs are wrong, by what models believe that never saw them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from simviz._types import Index, Reals
from simviz.callbacks import Callback, within
from simviz.data.description import plain_text
from simviz.data.health.near_duplicates import near_pairs
from simviz.data.pairs import Items, PairSet, as_pairs
from simviz.data.splitting import suggest_split
from simviz.evaluation._tuning_fits import PairUnits, UnitBy
from simviz.exceptions import DatasetError, JobCancelled
from simviz.explain.terms import explain
from simviz.pipeline import PairPipeline, default_pipeline, same_vocabulary
from simviz.relevance import Relevance

if TYPE_CHECKING:
    import pandas as pd

#: Above this probability a pair is listed.
LISTED = 0.5
#: Fewer pairs than this teach no model what belongs together.
_FEWEST = 30
#: Best others of an item that are kept: its neighbourhood.
_NEAREST = 10
#: Share of the pairs that a run swaps, and how many at least, up to a tenth.
_SWAPPED, _MIN_SWAPPED = 0.05, 10
#: Pairs of all runs together, and runs at least and at most.
_ROWS, _RUNS = 2_000, (2, 3)
#: Folds of a run; fewer above so many pairs.
_FOLDS, _FEW_FOLDS, _MANY = 5, 3, 5_000
#: Before anything is seen: the share of wrong pairs, and how many pairs that counts as.
_PRIOR, _WEIGHT = 0.03, 33
#: Inverse ridges of the logistic models of the features and of the evidence; rounds of the latter.
_FREEDOM, _LINE, _STEPS = 0.03, 10.0, 60
#: Scores of a block; pairs whose terms are named, and terms of each.
_ENTRIES, _EXPLAINED, _TERMS = 2**22, 500, 3
#: The quantile of margins that stands for that of an item without a pair.
_UNOWNED, _TINY = 0.01, 1e-9
#: Quartile ranges from the middle beyond which features are not told apart.
_FAR = 6.0
#: What the other features are multiplied by, so that margins alone are believed first.
_BESIDE = 0.5
#: Sides were exchanged where a score is among so many lowest, but usual the other way round; the
#: method that says so; and the probability that it gets.
_DOUBTED, _EXCHANGING, _SURE = 0.1, "opca", 0.95
#: Average precision of swapped pairs below which models know little of the data.
LITTLE = 0.3


def audit(pairs: Any, *, seed: int = 0, callback: Callback | None = None) -> pd.DataFrame:
    r"""Say of each given pair how likely it is wrong, and what would suit better.

    Models judge the pairs of folds that they did not learn from. What wrong pairs look like to
    them is learned from pairs that are swapped on purpose, so that probabilities hold for these
    data.

    Parameters
    ----------
    pairs : PairSet or ReadResult
        At least 30 relevant pairs.
    seed : int, default=0
        Of the folds and of the pairs that are swapped.
    callback : callable, optional
        See `simviz.callbacks`.

    Returns
    -------
    pandas.DataFrame
        A row a relevant pair, the most suspicious first: "x_id", "y_id", "x", "y", "grade",
        "probability_wrong", "kind"; the items that suit better than the given one,
        "better_y_id", "better_y", "better_x_id", "better_x"; and "why": terms that speak for
        the better y. `attrs` holds "share_wrong", an estimate; "precision", the average
        precision at which swapped pairs are found; and "notes": what cannot be known.

    Raises
    ------
    DatasetError
        If there are too few pairs, or no fold of them can be held out.
    JobCancelled
        If `callback` asked to stop.

    Notes
    -----
    Kinds of pairs that are wrong with a probability above one half are "swapped partner",
    "near-duplicate with another partner" (an item that says nearly the same has the better
    partner), "sides exchanged", and "like no other pair" where nothing suits better. Of the
    other pairs, "missing positive" says that x has a further partner, which was not given, and
    both believe it as usual pairs are believed. What was judged not relevant is not proposed.

    Log odds of wrong to right pairs are linear in what margins say. Of the given pairs nobody
    knows which are wrong: logistic regression against contaminated controls [1]_ finds odds and
    the share of wrong pairs together, by expectation maximisation.

    References
    ----------
    .. [1] T. Lancaster & G. Imbens. "Case-control studies with contaminated controls." Journal
       of Econometrics 71 (1996), 145-160.

    Examples
    --------
    >>> from simviz import PairSet
    >>> colours = ("red", "blue", "green", "white", "black", "yellow")
    >>> x = [f"{a} {b}" for a in colours for b in ("car", "house", "flower", "ship", "dress")]
    >>> y = [f"the {text}" for text in x]
    >>> y[3], y[22] = y[22], y[3]
    >>> found = audit(PairSet.from_texts(x, y))
    >>> sorted(found.head(2)["better_y"])
    ['the black flower', 'the red ship']
    """
    pairs = as_pairs(pairs)
    if text := why_no_audit(pairs):
        raise DatasetError(text)
    how = suggest_split(pairs)
    by: UnitBy = how.by if how.by in ("x", "y", "group") else "pair"
    key = how.group_key if by == "group" else None
    is_turned = by == "y" or (key is not None and key not in pairs.x.metadata)
    if is_turned:  # folds are of x items
        pairs, by = pairs.swap(), "x" if by == "y" else by
    runs = _runs(pairs, by, key, seed, callback)
    probability, share, precision = _judge(runs)
    exchanged = _exchanged(runs)
    probability[exchanged] = np.maximum(probability[exchanged], _SURE)
    frame = _frame(pairs, runs, probability, exchanged)
    if is_turned:
        other = {"x": "y", "y": "x"}
        names = {name: "_".join(other.get(w, w) for w in name.split("_")) for name in frame}
        frame = frame.rename(columns=names)[list(frame)]
    notes = _notes(pairs, runs, precision)
    frame.attrs = {"share_wrong": share, "precision": precision, "notes": notes}
    return frame


def why_no_audit(pairs: PairSet) -> str:
    """Why there are too few pairs to judge by; empty where there are enough."""
    n = pairs.relevance.positives.nnz
    return f"An audit learns from {_FEWEST} relevant pairs or more; here are {n}." * (n < _FEWEST)


def fits_of_audit(pairs: PairSet) -> tuple[list[str], int, int]:
    """Methods that an audit of such pairs fits, in how many runs of how many folds."""
    n = pairs.relevance.positives.nnz
    n_runs = int(np.clip(np.ceil(_ROWS / n), *_RUNS))
    return _methods(pairs), n_runs, _FOLDS if n <= _MANY else _FEW_FOLDS


@dataclass(frozen=True, eq=False)
class _Seen:
    """The pairs of a run as one method sees them, by models that did not learn from them."""

    method: str
    cells: Index  # x item and y item of each pair
    own: Reals
    exchanged: Reals  # scores with the sides exchanged; NaN where that says nothing
    x_near: tuple[Index, Reals]  # of each x item the best others, and their scores
    y_near: tuple[Index, Reals]

    @property
    def near(self) -> tuple[tuple[Index, Reals], tuple[Index, Reals]]:
        return self.x_near, self.y_near

    @cached_property
    def local(self) -> tuple[Reals, Reals]:
        """Half of how near the neighbours of each x item and each y item are."""
        x, y = (near.mean(axis=1) / 2 for _, near in self.near)
        return x, y

    @cached_property
    def margin(self) -> Reals:
        """Scores less what both items have in their neighbourhoods: hubs are near to all."""
        x, y = self.cells.T
        return np.asarray(self.own - self.local[0][x] - self.local[1][y])

    @cached_property
    def margins(self) -> tuple[Reals, Reals]:
        """The same of the best others of each x item, and of each y item."""
        x, y = self.local
        of_x = self.x_near[1] - x[:, None] - y[self.x_near[0]]
        return of_x, self.y_near[1] - y[:, None] - x[self.y_near[0]]

    def features(self) -> Reals:
        """Margins, alone, beside the best others, and with others beside their own pairs."""
        columns = [self.margin]
        none = np.quantile(self.margin, _UNOWNED)
        for side, (others, _) in enumerate(self.near):
            at, partner = self.cells[:, side], self.cells[:, 1 - side]
            owned = np.full(len(self.local[1 - side]), none)
            np.maximum.at(owned, partner, self.margin)
            margins = self.margins[side]
            columns.append(margins.max(axis=1)[at] - self.margin)
            columns.append((margins - owned[others]).max(axis=1)[at])
        features = np.stack(columns, axis=1)
        low, middle, high = np.quantile(features, (0.25, 0.5, 0.75), axis=0)
        scaled = (features - middle) / np.maximum(high - low, _TINY)
        weight = np.where(np.arange(len(columns)), _BESIDE, 1)
        return np.asarray(weight * np.clip(scaled, -_FAR, _FAR))

    @property
    def n_first(self) -> int:
        """Pairs that come before all others, on both sides."""
        best = [m.max(axis=1)[at] for m, at in zip(self.margins, self.cells.T, strict=True)]
        return int((self.margin > np.maximum(*best)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Pairs of which some are swapped, and how all are seen then."""

    swapped: NDArray[np.bool_]
    seen: list[_Seen]


def _runs(
    pairs: PairSet, by: UnitBy, group_key: str | None, seed: int, callback: Callback | None
) -> list[_Run]:
    n = pairs.relevance.positives.nnz
    methods, n_runs, n_folds = fits_of_audit(pairs)
    size = max(round(_SWAPPED * n), min(_MIN_SWAPPED, n // 10))
    # Not by the seed alone: whoever tries this out swaps pairs by such a permutation, too, and
    # would swap the very pairs of the first run.
    rng = np.random.default_rng([seed, n])
    order = rng.permutation(n)
    ends = np.linspace(0, 1, n_runs * len(methods) * n_folds + 1).tolist()
    parts = (within(callback, *ends[at : at + 2]) for at in range(len(ends) - 1))
    runs = []
    for run in range(n_runs):
        made, cells, swapped = _swap(pairs, order[size * run : size * (run + 1)])
        units = _units(made, by, group_key)
        folds = units.folds(n_folds, int(rng.integers(2**31)))
        seen = [_see(method, made, cells, units, folds, parts) for method in methods]
        runs.append(_Run(swapped, seen))
    return runs


def _check_stopped(progress: Callback) -> None:
    """Say that a fit has ended, which is asked again while its scores are computed."""
    if progress(1, 1, {}):
        raise JobCancelled("The audit was stopped.")


def _methods(pairs: PairSet) -> list[str]:
    kinds = {pairs.x.kind, pairs.y.kind}
    plain = []
    if kinds == {"text"}:
        plain = ["tfidf_cosine"]
    elif kinds == {"vector"} and same_vocabulary(pairs):
        plain = ["cosine"]
    return ["opca", "cca", *plain]


def _units(pairs: PairSet, by: UnitBy, group_key: str | None) -> PairUnits:
    """What is held out together; x items where too many pairs hang together."""
    try:
        return PairUnits.of(pairs, by, group_key)
    except DatasetError:
        return PairUnits.of(pairs, "x")


def _swap(pairs: PairSet, rows: Index) -> tuple[PairSet, Index, NDArray[np.bool_]]:
    """Exchange the y items of some pairs: half of them two by two, the others in a ring."""
    relevance = pairs.relevance
    positives, rejected = relevance.positives.tocoo(), relevance.negatives.tocoo()
    x, y = positives.row.astype(np.intp), positives.col.astype(np.intp)
    ring, twos = np.split(rows, [(len(rows) + 1) // 4 * 2 + len(rows) % 2])
    new = y.copy()
    new[ring] = y[np.roll(ring, 1)]
    new[twos[::2]], new[twos[1::2]] = y[twos[1::2]], y[twos[::2]]
    n_y = relevance.shape[1]
    swapped = ~np.isin(x * n_y + new, x * n_y + y)
    made = Relevance.from_pairs(
        np.r_[x, rejected.row],
        np.r_[new, rejected.col],
        np.r_[positives.data, rejected.data],
        shape=relevance.shape,
        unjudged=relevance.unjudged,
        kind=relevance.kind,
        threshold=relevance.threshold,
    )
    return replace(pairs, relevance=made), np.stack([x, new], axis=1), swapped


def _see(
    method: str,
    pairs: PairSet,
    cells: Index,
    units: PairUnits,
    folds: Sequence[tuple[Index, Index]],
    parts: Iterator[Callback],
) -> _Seen:
    """Score the x items of each fold against all y items, by a model of the other folds."""
    n_x, n_y = pairs.shape
    k = min(_NEAREST, n_x - 1, n_y - 1)
    x_near = np.zeros((n_x, k), dtype=np.intp), np.full((n_x, k), -np.inf)
    y_near = np.zeros((n_y, k), dtype=np.intp), np.full((n_y, k), -np.inf)
    own, exchanged = np.zeros(len(cells)), np.full(len(cells), np.nan)
    judged = pairs.relevance.matrix
    for (inside, outside), progress in zip(folds, parts, strict=False):
        pipeline = _fitted(method, units.take(inside), progress)
        _check_stopped(progress)
        held = np.flatnonzero(np.isin(cast(Index, units.x_unit), outside))
        at, n_rows = 0, max(16, _ENTRIES // n_y)
        for block in pipeline.iter_similarity(pairs.x.take(held), pairs.y, n_rows):
            _check_stopped(progress)
            rows = held[at : at + len(block)]
            at += len(block)
            scores = np.array(block, dtype=np.float32)
            place = np.full(n_x, -1, dtype=np.intp)
            place[rows] = np.arange(len(rows))
            mine = np.flatnonzero(place[cells[:, 0]] >= 0)
            own[mine] = scores[place[cells[mine, 0]], cells[mine, 1]]
            known = judged[rows].tocoo()
            scores[known.row, known.col] = -np.inf  # judged already
            if pairs.x is pairs.y:
                scores[np.arange(len(rows)), rows] = -np.inf
            _keep_best(x_near, rows, scores, np.arange(n_y))
            _keep_best(y_near, np.arange(n_y), np.ascontiguousarray(scores.T), rows)
        if method == _EXCHANGING and pipeline.y_features is not None:
            mine = np.flatnonzero(np.isin(cells[:, 0], held))
            if pairs.x.kind == pairs.y.kind == "text" and len(mine):
                x, y = pairs.x.content[cells[mine, 0]], pairs.y.content[cells[mine, 1]]
                exchanged[mine] = pipeline.score_pairs(y, x)
    for near in (x_near, y_near):
        lowest = own.min() if len(own) else 0.0
        near[1][~np.isfinite(near[1])] = lowest  # fewer others than neighbours are kept
    return _Seen(method, cells, own, exchanged, x_near, y_near)


def _fitted(method: str, pairs: PairSet, progress: Callback | None = None) -> PairPipeline:
    pipeline = default_pipeline(method, pairs)
    if progress is not None:
        pipeline.set_callbacks(progress)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small folds give fewer dimensions than are usual
        return pipeline.fit(pairs)


def _keep_best(
    near: tuple[Index, Reals], items: Index, scores: NDArray[np.float32], others: Index
) -> None:
    nearest, best = near
    k = nearest.shape[1]
    few = min(k, scores.shape[1])
    top = np.argpartition(-scores, few - 1, axis=1)[:, :few]
    top_scores = np.take_along_axis(scores, top, axis=1)
    every = np.concatenate([nearest[items], others[top]], axis=1)
    values = np.concatenate([best[items], top_scores], axis=1)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    nearest[items] = np.take_along_axis(every, order, axis=1)
    best[items] = np.take_along_axis(values, order, axis=1)


def _judge(runs: Sequence[_Run]) -> tuple[Reals, float, float]:
    """Probability that each pair is wrong, the share of wrong pairs, and what swapped ones say."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score

    rows = [np.concatenate([one.features() for one in run.seen], axis=1) for run in runs]
    swapped = np.stack([run.swapped for run in runs])
    evidence = np.empty(swapped.shape)
    for run, own in enumerate(rows):
        # Of other runs: evidence that knew which pairs are swapped would make less of wrong ones.
        others = [other for other in range(len(runs)) if other != run]
        model = LogisticRegression(C=_FREEDOM, max_iter=1_000)
        model.fit(np.concatenate([rows[other] for other in others]), swapped[others].ravel())
        evidence[run] = model.decision_function(own)
    precision = float(average_precision_score(swapped.ravel(), evidence.ravel()))
    slope, intercept, share = _calibrate(evidence[swapped], evidence[~swapped])
    # A pair is judged by the runs in which it stands as it was given.
    mean = (evidence * ~swapped).sum(axis=0) / (~swapped).sum(axis=0)
    return _probability(slope * mean + intercept, share), share, precision


def _calibrate(wrong: Reals, scores: Reals) -> tuple[float, float, float]:
    """Log odds as a line of the evidence, and the share of wrong pairs among those given."""
    from sklearn.linear_model import LogisticRegression

    # Expectation maximisation: each given pair is wrong in part, as swapped ones are wholly.
    X = np.concatenate([wrong, scores, scores])[:, None]
    is_wrong = np.arange(len(X)) < len(wrong) + len(scores)
    share, part = _PRIOR, np.full(len(scores), _PRIOR)
    model = LogisticRegression(C=_LINE)
    slope = intercept = 0.0
    for _ in range(_STEPS):
        weights = np.concatenate([np.ones(len(wrong)), part, 1 - part])
        model.fit(X, is_wrong, sample_weight=weights)
        odds = np.log((len(wrong) + part.sum()) / (1 - part).sum())
        slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0] - odds)
        part = _probability(slope * scores + intercept, share)
        share = float((part.sum() + _PRIOR * _WEIGHT) / (len(part) + _WEIGHT))
    return slope, intercept, share


def _probability(evidence: Reals, share: float) -> Reals:
    """That a pair is wrong, given the log odds of its features and the share of wrong pairs."""
    return np.asarray(expit(evidence + np.log(share / (1 - share))))


def _frame(
    pairs: PairSet, runs: Sequence[_Run], probability: Reals, exchanged: NDArray[np.bool_]
) -> pd.DataFrame:
    import pandas as pd

    # As the method sees it that puts most pairs first, in a run that has the pair as given.
    lead = int(np.argmax([one.n_first for one in runs[0].seen]))
    mine = runs[0].swapped
    views = [run.seen[lead] for run in runs[:2]]
    cells = np.where(mine[:, None], views[1].cells, views[0].cells)
    margin = np.where(mine, views[1].margin, views[0].margin)
    better = np.full(cells.shape, -1)
    median = np.median(margin)
    is_believed = np.zeros(len(cells), dtype=bool)
    known, n_y = pairs.relevance.matrix.tocoo(), len(pairs.y)

    def is_judged(side: int, others: Index) -> NDArray[np.bool_]:
        # Also where a run has given a partner of the item to another one.
        own = np.arange(len(others))[:, None]
        keys = own * n_y + others if side == 0 else others * n_y + own
        return np.isin(keys, known.row.astype(np.intp) * n_y + known.col)

    for view, rows in zip(views, (np.flatnonzero(~mine), np.flatnonzero(mine)), strict=True):
        for side, (others, _) in enumerate(view.near):
            at = cells[rows, side]
            margins = np.where(is_judged(side, others), -np.inf, view.margins[side])
            best = margins.argmax(axis=1)[at]
            best_margins = margins[at, best]
            better[rows, side] = np.where(best_margins > margin[rows], others[at, best], -1)
            if side == 0:  # and the other one has no better x
                nearest = view.y_near[0]
                first = nearest[np.arange(len(nearest)), view.margins[1].argmax(axis=1)]
                is_believed[rows] = (best_margins >= median) & (first[others[at, best]] == at)
    order = np.argsort(-probability, kind="stable")
    # A person judges by the texts, not by a label such as a picture.
    sides = pairs.x, pairs.y
    x_texts, y_texts = (s.content if s.kind == "text" else s.labels for s in sides)
    better_y, better_x = better.T
    columns: dict[str, Any] = {
        "x_id": pairs.x.ids[cells[:, 0]],
        "y_id": pairs.y.ids[cells[:, 1]],
        "x": x_texts[cells[:, 0]],
        "y": y_texts[cells[:, 1]],
        "grade": pairs.relevance.positives.data,
        "probability_wrong": probability,
        "kind": _kinds(pairs, cells, probability, exchanged, better, is_believed),
        "better_y_id": np.where(better_y < 0, "", pairs.y.ids[better_y]),
        "better_y": np.where(better_y < 0, "", y_texts[better_y]),
        "better_x_id": np.where(better_x < 0, "", pairs.x.ids[better_x]),
        "better_x": np.where(better_x < 0, "", x_texts[better_x]),
        "why": _reasons(pairs, views[0].method, cells, probability, better_y, order),
    }
    return pd.DataFrame(columns).iloc[order].reset_index(drop=True)


def _exchanged(runs: Sequence[_Run]) -> NDArray[np.bool_]:
    """Pairs that are hardly believed as given, and as usual pairs with their sides exchanged."""
    is_exchanged = np.zeros(len(runs[0].swapped), dtype=bool)
    for run in runs[:2]:
        for seen in run.seen:
            low, median = np.quantile(seen.own, (_DOUBTED, 0.5))
            # What suits both better than all others is right: it only shares words with others.
            near = [best[at, 0] for (_, best), at in zip(seen.near, seen.cells.T, strict=True)]
            is_doubted = (seen.own <= low) & (seen.own < np.maximum(*near))
            is_exchanged |= is_doubted & (seen.exchanged >= median) & ~run.swapped
    return is_exchanged


def _kinds(
    pairs: PairSet,
    cells: Index,
    probability: Reals,
    is_exchanged: NDArray[np.bool_],
    better: Index,
    is_believed: NDArray[np.bool_],
) -> NDArray[np.object_]:
    """What is the matter with each pair, in a word; nothing with most."""
    twins = [_twins(items) for items in (pairs.x, pairs.y)]
    partners = pairs.relevance.positives.tocsc()
    kinds = np.full(len(cells), "", dtype=object)
    for at, ((x, y), (other, _)) in enumerate(zip(cells.tolist(), better.tolist(), strict=True)):
        if is_exchanged[at]:
            kinds[at] = "sides exchanged"
        elif other >= 0:
            owners = partners.indices[partners.indptr[other] : partners.indptr[other + 1]]
            if probability[at] <= LISTED:
                kinds[at] = "missing positive" if is_believed[at] else ""
            elif other in twins[1].get(y, ()) or not twins[0].get(x, set()).isdisjoint(owners):
                kinds[at] = "near-duplicate with another partner"
            else:
                kinds[at] = "swapped partner"
        elif probability[at] > LISTED:
            kinds[at] = "like no other pair"
    return kinds


def _twins(items: Items) -> dict[int, set[int]]:
    """Items that say the same or nearly the same as another one."""
    if items.kind not in ("text", "keyword"):
        return {}
    texts = [plain_text(text) for text in items.content]
    twins: dict[int, set[int]] = {}
    same: dict[str, list[int]] = {}
    for at, text in enumerate(texts):
        same.setdefault(text, []).append(at)
    first, second, _ = near_pairs(texts)
    pairs = [(one[0], other) for one in same.values() for other in one[1:]]
    for one, other in (*pairs, *zip(first.tolist(), second.tolist(), strict=True)):
        twins.setdefault(one, set()).add(other)
        twins.setdefault(other, set()).add(one)
    return twins


def _reasons(
    pairs: PairSet, method: str, cells: Index, probability: Reals, better: Index, order: Index
) -> NDArray[np.object_]:
    """Terms that speak for the better y, where a pair is listed; nothing where there are none."""
    reasons = np.full(len(cells), "", dtype=object)
    explained = order[((probability > LISTED) & (better >= 0))[order]][:_EXPLAINED]
    if not len(explained) or not pairs.x.kind == pairs.y.kind == "text":
        return reasons
    # What the pairs teach that are not listed.
    matrix = pairs.relevance.matrix.copy()
    matrix[tuple(cells[probability > LISTED].T)] = 0
    matrix.eliminate_zeros()
    trusted = replace(pairs, relevance=replace(pairs.relevance, matrix=matrix))
    pipeline = _fitted(method, trusted)
    for at in explained:
        x, y = pairs.x.take([cells[at, 0]]), pairs.y.take([better[at]])
        found = explain(pipeline, x, y, n=_TERMS, by_word=True)
        terms = ((t.x_term, t.y_term) for t in found.pairs if t.value > 0)
        reasons[at] = ", ".join(a if a == b else f"{a} – {b}" for a, b in terms)
    return reasons


def _notes(pairs: PairSet, runs: Sequence[_Run], precision: float) -> tuple[str, ...]:
    notes = []
    if precision < LITTLE:
        notes.append(
            "Models hardly tell pairs that were swapped on purpose from others of these data: "
            "probabilities say little more than the share of wrong pairs."
        )
    if all(np.isnan(seen.exchanged).all() for seen in runs[0].seen):
        notes.append("Exchanged sides are not seen: both are read alike, or are not both texts.")
    if pairs.relevance.negatives.nnz:
        notes.append("Pairs that were judged not relevant are taken as they are.")
    if "keyword" in (pairs.x.kind, pairs.y.kind):
        notes.append(
            "A keyword that suits many items is believed with most of them, also wrongly."
        )
    if len(np.unique(pairs.relevance.positives.data)) > 1:
        notes.append("Grades are not judged: a pair is right if it is relevant at all.")
    notes.append("Errors that repeat, such as one word mistaken throughout, are learned as right.")
    return tuple(notes)
