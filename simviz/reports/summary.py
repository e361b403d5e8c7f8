"""A run as reports tell it: its label, its figures, what it was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, NamedTuple, cast

import numpy as np

from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS
from simviz.evaluation import (
    Comparisons,
    Direction,
    Evaluation,
    Metric,
    compare_all_evaluations,
    compare_evaluations,
    compared_metric,
)
from simviz.evaluation.differences import REACH, query_metric
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import DIRECTIONS, Asking
from simviz.evaluation.tables import Estimate, TableRow, finding, ranked_against
from simviz.exceptions import StoreError
from simviz.jobs.results import load_evaluation, load_figures
from simviz.jobs.spec import BLEND
from simviz.methods import all_methods
from simviz.store.records import DEMO_PREFIX
from simviz.store.run import Part, Run

Record = Mapping[str, Any]
#: Scorers that know nothing of the items, as tables call them.
BASELINES = {"popularity": "guessing by popularity", "chance": "pure chance"}


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A stored run, read once."""

    run: Run
    label: str
    look: str
    spec: Mapping[str, Any]
    meta: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    curve: Sequence[Record]
    part: Part
    size: tuple[int, int]
    validation: Mapping[str, Any] | None

    def record(self, metric: str, direction: str) -> Record | None:
        """The record of a metric; one that pools all pairs is the same in all directions."""
        return _find(self.evaluation["records"], metric, direction)

    def value(self, metric: str, direction: str) -> float:
        """The value of a metric; NaN where it was not measured."""
        return _value(self.evaluation, metric, direction)


def read_runs(
    runs: Sequence[Run],
    labels: Mapping[str, str] | None = None,
    looks: Mapping[str, str] | None = None,
    part: Part = "test",
) -> list[Told]:
    """Read runs that were measured on the same part of one split."""
    if not runs:
        raise ValueError("There is nothing to report: bring at least one run.")
    told = []
    for run in runs:
        label = (labels or {}).get(run.id) or run.info.name or _title(run.info.method)
        look = (looks or {}).get(run.id) or run.info.method
        if part not in run.measured:
            raise StoreError(
                f"{label!r} (run {run.id}) was not measured on the {part} part. Measure it there, "
                "or leave it out."
            )
        kept = run.part(part)
        evaluation, arrays = load_figures(run, part), run.arrays()
        size = (len(arrays[f"x_{part}"]), len(arrays[f"y_{part}"]))
        chosen_by = load_figures(run, "validation") if "validation" in run.measured else None
        read = run.spec, run.meta, evaluation, kept.curve()
        told.append(Told(run, label, look, *read, part, size, chosen_by))
    first = told[0]
    for other in told[1:]:
        same = [t.spec.get("dataset_digest") for t in (first, other)]
        splits = [t.spec.get("split") for t in (first, other)]
        pools = [t.evaluation["pool"] for t in (first, other)]
        if any(a != b for a, b in (same, splits, pools)):
            raise ValueError(
                f"{first.label!r} and {other.label!r} were measured on different parts (data, "
                "split or pool). Report runs of one split together."
            )
    return _numbered(told)


def shared_metrics(told: Sequence[Told]) -> list[str]:
    """Metrics that every run has, in the order of the first."""
    known = [{record["metric"] for record in t.evaluation["records"]} for t in told]
    return [m for m in told[0].evaluation["metrics"] if all(m in names for names in known)]


def ranked(told: Sequence[Told], metric: str, direction: str) -> list[Told]:
    """Runs by a metric, the best first, what was not measured last."""
    sign = -1.0 if parse_metric(metric).higher_is_better else 1.0
    is_known = is_ordered_by_validation(told)

    def key(one: Told) -> tuple[bool, float]:
        value = _value(one.validation if is_known else one.evaluation, metric, direction)
        return isnan(value), 0.0 if isnan(value) else sign * value

    return sorted(told, key=key)


def is_ordered_by_validation(told: Sequence[Told]) -> bool:
    """Whether `ranked` has figures on the validation part to go by."""
    return any(one.validation is not None for one in told)


def table_rows(told: Sequence[Told], metrics: Sequence[str], direction: str) -> list[TableRow]:
    """Lines of the results table: the runs, then what knows nothing."""
    rows = [
        TableRow(
            one.label,
            {m: _estimate(one.record(m, direction)) for m in metrics},
            max((int(point["dimension"]) for point in one.curve), default=None),
            one.run.info.seconds,
        )
        for one in told
    ]
    known = told[0].evaluation.get("baselines", {})
    for name, label in BASELINES.items():
        if name in known:
            values = {m: _estimate(_find(known[name], m, direction)) for m in metrics}
            rows.append(TableRow(label, values, is_baseline=True))
    return rows


def part_words(one: Told, pairs: PairSet) -> str:
    """The part that figures are of, with its size."""
    n_x, n_y = one.size
    return f"{one.part} part, {n_x:,} {pairs.x_name} × {n_y:,} {pairs.y_name}"


def _find(records: Sequence[Record], metric: str, direction: str) -> Record | None:
    wanted = (direction, "pairs")
    return next((r for r in records if r["metric"] == metric and r["direction"] in wanted), None)


def _value(evaluation: Mapping[str, Any] | None, metric: str, direction: str) -> float:
    found = None if evaluation is None else _find(evaluation["records"], metric, direction)
    return float("nan") if found is None else float(found["value"])


def _estimate(record: Record | None) -> Estimate:
    if record is None:
        return Estimate(float("nan"))
    return Estimate(record["value"], REACH * record["standard_error"])


def _title(method: str) -> str:
    if method == BLEND:
        return "Blend"
    known = all_methods()
    return known[method].tags.title if method in known else method


def _numbered(told: Sequence[Told]) -> list[Told]:
    """Tell equal labels apart by a number."""
    counts, seen = Counter(t.label for t in told), Counter[str]()
    made = []
    for one in told:
        seen[one.label] += 1
        again = counts[one.label] > 1
        made.append(replace(one, label=f"{one.label} ({seen[one.label]})") if again else one)
    return made


_SPLITS = {
    "pair": "new pairs: no item of either side is in two parts",
    "x": "new {x}",
    "y": "new {y}",
    "group": "new groups ({key})",
    "column": "as the column {key} says",
    "time": "the latest by {key}",
}


class Asked(NamedTuple):
    """What queries and answers are called, and whether training knew no query."""

    queries: str
    answers: str
    unseen: bool


def asked(one: Told, pairs: PairSet, direction: str) -> Asked:
    """Who asks whom."""
    arrays = one.run.arrays()
    held_out = {s: arrays[f"{s}_{one.part}"] for s in "xy"}
    unseen = {s: not np.isin(held_out[s], arrays[f"{s}_train"]).any() for s in "xy"}
    if direction == "mean":
        return Asked("queries", "answers", unseen["x"] and unseen["y"])
    if direction == "x2y":
        return Asked(pairs.x_name, pairs.y_name, unseen["x"])
    return Asked(pairs.y_name, pairs.x_name, unseen["y"])


def facts(told: Sequence[Told], pairs: PairSet, direction: str) -> list[tuple[str, str]]:
    """What was compared, as names and values."""
    first = told[0]
    dataset_id = str(first.spec["dataset_id"])
    demo = DEMOS.get(dataset_id.removeprefix(DEMO_PREFIX)) if first.run.info.is_demo else None
    relevance = pairs.relevance
    rows = [("Data set", pairs.name if demo is None else f"{demo.title} (demo {demo.id})")]
    if demo is not None:
        rows += [("Source", demo.source), ("Licence", demo.licence)]
    rows += [
        ("Left side", f"{len(pairs.x):,} {pairs.x_name} ({pairs.x.kind})"),
        ("Right side", f"{len(pairs.y):,} {pairs.y_name} ({pairs.y.kind})"),
        ("Judgments", _judgments(pairs)),
        (
            "Pairs not listed",
            "unknown: only judged pairs count"
            if relevance.unjudged == "ignore"
            else "count as not relevant",
        ),
        ("Digest of the data", str(first.spec["dataset_digest"])),
        ("Split", _split(first.spec["split"], pairs)),
        ("Sizes", _sizes(first)),
        ("Figures are of", f"the {part_words(first, pairs)}"),
        (
            "Ranked against",
            ranked_against(
                first.evaluation["pool"],
                direction,
                first.part,
                (pairs.x_name, pairs.y_name),
                first.size,
                (len(pairs.x), len(pairs.y)),
            ),
        ),
        *((("Left out", left_out),) if (left_out := _left_out(first, direction)) else ()),
        ("Order of the runs", order(told)),
        ("Who asks", _who(direction, pairs)),
        ("Ties", "count with their expected value over random orders"),
        ("Intervals", "95 %, from the spread over queries"),
    ]
    return rows


def findings(
    told: Sequence[Told], pairs: PairSet, metric: str, direction: str, compared: Comparisons | None
) -> list[str]:
    """The best run in a sentence, and whether the next one is really behind."""
    best = told[0]
    record = best.record(metric, direction)
    if record is None or isnan(record["value"]):
        return [f"{metric} could not be measured on this {best.part} part."]
    who = asked(best, pairs, direction)
    if record["direction"] == "pairs":
        who = Asked("pairs", who.answers, True)
    rows = {row.label: row for row in table_rows(told, [metric], direction) if row.is_baseline}
    popular = rows.get(BASELINES["popularity"])
    known = popular is not None and not isnan(popular.values[metric].value)
    sentences = [
        finding(
            best.label,
            metric,
            record["value"],
            record["n"],
            query_name=who.queries,
            answer_name=who.answers,
            baseline=popular.values[metric].value if popular is not None and known else None,
            unseen=who.unseen,
            part=best.part,
        )
    ]
    if len(told) > 1 and best.part == "validation":
        lead = _lead(told[:2], pairs, metric, direction)
        if "[" in lead:  # where runs are level there is no interval to explain
            lead += (
                ". In brackets stands the 95 % interval of the difference; whether it is more "
                "than luck is for the test part to say"
            )
        sentences.append(f"On the validation part, {lead}.")
    if compared is not None:
        second = told[1]
        tested = tested_metric(told, pairs, metric)
        words = compared.between(best.label, second.label).in_words(
            best.label, second.label, tested, higher_is_better=compared.higher_is_better
        )
        sentences.append(f"{words}.")
    return sentences


def compare_runs(
    told: Sequence[Told], pairs: PairSet, metric: str, direction: str
) -> Comparisons | None:
    """All pairs of runs by the usual test, corrected after Holm."""
    # That is the randomisation test of queries, or the bootstrap of judged pairs.
    if len(told) < 2 or told[0].part == "validation":
        return None
    return compare_all_evaluations(_evaluations(told, pairs), metric, _asking(direction))


def order(told: Sequence[Told]) -> str:
    """What the order of the runs rests on, see `simviz.reports.summary.ranked`."""
    if is_ordered_by_validation(told):
        return "by the validation part"
    return f"by the {told[0].part} part: no run was measured on validation"


def tested_metric(told: Sequence[Told], pairs: PairSet, metric: str) -> str:
    """What a test compares: the metric of judged pairs, or what stands for it query by query."""
    return _tested(_evaluations(told, pairs), metric).name


def settings(one: Told) -> list[tuple[str, str, bool]]:
    """Every parameter of a run: name, value, and whether it was set."""
    from simviz.methods import all_methods

    given: Mapping[str, Any] = one.spec.get("params", {})
    cls = all_methods().get(one.spec["method"])
    usual: dict[str, Any] = {} if cls is None else dict(cls().get_params())
    rows = [
        (name, repr(value), name in given and usual.get(name, ...) != value)
        for name, value in {**usual, **given}.items()
    ]
    if one.spec.get("features", "usual") != "usual":
        rows.insert(0, ("features", repr(one.spec["features"]), True))
    if one.spec.get("augment"):
        rows.append(("augment", repr(one.spec["augment"]), True))
    return rows


def metric_words(metrics: Sequence[str]) -> list[tuple[str, str]]:
    """What each metric means, in a sentence."""
    return [(m, parse_metric(m).description) for m in metrics]


def _evaluations(told: Sequence[Told], pairs: PairSet) -> dict[str, Evaluation]:
    """By label, with the scores of judged pairs."""
    return {one.label: load_evaluation(one.run, one.part, pairs) for one in told}


def _asking(direction: str) -> list[Direction]:
    return list(DIRECTIONS) if direction == "mean" else [cast(Direction, direction)]


def _tested(evaluations: Mapping[str, Evaluation], metric: str) -> Metric:
    """What is tested; one run without the scores of its pairs makes all stand back."""
    metrics = {compared_metric(one, metric) for one in evaluations.values()}
    return metrics.pop() if len(metrics) == 1 else query_metric(metric)


def _lead(two: Sequence[Told], pairs: PairSet, metric: str, direction: str) -> str:
    """By how much one of two runs is ahead, with the interval of the difference."""
    evaluations = _evaluations(two, pairs)
    (a, one), (b, other) = evaluations.items()
    found = compare_evaluations(one, other, metric, _asking(direction), "t")
    tested = _tested(evaluations, metric)
    return found.lead_in_words(a, b, tested.name, higher_is_better=tested.higher_is_better)


def _left_out(one: Told, direction: str) -> str:
    """How many queries cannot fail, since all of their judged candidates are relevant."""
    found = load_evaluation(one.run, one.part)
    side = cast(Asking, direction)
    n, graded = found.n_certain(side), found.n_certain(side, "NDCG")
    words = f"{n:,} quer{'y' if n == 1 else 'ies'} with nothing but right candidates"
    if graded < n:
        words += f"; NDCG counts {n - graded:,} of them, whose candidates differ in grade"
    return words if n else ""


def _judgments(pairs: PairSet) -> str:
    relevance = pairs.relevance
    if relevance.kind == "score":
        return f"{relevance.matrix.nnz:,} scores; relevant from {relevance.threshold:g}"
    told = f"{relevance.positives.nnz:,} relevant pairs"
    grades = np.unique(relevance.positives.data)
    if len(grades) > 1:
        told += f" with grades {', '.join(f'{g:g}' for g in grades[:6])}"
    if relevance.negatives.nnz:
        told += f", {relevance.negatives.nnz:,} judged not relevant"
    return told


def _split(split: Mapping[str, Any], pairs: PairSet) -> str:
    key = split["group_key"] or {"column": "split", "time": "date"}.get(split["by"], "group")
    what = _SPLITS[split["by"]].format(x=pairs.x_name, y=pairs.y_name, key=key)
    if split["by"] == "column":
        return f"{what}; where it names no validation part, one is drawn with seed {split['seed']}"
    shares = " / ".join(f"{100 * share:g}" for share in split["fractions"])
    return f"{what}; train / validation / test {shares} %, seed {split['seed']}"


def _sizes(one: Told) -> str:
    sizes = one.meta.get("sizes", {})
    parts = ("train", "validation", "test")
    return "; ".join(
        f"{p} {sizes[f'x_{p}']:,} × {sizes[f'y_{p}']:,}" for p in parts if f"x_{p}" in sizes
    )


def _who(direction: str, pairs: PairSet) -> str:
    if direction == "mean":
        return f"both sides, the mean of {pairs.x_name} → {pairs.y_name} and back"
    sides = (pairs.x_name, pairs.y_name)
    return " → ".join(sides if direction == "x2y" else sides[::-1])
