"""The table of results, for a spreadsheet or a paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import NamedTuple

from simviz.data.cells import escape_cell
from simviz.evaluation.metrics import parse_metric

_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    "<": "$<$",
    ">": "$>$",
    "Δ": r"$\Delta$",
    "−": "$-$",
}


class Estimate(NamedTuple):
    """A mean and how far it may be off.

    Parameters
    ----------
    value : float
        The mean.
    reach : float
        Half of its 95 % interval; NaN where none is known.
    """

    value: float
    reach: float = float("nan")


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a results table.

    Parameters
    ----------
    label : str
        What to call it.
    values : mapping of str to Estimate
        By the metric's name.
    dimensions : int, optional
        Of the model's space.
    seconds : float, optional
        It took to train and measure.
    is_baseline : bool, default=False
        Whether it knows nothing of the items; never the best.
    further : mapping of str to float, str or None
        Further cells by the heading of their column: what a test found.
    """

    label: str
    values: Mapping[str, Estimate] = field(default_factory=dict)
    dimensions: int | None = None
    seconds: float | None = None
    is_baseline: bool = False
    further: Mapping[str, float | str | None] = field(default_factory=dict)


def best_values(rows: Iterable[TableRow], metrics: Sequence[str]) -> dict[str, float]:
    """The best value of each metric among the rows that are no baseline.

    Parameters
    ----------
    rows : iterable of TableRow
        The table.
    metrics : sequence of str
        Names of metrics.

    Returns
    -------
    dict of str to float
        Without the metrics that no row has.

    Examples
    --------
    >>> rows = [TableRow("a", {"rank loss": Estimate(0.3)}),
    ...         TableRow("b", {"rank loss": Estimate(0.1)})]
    >>> best_values(rows, ["rank loss"])
    {'rank loss': 0.1}
    """
    best: dict[str, float] = {}
    runs = [row for row in rows if not row.is_baseline]
    for metric in metrics:
        found = [row.values[metric].value for row in runs if metric in row.values]
        found = [value for value in found if not isnan(value)]
        if found:
            best[metric] = max(found) if parse_metric(metric).higher_is_better else min(found)
    return best


def table_csv(rows: Sequence[TableRow], metrics: Sequence[str]) -> str:
    """The table as comma-separated values.

    Parameters
    ----------
    rows : sequence of TableRow
        The table.
    metrics : sequence of str
        Its columns, each with the half of its 95 % interval beside it; the
        further cells of the rows follow.

    Returns
    -------
    str
        Numbers in full; labels that a spreadsheet would run are escaped.

    Examples
    --------
    >>> print(table_csv([TableRow("=A1", {"MRR": Estimate(0.5)}, 20)], ["MRR"]).strip())
    method,MRR,MRR ± (95 %),dimensions,seconds
    '=A1,0.5,,20,
    """
    head = ["method"]
    for metric in metrics:
        head += [metric, f"{metric} ± (95 %)"]
    further = _further(rows)
    lines: list[list[object]] = [[*head, *further, "dimensions", "seconds"]]
    for row in rows:
        cells: list[object] = [row.label]
        for metric in metrics:
            cells += [_known(x) for x in row.values.get(metric, Estimate(float("nan")))]
        cells += [row.further.get(name) for name in further]
        lines.append([*cells, row.dimensions, row.seconds])
    return csv_text(lines)


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    r"""Lines of cells as comma-separated values that are safe in a spreadsheet.

    Parameters
    ----------
    lines : iterable of iterable
        Texts, numbers, and None for an empty cell.

    Returns
    -------
    str
        Texts that a spreadsheet would run as a formula are escaped; numbers
        are numbers, below zero too.

    Examples
    --------
    >>> csv_text([["-x", -1.5, None]])
    "'-x,-1.5,\r\n"
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    for line in lines:
        writer.writerow([escape_cell(c) if isinstance(c, str) else c for c in line])
    return buffer.getvalue()


def table_latex(rows: Sequence[TableRow], metrics: Sequence[str], caption: str = "") -> str:
    r"""The table for a paper, in the style of booktabs.

    Parameters
    ----------
    rows : sequence of TableRow
        The table.
    metrics : sequence of str
        Its columns; the further cells of the rows follow.
    caption : str, default=""
        What it shows.

    Returns
    -------
    str
        The best of each column bold, baselines below a line.

    Examples
    --------
    >>> text = table_latex([TableRow("R&D", {"MRR": Estimate(0.5, 0.02)}, 20, 1.5)], ["MRR"])
    >>> print(text.splitlines()[5])
    R\&D & \textbf{0.500} {\footnotesize $\pm$ 0.020} & 20 & 1.5 \\
    """
    best = best_values(rows, metrics)
    further = _further(rows)
    head = ["method", *metrics, *further, "dimensions", "seconds"]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(map(_tex, head)) + r" \\ \midrule",
    ]
    baselines_begun = False
    for row in rows:
        if row.is_baseline and not baselines_begun:
            lines.append(r"\midrule")
            baselines_begun = True
        cells = [_tex(row.label)]
        cells += [_tex_value(row, metric, best.get(metric)) for metric in metrics]
        cells += [_tex_cell(row.further.get(name)) for name in further]
        cells.append("--" if row.dimensions is None else f"{row.dimensions}")
        cells.append("--" if row.seconds is None else f"{row.seconds:.1f}")
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    if caption:
        lines.append(rf"\caption{{{_tex(caption)}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _tex_value(row: TableRow, metric: str, best: float | None) -> str:
    value, reach = row.values.get(metric, Estimate(float("nan")))
    if isnan(value):
        return "--"
    shown = f"{value:.3f}"
    if value == best and not row.is_baseline:
        shown = rf"\textbf{{{shown}}}"
    return shown if isnan(reach) else rf"{shown} {{\footnotesize $\pm$ {reach:.3f}}}"


def _tex_cell(value: float | str | None) -> str:
    if value is None or value == "":
        return "--"
    return _tex(value) if isinstance(value, str) else f"${value:.3f}$"


def _further(rows: Iterable[TableRow]) -> list[str]:
    """Headings of the further columns, as they come."""
    return list(dict.fromkeys(name for row in rows for name in row.further))


def _tex(text: str) -> str:
    line = " ".join(text.split())  # an empty line would end the table
    return "".join(_TEX.get(c, c) for c in line)


def _known(value: float) -> float | None:
    return None if isnan(value) else value
