"""Runs of any systems compared by their values: as a summary, as text, and as a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isnan
from typing import Any

from markupsafe import Markup

from simviz.charts.tables import html_table, template
from simviz.evaluation import compare_all, confidence_interval, power_analysis
from simviz.evaluation.run_values import RunValues
from simviz.evaluation.significance import ALPHA, describe_p, plural, signed
from simviz.evaluation.verdicts import Verdict


def summarize_values(run_values: RunValues, baseline: str | None = None) -> dict[str, Any]:
    """Compare runs by their values: JSON's types, as `simviz compare --json` writes them."""
    # The verdict is that of the best run against the next, or of the best of the others against
    # the baseline; `needed` are the queries that would do to tell those two apart, None where
    # nobody can say. Numbers that are not known are None, and `reason` says why.
    comparisons = compare_all(
        run_values.values, baseline=baseline, higher_is_better=run_values.higher_is_better
    )
    counted = {pair: replace(one, unit=run_values.unit) for pair, one in comparisons.pairs.items()}
    comparisons = replace(comparisons, pairs=counted)
    order = [comparisons.names[i] for i in comparisons.order()]
    letters = {} if baseline else comparisons.letters()
    means = dict(zip(comparisons.names, map(float, comparisons.means), strict=True))
    place = {name: at for at, name in enumerate(order)}
    pairs = [
        sorted((comparisons.names[i], comparisons.names[j]), key=place.__getitem__)
        for i, j in comparisons.pairs
    ]
    runs = []
    for name in order:
        low, high = map(_known, confidence_interval(run_values.values[name]))
        one = {"run": name, "value": means[name], "low": low, "high": high}
        one |= {"groups": letters[name]} if letters else {}
        if name in run_values.judged:
            one |= {"judged": run_values.judged[name], "at_most": run_values.upper_bounds[name]}
        runs.append(one)
    # The baseline is no candidate.
    names = sorted(order, key=lambda name: name == baseline)
    verdict = Verdict.of(comparisons, names, run_values.metric, baseline)
    a, (b, two) = verdict.best, next(iter(verdict.against.items()))
    plan = replace(
        power_analysis(run_values.values[a], run_values.values[b], alpha=ALPHA / len(pairs)),
        unit=run_values.unit,
        separated=two.is_significant(),
    )
    n, is_tied = len(run_values.queries), verdict.state == "level"
    return {
        "metric": run_values.metric,
        "unit": run_values.unit,
        "n": n,
        "baseline": baseline,
        "runs": runs,
        "comparisons": [
            {
                "a": first,
                "b": second,
                "difference": one.difference,
                "low": _known(one.low),
                "high": _known(one.high),
                "p_value": _known(one.p_value),
                "told_apart": one.is_significant(),
            }
            for first, second in sorted(pairs, key=lambda two: [place[name] for name in two])
            for one in [comparisons.between(first, second)]
        ],
        "test": two.test + (f", {two.correction}" if two.correction else ""),
        "verdict": verdict.state,
        "verdict_words": str(verdict),
        "needed": plan.needed if is_tied else None,
        "power_words": _sentence(plan.describe(a, b)) if is_tied else "",
        "reason": ""
        if n > 1
        else f"Intervals and tests need two {plural(run_values.unit, 2)} or more; there is {n}.",
        "notes": [*run_values.notes, *_open_answers(run_values)],
        "files": dict(run_values.files),
    }


def _open_answers(run_values: RunValues) -> list[str]:
    """What answers that nobody judged mean for the values."""
    if min(run_values.judged.values(), default=1.0) == 1.0:
        return []
    return [
        "Answers that nobody judged count as not relevant. The last columns say which share of "
        "the answers that count is judged, and how much the value would be at most if all of "
        "them were."
    ]


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def values_text(summary: Mapping[str, Any]) -> str:
    """A summary as a table and sentences for a terminal."""
    lines = _run_table(summary)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    if "groups" in summary["runs"][0]:
        text.append("Runs that share a letter cannot be told apart at 5 %.")
    said = (*(summary[k] for k in ("verdict_words", "reason", "power_words")), *summary["notes"])
    return "\n".join([*text, "", *filter(None, said)]) + "\n"


def values_page(summary: Mapping[str, Any]) -> str:
    """A summary as a page of HTML that needs no other file; every name in it is escaped."""
    from importlib.metadata import version

    from simviz.reports.html import style

    head, *runs = _run_table(summary)
    pairs = [
        [
            f"{one['a']} − {one['b']}",
            signed(one["difference"]),
            _interval(one, signed),
            "–" if (p := one["p_value"]) is None else re.sub("p (= )?", "", describe_p(p)),
            "yes" if one["told_apart"] else "no",
        ]
        for one in summary["comparisons"]
    ]
    n = f"{summary['n']:,} {plural(summary['unit'], summary['n'])}"
    columns = ["runs", "difference", "95 % interval", "p", "told apart"]
    return template("simviz.reports", "values.html").render(
        summary,
        style=Markup(style()),
        groups="groups" in head,
        run_table=Markup(html_table(head, runs, scroll="scroll")),
        pair_table=Markup(html_table(columns, pairs, scroll="scroll")),
        method=f"{_sentence(summary['test'] + ', ' + n)} Intervals of values: bootstrap over "
        f"{plural(summary['unit'], 2)}.",
        version=version("simviz"),
    )


def _run_table(summary: Mapping[str, Any]) -> list[list[str]]:
    """The runs, below a head."""
    runs = summary["runs"]
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "run": lambda one: str(one["run"]),
        summary["metric"]: lambda one: f"{one['value']:.4f}",
        "95 % interval": lambda one: _interval(one, "{:.4f}".format),
    }
    if "groups" in runs[0]:
        columns["groups"] = lambda one: str(one["groups"])
    if any(one.get("judged", 1.0) < 1 for one in runs):
        columns["judged"] = lambda one: f"{100 * one['judged']:.0f} %"
        columns["at most"] = lambda one: "–" if one["at_most"] is None else f"{one['at_most']:.4f}"
    return [list(columns), *([cell(one) for cell in columns.values()] for one in runs)]


def _interval(one: Mapping[str, Any], shown: Callable[[float], str]) -> str:
    return "–" if one["low"] is None else f"[{shown(one['low'])}, {shown(one['high'])}]"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
