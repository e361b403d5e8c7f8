"""What an experiment found: tables, figures and claims, kept as JSON, shown as Markdown or CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from numpy.typing import ArrayLike

from simviz.data.cells import escape_cell
from simviz.evaluation.comparisons import Correction, correct
from simviz.evaluation.significance import ALPHA, Comparison, paired_randomization, plural, signed

if TYPE_CHECKING:
    from simviz.experiments._experiment import Experiment

Verdict = Literal["holds", "does not hold", "not comparable"]
K = TypeVar("K")
Cell = str | float | int | None
FigureKind = Literal["dimensions", "roc", "scatter"]
VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "not comparable")
#: In front of a verdict, so that colour is not all that tells it.
SIGNS = {"holds": "✓", "does not hold": "✗", "not comparable": "–"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with a number that decides it.

    Parameters
    ----------
    statement : str
        What is said, in plain words.
    found : float
        The number that we found; NaN where it could not be measured.
    bound : float, default=0
        What it has to reach.
    quantity : str
        What the number is, such as "MRR, S2Net − OPCA".
    published : str
        What the paper has, in words; "only drawn in the paper" where it
        prints no number.
    test : str
        The test that decides, with what it counted; empty where none was made.
    p_value : float
        Of that test, corrected for the other claims it was made with; NaN
        where none was made. Above `simviz.evaluation.significance.ALPHA` the claim
        does not hold, however large the number.
    low, high : float
        95 % interval of the number.
    paper_test : str
        What the paper's own test says, with its p-value.
    reason : str
        Why the claim cannot be compared; it then has no other verdict.
    ours : str
        What was found, in words, where the number says too little.

    Examples
    --------
    >>> claim = Claim("Typos are found.", 0.97, 0.95)
    >>> claim.verdict
    'holds'
    >>> Claim("S2Net is ahead of OPCA.", 0.01, p_value=0.3).verdict
    'does not hold'
    """

    statement: str
    found: float = math.nan
    bound: float = 0.0
    quantity: str = ""
    published: str = ""
    test: str = ""
    p_value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    paper_test: str = ""
    reason: str = ""
    ours: str = ""

    @property
    def verdict(self) -> Verdict:
        """One of "holds", "does not hold" and "not comparable"."""
        if self.reason or math.isnan(self.found):
            return "not comparable"
        reached = self.found >= self.bound and not self.p_value > ALPHA
        return "holds" if reached else "does not hold"

    @classmethod
    def ahead(
        cls,
        statement: str,
        found: Comparison | None,
        quantity: str = "",
        *,
        published: str = "",
        paper: Comparison | None = None,
        higher_is_better: bool = True,
        reason: str = "",
    ) -> Self:
        """A claim that one method is better than another.

        Parameters
        ----------
        statement : str
            What is said, in plain words.
        found : Comparison or None
            The method that is said to be better against the other one; None
            where one of them was not run.
        quantity : str
            What was compared, such as "MRR, S2Net − OPCA".
        published : str
            What the paper has, in words.
        paper : Comparison, optional
            The same by the test that the paper used.
        higher_is_better : bool, default=True
            False for metrics such as rank loss.
        reason : str
            Why there is nothing to compare, where that is so.

        Returns
        -------
        Claim
            It holds where the difference has the right sign and p ≤ 0.05.
        """
        if found is None:
            return cls(statement, published=published, reason=reason)
        if not higher_is_better:
            found = found.swapped()
            paper = None if paper is None else paper.swapped()
        return cls(
            statement,
            found.difference,
            math.nextafter(0.0, 1.0),
            quantity,
            published,
            test_in_words(found),
            found.p_value,
            found.low,
            found.high,
            "" if paper is None else f"{test_in_words(paper)}: {p_in_words(paper.p_value)}",
            "Too few values to test." if math.isnan(found.p_value) else "",
        )

    @classmethod
    def level(
        cls,
        statement: str,
        found: Comparison,
        margin: float,
        quantity: str = "",
        *,
        published: str = "",
    ) -> Self:
        """A claim that two methods are as good as each other.

        Parameters
        ----------
        statement : str
            What is said, in plain words.
        found : Comparison
            One against the other; only its interval is read.
        margin : float
            The largest difference that would not matter.
        quantity, published : str
            As in `ahead`.

        Returns
        -------
        Claim
            It holds where the whole interval of the difference lies within the
            margin: that no difference was found would not show that there is none.
        """
        furthest = max(abs(found.low), abs(found.high))
        claim = cls(statement, margin - furthest, 0.0, quantity, published)
        words = f"{found.level:.0%} interval within ±{margin:g}, {counted(found)}"
        return replace(claim, test=words, low=found.low, high=found.high)

    def numbers(self) -> str:
        """What was found, in words; empty where nothing was measured.

        Examples
        --------
        >>> Claim("A is ahead.", 0.021, low=0.01, high=0.032, p_value=0.0002).numbers()
        '+0.021 [+0.010, +0.032], p < 0.001'
        """
        if self.ours or math.isnan(self.found):
            return self.ours
        interval = not math.isnan(self.low)
        if interval and self.bound == 0 and math.isnan(self.p_value):
            numbers = f"[{signed(self.low)}, {signed(self.high)}]"  # a claim of being level
        else:
            numbers = signed(self.found)
            numbers += f" [{signed(self.low)}, {signed(self.high)}]" if interval else ""
        if not interval and math.isnan(self.p_value):
            numbers += f" (needed {signed(self.bound)})"
        p = "" if math.isnan(self.p_value) else f", {p_in_words(self.p_value)}"
        p += "; cannot be told apart" if self.p_value > ALPHA else ""
        return f"{f'{self.quantity}: ' if self.quantity else ''}{numbers}{p}"

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON's types, and the verdict."""
        return {**_plain(asdict(self)), "verdict": self.verdict}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Self:
        """Read what `to_json` answered.

        Parameters
        ----------
        tree : mapping
            JSON's types.

        Returns
        -------
        Claim
            The same claim.
        """
        fields: dict[str, Any] = {n: v for n, v in tree.items() if n != "verdict"}
        fields = {n: math.nan if v is None else v for n, v in fields.items()}
        return cls(**fields)


def tests_of(
    pairs: Mapping[K, Sequence[Any]],
    test: Callable[..., Comparison] = paired_randomization,
    correction: Correction = "holm",
) -> dict[K, Comparison]:
    """Test several pairs of values, corrected for how many there are."""
    made = {(0, i): test(*both) for i, both in enumerate(pairs.values())}
    return dict(zip(pairs, correct(made, correction).values(), strict=True))


def claims_ahead(
    wanted: Iterable[tuple[str, str, str]],
    values: Mapping[str, ArrayLike],
    metric: str,
    test: Callable[..., Comparison] = paired_randomization,
    paper: Callable[..., Comparison] | None = None,
) -> list[Claim]:
    """Claim that one is ahead of another, for each that was run: (one, other, statement)."""
    known = [(a, b, words) for a, b, words in wanted if a in values and b in values]
    found = tests_of({(a, b): (values[a], values[b]) for a, b, _ in known}, test)
    return [
        Claim.ahead(
            words,
            found[a, b],
            f"{metric}, {a} − {b}",
            paper=None if paper is None else paper(values[a], values[b]),
        )
        for a, b, words in known
    ]


def counted(found: Comparison) -> str:
    """How many of what a test rests on, such as "1,032 queries"."""
    return f"{found.n:,} {plural(found.unit, found.n)}"


def test_in_words(found: Comparison) -> str:
    """Which test it was, what was done about others, and what it counted."""
    return ", ".join(filter(None, (found.test, found.correction, counted(found))))


def p_in_words(p: float) -> str:
    """A p-value as it is written."""
    if math.isnan(p):
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns as a paper prints them, ours beside published.

    Parameters
    ----------
    title : str
        What it shows, such as "Table 1: accuracy and MRR".
    columns : tuple of str
        Headings. What a paper published ends in ", published".
    rows : tuple of tuple
        Cells: words, numbers, or None where there is nothing.
    note : str
        How to read it, in a sentence or two.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

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

    Parameters
    ----------
    label : str
        What it is called.
    x, y : tuple of float
        Where it goes through.
    method : str
        Id of the method, which gives its colour and dash; "" for none.
    published : bool
        Whether a paper printed these numbers.
    low, high : tuple of float
        95 % band of y; empty for none.
    names : tuple of str
        What stands beside each point of a scatter plot.
    pictures : tuple of str
        ``data:`` addresses of pictures drawn in place of points.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    method: str = ""
    published: bool = False
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper, drawn again.

    Parameters
    ----------
    title : str
        What it shows.
    kind : {"dimensions", "roc", "scatter"}
        A metric against the number of dimensions, ROC curves, or a map.
    series : tuple of Series
        What is drawn.
    x_name, y_name : str
        What the axes are.
    note : str
        How to read it.
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

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    data : str
        Name of the data.
    about : str
        How much of it was used, in words.
    size : str
        "demo" or "full".
    seed : int
        Of everything random.
    tables : tuple of Table
        Ours beside published.
    figures : tuple of Figure
        To be drawn by `simviz.charts`.
    claims : tuple of Claim
        What holds and what does not.
    notes : tuple of str
        Settings that were chosen, what differs from the paper, what was left
        out; a sentence each.
    seconds : float
        How long it took.
    command : str
        The line that repeats it.
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
        """All of it, as JSON's types; what is not a number is null."""
        tree = asdict(self)
        tree["claims"] = [claim.to_json() for claim in self.claims]
        return dict(_plain(tree))

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Self:
        """Read what `to_json` answered.

        Parameters
        ----------
        tree : mapping
            JSON's types.

        Returns
        -------
        Findings
            The same findings.

        Raises
        ------
        ValueError
            If something is missing or of another kind.
        """
        try:
            fields = dict(tree)
            fields["tables"] = tuple(
                Table(t["title"], tuple(t["columns"]), tuple(map(tuple, t["rows"])), t["note"])
                for t in tree["tables"]
            )
            fields["figures"] = tuple(
                Figure(**{**f, "series": tuple(Series(**_tuples(s)) for s in f["series"])})
                for f in tree["figures"]
            )
            fields["claims"] = tuple(map(Claim.from_json, tree["claims"]))
            fields["notes"] = tuple(tree["notes"])
            return cls(**fields)
        except (KeyError, TypeError) as error:
            raise ValueError(f"These findings cannot be read ({error}).") from error


def _plain(value: object) -> Any:
    """With lists, and null for what is not a number."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.item() if hasattr(value, "item") else value


def _tuples(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(math.nan if v is None else v for v in value)
        if isinstance(value, list)
        else value
        for name, value in tree.items()
    }


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
    head = ("verdict", "claim", "the paper", "ours", "test", "the paper's test")
    claims = [
        [
            f"{SIGNS[claim.verdict]} {claim.verdict}",
            claim.statement,
            claim.published,
            claim.reason or claim.numbers(),
            claim.test,
            claim.paper_test,
        ]
        for claim in found.claims
    ]
    parts = [
        f"# {experiment.title}",
        f"{where}. {experiment.sentence}",
        f"Data: {_one_line(found.data)} ({_one_line(found.about)}); size {found.size}, seed "
        f"{found.seed}{spent}.",
        _grid(head, claims) if claims else "",
    ]
    for table in found.tables:
        parts += [
            f"## {_one_line(table.title)}",
            _grid(table.columns, [list(map(cell_text, row)) for row in table.rows]),
        ]
        parts += [_one_line(table.note)] if table.note else []
    if found.notes:
        parts.append("\n".join(f"- {_one_line(note)}" for note in found.notes))
    if found.command:
        parts.append(f"```\n{found.command}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def tables_csv(tables: Iterable[Table]) -> str:
    """Tables one below the other, each under its title.

    Parameters
    ----------
    tables : iterable of Table
        What to write.

    Returns
    -------
    str
        Comma-separated values for a spreadsheet, with an empty line between
        the tables.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for i, table in enumerate(tables):
        title = table.title.replace('"', '""')
        if i:
            text.write("\n")
        text.write(f'"{title}"\n')
        for row in (table.columns, *table.rows):
            lines.writerow([escape_cell(c) if isinstance(c, str) else c for c in row])
    return text.getvalue()


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
    return "\n".join(f"| {' | '.join(_one_line(cell) for cell in line)} |" for line in lines)


def _one_line(text: str) -> str:
    """On one line, and no column of its own."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
