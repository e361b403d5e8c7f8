"""What the Train page is about to ask for: settings of the page, and a plan for each method."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import augment_view, splits, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs import Estimate, JobSpec, SplitSpec
    from simviz.pipeline import Features


@dataclass(frozen=True, slots=True)
class Setting:
    """What every method on the page meets.

    Parameters
    ----------
    dataset_id, digest : str
        The data set and its content.
    pairs : PairSet
        The data set.
    split : SplitSpec
        How it is split.
    one_vocabulary : bool
        Whether its sides have words in common.
    start : mapping of str to mapping
        Parameters to begin with, by method.
    marks : mapping of str to str
        What became of requests, by their digest.
    features : {"usual", "pretrained"} or str
        What texts and pictures become.
    augmentation : Augmentation
        What is made of the training pairs.
    """

    dataset_id: str
    digest: str
    pairs: PairSet
    split: SplitSpec
    one_vocabulary: bool
    start: Mapping[str, Mapping[str, Any]]
    marks: Mapping[str, str]
    features: Features
    augmentation: augment_view.Augmentation

    @classmethod
    def of(cls, dataset_id: str, pairs: PairSet, features: Features) -> Setting:
        """The setting of this visitor."""
        split = splits.current_split(dataset_id)
        return cls(
            dataset_id,
            digest_of(dataset_id, pairs),
            pairs,
            split,
            _one_vocabulary(dataset_id, pairs),
            _demo_methods(dataset_id),
            _marks(dataset_id),
            features,
            augment_view.choose(dataset_id, pairs, split),
        )

    def spec(self, method: str, params: Mapping[str, Any]) -> JobSpec:
        """The request for one method."""
        from simviz.jobs import JobSpec
        from simviz.methods import get_method

        tags = get_method(method).tags
        # What knows no pairs learns nothing from more of them, and the encoder
        # alone reads nothing else: their requests are the same either way.
        steps = () if tags.uses == "unsupervised" else self.augmentation.steps
        return JobSpec(
            self.dataset_id,
            self.digest,
            method,
            dict(params),
            self.split,
            workspace=state.workspace(),
            features="usual" if tags.input == "pretrained" else self.features,
            augment=steps,
        )

    def task(self, spec: JobSpec) -> Task:
        """A request with what it costs, and whether it was made before."""
        from simviz.methods import get_method

        params = dict(spec.params)
        if get_method(spec.method).tags.space == "either":
            params.setdefault("shared", self.one_vocabulary)  # or all pairs are read to tell
        asked = json.dumps(params, sort_keys=True)
        expected = _estimate(self.digest, spec.method, asked, spec.features, self.pairs)
        if spec.augment:
            expected = replace(expected, seconds=expected.seconds * self.augmentation.growth)
        return Task(spec, expected, self.marks.get(spec.digest, ""))


@dataclass(frozen=True, slots=True)
class Task:
    """One training that may be asked for.

    Parameters
    ----------
    spec : JobSpec
        The request.
    expected : Estimate
        What it will cost.
    mark : str
        "trained", "in training", or nothing.
    """

    spec: JobSpec
    expected: Estimate
    mark: str

    @property
    def is_new(self) -> bool:
        """Whether asking for it would train something."""
        return not self.mark and self.expected.reason_to_refuse is None


@dataclass(frozen=True, slots=True)
class Choice:
    """One method as it is set on the page.

    Parameters
    ----------
    method, title : str
        Which one.
    ticked : bool
        Whether it is wanted.
    tasks : tuple of Task
        Its trainings: one, or those of a sweep; none while its settings are
        chosen by validation.
    once : Task
        The training with its form as it is.
    """

    method: str
    title: str
    ticked: bool
    tasks: tuple[Task, ...]
    once: Task


def total(tasks: Sequence[Task]) -> tuple[float, float]:
    """Seconds and bytes of several trainings: two run at once.

    Parameters
    ----------
    tasks : sequence of Task
        At least one.

    Returns
    -------
    seconds, bytes : float
        The slowest sets the pace where it is alone.
    """
    seconds = [task.expected.seconds for task in tasks]
    needed = sum(sorted(task.expected.bytes for task in tasks)[-2:])
    return max(max(seconds), sum(seconds) / 2), needed


def swept(
    spec: JobSpec, lists: Mapping[str, Iterable[Any]], n_splits: int, usual: Mapping[str, Any]
) -> list[JobSpec]:
    """Every combination of values, on so many random splits.

    Parameters
    ----------
    spec : JobSpec
        What stays as it is.
    lists : mapping of str to iterable
        Values by parameter.
    n_splits : int
        Splits, of seeds that follow one another.
    usual : mapping
        Defaults: a value equal to one is the same request as leaving it out.

    Returns
    -------
    list of JobSpec
        In the order of the values.
    """
    from itertools import product

    made = []
    for values in product(*lists.values()):
        varied = dict(zip(lists, values, strict=True))
        params = {**spec.params, **varied}
        kept = {n: v for n, v in params.items() if n not in varied or usual.get(n, ...) != v}
        for i in range(n_splits):
            split = replace(spec.split, seed=spec.split.seed + i)
            made.append(replace(spec, params=kept, split=split))
    return made


def _marks(dataset_id: str) -> dict[str, str]:
    """What became of requests: trained, or in training."""
    marks = {
        status.id.rpartition("-")[0]: "in training"
        for status in state.queue().jobs(state.workspace())
        if status.is_active
    }
    return marks | {run.id: "trained" for run in state.runs(dataset_id)}


def _demo_methods(dataset_id: str) -> Mapping[str, Mapping[str, Any]]:
    """What a demo recommends: method to parameters."""
    from simviz.datasets import DEMOS

    demo = dataset_id.removeprefix("demo:")
    return DEMOS[demo].methods if demo != dataset_id and demo in DEMOS else {}


# The id of a data set stands for its content, which is hashed anew at every asking.
@st.cache_data(show_spinner=False, max_entries=64)
def digest_of(dataset_id: str, _pairs: PairSet) -> str:
    """Digest of a data set, taken once."""
    return _pairs.digest


@st.cache_data(show_spinner=False, max_entries=64)
def _one_vocabulary(dataset_id: str, _pairs: PairSet) -> bool:
    from simviz.pipeline import same_vocabulary

    return same_vocabulary(_pairs)


@st.cache_data(show_spinner=False, max_entries=2_000, ttl=3_600)
def _estimate(
    digest: str, method: str, params: str, features: Features, _pairs: PairSet
) -> Estimate:
    """What training will cost; free memory, which it counts, changes with the hour."""
    from simviz.jobs import estimate

    return estimate(method, _pairs, json.loads(params), features)


@st.cache_data(show_spinner=False, max_entries=500, ttl=3_600)
def search_cost(dataset_id: str, asked: str, _spec: JobSpec, _pairs: PairSet) -> Estimate:
    """What a search will cost."""
    from simviz.jobs import estimate_search

    return estimate_search(_spec, _pairs)
