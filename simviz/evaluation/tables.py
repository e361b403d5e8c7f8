"""The table of results, for a spreadsheet or a paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from math import inf, isnan
from numbers import Real
from typing import NamedTuple

from simviz.data.cells import escape_cell
from simviz.evaluation.metrics import MAP, MRR, NDCG, Metric, Precision, TopOne, parse_metric
from simviz.markdown import escape_markdown

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


class Figure(NamedTuple):
    """A value and how far it may be off, NaN where that is not known."""

    value: float
    half_width: float


#: The heading of a column, and its cells.
Column = Sequence[object]


def table_csv(columns: Iterable[Column]) -> str:
    """The table as comma-separated values."""
    written: list[Column] = []
    for head, *cells in columns:
        if any(isinstance(cell, Figure) for cell in cells):
            values, half_widths = zip(*cells, strict=True)
            written += [[head, *values], [f"{head} ± (95 %)", *half_widths]]
        else:
            written.append([head, *cells])
    return csv_text(zip(*written, strict=True))


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    r"""Lines of cells as comma-separated values that are safe in a spreadsheet."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    for line in lines:
        writer.writerow(map(_csv_cell, line))
    return buffer.getvalue()


def _csv_cell(cell: object) -> object:
    """A cell without formula; empty where a number is NaN or infinite."""
    if isinstance(cell, str):
        return escape_cell(cell)
    return None if isinstance(cell, Real) and (cell in (inf, -inf) or cell != cell) else cell


def table_latex(columns: Sequence[Column], n_runs: int, caption: str = "") -> str:
    r"""The table for a paper, in the style of booktabs; baselines stand behind the runs."""
    head, *lines = (" & ".join(cells) + r" \\" for cells in _cells(columns, _LATEX))
    if n_runs < len(lines):
        lines.insert(n_runs, r"\midrule")
    text = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{l{'r' * head.count(' & ')}}}",
        r"\toprule",
        rf"{head} \midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if caption:
        text.append(rf"\caption{{{_tex(caption)}}}")
    return "\n".join([*text, r"\end{table}"]) + "\n"


def table_markdown(columns: Sequence[Column], caption: str = "") -> str:
    r"""The table in Markdown's pipes."""
    cells = _cells(columns, _MARKDOWN)
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    head, *lines = (
        f"| {' | '.join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])])} |"
        for first, *others in cells
    )
    rule = [":" + "-" * (widths[0] + 1), *("-" * (width + 1) + ":" for width in widths[1:])]
    text = [head, f"|{'|'.join(rule)}|", *lines]
    if caption:
        text += ["", _plain(caption)]
    return "\n".join(text) + "\n"


def _cells(columns: Sequence[Column], style: _Style) -> list[list[str]]:
    """Headings and rows of a table as text; the first figure of all is bold."""
    made, strong = [], style.strong
    for head, *cells in columns:
        lines = [style.text(str(head))]
        for cell in cells:
            if cell is None or cell != cell or cell == "":
                lines.append(style.none)
            elif isinstance(cell, Figure):
                shown = style.none if isnan(cell.value) else f"{cell.value:.3f}"
                if len(lines) == 1:
                    shown, strong = shown if isnan(cell.value) else strong.format(shown), "{}"
                unknown = isnan(cell.value + cell.half_width)
                lines.append(shown if unknown else style.interval.format(shown, cell.half_width))
            elif isinstance(cell, float):
                lines.append(f"{cell:.1f}" if head == "seconds" else style.number.format(cell))
            else:
                lines.append(style.text(str(cell)))
        made.append(lines)
    return list(map(list, zip(*made, strict=True)))


def _tex(text: str) -> str:
    line = " ".join(text.split())  # an empty line would end the table
    return "".join(_TEX.get(c, c) for c in line)


def _plain(text: str) -> str:
    """Text on one line, without markup."""
    return escape_markdown(text.strip())


class _Style(NamedTuple):
    """How a table writes its cells."""

    text: Callable[[str], str]
    none: str
    number: str
    strong: str
    interval: str


_LATEX = _Style(_tex, "--", "${:.3f}$", r"\textbf{{{}}}", r"{} {{\footnotesize $\pm$ {:.3f}}}")
_MARKDOWN = _Style(_plain, "–", "{:.3f}", "**{}**", "{} ±{:.3f}")


def finding(
    method: str,
    metric: Metric | str,
    value: float,
    n_queries: int,
    *,
    query_name: str,
    answer_name: str,
    baseline: float | None = None,
    baseline_name: str = "guessing by popularity",
    part: str = "test",
    candidates: str = "",
) -> str:
    """Say what a figure means to someone who does not know the metric."""
    metric = parse_metric(metric)
    tail = ""
    over = f"{n_queries:,} {query_name}"
    if query_name not in ("queries", "pairs"):  # such as the heading of a column
        over = f"{n_queries:,} queries ({query_name})"
    if isinstance(metric, TopOne):
        if baseline is not None:
            tail = f"; {baseline_name} does for {_percent(baseline)}"
        among = candidates.removesuffix(f" of the {part} part") or f"all {answer_name}"
        return (
            f"{method} puts the right one first for {_percent(value)} of {over} of the {part} "
            f"part, out of {among}{tail}."
        )
    if isinstance(metric, Precision):
        if baseline is not None:
            tail = f"; {baseline_name} gets {baseline * metric.k:.1f}"
        return (
            f"Of its first {metric.k} answers ({answer_name}), {method} gets "
            f"{value * metric.k:.1f} right on average, over {over} of the {part} part{tail}."
        )
    if baseline is not None:
        tail = f"; {baseline_name} reaches {baseline:.3f}"
    means = "1 is perfect"
    if isinstance(metric, MRR):
        means = "1 is always first, ½ always second"
    elif isinstance(metric, MAP | NDCG):
        means = "1 would be everything relevant before everything else"
    reached = f"{method} reaches {metric!r} {value:.3f}"
    return f"{reached} over {over} of the {part} part ({means}){tail}."


def ranked_against(
    pool: str,
    direction: str,
    part: str,
    names: Sequence[str],
    sizes: tuple[int, int],
    whole: tuple[int, int],
) -> str:
    """Say what a query was ranked against."""
    if direction == "mean":
        sides = (ranked_against(pool, one, part, names, sizes, whole) for one in ("x2y", "y2x"))
        return " or ".join(sides)
    at = 1 if direction == "x2y" else 0
    if pool == "judged":
        return f"the judged {names[at]} of the query"
    if sizes[at] == whole[at]:
        return f"all {whole[at]:,} {names[at]}"
    return f"the {sizes[at]:,} {names[at]} of the {part} part"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.095 else f"{100 * share:.1f} %"
