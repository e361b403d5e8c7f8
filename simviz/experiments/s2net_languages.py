"""Figure 2 and table 1 of Yih et al. (2011): finding a document in another language."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simviz.data.pairs import PairSet
from simviz.evaluation import (
    Comparison,
    Evaluation,
    compare_all,
    confidence_interval,
    evaluate,
    paired_randomization,
    query_values,
    unpaired_t,
)
from simviz.evaluation.result import DIRECTIONS
from simviz.experiments._experiment import (
    Experiment,
    Grids,
    RunResult,
    Size,
    describe,
    tried,
    two_texts,
)
from simviz.experiments._findings import (
    Ahead,
    Cell,
    Claim,
    Figure,
    Series,
    Table,
    claims_of,
    tests_of,
)
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.experiments._published import PUBLISHED
from simviz.features import default_features
from simviz.methods import get_method

_Results = Mapping[str, Mapping[int, Evaluation]]

TOPICS = ("jplsa", "cplsa")
#: Settings that a row names, beside its dimensions.
_TOLD = ("regularization", "loss", "learning_rate")
N_TERMS = 20_000  # of a vocabulary, as in the paper
#: How long a method takes, to tell how far everything is.
_WEIGHTS = {"opca": 8.0, "cca": 6.0, "cl_lsi": 2.0, "jplsa": 1.0, "cplsa": 3.0}
#: MRR of the table, mean of both directions (table 1 of the paper).
_TABLE_1 = "s2net", "table 1", "MRR"
#: Where numbers of starts stand, and of what they are: of validation pairs.
_STARTS = "s2net", "section 4.1", "dev MRR, 1,000 dimensions"
#: Where the slope γ and the penalty β stand.
_SETTINGS = "s2net", "section 3.2"
#: Methods from which S2Net starts in the paper.
STARTS = ("opca", "cl_lsi")
#: Dimensions at which one setting of S2Net is changed at a time, with the paper's loss.
STUDIED = 100
GAMMAS = (1.0, 5.0, 20.0, 50.0)  # beside 10, the paper's
PENALTIES = (0.0, 0.001, 0.01, 0.1, 1.0)  # β, with which nothing is stopped early
#: The largest difference in MRR of two slopes of the loss that would not matter.
SAME = 0.01


@dataclass(frozen=True, slots=True)
class Point:
    """A fitted model and what validation said of it."""

    method: str
    k: int
    settings: str
    validation: float
    model: Any
    space: tuple[str, bool]


def _validation(point: Point) -> float:
    return point.validation


def _best(points: Iterable[Point]) -> dict[int, Point]:
    """The best on validation pairs, for each number of dimensions."""
    best: dict[int, Point] = {}
    for point in points:
        if point.k not in best or point.validation > best[point.k].validation:
            best[point.k] = point
    return dict(sorted(best.items()))


class Aligned:
    """Texts of both sides as matrices, and models fitted to them."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self.parts, self.seed = parts, seed
        self._features: dict[tuple[str, bool], tuple[Any, Any]] = {}
        self._sides: dict[tuple[tuple[str, bool], str], tuple[Any, Any]] = {}

    def sides(self, space: tuple[str, bool], part: str) -> tuple[sp.csr_array, sp.csr_array]:
        """Both sides of a part, in a vocabulary that training texts make."""
        if space not in self._features:
            kind, shared = space
            texts = self.parts.train.x.content, self.parts.train.y.content
            seen = (np.concatenate(texts),) * 2 if shared else texts
            options: dict[str, Any] = {"min_df": 2, "max_features": N_TERMS}
            if kind == "tfidf":
                options["tf"] = "log1p"
            x = default_features("text", kind, content=seen[0], **options).fit(seen[0])
            y = x
            if not shared:
                y = default_features("text", kind, content=seen[1], **options).fit(seen[1])
            self._features[space] = x, y
        if (space, part) not in self._sides:
            x, y = self._features[space]
            pairs = getattr(self.parts, part)
            self._sides[space, part] = x.transform(pairs.x.content), y.transform(pairs.y.content)
        return self._sides[space, part]

    def tried(self, method: str, grid: Grids, progress: Progress) -> list[Point]:
        """Every setting of a method, but the ridges that are not the best of their kind."""
        if method in TOPICS:  # a vocabulary a language, as in the paper
            space = "counts", False
            return self.points(method, grid[method], space, "Jensen–Shannon", progress)
        found: list[Point] = []
        some = {name: values for name, values in grid[method].items() if name != "shared"}
        for shared, part in progress.over(grid[method]["shared"]):
            words = "one vocabulary" if shared else "a vocabulary each"
            made = self.points(method, some, ("tfidf", shared), words, part)
            found += _best(made).values()
        return found

    def networks(
        self,
        k: int,
        start: Point | None,
        grid: Mapping[str, Sequence[Any]],
        progress: Progress,
        **fixed: Any,
    ) -> Point:
        """The best of S2Net's losses and rates, from a linear model or from random numbers."""
        space, words, init = ("tfidf", True), "from random numbers", "random"
        if start is not None:
            space, init = start.space, start.model
            words = f"from {_title(start.method)} ({start.settings})"
        names = "loss", "learning_rate", "max_iter"
        fixed |= {"n_components": k, "init": init}
        some = {name: grid[name] for name in names}
        return max(self.points("s2net", some, space, words, progress, **fixed), key=_validation)

    def points(
        self,
        method: str,
        grid: Mapping[str, Sequence[Any]],
        space: tuple[str, bool],
        words: str,
        progress: Progress,
        **fixed: Any,
    ) -> list[Point]:
        """Every setting of a method in one space, with validation pairs where it watches them."""
        found = []

        def make(**params: Any) -> tuple[Any, tuple[Any, ...]]:
            cls, usual = get_method(method), {"shared": space[1], "random_state": self.seed}
            known = {n: v for n, v in usual.items() if n in cls._get_param_names()}
            made = cls(**known, **fixed, **params)
            data: tuple[Any, ...] = *self.sides(space, "train"), self.parts.train.relevance
            if getattr(made, "validation_fraction", 0):
                data += *self.sides(space, "validation"), self.parts.validation.relevance
            return made, data

        for params, model in tried(method, grid, make, progress, paths=True):
            value = self.measured(model, space, "validation").value("MRR", "mean")
            told = ", ".join([words, *(describe({n: params[n]}) for n in _TOLD if n in params)])
            found.append(Point(method, model.n_components_, told, value, model, space))
        return found

    def measured(self, model: Any, space: tuple[str, bool], part: str) -> Evaluation:
        """Ranks of all items of a part, from both sides."""
        judged = getattr(self.parts, part).relevance
        return evaluate(model, *self.sides(space, part), judged, metrics=["MRR", "top-1"])


class AcrossLanguages(Experiment[Parts]):
    """MRR by dimensions, and accuracy and MRR of the best."""

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        positives = pairs.relevance.positives
        largest = max(positives.shape)
        aligned = positives.nnz <= 1.5 * largest and largest <= 1.5 * min(positives.shape)
        return two_texts(pairs) and aligned and pairs.relevance.unjudged == "negative"

    def _run(
        self, data: Parts, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        """Train every method at every number of dimensions, and test what validation chose."""
        grid = self.grids[size]
        bench = Aligned(data, seed)
        fitted = {*methods} | ({"opca"} if {"s2net", "hdlr"} & {*methods} else set())
        every = progress.part(0, 0.5).each(
            lambda method, part: bench.tried(method, grid, part),
            {method: w for method, w in _WEIGHTS.items() if method in fitted},
        )
        points = {method: _best(found) for method, found in every.items()}
        if "hdlr" in methods:
            one = _best(point for point in every["opca"] if point.space[1])  # one vocabulary
            most = {"n_constraints": grid["hdlr"]["n_constraints"]}

            def bent(k: int, part: Progress) -> Point:
                words, init = f"from OPCA ({one[k].settings})", one[k].model
                made = bench.points(
                    "hdlr", most, one[k].space, words, part, n_components=k, init=init
                )
                return max(made, key=_validation)

            points["hdlr"] = progress.part(0.5, 0.6).each(bent, _costs(grid["hdlr"], one))
        studies: list[Study] = []
        studied: list[Claim] = []
        if "s2net" in methods:
            begun = points["opca"]
            points["s2net"] = progress.part(0.6, 0.9).each(
                lambda k, part: bench.networks(k, begun[k], grid["s2net"], part),
                _costs(grid["s2net"], begun),
            )
            studies = _studied(bench, points, grid["s2net"], progress.part(0.9, 0.98))
            start = _studied_start(points)
            itself = bench.measured(start.model, start.space, "validation")
            studied = _study_claims(studies, itself)
        progress("Testing", 0.98)
        tested = {
            method: {k: bench.measured(p.model, p.space, "test") for k, p in curve.items()}
            for method, curve in points.items()
        }
        best = {m: max(curve.values(), key=_validation) for m, curve in points.items()}
        shown = [method for method in self.methods if method in tested]
        return RunResult(
            data.describe(),
            tables=[
                _table(shown, best, tested),
                _by_direction(shown, best, tested),
                _by_dimension(shown, points, tested),
                *([_study_table(studies)] if studies else []),
            ],
            figures=[_figure(shown, tested)],
            claims=[*_ordered(best, tested), _everywhere(tested), *studied],
            notes=[*data.notes, *self.remarks],
        )


@dataclass(frozen=True, slots=True)
class Study:
    """One setting of S2Net, at the best rate, and how it ranks validation pairs."""

    changed: str
    to: str
    point: Point
    result: Evaluation


def _costs(grid: Mapping[str, Sequence[Any]], begun: Mapping[int, Point]) -> dict[int, float]:
    return {k: float(k) for k in grid["n_components"] if k in begun}


def _studied_start(points: Mapping[str, Mapping[int, Point]]) -> Point:
    """OPCA in the dimensions of the study."""
    return points["opca"][
        max((k for k in points["opca"] if k <= STUDIED), default=min(points["opca"]))
    ]


def _studied(
    bench: Aligned,
    points: Mapping[str, Mapping[int, Point]],
    grid: Mapping[str, Sequence[Any]],
    progress: Progress,
) -> list[Study]:
    """S2Net with the paper's loss and one setting changed at a time, on validation pairs."""
    k = _studied_start(points).k
    starts: dict[str, Point | None] = {
        "random numbers": None,
        **{_title(m): points[m][k] for m in STARTS if k in points.get(m, {})},
    }
    opca = _title("opca")
    changes: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
        **{("start", name): (name, {}) for name in starts},
        ("solver", "L-BFGS, no offsets"): (opca, {"solver": "lbfgs", "fit_intercept": False}),
        **{("slope γ", f"{gamma:g}"): (opca, {"gamma": gamma}) for gamma in GAMMAS},
        **{
            ("penalty β, to the end", f"{beta:g}"): (
                opca, {"regularization": beta, "validation_fraction": 0.0}
            )
            for beta in PENALTIES
        },
    }  # fmt: skip

    def study(what: tuple[str, str], progress: Progress) -> Study:
        start, settings = changes[what]
        logistic = {**grid, "loss": ("logistic",)}
        best = bench.networks(k, starts[start], logistic, progress, **settings)
        return Study(*what, best, bench.measured(best.model, best.space, "validation"))

    return list(progress.each(study, list(changes)).values())


def _study_table(studies: Sequence[Study]) -> Table:
    numbers = PUBLISHED.numbers[_STARTS]
    published = {_title(m): f"{numbers[f's2net from {m}']}" for m in STARTS}

    def row(one: Study) -> dict[str, Cell]:
        point, model = one.point, one.point.model
        return {
            "changed": one.changed, "to": one.to, "dimensions": point.k, "MRR": point.validation,
            "passes": model.n_iter_, "kept": model.best_iter_, "settings": point.settings,
            "MRR, published": published.get(one.to),
        }  # fmt: skip

    return Table.of(
        "Starts and settings of S2Net, logistic loss: MRR of validation pairs",
        map(row, studies),
        "As in sections 3.2 (γ, β) and 4.1 (starts) of the paper, which has 1,000 dimensions. "
        "Each has all rates to choose from. γ is 10, and S2Net starts from OPCA and is stopped "
        "early, where nothing else is said.",
    )


def _study_claims(studies: Sequence[Study], itself: Evaluation) -> list[Claim]:
    """What the paper says of starts and settings; `itself` is OPCA, without S2Net."""
    what, opca, other = "MRR of validation pairs", _title("opca"), _title("cl_lsi")
    known = {s.to: s.result for s in studies if s.changed == "start"} | {"OPCA itself": itself}
    penalised = [s for s in studies if s.changed.startswith("penalty")]
    if penalised:
        known["penalty"] = max(penalised, key=lambda s: s.point.validation).result
    end = "S2Net ends higher when it {}.".format
    than = "S2Net that starts from {} ends higher than OPCA.".format
    wanted = [
        (opca, other, end("starts from OPCA than from CL-LSI"),
         (*_STARTS, "s2net from opca", "s2net from cl_lsi")),
        (other, "OPCA itself", than("CL-LSI"), (*_STARTS, "s2net from cl_lsi", "opca")),
        ("random numbers", "OPCA itself", than("random numbers"),
         (*_STARTS, "s2net from random numbers", "opca")),
        (opca, "penalty", end("is stopped early than with a penalty on leaving its start"),
         (*_SETTINGS, "stopping", "early", "penalty β")),
    ]  # fmt: skip
    reason = "S2Net, OPCA or CL-LSI was not run."
    claims = claims_of(
        [
            _ahead(words, known.get(a), known.get(b), PUBLISHED.ahead(*place), what, reason=reason)
            for a, b, words, place in wanted
        ],
        _compared,
    )
    statement = "A loss with a steeper slope than γ = 10 gives the same."
    published = PUBLISHED.stated(*_SETTINGS, "slope", "γ > 10", "level with", "γ = 10")
    steep = [s for s in studies if s.changed == "slope γ" and float(s.to) > 10]
    if not steep:
        return [*claims, Claim(statement, published=published, reason="S2Net was not run.")]
    levels = [_level(study, known[opca]) for study in steep]
    return [*claims, Claim.at_every(statement, levels, published=published)]


def _ahead(
    statement: str,
    a: Evaluation | None,
    b: Evaluation | None,
    published: str = "",
    quantity: str = "MRR",
    **more: Any,
) -> Ahead:
    """That one ranks better than another."""
    if a is None or b is None:
        return Ahead(statement, None, published, quantity, **more)
    return Ahead(statement, (a, b), published, quantity, _mrr(a, b), **more)


def _level(study: Study, usual: Evaluation) -> Claim:
    """Whether a slope gives the same; a model that kept its start says nothing of that."""
    values = _mrr(study.result, usual)
    found = _compared(study.result, usual)
    what = "MRR of validation pairs"
    claim = Claim.level(f"γ = {study.to}", found, SAME, what, values=values)
    if study.point.model.best_iter_ == 0:
        return replace(claim, undecided="No rate takes it beyond its start.")
    return claim


def _title(method: str) -> str:
    return str(get_method(method).tags.title)


def _values(result: Evaluation) -> np.ndarray:
    """Reciprocal ranks, one value a pair where each has one counterpart."""
    return query_values(result, "MRR", DIRECTIONS).values


def _compared(a: Evaluation, b: Evaluation) -> Comparison:
    """The paired test, which counts pairs where each item has one counterpart."""
    unit = query_values(a, "MRR", DIRECTIONS).unit
    return replace(paired_randomization(_values(a), _values(b)), unit=unit)


def _table(shown: Sequence[str], best: Mapping[str, Point], tested: _Results) -> Table:
    values = {m: _values(tested[m][best[m].k]) for m in shown}
    letters = compare_all(values).letters() if len(shown) > 1 else dict.fromkeys(shown, "")

    def row(method: str) -> dict[str, Cell]:
        point, (low, high) = best[method], confidence_interval(values[method])
        result = tested[method][point.k]
        return {
            "method": _title(method), "dimensions": point.k,
            "accuracy": result.value("top-1", "mean"), "MRR": result.value("MRR", "mean"),
            "MRR, 95 %": f"{low:.3f}–{high:.3f}", "level with": letters[method],
            "MRR, published": PUBLISHED.numbers[_TABLE_1].get(method),
            "MRR, validation": point.validation, "chosen": point.settings,
        }  # fmt: skip

    return Table.of(
        "Table 1: accuracy and MRR, mean of both directions",
        map(row, shown),
        "Methods that share a letter cannot be told apart in MRR (paired randomisation, Holm, "
        "5 %). The published numbers are of 8,675 pairs of Wikipedia articles in English and "
        "Spanish, learned from 43,380, with up to 2,000 dimensions; HDLR is not in that table.",
    )


def _by_direction(shown: Sequence[str], best: Mapping[str, Point], tested: _Results) -> Table:
    measures = {
        f"{words} {'x→y' if direction == 'x2y' else 'y→x'}": (metric, direction)
        for direction in DIRECTIONS
        for words, metric in (("accuracy", "top-1"), ("MRR", "MRR"))
    }
    rows = (
        {"method": _title(m)} | {n: tested[m][best[m].k].value(*of) for n, of in measures.items()}
        for m in shown
    )
    return Table.of("Table 1 by direction", rows)


def _by_dimension(
    shown: Sequence[str], points: Mapping[str, Mapping[int, Point]], tested: _Results
) -> Table:
    ks = sorted({k for curve in points.values() for k in curve})
    rows = (
        {"method": _title(m)}
        | {f"{k:,}": tested[m][k].value("MRR", "mean") if k in tested[m] else None for k in ks}
        for m in shown
    )
    note = "The paper prints no numbers of its curves."
    return Table.of("Figure 2 in numbers: test MRR by dimensions", rows, note)


def _figure(shown: Sequence[str], tested: _Results) -> Figure:
    series = []
    for method in shown:
        bands = [confidence_interval(_values(result)) for result in tested[method].values()]
        series.append(
            Series(
                _title(method),
                tuple(map(float, tested[method])),
                tuple(result.value("MRR", "mean") for result in tested[method].values()),
                method,
                low=tuple(low for low, _ in bands),
                high=tuple(high for _, high in bands),
            )
        )
    return Figure(
        "Figure 2: MRR by dimensions",
        "dimensions",
        tuple(series),
        "dimensions",
        "MRR",
        "Test pairs, mean of both directions, with 95 % intervals.",
    )


def _ordered(best: Mapping[str, Point], tested: _Results) -> list[Claim]:
    """Each neighbour of the published order is ahead of the next."""
    found = {method: tested[method][point.k] for method, point in best.items()}
    pairs = list(itertools.pairwise(PUBLISHED.numbers[_TABLE_1]))
    asked = {pair: tuple(_asked(found[m]) for m in pair) for pair in pairs if {*pair} <= {*found}}
    theirs = tests_of(asked, unpaired_t, "bonferroni")
    wanted = [
        _ahead(
            f"{_title(a)} is ahead of {_title(b)}.",
            found.get(a),
            found.get(b),
            PUBLISHED.ahead(*_TABLE_1, a, b),
            paper=theirs.get((a, b)),
            reason=f"{_title(b if a in found else a)} was not run.",
        )
        for a, b in pairs
    ]
    return claims_of(wanted, _compared)


def _asked(result: Evaluation) -> np.ndarray:
    """Reciprocal ranks of the queries of both sides, as the paper tests them."""
    return np.concatenate([result.per_query("MRR", d) for d in DIRECTIONS])


def _everywhere(tested: _Results) -> Claim:
    """S2Net is ahead of OPCA at every number of dimensions, with a verdict at each."""
    network, linear = tested.get("s2net", {}), tested.get("opca", {})
    wanted = [_ahead(f"{k}", one, linear[k]) for k, one in network.items() if k in linear]
    return Claim.at_every(
        "S2Net is ahead of OPCA at every number of dimensions.",
        claims_of(wanted, _compared),
        published=PUBLISHED.ahead("s2net", "figure 2", "MRR", "s2net", "opca"),
    )


def _mrr(a: Evaluation, b: Evaluation) -> tuple[float, float]:
    return a.value("MRR", "mean"), b.value("MRR", "mean")
