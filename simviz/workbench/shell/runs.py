"""Finished runs made ready to be compared: what each was measured on, and how it did."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from simviz.exceptions import SimvizError, StoreError
from simviz.store.run import MEASURED, Part
from simviz.workbench.shell import settings, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.evaluation.tables import Estimate
    from simviz.relevance import Relevance
    from simviz.store.records import RunInfo
    from simviz.store.run import Run


def dataset_title(dataset_id: str, name: str) -> str:
    """What a data set is called: a demo by its title, one's own by its name."""
    from simviz.datasets import DEMOS

    demo = DEMOS.get(dataset_id.removeprefix("demo:")) if dataset_id[:5] == "demo:" else None
    return name if demo is None else demo.title


def run_title(info: RunInfo) -> str:
    """The name a run was given, else that of what was trained."""
    return info.name or trained_title(info.method, info.spec)


def trained_title(method: str, spec: Mapping[str, Any]) -> str:
    """The title of a method, with what its texts and pairs became where not the usual."""
    from simviz.jobs.spec import BLEND, EXPERIMENT, IMPORTED
    from simviz.methods import get_method

    if method == BLEND:
        return _blend_title(spec.get("params", {}))
    if method == IMPORTED:
        return f"{spec.get('params', {}).get('name', 'another system')} (imported)"
    if method == EXPERIMENT:
        return _experiment_title(spec.get("params", {}))
    title = get_method(method).tags.title
    if spec.get("search") is not None:
        title = f"Best values for {title}"
    if spec.get("features", "").startswith("pretrained"):
        title += " on pretrained vectors"
    return f"{title}, augmented" if spec.get("augment") else title


def usual_params(method: str) -> dict[str, Any]:
    """Parameters that tell runs of a method apart, with their defaults."""
    from simviz.jobs.spec import BLEND, IMPORTED
    from simviz.methods import get_method

    if method == BLEND:
        return {"normalization": "global_std"}
    if method == IMPORTED:
        return {}
    return dict(get_method(method)().get_params())


def differing(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a run that are not the usual ones."""
    if method == "imported":
        return {}  # its parameters are where it came from
    usual = usual_params(method)
    return {name: value for name, value in params.items() if usual.get(name, value) != value}


def _experiment_title(params: Mapping[str, Any]) -> str:
    from simviz.experiments import all_experiments

    cls = all_experiments().get(str(params.get("name")))
    return cls.title if cls else "experiment"


def _blend_title(params: Mapping[str, Any]) -> str:
    from simviz.methods import all_methods

    shares = float(params.get("alpha", 0.5)), 1 - float(params.get("alpha", 0.5))
    known = all_methods()
    parts = []
    for share, role in zip(shares, ("learned", "lexical"), strict=True):
        cls = known.get(params.get(f"{role}_method", ""))
        parts.append(f"{round(share, 6):g} {cls.tags.title if cls else 'blend'}")
    return " + ".join(parts)


#: Runs chosen where nobody chose: more would hide one another.
FEW = 5


@dataclass(frozen=True, slots=True)
class Measured:
    """What the files of a run say about one part of its split; small, so that it can be kept."""

    n_x: int
    n_y: int
    unseen: Mapping[str, bool]
    told: Mapping[str, Any]
    curve: Sequence[Mapping[str, Any]]

    @property
    def pool(self) -> str:
        """What a query was ranked against."""
        return str(self.told["pool"])

    def record(self, metric: str, direction: str) -> Mapping[str, Any] | None:
        """The record of a metric, see `find_record`."""
        return find_record(self.told["records"], metric, direction)

    def ranked_against(self, direction: str, part: Part, pairs: PairSet) -> str:
        """What a query was ranked against, in words."""
        from simviz.evaluation.tables import ranked_against

        names, whole = (pairs.x_name, pairs.y_name), (len(pairs.x), len(pairs.y))
        return ranked_against(self.pool, direction, part, names, (self.n_x, self.n_y), whole)

    def value(self, metric: str, direction: str) -> float:
        """The value of a metric; NaN where it was not measured."""
        record = self.record(metric, direction)
        return float("nan") if record is None else float(record["value"])


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What the files of a run say about its split."""

    split: str
    parts: Mapping[Part, Measured]

    @classmethod
    def of(cls, run: Run) -> MeasuredRun:
        """Read it from the files of a run."""
        from simviz.jobs.results import load_figures

        arrays = run.arrays()
        try:
            held_out = {
                (part, side): arrays[f"{side}_{part}"] for part in MEASURED for side in "xy"
            }
            train = {side: arrays[f"{side}_train"] for side in "xy"}
        except KeyError as error:
            raise StoreError(f"The results of this run lack {error}.") from error
        digest = hashlib.blake2b(digest_size=8)
        for at in held_out.values():
            digest.update(at.astype(np.int64).tobytes() + b"|")
        parts = {}
        for part in run.measured:
            kept = run.part(part)
            told = load_figures(run, part)
            unseen = {side: not np.isin(held_out[part, side], train[side]).any() for side in "xy"}
            sizes = len(held_out[part, "x"]), len(held_out[part, "y"])
            parts[part] = Measured(*sizes, unseen, _with_figures(told), kept.curve())
        return cls(digest.hexdigest(), parts)

    def choosing_value(self, metric: str, direction: str) -> float:
        """What the run is ranked by: its value on the validation part; NaN without one."""
        measured = self.parts.get("validation")
        return float("nan") if measured is None else measured.value(metric, direction)


@dataclass(frozen=True, slots=True)
class Entry:
    """A run among those to compare."""

    run: Run
    label: str
    look: str
    part: Part
    measured: Measured

    def record(self, metric: str, direction: str) -> Mapping[str, Any] | None:
        """The record of a metric, see `find_record`."""
        return self.measured.record(metric, direction)

    def value(self, metric: str, direction: str) -> float:
        """The value of a metric; NaN where it was not measured."""
        return self.measured.value(metric, direction)


@st.cache_resource(show_spinner=False, max_entries=600)
def _read(run_id: str, parts: Sequence[Part], _run: Run) -> MeasuredRun:
    return MeasuredRun.of(_run)


def read_measured(run: Run) -> MeasuredRun:
    """What a run found out: read again only where a part was measured since."""
    return _read(run.id, run.measured, run)


def entries_of(runs: Sequence[Run], part: Part) -> list[Entry]:
    """Runs as they did on a part, those without it left out."""
    infos = [run.info for run in runs]
    labels, styles = label_runs(infos), looks(infos)
    return [
        Entry(run, labels[run.id], styles[run.id], part, measured)
        for run in runs
        if (measured := read_measured(run).parts.get(part)) is not None
    ]


def ranked(
    runs: Sequence[Run],
    measured: Mapping[str, MeasuredRun],
    metric: str,
    direction: str,
    part: Part,
) -> list[Run]:
    """Runs by the validation part, the best first; never by the test where another part tells."""
    # Runs without a validation part come last, in the order in which they were trained. Where no
    # run has one, such as those of other systems, they stand as they did on the part shown.
    values = {run.id: measured[run.id].choosing_value(metric, direction) for run in runs}
    if all(value != value for value in values.values()):
        for run in runs:
            known = measured[run.id].parts.get(part)
            values[run.id] = float("nan") if known is None else known.value(metric, direction)
    oldest = sorted(runs, key=lambda run: (run.info.created, run.id))
    return sorted(oldest, key=lambda run: rank_key(values[run.id], metric))


def _with_figures(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """An evaluation without metrics and directions that it has no record of."""
    metrics = {record["metric"] for record in told["records"]}
    asking = {record["direction"] for record in told["records"]}
    return {
        **told,
        "metrics": [name for name in told["metrics"] if name in metrics],
        "directions": [d for d in told["directions"] if d in asking] or told["directions"],
    }


def rank_key(value: float | None, metric: str) -> tuple[bool, float]:
    """Sorts the best first, what is not known last."""
    from simviz.evaluation.metrics import parse_metric

    if value is None or value != value:
        return True, 0.0
    return False, -value if parse_metric(metric).higher_is_better else value


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


def group(runs: Sequence[Run], measured: Mapping[str, MeasuredRun]) -> dict[str, list[Run]]:
    """Runs that were measured on the same thing, the largest group first."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        if run.id in measured:
            data = run.info.spec.get("dataset_digest", "")[:8]
            key = f"{data}-{measured[run.id].split}-{_pool(measured[run.id])}"
            groups.setdefault(key, []).append(run)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def _pool(measured: MeasuredRun) -> str:
    return next((part.pool for part in measured.parts.values()), "")


def describe_split(split: Mapping[str, Any], names: tuple[str, str], part: Part = "test") -> str:
    """Name what a part holds that training did not."""
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
    share = split["fractions"][2 if part == "test" else 1]
    return f"{what}, {100 * share:g} % of the data, seed {split['seed']}"


def group_labels(
    groups: Mapping[str, Sequence[Run]],
    measured: Mapping[str, MeasuredRun],
    names: tuple[str, str],
) -> dict[str, str]:
    """What to call each group; no two alike."""
    labels = {}
    for key, runs in groups.items():
        label = describe_split(runs[0].info.spec["split"], names)
        if _pool(measured[runs[0].id]) == "judged":
            label += ", among judged items"
        n = len(runs)
        labels[key] = f"{label} · {n} run{'' if n == 1 else 's'}"
    return _numbered(labels)


def label_runs(infos: Sequence[RunInfo]) -> dict[str, str]:
    """What to call each run: its name or its method, and what sets it apart."""
    titles = {i.id: run_title(i) for i in infos}
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
    usual = usual_params(info.method)
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


def usual_metric(dataset_id: str, pairs: PairSet) -> str:
    """The metric to look at first."""
    from simviz.datasets import DEMOS

    demo = dataset_id.removeprefix("demo:")
    if demo != dataset_id and demo in DEMOS:
        return DEMOS[demo].metric
    return _default_metric(pairs.digest, pairs.relevance)


@st.cache_data(show_spinner=False, max_entries=64)
def _default_metric(digest: str, _relevance: Relevance) -> str:
    from simviz.evaluation.metrics import default_metric

    return default_metric(_relevance).name


def best_first(dataset_id: str, pairs: PairSet, runs: Sequence[RunInfo]) -> list[RunInfo]:
    """Runs in the order of what is looked at first; the newest first where they are level."""
    if not runs:
        return []
    metric, direction = (
        usual_metric(dataset_id, pairs),
        settings.current_direction(dataset_id, pairs),
    )

    def rank(info: RunInfo) -> tuple[bool, float]:
        value = None
        with suppress(SimvizError):  # damaged: its page says so
            measured = read_measured(state.run(info.id))
            value = measured.choosing_value(metric, direction)
        return rank_key(value, metric)

    return sorted(runs, key=rank)


def main_metric(dataset_id: str, pairs: PairSet, runs: Sequence[RunInfo]) -> str:
    """The metric to look at first, of those that some runs have."""
    usual = usual_metric(dataset_id, pairs)
    known = [name for name in runs[0].summary if all(name in run.summary for run in runs)]
    return usual if usual in known or not known else known[0]
