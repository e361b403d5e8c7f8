"""Figure 2 and table 1 of Yih et al. (2011): finding a document in another language."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from simviz._types import Reals
from simviz.data.pairs import PairSet
from simviz.evaluation import Comparison, Evaluation, confidence_interval, query_values
from simviz.evaluation.result import DIRECTIONS
from simviz.evaluation.significance import paired_randomization, unpaired_t
from simviz.experiments._bench import Bench, Point, best, best_by_size, interval, letters
from simviz.experiments._claims import PUBLISHED, Judge
from simviz.experiments._experiment import Experiment, Grid, RunResult, Size, two_texts
from simviz.experiments._findings import Cell, Claim, Figure, Series, Table
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import default_features
from simviz.methods import get_method

_Curves = Mapping[str, Mapping[int, Point]]
#: What is changed of S2Net, and to what.
_Studies = Mapping[tuple[str, str], Point]

TOPICS = ("jplsa", "cplsa")
#: Settings that a row names, beside its dimensions.
_SHOWN_PARAMS = ("regularization", "loss", "learning_rate")
N_TERMS = 20_000  # of a vocabulary, as in the paper
#: MRR of the table, mean of both directions (table 1 of the paper).
_TABLE_1 = "s2net", "table 1", "MRR"
#: Where numbers of starts stand, and of what they are: of validation pairs.
_STARTS = "s2net", "section 4.1", "dev MRR, 1,000 dimensions"
#: Methods from which S2Net starts in the paper.
STARTS = ("opca", "cl_lsi")
#: Dimensions at which one setting of S2Net is changed at a time, with the paper's loss.
STUDIED = 100
#: S2Net as the paper has it, from OPCA in as many dimensions as are tried.
_PUBLISHED = "s2net as published"


class Aligned(Bench):
    """Aligned texts as vectors, and models fitted to them."""

    def __init__(self, parts: Parts, seed: int) -> None:
        super().__init__(("MRR", "top-1"), _mrr, DIRECTIONS, seed, _SHOWN_PARAMS)
        self.encoded = functools.cache(partial(_encoded, parts))

    def tried(self, method: str, grid: Grid, progress: Progress) -> list[Point]:
        """Every setting of a method, but the ridges that are not the best of their kind."""
        if method in TOPICS:  # a vocabulary a language, as in the paper
            parts, text = self.encoded("counts", False), "Jensen–Shannon"
            return self.points(method, grid, parts, progress, text, shared=False)
        results: list[Point] = []
        some = {name: values for name, values in grid.items() if name != "shared"}
        for shared, part in progress.over(grid["shared"]):
            text = "one vocabulary" if shared else "a vocabulary each"
            made = self.points(
                method, some, self.encoded("tfidf", shared), part, text, shared=shared
            )
            results += best_by_size(made).values()
        return results

    def begun(
        self,
        grid: Grid,
        k: int,
        start: Point | None,
        progress: Progress,
        method: str = "s2net",
        **fixed: Any,
    ) -> Point:
        """The best setting in k dimensions, from a linear model or from random numbers."""
        some = {name: values for name, values in grid.items() if name != "n_components"}
        fixed |= {"n_components": k, "init": "random", "shared": True}
        parts, text = self.encoded("tfidf", True), "from random numbers"
        if start is not None:
            fixed |= {"init": start.model, "shared": start.model.shared}
            parts, text = start.parts, f"from {_title(start.method)} ({start.settings})"
        return best(self.points(method, some, parts, progress, text, **fixed))


def _encoded(parts: Parts, kind: str, shared: bool) -> Parts:
    """Both sides as vectors, in vocabularies that training texts make."""
    options: dict[str, Any] = {"min_df": 2, "max_features": N_TERMS}
    options |= {"tf": "log1p"} if kind == "tfidf" else {}
    texts = [parts.train.x.content, parts.train.y.content]
    texts = [np.concatenate(texts)] if shared else texts
    features = (default_features("text", kind, content=t, **options).fit(t) for t in texts)
    return parts.encoded(*features)


class AcrossLanguages(Experiment[Parts]):
    """MRR by dimensions, and accuracy and MRR of the best.

    `studies` are what is changed of S2Net, to what, and its settings.
    """

    studies: ClassVar[tuple[tuple[str, str, Mapping[str, Any]], ...]] = ()

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        positives = pairs.relevance.positives
        largest = max(positives.shape)
        aligned = positives.nnz <= 1.5 * largest and largest <= 1.5 * min(positives.shape)
        return two_texts(pairs) and aligned and pairs.relevance.unjudged == "negative"

    def _run(
        self, data: Parts, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        grid, bench = self.grids[size], Aligned(data, seed)
        fitted = {*methods} | ({"opca"} if {"s2net", "hdlr"} & {*methods} else set())
        every = progress.part(0, 0.5).each(
            lambda method, part: bench.tried(method, grid[method], part),
            {method: cost for method, cost in self.costs.items() if method in fitted},
        )
        points = {method: best_by_size(found) for method, found in every.items()}

        def networks(method: str, start: Mapping[int, Point], part: Progress) -> dict[int, Point]:
            return part.each(
                lambda k, inner: bench.begun(grid[method], k, start[k], inner, method),
                {k: float(k) for k in grid[method]["n_components"] if k in start},
            )

        studies: _Studies = {}
        one_vocabulary = best_by_size(p for p in every.get("opca", ()) if p.model.shared)
        if "hdlr" in methods:
            points["hdlr"] = networks("hdlr", one_vocabulary, progress.part(0.5, 0.6))
        if "s2net" in methods:
            points["s2net"] = networks("s2net", points["opca"], progress.part(0.6, 0.85))
        times = bench.times({method: _title(method) for method in self.methods})
        if "s2net" in methods:
            preset = dict(get_method("s2net").presets["paper"])
            k, start = max(points["opca"].items())
            some = {"loss": (preset.pop("loss"),), "max_iter": grid["s2net"]["max_iter"]}
            part = progress.part(0.85, 0.9)
            points[_PUBLISHED] = {k: bench.begun(some, k, start, part, **preset)}
            studies = self._studied(bench, points, grid["s2net"], progress.part(0.9, 0.98))
        progress("Testing", 0.98)
        chosen = {m: best(curve.values()) for m, curve in points.items()}
        curves = {method: points[method] for method in self.methods if method in points}
        rows = {m: chosen[m] for m in (*curves, _PUBLISHED) if m in chosen}
        return RunResult(
            data.describe(),
            tables=[
                self._table(rows),
                self._by_direction(rows),
                self._by_dimension("test", curves, lambda point: _mrr(point.tested)),
                self._by_dimension("validation", curves, lambda point: point.validation),
                *([self._study_table(studies)] if studies else []),
                times,
            ],
            figures=[
                self._figure("Validation", curves, lambda point: point.watched),
                self._figure("Test", curves, lambda point: point.tested),
            ],
            claims=self._claims(chosen, points, one_vocabulary, studies),
            notes=[*data.notes, *self.remarks],
        )

    def _claims(
        self,
        chosen: Mapping[str, Point],
        points: _Curves,
        starts: Mapping[int, Point],
        studies: _Studies,
    ) -> list[Claim]:
        """What the paper says of its table, its curves, and starts and settings of S2Net."""
        tested = {_title(method): point for method, point in chosen.items()}
        for method, curve in points.items():
            tested |= {f"{_title(method)}, {k}": point for k, point in curve.items()}
        tested |= {f"start of HDLR, {k}": starts[k] for k in points.get("hdlr", ())}
        if largest := max(points.get("opca", ()), default=0):
            tested["OPCA, all"] = tested[f"OPCA, {largest}"]
            if few := tested.get(f"S2Net, {largest // 4}"):
                tested["S2Net, a quarter"] = few
        by_change: dict[str, dict[str, Point]] = {}
        for (changed, to), point in studies.items():
            by_change.setdefault(changed, {})[to] = point
        slopes = {
            f"γ = {to}": p for to, p in by_change.get("slope γ", {}).items() if float(to) > 10
        }
        watched = by_change.get("", {}) | by_change.get("start", {}) | slopes
        if penalised := by_change.get("penalty β, to the end"):
            watched["penalty"] = best(penalised.values())

        def undecided(one: str, other: str, on: str) -> str:
            # A model that kept its start says nothing of a slope.
            still = one in slopes and slopes[one].model.best_iter_ == 0
            return "No rate takes it beyond its start." if still else ""

        values = {
            "MRR": {name: point.tested for name, point in tested.items()},
            "MRR of validation pairs": {name: point.watched for name, point in watched.items()},
        }
        judge = Judge(
            quantity=lambda one, other, on: on, test=_compared, paper=_papers_test,
            correction="bonferroni", means=_mrr, undecided=undecided,
        )  # fmt: skip
        return self.judged(values, judge)

    def _studied(
        self, bench: Aligned, points: _Curves, grid: Grid, progress: Progress
    ) -> dict[tuple[str, str], Point]:
        """What is changed, and to what; OPCA itself, without S2Net, stands first."""
        linear, opca = points["opca"], _title("opca")
        itself = linear[max((k for k in linear if k <= STUDIED), default=min(linear))]
        k, logistic = itself.k, {**grid, "loss": ("logistic",)}
        starts: dict[str, Point | None] = {
            "random numbers": None,
            **{_title(m): points[m][k] for m in STARTS if k in points.get(m, {})},
        }
        changes: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {
            **{("start", name): (name, {}) for name in starts},
            **{(changed, to): (opca, settings) for changed, to, settings in self.studies},
        }

        def study(what: tuple[str, str], progress: Progress) -> Point:
            start, settings = changes[what]
            return bench.begun(logistic, k, starts[start], progress, **settings)

        return {("", "OPCA itself"): itself, **progress.each(study, list(changes))}

    def _study_table(self, studies: _Studies) -> Table:
        numbers = PUBLISHED.numbers[_STARTS]
        published = {_title(m): f"{numbers[f's2net from {m}']}" for m in STARTS}
        rows = (
            {
                "changed": changed, "to": to, "dimensions": point.k, "MRR": point.validation,
                "passes": point.model.n_iter_, "kept": point.model.best_iter_,
                "settings": point.settings, "MRR, published": published.get(to),
            }
            for (changed, to), point in studies.items() if changed
        )  # fmt: skip
        return self.table("studies", rows)

    def _table(self, chosen: Mapping[str, Point]) -> Table:
        level = {
            metric: letters({m: _values(point.tested, metric) for m, point in chosen.items()})
            for metric in ("top-1", "MRR")
        }
        rows = (
            {
                "method": _title(method), "dimensions": point.k,
                "accuracy": point.tested.value("top-1", "mean"),
                "accuracy level with": level["top-1"][method], "MRR": _mrr(point.tested),
                "MRR, 95 %": interval(_values(point.tested)), "level with": level["MRR"][method],
                "MRR, published": PUBLISHED.numbers[_TABLE_1].get(method),
                "MRR, validation": point.validation, "chosen": point.settings,
            }
            for method, point in chosen.items()
        )  # fmt: skip
        return self.table("main", rows)

    def _by_direction(self, chosen: Mapping[str, Point]) -> Table:
        def row(method: str, result: Evaluation) -> dict[str, Cell]:
            return {"method": _title(method)} | {
                f"{name} {direction.replace('2', '→')}": result.value(metric, direction)
                for direction in DIRECTIONS
                for name, metric in (("accuracy", "top-1"), ("MRR", "MRR"))
            }

        return self.table("directions", (row(m, p.tested) for m, p in chosen.items()))

    def _by_dimension(self, part: str, curves: _Curves, value: Callable[[Point], float]) -> Table:
        ks = sorted({k for curve in curves.values() for k in curve})
        rows = (
            {"method": _title(m)} | {f"{k:,}": value(of[k]) if k in of else None for k in ks}
            for m, of in curves.items()
        )
        return self.table("curves", rows, part=part)

    def _figure(self, part: str, curves: _Curves, ranked: Callable[[Point], Evaluation]) -> Figure:
        series = []
        for method, curve in curves.items():
            results = [ranked(point) for point in curve.values()]
            low, high = zip(*(confidence_interval(_values(one)) for one in results), strict=True)
            y = tuple(map(_mrr, results))
            series.append(Series(_title(method), tuple(map(float, curve)), y, method, low, high))
        return self.figure("curves", series, part=part, pairs=part.lower())


def _title(method: str) -> str:
    name, *how = method.split(" ", 1)
    return " ".join((get_method(name).tags.title, *how))


def _mrr(result: Evaluation) -> float:
    return result.value("MRR", "mean")


def _values(result: Evaluation, metric: str = "MRR") -> Reals:
    """Values of a metric, one a pair where each has one counterpart."""
    return query_values(result, metric, DIRECTIONS).values


def _compared(a: Evaluation, b: Evaluation) -> Comparison:
    """The paired test, which counts pairs where each item has one counterpart."""
    unit = query_values(a, "MRR", DIRECTIONS).unit
    return replace(paired_randomization(_values(a), _values(b)), unit=unit)


def _papers_test(a: Evaluation, b: Evaluation) -> Comparison:
    return unpaired_t(
        *(np.concatenate([one.per_query("MRR", d) for d in DIRECTIONS]) for one in (a, b))
    )
