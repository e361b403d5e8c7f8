"""What an experiment is: a table or a figure of a paper that can be run again.

One experiment is one module of `simviz.experiments`: its file's name is its id, and it is found
by being there. What it is, which paper, data, parts and methods it has, what is tried, claimed and
noted, stands under its id in ``experiments.toml``; the module defines one subclass of
`Experiment`, which says how it is done::

    class SomeTable(Experiment[Parts]):
        def suits(self, pairs):                     # which pairs it can be run on
            ...

        def _adapted(self, parts):                  # only where it does not run on Parts
            ...

        def _run(self, data, methods, size, seed, progress):
            for method, part in progress.over(methods):
                part(f"Training {method}")          # raises JobCancelled when asked to stop
                model.set_callbacks(part.listen(f"Training {method}"))
            return RunResult(data.describe(), tables=..., claims=..., notes=...)

Rules that all of them keep:

* Settings are chosen on validation data alone; test data are read once, when everything is
  chosen. ``size="demo"`` takes a few minutes at most on one core, with the bundled demo.
* A published number is a fact with a source: what is said of a paper beside a claim stands in
  ``published.toml``, from which `PUBLISHED` makes the words. A claim that contradicts it cannot be
  made, and `Experiment.run` refuses any other words.
* Tables (`Table`) have ours beside published: the heading of the second ends in ", published".
  Figures (`Figure`) hold numbers, not drawings. What stands above and below them has its place in
  ``tables`` and ``figures`` of that file.
* What is tried stands in ``grids`` of that file, from which ``docs/papers.md`` has it (``python
  tests/docs/test_papers.py`` writes it there). Whoever changes what they do not say raises
  `Experiment.revision`: stored results are then stale.
* A long experiment fits with `Progress.fitted`, so that a run that was killed goes on behind what
  it has learned.

Claims stand under ``claims`` of that file: `ClaimSpec` says which row is ahead of which, where
``published.toml`` has it, and what is corrected for what. A `Judge` tests them on the values of
rows that were run, by the one rule of ``docs/papers.md``::

    self.judged({"": {"A": values, "B": others}}, Judge(quantity="MRR, {} − {}".format))

A claim over dimensions, tests or parts of the data has a ``*`` in its rows, and is told by them:
``rows = ["A, *", "B, *"]``.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

import numpy as np

from simviz.data import PairSet
from simviz.evaluation.metrics import parse_metric
from simviz.experiments._claims import PUBLISHED, ClaimSpec, Judge, PublishedText
from simviz.experiments._findings import Cell, Claim, Figure, Findings, Series, Table
from simviz.experiments._parts import Parts, Pool, read_parts
from simviz.experiments._progress import Progress
from simviz.methods import get_method
from simviz.registry import find_classes, unknown_name

Size = Literal["demo", "full"]
SIZES: tuple[Size, ...] = ("demo", "full")
#: Parameter to the values that are tried.
Grid = Mapping[str, Sequence[Any]]
#: Those of each method.
Grids = Mapping[str, Grid]
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Paper:
    """Where a table or figure was published.

    Experiments are grouped by the short name `id`.
    """

    id: str
    title: str
    authors: str
    year: int
    venue: str


def _constant(value: Any) -> Any:
    """What a file has, with tuples in place of lists."""
    if isinstance(value, dict):
        return {name: _constant(part) for name, part in value.items()}
    return tuple(map(_constant, value)) if isinstance(value, list) else value


_FILE = files("simviz.experiments").joinpath("experiments.toml")
_CONFIG: dict[str, dict[str, Any]] = _constant(tomllib.loads(_FILE.read_text(encoding="utf-8")))
_PAPERS = {name: Paper(name, **about) for name, about in _CONFIG.pop("papers").items()}
#: What a setting is in words.
PARAM_TEXTS: Mapping[str, str] = _CONFIG.pop("params")
#: What a name in the file stands for.
_PARSERS: dict[str, Callable[[Any], Any]] = {
    "paper": _PAPERS.__getitem__,
    "metric": parse_metric,
    "metrics": lambda names: tuple(map(parse_metric, names)),
    "claims": lambda rows: tuple(ClaimSpec(**row) for row in rows),
}


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run of an experiment gives: `about` says in words how much data was used."""

    about: str
    tables: Iterable[Table] = ()
    figures: Iterable[Figure] = ()
    claims: Iterable[Claim] = ()
    notes: Iterable[str] = ()


def two_texts(pairs: PairSet) -> bool:
    """Whether both sides are texts, and not the same ones."""
    return pairs.x.kind == pairs.y.kind == "text" and pairs.x is not pairs.y


def graded(pairs: PairSet) -> bool:
    """Whether judgments are grades that differ."""
    relevance = pairs.relevance
    return relevance.kind == "grade" and len(np.unique(relevance.matrix.data)) > 1


class Experiment(Generic[D]):
    """A table or figure of a paper; class attributes are what ``experiments.toml`` has of it.

    `needs` says what the data have to be; `sets` are open data sets that were tried. `minutes` are
    what the demo takes on one core, about, and `full_minutes` what size "full" takes of each set.
    `grids` have what is tried by size, method and parameter, `limits` the x items that size "full"
    keeps of train, and of validation and of test, where it does not keep all. `revision` is raised
    where the protocol changes in what the others do not say. `pool` says which y items a part has
    (`Parts.of`), `split_by` what must not stand in two parts, where the data do not. `names` are
    what tables call methods, `published` further rows of a method, by what stands behind its name,
    and what each may choose of the settings. `costs` say how long methods take, about, in any
    unit, in the order of training. `tables` have title and note by name, `figures` all but the
    series, `texts` what else is said. Claims are about the paper's column `published_as`;
    `remarks` stand below the tables.
    """

    title: ClassVar[str]
    paper: ClassVar[Paper]
    shown_as: ClassVar[str]
    sentence: ClassVar[str]
    needs: ClassVar[str]
    demo: ClassVar[str]
    sets: ClassVar[tuple[str, ...]] = ()
    methods: ClassVar[tuple[str, ...]] = ()
    minutes: ClassVar[float] = 1.0
    full_minutes: ClassVar[Mapping[str, float]] = {}
    grids: ClassVar[Mapping[Size, Grids]] = {}
    limits: ClassVar[Mapping[str, tuple[int | None, int | None]]] = {}
    revision: ClassVar[int] = 1
    pool: ClassVar[Pool] = "mates"
    split_by: ClassVar[Literal["pair", "x", "y"]] = "pair"
    fractions: ClassVar[tuple[float, float, float]] = (0.7, 0.1, 0.2)
    names: ClassVar[Mapping[str, str]] = {}
    published: ClassVar[Mapping[str, Mapping[str, Grid]]] = {}
    costs: ClassVar[Mapping[str, float]] = {}
    claims: ClassVar[tuple[ClaimSpec, ...]] = ()
    tables: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    figures: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    texts: ClassVar[Mapping[str, str]] = {}
    published_as: ClassVar[str] = "MAP"
    remarks: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        known = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
        for name, value in _CONFIG.get(cls.__module__.rpartition(".")[2], {}).items():
            if name not in known:
                raise ValueError(unknown_name(f"attribute of {cls.__name__}", name, known))
            setattr(cls, name, _PARSERS[name](value) if name in _PARSERS else value)

    @property
    def id(self) -> str:
        """Its name: that of its module."""
        return type(self).__module__.rpartition(".")[2]

    def load(
        self, path: str | Path | None = None, *, size: Size = "demo", seed: int = 0, **kept: Any
    ) -> D:
        """Read the data: a folder, see `read_parts`, or a bundled demo, by default the own one.

        `n_train` and `n_pool` are the x items to keep of train, and of validation and of test;
        `seed` is that of the split, where the data have none.
        """
        from simviz.datasets import DEMOS, load_demo

        place = str(path or self.demo)
        if place in DEMOS and not (path and Path(place).is_dir()):
            return self.prepared(load_demo(place), seed=seed, **kept)
        parts = read_parts(place, pool=self.pool, fractions=self.fractions, seed=seed)
        return self._adapted(parts.thinned(**kept, pool=self.pool))

    def prepared(
        self, pairs: PairSet, *, seed: int = 0, pool: Pool | None = None, **kept: Any
    ) -> D:
        """Make data of pairs that somebody brought, and for which `refusal` has nothing to say.

        Without `pool`, a part has the y items that the experiment says; all else as in `load`.
        """
        has_split = any("split" in side.metadata for side in (pairs.x, pairs.y))
        by: Any = "column" if has_split else self.split_by
        pool = pool or self.pool
        parts = Parts.of(pairs, by=by, pool=pool, fractions=self.fractions, seed=seed)
        return self._adapted(parts.thinned(**kept, pool=pool))

    def _adapted(self, parts: Parts) -> D:
        """Return the data that `_run` takes."""
        return cast(D, parts)

    def protocol(self, size: Size) -> str:
        """A digest of what is tried and how: results of another one are stale."""
        content = self.grids.get(size, {}), self.methods, self.pool, self.split_by, self.demo
        tree = *content, self.fractions, dict(self.limits), self.revision
        text = json.dumps(tree, sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def estimate(self, size: Size, data: str = "") -> float:
        """About how many minutes a run takes on one core; the demo's where none are known."""
        timed = self.full_minutes if size == "full" else {}
        return timed.get(data or self.demo, self.minutes)

    def command(self, size: Size, seed: int, **options: Any) -> str:
        """The line for a shell that runs it; options that are None or empty are left out.

        Examples
        --------
        >>> get_experiment("ssi_links").command("demo", 0, methods=("lsa", "ssi"))
        'python -m simviz.experiments ssi_links --size demo --seed 0 --methods lsa ssi'
        """
        parts = ["python", "-m", "simviz.experiments", self.id]
        for name, value in {"size": size, "seed": seed, **options}.items():
            several = value if isinstance(value, list | tuple) else [value]
            if value is not None and several:
                parts += [f"--{name}", *map(str, several)]
        return shlex.join(parts)

    def refusal(self, pairs: PairSet) -> str:
        """Why it cannot be run on these pairs, in a sentence; empty where it can be."""
        return "" if self.suits(pairs) else f"It needs {self.needs}."

    def suits(self, pairs: PairSet) -> bool:
        """Whether pairs are what it `needs`."""
        return pairs.name == self.demo

    def run(
        self,
        data: D,
        *,
        size: Size = "demo",
        seed: int = 0,
        methods: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Findings:
        """Train, choose, test, and say what holds, on what `load` answered.

        Claims about methods that are left out are not comparable. A RuntimeError says that the
        words of a claim about the paper do not come from ``published.toml``.
        """
        selected = self.selected_methods(methods)
        found = self._run(data, selected, size, seed, progress or Progress())
        claims = tuple(found.claims)
        for claim in claims:
            if not isinstance(claim.published, PublishedText):
                raise RuntimeError(f"published.toml has nothing of the claim {claim.statement!r}.")
        return Findings(
            self.id, cast(Any, data).name, found.about, size, seed,
            tuple(found.tables), tuple(found.figures), claims, tuple(found.notes),
        )  # fmt: skip

    def _run(
        self, data: D, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        raise NotImplementedError

    def table(self, name: str, rows: Iterable[Mapping[str, Cell]], **words: object) -> Table:
        """A table by its name in ``tables`` of the file, whose gaps are filled with words."""
        title, *note = (text.format(**words) for text in self.tables[name])
        return Table.of(title, rows, *note)

    def figure(self, name: str, series: Iterable[Series], **words: object) -> Figure:
        """A figure by its name in ``figures`` of the file, whose gaps are filled with words."""
        texts: Any = {key: text.format(**words) for key, text in self.figures[name].items()}
        return Figure(series=tuple(series), **texts)

    def judged(self, values: Mapping[str, Mapping[str, Any]], judge: Judge) -> list[Claim]:
        """What the paper concludes, each with its test, and what the paper has of it.

        `values` are what was measured to rows to what the tests of the judge take.
        """
        return judge.claims(self.claims, values, self.published_of)

    def published_of(self, claim: ClaimSpec) -> PublishedText:
        """What the paper has of a claim."""
        one, other = claim.rows
        place = claim.published or (
            self.shown_as.lower(), self.published_as, one, "ahead of", other
        )  # fmt: skip
        return PUBLISHED.text_of(self.paper.id, *place)

    def name(self, method: str) -> str:
        """What tables call a method: its title, unless the experiment has another name for it."""
        return self.names.get(method) or str(get_method(method).tags.title)

    def rows(self, method: str) -> dict[str, Grid]:
        """Rows of tables that a method gives, and what each may choose of its settings.

        The method itself may choose all; the others are what is `published` of it.
        """
        published = self.published.get(method, {})
        return {self.name(method) + suffix: some for suffix, some in {"": {}, **published}.items()}

    def selected_methods(self, methods: Iterable[str] | None) -> tuple[str, ...]:
        """The methods that are asked for, or all, in the experiment's order.

        A ValueError names one that is not part of the experiment, and suggests a near miss.
        """
        requested = self.methods if methods is None else list(methods)
        for method in requested:
            if method not in self.methods:
                raise ValueError(unknown_name(f"method of {self.id}", method, self.methods))
        return tuple(method for method in self.methods if method in requested)


@functools.cache
def _experiments() -> dict[str, type[Experiment[Any]]]:
    return find_classes(importlib.import_module("simviz.experiments"), Experiment)


def all_experiments() -> dict[str, type[Experiment[Any]]]:
    """Every experiment by its id, sorted.

    Examples
    --------
    >>> all_experiments()["siamese_blstm"].shown_as
    'Table 3 and figures 2 and 3'
    """
    return dict(_experiments())


def get_experiment(name: str) -> Experiment[Any]:
    """An experiment, ready to run, by its id, such as "siamese_blstm".

    A ValueError suggests a near miss.
    """
    known = _experiments()
    if name not in known:
        raise ValueError(unknown_name("experiment", name, known))
    return known[name]()
