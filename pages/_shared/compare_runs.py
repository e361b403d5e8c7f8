"""Finished runs made ready to be compared: what each was measured on, and how it did."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pages._shared import naming
from simviz.exceptions import StoreError

if TYPE_CHECKING:
    from simviz.evaluation.tables import Estimate
    from simviz.store import RunInfo
    from simviz.store.run import Run

#: Runs chosen where nobody chose: more would hide one another.
FEW = 5


@dataclass(frozen=True, slots=True)
class Measured:
    """What the files of a run say about its test; small, so that it can be kept.

    Parameters
    ----------
    part : str
        Digest of the test part: equal for runs with the same queries and answers.
    pool : str
        What a query was ranked against.
    n_x, n_y : int
        Items of the test part.
    unseen : mapping of str to bool
        By side, whether no item of the test part was in training.
    told : mapping
        The evaluation, as JSON.
    curve : sequence of mapping
        Quality by dimension; empty where there is none.
    """

    part: str
    pool: str
    n_x: int
    n_y: int
    unseen: Mapping[str, bool]
    told: Mapping[str, Any]
    curve: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, run: Run) -> Measured:
        """Read it from the files of a run.

        Raises
        ------
        StoreError
            If a file is missing, damaged, or of another version.
        """
        told, arrays = run.evaluation(), run.arrays()
        try:
            tests = {side: arrays[f"{side}_test"] for side in "xy"}
            unseen = {s: not np.isin(tests[s], arrays[f"{s}_train"]).any() for s in tests}
            pool = str(told["pool"])
        except KeyError as error:
            raise StoreError(f"The results of this run lack {error}.") from error
        digest = hashlib.blake2b(digest_size=8)
        for at in tests.values():
            digest.update(at.astype(np.int64).tobytes() + b"|")
        sizes = len(tests["x"]), len(tests["y"])
        return cls(digest.hexdigest(), pool, *sizes, unseen, told, run.curve())


@dataclass(frozen=True, slots=True)
class Entry:
    """A run among those to compare.

    Parameters
    ----------
    run : Run
        The run.
    label : str
        What to call it here: no two are called the same.
    look : str
        What `simviz.charts.method_style` knows its colour and dash by.
    measured : Measured
        How it did.
    """

    run: Run
    label: str
    look: str
    measured: Measured

    def record(self, metric: str, direction: str) -> Mapping[str, Any] | None:
        """The record of a metric, see `find_record`."""
        return find_record(self.measured.told["records"], metric, direction)

    def value(self, metric: str, direction: str) -> float:
        """The value of a metric; NaN where it was not measured."""
        record = self.record(metric, direction)
        return float("nan") if record is None else float(record["value"])


def find_record(
    records: Sequence[Mapping[str, Any]], metric: str, direction: str
) -> Mapping[str, Any] | None:
    """The record of a metric; one that pools all pairs is the same in all directions."""
    wanted = (direction, "pairs")
    found = (r for r in records if r["metric"] == metric and r["direction"] in wanted)
    return next(found, None)


def estimate(record: Mapping[str, Any] | None) -> Estimate:
    """Value and half of the 95 % interval of a record."""
    from simviz.evaluation.differences import REACH
    from simviz.evaluation.tables import Estimate

    if record is None:
        return Estimate(float("nan"))
    return Estimate(record["value"], REACH * record["standard_error"])


def group(infos: Sequence[RunInfo], measured: Mapping[str, Measured]) -> dict[str, list[RunInfo]]:
    """Runs that were measured on the same thing, the largest group first.

    Parameters
    ----------
    infos : sequence of RunInfo
        Runs of one data set, newest first.
    measured : mapping of str to Measured
        By run id; a run without one is left out.

    Returns
    -------
    dict of str to list of RunInfo
        By what they share: data, test part and pool.
    """
    groups: dict[str, list[RunInfo]] = {}
    for info in infos:
        if info.id in measured:
            on = measured[info.id]
            key = f"{info.spec.get('dataset_digest', '')[:8]}-{on.part}-{on.pool}"
            groups.setdefault(key, []).append(info)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def describe_split(split: Mapping[str, Any], names: tuple[str, str]) -> str:
    """Name what a test part holds that training did not."""
    by, key = split["by"], split.get("group_key")
    what = {
        "pair": "new pairs",
        "x": f"new {names[0]}",
        "y": f"new {names[1]}",
        "group": f"new groups ({key or 'group'})",
        "column": f"as the column {key or 'split'} says",
        "time": f"the latest by {key or 'date'}",
    }[by]
    if by == "column":
        return what
    return f"{what}, {100 * split['fractions'][2]:g} % of the data, seed {split['seed']}"


def group_labels(
    groups: Mapping[str, Sequence[RunInfo]],
    measured: Mapping[str, Measured],
    names: tuple[str, str],
) -> dict[str, str]:
    """What to call each group; no two alike."""
    labels = {}
    for key, infos in groups.items():
        label = describe_split(infos[0].spec["split"], names)
        if measured[infos[0].id].pool == "judged":
            label += ", among judged items"
        n = len(infos)
        labels[key] = f"{label} · {n} run{'' if n == 1 else 's'}"
    return _numbered(labels)


def label_runs(infos: Sequence[RunInfo]) -> dict[str, str]:
    """What to call each run: its name or its method, and what sets it apart.

    Parameters
    ----------
    infos : sequence of RunInfo
        Runs that are shown together.

    Returns
    -------
    dict of str to str
        By run id; no two alike.
    """
    titles = {i.id: naming.run_title(i) for i in infos}
    counts = Counter(titles.values())
    labels = {}
    for info in infos:
        label = titles[info.id]
        if counts[label] > 1:
            kin = [i for i in infos if titles[i.id] == label and i.method == info.method]
            apart = _apart(info, kin)
            label = f"{label}, {apart}" if apart else label
        labels[info.id] = label
    return _numbered(labels)


def looks(infos: Sequence[RunInfo]) -> dict[str, str]:
    """Style id of each run: its method's, numbered where a method has several."""
    seen: Counter[str] = Counter()
    found = {}
    for info in sorted(infos, key=lambda i: (i.created, i.id)):  # the oldest keeps its look
        found[info.id] = f"{info.method}~{seen[info.method]}" if seen[info.method] else info.method
        seen[info.method] += 1
    return found


def _apart(info: RunInfo, kin: Sequence[RunInfo]) -> str:
    """The parameters in which a run differs from others of its method, in words."""
    usual = naming.usual_params(info.method)
    values = {
        i.id: usual | {n: v for n, v in i.spec.get("params", {}).items() if n in usual}
        for i in kin
    }
    mine = values[info.id]
    differing = [n for n in mine if any(v.get(n) != mine[n] for v in values.values())]
    return ", ".join(f"{n.removeprefix('n_').replace('_', ' ')} {mine[n]}" for n in differing)


def _numbered(labels: Mapping[str, str]) -> dict[str, str]:
    """Tell equal labels apart by a number."""
    counts, seen = Counter(labels.values()), Counter[str]()
    told = {}
    for key, label in labels.items():
        seen[label] += 1
        told[key] = f"{label} ({seen[label]})" if counts[label] > 1 else label
    return told
