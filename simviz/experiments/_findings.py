"""What an experiment found: tables, figures and claims that can be kept and read again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from simviz.experiments._claims import Claim

Cell = str | float | int | None
FigureKind = Literal["dimensions", "roc", "scatter"]


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
    command: str = field(default="")

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON's types; what is not a number is null."""
        tree = asdict(self)
        tree["claims"] = [claim.to_json() for claim in self.claims]
        plain: dict[str, Any] = _plain(tree)
        return plain

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
            told = dict(tree)
            told["tables"] = tuple(
                Table(t["title"], tuple(t["columns"]), tuple(map(tuple, t["rows"])), t["note"])
                for t in tree["tables"]
            )
            told["figures"] = tuple(
                Figure(**{**f, "series": tuple(Series(**_tuples(s)) for s in f["series"])})
                for f in tree["figures"]
            )
            told["claims"] = tuple(map(Claim.from_json, tree["claims"]))
            told["notes"] = tuple(tree["notes"])
            return cls(**told)
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
