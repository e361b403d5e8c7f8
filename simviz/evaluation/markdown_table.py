"""The table of results as Markdown, for notes and issues."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from simviz.evaluation.tables import Estimate, TableRow, best_values
from simviz.markdown import escape_markdown


def table_markdown(rows: Sequence[TableRow], metrics: Sequence[str], caption: str = "") -> str:
    r"""The table in Markdown's pipes.

    Parameters
    ----------
    rows : sequence of TableRow
        The table.
    metrics : sequence of str
        Its columns; the further cells of the rows follow.
    caption : str, default=""
        What it shows, written below.

    Returns
    -------
    str
        The best of each column bold; columns aligned as source, too. Nothing
        in a label is markup.

    Examples
    --------
    >>> rows = [TableRow("CCA", {"MRR": Estimate(0.5, 0.02)}, 20, 1.5), TableRow("a|b")]
    >>> print(table_markdown(rows, ["MRR"]), end="")
    | method |              MRR | dimensions | seconds |
    |:-------|-----------------:|-----------:|--------:|
    | CCA    | **0.500** ±0.020 |         20 |     1.5 |
    | a\|b   |                – |          – |       – |
    """
    best = best_values(rows, metrics)
    further = list(dict.fromkeys(name for row in rows for name in row.further))
    head = ["method", *metrics, *further, "dimensions", "seconds"]
    lines = [[_plain(cell) for cell in head]]
    for row in rows:
        cells = [_plain(row.label)]
        cells += [_estimate(row, metric, best.get(metric)) for metric in metrics]
        cells += [_cell(row.further.get(name)) for name in further]
        cells.append("–" if row.dimensions is None else f"{row.dimensions}")
        cells.append("–" if row.seconds is None else f"{row.seconds:.1f}")
        lines.append(cells)
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = [":" + "-" * (widths[0] + 1), *("-" * (width + 1) + ":" for width in widths[1:])]
    text = [_line(lines[0], widths), f"|{'|'.join(rule)}|"]
    text += [_line(cells, widths) for cells in lines[1:]]
    if caption:
        text += ["", _plain(caption)]
    return "\n".join(text) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
    return f"| {' | '.join(padded)} |"


def _estimate(row: TableRow, metric: str, best: float | None) -> str:
    value, reach = row.values.get(metric, Estimate(float("nan")))
    if isnan(value):
        return "–"
    shown = f"{value:.3f}"
    if value == best and not row.is_baseline:
        shown = f"**{shown}**"
    return shown if isnan(reach) else f"{shown} ±{reach:.3f}"


def _cell(value: float | str | None) -> str:
    if value is None or value == "":
        return "–"
    return _plain(value) if isinstance(value, str) else f"{value:.3f}"


def _plain(text: str) -> str:
    """Text on one line, without markup."""
    return escape_markdown(" ".join(text.split()))
