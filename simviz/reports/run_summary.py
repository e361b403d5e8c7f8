"""Finished runs made ready to be compared: what each was measured on, and how it did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import isnan
from statistics import fmean
from typing import Any, NamedTuple, cast

import numpy as np
from markupsafe import Markup

from simviz.charts import DimensionCurve, RocCurve
from simviz.charts.tables import Cell
from simviz.data.cells import counted, is_noun, numbered
from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS
from simviz.evaluation import (
    Comparisons,
    Direction,
    Evaluation,
    Verdict,
    compare_all_evaluations,
    compare_evaluations,
    compared_metric,
    dimension_curve as measure_dimensions,
    verdict,
)
from simviz.evaluation.differences import Z_95
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import DIRECTIONS, Asking, PartResult, curve_records, values_in
from simviz.evaluation.roc import Roc
from simviz.evaluation.tables import Figure, finding, ranked_against
from simviz.exceptions import SimvizError, StoreError
from simviz.features.pretrained import DEFAULT_MODEL
from simviz.methods import all_methods, get_method
from simviz.pipeline import Features, encoder_of
from simviz.store.datasets import DEMO_PREFIX
from simviz.store.run import BLEND, CSLS, Part, Run, stopped_by_validation

Record = Mapping[str, Any]
#: Scorers that know nothing of the items, as tables call them.
BASELINES = {"popularity": "guessing by popularity", "chance": "pure chance"}
#: A curve has nearly reached its best from this share of it on.
NEARLY = 0.95
#: Share of normal errors that are smaller than one standard error.
_WITHIN_ONE_ERROR = 0.6827
_SPLITS = {
    "pair": "new pairs",
    "x": "new {x}",
    "y": "new {y}",
    "group": "new groups ({key})",
    "column": "as the column {key} says",
    "time": "the latest by {key}",
}


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run among those to compare, on one part of their split."""

    run: Run
    label: str
    look: str
    part: Part

    @property
    def cache_key(self) -> tuple[Any, ...]:
        """What its figures depend on: not on what it is called."""
        return self.run, self.part

    @property
    def measured(self) -> PartResult:
        """What it did on the part."""
        return self.run.part(self.part)

    @property
    def evaluation(self) -> Evaluation:
        """Its ranks on the part."""
        return self.measured.evaluation

    def record(self, metric: str, direction: str) -> Record | None:
        """The record of a metric, see `PartResult.record`."""
        return self.measured.record(metric, direction)

    def ranked_against(self, direction: str, pairs: PairSet) -> str:
        """What a query was ranked against, in words."""
        on = self.measured
        names = [name if is_noun(name) else "items" for name in (pairs.x_name, pairs.y_name)]
        sizes = (on.n_x, on.n_y), (len(pairs.x), len(pairs.y))
        return ranked_against(on.pool, direction, self.part, names, *sizes)

    @property
    def is_stopped_early(self) -> bool:
        """Whether its training watched the part shown, which then flatters it."""
        return self.part == "validation" and stopped_by_validation(self.run)


@dataclass(frozen=True, slots=True)
class RunTable:
    """Runs of one split on one part, the best first, by the metrics of one side that asks."""

    pairs: PairSet
    entries: Sequence[RunEntry]
    direction: Asking
    metric: str
    metrics: Sequence[str]

    @property
    def part(self) -> Part:
        """The part of the split that all figures are of."""
        return self.entries[0].part

    @property
    def cache_key(self) -> tuple[Any, ...]:
        """What the figures of one run depend on, for caches: not on the other runs."""
        return self.pairs, self.part, self.direction, self.metric

    @property
    def names(self) -> tuple[str, str]:
        """What the items of each side are called."""
        return self.pairs.nouns

    @property
    def by_id(self) -> dict[str, RunEntry]:
        """The entries by the ids of their runs."""
        return {entry.run.id: entry for entry in self.entries}

    def record(self, metric: str | None = None) -> Record | None:
        """The record of the first run, by the main metric unless another is named."""
        return self.entries[0].record(metric or self.metric, self.direction)

    @property
    def pool(self) -> str:
        """What a query was ranked against, in words."""
        return self.entries[0].ranked_against(self.direction, self.pairs)

    def _rows(self) -> list[tuple[PartResult, str]]:
        """What the lines of the table are of: each run, then what knows nothing."""
        runs = [(one.measured, "run") for one in self.entries]
        first = runs[0][0]
        return [*runs, *((first, of) for of in BASELINES if of in first.records)]

    @property
    def row_names(self) -> list[str]:
        """Names of the lines: the runs, then what knows nothing."""
        n = len(self.entries)
        return [one.label for one in self.entries] + [BASELINES[of] for _, of in self._rows()[n:]]

    def figures(self, metric: str) -> list[Figure]:
        """A metric by line."""
        return [estimate(on.record(metric, self.direction, of)) for on, of in self._rows()]

    def costs(self) -> tuple[list[int | None], list[float | None]]:
        """How many dimensions each model has, and how many seconds each run took, by line."""
        none = [None] * (len(self._rows()) - len(self.entries))
        sizes = [[int(point["dimension"]) for point in e.measured.curve] for e in self.entries]
        known = [max(size, default=None) for size in sizes]
        return [*known, *none], [*(one.run.info.seconds for one in self.entries), *none]

    def page_columns(
        self, metrics: Sequence[str], headline: str, *, with_costs: bool = True
    ) -> list[list[object]]:
        """Metrics with intervals, then costs; what the headline says of the first is bold."""
        columns = []
        for name in metrics:
            cells = []
            for i, (value, half_width) in enumerate(self.figures(name)):
                cell = Markup("{}").format("–" if isnan(value) else f"{value:.3f}")
                if i == 0 and name == headline and not isnan(value):
                    cell = bold(cell)
                if not isnan(half_width) and i < len(self.entries):
                    cell += Markup(' <span class="sv-se">±{:.3f}</span>').format(half_width)
                cells.append(cell)
            columns.append(column(name, cells, parse_metric(name).description))
        if with_costs:
            sizes, times = self.costs()
            shown = ["–" if size is None else f"{size:,}" for size in sizes]
            took = ["–" if time is None else f"{time:.1f} s" for time in times]
            columns.append(column("dimensions", shown))
            columns.append(column("time", took, "Training and evaluation"))
        return columns


def read_runs(
    runs: Sequence[Run],
    labels: Mapping[str, str] | None = None,
    looks: Mapping[str, str] | None = None,
    part: Part = "test",
) -> list[RunEntry]:
    """Read runs that were measured on the same part of one split."""
    if not runs:
        raise ValueError("There is nothing to report: bring at least one run.")
    names = [(labels or {}).get(run.id) or run.info.name or _title(run) for run in runs]
    for run, name in zip(runs, names, strict=True):
        if part not in run.measured:
            raise StoreError(
                f"{name!r} (run {run.id}) was not measured on the {part} part. Measure it there, "
                "or leave it out."
            )
    entries = [
        RunEntry(run, label, (looks or {}).get(run.id) or run.info.method, part)
        for run, label in zip(runs, numbered(names), strict=True)
    ]
    for i, other in enumerate(runs[1:], start=1):
        if group_key(runs[0]) != group_key(other):
            raise ValueError(
                f"{names[0]!r} and {names[i]!r} were measured on different parts (data, split or "
                "pool). Report runs of one split together."
            )
    return entries


def group_key(run: Run) -> str:
    """Return what two runs have in common whose figures can be compared: data, split, pool."""
    pool = next((run.part(part).pool for part in run.measured), "")
    return f"{run.spec.get('dataset_digest', '')[:8]}-{run.about['split']}-{pool}"


def estimate(record: Record | None) -> Figure:
    """Value and half of the 95 % interval of a record."""
    if record is None:
        return Figure(float("nan"), float("nan"))
    return Figure(record["value"], Z_95 * record["standard_error"])


def ranked(runs: Sequence[Run], metric: str, direction: str, part: Part) -> list[Run]:
    """Runs by the validation part, the best first; never by the test where another part tells."""
    # Runs without a validation part come last, in the order in which they were trained. Where no
    # run has one, such as those of other systems, they stand as they did on the part shown.
    values = {run.id: run.value(metric, direction) for run in runs}
    if all(isnan(value) for value in values.values()):
        values = {run.id: run.value(metric, direction, part) for run in runs}
    else:
        part = "validation"
    oldest = sorted(runs, key=lambda run: (run.info.created, run.id))
    ordered = sorted(oldest, key=lambda run: rank_key(values[run.id], metric))
    return base_first(ordered, metric, direction, part)


def base_first(
    ordered: Sequence[Run], metric: str, direction: str, part: Part = "validation"
) -> list[Run]:
    """Put the best run that learns nothing first, unless the best of all is ahead of it."""
    # The best of few queries is often so by luck: ahead means by more than one standard error of
    # the paired difference, the rule of Breiman et al. (1984).
    known = [run for run in ordered if not isnan(value_of(run, metric, direction, part))]
    bases = (run for run in known if is_base(run.info.method))
    base = next((run for run in bases if group_key(run) == group_key(known[0])), None)
    if base is None or base is known[0]:
        return list(ordered)
    with suppress(SimvizError):  # damaged: its page says so
        best, other = (run.part(part).evaluation for run in (known[0], base))
        if not _is_ahead(best, other, metric, direction):
            return [base, *(run for run in ordered if run is not base)]
    return list(ordered)


def value_of(run: Run, metric: str, direction: str, part: Part = "validation") -> float:
    """The value of a run, see `Run.value`; NaN where its figures are damaged."""
    with suppress(SimvizError):
        return run.value(metric, direction, part)
    return float("nan")


@lru_cache(maxsize=64)
def _is_ahead(one: Evaluation, other: Evaluation, metric: str, direction: str) -> bool:
    """Whether a run is ahead of another by more than one standard error."""
    comparisons = compare_evaluations(
        one, other, metric, _directions(direction), "t", level=_WITHIN_ONE_ERROR
    )
    return comparisons.low > 0 if parse_metric(metric).higher_is_better else comparisons.high < 0


def rank_key(value: float, metric: str) -> tuple[bool, float]:
    """Sort the best first, what is not known last."""
    if isnan(value):
        return True, 0.0
    return False, -value if parse_metric(metric).higher_is_better else value


def shared_metrics(entries: Sequence[RunEntry]) -> list[str]:
    """Metrics that every run has, in the order of the first."""
    known = [one.measured.metrics for one in entries]
    return [m for m in known[0] if all(m in names for names in known)]


def column(head: object, cells: Sequence[object], hover: str = "") -> list[object]:
    """A column of a page: its heading, what that says when pointed at, and its cells."""
    return [Cell(head, {"title": hover or None}), *cells]


def bold(cell: str) -> Markup:
    """What stands out in a column."""
    return Markup('<span class="sv-best">{}</span>').format(cell)


def roc_curves(entries: Sequence[RunEntry]) -> list[tuple[RocCurve, Roc]]:
    """ROC curves of the runs that have one, to draw and to ask."""
    curves = [(one, one.evaluation.roc) for one in entries]
    return [
        (RocCurve(one.look, one.label, roc.fpr, roc.tpr, roc.auc), roc)
        for one, roc in curves
        if roc is not None and roc.n_positive and roc.n_negative
    ]


def dimension_curve(
    one: RunEntry, direction: str, records: Sequence[Record]
) -> DimensionCurve | None:
    """Quality by dimension with its 95 % band, or None where a run has none."""
    band = mean_band(records, direction, "dimension")
    return None if band is None else DimensionCurve(one.look, one.label, *band)


def records_by_dimension(one: RunEntry, metric: str, pairs: PairSet) -> Sequence[Record]:
    """Quality of the first dimensions of a run, else of smaller models; empty for none."""
    stored = one.measured.curve
    if not stored:
        return _swept_records(one, metric)
    if stored[0]["metric"] == metric:
        return stored
    pipeline: Any = one.run.pipeline()
    held_out = one.run.take(pairs, one.part)
    curve = measure_dimensions(
        pipeline.transform(held_out.x),
        pipeline.transform_y(held_out.y),
        held_out.relevance,
        sorted({int(record["dimension"]) for record in stored}),
        similarity="dot" if pipeline.model_.similarity_kind == "dot" else "cosine",
        metric=metric,
    )
    return list(curve.to_records())


def _swept_records(entry: RunEntry, metric: str) -> list[dict[str, Any]]:
    """Quality of a run and of smaller models of its method; empty where none were trained."""
    smaller = entry.run.read_objects(f"{entry.part}/smaller").get("ranks", {})
    if not smaller:
        return []
    evaluation = entry.evaluation
    params = entry.run.info.spec["params"]
    own = params.get("n_components") or all_methods()[entry.run.info.method]().n_components
    rankings = [*smaller.values(), evaluation.rankings]
    measured = parse_metric(metric)
    per_query = {
        (measured.name, direction): np.array(
            [values_in(evaluation.pool, measured, sides[direction]) for sides in rankings]
        )
        for direction in evaluation.directions
    }
    return curve_records([{"dimension": k} for k in (*smaller, own)], per_query)


def mean_band(
    records: Sequence[Record], direction: str, axis: str
) -> tuple[list[int], list[float], list[float], list[float]] | None:
    """Places on an axis, the mean of the sides that ask there, and both ends of its interval."""
    directions = ("x2y", "y2x") if direction == "mean" else (direction,)
    sides = [[r for r in records if r["direction"] == d] for d in directions]
    if not all(sides):
        return None
    # A side on which no query can fail has no values.
    sides = [side for side in sides if not any(isnan(r["value"]) for r in side)]
    if not sides:
        return None
    points = list(zip(*sides, strict=True))
    values = [fmean(p["value"] for p in point) for point in points]
    half_width = [Z_95 * fmean(p["standard_error"] for p in point) for point in points]
    low, high = (
        [v + sign * r for v, r in zip(values, half_width, strict=True)] for sign in (-1, 1)
    )
    return [point[0][axis] for point in points], values, low, high


def milestones(curve: DimensionCurve) -> tuple[str, str, str]:
    """The best value, at how many dimensions, and how many nearly reach it."""
    points = list(zip(np.asarray(curve.dimensions), np.asarray(curve.values), strict=True))
    at, best = max(points, key=lambda point: float(point[1]))
    enough = next((k for k, value in points if value >= NEARLY * best), at)
    return f"{best:.3f}", f"{at:,}", f"{enough:,}"


def part_text(one: RunEntry, pairs: PairSet) -> str:
    """The part that figures are of, with its size."""
    sizes = f"{one.measured.n_x:,} {pairs.nouns[0]} × {one.measured.n_y:,} {pairs.nouns[1]}"
    return f"{one.part} part, {sizes}"


def _title(run: Run) -> str:
    method = run.info.method
    other = {BLEND: "Blend", CSLS: "CSLS"}.get(method, method)
    return all_methods()[method].tags.title if method in all_methods() else other


class SideNames(NamedTuple):
    """What queries and answers are called."""

    queries: str
    answers: str


def side_names(pairs: PairSet, direction: str) -> SideNames:
    """What a direction calls queries and answers."""
    if direction == "mean":
        return SideNames("queries", "answers")
    queries, answers = (pairs.x_name, pairs.y_name)[:: 1 if direction == "x2y" else -1]
    return SideNames(
        queries if is_noun(queries) else "queries", answers if is_noun(answers) else "items"
    )


def facts(table: RunTable) -> list[tuple[str, str]]:
    """What was compared, as names and values."""
    first, pairs = table.entries[0], table.pairs
    dataset_id = str(first.run.spec["dataset_id"])
    demo = DEMOS.get(dataset_id.removeprefix(DEMO_PREFIX)) if first.run.info.is_demo else None
    rows = [("Data set", pairs.name if demo is None else f"{demo.title} (demo {demo.id})")]
    if demo is not None:
        rows += [("Source", demo.source), ("Licence", demo.licence)]
    unjudged = "count as not relevant"
    if pairs.relevance.unjudged == "ignore":
        unjudged = "unknown; only judged pairs count"
    left_out = _left_out(first, table.direction)
    rows += [
        ("Left side", f"{len(pairs.x):,} {pairs.nouns[0]} ({pairs.x.kind})"),
        ("Right side", f"{len(pairs.y):,} {pairs.nouns[1]} ({pairs.y.kind})"),
        ("Judgments", _judgments(pairs)),
        ("Pairs not listed", unjudged),
        ("Digest of the data", str(first.run.spec["dataset_digest"])),
        ("Split", _split(first.run.spec["split"], pairs)),
        ("Sizes", _sizes(first)),
        ("Measured on", part_text(first, pairs)),
        ("Ranked against", table.pool),
        *([("Left out", left_out)] if left_out else []),
        ("Order of the runs", order(table.entries)),
        ("Query side", _query_side(table.direction, pairs)),
        ("Ties", "expected value over random orders"),
        ("Intervals", "95 %, from the spread over queries"),
    ]
    return rows


def findings(table: RunTable) -> list[str]:
    """What the best run can do, and the verdict."""
    record = table.record()
    if record is None or isnan(record["value"]):
        return [f"{table.metric} could not be measured on this {table.part} part."]
    return [finding_of(table), verdict_text(verdict_of(table), table)]


def nothing_known(table: RunTable) -> list[str]:
    """Say which items are empty to runs, how many terms training did not show, what follows."""
    # A sentence for runs of equal shares, which are those of the part shown; none without any.
    sentences = [
        f"{labels}: {shares} are empty (no feature known from training) and score 0."
        for shares, labels in _shares(table, "empty", "the ").items()
    ]
    labels_of = _shares(table, "unknown", "the terms of the ")
    sentences += [
        f"{labels}: {shares} did not occur in training." for shares, labels in labels_of.items()
    ]
    if labels_of:
        sentences[-1] += (
            " Lexical methods match them, each weighed as if one training text had it; what is "
            "learned leaves them out."
        )
    return sentences


def _shares(table: RunTable, what: str, of: str) -> dict[str, str]:
    """Runs by their shares of both sides, those that have any."""
    labels_of: dict[str, list[str]] = {}
    for entry in table.entries:
        shares = [
            f"{100 * share:.1f} % of {of}{name}"
            for side, name in (("x", table.pairs.x_name), ("y", table.pairs.y_name))
            if (share := entry.measured.shares[f"{side}_{what}"])
        ]
        if shares:
            labels_of.setdefault(" and ".join(shares), []).append(entry.label)
    return {shares: ", ".join(labels) for shares, labels in labels_of.items()}


def is_base(method: str) -> bool:
    """Whether a method learns nothing from pairs: it matches words, or takes ready vectors."""
    known = all_methods().get(method)
    return known is not None and (
        known.tags.family == "lexical"
        or (known.tags.input == "pretrained" and known.tags.uses == "unsupervised")
    )


def adapted_vectors(
    runs: Iterable[tuple[str, str, Features]], pairs: PairSet
) -> tuple[str, str] | None:
    """The first run that learned from ready vectors, and their plain cosine; None without."""
    # Runs are names, methods, and what texts became.
    read = [(name, method, _vectors_read(method, how, pairs)) for name, method, how in runs]
    cosines = {of: name for name, method, of in reversed(read) if of and is_base(method)}
    for name, method, of in read:
        if of in cosines and get_method(method).tags.uses != "unsupervised":
            return name, cosines[of]
    return None


def _vectors_read(method: str, features: Features, pairs: PairSet) -> str:
    """Which vectors a run read: those of an encoder by its name; empty where it read others."""
    known = all_methods().get(method)
    if known is None or pairs.x.kind != pairs.y.kind:
        return ""
    if pairs.x.kind == "vector":
        return "given"
    is_encoded, model = encoder_of(features)
    return model or DEFAULT_MODEL if is_encoded or known.tags.input == "pretrained" else ""


def guessed(baseline: str, measured: PartResult) -> Evaluation:
    """What one of `BASELINES` found, by its label, where a run was measured."""
    return measured.evaluations[next(n for n, label in BASELINES.items() if label == baseline)]


def is_chosen_here(entries: Sequence[RunEntry]) -> bool:
    """Whether the order of the runs rests on the part shown, see `ranked`."""
    by_validation = any("validation" in one.run.measured for one in entries)
    return entries[0].part == "validation" or not by_validation


def baseline_of(table: RunTable) -> str:
    """The best of runs that learn nothing and of guesses, by what the runs are chosen by."""
    best, *others = table.entries
    part = best.part if is_chosen_here(table.entries) else "validation"
    by = table.metric, table.direction
    guesses = best.run.part(part) if part in best.run.measured else best.measured
    values = {label: guesses.value(*by, name) for name, label in BASELINES.items()}
    runs = [one for one in others if is_base(one.run.info.method) and part in one.run.measured]
    values = {one.label: one.run.value(*by, part) for one in runs} | values
    return min(values, key=lambda name: rank_key(values[name], table.metric))


def verdict_of(table: RunTable) -> Verdict:
    """The verdict on runs in their order, see `simviz.evaluation.verdict`."""
    entries, is_here = table.entries, is_chosen_here(table.entries)
    baseline = baseline_of(table)
    infos = [(one.label, one.run.info) for one in entries]
    read = [(label, info.method, info.spec.get("features", "usual")) for label, info in infos]
    vectors = adapted_vectors(read, table.pairs)
    named = {baseline, *(vectors or ())}
    compared = [one for one in entries if is_here or one in entries[:2] or one.label in named]
    evaluations = _evaluations(compared)
    if baseline not in evaluations:
        evaluations[baseline] = guessed(baseline, entries[0].measured)
    asking = _directions(table.direction)
    about = {"baseline": baseline, "vectors": vectors, "is_chosen_here": is_here}
    return verdict(evaluations, table.metric, asking, **about)  # type: ignore[arg-type]


def verdict_text(verdict: Verdict, table: RunTable) -> str:
    """A verdict in words; on validation without p-values, but with the figure on the test part."""
    if table.part != "validation":
        return verdict.describe()
    best = table.entries[0]
    text = f"On the validation part, {verdict.describe(with_p=False)}"
    by = table.metric, table.direction
    known = "test" in best.run.measured
    value, half_width = estimate(best.run.part("test").record(*by) if known else None)
    if isnan(value):
        return text
    within = "" if isnan(half_width) else f" ± {half_width:.3f}"
    return f"{text} On the test part, {best.label} has {table.metric} {value:.3f}{within}."


def finding_of(table: RunTable, shown: str | None = None) -> str:
    """What the best run can do beside the baseline, in a sentence, by another metric if asked."""
    shown = shown or table.metric
    record = table.record(shown)
    assert record is not None
    queries, answers = side_names(table.pairs, table.direction)
    baseline = baseline_of(table)
    lines = zip(table.row_names, table.figures(shown), strict=True)
    known = next((figure.value for name, figure in lines if name == baseline), float("nan"))
    return finding(
        table.entries[0].label,
        shown,
        record["value"],
        record["n"],
        query_name="pairs" if record["direction"] == "pairs" else queries,
        answer_name=answers,
        baseline=None if isnan(known) else known,
        baseline_name=baseline,
        part=table.part,
        candidates=table.pool,
    )


def compare_runs(table: RunTable) -> Comparisons | None:
    """All pairs of runs by the usual test, corrected after Holm."""
    # That is the randomisation test of queries, or the bootstrap of judged pairs.
    if len(table.entries) < 2 or table.part == "validation":
        return None
    evaluations = _evaluations(table.entries)
    return compare_all_evaluations(evaluations, table.metric, _directions(table.direction))


def order(entries: Sequence[RunEntry]) -> str:
    """What the order of the runs rests on, see `ranked`."""
    part = entries[0].part
    if part == "validation" or not is_chosen_here(entries):
        text = "by the validation part"
        if not all("validation" in one.run.measured for one in entries):
            text += ", those without it last"
        if is_base(entries[0].run.info.method):
            text += (
                f"; {entries[0].label}, which learns nothing from pairs, is first unless another "
                "is ahead of it by more than one standard error"
            )
        return text
    return f"by the {part} part: no run was measured on validation"


def tested_metric(table: RunTable) -> str:
    """What a test compares: the metric of judged pairs, or what stands for it query by query."""
    return compared_metric(_evaluations(table.entries).values(), table.metric).name


def settings(one: RunEntry) -> list[tuple[str, str, bool]]:
    """Every parameter of a run: name, value, and whether it was set."""
    params: Mapping[str, Any] = one.run.spec.get("params", {})
    cls = all_methods().get(one.run.spec["method"])
    defaults: dict[str, Any] = {} if cls is None else dict(cls().get_params())
    rows = [
        (name, repr(value), name in params and defaults.get(name, ...) != value)
        for name, value in {**defaults, **params}.items()
    ]
    features = one.run.spec.get("features", "usual")
    if features != "usual":
        named = {"features": features} if isinstance(features, str) else features
        rows[:0] = [(name, repr(value), True) for name, value in named.items()]
    if one.run.spec.get("augment"):
        rows.append(("augment", repr(one.run.spec["augment"]), True))
    return rows


def _evaluations(entries: Sequence[RunEntry]) -> dict[str, Evaluation]:
    """By label."""
    return {one.label: one.evaluation for one in entries}


def _directions(direction: str) -> list[Direction]:
    return list(DIRECTIONS) if direction == "mean" else [cast(Direction, direction)]


def _left_out(one: RunEntry, direction: str) -> str:
    """How many queries cannot fail, since all of their judged candidates are relevant."""
    evaluation = one.evaluation
    side = cast(Asking, direction)
    n, graded = evaluation.n_certain(side), evaluation.n_certain(side, "NDCG")
    text = f"{counted(n, 'query', 'queries')} with relevant candidates only"
    if graded < n:
        text += f"; NDCG counts {n - graded:,} of them, whose candidates differ in grade"
    return text if n else ""


def _judgments(pairs: PairSet) -> str:
    relevance = pairs.relevance
    if relevance.kind == "score":
        return f"{relevance.matrix.nnz:,} scores; relevant from {relevance.threshold:g}"
    text = f"{relevance.positives.nnz:,} relevant pairs"
    grades = np.unique(relevance.positives.data)
    if len(grades) > 1:
        text += f" with grades {', '.join(f'{g:g}' for g in grades[:6])}"
    if relevance.negatives.nnz:
        text += f", {relevance.negatives.nnz:,} judged not relevant"
    return text


def split_text(split: Mapping[str, Any], names: tuple[str, str]) -> str:
    """Name what a part holds that training did not."""
    by = split["by"]
    key = split.get("group_key") or {"column": "split", "time": "date"}.get(by, "group")
    return _SPLITS[by].format(x=names[0], y=names[1], key=key)


def _split(split: Mapping[str, Any], pairs: PairSet) -> str:
    what = split_text(split, pairs.nouns)
    if split.get("given"):
        return f"{what}; a split that was passed to simviz.compare"
    if split["by"] == "pair":
        what += ": no item of either side is in two parts"
    if split["by"] == "column":
        return f"{what}; where it names no validation part, one is drawn with seed {split['seed']}"
    shares = " / ".join(f"{100 * share:g}" for share in split["fractions"])
    return f"{what}; train / validation / test {shares} %, seed {split['seed']}"


def _sizes(one: RunEntry) -> str:
    sizes = one.run.about.get("sizes", {})
    parts = ("train", "validation", "test")
    return "; ".join(
        f"{p} {sizes[f'x_{p}']:,} × {sizes[f'y_{p}']:,}" for p in parts if f"x_{p}" in sizes
    )


def _query_side(direction: str, pairs: PairSet) -> str:
    if direction == "mean":
        return "mean of both"
    sides = pairs.headings
    return " → ".join(sides if direction == "x2y" else sides[::-1])
