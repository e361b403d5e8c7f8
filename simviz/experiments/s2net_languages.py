"""Figure 2 and table 1 of Yih et al. (2011): finding a document in another language."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simviz.data.pairs import PairSet
from simviz.evaluation import (
    Comparison,
    Evaluation,
    compare_all,
    confidence_interval,
    paired_randomization,
    query_values,
    unpaired_t,
)
from simviz.evaluation.result import DIRECTIONS
from simviz.experiments._bench import Bench, Point, best, best_by_size
from simviz.experiments._experiment import Experiment, Grid, RunResult, Size, two_texts
from simviz.experiments._findings import Cell, Claim, Figure, Series, Table, claims_ahead
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
#: The largest difference in MRR that would not matter.
SAME = 0.01
_PENALTY = "penalty β, to the end"
#: S2Net as the paper has it, from OPCA in as many dimensions as are tried.
_PUBLISHED = "s2net as published"


class Aligned(Bench):
    """Aligned texts as vectors, and models fitted to them."""

    def __init__(self, parts: Parts, seed: int) -> None:
        super().__init__(("MRR", "top-1"), _mrr, DIRECTIONS, seed, _TOLD)
        self.encoded = functools.cache(partial(_encoded, parts))

    def tried(self, method: str, grid: Grid, progress: Progress) -> list[Point]:
        """Every setting of a method, but the ridges that are not the best of their kind."""
        if method in TOPICS:  # a vocabulary a language, as in the paper
            parts, words = self.encoded("counts", False), "Jensen–Shannon"
            return self.points(method, grid, parts, progress, words, shared=False)
        found: list[Point] = []
        some = {name: values for name, values in grid.items() if name != "shared"}
        for shared, part in progress.over(grid["shared"]):
            words = "one vocabulary" if shared else "a vocabulary each"
            made = self.points(
                method, some, self.encoded("tfidf", shared), part, words, shared=shared
            )
            found += best_by_size(made).values()
        return found

    def begun(
        self,
        method: str,
        grid: Grid,
        k: int,
        start: Point | None,
        progress: Progress,
        **fixed: Any,
    ) -> Point:
        """The best setting in k dimensions, from a linear model or from random numbers."""
        some = {name: values for name, values in grid.items() if name != "n_components"}
        fixed |= {"n_components": k, "init": "random", "shared": True}
        parts, words = self.encoded("tfidf", True), "from random numbers"
        if start is not None:
            fixed |= {"init": start.model, "shared": start.model.shared}
            parts, words = start.parts, f"from {_title(start.method)} ({start.settings})"
        return best(self.points(method, some, parts, progress, words, **fixed))


def _encoded(parts: Parts, kind: str, shared: bool) -> Parts:
    """Both sides as vectors, in vocabularies that training texts make."""
    options: dict[str, Any] = {"min_df": 2, "max_features": N_TERMS}
    options |= {"tf": "log1p"} if kind == "tfidf" else {}
    texts = [parts.train.x.content, parts.train.y.content]
    texts = [np.concatenate(texts)] if shared else texts
    features = [default_features("text", kind, content=t, **options).fit(t) for t in texts]
    x, y = features[0], features[-1]
    return parts.encoded(
        lambda items: x.transform(items.content), lambda items: y.transform(items.content)
    )


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
        grid, bench = self.grids[size], Aligned(data, seed)
        fitted = {*methods} | ({"opca"} if {"s2net", "hdlr"} & {*methods} else set())
        every = progress.part(0, 0.5).each(
            lambda method, part: bench.tried(method, grid[method], part),
            {method: cost for method, cost in self.costs.items() if method in fitted},
        )
        points = {method: best_by_size(found) for method, found in every.items()}

        def networks(method: str, start: Mapping[int, Point], part: Progress) -> dict[int, Point]:
            return part.each(
                lambda k, inner: bench.begun(method, grid[method], k, start[k], inner),
                {k: float(k) for k in grid[method]["n_components"] if k in start},
            )

        studies: dict[tuple[str, str], Study] = {}
        one_vocabulary = best_by_size(p for p in every.get("opca", ()) if p.model.shared)
        if "hdlr" in methods:
            points["hdlr"] = networks("hdlr", one_vocabulary, progress.part(0.5, 0.6))
        if "s2net" in methods:
            points["s2net"] = networks("s2net", points["opca"], progress.part(0.6, 0.85))
            preset = dict(get_method("s2net").presets["paper"])
            k, start = max(points["opca"].items())
            some = {"loss": (preset.pop("loss"),), "max_iter": grid["s2net"]["max_iter"]}
            part = progress.part(0.85, 0.9)
            points[_PUBLISHED] = {k: bench.begun("s2net", some, k, start, part, **preset)}
            studies = _studied(bench, points, grid["s2net"], progress.part(0.9, 0.98))
        progress("Testing", 0.98)
        tested = {
            method: {k: bench.ranked(p.model, p.parts) for k, p in curve.items()}
            for method, curve in points.items()
        }
        chosen = {m: best(curve.values()) for m, curve in points.items()}
        shown = [method for method in self.methods if method in tested]
        rows = [*shown, *([_PUBLISHED] if studies else [])]
        return RunResult(
            data.describe(),
            tables=[
                _table(rows, chosen, tested),
                _by_direction(rows, chosen, tested),
                _by_dimension("test", {m: _each(_mrr, tested[m]) for m in shown}),
                _by_dimension("validation", {m: _each(_quality, points[m]) for m in shown}),
                *([_study_table(studies)] if studies else []),
            ],
            figures=[_figure(shown, tested)],
            claims=[
                *_ordered(chosen, tested),
                _everywhere(tested),
                _in_fewer(tested),
                _no_better(bench, one_vocabulary, tested.get("hdlr", {})),
                *_study_claims(studies),
            ],
            notes=[*data.notes, *self.remarks],
        )


class Study(NamedTuple):
    """One setting of S2Net, at the best rate, and how it ranks validation pairs."""

    point: Point
    result: Evaluation


def _studied(
    bench: Aligned,
    points: Mapping[str, Mapping[int, Point]],
    grid: Grid,
    progress: Progress,
) -> dict[tuple[str, str], Study]:
    """What is changed, and to what; OPCA itself, without S2Net, stands first."""
    linear = points["opca"]
    itself = linear[max((k for k in linear if k <= STUDIED), default=min(linear))]
    k, opca = itself.k, _title("opca")
    starts: dict[str, Point | None] = {
        "random numbers": None,
        **{_title(m): points[m][k] for m in STARTS if k in points.get(m, {})},
    }
    to_the_end = {"validation_fraction": 0.0}
    changes: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
        **{("start", name): (name, {}) for name in starts},
        ("solver", "L-BFGS, no offsets"): (opca, {"solver": "lbfgs", "fit_intercept": False}),
        **{("slope γ", f"{gamma:g}"): (opca, {"gamma": gamma}) for gamma in GAMMAS},
        **{
            (_PENALTY, f"{beta:g}"): (opca, {"regularization": beta, **to_the_end})
            for beta in PENALTIES
        },
    }
    logistic = {**grid, "loss": ("logistic",)}

    def study(what: tuple[str, str], progress: Progress) -> Point:
        start, settings = changes[what]
        return bench.begun("s2net", logistic, k, starts[start], progress, **settings)

    found = {("", "OPCA itself"): itself, **progress.each(study, list(changes))}
    return {
        what: Study(point, bench.ranked(point.model, point.parts, "validation"))
        for what, point in found.items()
    }


def _study_table(studies: Mapping[tuple[str, str], Study]) -> Table:
    numbers = PUBLISHED.numbers[_STARTS]
    published = {_title(m): f"{numbers[f's2net from {m}']}" for m in STARTS}
    rows = (
        {
            "changed": changed, "to": to, "dimensions": point.k, "MRR": point.validation,
            "passes": point.model.n_iter_, "kept": point.model.best_iter_,
            "settings": point.settings, "MRR, published": published.get(to),
        }
        for (changed, to), (point, _) in studies.items() if changed
    )  # fmt: skip
    return Table.of(
        "Starts and settings of S2Net, logistic loss: MRR of validation pairs",
        rows,
        "As in sections 3.2 (γ, β) and 4.1 (starts) of the paper, which has 1,000 dimensions. "
        "Each has all rates to choose from. γ is 10, and S2Net starts from OPCA and is stopped "
        "early, where nothing else is said.",
    )


def _study_claims(studies: Mapping[tuple[str, str], Study]) -> list[Claim]:
    """What the paper says of starts and settings."""
    what, opca, other = "MRR of validation pairs", _title("opca"), _title("cl_lsi")
    known = {
        to: study.result for (changed, to), study in studies.items() if changed in ("", "start")
    }
    penalised = [study for (changed, _), study in studies.items() if changed == _PENALTY]
    if penalised:
        known["penalty"] = max(penalised, key=lambda study: study.point.validation).result
    end = "S2Net ends higher when it {}.".format
    than = "S2Net that starts from {} ends higher than OPCA.".format
    wanted = {
        (opca, other, end("starts from OPCA than from CL-LSI")):
            (*_STARTS, "s2net from opca", "s2net from cl_lsi"),
        (other, "OPCA itself", than("CL-LSI")): (*_STARTS, "s2net from cl_lsi", "opca"),
        ("random numbers", "OPCA itself", than("random numbers")):
            (*_STARTS, "s2net from random numbers", "opca"),
        (opca, "penalty", end("is stopped early than with a penalty on leaving its start")):
            (*_SETTINGS, "stopping", "early", "penalty β"),
    }  # fmt: skip
    said = {(a, b): PUBLISHED.ahead(*place) for (a, b, _), place in wanted.items()}
    claims = claims_ahead(
        wanted, known, lambda a, b: what, _compared, means=_mrr,
        published=lambda a, b: said[a, b], reason="S2Net, OPCA or CL-LSI was not run.",
    )  # fmt: skip
    statement = "A loss with a steeper slope than γ = 10 gives the same."
    published = PUBLISHED.stated(*_SETTINGS, "slope", "γ > 10", "level with", "γ = 10")
    levels = [
        _level(gamma, study, known[opca])
        for (changed, gamma), study in studies.items()
        if changed == "slope γ" and float(gamma) > 10
    ]
    reason = "S2Net was not run."
    return [*claims, Claim.at_every(statement, levels, published=published, reason=reason)]


def _level(gamma: str, study: Study, usual: Evaluation) -> Claim:
    """Whether a slope gives the same; a model that kept its start says nothing of that."""
    values = _mrr(study.result), _mrr(usual)
    found = _compared(study.result, usual)
    what = "MRR of validation pairs"
    claim = Claim.level(f"γ = {gamma}", found, SAME, what, values=values)
    if study.point.model.best_iter_ == 0:
        return replace(claim, undecided="No rate takes it beyond its start.")
    return claim


def _title(method: str) -> str:
    name, *how = method.split(" ", 1)
    return " ".join((get_method(name).tags.title, *how))


def _each(what: Callable[[Any], float], by_size: Mapping[int, Any]) -> dict[int, float]:
    return {k: what(one) for k, one in by_size.items()}


def _quality(point: Point) -> float:
    return point.validation


def _mrr(result: Evaluation) -> float:
    return result.value("MRR", "mean")


def _values(result: Evaluation, metric: str = "MRR") -> np.ndarray:
    """Values of a metric, one a pair where each has one counterpart."""
    return query_values(result, metric, DIRECTIONS).values


def _compared(a: Evaluation, b: Evaluation) -> Comparison:
    """The paired test, which counts pairs where each item has one counterpart."""
    unit = query_values(a, "MRR", DIRECTIONS).unit
    return replace(paired_randomization(_values(a), _values(b)), unit=unit)


def _papers_test(a: Evaluation, b: Evaluation) -> Comparison:
    """The paper's test, of the queries of both sides."""
    return unpaired_t(
        *(np.concatenate([one.per_query("MRR", d) for d in DIRECTIONS]) for one in (a, b))
    )


def _table(shown: Sequence[str], chosen: Mapping[str, Point], tested: _Results) -> Table:
    results = {m: tested[m][chosen[m].k] for m in shown}
    letters = {metric: dict.fromkeys(shown, "") for metric in ("top-1", "MRR")}
    if len(shown) > 1:
        for metric in letters:
            values = {m: _values(result, metric) for m, result in results.items()}
            letters[metric] = compare_all(values).letters()

    def row(method: str) -> dict[str, Cell]:
        point, result = chosen[method], results[method]
        low, high = confidence_interval(_values(result))
        return {
            "method": _title(method), "dimensions": point.k,
            "accuracy": result.value("top-1", "mean"),
            "accuracy level with": letters["top-1"][method], "MRR": _mrr(result),
            "MRR, 95 %": f"{low:.3f}–{high:.3f}", "level with": letters["MRR"][method],
            "MRR, published": PUBLISHED.numbers[_TABLE_1].get(method),
            "MRR, validation": point.validation, "chosen": point.settings,
        }  # fmt: skip

    return Table.of(
        "Table 1: accuracy and MRR, mean of both directions",
        map(row, shown),
        "Methods that share a letter cannot be told apart (paired randomisation, Holm, 5 %). "
        "The published numbers are of 8,675 pairs of Wikipedia articles in English and "
        "Spanish, learned from 43,380, with up to 2,000 dimensions; HDLR is not in that table.",
    )


def _by_direction(shown: Sequence[str], chosen: Mapping[str, Point], tested: _Results) -> Table:
    measures = {
        f"{words} {'x→y' if direction == 'x2y' else 'y→x'}": (metric, direction)
        for direction in DIRECTIONS
        for words, metric in (("accuracy", "top-1"), ("MRR", "MRR"))
    }
    rows = (
        {"method": _title(m)}
        | {n: tested[m][chosen[m].k].value(*of) for n, of in measures.items()}
        for m in shown
    )
    return Table.of("Table 1 by direction", rows)


def _by_dimension(part: str, values: Mapping[str, Mapping[int, float]]) -> Table:
    ks = sorted({k for curve in values.values() for k in curve})
    rows = ({"method": _title(m)} | {f"{k:,}": of.get(k) for k in ks} for m, of in values.items())
    note = "The paper draws development data, and prints no numbers of its curves."
    return Table.of(f"Figure 2 in numbers: {part} MRR by dimensions", rows, note)


def _figure(shown: Sequence[str], tested: _Results) -> Figure:
    series = []
    for method in shown:
        bands = [confidence_interval(_values(result)) for result in tested[method].values()]
        series.append(
            Series(
                _title(method),
                tuple(map(float, tested[method])),
                tuple(_mrr(result) for result in tested[method].values()),
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


def _ordered(chosen: Mapping[str, Point], tested: _Results) -> list[Claim]:
    """Each neighbour of the published order is ahead of the next."""
    pairs = {
        (_title(a), _title(b)): PUBLISHED.ahead(*_TABLE_1, a, b)
        for a, b in itertools.pairwise(PUBLISHED.numbers[_TABLE_1])
    }
    return claims_ahead(
        ((a, b, f"{a} is ahead of {b}.") for a, b in pairs),
        {_title(method): tested[method][point.k] for method, point in chosen.items()},
        lambda a, b: "MRR",
        _compared,
        paper=_papers_test,
        correction="bonferroni",
        means=_mrr,
        published=lambda a, b: pairs[a, b],
    )


def _everywhere(tested: _Results) -> Claim:
    """S2Net is ahead of OPCA at every number of dimensions, with a verdict at each."""
    at = {(m, k): tested[m][k] for m in ("s2net", "opca") for k in tested.get(m, ())}
    wanted = [
        (("s2net", k), ("opca", k), f"{k}") for m, k in at if m == "s2net" and ("opca", k) in at
    ]
    return Claim.at_every(
        "S2Net is ahead of OPCA at every number of dimensions.",
        claims_ahead(wanted, at, lambda a, b: "MRR", _compared, means=_mrr),
        published=PUBLISHED.ahead("s2net", "figure 2", "MRR", "s2net", "opca"),
    )


def _in_fewer(tested: _Results) -> Claim:
    """S2Net is no worse than OPCA with four times as many dimensions."""
    network, linear = tested.get("s2net", {}), tested.get("opca", {})
    statement = "S2Net with a quarter of OPCA's dimensions ranks no worse."
    said = PUBLISHED.stated("s2net", "figure 2", "MRR", "s2net, 500", "level with", "opca, 2,000")
    most = max(linear, default=0)
    if most // 4 not in network:
        return Claim(
            statement, published=said, reason="S2Net was not run with so many dimensions."
        )
    return _no_worse(statement, network[most // 4], linear[most], said)


def _no_better(bench: Bench, starts: Mapping[int, Point], bent: Mapping[int, Evaluation]) -> Claim:
    """OPCA in one vocabulary is no worse than HDLR, which starts from it."""
    began = {k: bench.ranked(starts[k].model, starts[k].parts) for k in bent}
    return Claim.at_every(
        "HDLR is no better than the OPCA that it starts from.",
        [_no_worse(f"{k}", began[k], bent[k]) for k in bent],
        published=PUBLISHED.stated("s2net", "section 4.1", "MRR", "hdlr", "no better than OPCA"),
    )


def _no_worse(statement: str, a: Evaluation, b: Evaluation, published: str = "") -> Claim:
    return Claim.level(
        statement, _compared(a, b), SAME, "MRR", values=(_mrr(a), _mrr(b)), published=published,
        or_better=True,
    )  # fmt: skip
