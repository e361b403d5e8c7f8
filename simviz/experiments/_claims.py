"""Claims of experiments: what ``experiments.toml`` has of each, and the tests that decide it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeVar

import numpy as np

from simviz.evaluation.comparisons import Correction, apply_correction
from simviz.evaluation.significance import Comparison, paired_randomization
from simviz.experiments._findings import Claim

K = TypeVar("K")
_ANY = "*"


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
    kind: Literal["ahead", "level", "no worse"] = "ahead"
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
    made = {(0, i): test(*both) for i, both in enumerate(pairs.values())}
    return dict(zip(pairs, apply_correction(made, correction).values(), strict=True))


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
            texts = part or one.said, "" if one.over_rows else published(one)
            rows = values.get(one.on, {})
            if not {a, b} <= rows.keys():
                reason = one.reason or f"{b if a in rows else a} was not run."
                return Claim(texts[0], published=texts[1], reason=reason)
            how: dict[str, Any] = {"published": texts[1]}
            if self.means:
                how["values"] = self.means(rows[a]), self.means(rows[b])
            what, key = self.quantity(a, b, one.on), (one, part)
            if one.kind == "ahead":
                claim = Claim.ahead(texts[0], ours[key], what, paper=theirs.get(key), **how)
            else:
                test, better = self.test(rows[a], rows[b]), one.kind == "no worse"
                claim = Claim.level(texts[0], test, one.margin, what, or_better=better, **how)
            return replace(claim, undecided=self.undecided(a, b, one.on) or claim.undecided)

        made = []
        for one, pairs in compared.items():
            parts = [decided(one, part, *rows) for part, rows in pairs.items()]
            if one.over_rows:
                reason = one.reason or "Nothing of it was run."
                parts = [Claim.at_every(one.said, parts, published=published(one), reason=reason)]
            made += parts
        return made
