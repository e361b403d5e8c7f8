"""What a job is asked to do."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from math import prod
from typing import Any, Self

from simviz.data.augment import from_json as augmenters
from simviz.data.splitting import By
from simviz.deployment import LOCAL_WORKSPACE
from simviz.exceptions import DatasetError, JobError as JobError
from simviz.methods import get_method
from simviz.params import param_specs, validate_params
from simviz.pipeline import Features, encoder_of, why_no_adapter
from simviz.registry import unknown_name
from simviz.store.records import DEMO_PREFIX

#: In place of a method's id: a blend of two runs, see `simviz.jobs.blending`.
BLEND = "blend"
#: And a table or figure of a paper, see `simviz.jobs.experiments`.
EXPERIMENT = "experiment"
#: And what another system answered, see `simviz.jobs.importing`.
IMPORTED = "imported"
#: Normalisations under which a score depends on its two items alone, which a run's must.
NORMALIZATIONS = ("global_std", "none")
_RUN = re.compile(r"[0-9a-f]{32}")
_BLEND = ("learned", "lexical", "alpha", "normalization", "learned_method", "lexical_method")
_EXPERIMENT = ("name", "size")
#: Values of one parameter, settings tried, and folds, at most.
MAX_VALUES, MAX_SETTINGS, MAX_FOLDS = 30, 400, 10
_SEARCH = ("params", "folds", "metric", "n_iter")
#: Decides which features there are, so it is no setting among others.
_FIXED = ("shared",)


@cache
def _version() -> str:
    """Of this code; it is read from a file."""
    return version("simviz")


@dataclass(frozen=True, slots=True)
class SplitSpec:
    """How pairs are split, see `simviz.data.splitting`.

    Parameters
    ----------
    by : {"pair", "x", "y", "group", "column", "time"}, default="pair"
        What must not stand in two parts.
    fractions : tuple of 3 float, default=(0.7, 0.1, 0.2)
        Shares of train, validation and test.
    seed : int, default=0
        Of the random assignment.
    group_key : str, optional
        Metadata column.
    """

    by: By = "pair"
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2)
    seed: int = 0
    group_key: str | None = None


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A request: one method with its parameters on one split of one data set.

    Parameters
    ----------
    dataset_id : str
        Data set of the store.
    dataset_digest : str
        Its content, so that a request means the same forever.
    method : str
        Id of the method, "blend" or "experiment".
    params : mapping
        Its parameters, of JSON's types.
    split : SplitSpec
        How the pairs are split.
    dimensions : tuple of int, optional
        Points of the quality-by-dimension curve; chosen when omitted.
    workspace : str, default=""
        Who asks. It is no part of what is stored for others to read.
    features : {"usual", "pretrained"} or str, default="usual"
        What texts and pictures become, see `simviz.pipeline.default_pipeline`.
        Only the workspace of whoever sits at the computer may name a model.
    augment : tuple of mapping, optional
        Steps that enlarge the training part, see `simviz.data.augment.from_json`.
    search : mapping, optional
        Settings to try in place of a training, see `simviz.jobs.selection`.

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

    @property
    def is_demo(self) -> bool:
        """Whether it is about a demo, so that its result belongs to all."""
        return self.dataset_id.startswith(DEMO_PREFIX)

    @property
    def digest(self) -> str:
        """Id (hex) of the request: what is asked, by whom, of which version."""
        owner = None if self.is_demo else self.workspace
        asked = {"spec": self.to_json(), "simviz": _version(), "workspace": owner}
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16, person=b"simviz job").hexdigest()

    def check(self) -> None:
        """Refuse what cannot be asked, before anything is started.

        Raises
        ------
        JobError
            If the method, a parameter or its value is unknown.
        """
        try:
            if self.method == BLEND:
                _check_blend(self.params)
            elif self.method == EXPERIMENT:
                _check_experiment(self.params)
            else:
                self._check_method()
            if self.search is not None:
                _check_search(self)
            json.dumps(self.to_json())
        except (DatasetError, TypeError, ValueError) as error:
            raise JobError(str(error)) from error

    def _check_method(self) -> None:
        cls = get_method(self.method)
        known = [spec.name for spec in param_specs(cls)]
        for name in self.params:
            if name not in known:
                raise ValueError(unknown_name(f"parameter of {self.method}", name, known))
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

    def to_json(self) -> dict[str, Any]:
        """Everything but the workspace, as JSON's types."""
        tree: dict[str, Any] = {
            "dataset_id": self.dataset_id,
            "dataset_digest": self.dataset_digest,
            "method": self.method,
            "params": dict(self.params),
            "split": asdict(self.split) | {"fractions": list(self.split.fractions)},
            "dimensions": None if self.dimensions is None else list(self.dimensions),
        }
        # What is usual is not told, so that a request keeps the id it always had.
        if self.features != "usual":
            tree["features"] = self.features
        if self.augment:
            tree["augment"] = [dict(step) for step in self.augment]
        if self.search is not None:
            tree["search"] = dict(self.search)
        return tree

    @classmethod
    def from_json(cls, tree: Mapping[str, Any], workspace: str = "") -> Self:
        """Read what `to_json` answered.

        Parameters
        ----------
        tree : mapping
            JSON's types.
        workspace : str, default=""
            Who asks.

        Returns
        -------
        JobSpec
            The same request.

        Raises
        ------
        JobError
            If something is missing or of another kind.
        """
        try:
            split = dict(tree["split"])
            low, middle, high = split.pop("fractions")
            dimensions = tree["dimensions"]
            return cls(
                dataset_id=str(tree["dataset_id"]),
                dataset_digest=str(tree["dataset_digest"]),
                method=str(tree["method"]),
                params=dict(tree["params"]),
                split=SplitSpec(fractions=(low, middle, high), **split),
                dimensions=None if dimensions is None else tuple(dimensions),
                workspace=workspace,
                features=tree.get("features", "usual"),
                augment=tuple(dict(step) for step in tree.get("augment", ())),
                search=None if tree.get("search") is None else dict(tree["search"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise JobError(f"The request of this job cannot be read ({error}).") from error

    def asked_by(self, workspace: str) -> Self:
        """The same request by another workspace.

        Parameters
        ----------
        workspace : str
            Its id.

        Returns
        -------
        JobSpec
            Equal but for the workspace.
        """
        return replace(self, workspace=workspace)


def _check_blend(params: Mapping[str, Any]) -> None:
    """Refuse a request for a blend that cannot be met."""
    for name in params:
        if name not in _BLEND:
            raise ValueError(unknown_name("parameter of a blend", name, _BLEND))
    runs = [params.get(role) for role in ("learned", "lexical")]
    if not all(isinstance(run, str) and _RUN.fullmatch(run) for run in runs):
        raise ValueError(f"A blend names two runs, learned and lexical, by their ids; got {runs}.")
    if runs[0] == runs[1]:
        raise ValueError("A run blended with itself is that run. Choose two.")
    alpha = params.get("alpha")
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a weight from 0 to 1, got {alpha!r}.")
    if params.get("normalization") not in NORMALIZATIONS:
        raise ValueError(
            f"A run is blended with normalization 'global_std' or 'none', under which a score "
            f"depends on its two items alone; got {params.get('normalization')!r}."
        )


def _check_experiment(params: Mapping[str, Any]) -> None:
    """Refuse a request for an experiment that cannot be met."""
    from simviz.experiments import SIZES, get_experiment

    for name in params:
        if name not in _EXPERIMENT:
            raise ValueError(unknown_name("parameter of an experiment", name, _EXPERIMENT))
    get_experiment(str(params.get("name")))
    if params.get("size") not in SIZES:
        raise ValueError(unknown_name("size", str(params.get("size")), SIZES))


def _check_search(spec: JobSpec) -> None:
    """Refuse a search that cannot be done."""
    from simviz.evaluation.metrics import parse_metric

    asked: Mapping[str, Any] = spec.search or {}
    for name in asked:
        if name not in _SEARCH:
            raise ValueError(unknown_name("part of a search", name, _SEARCH))
    if spec.method == BLEND or spec.augment:
        raise ValueError("Settings are searched for one method on pairs as they are.")
    folds, metric, n_iter = asked.get("folds"), asked.get("metric"), asked.get("n_iter")
    if isinstance(folds, bool) or not isinstance(folds, int) or not 1 <= folds <= MAX_FOLDS:
        raise ValueError(f"A search has 1 to {MAX_FOLDS} folds, got {folds!r}.")
    if n_iter is not None and (not isinstance(n_iter, int) or n_iter < 1):
        raise ValueError(f"Settings are drawn at least once, got {n_iter!r}.")
    parse_metric(str(metric))
    values = asked.get("params")
    if not isinstance(values, Mapping) or not values:
        raise ValueError("Name at least one parameter to search.")
    cls = get_method(spec.method)
    known = [s.name for s in param_specs(cls) if s.name not in _FIXED]
    for name, some in values.items():
        if name not in known:
            raise ValueError(unknown_name(f"parameter of {spec.method} to search", name, known))
        if not isinstance(some, list) or not 1 <= len(some) <= MAX_VALUES:
            raise ValueError(f"Give 1 to {MAX_VALUES} values of {name}.")
        for value in some:
            validate_params(cls(**{**spec.params, name: value}))
    n = min(prod(map(len, values.values())), n_iter or MAX_SETTINGS + 1)
    if n > MAX_SETTINGS:
        raise ValueError(
            f"{n:,} settings are more than the {MAX_SETTINGS} of one search. Give fewer values."
        )
