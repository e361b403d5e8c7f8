"""Findings as Markdown and as lines of a terminal."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from simviz.experiments._experiment import Experiment
from simviz.experiments._findings import Cell, Claim, Findings, Table

#: In front of a verdict, so that colour is not all that tells it.
SIGNS = {"holds": "✓", "does not hold": "✗", "not comparable": "–"}


def to_markdown(experiment: Experiment[Any], found: Findings) -> str:
    """A page about what an experiment found.

    Parameters
    ----------
    experiment : Experiment
        Whose findings they are.
    found : Findings
        What `Experiment.run` answered.

    Returns
    -------
    str
        Tables, claims with their tests, settings, and the line that repeats it.
    """
    paper = experiment.paper
    where = f"{paper.authors} ({paper.year}), {experiment.shown_as}"
    spent = f", {found.seconds:,.0f} s" if found.seconds else ""
    parts = [
        f"# {experiment.title}",
        f"{where}. {experiment.sentence}",
        f"Data: {_plain(found.data)} ({_plain(found.about)}); size {found.size}, seed "
        f"{found.seed}{spent}.",
        claims_markdown(found.claims),
    ]
    for table in found.tables:
        parts += [f"## {_plain(table.title)}", table_markdown(table)]
        parts += [_plain(table.note)] if table.note else []
    if found.notes:
        parts.append("\n".join(f"- {_plain(note)}" for note in found.notes))
    if found.command:
        parts.append(f"```\n{found.command}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def table_markdown(table: Table) -> str:
    """A table's rows."""
    return _grid(table.columns, [[cell_text(cell) for cell in row] for row in table.rows])


def claims_markdown(claims: tuple[Claim, ...]) -> str:
    """A table of claims and verdicts."""
    if not claims:
        return ""
    head = ("verdict", "claim", "the paper", "ours", "test", "the paper's test")
    rows = [
        [
            f"{SIGNS[claim.verdict]} {claim.verdict}",
            claim.statement,
            claim.published,
            claim.reason or claim.numbers(),
            claim.test,
            claim.paper_test,
        ]
        for claim in claims
    ]
    return _grid(head, rows)


def to_csv(table: Table) -> str:
    """A table for a spreadsheet."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(table.columns)
    lines.writerows([_safe(cell) for cell in row] for row in table.rows)
    return text.getvalue()


def tables_csv(tables: Iterable[Table]) -> str:
    """Tables one below the other, each under its title.

    Parameters
    ----------
    tables : iterable of Table
        What to write.

    Returns
    -------
    str
        As `to_csv` writes each, with an empty line between them.
    """
    parts = [f"{_safe(_quoted(table.title))}\n{to_csv(table)}" for table in tables]
    return "\n".join(parts)


def cell_text(cell: Cell) -> str:
    """A cell as it is shown: three decimals, and nothing for what is not there.

    Parameters
    ----------
    cell : str, float, int or None
        Of a `Table`.

    Returns
    -------
    str
        Words.

    Examples
    --------
    >>> cell_text(0.79712), cell_text(1032), cell_text(None)
    ('0.797', '1,032', '')
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float):
        return f"{cell:.3f}".replace("-", "−")
    return f"{cell:,}" if isinstance(cell, int) else cell


def _grid(head: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_plain(cell) for cell in line)} |" for line in lines)


def _plain(text: str) -> str:
    """On one line, and no column of its own."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _safe(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@"):
        return f"'{cell}"
    return cell
