"""Claims of experiments: what papers say of each, and the tests that decide them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from simviz.evaluation.comparisons import Correction, apply_correction
from simviz.evaluation.significance import Comparison, paired_randomization
from simviz.experiments._findings import Claim, ClaimKind

K = TypeVar("K")
_ANY = "*"
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


_FILE = files("simviz.experiments").joinpath("published.toml")
#: What ``published.toml`` has.
PUBLISHED = Published(**tomllib.loads(_FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSpec:
    """A claim of one row about another, as ``experiments.toml`` has it.

    With a ``*`` in `rows`, it is about every row that this stands for, those of `but` aside,
    with a verdict at each; `part` says what a part is called. `on` is what is measured, where
    that differs between claims; `margin` the largest difference that would not matter.
    `published` is place, column, row, relation and other row in ``published.toml``; by default
    the same rows of the experiment's main table. Claims of one `family` are corrected for each
    other; those over several rows have their own. `papers_test` says that the paper tests it,
    `reason` why there is nothing to compare where a row was not run.
    """

    said: str
    rows: tuple[str, str]
    kind: ClaimKind = "ahead"
    on: str = ""
    margin: float = 0.0
    but: tuple[str, ...] = ()
    part: str = "{}"
    published: tuple[str, ...] = ()
    family: str = ""
    papers_test: bool = True
    reason: str = ""

    @property
    def over_rows(self) -> bool:
        return _ANY in "".join(self.rows)

    def pairs(self, known: Collection[str]) -> dict[str, tuple[str, str]]:
        """What is compared, by the name of the part; one without a name of a single claim."""
        if not self.over_rows:
            return {"": self.rows}
        pattern = next(row for row in self.rows if _ANY in row)
        start, end = pattern.split(_ANY)
        pairs = {}
        for row in known:
            name = row.removeprefix(start).removesuffix(end)
            a, b = (one.replace(_ANY, name) for one in self.rows)
            there = row == pattern.replace(_ANY, name) and {a, b} <= {*known} and a != b
            if there and not any(fnmatchcase(row, no) for no in self.but):
                pairs[self.part.format(name)] = a, b
        return pairs


def tests_of(
    pairs: Mapping[K, Sequence[Any]],
    test: Callable[..., Comparison] = paired_randomization,
    correction: Correction = "holm",
) -> dict[K, Comparison]:
    """Test several pairs of values, corrected for how many there are."""
    return apply_correction({key: test(*both) for key, both in pairs.items()}, correction)


def _mean(values: Any) -> float:
    return float(np.nanmean(np.asarray(values, dtype=np.float64)))


@dataclass(frozen=True, kw_only=True)
class Judge:
    """How claims are decided: `quantity` says what was compared, of two rows and what it is on.

    `means` makes of what the tests take what is shown, and tells the ceiling; `correction` is that
    of the paper's test, ours is Holm's; `undecided` says why two rows decide nothing.
    """

    quantity: Callable[[str, str, str], str]
    test: Callable[..., Comparison] = paired_randomization
    paper: Callable[..., Comparison] | None = None
    correction: Correction = "none"
    means: Callable[[Any], float] | None = _mean
    undecided: Callable[[str, str, str], str] = lambda *_: ""

    def claims(
        self,
        specs: Iterable[ClaimSpec],
        values: Mapping[str, Mapping[str, Any]],
        published: Callable[[ClaimSpec], str],
    ) -> list[Claim]:
        """Each claim with its verdict; `values` has rows by what was measured."""
        compared = {one: one.pairs(values.get(one.on, {})) for one in specs}
        families: dict[object, dict[tuple[ClaimSpec, str], tuple[Any, Any]]] = {}
        for one, pairs in compared.items():
            rows = values.get(one.on, {})
            family = families.setdefault(one if one.over_rows else one.family, {})
            if one.kind == "ahead":
                family |= {
                    (one, part): (rows[a], rows[b])
                    for part, (a, b) in pairs.items()
                    if {a, b} <= rows.keys()
                }
        ours: dict[tuple[ClaimSpec, str], Comparison] = {}
        theirs: dict[tuple[ClaimSpec, str], Comparison] = {}
        for family in families.values():
            ours |= tests_of(family, self.test)
            if self.paper:
                some = {key: both for key, both in family.items() if key[0].papers_test}
                theirs |= tests_of(some, self.paper, self.correction)

        def decided(one: ClaimSpec, part: str, a: str, b: str) -> Claim:
            rows, key = values.get(one.on, {}), (one, part)
            said, they = part or one.said, "" if one.over_rows else published(one)
            if not {a, b} <= rows.keys():
                reason = one.reason or f"{b if a in rows else a} was not run."
                return Claim(said, published=they, reason=reason)
            claim = Claim.tested(
                said, ours.get(key) or self.test(rows[a], rows[b]), self.quantity(a, b, one.on),
                kind=one.kind, margin=one.margin, published=they, paper=theirs.get(key),
                values=self.means and (self.means(rows[a]), self.means(rows[b])),
            )  # fmt: skip
            return replace(claim, undecided=self.undecided(a, b, one.on) or claim.undecided)

        made = []
        for one, pairs in compared.items():
            parts = [decided(one, part, *rows) for part, rows in pairs.items()]
            if one.over_rows:
                reason = one.reason or "Nothing of it was run."
                parts = [Claim.at_every(one.said, parts, published=published(one), reason=reason)]
            made += parts
        return made
