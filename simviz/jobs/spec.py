"""What a job is asked to do: one class a kind of job."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib.metadata import version
from math import inf, prod
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from simviz.data.augment import from_json as augmenters
from simviz.data.pairs import PairSet
from simviz.data.splitting import By, Split, split
from simviz.evaluation.auditing import audit, fits_of_audit, why_no_audit
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.repeated_splits import (
    MIN_DIVISIONS,
    RepeatedSplits,
    evaluate_repeated_splits,
)
from simviz.evaluation.result import Asking
from simviz.evaluation.tuning import Selection
from simviz.exceptions import DatasetError, JobError as JobError, StoreError
from simviz.jobs.cost import Cost, estimate, estimate_search, sum_costs, why_too_long
from simviz.jobs.training import run_search, train
from simviz.methods import all_methods, get_method
from simviz.params import param_specs, validate_params
from simviz.pipeline import (
    BlendPipeline,
    CSLSPipeline,
    Features,
    Pipeline,
    default_pipeline,
    encoder_of,
    why_no_adapter,
)
from simviz.registry import unknown_name
from simviz.store.datasets import DEMO_PREFIX
from simviz.store.directory import LOCAL_WORKSPACE
from simviz.store.run import (
    AUDIT,
    BLEND,
    CSLS,
    DIVISIONS,
    EXPERIMENT,
    IMPORTED,
    RunInfo,
    RunResult,
)
from simviz.store.store import Store

if TYPE_CHECKING:
    from simviz.evaluation.trec import ImportedRun
    from simviz.experiments import Findings, Size

#: Normalisations under which a score depends on its two items alone, which a run's must.
NORMALIZATIONS = ("global_std", "none")
#: Values of one parameter, settings tried, and folds, at most.
MAX_VALUES, MAX_SETTINGS, MAX_FOLDS = 30, 400, 10
#: RepeatedSplits that are repeated, and settings that each of them chooses among, at most.
MAX_DIVISIONS, MAX_DIVIDED = 50, 60
#: Training and test items that an experiment takes of data that somebody brought, at most.
MAX_TRAIN, MAX_POOL = 5_000, 1_500
#: Pairs of validation and test that an imported run is measured on at once, at most.
MAX_IMPORTED = 100_000_000
#: Trained pipelines that a job builds on, by their role.
Models = Mapping[str, Pipeline]
#: Hears of the stage, how far it is, and metrics; returns True to stop. Where `Cost` does not
#: know the stage, how far the whole is.
Report = Callable[[str, float, Mapping[str, float]], bool]
_RUN = re.compile(r"[0-9a-f]{32}")


@cache
def _version() -> str:
    """Return the version of this code, which is read from a file."""
    return version("simviz")


@dataclass(frozen=True, slots=True)
class SplitSpec:
    """How pairs are split, see `simviz.data.splitting`.

    `by` is what must not stand in two parts ("pair", "x", "y", "group", "column" or "time"),
    `fractions` are those of train, validation and test, `seed` is that of the assignment, and
    `group_key` a metadata column.
    """

    by: By = "pair"
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2)
    seed: int = 0
    group_key: str | None = None

    def apply(self, pairs: PairSet) -> Split:
        """Split pairs so."""
        return split(pairs, self.by, self.fractions, self.seed, self.group_key)


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job found that is no run, as it is kept with the job, and the seconds it took.

    A search finds a `Selection`, an experiment its `Findings`, repeated divisions
    `RepeatedSplits`; an audit the columns of its table, by their names, and what it says of all
    pairs.
    """

    value: Any = field(metadata={"stored_as": "found"})
    seconds: float


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A request: one method with its parameters on one split of one data set.

    Other kinds of jobs are its subclasses, see `blend_spec`, `search_spec` and `experiment_spec`;
    `from_json` answers the right one, and raises JobError if something is missing or of another
    kind. `check` raises JobError if the method, a parameter or its value is unknown.

    The digest of the data set lets a request mean the same forever. `dimensions` are points of the
    quality-by-dimension curve, chosen when omitted. The workspace, who asks, is no part of what is
    stored for others to read. `features` are "usual", "pretrained", a model (only of whoever sits
    at the computer) or options of `simviz.pipeline.default_pipeline`; `augment` are steps that
    enlarge the training part (`simviz.data.augment.from_json`), `search` settings to try.

    Examples
    --------
    >>> spec = JobSpec("demo:icons", "0" * 32, "cca", {"n_components": 20}, workspace="a")
    >>> spec.digest == replace(spec, workspace="b").digest  # demos belong to all
    True
    >>> spec.digest == replace(spec, params={"n_components": 30}).digest
    False
    """

    dataset_id: str
    dataset_digest: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    split: SplitSpec = SplitSpec()
    dimensions: tuple[int, ...] | None = None
    workspace: str = ""
    features: Features = "usual"
    augment: tuple[Mapping[str, Any], ...] = ()
    search: Mapping[str, Any] | None = None

    #: Whether it ends with a run of the store, rather than a `JobResult`.
    makes_run: ClassVar[bool] = True
    #: Whether it costs next to nothing, for its size is limited or its parts were measured.
    is_cheap: ClassVar[bool] = False
    #: Whether scores of a part may be missing, which is then not measured.
    may_lack_scores: ClassVar[bool] = False
    #: Why its run has no learning curve; empty where it has one.
    why_no_curve: ClassVar[str] = ""

    @property
    def is_demo(self) -> bool:
        """Whether it is about a demo, so that its result belongs to all."""
        return self.dataset_id.startswith(DEMO_PREFIX)

    @property
    def digest(self) -> str:
        """Id (hex) of the request: what is asked, by whom, of which version."""
        owner = None if self.is_demo else self.workspace
        request = {"spec": self.to_json(), "simviz": _version(), "workspace": owner}
        text = json.dumps(request, sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16, person=b"simviz job").hexdigest()

    @property
    def method_title(self) -> str:
        """What is trained, in words."""
        return get_method(self.method).tags.title

    @property
    def title(self) -> str:
        """What is done, with what texts and pairs became where not the usual."""
        title = self.method_title
        if str(self.features).startswith("pretrained"):
            title += " on pretrained vectors"
        if {step.get("kind") for step in self.augment} == {"corrections"}:
            return f"{title} on corrected pairs"
        return f"{title}, augmented" if self.augment else title

    @property
    def default_params(self) -> dict[str, Any]:
        """Parameters that tell runs of the method apart, with their defaults."""
        return dict(get_method(self.method)().get_params())

    @property
    def non_default_params(self) -> dict[str, Any]:
        """Parameters that differ from their defaults."""
        defaults = self.default_params
        return {n: value for n, value in self.params.items() if defaults.get(n, value) != value}

    @property
    def set_values(self) -> dict[str, Any]:
        """All that differs from what is usual: what terms are, and parameters."""
        terms = self.features
        if not isinstance(terms, Mapping):
            terms = {} if terms == "usual" else {"features": terms}
        return {**terms, **self.non_default_params}

    def check(self) -> Self:
        """Refuse what cannot be asked, before anything is started; return the request."""
        try:
            self._check()
            self.to_json()
        except (DatasetError, TypeError, ValueError) as error:
            raise JobError(str(error)) from error
        return self

    def _check(self) -> None:
        cls = get_method(self.method)
        known = [spec.name for spec in param_specs(cls)]
        _refuse_unknown(f"parameter of {self.method}", self.params, known)
        validate_params(cls(**self.params))
        is_encoded, encoder = encoder_of(self.features)
        # A stranger must not have this computer read any folder, or load any model.
        if encoder and self.workspace != LOCAL_WORKSPACE:
            raise ValueError(
                f"features={self.features!r} names a model, which only whoever sits at the "
                "computer of the app may do. Leave features at 'usual' or 'pretrained'."
            )
        augmenters(self.augment)
        if is_encoded and (reason := why_no_adapter(cls.tags)):
            raise ValueError(reason)

    def models(self, store: Store) -> Models:
        """Trained pipelines that the job builds on, by their role; none unless this is a blend."""
        return {}

    def estimate(self, pairs: PairSet) -> Cost:
        """What the job will cost, with a reason to refuse where it is too much."""
        if self.is_cheap:
            return Cost(0.0, 0)
        return estimate(self.method, pairs, self.params, self.features)

    def run(self, pairs: PairSet, models: Models, report: Report) -> RunResult | JobResult:
        """Do the job with what `models` answers; a true answer of `report` stops it."""
        return train(self, pairs, report, self._without_fit(models))

    def _without_fit(self, models: Models) -> Callable[[PairSet], Pipeline] | None:
        return None

    def to_json(self) -> dict[str, Any]:
        """Everything but the workspace, as JSON's types."""
        # Defaults are left out, so that a request keeps the id it always had.
        left_out = {
            "workspace": True,
            "features": self.features == "usual",
            "augment": not self.augment,
            "search": self.search is None,
        }
        tree = {n: value for n, value in asdict(self).items() if not left_out.get(n)}
        return dict(json.loads(json.dumps(tree)))

    @staticmethod
    def from_json(tree: Mapping[str, Any], workspace: str = "") -> JobSpec:
        """Read what `to_json` answered, as the class of its kind."""
        try:
            low, middle, high = tree["split"]["fractions"]
            dimensions, search = tree["dimensions"], tree.get("search")
            trained = JobSpec if search is None else SearchSpec
            return _KINDS.get(str(tree["method"]), trained)(
                dataset_id=str(tree["dataset_id"]),
                dataset_digest=str(tree["dataset_digest"]),
                method=str(tree["method"]),
                params=dict(tree["params"]),
                split=SplitSpec(**{**tree["split"], "fractions": (low, middle, high)}),
                dimensions=None if dimensions is None else tuple(dimensions),
                workspace=workspace,
                features=tree.get("features", "usual"),
                augment=tuple(dict(step) for step in tree.get("augment", ())),
                search=None if search is None else dict(search),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise JobError(f"The request of this job cannot be read ({error}).") from error


class DerivedSpec(JobSpec):
    """A run that is made of finished ones, which were trained on the same pairs."""

    __slots__ = ()
    is_cheap = True
    roles: ClassVar[tuple[str, ...]]

    def models(self, store: Store) -> Models:
        """Open the runs, which must have been trained on the same pairs."""
        models = {}
        for role in self.roles:
            try:
                run = store.runs.get(self.params[role], self.workspace)
                own = JobSpec.from_json(run.spec)
                if (own.dataset_digest, own.split) != (self.dataset_digest, self.split):
                    raise JobError(
                        f"The {role} run was trained on other pairs than this {self.method} is of."
                    )
                models[role] = run.pipeline()
            except StoreError as error:
                raise JobError(
                    f"The {role} run of this {self.method} cannot be opened: {error}"
                ) from error
        return models

    def _titles(self) -> dict[str, str]:
        """What was trained in each of the runs, by its role."""
        titles = {name: cls.tags.title for name, cls in all_methods().items()} | {CSLS: "CSLS"}
        methods = {role: self.params.get(f"{role}_method", "") for role in self.roles}
        return {role: titles.get(method, BLEND) for role, method in methods.items()}


class CSLSSpec(DerivedSpec):
    """The scores of a finished run with its hubs corrected, measured like any run."""

    __slots__ = ()
    why_no_curve = "CSLS is not trained; look at the curve of the run that it corrects."
    roles = ("scaled",)

    @property
    def method_title(self) -> str:
        """What was trained, and what a score depends on."""
        training = self.params.get("queries") == "training"
        among = "training items" if training else "the other queries"
        return f"{self._titles()['scaled']}, CSLS (looks at {among})"

    @property
    def default_params(self) -> dict[str, Any]:
        """Return what tells two of them apart."""
        return {"k": 10, "queries": "given"}

    def _check(self) -> None:
        known = ("scaled", "k", "queries", "scaled_method")
        _refuse_unknown("parameter of CSLS", self.params, known)
        if self.search is not None:
            raise ValueError("Settings are searched for one method on pairs as they are.")
        run, k, queries = (self.params.get(name) for name in ("scaled", "k", "queries"))
        if not isinstance(run, str) or not _RUN.fullmatch(run):
            raise ValueError(f"CSLS names the run that it corrects by its id; got {run!r}.")
        if not _is_whole(k, 1):
            raise ValueError(f"k counts nearest items: a whole number from 1, got {k!r}.")
        _refuse_unknown("queries", [str(queries)], ("given", "training"))

    def _without_fit(self, models: Models) -> Callable[[PairSet], Pipeline]:
        k, queries = self.params["k"], self.params["queries"]
        return lambda part: CSLSPipeline.of(models["scaled"], part, k, queries=queries)


class BlendSpec(DerivedSpec):
    """A weighted mean of the scores of two finished runs, measured like any run."""

    __slots__ = ()
    why_no_curve = "A blend is not trained; look at the curves of its two parts."
    roles = ("learned", "lexical")

    @property
    def method_title(self) -> str:
        """Both weights, each with what was trained."""
        alpha = float(self.params.get("alpha", 0.5))
        titles = self._titles().values()
        parts = zip((alpha, 1 - alpha), titles, strict=True)
        return " + ".join(f"{round(share, 6):g} {title}" for share, title in parts)

    @property
    def default_params(self) -> dict[str, Any]:
        """Return the one parameter with a default."""
        return {"normalization": NORMALIZATIONS[0]}

    def _check(self) -> None:
        known = (*self.roles, "alpha", "normalization", *(f"{role}_method" for role in self.roles))
        _refuse_unknown("parameter of a blend", self.params, known)
        if self.search is not None:
            raise ValueError("Settings are searched for one method on pairs as they are.")
        runs = [self.params.get(role) for role in self.roles]
        if not all(isinstance(run, str) and _RUN.fullmatch(run) for run in runs):
            raise ValueError(
                f"A blend names two runs, learned and lexical, by their ids; got {runs}."
            )
        if runs[0] == runs[1]:
            raise ValueError("A run blended with itself is that run. Choose two.")
        alpha, normalization = self.params.get("alpha"), self.params.get("normalization")
        if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 <= alpha <= 1:
            raise ValueError(f"alpha is a weight from 0 to 1, got {alpha!r}.")
        if normalization not in NORMALIZATIONS:
            raise ValueError(
                "A run is blended with normalization 'global_std' or 'none', under which a score "
                f"depends on its two items alone; got {normalization!r}."
            )

    def _without_fit(self, models: Models) -> Callable[[PairSet], Pipeline]:
        alpha, normalization = self.params["alpha"], self.params["normalization"]
        learned, lexical = (models[role] for role in self.roles)
        return lambda part: BlendPipeline.of(
            learned, lexical, part, alpha, normalization=normalization
        )


class FindingSpec(JobSpec):
    """A job whose result is no run; subclasses say what they find."""

    __slots__ = ()
    makes_run = False

    def run(self, pairs: PairSet, models: Models, report: Report) -> JobResult:
        """Do the job, and note how long it took."""
        start = time.monotonic()
        result = self._find(pairs, report)
        return JobResult(result, round(time.monotonic() - start, 3))

    def _find(self, pairs: PairSet, report: Report) -> Any:
        raise NotImplementedError


class SearchSpec(FindingSpec):
    """A search for good settings of a method, in place of one training."""

    __slots__ = ()

    @property
    def method_title(self) -> str:
        """What the settings are for."""
        return f"Best values for {get_method(self.method).tags.title}"

    def training(self, **params: Any) -> JobSpec:
        """Return the training with some of the settings."""
        return _as(JobSpec, self, params={**self.params, **params}, search=None)

    def _check(self) -> None:
        search: Mapping[str, Any] = self.search or {}
        if self.method in _KINDS or self.augment:
            raise ValueError("Settings are searched for one method on pairs as they are.")
        JobSpec._check(self)
        _refuse_unknown("part of a search", search, ("params", "folds", "metric", "n_iter"))
        folds, metric, n_iter = search.get("folds"), search.get("metric"), search.get("n_iter")
        if not _is_whole(folds, 1, MAX_FOLDS):
            raise ValueError(f"A search has 1 to {MAX_FOLDS} folds, got {folds!r}.")
        if n_iter is not None and (not isinstance(n_iter, int) or n_iter < 1):
            raise ValueError(f"Settings are drawn at least once, got {n_iter!r}.")
        parse_metric(str(metric))
        values = search.get("params")
        if not isinstance(values, Mapping) or not values:
            raise ValueError("Name at least one parameter to search.")
        cls = get_method(self.method)
        # "shared" decides which features there are, so it is no setting among others.
        known = [s.name for s in param_specs(cls) if s.name != "shared"]
        _refuse_unknown(f"parameter of {self.method} to search", values, known)
        for name, some in values.items():
            if not isinstance(some, list) or not 1 <= len(some) <= MAX_VALUES:
                raise ValueError(f"Give 1 to {MAX_VALUES} values of {name}.")
            for value in some:
                validate_params(cls(**{**self.params, name: value}))
        n = min(prod(map(len, values.values())), n_iter or MAX_SETTINGS + 1)
        if n > MAX_SETTINGS:
            raise ValueError(
                f"{n:,} settings are more than the {MAX_SETTINGS} of one search. "
                "Give fewer values."
            )

    def estimate(self, pairs: PairSet) -> Cost:
        """Estimate all fits together, see `simviz.jobs.cost.estimate_search`."""
        return estimate_search(self, pairs)

    def _find(self, pairs: PairSet, report: Report) -> Selection:
        return run_search(self, pairs, report)


class ExperimentSpec(FindingSpec):
    """A table or figure of a paper, made again on a data set of the store."""

    __slots__ = ()

    @property
    def method_title(self) -> str:
        """What the paper shows."""
        from simviz.experiments import all_experiments

        cls = all_experiments().get(str(self.params.get("name")))
        return cls.title if cls else "experiment"

    def _check(self) -> None:
        from simviz.experiments import SIZES, get_experiment

        known = ("name", "size", "methods", "protocol")
        _refuse_unknown("parameter of an experiment", self.params, known)
        get_experiment(str(self.params.get("name"))).selected_methods(self.params.get("methods"))
        _refuse_unknown("size", [str(self.params.get("size"))], SIZES)

    def estimate(self, pairs: PairSet) -> Cost:
        """As long as the demo takes, with a refusal of what takes hours."""
        from simviz.experiments import get_experiment

        experiment = get_experiment(self.params["name"])
        seconds = 60 * experiment.estimate(self.params["size"])
        return Cost(seconds, 0, why_too_long("It takes", seconds, "Run it from the command line."))

    def _find(self, pairs: PairSet, report: Report) -> Findings:
        """Run the experiment on its own data, or on pairs that somebody brought."""
        from simviz.experiments import Progress, get_experiment

        name, size, seed = str(self.params["name"]), self.params["size"], self.split.seed
        methods = self.params.get("methods")
        experiment = get_experiment(name)
        start = time.monotonic()
        own = self.dataset_id != f"{DEMO_PREFIX}{experiment.demo}"
        if own:
            if reason := experiment.refusal(pairs):
                raise JobError(reason)
            data = experiment.prepared(pairs, seed=seed, n_train=MAX_TRAIN, n_pool=MAX_POOL)
        else:
            data = experiment.load(size=size, seed=seed)
        progress = Progress(lambda text, fraction: report(text, fraction, {}))
        findings = experiment.run(data, size=size, seed=seed, methods=methods, progress=progress)
        brought = {"data": "FOLDER", "train": MAX_TRAIN, "pool": MAX_POOL} if own else {}
        command = experiment.command(size, seed, methods=methods, **brought)
        seconds = round(time.monotonic() - start, 3)
        return replace(findings, seconds=seconds, command=command)


class DivisionsSpec(FindingSpec):
    """Methods with their settings over repeated random splits.

    See `evaluate_repeated_splits`.
    """

    __slots__ = ()

    @property
    def method_title(self) -> str:
        """How often what is repeated."""
        return f"{self.params.get('n')} random splits"

    def trainings(self) -> dict[str, list[JobSpec]]:
        """The settings of each method, by its title, as trainings on the spec's own split."""
        by_title: dict[str, list[JobSpec]] = {}
        for one in self.params["candidates"]:
            spec = _as(JobSpec, self, **one, dimensions=None)
            by_title.setdefault(spec.title, []).append(spec)
        return by_title

    def _check(self) -> None:
        known = ("candidates", "n", "metric", "direction")
        _refuse_unknown("parameter of divisions", self.params, known)
        n, candidates = self.params.get("n"), self.params.get("candidates")
        if not _is_whole(n, MIN_DIVISIONS, MAX_DIVISIONS):
            raise ValueError(f"Repeat {MIN_DIVISIONS} to {MAX_DIVISIONS} divisions, got {n!r}.")
        if self.split.by in ("column", "time"):
            raise ValueError(
                f"A split by {self.split.by} draws nothing at random, so that it cannot be "
                "repeated. Split by pair, x, y or group."
            )
        if not isinstance(candidates, list) or not 1 <= len(candidates) <= MAX_DIVIDED:
            raise ValueError(f"RepeatedSplits choose among 1 to {MAX_DIVIDED} settings.")
        if self.params.get("direction") not in ("x2y", "y2x", "mean"):
            raise ValueError("direction must be 'x2y', 'y2x' or 'mean'.")
        parse_metric(str(self.params.get("metric")))
        for one in candidates:
            _refuse_unknown("part of a setting", one, ("method", "params", "features"))
        for specs in self.trainings().values():
            for spec in specs:
                JobSpec._check(spec)

    def estimate(self, pairs: PairSet) -> Cost:
        """Estimate all trainings of all divisions together."""
        costs = [spec.estimate(pairs) for specs in self.trainings().values() for spec in specs]
        cost, advice = sum_costs(costs, self.params["n"]), "Choose fewer runs or divisions."
        too_long = why_too_long("These divisions would take", cost.seconds, advice)
        return replace(cost, reason_to_refuse=cost.reason_to_refuse or too_long)

    def _find(self, pairs: PairSet, report: Report) -> RepeatedSplits:
        how, train = self.split, self.split.apply(pairs).train
        candidates = {
            title: [
                default_pipeline(s.method, train, features=s.features, **s.params) for s in specs
            ]
            for title, specs in self.trainings().items()
        }
        return evaluate_repeated_splits(
            pairs,
            candidates,
            n=self.params["n"],
            by=how.by,
            fractions=how.fractions,
            group_key=how.group_key,
            metric=self.params["metric"],
            direction=self.params["direction"],
            seed=how.seed + 1,  # not the division that the fixed test part is of
            callback=lambda step, of, metrics: report("searching", step / of, metrics),
        )


class AuditSpec(FindingSpec):
    """Which pairs of a data set are probably wrong, see `simviz.audit`."""

    __slots__ = ()

    @property
    def method_title(self) -> str:
        """What is done."""
        return "Audit of the pairs"

    def _check(self) -> None:
        _refuse_unknown("parameter of an audit", self.params, ())

    def estimate(self, pairs: PairSet) -> Cost:
        """Estimate all fits together, with a refusal where there are too few pairs."""
        if text := why_no_audit(pairs):
            return Cost(0.0, 0, text)
        methods, n_runs, n_folds = fits_of_audit(pairs)
        costs = [estimate(method, pairs, self.params, self.features) for method in methods]
        return sum_costs(costs, n_runs * n_folds)

    def _find(self, pairs: PairSet, report: Report) -> dict[str, Any]:
        result = audit(pairs, callback=lambda step, of, _: report("auditing", step / of, {}))
        shown = result.drop(columns=["x", "y", "better_x", "better_y"])
        columns = {name: column.to_numpy() for name, column in shown.items()}
        return {"columns": columns, **result.attrs}


class ImportSpec(JobSpec):
    """Scores of another system as a pipeline, measured like a run, see `import_run`."""

    __slots__ = ()
    may_lack_scores = True
    why_no_curve = "Imported scores are not trained here."

    @property
    def method_title(self) -> str:
        """The name that its scores came with."""
        return f"{self.params.get('name', 'another system')} (imported)"

    @property
    def default_params(self) -> dict[str, Any]:
        """Return the parameters themselves: they say where the scores came from."""
        return {}

    @property
    def non_default_params(self) -> dict[str, Any]:
        """Return none, likewise."""
        return {}

    def _without_fit(self, models: Models) -> Callable[[PairSet], Pipeline]:
        return lambda part: models["scores"]


_KINDS: dict[str, type[JobSpec]] = {
    AUDIT: AuditSpec,
    BLEND: BlendSpec,
    CSLS: CSLSSpec,
    EXPERIMENT: ExperimentSpec,
    IMPORTED: ImportSpec,
    DIVISIONS: DivisionsSpec,
}


def blend_spec(
    learned: RunInfo,
    lexical: RunInfo,
    alpha: float,
    *,
    normalization: str = "global_std",
    workspace: str = "",
) -> JobSpec:
    """Ask for a blend of two finished runs, which is then measured like any run.

    `alpha` is the weight of the learned one, from 0 to 1; for `normalization` see
    `simviz.pipeline.BlendPipeline`. A JobError says that the runs were not trained on the same
    pairs, or that a setting does not fit.
    """
    for what, text in (("dataset_digest", "data"), ("split", "split")):
        if learned.spec.get(what) != lexical.spec.get(what):
            raise JobError(
                f"These two runs were not trained on the same {text}, so that one may have seen "
                "what the other is tested on. Train both on one split and blend those."
            )
    params = {
        "learned": learned.id,
        "lexical": lexical.id,
        "alpha": round(float(alpha), 6),
        "normalization": normalization,
        # What a list of runs calls it, even when a part was deleted.
        "learned_method": learned.method,
        "lexical_method": lexical.method,
    }
    return _derived(BlendSpec, BLEND, learned, params, workspace)


def csls_spec(run: RunInfo, k: int, *, queries: str = "given", workspace: str = "") -> JobSpec:
    """Ask for a finished run with its hubs corrected, which is then measured like any run.

    It averages over the `k` nearest items, for `queries` see `simviz.pipeline.CSLSPipeline`. A
    JobError says that a setting does not fit.
    """
    params = {"scaled": run.id, "k": k, "queries": queries, "scaled_method": run.method}
    return _derived(CSLSSpec, CSLS, run, params, workspace)


def _derived(
    kind: type[DerivedSpec], method: str, run: RunInfo, params: Mapping[str, Any], workspace: str
) -> JobSpec:
    """Ask for what is made of finished runs, on the pairs and the split of one of them."""
    of = JobSpec.from_json(run.spec)
    about = of.dataset_id, of.dataset_digest, method, params, of.split
    return kind(*about, workspace=workspace).check()


def search_spec(
    spec: JobSpec,
    params: Mapping[str, Sequence[Any]],
    *,
    folds: int = 1,
    metric: str = "MRR",
    n_iter: int | None = None,
) -> JobSpec:
    """Ask for a search over values of parameters instead of a training; others stay as they are.

    One fold measures on the validation part; more cut train and validation together into
    folds. With `n_iter`, so many settings are drawn at random instead of trying all. A JobError
    says that the request cannot be met.
    """
    fixed = {name: value for name, value in spec.params.items() if name not in params}
    values = {name: list(some) for name, some in params.items()}
    search = {"params": values, "folds": folds, "metric": metric, "n_iter": n_iter}
    return _as(SearchSpec, spec, params=fixed, search=search).check()


def divisions_spec(
    specs: Sequence[JobSpec], *, n: int = 10, metric: str = "MRR", direction: Asking = "x2y"
) -> JobSpec:
    """Ask for trainings over `n` repeated random divisions of their data.

    Trainings of one method are settings among which each division chooses, by the metric that
    is reported. A JobError says that there are none, that they are on several splits or with
    augmented texts, or that a setting does not fit.
    """
    if not specs or any(
        spec.augment
        or spec.method in _KINDS
        or (spec.dataset_digest, spec.split) != (specs[0].dataset_digest, specs[0].split)
        for spec in specs
    ):
        raise JobError("RepeatedSplits repeat trainings on pairs as they are, all on one split.")
    candidates = [
        {"method": spec.method, "params": dict(spec.params)}
        | ({} if spec.features == "usual" else {"features": spec.features})
        for spec in specs
    ]
    params = {"candidates": candidates, "n": n, "metric": metric, "direction": direction}
    about = {"method": DIVISIONS, "params": params, "features": "usual", "dimensions": None}
    return _as(DivisionsSpec, specs[0], **about).check()


def experiment_spec(
    name: str,
    dataset_id: str,
    dataset_digest: str,
    *,
    size: Size = "demo",
    seed: int = 0,
    methods: Sequence[str] | None = None,
    workspace: str = "",
) -> JobSpec:
    """Ask for an experiment: a table or figure of a paper, run again on a data set.

    A JobError says that there is no such experiment or method, or none of that size.
    """
    from simviz.experiments import all_experiments, get_experiment

    params: dict[str, Any] = {"name": name, "size": size}
    if name in all_experiments():
        params["protocol"] = get_experiment(name).protocol(size)  # of another one it is stale
    if methods is not None:
        params["methods"] = list(methods)
    about = dataset_id, dataset_digest, EXPERIMENT, params, SplitSpec(seed=seed)
    return ExperimentSpec(*about, workspace=workspace).check()


def import_run(
    store: Store, dataset_id: str, pairs: PairSet, run: ImportedRun, how: SplitSpec, workspace: str
) -> str:
    """Measure imported scores as a trained method is, and keep them as a run."""
    params = {"name": run.name[:80], "scores": _digest(run), "notes": list(run.notes)}
    spec = ImportSpec(dataset_id, pairs.digest, IMPORTED, params, how, workspace=workspace)
    if spec.is_demo:
        raise JobError(
            "Runs on a demo are seen by all visitors. Keep the demo's pairs as a data set of your "
            "own first, then import the run there."
        )
    # A side that is not divided competes whole.
    shares = [share**2 if how.by == "pair" else share for share in how.fractions[1:]]
    n_pairs = len(pairs.x) * len(pairs.y) * sum(shares)
    if n_pairs > MAX_IMPORTED:
        raise JobError(
            f"Validation and test have about {n_pairs:,.0f} pairs; up to {MAX_IMPORTED:,} are "
            "measured at once. Measure it in Python, or choose smaller parts."
        )
    run_id = spec.digest
    if store.runs.has(run_id):
        return run_id
    result = spec.run(pairs, {"scores": run.pipeline}, lambda stage, fraction, metrics: False)
    if not store.runs.put(run_id, cast(RunResult, result), spec.to_json(), workspace):
        raise StoreError("There is such a run already.")
    return run_id


def _digest(run: ImportedRun) -> str:
    """Of the scores, whatever the file is called."""
    h = hashlib.blake2b(digest_size=16)
    for part, dtype in (("indptr", "<i8"), ("indices", "<i8"), ("data", "<f8")):
        h.update(getattr(run.scores, part).astype(dtype).tobytes())
    return h.hexdigest()


def _as(kind: type[JobSpec], spec: JobSpec, **changes: Any) -> JobSpec:
    return kind(**{f.name: getattr(spec, f.name) for f in fields(spec)} | changes)


def _is_whole(value: object, low: int, high: float = inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _refuse_unknown(what: str, names: Sequence[str] | Mapping[str, Any], known: Any) -> None:
    for name in names:
        if name not in known:
            raise ValueError(unknown_name(what, name, known))
