"""A run as reports tell it: its label, its figures, what it was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

from simviz.data.pairs import PairSet
from simviz.evaluation.differences import REACH
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.tables import Estimate, TableRow
from simviz.exceptions import StoreError
from simviz.jobs.results import load_figures
from simviz.jobs.spec import BLEND
from simviz.methods import all_methods
from simviz.store.run import Part, Run

Record = Mapping[str, Any]
#: Scorers that know nothing of the items, as tables call them.
BASELINES = {"popularity": "guessing by popularity", "chance": "pure chance"}


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A stored run, read once.

    Parameters
    ----------
    run : Run
        Where its files are.
    label : str
        What to call it.
    look : str
        What `simviz.charts.method_style` knows its colour and dash by.
    spec, meta, evaluation : mapping
        What it was asked for; versions, times and notes; its figures.
    curve : sequence of mapping
        Quality by dimension; empty where there is none.
    part : {"validation", "test"}
        The part of its split that figures and curve are of.
    size : tuple of int
        Items of both sides of that part.
    validation : mapping or None
        Its figures on the validation part, by which runs are ordered; None
        where it was not measured there.
    """

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
    """Read runs that were measured on the same part of one split.

    Parameters
    ----------
    runs : sequence of Run
        At least one.
    labels, looks : mapping of str to str, optional
        By run id; by default the run's name or its method's title, and its
        method's look.
    part : {"validation", "test"}, default="test"
        The part.

    Returns
    -------
    list of Told
        In the same order; no two labels alike.

    Raises
    ------
    ValueError
        If there is no run, or they were not measured on one split.
    StoreError
        If a run was not measured on that part, or a file is missing or
        damaged.
    """
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
    """Runs by a metric, the best first, what was not measured last.

    Parameters
    ----------
    told : sequence of Told
        The runs.
    metric : str
        The metric.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.

    Returns
    -------
    list of Told
        In the order of the validation part, whichever part they were read of;
        of the part they were read of only where no run was measured on
        validation.
    """
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
    """Lines of the results table: the runs, then what knows nothing.

    Parameters
    ----------
    told : sequence of Told
        The runs.
    metrics : sequence of str
        The columns.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.

    Returns
    -------
    list of TableRow
        On the part that the runs were read of. The baselines are those of the
        first run: all share data and part.
    """
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
