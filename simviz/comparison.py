"""Methods compared on one data set: split, fitted, measured and tested."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from simviz.base import PairModel
from simviz.callbacks import Callback, terminal_progress, within
from simviz.data import PairSet, Split, default_direction
from simviz.data.cells import numbered
from simviz.data.pairs_from_tables import pairs_of
from simviz.data.splitting import PARTS, By, split as split_pairs, suggest_split
from simviz.evaluation import (
    Comparison,
    Comparisons,
    DimensionCurve,
    Direction,
    Evaluation,
    Metric,
    VectorScorer,
    Verdict,
    compare_evaluations,
    default_metric,
    dimension_curve,
    evaluate,
    parse_metric,
)
from simviz.evaluation.fusion import RankFusion, choose_blend
from simviz.evaluation.result import PartResult
from simviz.evaluation.trec import ImportedRun, read_run
from simviz.exceptions import DatasetError, JobCancelled
from simviz.features import PretrainedText
from simviz.jobs import JobSpec, SplitSpec
from simviz.jobs.training import measure
from simviz.methods import get_method, method_id
from simviz.methods._imported import ImportedScores
from simviz.pipeline import (
    BestPipeline,
    BlendPipeline,
    CSLSPipeline,
    PairPipeline,
    Pipeline,
    default_pipeline,
    plain_cosine,
)
from simviz.projection.pipeline_map import DRAWING
from simviz.reports.run_summary import (
    RunEntry,
    RunTable,
    compare_runs,
    ranked,
    records_by_dimension,
    roc_curves,
    verdict_of,
)
from simviz.store.run import MEASURED, Part, Run, RunInfo, RunResult

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

#: A function that scores the content of both sides.
Function = Callable[[Any, Any], NDArray[Any]]
#: An id, a model or its class, a pipeline, or what another system answered.
Known = str | PairModel | type[PairModel] | Pipeline | ImportedRun
#: That, a matrix of scores, or a function.
Method: TypeAlias = Known | NDArray[Any] | sp.sparray | Function
#: Of the time of a method, as progress tells of it: when it is fitted, and each part measured.
_SHARES = (0.0, 0.7, 0.85, 1.0)
_BEST_BLEND = "best blend"


def compare(
    pairs: Any,
    methods: Sequence[Method] | Mapping[str, Method],
    *,
    x: str | None = None,
    y: str | None = None,
    split: By | Split | None = None,
    metric: Metric | str | None = None,
    seed: int = 0,
    callback: Callback | None = None,
) -> Result:
    """Train methods on one split, measure them on held-out pairs, and test who is ahead.

    Parameters
    ----------
    pairs : PairSet, ReadResult or frame
        The data.
    methods : sequence, or mapping of str, of methods
        Ids such as "cca", models or classes of methods, or pipelines, which are fitted anew; or
        answers of another system, see `simviz.read_run`, which should hold those to validation
        queries too; or a matrix of scores of shape (n_x, n_y), or a function of the content of
        both sides that makes one; or a `VectorScorer`. A mapping names them. Where vectors of one
        space are adapted, their plain cosine stands beside, as "cosine".
    x, y : str, optional
        Columns of a frame, see `simviz.from_frame`.
    split : Split or {"pair", "x", "y", "group", "column", "time"}, optional
        As in `simviz.data.split`. When omitted, the split that came with the
        data, else the first way that is fair and works.
    metric : Metric or str, optional
        By which runs are chosen and compared; that of
        `simviz.evaluation.default_metric` when omitted.
    seed : int, default=0
        Of the split.
    callback : callable, optional
        See `simviz.callbacks`; steps are those of all methods. When omitted, a terminal
        shows them.

    Returns
    -------
    Result
        The table, the verdict, figures, and the trained pipelines.

    Raises
    ------
    ValueError
        If a method is unknown or cannot read such items, or there is none.
    DatasetError
        If the pairs cannot be split so.
    JobCancelled
        If `callback` asked to stop.

    Examples
    --------
    >>> import simviz
    >>> colours, things = ["red", "blue", "green", "gold"], ["car", "bus", "tram", "ship"]
    >>> x = [f"{colour} {thing}" for colour in colours for thing in things]
    >>> pairs = simviz.from_frame(x=x, y=[f"the {text}" for text in x]).pairs
    >>> result = simviz.compare(pairs, ["tfidf_cosine", "bm25"])
    >>> result.to_frame()["top-1"].round(2).to_dict()
    {'tfidf_cosine': 1.0, 'bm25': 1.0, '(popularity)': 0.33, '(chance)': 0.33}
    """
    pairs = pairs_of(pairs, x, y)
    spec, parts = _divided(pairs, split, seed)
    parsed_metric = default_metric(pairs.relevance) if metric is None else parse_metric(metric)
    pipelines = _with_base(_pipelines(methods, parts.train, pairs), parts.train)
    query_direction = default_direction(pairs)
    hear = callback or terminal_progress("Comparing")

    def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        if hear(step, total, metrics):
            raise JobCancelled("The comparison was stopped.")
        return False

    index = {"x": parts.x_index, "y": parts.y_index}
    places = {f"{side}_{part}": at for side in index for part, at in index[side].items()}
    results: dict[str, RunResult] = {}
    for number, (name, pipeline) in enumerate(pipelines.items()):
        fits, *ends = ((number + share) / len(pipelines) for share in _SHARES)
        start = time.monotonic()
        if not pipeline.__sklearn_is_fitted__():
            pipeline.set_callbacks(within(heard, fits, ends[0])).fit(parts.train, parts.validation)
            pipeline.set_callbacks()
        fitted = time.monotonic()
        measured: dict[Part, PartResult] = {}
        for part, begins, stop in zip(MEASURED, ends, ends[1:], strict=False):
            inner = within(heard, begins, stop)
            held_out = getattr(parts, part)
            measured[part] = measure(
                pipeline,
                parts.train,
                held_out,
                callback=inner,
                query_direction=query_direction,
                metric=parsed_metric,
            )
        seconds = {"training": fitted - start, "scoring": time.monotonic() - fitted}
        results[name] = RunResult(pipeline, measured, places, parts.notes, seconds)
    hear(1, 1, {})
    return Result(pairs, parts, spec, parsed_metric, query_direction, results)


def blend(result: Result, *, callback: Callback | None = None) -> Blended:
    """Blend the runs of a comparison, by what validation pairs choose, and test the gain.

    Runs are added to the best one, each with a share, as long as cross-validation among the
    queries of the validation part says that this pays: words with vectors, learned with
    learned, as many as are there. Only then the test part is looked at.

    Parameters
    ----------
    result : Result
        What `compare` answered.
    callback : callable, optional
        See `simviz.callbacks`.

    Returns
    -------
    Blended
        The fitted blend, its gain over the best single run with the paired interval, and
        beside it reciprocal rank fusion, which chooses nothing.

    Raises
    ------
    ValueError
        If no query of the validation part has an answer.
    JobCancelled
        If `callback` asked to stop.

    Examples
    --------
    >>> import simviz
    >>> colours, things = ["red", "blue", "green", "gold"], ["car", "bus", "tram", "ship"]
    >>> x = [f"{colour} {thing}" for colour in colours for thing in things]
    >>> pairs = simviz.from_frame(x=x, y=[f"the {text}" for text in x]).pairs
    >>> simviz.blend(simviz.compare(pairs, ["tfidf_cosine", "bm25"])).shares
    {'tfidf_cosine': 1.0}
    """
    parts, directions = result.parts, (result.direction,)
    ordered = {name: result.pipelines[name] for name in result.names}
    how = result.metric, result.direction
    chosen = choose_blend(ordered, parts.train, parts.validation, *how, callback=callback)
    fused = list(chosen.shares) if len(chosen.path) > 1 else result.names[:2]
    control = RankFusion([ordered[name] for name in fused])
    tested = result.evaluations()
    evaluation = tested[chosen.single]
    if len(chosen.path) > 1:
        sides = parts.test.x, parts.test.y, parts.test.relevance
        evaluation = evaluate(
            chosen.pipeline, *sides, evaluation.metrics, directions=evaluation.directions
        )
    evaluations = {
        _BEST_BLEND: evaluation,
        chosen.single: tested[chosen.single],
        f"RRF of {', '.join(fused)}": control.evaluate(
            parts.test, evaluation.metrics, directions=evaluation.directions
        ),
    }
    against = {
        name: compare_evaluations(evaluation, other, result.metric, directions)
        for name, other in evaluations.items()
        if name != _BEST_BLEND
    }
    values = chosen.value, chosen.single_value
    return Blended(
        chosen.pipeline,
        chosen.shares,
        chosen.single,
        values,
        evaluations,
        against,
        result.metric,
    )


def _divided(pairs: PairSet, split: By | Split | None, seed: int) -> tuple[SplitSpec, Split]:
    """The parts, and how they were made."""
    if isinstance(split, Split):
        shares = split.fractions or SplitSpec().fractions
        return SplitSpec(split.by, shares, split.seed, split.group_key), split
    key = None
    if split is None:
        suggestion = suggest_split(pairs)
        split, key = suggestion.by, suggestion.group_key
    spec = SplitSpec(split, seed=seed, group_key=key)
    return spec, split_pairs(pairs, spec.by, spec.fractions, seed, key)


def _pipelines(
    methods: Sequence[Method] | Mapping[str, Method], train: PairSet, pairs: PairSet
) -> dict[str, Pipeline]:
    """A pipeline that is not fitted of each method, by its name."""
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Mapping):
        methods = dict(zip(numbered([_name(method) for method in methods]), methods, strict=True))
    if not methods:
        raise ValueError("There is nothing to compare. Name a method, such as 'cca'.")
    pipelines: dict[str, Pipeline] = {}
    for name, value in methods.items():
        method = _read(value, pairs, str(name))
        if isinstance(method, ImportedRun):
            pipelines[str(name)] = method.pipeline
        else:
            is_made = isinstance(method, Pipeline)
            pipelines[str(name)] = clone(method) if is_made else default_pipeline(method, train)
    return pipelines


def _is_scores(method: Any) -> bool:
    """Whether a method is a matrix of scores, or a function that makes one."""
    is_function = callable(method) and not isinstance(method, type)
    return is_function or isinstance(method, np.ndarray | VectorScorer) or sp.issparse(method)


def _read(method: Any, pairs: PairSet, name: str) -> Known:
    """A method, whose scores are read if that is what it is."""
    if not _is_scores(method):
        return method
    if isinstance(method, VectorScorer):
        X, Y = method.factors(pairs.x.content, pairs.y.content)
        if method.similarity == "cosine":
            return "cosine"
        method = X @ Y.T
    if callable(method):
        method = np.asarray(method(pairs.x.content, pairs.y.content))
    return read_run(method, pairs, name)


def _with_base(pipelines: dict[str, Pipeline], train: PairSet) -> dict[str, Pipeline]:
    """Add the plain cosine of vectors that are adapted, unless it is among them."""
    known = {
        repr(one.x_features)
        for one in pipelines.values()
        if isinstance(one, PairPipeline) and method_id(one.model) in ("cosine", "tfidf_cosine")
    }
    for pipeline in list(pipelines.values()):
        base = plain_cosine(pipeline, train)
        if base is not None and repr(base.x_features) not in known:
            known.add(repr(base.x_features))
            pipelines[numbered([*pipelines, "cosine"])[-1]] = base
    return pipelines


def _name(method: Any) -> str:
    if isinstance(method, ImportedRun):
        return method.name
    if _is_scores(method):
        return str(getattr(method, "__name__", getattr(method, "similarity", "scores")))
    if isinstance(method, BlendPipeline | CSLSPipeline):
        return "blend" if isinstance(method, BlendPipeline) else f"{_name(method.pipeline)} CSLS"
    model = method.model if isinstance(method, PairPipeline) else method
    return method_id(get_method(model) if isinstance(model, str) else model)


@dataclass(frozen=True, eq=False, repr=False)
class Blended(BestPipeline):
    """What `blend` chose, and what it gains on the test part; says so when it is shown.

    Parameters
    ----------
    best : BlendPipeline, or the pipeline of a single run
        Fitted; all that it answers, this object answers too.
    shares : mapping of str to float
        The weight of each run; one run alone where no blend is better.
    single : str
        The best run alone, by validation.
    validation : tuple of two float
        The metric of the blend and of the best run, on each fold of the validation queries by
        what the others choose, so that choosing does not flatter.
    evaluations : mapping of str to Evaluation
        On the test part: the blend, the best run, and reciprocal rank fusion.
    against : mapping of str to Comparison
        The blend against each of the others, with the paired interval of the difference.
    metric : Metric
        By which it was chosen and compared.
    """

    best: Pipeline
    shares: Mapping[str, float]
    single: str
    validation: tuple[float, float]
    evaluations: Mapping[str, Evaluation]
    against: Mapping[str, Comparison]
    metric: Metric

    def __repr__(self) -> str:
        text = " + ".join(f"{share:.2g} {name}" for name, share in self.shares.items())
        none = f"No blend is better than {self.single} alone on validation queries."
        value, alone = self.validation
        lines = [
            none if len(self.shares) == 1 else f"{_BEST_BLEND}: {text}",
            f"validation {self.metric.name}, cross-validated: {value:.3f} ({alone:.3f})",
        ]
        lines += [
            f"test {self.metric.name}: {self.evaluations[_BEST_BLEND].value(self.metric):.3f}; "
            f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}] to {name}"
            for name, one in self.against.items()
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class _Trained(Run):
    """A run that no store keeps."""

    result: RunResult
    more: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def measured(self) -> tuple[Part, ...]:
        return tuple(self.result.measured)

    @property
    def about(self) -> dict[str, Any]:
        return self.result.about

    def part(self, name: Part) -> PartResult:
        return self.result.measured[name]

    def arrays(self) -> dict[str, Any]:
        return dict(self.result.parts)

    def pipeline(self) -> Pipeline:
        return self.result.pipeline

    def read_objects(self, name: str) -> Mapping[str, Any]:
        return self.more.get(name, {})

    def write_objects(self, name: str, objects: Mapping[str, Any]) -> None:
        self.more[name] = objects

    def names(self) -> Sequence[str]:
        return list(self.more)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What `compare` found; shows itself as a table.

    Parameters
    ----------
    pairs : PairSet
        The data.
    parts : Split
        Into which it was split.
    split_spec : SplitSpec
        How it was split.
    metric : Metric
        By which runs are chosen and compared.
    direction : {"x2y", "y2x"}
        Which side asks.
    runs : mapping of str to RunResult
        Each trained pipeline with its measurements, in the order given.

    Raises
    ------
    ValueError
        From `dimension_figure`, if no method is nested or the metric is none of
        ranks; from `save`, if the file is not to end in ``.html``.
    """

    pairs: PairSet
    parts: Split
    split_spec: SplitSpec
    metric: Metric
    direction: Direction
    runs: Mapping[str, RunResult]

    @property
    def names(self) -> list[str]:
        """What was compared, in the order of `simviz.reports.run_summary.ranked`."""
        return [run.info.name for run in self._ranked]

    @property
    def pipelines(self) -> dict[str, Pipeline]:
        """The trained pipelines by name."""
        return {name: run.pipeline for name, run in self.runs.items()}

    @property
    def best(self) -> Pipeline:
        """The pipeline that is best on the validation part, by more than chance.

        That is one that learns nothing from pairs, such as the plain cosine of vectors, unless
        another is ahead of it by more than one standard error of their difference.
        """
        return self[self.names[0]]

    def __getitem__(self, name: str) -> Pipeline:
        if name not in self.runs:
            raise KeyError(f"{name!r} was not compared. Known: {', '.join(self.runs)}.")
        return self.runs[name].pipeline

    def evaluations(self, part: Part = "test") -> dict[str, Evaluation]:
        """Measurements by name.

        Parameters
        ----------
        part : {"validation", "test"}, default="test"
            The part of the split.

        Returns
        -------
        dict of str to Evaluation
            In the order in which methods were given.
        """
        return {name: run.measured[part].evaluation for name, run in self.runs.items()}

    @cached_property
    def comparisons(self) -> Comparisons | None:
        """All pairs of runs on the test part, after Holm; None of a single run."""
        return compare_runs(self._table)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the best run is really ahead of the next, and of the strongest baseline."""
        return verdict_of(self._table)

    def to_frame(self) -> pd.DataFrame:
        """The results table.

        Returns
        -------
        pandas.DataFrame
            One row a run, the best on the validation part first, then those that know nothing of
            the items. "±" is half of the 95 % interval; runs that share a letter of "group" cannot
            be told apart. "x unknown" and "y unknown" are the shares of terms that training did
            not show; "seconds" are of training and measuring.
        """
        import pandas as pd

        main, table = self.metric.name, self._table
        first, runs = table.entries[0].measured, [self.runs[name] for name in self.names]
        names = [*self.names, *(f"({name})" for name in first.records if name != "run")]
        nothing = [nan] * (len(names) - len(runs))
        letters = {} if self.comparisons is None else self.comparisons.letters()
        others = [m.name for m in first.evaluation.metrics if m != self.metric]
        figures = {metric: table.figures(metric) for metric in (main, *others)}
        values = {metric: [cell.value for cell in cells] for metric, cells in figures.items()}
        validation = [run.measured["validation"].evaluation.value(self.metric) for run in runs]
        columns: dict[str, Any] = {
            f"validation {main}": validation + nothing,
            main: values[main],
            "±": [cell.half_width for cell in figures[main][: len(runs)]] + nothing,
            "group": [letters.get(name, "") for name in names],
            **values,
        }
        for side in "xy":
            shares = [getattr(entry.evaluation, f"{side}_unknown") for entry in table.entries]
            known = [nan if share is None else share for share in shares]
            columns[f"{side} unknown"] = known + nothing
        sizes, seconds = table.costs()
        columns |= {"dimensions": pd.array(sizes, dtype="Int64"), "seconds": seconds}
        return pd.DataFrame(columns, index=pd.Index(names, name="method"))

    def roc_figure(self, **options: Any) -> go.Figure:
        """ROC curves on the test part.

        Parameters
        ----------
        **options
            See `simviz.charts.roc_figure`.

        Returns
        -------
        plotly Figure
            One curve a run.
        """
        from simviz.charts import roc_figure

        return roc_figure([curve for curve, _ in roc_curves(self._table.entries)], **options)

    def dimension_curves(self, metric: Metric | str = "MRR") -> dict[str, DimensionCurve]:
        """Quality by number of dimensions on the test part, of each method that is nested.

        Parameters
        ----------
        metric : Metric or str, default="MRR"
            A metric of ranks.

        Returns
        -------
        dict of str to DimensionCurve
            By name.
        """
        curves, test = {}, self.parts.test
        for name, run in self.runs.items():
            if known := run.measured["test"].curve:
                pipeline: Any = run.pipeline
                vectors = pipeline.transform(test.x), pipeline.transform_y(test.y)
                curves[name] = dimension_curve(
                    *vectors,
                    test.relevance,
                    [record["dimension"] for record in known],
                    similarity="dot" if pipeline.model_.similarity_kind == "dot" else "cosine",
                    metric=metric,
                    directions=tuple(run.measured["test"].evaluation.directions),
                )
        return curves

    def dimension_figure(self, metric: Metric | str = "MRR", **options: Any) -> go.Figure:
        """Quality against the number of dimensions on the test part, with 95 % bands.

        Parameters
        ----------
        metric : Metric or str, default="MRR"
            A metric of ranks.
        **options
            See `simviz.charts.dimension_figure`.

        Returns
        -------
        plotly Figure
            One curve a method that is nested.
        """
        from simviz.charts import dimension_figure
        from simviz.reports.run_summary import dimension_curve as drawn

        name = parse_metric(metric).name
        made = (
            drawn(e, self.direction, records_by_dimension(e, name, self.pairs))
            for e in self._table.entries
        )
        curves = [curve for curve in made if curve is not None]
        if not curves:
            raise ValueError(
                f"None of {', '.join(self.runs)} can be cut to fewer dimensions. Compare a "
                "spectral method too, such as cca, opca or lsa."
            )
        return dimension_figure(curves, metric=name, **options)

    def save(self, path: str | Path) -> None:
        """Write the report: one HTML page with the table, the verdict, charts and the map.

        Parameters
        ----------
        path : str or Path
            File to write, ending in ``.html``.
        """
        from simviz.projection.pipeline_map import draw
        from simviz.reports import html_report

        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"A report is one HTML page, got {Path(path).name!r}. Name it 'report.html', or "
                "take to_frame() for a table."
            )
        runs = [entry.run for entry in self._table.entries]
        if not runs[0].maps():
            drawn = draw(self.best, self.pairs, seed=self.split_spec.seed, method="mds")
            runs[0].put_map(DRAWING, *drawn)
        looks = {entry.run.id: entry.look for entry in self._table.entries}
        text = html_report(runs, self.pairs, metric=self.metric.name, looks=looks)
        Path(path).write_text(text, encoding="utf-8")

    @cached_property
    def _table(self) -> RunTable:
        """The runs on the test part, the best first, as reports read them."""
        looks = {name: self._look(name) for name in self.runs}
        ranked = [
            RunEntry(run, run.info.name, looks[run.info.name], "test") for run in self._ranked
        ]
        return RunTable(self.pairs, ranked, self.direction, self.metric.name, [self.metric.name])

    @cached_property
    def _ranked(self) -> list[Run]:
        """The runs as the store would keep them, the best first."""
        extra = {} if self._is_repeatable() else {"given": True}
        runs: list[Run] = []
        for number, (name, result) in enumerate(self.runs.items()):
            spec = self._spec(result.pipeline)
            tree = spec.to_json()
            tree["split"] |= extra
            about = str(number), spec.dataset_id, spec.method, tree
            seconds = sum(result.seconds.values())
            info = RunInfo(*about, name=name, seconds=seconds, created=number)
            runs.append(_Trained(info, result=result))
        return ranked(runs, self.metric.name, self.direction, "validation")

    def _is_repeatable(self) -> bool:
        """Whether the request for the split makes these parts, unlike folds and one's own."""
        try:
            spec = self.split_spec
            again = split_pairs(self.pairs, spec.by, spec.fractions, spec.seed, spec.group_key)
        except DatasetError:
            return False
        sides = (self.parts.x_index, again.x_index), (self.parts.y_index, again.y_index)
        return all(np.array_equal(one[part], two[part]) for one, two in sides for part in PARTS)

    def _spec(self, pipeline: Pipeline) -> JobSpec:
        """The request that a run of the app would have been trained by."""
        data = self.pairs.name, self.pairs.digest
        if not isinstance(pipeline, PairPipeline) or isinstance(pipeline.model, ImportedScores):
            return JobSpec(*data, "imported", split=self.split_spec)
        params = pipeline.model.get_params(deep=False)
        defaults = type(pipeline.model)().get_params(deep=False)
        changed = {
            name: value
            for name, value in params.items()
            if isinstance(value, bool | int | float | str | None) and value != defaults[name]
        }
        encoder, features = pipeline.x_features, "usual"
        if isinstance(encoder, PretrainedText):
            if encoder.model != PretrainedText.model:
                features = f"pretrained:{encoder.model}"
            elif pipeline.model.tags.input != "pretrained":
                features = "pretrained"
        method = method_id(pipeline.model)
        return JobSpec(*data, method, changed, self.split_spec, features=features)

    def _look(self, name: str) -> str:
        """The id by which charts know the colour of a run; further ones of a method differ."""
        ids = {each: self._method(each) or each for each in self.runs}
        n = [each for each in ids if ids[each] == ids[name]].index(name)
        return f"{ids[name]}~{n}" if n else ids[name]

    def _method(self, name: str) -> str:
        """The id of a run's method; empty for a blend."""
        model = getattr(self.runs[name].pipeline, "model", None)
        return method_id(model) if model else ""

    def __repr__(self) -> str:
        x, y = self.parts.test.shape
        sizes = f"{x:,} {self.pairs.x_name} × {y:,} {self.pairs.y_name}"
        head = f"{self.pairs.name}, test part: {sizes}"
        table = self.to_frame().to_string(float_format="{:.3f}".format, na_rep="–")
        return f"{head}\n{table}\n{self.verdict}"

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(float_format="{:.3f}".format, na_rep="–")
        return f"{table}<p>{escape(str(self.verdict))}</p>"
