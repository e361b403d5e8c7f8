"""What a report says in words: the data, the test, the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from simviz.evaluation.differences import query_metric
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.report import finding, ranked_against
from simviz.evaluation.result import DIRECTIONS, Asking
from simviz.jobs.results import load_evaluation
from simviz.reports.told import (
    BASELINES,
    Told,
    is_ordered_by_validation,
    part_words,
    table_rows,
)
from simviz.store.records import DEMO_PREFIX

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
    """Who asks whom.

    Parameters
    ----------
    one : Told
        Any of the runs.
    pairs : PairSet
        Their data set.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.

    Returns
    -------
    Asked
        In the data set's words.
    """
    arrays = one.run.arrays()
    held_out = {s: arrays[f"{s}_{one.part}"] for s in "xy"}
    unseen = {s: not np.isin(held_out[s], arrays[f"{s}_train"]).any() for s in "xy"}
    if direction == "mean":
        return Asked("queries", "answers", unseen["x"] and unseen["y"])
    if direction == "x2y":
        return Asked(pairs.x_name, pairs.y_name, unseen["x"])
    return Asked(pairs.y_name, pairs.x_name, unseen["y"])


def facts(told: Sequence[Told], pairs: PairSet, direction: str) -> list[tuple[str, str]]:
    """What was compared, as names and values.

    Parameters
    ----------
    told : sequence of Told
        The runs.
    pairs : PairSet
        Their data set.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.

    Returns
    -------
    list of (str, str)
        Plain texts.
    """
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
    """The best run in a sentence, and whether the next one is really behind.

    Parameters
    ----------
    told : sequence of Told
        The runs in their order.
    pairs : PairSet
        Their data set.
    metric : str
        The main metric.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.
    compared : Comparisons or None
        What a test found, see `compare_runs`.

    Returns
    -------
    list of str
        Sentences. On the validation part the second says by how much a run is
        ahead; whether that is luck is for the test part.
    """
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
    """All pairs of runs by the usual test, corrected after Holm.

    That is the randomisation test of queries, or the bootstrap of judged pairs.

    Parameters
    ----------
    told : sequence of Told
        The runs.
    pairs : PairSet
        Their data set.
    metric : str
        The main metric.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.

    Returns
    -------
    Comparisons or None
        By label; None for a single run, and on the validation part, by which
        runs are chosen: the verdict belongs to the test part.
    """
    if len(told) < 2 or told[0].part == "validation":
        return None
    return compare_all_evaluations(_evaluations(told, pairs), metric, _asking(direction))


def order(told: Sequence[Told]) -> str:
    """What the order of the runs rests on, see `simviz.reports.told.ranked`."""
    if is_ordered_by_validation(told):
        return "by the validation part"
    return f"by the {told[0].part} part: no run was measured on validation"


def tested_metric(told: Sequence[Told], pairs: PairSet, metric: str) -> str:
    """What a test compares: the metric of judged pairs, or what stands for it query by query."""
    return _tested(_evaluations(told, pairs), metric).name


def settings(one: Told) -> list[tuple[str, str, bool]]:
    """Every parameter of a run: name, value, and whether it was set.

    Parameters
    ----------
    one : Told
        The run.

    Returns
    -------
    list of (str, str, bool)
        Those that were left alone have their method's default.
    """
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
