"""The lines of Python that do what a page of the app shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from jinja2 import Environment, StrictUndefined

from simviz.store.datasets import DEMO_PREFIX
from simviz.store.run import BLEND, CSLS, DERIVED_ROLES, IMPORTED, Part

Spec = Mapping[str, Any]
#: Lines of a column that are written out.
_MAX_LINES = 25
_AUGMENT = "from simviz.data.augment import augment, from_json"


def repeat_code(
    spec: Spec,
    metric: str = "MRR",
    direction: str | None = None,
    others: Mapping[str, Spec] | None = None,
    part: Part = "test",
) -> str:
    """The lines of Python that train a run again and measure it.

    For a demo they run as they are; else the name of the file has to be put in. The spec is
    what the run was asked for, as `Run.spec` gives it; `others` are such requests by run id,
    among them those of a blend's parts; for a part that is missing, its method's usual settings
    are written. A ValueError says that the run was imported, and so cannot be trained again.

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
    value = _value(metric, direction)
    return _write("repeat", spec, others, part=part, value=value)


def data_code(dataset_id: str, split: Mapping[str, Any]) -> str:
    """Read a data set, split it as a request says, and look for what is wrong with it."""
    data = _data({"dataset_id": dataset_id, "split": split})
    imports = ["from simviz.data.health import check_health"]
    return str(_macros().data(data, imports))


def compare_code(
    specs: Mapping[str, Spec],
    metric: str = "MRR",
    direction: str | None = None,
    others: Mapping[str, Spec] | None = None,
    *,
    test: str | None = None,
    correction: str = "holm",
    part: Part = "test",
) -> str:
    """Train what was asked for, all on one split, measure it, and tell luck from lead.

    Requests stand by what the runs are called; see `repeat_code` and, for `test`,
    `simviz.evaluation.paired_test`. The verdict belongs to the test part: on validation it is
    said how far the first run is ahead of the second. Imported runs are left out; a ValueError
    says that nothing else is there.
    """
    able = {label: spec for label, spec in specs.items() if _can_repeat(spec)}
    if not able:
        raise ValueError("None of these runs can be trained again: they were imported.")
    runs = {label: _run(spec, others) for label, spec in able.items()}
    imports = [_AUGMENT for run in runs.values() if run["is_augmented"]]
    sides = "" if direction is None else f", [{_python(direction)}]"
    if direction == "mean":
        sides = ', ["x2y", "y2x"]'
    compared, ahead, tested = f"{_python(metric)}{sides}", "", None
    if test is not None and len(able) > 1 and part == "validation":
        imports.append("from simviz.evaluation import compare_evaluations")
        ahead = compared
    elif test is not None and len(able) > 1:
        imports.append("from simviz.evaluation import compare_all_evaluations")
        tested = {"compared": compared, "name": test, "correction": correction}
    imported = [label for label in specs if label not in able]
    value = _value(metric, direction)
    data = _data(next(iter(able.values())))
    return str(_macros().compare(data, imports, runs, imported, part, value, ahead, tested))


def map_code(
    spec: Spec,
    method: str = "mds",
    balance: str = "center",
    others: Mapping[str, Spec] | None = None,
    *,
    share: float = 0.7,
) -> str:
    """Train a run again and draw its map into a file, see `repeat_code`."""
    option = f"share={share}" if method == "two-sided" else f"balance={balance!r}"
    return _write("map", spec, others, method=method, option=option)


def search_code(
    spec: Spec,
    side: Literal["x", "y"],
    query: int | str | None,
    *,
    answer_has_text: bool = True,
    others: Mapping[str, Spec] | None = None,
) -> str:
    """Train a run again and print its first ten answers to a query, see `repeat_code`.

    The query is a position in the data, or words of one's own; for None, a picture, the file
    has to be put in.
    """
    imports = ["from simviz.data.images import make_sprite, resize_like"] if query is None else []
    text = "content" if answer_has_text else "labels"
    return _write("search", spec, others, *imports, side=side, query=query, field=text)


def normalise_code(
    spec: Spec,
    lines: Sequence[str],
    threshold: float = float("-inf"),
    others: Mapping[str, Spec] | None = None,
) -> str:
    """Train a run again and print the group that each line belongs to, see `repeat_code`.

    A few lines are written out; for more, the name of a file with one text a line has to be put
    in. Below the threshold a line has no group.
    """
    few = lines if len(lines) <= _MAX_LINES else None
    # A score that is not known is below no threshold and above none.
    known = "group >= 0"
    if threshold > float("-inf"):
        known += f" and score >= {threshold:.6g}"
    imported = "from simviz.evaluation.assignment import assign, group_names"
    return _write("normalise", spec, others, imported, lines=few, known=known)


def _can_repeat(spec: Spec) -> bool:
    """Whether what was asked for can be trained; answers of another system cannot."""
    parts = (spec["params"].get(f"{role}_method") for role in ("learned", "lexical"))
    return IMPORTED not in (spec["method"], *parts)


def _write(
    page: str, spec: Spec, others: Mapping[str, Spec] | None, *imports: str, **values: Any
) -> str:
    """The code of a page that needs one run."""
    if not _can_repeat(spec):
        raise ValueError("This run cannot be trained again: it was imported.")
    run = _run(spec, others)
    needed = [*imports, _AUGMENT] if run["is_augmented"] else imports
    return str(getattr(_macros(), page)(_data(spec), needed, run, **values))


@lru_cache(maxsize=1)
def _macros() -> Any:
    made = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["py"] = _python
    text = resources.files("simviz.reports").joinpath("code.jinja").read_text(encoding="utf-8")
    return made.from_string(text).module


def _data(spec: Spec) -> dict[str, Any]:
    """Where the data come from, and how they are split."""
    dataset, split = str(spec["dataset_id"]), spec["split"]
    return {
        "demo": dataset.removeprefix(DEMO_PREFIX) if dataset.startswith(DEMO_PREFIX) else "",
        "by": split["by"],
        "fractions": tuple(split["fractions"]),
        "seed": split["seed"],
        "group_key": split.get("group_key"),
        "is_given": split.get("given", False),
    }


def _run(spec: Spec, others: Mapping[str, Spec] | None) -> dict[str, Any]:
    """The models that a request is fitted by: one, or those that a run is made of."""
    params, is_derived = spec["params"], spec["method"] in (BLEND, CSLS)
    models = [] if is_derived else [_model("model", spec)]
    for role in (role for role in DERIVED_ROLES if is_derived and role in params):
        part = (others or {}).get(params[role])
        is_known = part is not None and part["method"] not in (BLEND, CSLS)
        defaults = {"method": params[f"{role}_method"]}
        models.append(_model(role, part if is_known and part else defaults, is_known=is_known))
    is_augmented = any(model["augment"] for model in models)
    made = {"params": params, "models": models, "is_augmented": is_augmented}
    return made | {"is_blend": spec["method"] == BLEND, "is_scaled": spec["method"] == CSLS}


def _model(name: str, spec: Spec, *, is_known: bool = True) -> dict[str, Any]:
    params, augment, train = dict(spec.get("params", {})), spec.get("augment"), "parts.train"
    if spec.get("features", "usual") != "usual":
        params = {"features": spec["features"], **params}
    if augment:
        train = "train" if name == "model" else f"{name}_train"
    return {
        "name": name,
        "method": spec["method"],
        "params": params,
        "augment": augment,
        "train": train,
        "is_known": is_known,
    }


def _value(metric: str, direction: str | None) -> str:
    """The arguments that ask a result for a metric."""
    return ", ".join(_python(word) for word in (metric, direction) if word is not None)


def _python(value: object) -> str:
    """A value of JSON's types as Python reads it, on one line whatever stands in it."""
    if isinstance(value, str):
        return '"' + "".join(map(_visible, value)) + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_python(k)}: {_python(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_python, value)) + "]"
    return repr(value)


def _visible(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if c.isprintable() else c.encode("unicode_escape").decode()
