"""What an experiment found: tables, figures and claims, kept as JSON, shown as Markdown or CSV."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from simviz.evaluation.significance import ALPHA, Comparison, describe_p, signed
from simviz.evaluation.tables import csv_text
from simviz.persistence import stored_name

if TYPE_CHECKING:
    from simviz.experiments._experiment import Experiment

ClaimVerdict = Literal["holds", "does not hold", "undecided", "not comparable"]
ClaimKind = Literal["ahead", "level", "no worse"]
K = TypeVar("K")
Cell = str | float | int | None
FigureKind = Literal["dimensions", "roc", "scatter", "counts", "lines"]
VERDICTS: tuple[ClaimVerdict, ...] = ("holds", "does not hold", "undecided", "not comparable")
#: In front of a verdict, so that colour is not all that tells it.
SIGNS = {"holds": "✓", "does not hold": "✗", "undecided": "?", "not comparable": "–"}
#: Where both reach this share of the highest value, data decide nothing.
CEILING = 0.99


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with a number that decides it.

    `value` has to reach `bound`, or where no test is made may be up to `upper_bound`; it is NaN
    where it could not be measured, and `low` and `high` are its 95 % interval. `quantity` says
    what it is, such as "MRR, S2Net − OPCA"; `test` which test decides, with what it counted,
    its `p_value` corrected for the other claims it was made with. `paper_test` is what the
    paper's own test says, with its p-value, and `published` what the paper has, in words.
    `reason` says why the claim cannot be compared, `undecided` why the data decide nothing,
    whatever the number. It sums up `parts`, such as one a number of dimensions.

    Examples
    --------
    >>> Claim("Typos are found.", 0.97, 0.95, low=0.96, high=0.98).verdict
    'holds'
    >>> Claim("S2Net is ahead of OPCA.", 0.01, p_value=0.3).verdict
    'undecided'
    """

    statement: str
    value: float = field(default=math.nan, metadata={"stored_as": "found"})
    bound: float = 0.0
    quantity: str = ""
    published: str = ""
    test: str = ""
    p_value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    paper_test: str = ""
    reason: str = ""
    upper_bound: float = field(default=math.nan, metadata={"stored_as": "most"})
    undecided: str = ""
    parts: tuple[Claim, ...] = ()

    @property
    def verdict(self) -> ClaimVerdict:
        """One of `VERDICTS`, by the rule of ``docs/papers.md``."""
        if self.parts:
            known = {part.verdict for part in self.parts}
            if len(known) == 1:
                return known.pop()
            return "does not hold" if "does not hold" in known else "undecided"
        if self.reason or math.isnan(self.value):
            return "not comparable"
        if self.undecided:
            return "undecided"
        if not math.isnan(self.p_value):
            if self.p_value > ALPHA:
                return "undecided"
            return "holds" if self.value > self.bound else "does not hold"
        low, high = (self.value if math.isnan(v) else v for v in (self.low, self.high))
        if self.bound <= low and not high > self.upper_bound:
            return "holds"
        return "does not hold" if high < self.bound or low > self.upper_bound else "undecided"

    @classmethod
    def tested(
        cls,
        statement: str,
        comparison: Comparison,
        quantity: str = "",
        *,
        kind: ClaimKind = "ahead",
        margin: float = 0.0,
        values: tuple[float, float] | None = None,
        published: str = "",
        paper: Comparison | None = None,
    ) -> Self:
        """A claim of one method about another, whose difference is the `comparison`.

        That one is "ahead" holds where the difference has the right sign and p ≤ 0.05, does not
        hold where it has the other sign and p ≤ 0.05, and is undecided otherwise. That both are
        "level", or the first "no worse", holds where the whole interval of the difference lies
        within the `margin`, or above its lower end, does not hold where it lies outside, and is
        undecided otherwise. Nothing is decided where the `values` of both, at most 1, are at the
        ceiling. `paper` is the same by the test that the paper used.
        """
        one, ahead, undecided = comparison, kind == "ahead", ""
        if values is not None:
            quantity = f"{quantity}, {values[0]:.3f} − {values[1]:.3f}".removeprefix(", ")
            undecided = "Both are at the ceiling." if min(values) >= CEILING else ""
        if ahead and math.isnan(one.p_value):
            undecided = "Too few values to test."
        within = f"{'within ±' if kind == 'level' else 'above −'}{margin:g}, {one.counted}"
        return cls(
            statement, one.difference, 0.0 - margin, quantity, published,
            one.basis if ahead else f"{one.level:.0%} interval {within}",
            one.p_value if ahead else math.nan, one.low, one.high,
            "" if paper is None else f"{paper.basis}: {describe_p(paper.p_value)}",
            upper_bound=margin if kind == "level" else math.nan, undecided=undecided,
        )  # fmt: skip

    @classmethod
    def at_every(
        cls,
        statement: str,
        parts: Iterable[Claim],
        *,
        published: str = "",
        reason: str = "Nothing of it was run.",
    ) -> Self:
        """A claim about several places, such as numbers of dimensions, with a verdict at each.

        It holds where it holds at every place, does not hold where it does not hold at one, and
        is undecided otherwise. `reason` says why there is nothing to compare, without parts.

        Examples
        --------
        >>> Claim.at_every("It is ahead.", [
        ...     Claim("k = 25", 0.1, p_value=0.01), Claim("k = 50", 0.0, p_value=0.9)
        ... ]).numbers()
        'holds at k = 25; undecided at k = 50'
        """
        made = tuple(parts)
        reason = "" if made else reason
        tests = "; ".join(dict.fromkeys(part.test for part in made if part.test))
        return cls(statement, published=published, test=tests, reason=reason, parts=made)

    def numbers(self) -> str:
        """What was found, in words, and why it decides nothing where that is so.

        Examples
        --------
        >>> Claim("A is ahead.", 0.021, low=0.01, high=0.032, p_value=0.0002).numbers()
        '+0.021 [+0.010, +0.032], p < 0.001'
        """
        if self.parts:
            at = {v: [p.statement for p in self.parts if p.verdict == v] for v in VERDICTS}
            return "; ".join(f"{v} at {', '.join(names)}" for v, names in at.items() if names)
        if self.reason or math.isnan(self.value):
            return self.reason
        numbers, tested = signed(self.value), not math.isnan(self.p_value)
        if not math.isnan(self.low):
            numbers += f" [{signed(self.low)}, {signed(self.high)}]"
        p = f", {describe_p(self.p_value)}" if tested else ""
        text = f"{f'{self.quantity}: ' if self.quantity else ''}{numbers}{p}"
        return f"{text}. {self.undecided}" if self.undecided else text


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns as a paper prints them, ours beside published.

    The heading of what a paper published ends in ", published"; a cell is None where there is
    nothing. A ValueError says that rows and columns differ in number.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, title: str, rows: Iterable[Mapping[str, Cell]], note: str = "") -> Self:
        """A table of rows, each column to cell, that all have the columns of the first one."""
        made = list(rows)
        columns = tuple(made[0]) if made else ()
        return cls(title, columns, tuple(tuple(row[c] for c in columns) for row in made), note)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"{self.title!r} has {len(self.columns)} columns; a row has {len(row)} cells. "
                    "Give None where there is nothing."
                )


@dataclass(frozen=True, slots=True)
class Series:
    """One line or cloud of a figure.

    `method` gives colour and dash, `low` and `high` are a 95 % band of y; `names` stand beside
    the points of a scatter plot, and `pictures`, ``data:`` addresses, in place of them.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    method: str = ""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper, drawn again.

    Of `kind` "dimensions" it shows a metric against the number of dimensions, of "roc" ROC
    curves, of "scatter" a map, of "counts" how often a number occurs, on logarithmic axes, of
    "lines" curves on plain ones.
    """

    title: str
    kind: FigureKind
    series: tuple[Series, ...]
    x_name: str = ""
    y_name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that one run of an experiment found.

    Words `about` say how much of the data was used; `notes`, a sentence each, which settings
    were chosen, what differs from the paper, and what was left out; `command` repeats the run,
    which took so many `seconds`.
    """

    experiment: str
    data: str
    about: str
    size: str
    seed: int
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    command: str = ""

    def to_json(self) -> dict[str, Any]:
        """All of it and the verdicts, as JSON's types; what is not a number is null."""
        claims = [{**_plain(claim), "verdict": claim.verdict} for claim in self.claims]
        return {**_plain(self), "claims": claims}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Self:
        """Read what `to_json` answered; a ValueError says that something is missing or differs."""
        try:
            return _read(cls, tree)
        except (KeyError, TypeError) as error:
            raise ValueError(f"These findings cannot be read ({error}).") from error


#: What fields hold that are no plain values.
_HELD: Mapping[str, type] = {
    "tables": Table, "figures": Figure, "series": Series, "claims": Claim, "parts": Claim,
}  # fmt: skip


def _read(kind: type[K], tree: Mapping[str, Any]) -> K:
    """A record from JSON's types; null is what is not a number, but in tables."""
    results: dict[str, Any] = {}
    for one in fields(cast(Any, kind)):
        value, held = tree[stored_name(one)], _HELD.get(one.name)
        if held is not None:
            value = tuple(_read(held, part) for part in value)
        elif isinstance(value, list):
            parts = (tuple(part) if isinstance(part, list) else part for part in value)
            value = tuple(math.nan if part is None else part for part in parts)
        results[one.name] = math.nan if value is None else value
    return kind(**results)


def _plain(value: object) -> Any:
    """With lists, and null for what is not a number."""
    if is_dataclass(value):
        return {stored_name(one): _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.item() if hasattr(value, "item") else value


def to_markdown(experiment: Experiment[Any], findings: Findings) -> str:
    """A page about a run: tables, claims with their tests, settings, and what repeats it."""
    paper, data = experiment.paper, f"{findings.data} ({findings.about})"
    spent = f", {findings.seconds:,.0f} s" if findings.seconds else ""
    parts = [
        f"# {experiment.title}",
        f"{paper.authors} ({paper.year}), {experiment.shown_as}. {experiment.sentence}",
        f"Data: {_one_line(data)}; size {findings.size}, seed {findings.seed}{spent}.",
        _claims_table(findings) if findings.claims else "",
    ]
    for table in findings.tables:
        rows = [list(map(cell_text, row)) for row in table.rows]
        parts += [f"## {_one_line(table.title)}", _grid(table.columns, rows)]
        parts.append(_one_line(table.note))
    parts.append("\n".join(f"- {_one_line(note)}" for note in findings.notes))
    parts.append(f"```\n{findings.command}\n```" if findings.command else "")
    return "\n\n".join(filter(None, parts)) + "\n"


@functools.cache
def known_findings() -> Mapping[str, tuple[Findings, ...]]:
    """What full runs on open sets found before this version was published, without figures.

    Examples
    --------
    >>> [found.data for found in known_findings()["keyword_map"]]
    ['icons', 'corel5k']
    """
    text = files("simviz.experiments").joinpath("results.json").read_text(encoding="utf-8")
    known = [Findings.from_json(tree) for tree in json.loads(text)]
    return {
        name: tuple(one for one in known if one.experiment == name)
        for name in dict.fromkeys(one.experiment for one in known)
    }


def _claims_table(findings: Findings) -> str:
    """A row a claim, its parts below it."""
    rows = [
        [text, c.published, f"{SIGNS[c.verdict]} {c.verdict}: {c.numbers()}", c.test, c.paper_test]
        for claim in findings.claims
        for text, c in (
            (claim.statement, claim),
            *((f"… at {part.statement}", part) for part in claim.parts),
        )
    ]
    return _grid(("claim", "the paper", findings.data, "test", "the paper's test"), rows)


def tables_csv(tables: Iterable[Table]) -> str:
    """Tables one below the other, each under its title, as comma-separated values."""
    lines = [line for t in tables for line in ((), (t.title,), t.columns, *t.rows)]
    return csv_text(lines[1:])


def cell_text(cell: Cell) -> str:
    """A cell as it is shown: three decimals, and nothing for what is not there.

    Examples
    --------
    >>> cell_text(0.79712), cell_text(-0.0002), cell_text(1032), cell_text(None)
    ('0.797', '0.000', '1,032', '')
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float):
        return f"{round(cell, 3) + 0.0:.3f}".replace("-", "−")  # no −0.000
    return f"{cell:,}" if isinstance(cell, int) else cell


def _grid(head: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_one_line(cell) for cell in line)} |" for line in lines)


def _one_line(text: str) -> str:
    """On one line, and no column of its own."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
