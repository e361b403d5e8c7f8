"""What leaves as lines: the code that repeats a run, and its queries one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.evaluation.differences import first_relevant_rank
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import DIRECTIONS
from simviz.evaluation.tables import csv_text
from simviz.jobs.results import load_evaluation
from simviz.jobs.spec import BLEND
from simviz.reports.told import read_runs
from simviz.store.records import DEMO_PREFIX
from simviz.store.run import Part, Run


def repeat_code(
    spec: Mapping[str, Any],
    metric: str = "MRR",
    direction: str | None = None,
    others: Mapping[str, Mapping[str, Any]] | None = None,
    part: Part = "test",
) -> str:
    """The lines of Python that train a run again and measure it.

    Parameters
    ----------
    spec : mapping
        What the run was asked for, as `Run.spec` gives it.
    metric : str, default="MRR"
        What to print in the end.
    direction : {"x2y", "y2x", "mean"}, optional
        Which side asks; x when omitted.
    others : mapping of str to mapping, optional
        Such requests by run id, among them those of a blend's parts; for a
        part that is missing, its method's usual settings are written.
    part : {"validation", "test"}, default="test"
        The part of the split to measure on.

    Returns
    -------
    str
        For a demo they run as they are; else the name of the file has to be
        put in.

    Examples
    --------
    >>> from simviz.jobs import JobSpec
    >>> print(repeat_code(JobSpec("demo:emoji", "", "cca", {"n_components": 50}).to_json()))
    import simviz
    <BLANKLINE>
    pairs = simviz.load_demo("emoji")
    parts = simviz.split(pairs, by="pair", fractions=(0.7, 0.1, 0.2), seed=0)
    model = simviz.default_pipeline("cca", parts.train, n_components=50).fit(
        parts.train, parts.validation
    )
    result = simviz.evaluate(model, parts.test.x, parts.test.y, parts.test.relevance)
    print(result.value("MRR"))
    <BLANKLINE>
    """
    imports = ["import simviz"]
    body = data_lines(str(spec["dataset_id"]), spec["split"])
    body += fit_lines(spec, dict(others or {}), imports)
    asked = quoted(metric) if direction is None else f"{quoted(metric)}, {quoted(direction)}"
    body += [
        f"result = simviz.evaluate(model, parts.{part}.x, parts.{part}.y, parts.{part}.relevance)",
        f"print(result.value({asked}))",
    ]
    return "\n".join([*imports, "", *body]) + "\n"


def query_csv(
    runs: Sequence[Run],
    pairs: PairSet,
    metrics: Sequence[str],
    *,
    labels: Mapping[str, str] | None = None,
    part: Part = "test",
) -> str:
    """Every query of a part with what each run did, as comma-separated values.

    Parameters
    ----------
    runs : sequence of Run
        Measured on that part of one split.
    pairs : PairSet
        Their data set.
    metrics : sequence of str
        Columns of each run, after the rank of its first relevant answer;
        those that pool all pairs have no value a query and are left out.
    labels : mapping of str to str, optional
        What to call the runs, by id.
    part : {"validation", "test"}, default="test"
        The part, which every line names.

    Returns
    -------
    str
        One line a query that counts, of every direction that was measured;
        texts that a spreadsheet would run as a formula are escaped.

    Raises
    ------
    ValueError
        If the runs were not measured on one split.
    StoreError
        If a run was not measured on that part, or a file is missing or
        damaged.
    """
    told = read_runs(runs, labels, part=part)
    evaluations = [load_evaluation(run, part) for run in runs]
    wanted = [m for m in metrics if parse_metric(m).level == "query"]
    arrays = runs[0].arrays()
    head = ["part", "direction", "id", "query", "relevant answers"]
    for one in told:
        head += [f"{one.label}: {name}" for name in ("first rank", *wanted)]
    lines: list[list[object]] = [[*head]]
    for direction in DIRECTIONS:
        if not all(direction in evaluation.rankings for evaluation in evaluations):
            continue
        side, name = (pairs.x, pairs.x_name) if direction == "x2y" else (pairs.y, pairs.y_name)
        items = side.take(arrays[f"{direction[0]}_{part}"])
        n_relevant = evaluations[0].rankings[direction].n_relevant
        columns = []
        for evaluation in evaluations:
            columns.append(first_relevant_rank(evaluation.rankings[direction]))
            columns += [evaluation.per_query(m, direction) for m in wanted]
        if any(len(column) != len(items) for column in columns):
            raise ValueError(f"These runs were not measured on one {part} part of this data set.")
        for query in np.flatnonzero(n_relevant > 0):
            # A query that cannot fail counts in no metric of ranks: an empty cell.
            values = (float(np.round(column[query], 12)) for column in columns)
            figures = [None if np.isnan(value) else value for value in values]
            words = [part, name, str(items.ids[query]), _text(items, int(query))]
            lines.append([*words, int(n_relevant[query]), *figures])
    return csv_text(lines)


def data_lines(dataset: str, split: Mapping[str, Any]) -> list[str]:
    """Lines that read the data into `pairs` and split them into `parts`."""
    if dataset.startswith(DEMO_PREFIX):
        lines = [f"pairs = simviz.load_demo({quoted(dataset.removeprefix(DEMO_PREFIX))})"]
    else:
        lines = ['pairs = simviz.read_pairs("YOUR_FILE").pairs']
    how = f"by={quoted(split['by'])}, fractions={tuple(split['fractions'])!r}, "
    how += f"seed={split['seed']!r}"
    if split.get("group_key") is not None:
        how += f", group_key={quoted(split['group_key'])}"
    return [*lines, f"parts = simviz.split(pairs, {how})"]


def fit_lines(
    spec: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], imports: list[str]
) -> list[str]:
    """Lines that fit what was asked for as `model`; what they need to be imported is added."""
    if spec["method"] != BLEND:
        return _model_lines("model", spec, imports)
    body: list[str] = []
    params = spec["params"]
    for role in ("learned", "lexical"):
        part = known.get(params[role])
        if part is None or part["method"] == BLEND:
            method = params[f"{role}_method"]
            body.append(f"# Settings of run {params[role]} are not known here: the usual ones.")
            part = {"method": method, "params": {}}
        body += _model_lines(role, part, imports)
    return [
        *body,
        "model = simviz.BlendPipeline.of(",
        f"    learned, lexical, parts.train, {params['alpha']!r}, "
        f"normalization={quoted(params['normalization'])}",
        ")",
    ]


def _model_lines(name: str, spec: Mapping[str, Any], imports: list[str]) -> list[str]:
    """Lines that fit one pipeline; what they need to be imported is added."""
    lines, train = [], "parts.train"
    if spec.get("augment"):
        if (wanted := "from simviz.jobs.training import augmented") not in imports:
            imports.append(wanted)
        train = "train" if name == "model" else f"{name}_train"
        steps = [dict(step) for step in spec["augment"]]
        lines.append(f"{train} = augmented({_literal(steps)}, parts)")
    given = dict(spec.get("params", {}))
    if spec.get("features", "usual") != "usual":
        given = {"features": spec["features"], **given}
    params = "".join(f", {key}={_literal(value)}" for key, value in given.items())
    return [
        *lines,
        f"{name} = simviz.default_pipeline({quoted(spec['method'])}, {train}{params}).fit(",
        f"    {train}, parts.validation",
        ")",
    ]


def _literal(value: object) -> str:
    """A value of JSON's types as Python reads it, on one line whatever stands in it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)


def quoted(text: str) -> str:
    """A Python string in double quotes that ends where it should, in visible characters."""
    return '"' + "".join(map(_visible, str(text))) + '"'


def _visible(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if c.isprintable() else c.encode("unicode_escape").decode()


def _text(items: Items, i: int) -> str:
    """What is written beside an item, where it has words."""
    if items.kind in ("text", "keyword"):
        return str(items.content[i])
    return str(items.labels[i])
