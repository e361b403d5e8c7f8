"""What the papers say beside each claim, read from ``published.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from importlib.resources import files

#: Paper, table or section, and column.
_Place = tuple[str, str, str]
_AHEAD = "ahead of"
_ON_ITS_DATA = "so on its own data"
#: What a relation of two rows is in words.
_RELATION_TEXTS = {
    _AHEAD: _ON_ITS_DATA,
    "not behind": _ON_ITS_DATA,
    "level with": _ON_ITS_DATA,
    "equal to": "equal in every printed digit",
}


class PublishedText(str):
    """Words about a paper that `Published` has made, and nobody else."""

    __slots__ = ()


class Published:
    """Numbers and statements of papers; tests see to it that no two contradict each other."""

    def __init__(
        self,
        numbers: Iterable[tuple[str, str, str, str, float]],
        statements: Iterable[Sequence[str]],
    ) -> None:
        self.numbers: dict[_Place, dict[str, float]] = {}
        self.statements: dict[_Place, dict[tuple[str, str, str], PublishedText]] = {}
        for paper, where, column, row, value in numbers:
            self.numbers.setdefault((paper, where, column), {})[row] = float(value)
        for paper, where, column, row, relation, *others in statements:
            text = _RELATION_TEXTS.get(relation, f"{column} {relation}") + f" ({where})"
            if where.startswith("figure"):
                text = "only drawn in the paper"
            there = self.statements.setdefault((paper, where, column), {})
            there[row, relation, "".join(others)] = PublishedText(text)

    def text_of(
        self, paper: str, where: str, column: str, row: str, relation: str, other: str = ""
    ) -> PublishedText:
        """Both numbers where they are known and one is ahead, else a statement.

        ValueError where the file has none, or numbers that say something else.
        """
        numbers = self.numbers.get((paper, where, column), {})
        if relation != _AHEAD or not {row, other} <= numbers.keys():
            text = self.statements.get((paper, where, column), {}).get((row, relation, other))
            if text is None:
                claim = f"{row!r} is {relation} {other!r}".removesuffix(" ''")
                raise ValueError(f"Nothing says that {claim} ({paper}, {where}, {column}).")
            return text
        a, b = numbers[row], numbers[other]
        if not a > b:
            raise ValueError(f"{where} has {a:g} for {row!r} and {b:g} for {other!r} ({column}).")
        digits = max(map(_digits, (a, b)))
        return PublishedText(f"{a:.{digits}f} and {b:.{digits}f} ({column})")


def _digits(number: float) -> int:
    """Decimals that the paper prints: at least two, at most four."""
    return max(2, len(f"{number:.4f}".rstrip("0").partition(".")[2]))


def _read() -> Published:
    text = files("simviz.experiments").joinpath("published.toml").read_text(encoding="utf-8")
    return Published(**tomllib.loads(text))


#: What ``published.toml`` has.
PUBLISHED = _read()
