"""Figure 2 and table 1 of Yih et al. (2011): finding a document in another language."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from simviz.data.pairs import PairSet
from simviz.evaluation import (
    MRR,
    Comparison,
    Evaluation,
    compare_all,
    confidence_interval,
    dimension_curve,
    evaluate,
    paired_randomization,
    query_values,
    unpaired_t,
)
from simviz.evaluation.result import DIRECTIONS
from simviz.experiments._experiment import (
    S2NET,
    Experiment,
    Grids,
    RunResult,
    Size,
    cut,
    two_texts,
)
from simviz.experiments._findings import (
    Cell,
    Claim,
    Figure,
    Series,
    Table,
    tests_of,
)
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress, fewer_dimensions
from simviz.experiments._published import PUBLISHED
from simviz.features import default_features
from simviz.methods import get_method

_Results = Mapping[str, Mapping[int, Evaluation]]

TOPICS = ("jplsa", "cplsa")
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


def _grids(
    dimensions: tuple[int, ...], topics: tuple[int, ...], ridges: tuple[float, ...], passes: int
) -> Grids:
    spectral = {"n_components": dimensions, "shared": (True, False)}
    topic_model = {"n_components": topics, "max_iter": (passes,), "fold_in_iter": (10,)}
    return {
        "s2net": {
            "n_components": dimensions,
            "loss": ("softmax", "logistic"),
            "learning_rate": (0.3, 0.1, 0.03, 0.01),
            "max_iter": (passes,),
        },
        "opca": {**spectral, "regularization": ridges},
        "cca": {**spectral, "regularization": ridges},
        "cplsa": topic_model,
        "jplsa": topic_model,
        "hdlr": {"n_components": dimensions, "n_constraints": (5_000,)},
        "cl_lsi": spectral,
    }


@dataclass(frozen=True, slots=True)
class Point:
    """A fitted model and what validation said of it."""

    method: str
    k: int
    settings: str
    validation: float
    model: Any
    space: tuple[str, bool]


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
        tried = self._topics if method in TOPICS else self._spectral
        return tried(method, grid[method], progress)

    def _spectral(
        self, method: str, grid: Mapping[str, Sequence[Any]], progress: Progress
    ) -> list[Point]:
        found: list[Point] = []
        cls = get_method(method)
        sizes, ridges = grid["n_components"], grid.get("regularization", ())
        for shared, part in progress.over(grid["shared"]):
            space = "tfidf", shared
            words = "one vocabulary" if shared else "a vocabulary each"
            label = f"{cls.tags.title}, {words}"
            part(label)
            model: Any = cls(n_components=sizes[-1], shared=shared, random_state=self.seed)
            model.set_callbacks(part.listen(label))
            data = *self.sides(space, "train"), self.parts.train.relevance
            X, Y = self.sides(space, "validation")
            made: list[Point] = []
            with fewer_dimensions():
                if ridges:
                    path = model.regularization_path(*data, values=ridges)
                    settings = [f"{words}, ridge {value:g}" for value in ridges]
                else:
                    path, settings = iter([model.fit(*data)]), [words]
                for i, (setting, fit) in enumerate(zip(settings, path, strict=True), start=1):
                    part(label, i / len(settings))
                    small = cut(fit, sizes)
                    P, Q, judged = fit.transform(X), fit.transform_y(Y), self.parts.validation
                    curve = dimension_curve(P, Q, judged.relevance, list(small), metric=MRR())
                    made += [
                        Point(method, k, setting, value, small[k], space)
                        for k, value in zip(small, curve.values("mean").tolist(), strict=True)
                    ]
            found += _best(made).values()
        return found

    def _topics(
        self, method: str, grid: Mapping[str, Sequence[Any]], progress: Progress
    ) -> list[Point]:
        space = "counts", False  # a vocabulary a language, as in the paper
        cls, ((passes,), (steps,)) = get_method(method), (grid["max_iter"], grid["fold_in_iter"])
        found = []
        for k, part in progress.over({k: float(k) for k in grid["n_components"]}):
            model = cls(
                n_components=k, shared=False, max_iter=passes, fold_in_iter=steps,
                random_state=self.seed,
            )  # fmt: skip
            label = f"{cls.tags.title}, {k} topics"
            found.append(self.learned(model, space, "Jensen–Shannon", label, part))
        return found

    def bent(self, k: int, start: Point, n_constraints: int, progress: Progress) -> Point:
        """HDLR from OPCA's space; its γ and sweep are chosen on validation pairs."""
        model = get_method("hdlr")(
            n_components=k, init=start.model, n_constraints=n_constraints, random_state=self.seed
        )
        settings = f"from OPCA ({start.settings})"
        return self.learned(model, start.space, settings, f"HDLR, {k} dimensions", progress)

    def networks(
        self, k: int, start: Point, grid: Mapping[str, Sequence[Any]], progress: Progress
    ) -> Point:
        """The best of S2Net's losses and rates, from a linear model."""
        best = None
        names = ("loss", "learning_rate", "max_iter")
        for values, part in progress.over(list(itertools.product(*(grid[n] for n in names)))):
            point = self.network(start, k, part, **dict(zip(names, values, strict=True)))
            if best is None or point.validation > best.validation:
                best = point
        assert best is not None
        return best

    def network(self, start: Point | None, k: int, progress: Progress, **settings: Any) -> Point:
        """S2Net from a linear model, or from random numbers in one vocabulary."""
        shared, begun, model = True, "random numbers", "random"
        if start is not None:
            shared, model = start.space[1], start.model
            begun = f"{_title(start.method)} ({start.settings})"
        made = get_method("s2net")(
            n_components=k, shared=shared, init=model, random_state=self.seed, **settings
        )
        words = f"from {begun}, {settings['loss']}, rate {settings['learning_rate']:g}"
        label = f"S2Net, {k} dimensions, {words}"
        return self.learned(made, ("tfidf", shared), words, label, progress)

    def learned(
        self, model: Any, space: tuple[str, bool], settings: str, label: str, progress: Progress
    ) -> Point:
        """Fit a model, with validation pairs where it watches them."""
        progress(label)
        model.set_callbacks(progress.listen(label))
        data = [*self.sides(space, "train"), self.parts.train.relevance]
        if getattr(model, "validation_fraction", 0):
            data += [*self.sides(space, "validation"), self.parts.validation.relevance]
        progress.fitted(model, *data)
        progress(label, 0.95)
        value = self.measured(model, space, "validation").value("MRR", "mean")
        name = type(model).__module__.rpartition(".")[2]
        return Point(name, model.n_components_, settings, value, model, space)

    def measured(self, model: Any, space: tuple[str, bool], part: str) -> Evaluation:
        """Ranks of all items of a part, from both sides."""
        judged = getattr(self.parts, part).relevance
        return evaluate(model, *self.sides(space, part), judged, metrics=["MRR", "top-1"])


class AcrossLanguages(Experiment[Parts]):
    """MRR by dimensions, and accuracy and MRR of the best."""

    title = "Finding the same document in another language"
    paper = S2NET
    shown_as = "Figure 2 and table 1"
    sentence = (
        "Who finds the counterpart of a text in another language, and with how few dimensions?"
    )
    needs = "aligned texts: each x item has its counterpart on the y side"
    demo = "emoji"
    sets = ("libreoffice_help", "en_es_sentences", "en_es_docs")
    methods = ("s2net", "opca", "cca", "cplsa", "jplsa", "hdlr", "cl_lsi")
    minutes = 2.5
    full_minutes: ClassVar[Mapping[str, float]] = {
        "emoji": 6, "libreoffice_help": 16, "en_es_sentences": 25, "en_es_docs": 11,
    }  # fmt: skip
    limits: ClassVar[Mapping[str, tuple[int | None, int | None]]] = {
        "libreoffice_help": (6_000, 1_500),
        "en_es_sentences": (8_000, 2_000),
        "en_es_docs": (2_000, 500),
    }
    grids: ClassVar[Mapping[Size, Grids]] = {
        "demo": _grids((25, 50, 100, 200, 400), (25, 50, 100, 200), (0.1, 1.0, 10.0), 40),
        "full": _grids(
            (50, 100, 200, 400, 800), (50, 100, 200, 400), (0.01, 0.1, 1.0, 10.0, 100.0), 100
        ),
    }
    pool = "mates"
    split_by = "pair"
    revision = 2

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
        weights = {method: w for method, w in _WEIGHTS.items() if method in fitted}
        every = progress.part(0, 0.5).each(
            lambda method, part: bench.tried(method, grid, part), weights
        )
        points = {method: _best(found) for method, found in every.items()}
        if "hdlr" in methods:
            one = _best(point for point in every["opca"] if point.space[1])  # one vocabulary
            (constraints,) = grid["hdlr"]["n_constraints"]
            points["hdlr"] = progress.part(0.5, 0.6).each(
                lambda k, part: bench.bent(k, one[k], constraints, part), _costs(grid["hdlr"], one)
            )
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
        best = {m: max(curve.values(), key=lambda p: p.validation) for m, curve in points.items()}
        shown = [method for method in self.methods if method in tested]
        return RunResult(
            data.in_words(),
            tables=[
                _table(shown, best, tested),
                _by_direction(shown, best, tested),
                _by_dimension(shown, points, tested),
                *([_study_table(studies)] if studies else []),
            ],
            figures=[_figure(shown, tested)],
            claims=[*_ordered(best, tested), _everywhere(tested), *studied],
            notes=[
                *data.notes,
                "Dimensions, ridges, vocabularies, losses and rates were chosen by the MRR of "
                "validation pairs, of which S2Net and HDLR also keep the best pass; test pairs "
                "were ranked once.",
                "S2Net has Adam; the paper's L-BFGS stands in the last table.",
                "HDLR starts from OPCA in one vocabulary.",
                "Topic models read counts of words, a vocabulary each; the others tf·idf.",
            ],
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
    tried: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
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
        start, settings = tried[what]
        made = [
            bench.network(
                starts[start], k, part,
                loss="logistic", max_iter=grid["max_iter"][0], learning_rate=rate, **settings,
            )
            for rate, part in progress.over(list(grid["learning_rate"]))
        ]  # fmt: skip
        best = max(made, key=lambda point: point.validation)
        return Study(*what, best, bench.measured(best.model, best.space, "validation"))

    return list(progress.each(study, list(tried)).values())


def _study_table(studies: Sequence[Study]) -> Table:
    numbers = PUBLISHED.numbers[_STARTS]
    published = {_title(m): f"{numbers[f's2net from {m}']}" for m in STARTS}
    rows: list[tuple[Cell, ...]] = [
        (s.changed, s.to, s.point.k, s.point.validation, s.point.model.n_iter_,
         s.point.model.best_iter_, s.point.settings, published.get(s.to))
        for s in studies
    ]  # fmt: skip
    return Table(
        "Starts and settings of S2Net, logistic loss: MRR of validation pairs",
        ("changed", "to", "dimensions", "MRR", "passes", "kept", "settings", "MRR, published"),
        tuple(rows),
        "As in sections 3.2 (γ, β) and 4.1 (starts) of the paper, which has 1,000 dimensions. "
        "Each has all rates to choose from. γ is 10, and S2Net starts from OPCA and is stopped "
        "early, where nothing else is said.",
    )


def _study_claims(studies: Sequence[Study], itself: Evaluation) -> list[Claim]:
    """What the paper says of starts and settings; `itself` is OPCA, without S2Net."""
    starts = {s.to: s.result for s in studies if s.changed == "start"} | {"OPCA itself": itself}
    opca, other = _title("opca"), _title("cl_lsi")
    penalised = [s for s in studies if s.changed.startswith("penalty")]
    if penalised:
        starts["penalty"] = max(penalised, key=lambda s: s.point.validation).result
    wanted = {
        (opca, other): (
            "S2Net ends higher when it starts from OPCA than from CL-LSI.",
            PUBLISHED.ahead(*_STARTS, "s2net from opca", "s2net from cl_lsi"),
        ),
        (other, "OPCA itself"): (
            "S2Net that starts from CL-LSI ends higher than OPCA.",
            PUBLISHED.ahead(*_STARTS, "s2net from cl_lsi", "opca"),
        ),
        ("random numbers", "OPCA itself"): (
            "S2Net that starts from random numbers ends higher than OPCA.",
            PUBLISHED.ahead(*_STARTS, "s2net from random numbers", "opca"),
        ),
        (opca, "penalty"): (
            "S2Net ends higher when it is stopped early than with a penalty on leaving its start.",
            PUBLISHED.ahead(*_SETTINGS, "stopping", "early", "penalty β"),
        ),
    }
    made = {
        pair: tuple(starts[name] for name in pair)
        for pair in wanted
        if all(name in starts for name in pair)
    }
    found = tests_of(made, _compared)
    claims = [
        Claim.ahead(
            statement,
            found.get(pair),
            "MRR of validation pairs",
            values=_mrr(*made[pair]) if pair in made else None,
            published=published,
            reason="S2Net, OPCA or CL-LSI was not run.",
        )
        for pair, (statement, published) in wanted.items()
    ]
    levels = [
        _level(s, starts[opca]) for s in studies if s.changed == "slope γ" and float(s.to) > 10
    ]
    statement = "A loss with a steeper slope than γ = 10 gives the same."
    published = PUBLISHED.stated(*_SETTINGS, "slope", "γ > 10", "level with", "γ = 10")
    if not levels:
        return [*claims, Claim(statement, published=published, reason="S2Net was not run.")]
    return [*claims, Claim.at_every(statement, levels, published=published)]


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
    results = {m: tested[m][best[m].k] for m in shown}
    values = {m: _values(result) for m, result in results.items()}
    letters = compare_all(values).letters() if len(shown) > 1 else dict.fromkeys(shown, "")
    rows: list[tuple[Cell, ...]] = []
    for method, result in results.items():
        point = best[method]
        low, high = confidence_interval(values[method])
        rows.append(
            (_title(method), point.k,
             *(result.value(metric, "mean") for metric in ("top-1", "MRR")),
             f"{low:.3f}–{high:.3f}", letters[method], PUBLISHED.numbers[_TABLE_1].get(method),
             point.validation, point.settings)
        )  # fmt: skip
    columns = (
        "method", "dimensions", "accuracy", "MRR", "MRR, 95 %", "level with", "MRR, published",
        "MRR, validation", "chosen",
    )  # fmt: skip
    return Table(
        "Table 1: accuracy and MRR, mean of both directions",
        columns,
        tuple(rows),
        "Methods that share a letter cannot be told apart in MRR (paired randomisation, Holm, "
        "5 %). The published numbers are of 8,675 pairs of Wikipedia articles in English and "
        "Spanish, learned from 43,380, with up to 2,000 dimensions; HDLR is not in that table.",
    )


def _by_direction(shown: Sequence[str], best: Mapping[str, Point], tested: _Results) -> Table:
    measures = [(metric, d) for d in DIRECTIONS for metric in ("top-1", "MRR")]
    rows: list[tuple[Cell, ...]] = [
        (_title(m), *(tested[m][best[m].k].value(metric, d) for metric, d in measures))
        for m in shown
    ]
    columns = ("method", "accuracy x→y", "MRR x→y", "accuracy y→x", "MRR y→x")
    return Table("Table 1 by direction", columns, tuple(rows))


def _by_dimension(
    shown: Sequence[str], points: Mapping[str, Mapping[int, Point]], tested: _Results
) -> Table:
    ks = sorted({k for curve in points.values() for k in curve})
    rows = tuple(
        (_title(m), *(tested[m][k].value("MRR", "mean") if k in tested[m] else None for k in ks))
        for m in shown
    )
    return Table(
        "Figure 2 in numbers: test MRR by dimensions",
        ("method", *(f"{k:,}" for k in ks)),
        rows,
        "The paper prints no numbers of its curves.",
    )


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
    pairs = list(itertools.pairwise(PUBLISHED.numbers[_TABLE_1]))
    results = {
        (a, b): (tested[a][best[a].k], tested[b][best[b].k])
        for a, b in pairs
        if a in tested and b in tested
    }
    found = tests_of(results, _compared)
    queries = {pair: (_asked(a), _asked(b)) for pair, (a, b) in results.items()}
    published = tests_of(queries, unpaired_t, "bonferroni")
    claims = []
    for a, b in pairs:
        claims.append(
            Claim.ahead(
                f"{_title(a)} is ahead of {_title(b)}.",
                found.get((a, b)),
                "MRR",
                values=_mrr(*results[a, b]) if (a, b) in results else None,
                published=PUBLISHED.ahead(*_TABLE_1, a, b),
                paper=published.get((a, b)),
                reason=f"{_title(b if a in tested else a)} was not run.",
            )
        )
    return claims


def _asked(result: Evaluation) -> np.ndarray:
    """Reciprocal ranks of the queries of both sides, as the paper tests them."""
    return np.concatenate([result.per_query("MRR", d) for d in DIRECTIONS])


def _everywhere(tested: _Results) -> Claim:
    """S2Net is ahead of OPCA at every number of dimensions, with a verdict at each."""
    results = {
        k: (tested["s2net"][k], tested["opca"][k])
        for k in tested.get("s2net", ())
        if k in tested.get("opca", ())
    }
    found = tests_of(results, _compared)
    return Claim.at_every(
        "S2Net is ahead of OPCA at every number of dimensions.",
        [Claim.ahead(f"{k}", found[k], "MRR", values=_mrr(*both)) for k, both in results.items()],
        published=PUBLISHED.ahead("s2net", "figure 2", "MRR", "s2net", "opca"),
    )


def _mrr(a: Evaluation, b: Evaluation) -> tuple[float, float]:
    return a.value("MRR", "mean"), b.value("MRR", "mean")
